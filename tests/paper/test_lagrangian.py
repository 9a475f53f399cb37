"""Definitions "Lagrangian loss" and "Regularized Lagrangian loss": what both players play on.

The learner never computes either. Here its charged costs are held against differences of the one,
and its dual player's step against the slope of the other.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, learn
from likewise.learner.costs import GradientAscent
from likewise.learner.rounds import deploy
from likewise.learner.state import changed
from likewise.numerics.fixed_point import ONE
from tests.paper.losses import (
    lagrangian,
    misclassification,
    regularised_lagrangian,
    unfairness_proxy,
)

TABLE = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("report", [None, (1, 0), (2, 0)])
@pytest.mark.parametrize("lam", [0.0, 0.75])
@pytest.mark.parametrize("labels", [[0, 1, 0], [1, 1, 0]])
def test_charged_costs_are_the_lagrangian_up_to_a_constant(
    report: tuple[int, int] | None, lam: float, labels: list[int]
) -> None:
    """For any two hypotheses: the difference of their costs is that of their Lagrangians."""
    learner = Learner(Pool.from_table(TABLE), 3, 0.3, 0.3, 1, SelfTuned(eta=0.75))
    state = changed(State.start(learner), lam=lam)
    people = learner.hypotheses.schema.encoded(np.array(TABLE, dtype=float).T)
    state, deployment = deploy(state, people)
    pairs = [] if report is None else [(people.ids[report[0]], people.ids[report[1]])]
    state = learn(state, deployment, labels=labels, report=pairs)
    published = deployment.scores.tolist()
    totals = learner.hypotheses.totals(state.costs, learner.hypotheses.codes()) / ONE
    losses = [
        lagrangian(
            misclassification(row, labels),
            unfairness_proxy(row, published, report, learner.margins.beta),
            lam, k=3, eta=0.75,
        )
        for row in TABLE
    ]  # fmt: skip
    assert totals - totals[0] == pytest.approx(np.array(losses) - losses[0], abs=1e-9)


@given(
    lam=st.floats(0, 20), mu=st.floats(0.01, 1), beta=st.floats(0, 1), reported=st.booleans(),
    error=st.floats(0, 5),
)  # fmt: skip
def test_the_dual_step_goes_up_the_regularised_lagrangian(
    lam: float, mu: float, beta: float, reported: bool, error: float
) -> None:
    """Along its slope U − mu·lam at the published policy, whose proxy is beta; labels drop out."""
    published = [0.9, 0.2]
    proxy = unfairness_proxy(published, published, (0, 1) if reported else None, beta)
    assert proxy == pytest.approx(beta * reported)
    above, below = (
        regularised_lagrangian(error, proxy, lam + side, mu=mu, k=2) for side in (1.0, -min(1, lam))
    )
    # A parabola's secant has the slope of its middle.
    middle, width = lam + (1.0 - min(1, lam)) / 2, 1.0 + min(1, lam)
    slope = (above - below) / width + mu * (middle - lam)
    stepped = GradientAscent().step(lam, reported=reported, beta=beta, mu=mu)
    assert stepped == pytest.approx(lam + mu * slope, abs=1e-9)
