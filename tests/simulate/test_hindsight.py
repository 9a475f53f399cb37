"""Three comparators, fixed policies at a price, growth and the warning: against brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned
from likewise.numerics.fixed_point import ONE
from likewise.simulate import Comparators, Faced, compare_with_fixed, slacks_of
from likewise.simulate.counts import NEAR_CONSTANT, Outcome, Summary, beats, frontier, near_constant
from studies.sweep.runs import priced_policy
from studies.sweep.tables import growth

TABLE = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
POOL = Pool.from_table(TABLE)


def faced(seed: int, rounds: int = 4) -> list[Faced]:
    """Rounds of three people each, with labels and distances at random."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(rounds):
        distances = rng.integers(0, ONE // 2, (3, 3))
        pivots = np.triu(distances, 1) + np.triu(distances, 1).T
        made.append(Faced(np.array(TABLE).T, rng.integers(0, 2, 3), pivots))
    return made


def mixtures(steps: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All mixtures of four hypotheses with weights that are multiples of 1/steps."""
    whole = [w for w in itertools.product(range(steps + 1), repeat=4) if sum(w) == steps]
    return np.array(whole) / steps


def least_cost(rounds: list[Faced], alpha: float, price: float) -> float:
    """Errors and the price of excess, of the best mixture."""
    weights = mixtures(20)
    total = np.zeros(len(weights))
    for one in rounds:
        scores = weights @ one.points.T
        total += np.abs(scores - one.labels).sum(axis=1)
        over = scores[:, :, None] - scores[:, None] - one.pivots / ONE - alpha
        over[:, range(3), range(3)] = 0.0
        total += price * np.maximum(0.0, over.max(axis=(1, 2)))
    return float(total.min())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("price", [0.0, 0.7, 3.0, 40.0])
def test_the_policy_at_a_price_is_the_best_mixture_at_it(seed: int, price: float) -> None:
    rounds = faced(seed)
    policy = priced_policy(POOL, rounds, 0.1, price)
    total = policy.error + price * policy.excess
    grid = least_cost(rounds, 0.1, price)
    assert total <= grid + 1e-6
    assert total >= grid - 0.4, "the grid is within 1/20 of every mixture"


def test_a_high_price_buys_the_best_policy_without_violations() -> None:
    rounds = faced(1)
    dear = priced_policy(POOL, rounds, 0.3, 1e6)
    learner = Learner(POOL, 3, 0.3, 0.3, 1)
    assert dear.violations == 0
    assert dear.error == pytest.approx(compare_with_fixed(learner, POOL, rounds).at_alpha, abs=1e-5)


def test_the_three_are_asked_for_at_eps_kappa_and_alpha() -> None:
    learner = Learner(POOL, 3, 0.4, 0.3, 1, schedule=SelfTuned(kappa=0.1))
    assert slacks_of(learner) == (0.1, 0.3, 0.4)
    found = compare_with_fixed(learner, POOL, faced(2))
    assert found.at_alpha_less_eps >= found.at_alpha_less_kappa >= found.at_alpha


def test_points_beat_only_on_all_three() -> None:
    ours = Outcome(0.35, 6, 10)
    assert beats(Outcome(0.35, 6, 9), ours)
    assert not beats(Outcome(0.30, 5, 11), ours)
    assert frontier([ours, Outcome(0.30, 5, 11), Outcome(0.36, 6, 10)]) == [0, 1]


def test_an_exponents_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Counts with noise around T^0.5, 40 tables of 10 seeds: a 95 % interval misses few.

    A percentile bootstrap of ten seeds is a little narrow. With 40 tables the chance of fewer than
    31 hits at a coverage of 0.9 is below 1 %.
    """
    rng = np.random.default_rng(7)
    rounds, hits = (100, 400, 1600), 0
    for _ in range(40):
        noise = rng.lognormal(0.0, 0.3, (10, 3))
        found = growth(rounds, (np.sqrt(rounds) * noise).tolist())
        hits += found.low <= 0.5 <= found.high
    assert hits >= 31


def test_growth_without_counts_is_not_a_number() -> None:
    assert math.isnan(growth((100, 400), [[0.0, 0.0], [0.0, 1.0]]).value)


def summary(gap: float, error: float = 0.45) -> Summary:
    fixed = Comparators(0.48, 0.44, 0.40)
    return Summary(100, 3, 300, error, error, fixed, 0.0, 0, 9, 100, 300, None, 0.0, gap, 0.1, 0)


def test_a_policy_near_constant_is_warned_about_with_its_cost_and_remedies() -> None:
    learner = Learner(POOL, 3, 0.3, 0.3, 1)
    assert near_constant(learner, summary(NEAR_CONSTANT)) is None
    warning = near_constant(learner, summary(0.03))
    assert warning is not None
    for words in ("0.030 in the mean", "0.010 above", "0.050 above", "larger eta",
                  "smaller kappa", "larger alpha"):  # fmt: skip
        assert words in warning


def test_who_cannot_or_need_not_do_otherwise_is_not_warned_about() -> None:
    single = Learner(Pool.from_table([[1, 1]]), 3, 0.3, 0.3, 1)
    assert near_constant(single, summary(0.0)) is None
    warning = near_constant(Learner(POOL, 3, 0.3, 0.3, 1), summary(0.0, error=0.39))
    assert warning is not None
    assert "nothing needs to" in warning


@pytest.mark.parametrize(("excess", "violations"), [(5e-8, 0), (2e-7, 1)])
def test_what_a_solver_leaves_is_no_violation(
    monkeypatch: pytest.MonkeyPatch, excess: float, violations: int
) -> None:
    """Dies for the mutant that counts every excess above 0."""
    alike = np.zeros((2, 2), dtype=np.int64)
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    pair = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), alike)
    weights = np.array([1.0 - excess, excess, 0.0])
    monkeypatch.setattr("studies.sweep.runs._best_policy", lambda *_: weights)
    assert priced_policy(pool, [pair], 0.0, 1.0).violations == violations
