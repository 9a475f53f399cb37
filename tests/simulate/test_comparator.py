from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from likewise.errors import HypothesisError, ParameterError, PeopleError
from likewise.hypotheses import HypothesisClass, Points, Pool, Segments
from likewise.hypotheses.base import Bits
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.people import Feature, FeatureSchema
from likewise.simulate import (
    BestFair,
    ComparatorError,
    Faced,
    best_fair_policy,
)
from likewise.simulate import (
    programs as program,
)
from likewise.simulate.hindsight import FAIR_WITHIN, all_pairs

SCHEMA = FeatureSchema((Feature("score"), Feature("group", "flag")))
LENDER = Segments(SCHEMA, score="score", cuts=[1, 2], by=["group"])
GOOD = np.array([[1, 2]])
TABLE = np.array(
    [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 0], [0, 1, 1, 0, 1], [1, 1, 0, 1, 0]]
)
POOL = Pool.from_table(TABLE)


def faced(points: Points, good: Bits, rng: np.random.Generator, far: float) -> Faced:
    """Labels that are as they should be four times in five, and any distances up to ``far``."""
    k = len(points)
    half = np.triu(rng.integers(0, round(far * ONE) + 1, (k, k)), 1)
    labels = np.where(rng.random(k) < 0.8, good, 1 - good)
    return Faced(points, labels.astype(np.int64), half + half.T)


def lender_rounds(seed: int, rounds: int = 6, far: float = 0.6) -> list[Faced]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, rounds)
    cells = [rng.integers(0, LENDER.separators, k) for k in sizes]
    return [faced(there, LENDER.predict(GOOD, there)[0], rng, far) for there in cells]


def pool_rounds(seed: int, rounds: int = 6, far: float = 0.6) -> list[Faced]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, rounds)
    people = [TABLE.T[rng.integers(0, 5, k)].astype(np.uint8) for k in sizes]
    return [faced(there, there[:, 3], rng, far) for there in people]


def dense_value(hypotheses: HypothesisClass, rounds: Sequence[Faced], slack: float) -> float:
    """The program as the paper writes it: a weight for every hypothesis, a row for every pair."""
    codes = hypotheses.codes()
    cost = np.zeros(len(codes))
    rows, bounds = [np.zeros(len(codes))], [0.0]
    for round_ in rounds:
        bits = hypotheses.predict(codes, round_.points).astype(float)
        cost += np.abs(bits - round_.labels).sum(axis=1)
        for a, b in itertools.permutations(range(len(round_.labels)), 2):
            rows.append(bits[:, a] - bits[:, b])
            bounds.append(int(round_.pivots[a, b]) / ONE + slack)
    result = linprog(
        cost,
        A_ub=np.array(rows),
        b_ub=np.array(bounds),
        A_eq=np.ones((1, len(codes))),
        b_eq=[1.0],
        bounds=(0.0, None),
    )
    assert result.success
    return float(np.asarray(result.fun))


def single_errors(hypotheses: HypothesisClass, rounds: Sequence[Faced]) -> IntArray:
    codes = hypotheses.codes()
    errors = np.zeros(len(codes), dtype=np.int64)
    for round_ in rounds:
        errors += (hypotheses.predict(codes, round_.points) != round_.labels).sum(axis=1)
    return errors


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0.0, 0.3, 1.0]))
def test_cell_probabilities_reach_the_value_over_all_mixtures(
    seed: int, slack: float, far: float
) -> None:
    rounds = lender_rounds(seed, far=far)
    best = best_fair_policy(LENDER, rounds, slack)
    assert best.error == pytest.approx(dense_value(LENDER, rounds, slack), abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.3]), st.sampled_from([0.0, 0.3, 1.0]))
def test_generated_rows_reach_the_value_of_all_rows_for_a_pool(
    seed: int, slack: float, far: float
) -> None:
    rounds = pool_rounds(seed, far=far)
    best = best_fair_policy(POOL, rounds, slack)
    assert best.error == pytest.approx(dense_value(POOL, rounds, slack), abs=1e-6)


@pytest.mark.parametrize("at_once", [1, 2])
def test_the_value_does_not_depend_on_how_many_rows_are_added_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, rows = program.solve_program, []

    def counting(costs: Any, more: Any, *rest: Any) -> Any:
        rows.append(more.shape[0])
        return solve(costs, more, *rest)

    monkeypatch.setattr(program, "solve_program", counting)
    rounds = lender_rounds(3, rounds=30)
    once = best_fair_policy(LENDER, rounds, 0.02)
    programs = len(rows)
    monkeypatch.setattr(program, "ROWS_AT_ONCE", at_once)
    slowly = best_fair_policy(LENDER, rounds, 0.02)
    assert slowly.error == pytest.approx(once.error, abs=1e-6)
    assert len(rows) > 2 * programs
    assert max(np.diff(rows[programs:])) <= at_once


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pool", [True, False])
def test_the_policy_is_a_policy(seed: int, pool: bool) -> None:
    if pool:
        weights = best_fair_policy(POOL, pool_rounds(seed), 0.1).probabilities
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    else:
        table = best_fair_policy(LENDER, lender_rounds(seed), 0.1).probabilities.reshape(2, 3)
        assert table.min() >= 0
        assert table.max() <= 1
        assert (np.diff(table, axis=1) >= 0).all()


def gaps_beyond(best: BestFair, rounds: Sequence[Faced], slack: float) -> float:
    worst = 0.0
    for round_ in rounds:
        scores = best.scores(round_.points)
        for a, b in itertools.permutations(range(len(scores)), 2):
            allowed = int(round_.pivots[a, b]) / ONE + slack
            worst = max(worst, float(scores[a] - scores[b]) - allowed)
    return worst


@pytest.mark.parametrize("seed", range(5))
def test_no_round_would_have_reported_the_policy(seed: int) -> None:
    cells = lender_rounds(seed, rounds=20)
    assert gaps_beyond(best_fair_policy(LENDER, cells, 0.05), cells, 0.05) <= FAIR_WITHIN
    members = pool_rounds(seed, rounds=20)
    assert gaps_beyond(best_fair_policy(POOL, members, 0.05), members, 0.05) <= FAIR_WITHIN


@pytest.mark.parametrize("seed", range(5))
def test_no_constant_does_better(seed: int) -> None:
    rounds = lender_rounds(seed)
    labels = np.concatenate([round_.labels for round_ in rounds])
    best = best_fair_policy(LENDER, rounds, 0.0)
    assert best.people == len(labels)
    assert best.error <= min(labels.sum(), len(labels) - labels.sum()) + 1e-6


@pytest.mark.parametrize("slack", [1.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_without_constraints_the_best_policy_is_the_best_hypothesis(
    seed: int, slack: float
) -> None:
    cells, members = lender_rounds(seed, far=0.0), pool_rounds(seed, far=0.0)
    free = best_fair_policy(LENDER, cells, slack)
    assert free.error == pytest.approx(single_errors(LENDER, cells).min(), abs=1e-6)
    free = best_fair_policy(POOL, members, slack)
    assert free.error == pytest.approx(single_errors(POOL, members).min(), abs=1e-6)


def test_at_distance_zero_people_who_meet_are_treated_alike_and_others_freely() -> None:
    together = Faced(np.array([0, 2]), np.array([0, 1]), np.zeros((2, 2), dtype=np.int64))
    apart = [Faced(np.array([c]), np.array([y]), np.array([[0]])) for c, y in ((3, 0), (5, 1))]
    best = best_fair_policy(LENDER, [together, *apart], 0.0)
    assert best.error == pytest.approx(1.0)
    assert best.scores(np.array([0])) == pytest.approx(best.scores(np.array([2])))
    assert best.scores(np.array([3, 5])).tolist() == [0.0, 1.0]


def test_at_distance_zero_with_everybody_in_one_room_the_best_constant_is_best() -> None:
    labels = np.array([0, 1, 1, 0, 1, 1])
    room = Faced(np.arange(6), labels, np.zeros((6, 6), dtype=np.int64))
    assert best_fair_policy(LENDER, [room], 0.0).error == pytest.approx(2.0)


def test_of_two_bounds_on_a_pair_the_smaller_holds() -> None:
    wide, narrow = (np.array([[0, d], [d, 0]]) for d in (ONE // 2, ONE // 4))
    met = [
        Faced(np.array([0, 2]), np.array([0, 1]), wide),
        Faced(np.array([2, 0]), np.array([1, 0]), narrow),
    ]
    best = best_fair_policy(LENDER, met, 0.0)
    assert np.ptp(best.scores(np.array([0, 2]))) == pytest.approx(0.25)
    assert best.error == pytest.approx(2 * 0.75)
    assert best.error_rate == pytest.approx(0.375)


def test_two_people_who_are_the_same_point_constrain_nothing() -> None:
    same = Faced(np.array([1, 1]), np.array([0, 1]), np.zeros((2, 2), dtype=np.int64))
    assert best_fair_policy(LENDER, [same], 0.0).error == pytest.approx(1.0)
    assert len(all_pairs(LENDER.separators, np.array([1, 1]), [same], 0.0).bounds) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_error_meets_a_lower_bound_that_holds_for_every_fair_policy(seed: int) -> None:
    for hypotheses, rounds in ((LENDER, lender_rounds(seed)), (POOL, pool_rounds(seed))):
        best = best_fair_policy(hypotheses, rounds, 0.05)
        assert best.bound <= dense_value(hypotheses, rounds, 0.05) + 1e-6
        assert best.error == pytest.approx(best.bound, abs=1e-6)


@pytest.mark.parametrize("slack", [-0.01, float("nan"), float("inf")])
def test_a_slack_below_zero_is_refused(slack: float) -> None:
    with pytest.raises(ParameterError, match=r"alpha − eps"):
        best_fair_policy(LENDER, lender_rounds(0), slack)


@pytest.mark.parametrize("nobody", [0, 1])
def test_rounds_without_people_are_refused(nobody: int) -> None:
    empty = Faced(
        np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64)
    )
    with pytest.raises(ParameterError, match="must have somebody"):
        best_fair_policy(LENDER, [empty] * nobody, 0.0)


def test_labels_must_be_zero_or_one() -> None:
    with pytest.raises(ParameterError, match="0 or 1"):
        Faced(np.array([0]), np.array([2]), np.array([[0]]))


@pytest.mark.parametrize("pivots", [[[0, 1], [2, 0]], [[0, -1], [-1, 0]]])
def test_pivots_must_be_distances(pivots: list[list[int]]) -> None:
    with pytest.raises(ParameterError, match="symmetric"):
        Faced(np.array([0, 1]), np.array([0, 1]), np.array(pivots))


def test_pivots_must_be_one_for_every_pair() -> None:
    with pytest.raises(ParameterError, match="pairs of 2 people"):
        Faced(np.array([0, 1]), np.array([0, 1]), np.array([[0]]))


def test_points_of_another_class_are_refused() -> None:
    with pytest.raises(PeopleError, match="round 1"):
        best_fair_policy(LENDER, pool_rounds(0), 0.0)
    with pytest.raises(PeopleError, match="round 1"):
        best_fair_policy(POOL, lender_rounds(0), 0.0)
    beyond = Faced(np.array([LENDER.separators]), np.array([0]), np.array([[0]]))
    with pytest.raises(PeopleError, match="round 1"):
        best_fair_policy(LENDER, [beyond], 0.0)


def test_a_class_that_only_an_oracle_searches_is_refused_by_name() -> None:
    searched: Any = type("Searched", (HypothesisClass,), {})
    searched.__abstractmethods__ = frozenset()
    with pytest.raises(HypothesisError, match=r"Searched is neither.*best_fair_by_columns"):
        best_fair_policy(searched(), lender_rounds(0), 0.0)


def test_without_a_fair_policy_the_solver_says_so() -> None:
    # The one constant member is constant on the reference data only, not on these people.
    pool = Pool.from_table([[0, 0], [0, 1]])
    strangers = Faced(
        np.array([[0, 0], [1, 1]], dtype=np.uint8),
        np.array([0, 1]),
        np.zeros((2, 2), dtype=np.int64),
    )
    with pytest.raises(ComparatorError, match=r"infeasible.*constant"):
        best_fair_policy(pool, [strangers], 0.5)


def test_an_answer_of_the_solver_that_is_not_fair_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "VIOLATED_BY", 1.0)  # no row is ever added
    with pytest.raises(ComparatorError, match="breaks a constraint by"):
        best_fair_policy(LENDER, lender_rounds(1, far=0.0), 0.0)
