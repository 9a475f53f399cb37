"""Certificates of runs with one-sided labels: what they need, and what they then cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, apply
from likewise.learner.bounds import IN_EXPECTATION
from likewise.learner.certificate import Certificate, certificate
from likewise.learner.events import Audited, Closed, Labelled, Overridden
from likewise.learner.rounds import deploy
from likewise.learner.state import changed
from likewise.numerics.fixed_point import ONE

CONSTANTS = Pool.from_table([[0], [1]])


def ended(
    rounds: int, *, seed: int = 1, never: bool = False, late: bool = False, overrides: bool = False
) -> tuple[float, Certificate]:
    """A run in which nobody repays: its errors, and its certificate.

    After 40 rounds labels ``never`` come, those of the last round are ``late``, or somebody
    ``overrides`` a rejection.
    """
    learner = Learner(CONSTANTS, 1, 1.0, 0.5, seed, SelfTuned(eta=0.5, x=0.3), feedback="one-sided")
    state, errors = State.start(learner), 0.0
    for t in range(rounds):
        state, instance = deploy(state, CONSTANTS.schema.people([[0, 1]]))
        errors += float(instance.scores[0])
        state = apply(state, Audited(instance.round, "quiet"))
        if overrides and not instance.approved[0] and not state.overridden:
            state = apply(state, Overridden(instance.round, instance.ids[0], approved=True))
        elif instance.approved[0] and not (late and t == rounds - 1) and not (never and t >= 40):
            state = apply(state, Labelled(instance.round, instance.ids[0], 0))
        state = state if late and t == rounds - 1 else apply(state, Closed(instance.round))
    return errors, certificate(state)


def test_all_labels_that_were_to_come_came() -> None:
    assert ended(40)[1].holds == IN_EXPECTATION


def test_where_labels_never_come_it_is_no_bound_and_says_so() -> None:
    """Rejections are charged and approvals are not: the mean certificate is far below the regret.

    Nobody repays, so to reject everybody has no error, and errors are regret.
    """
    runs = [ended(440, seed=seed, never=True) for seed in range(8)]
    assert np.mean([actual.regret for _, actual in runs]) < np.mean([regret for regret, _ in runs])
    says = "as an estimate only: some labels of approved people never came"
    assert {actual.holds for _, actual in runs} == {says}


def test_labels_that_are_still_to_come_and_overrides_make_it_an_estimate() -> None:
    waiting = [ended(30, seed=seed, late=True)[1].holds for seed in range(20)]
    subset = "as an estimate only: some labels of approved people are still to come"
    assert set(waiting) == {subset, IN_EXPECTATION}, "according to who was approved last"
    assert "overridden" in ended(30, overrides=True)[1].holds


@pytest.mark.parametrize("player", ["nested-ftpl", "context-ftpl"])
def test_a_long_run_is_never_certified_to_be_better_than_the_best(player: str) -> None:
    """Also where M_T, which is 100 at the end, is larger than R; nothing was charged.

    With rounding, k·[2^-20·T + (2/e)·Σ 1/M_t], and 2·k·T/R for J and scores from the same draws;
    nested-ftpl draws J apart.
    """
    schedule = SelfTuned(eta=0.5, kappa=0.45, r=0.5, delta=0.9)
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    learner = Learner(pool, 2, 1.0, 1.0, 1, schedule, player, feedback="one-sided")
    for rounds in (10**3, 10**5, 10**6):
        actual = certificate(changed(State.start(learner), opened=rounds))
        inverses = sum(1.0 / math.ceil(round(t ** (1 / 3), 9)) for t in range(1, rounds + 1))
        bias = rounds / ONE + 2.0 / math.e * inverses
        experts = learner.primal.experts(pool)
        count = schedule.draws(learner.margins, 2 * max(1, experts), 1)
        bias += 0.0 if experts else 2.0 * rounds / count
        assert actual.holds == IN_EXPECTATION
        assert actual.regret == pytest.approx(2 * bias, rel=1e-6)
