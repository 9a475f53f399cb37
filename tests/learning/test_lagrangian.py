"""The Lagrangian as the paper writes it, and what the two players make of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise import Learner, Pool
from likewise.errors import ParameterError
from likewise.fixed_point import ONE
from likewise.learning import SelfTuned, State, deploy, learn
from likewise.learning.dual import GradientAscent
from likewise.learning.lagrangian import (
    lagrangian,
    misclassification,
    regularised_lagrangian,
    unfairness_proxy,
)

POLICIES = [[0, 0], [0, 1], [1, 0], [1, 1]]
POOL = Pool.from_table(POLICIES)
# Two people, told apart: what the four policies say of each.
PEOPLE = POOL.schema.people([[h[0] for h in POLICIES], [h[1] for h in POLICIES]])

chances = st.lists(st.floats(0, 1), min_size=2, max_size=2)
prices = st.floats(0, 100)


@given(objecting=st.lists(st.booleans(), min_size=1, max_size=12))
@example(objecting=[True] * 12)
def test_what_the_learner_charges_are_differences_of_the_lagrangian(objecting: list[bool]) -> None:
    """Σ f_t(h) − Σ f_t(g) is Σ L̄_t(h) − Σ L̄_t(g), at each round's own lam.

    Labels cost eta/k = 4 each here, which is whole units, and multipliers are rounded to units. A
    panel that objects does so where it may: once the gap exceeds alpha − kappa.
    """
    schedule = SelfTuned(eta=8.0, kappa=0.15)
    learner = Learner(POOL, k=2, alpha=0.3, eps=0.3, seed=1, schedule=schedule)
    state, whole, reports = State.start(learner), [0.0] * 4, 0
    for objects in objecting:
        lam = round(state.lam * ONE) / ONE
        state, deployment = deploy(state, PEOPLE)
        estimate = [float(p) for p in deployment.probabilities]
        report = (0, 1) if objects and estimate[0] - estimate[1] > 0.16 else None
        named = [] if report is None else [deployment.ids]
        state = learn(state, deployment, labels=[1, 0], report=named)  # type: ignore[arg-type]
        reports += report is not None
        for place, policy in enumerate(POLICIES):
            error = misclassification(policy, [1, 0])
            proxy = unfairness_proxy(policy, estimate, report, learner.margins.beta)
            whole[place] += lagrangian(error, proxy, lam, k=2, eta=8.0)
    codes = np.arange(4, dtype=np.int64)[:, None]
    charged = [cost / ONE for cost in POOL.totals(state.costs, codes).tolist()]
    for place in range(4):
        assert charged[place] - charged[0] == pytest.approx(whole[place] - whole[0], abs=1e-6)
    assert reports >= 5 or sum(objecting) < 12


@given(
    error=st.floats(0, 10),
    proxy=st.floats(-2, 1),
    lam=prices,
    mu=st.floats(0.01, 1),
    k=st.integers(1, 9),
)
def test_the_dual_players_step_goes_along_the_derivative(
    error: float, proxy: float, lam: float, mu: float, k: int
) -> None:
    """The regularised form is a parabola in lam, so a central difference is its derivative."""
    high = regularised_lagrangian(error, proxy, lam + 0.5, mu=mu, k=k)
    low = regularised_lagrangian(error, proxy, max(0.0, lam - 0.5), mu=mu, k=k)
    width = lam + 0.5 - max(0.0, lam - 0.5)
    middle = (lam + 0.5 + max(0.0, lam - 0.5)) / 2
    assert (high - low) / width == pytest.approx(proxy - mu * middle, abs=1e-6)
    plug_in = 0.25  # of the published policy itself, where a pair was reported
    step = GradientAscent().step(lam, reported=True, beta=plug_in, mu=mu)
    assert step == pytest.approx(max(0.0, lam + mu * (plug_in - mu * lam)))


@given(policy=chances, other=chances, estimate=chances, lam=prices)
def test_the_regulariser_does_not_move_the_primal_player(
    policy: list[float], other: list[float], estimate: list[float], lam: float
) -> None:
    values = []
    for one in (policy, other):
        error, proxy = misclassification(one, [0, 1]), unfairness_proxy(one, estimate, (0, 1), 0.15)
        plain = lagrangian(error, proxy, lam, k=2)
        values.append((plain, regularised_lagrangian(error, proxy, lam, mu=0.1, k=2)))
    assert values[0][0] - values[1][0] == pytest.approx(values[0][1] - values[1][1], abs=1e-6)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match="labels must be one for each of the 2 people"):
        misclassification([0.5, 0.5], [1])
    with pytest.raises(ParameterError, match="lam must be at least 0"):
        lagrangian(1.0, 0.0, -1.0, k=2)
    with pytest.raises(ParameterError, match="report"):
        unfairness_proxy([0.5, 0.5], [0.5, 0.5], (0, 2), 0.1)
