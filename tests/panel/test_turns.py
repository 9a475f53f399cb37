"""Members one after another: the outcome is the whole panel's, and fewer of them are asked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.panel import at_least, objects, veto
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import Rule
from likewise.panel.turns import Turns, ask_in_turn, settled

MEMBERS = ("a", "b", "c", "d", "e")
RULES: list[Rule] = [
    as_rule("any"), as_rule("all"), as_rule("majority"), at_least(2), at_least("80%"), veto("c"),
    objects("a") & (objects("b") | objects("c")), as_rule("weighted(a: 3, b: 2, c: 1; 4)"),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_pair_is_settled_exactly_when_no_further_word_can_change_it(rule: Rule) -> None:
    """Every rule, every vote, every set of members who have spoken: compared with all completions.

    Mutants that fail: unknown votes as 0 alone; as 1 alone; settled where the two agree on 1 only.
    """
    for bits in product((None, False, True), repeat=5):
        votes = np.array([[bool(bit)] for bit in bits])
        heard = np.array([[bit is not None] for bit in bits])
        unknown = [place for place, bit in enumerate(bits) if bit is None]
        outcomes = set()
        for rest in product((False, True), repeat=len(unknown)):
            complete = votes.copy()
            complete[unknown, 0] = rest
            outcomes.add(bool(rule.fires(complete, MEMBERS)[0]))
        done, reported = settled(rule, votes, heard, MEMBERS)
        assert bool(done[0]) == (len(outcomes) == 1)
        if done[0]:
            assert {bool(reported[0])} == outcomes


@given(
    votes=st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=6),
    rule=st.sampled_from(RULES),
    counts=st.lists(st.integers(0, 9), min_size=5, max_size=5),
)
def test_the_outcome_is_that_of_the_whole_panel_in_any_order(
    votes: list[list[bool]], rule: Rule, counts: list[int]
) -> None:
    turns = Turns(dict(zip(MEMBERS, counts, strict=True)))
    cast = np.array(votes).T
    result = ask_in_turn(rule, MEMBERS, cast, turns)
    assert result.reported.tolist() == rule.fires(cast, MEMBERS).tolist()
    assert len(set(result.asked)) == len(result.asked)
    for place, name in enumerate(MEMBERS):
        assert result.heard[place].any() == (name in result.asked)
        assert result.turns.asked[name] == turns.asked[name] + (name in result.asked)


def test_a_further_member_sees_only_what_is_in_dispute() -> None:
    """Majority of three: a and b agree on the first pair, and c is shown the second alone."""
    votes = np.array([[False, True], [False, False], [True, True]])
    result = ask_in_turn(at_least(2), ("a", "b", "c"), votes, Turns())
    assert result.asked == ("a", "b", "c")
    assert result.heard.tolist() == [[True, True], [True, True], [False, True]]
    assert result.reported.tolist() == [False, True]


def test_the_work_is_shared_and_those_who_rarely_object_come_first() -> None:
    """One member objects to a fifth of the pairs, the others to 3 %; 2,000 rounds of four."""
    rng, turns, asked = np.random.default_rng(3), Turns(), 0
    often = np.array([0.03, 0.03, 0.2, 0.03, 0.03])[:, None]
    for _ in range(2000):
        result = ask_in_turn(as_rule("majority"), MEMBERS, rng.random((5, 4)) < often, turns)
        turns, asked = result.turns, asked + len(result.asked)
    mean = asked / 5
    assert asked / 2000 < 3.5
    assert max(turns.asked.values()) < 1.3 * mean
    assert min(turns.asked, key=lambda name: turns.asked[name]) == "c"


def test_nobody_is_asked_about_nothing() -> None:
    result = ask_in_turn(as_rule("any"), MEMBERS, np.zeros((5, 0), dtype=np.bool_), Turns())
    assert result.asked == ()
