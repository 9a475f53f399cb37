from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import AuditError, ParameterError, RuleError
from likewise.numerics.fixed_point import ONE
from likewise.panel import (
    And,
    AtLeast,
    Or,
    Rule,
    Share,
    Weighted,
    all_of,
    any_of,
    at_least,
    majority,
    more_than,
    never,
    objects,
    parse_rule,
    veto,
)

MEMBERS = ["j1", "Ms. Noor", 'the "new" one', "3", "or"]
SOME = st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True)
FRACTIONS = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)
BELOW_ONE = FRACTIONS.filter(lambda share: share < 1)
WEIGHTS = st.fractions(min_value=0, max_value=9, max_denominator=7)
LEAVES: st.SearchStrategy[Rule] = st.one_of(
    st.builds(objects, st.sampled_from(MEMBERS)),
    st.builds(at_least, st.integers(1, 6) | FRACTIONS, st.none() | SOME),
    st.builds(more_than, BELOW_ONE, st.none() | SOME),
    st.builds(lambda who: any_of(*who), SOME),
    st.builds(lambda who: all_of(*who), SOME),
    st.builds(lambda who: majority(*who), SOME),
    st.sampled_from([any_of(), all_of(), majority(), never()]),
    st.builds(
        Weighted,
        st.dictionaries(st.sampled_from(MEMBERS), WEIGHTS, min_size=1),
        st.fractions(min_value=Fraction(1, 7), max_value=12, max_denominator=7),
    ),
)
EXPRESSIONS: st.SearchStrategy[Rule] = st.recursive(
    LEAVES,
    lambda rules: (
        st.builds(lambda parts: Or(tuple(parts)), st.lists(rules, min_size=2, max_size=3))
        | st.builds(lambda parts: And(tuple(parts)), st.lists(rules, min_size=2, max_size=3))
    ),
    max_leaves=6,
)
DISTANCES = st.lists(st.integers(0, 4), min_size=5, max_size=5)

reproducible = settings(derandomize=True, deadline=None)


@reproducible
@given(EXPRESSIONS, DISTANCES)
def test_a_rule_fires_exactly_when_the_gap_is_above_the_pivot(rule: Rule, steps: list[int]) -> None:
    d = np.array(steps, dtype=np.int64) * (ONE // 4)
    gaps = np.arange(0, ONE + 1, ONE // 8)
    pivot, _ = rule.pivot(d, MEMBERS)
    fired = rule.fires(gaps > d[:, None], MEMBERS)
    assert fired.tolist() == (gaps > pivot).tolist()


@reproducible
@given(EXPRESSIONS, DISTANCES)
def test_the_pivot_is_a_member_with_the_pivot_distance(rule: Rule, steps: list[int]) -> None:
    d = np.array(steps) / 4.0
    distance, place = rule.pivot(d, MEMBERS)
    assert float(distance) == (1.0 if place < 0 else d[place])
    assert (place < 0) == (not rule.can_fire(MEMBERS))


@reproducible
@given(EXPRESSIONS)
def test_text_reads_back_as_the_same_rule(rule: Rule) -> None:
    assert parse_rule(str(rule)) == rule
    assert hash(parse_rule(str(rule))) == hash(rule)


@reproducible
@given(st.text(min_size=1).filter(str.strip))
def test_any_name_survives_the_text(name: str) -> None:
    assert parse_rule(str(veto(name) | all_of(name))) == veto(name) | all_of(name)


@reproducible
@given(EXPRESSIONS, st.lists(DISTANCES, min_size=4, max_size=4))
def test_pivots_of_many_pairs_are_those_of_each(rule: Rule, pairs: list[list[int]]) -> None:
    d = np.array(pairs, dtype=np.int64).T
    distance, place = rule.pivot(d.reshape(5, 2, 2), MEMBERS)
    one_by_one = [rule.pivot(d[:, i], MEMBERS) for i in range(4)]
    assert distance.ravel().tolist() == [int(single) for single, _ in one_by_one]
    assert place.ravel().tolist() == [int(single) for _, single in one_by_one]


def test_ties_go_to_the_first_on_the_panel() -> None:
    _, place = any_of().pivot(np.array([0.5, 0.2, 0.2]), ["a", "b", "c"])
    assert int(place) == 1


def test_or_is_the_same_whichever_way_it_is_bracketed() -> None:
    a, b, c = veto("a"), veto("b"), veto("c")
    assert (a | b) | c == a | (b | c)
    assert (a & b) & c == a & (b & c)


def test_one_vote_and_the_whole_panel_are_different_rules() -> None:
    assert at_least(1) != at_least("100%")  # although 1 == Fraction(1)
    assert all_of() == at_least("100%")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (veto("j3") | at_least("80%"), "veto(j3) or at_least(80%)"),
        (objects("j1") & objects("j5"), "objects(j1) and objects(j5)"),
        (veto("a") | (veto("b") & veto("c")), "veto(a) or (objects(b) and objects(c))"),
        ((veto("a") | veto("b")) & any_of(), "(objects(a) or objects(b)) and any"),
        (at_least("2/3", of=["a", "b"]), "at_least(2/3 of a, b)"),
        (Weighted({"a": 0.1, "b": "1/3"}, 2), "weighted(a: 1/10, b: 1/3; 2)"),
    ],
)
def test_a_rule_says_what_it_is(rule: Rule, text: str) -> None:
    assert str(rule) == text


def test_seven_percent_of_a_hundred_are_seven() -> None:
    assert [at_least("7%").needed(n) for n in (100, 101)] == [7, 8]


def test_a_majority_is_more_than_half() -> None:
    assert [majority().needed(n) for n in (1, 2, 3, 4)] == [1, 2, 2, 3]


def test_weights_are_exact() -> None:
    rule = Weighted({"a": 0.1, "b": 0.2}, 0.3)  # in floats 0.1 + 0.2 > 0.3
    tight = Weighted({"a": 0.1, "b": 0.2}, "0.30000000000000001")
    assert rule.can_fire(["a", "b"])
    assert not tight.can_fire(["a", "b"])


def test_weights_beyond_64_bits_are_exact_too() -> None:
    rule = Weighted({"a": 10**30, "b": 1, "c": 1}, 10**30 + 1)
    members = ["a", "b", "c"]
    assert rule.fires([[True, True], [False, True], [False, False]], members).tolist() == [
        False,
        True,
    ]
    assert int(rule.pivot(np.array([0.1, 0.4, 0.3]), members)[1]) == 2


def test_the_never_firing_distance_is_one_in_either_kind_of_number() -> None:
    assert float(never().pivot(np.array([0.1]), ["a"])[0]) == 1.0
    assert int(never().pivot(np.array([1]), ["a"])[0]) == ONE


def test_rules_can_be_kept_in_sets() -> None:
    assert len({veto("a") | veto("b"), parse_rule("veto(a) or veto(b)"), veto("a")}) == 2


@pytest.mark.parametrize("votes", [0, -1, True, 0.8, "0", "0%", "101%", "-1", "1.5", "4/0", "many"])
def test_votes_and_shares_out_of_range_are_refused(votes: int | str) -> None:
    with pytest.raises(ParameterError):
        at_least(votes)


def test_at_least_zero_says_what_it_would_do() -> None:
    with pytest.raises(ParameterError) as caught:
        AtLeast(0)
    assert str(caught.value) == (
        "AtLeast.votes must be at least 1; got 0. "
        "With 0 votes a pair nobody objected to would be reported."
    )


@pytest.mark.parametrize("parts", [(), (veto("a"),), (veto("a"), "veto(b)")])
def test_an_and_of_fewer_than_two_rules_is_refused(parts: tuple[Rule, ...]) -> None:
    with pytest.raises(ParameterError, match=r"And\.parts"):
        And(parts)


@pytest.mark.parametrize(
    ("weights", "threshold"),
    [({}, 1), ({"a": -1}, 1), ({"a": 1}, 0), ({"a": float("nan")}, 1), ({"a": 1}, float("inf"))],
)
def test_weights_out_of_range_are_refused(weights: dict[str, float], threshold: float) -> None:
    with pytest.raises(ParameterError, match="Weighted"):
        Weighted(weights, threshold)


@pytest.mark.parametrize("of", [[], ["a", "a"], "ab", [""]])
def test_groups_must_be_different_names(of: list[str]) -> None:
    with pytest.raises(ParameterError):
        at_least(1, of=of)


def test_a_strict_share_of_everybody_is_refused() -> None:
    with pytest.raises(ParameterError, match="below 100%"):
        Share(Fraction(1), strict=True)


def test_a_rule_naming_a_stranger_says_who_and_who_sits() -> None:
    with pytest.raises(RuleError, match=r"names j9, who is not on the panel \(j1, j2\)"):
        (veto("j1") | veto("j9")).check(["j1", "j2"])


def test_an_empty_panel_is_refused() -> None:
    with pytest.raises(AuditError, match="must not be empty"):
        any_of().check([])


def test_a_panel_with_a_name_twice_is_refused() -> None:
    with pytest.raises(AuditError, match="different names"):
        any_of().check(["a", "a"])


def test_votes_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(AuditError, match="2 members"):
        any_of().fires([True], ["a", "b"])


def test_votes_that_are_numbers_are_refused() -> None:
    with pytest.raises(AuditError, match=r"votes must be True or False, .* got int64"):
        any_of().fires([1, 0], ["a", "b"])


@pytest.mark.parametrize("members", [3, 16, 17, 40])
def test_pivots_of_many_members_and_pairs_are_those_of_a_sort(members: int) -> None:
    d = np.random.default_rng(members).permuted(
        np.arange(members * 20 * 20).reshape(members, 20, 20), axis=0
    )
    names = [f"j{place}" for place in range(members)]
    for votes in (1, 2, members // 2, members):
        distance, place = at_least(votes).pivot(d, names)
        assert (distance == np.sort(d, axis=0)[votes - 1]).all()
        assert (place == np.argsort(d, axis=0)[votes - 1]).all()


def test_distances_with_nan_are_refused() -> None:
    with pytest.raises(AuditError, match="NaN"):
        any_of().pivot(np.array([float("nan")]), ["a"])
