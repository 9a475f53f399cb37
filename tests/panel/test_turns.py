"""Members one after another: the outcome is the whole panel's, and fewer of them are asked."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import ParameterError
from likewise.numerics.fixed_point import FloatArray
from likewise.panel import at_least, objects, veto
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import BoolArray, Rule
from likewise.panel.turns import GRAIN, Turns, ask_in_turn, doubts_of, settled

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
    seed=st.integers(0, 2**32),
)
def test_the_outcome_is_that_of_the_whole_panel_in_any_order(
    votes: list[list[bool]], rule: Rule, counts: list[int], seed: int
) -> None:
    """Whatever the models of members say, and however wrong it is."""
    rng, cast = np.random.default_rng(seed), np.array(votes).T
    inputs = rng.uniform(0, 4, (cast.shape[1], 3))
    views = {name: (*rng.normal(0, 9, 3), *np.eye(3).ravel()) for name in MEMBERS[seed % 3 :]}
    turns = Turns(dict(zip(MEMBERS, counts, strict=True)), views)
    result = ask_in_turn(rule, MEMBERS, cast, turns, inputs)
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
    """One member objects to a fifth of the pairs, the others to 3 %; 500 rounds of four."""
    rng, turns, asked = np.random.default_rng(3), Turns(), 0
    often = np.array([0.03, 0.03, 0.2, 0.03, 0.03])[:, None]
    for _ in range(500):
        result = ask_in_turn(as_rule("majority"), MEMBERS, rng.random((5, 4)) < often, turns)
        turns, asked = result.turns, asked + len(result.asked)
    mean = asked / 5
    assert asked / 500 < 3.5
    assert max(turns.asked.values()) < 1.3 * mean
    assert min(turns.asked, key=lambda name: turns.asked[name]) == "c"


def _doubts(
    turns: Turns, inputs: FloatArray, votes: BoolArray, heard: BoolArray
) -> tuple[int, ...]:
    members = ("a", "b", "c")
    return doubts_of(at_least(2), members, turns.chances(members, inputs), votes, heard)


def test_whoever_was_asked_more_than_their_part_comes_last() -> None:
    """However sure it is that they agree: nobody is asked 1.3 times as often as the mean."""
    doubts = [0, 100, 100, 100, 100]
    assert Turns({"a": 30, **dict.fromkeys("bcde", 10)}).order("abcde", doubts)[-1] == "a"
    assert Turns({"a": 12, **dict.fromkeys("bcde", 10)}).order("abcde", doubts)[0] == "a"


def test_doubts_by_hand() -> None:
    """Two pairs, and models that are certain of their log-odds: 2 and −2 for a, 0 for b, −2 for c.

    Of two of three, the panel is expected to pass both: a disagrees on the first pair.
    """
    inputs, nothing = np.eye(2), (0.0,) * 4
    views = {"a": (2.0, -2.0, *nothing), "b": (0.0, 0.0, *nothing), "c": (-2.0, -2.0, *nothing)}
    turns, votes = Turns(views=views), np.zeros((3, 2), dtype=np.bool_)
    chance = 1 / (1 + np.exp(-2.0))
    expected = [
        -np.log(1 - chance) - np.log(chance), -2 * np.log(0.5), -2 * np.log(chance),
    ]  # fmt: skip
    doubts = _doubts(turns, inputs, votes, votes)
    assert doubts == tuple(int(GRAIN * doubt) for doubt in expected)
    # b objects to the first pair: with a, who is likely to, the panel reports it.
    votes[1, 0] = True
    heard = np.array([[False, False], [True, True], [False, False]])
    first, _, last = _doubts(turns, inputs, votes, heard)
    assert first == int(GRAIN * -2 * np.log(chance))
    assert last == doubts[0]
    # Pairs that are settled say nothing any more.
    heard[0], votes[0] = True, (True, False)
    assert _doubts(turns, inputs, votes, heard) == (0, 0, 0)


def test_what_is_little_known_is_nearer_to_one_half() -> None:
    rows, votes = np.ones((1, 1)), np.zeros((3, 1), dtype=np.bool_)
    doubts = [
        _doubts(Turns(views=dict.fromkeys("abc", (-3.0, variance))), rows, votes, votes)[0]
        for variance in (0.0, 10.0, 1e6)
    ]
    assert doubts[0] < doubts[1] < doubts[2] == int(GRAIN * np.log(2))


def test_a_member_who_judges_by_a_feature_is_foreseen() -> None:
    """Two members object by a feature each, three to nothing: who agrees is in the features.

    Who was not asked teaches nothing.
    """
    rng, turns, asked = np.random.default_rng(8), Turns(), Counter[str]()
    for number in range(300):
        inputs = np.concatenate([rng.uniform(0, 4, (4, 2)), np.ones((4, 1))], axis=1)
        votes = np.zeros((5, 4), dtype=np.bool_)
        votes[0], votes[1] = inputs[:, 0] < 1, inputs[:, 1] < 1
        before, rule = turns, as_rule("majority")
        result = ask_in_turn(rule, MEMBERS, votes, turns, inputs)
        turns = result.turns
        for name in set(MEMBERS) - set(result.asked):
            assert turns.views.get(name) == before.views.get(name)
        if number >= 100:
            asked.update(result.asked)
    assert asked.total() < 3.15 * 200
    assert max(turns.asked.values()) < 1.3 * sum(turns.asked.values()) / 5
    with pytest.raises(ParameterError, match="inputs must have 3 columns"):
        ask_in_turn(as_rule("majority"), MEMBERS, votes, turns)


def test_nobody_is_asked_about_nothing() -> None:
    result = ask_in_turn(as_rule("any"), MEMBERS, np.zeros((5, 0), dtype=np.bool_), Turns())
    assert result.asked == ()
