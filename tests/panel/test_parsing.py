from __future__ import annotations

import pytest

from likewise.errors import ParameterError, RuleError
from likewise.panel import (
    Rule,
    Weighted,
    all_of,
    any_of,
    as_rule,
    at_least,
    majority,
    more_than,
    never,
    objects,
    parse_rule,
    veto,
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("veto(j3) or at_least(80%)", veto("j3") | at_least("80%")),
        ("objects(j1) and objects(j5)", objects("j1") & objects("j5")),
        ("veto(a) or veto(b) and veto(c)", veto("a") | (veto("b") & veto("c"))),
        ("( veto(a) or veto(b) ) and veto(c)", (veto("a") | veto("b")) & veto("c")),
        ("at_least(3)", at_least(3)),
        ("at_least( 80 % )", at_least("4/5")),
        ("at_least(2/3)", at_least("2/3")),
        ("at_least(12.5%)", at_least("1/8")),
        ("at_least(2 of a, b, c)", at_least(2, of=["a", "b", "c"])),
        ("more_than(2/3 of a, b)", more_than("2/3", of=["a", "b"])),
        ("more_than(50%)", majority()),
        ("majority", majority()),
        ("majority()", majority()),
        ("any", any_of()),
        ("all", all_of()),
        ("any(a, b)", any_of("a", "b")),
        ("all(a, b)", all_of("a", "b")),
        ("weighted(j1: 2, j2: 0.5; 5/2)", Weighted({"j1": 2, "j2": "1/2"}, 2.5)),
        ("never", never()),
        ('veto("Ms. Noor")', veto("Ms. Noor")),
        (r'veto("a \"b\" \\ c")', veto('a "b" \\ c')),
        ("veto(or)", veto("or")),
        ("veto(j-1.x_2)", veto("j-1.x_2")),
        ("veto(\n\tJürgen )", veto("Jürgen")),
    ],
)
def test_text_and_python_give_the_same_rule(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("", 0, "a rule"),
        ("j3", 0, "a rule"),
        ("veto()", 5, "a member's name"),
        ("veto(a, b)", 6, "')'"),
        ("veto(a", 6, "')'"),
        ("veto(Ms. Noor)", 9, "goes in quotes"),
        ('veto("a)', 5, "a member's name"),
        ("veto(a) veto(b)", 8, "'or', 'and' or the end"),
        ("veto(a) or", 10, "a rule"),
        ("veto(a) OR veto(b)", 8, "'or', 'and' or the end"),
        ("not veto(a)", 0, "a rule"),
        ("(veto(a)", 8, "')'"),
        ("veto(a))", 7, "the end"),
        ("at_least", 8, "'('"),
        ("at_least(a)", 9, "votes or a share"),
        ("at_least(2 a)", 11, "')' or 'of'"),
        ("at_least(2 of a b)", 16, "',' or ')'"),
        ("weighted(a: 1)", 13, "';' and the threshold"),
        ("weighted(a 1; 1)", 11, "':'"),
        ("weighted(a: x; 1)", 12, "a number"),
        ("never(a)", 6, "')'"),
        ("at_least(0)", 8, "must be at least 1"),
        ("at_least(101%)", 8, "at most 100%"),
        ("at_least(-1)", 8, "must be votes or a share"),
        ("more_than(3)", 9, "must be a share"),
        ("any(a, a)", 3, "different names"),
        ("weighted(a: 0; 0)", 8, "must be above 0"),
        ("weighted(a: -1; 1)", 8, "must not be negative"),
        ("weighted(a: 1/0; 1)", 8, "finite number"),
        ("weighted(a: 1, a: 2; 1)", 16, "everybody once"),
    ],
)
def test_an_error_points_at_the_place_and_says_what_was_expected(
    text: str, place: int, expected: str
) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    message, shown, pointer = str(caught.value).split("\n")
    assert expected in message
    assert shown == "  " + text
    assert pointer == "  " + " " * place + "^"


def test_a_text_of_parentheses_only_does_not_exhaust_the_stack() -> None:
    with pytest.raises(RuleError, match="at most 100 parentheses"):
        parse_rule("(" * 100_000)


def test_a_rule_on_several_lines_is_shown_on_one() -> None:
    with pytest.raises(RuleError, match=r"veto\(a\) or  x"):
        parse_rule("veto(a) or\n x")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be a text"):
        as_rule(3)  # type: ignore[arg-type]


def test_a_rule_stays_as_it_is() -> None:
    rule = veto("a")
    assert as_rule(rule) is rule
