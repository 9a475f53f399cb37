"""The game on a GPU: a learner's constants and an uploaded stream of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.errors import ParameterError
from likewise.hypotheses.lists import Listed
from likewise.learner.fold import upcoming
from likewise.learner.schedules import Paper
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import ONE
from likewise.validation import instance

if TYPE_CHECKING:
    from likewise.learner.gpu.games import Constants, DeviceGame, Visitors


def device_game(learner: Learner, visitors: Visitors) -> DeviceGame:
    """Set up a game on a GPU: Context-FTPL with the paper's constants, full information.

    Everybody is audited at once, and the largest gap is reported. The rounds are those that
    :func:`~likewise.simulate.play.play` plays with the same stream, bit for bit; the GPU engine
    must be installed (``likewise[gpu]``).
    """
    from likewise.learner.gpu.games import DeviceGame

    instance("learner", learner, Learner, "Make one: Learner(…).")
    listed = learner.hypotheses
    if not isinstance(listed, Listed):
        raise ParameterError(
            "learner.hypotheses", "must be a list", listed, "Other classes play on the host."
        )
    people = visitors.arrivals.shape[1]
    if people != learner.k:
        raise ParameterError(
            "visitors", f"must come {learner.k} a round, the learner's k", people, "Take that many."
        )
    return DeviceGame(
        listed.separating_points().T, visitors, _constants(learner, len(visitors.arrivals))
    )


def _constants(learner: Learner, rounds: int) -> Constants:
    """Return the learner's constants, or refuse those that change from round to round."""
    from likewise.learner.gpu.games import Constants

    plain = learner.feedback == "full" and learner.audit_share == 1 and not learner.ignores_reports
    if not (plain and isinstance(learner.schedule, Paper)):
        raise ParameterError(
            "learner",
            "must have the paper's schedule, full information, every round audited and heard of",
            type(learner.schedule).__name__,
            "Other learners play on the host: likewise.simulate.play.play.",
        )
    first = upcoming(State.start(learner))
    return Constants(
        seed=learner.seed,
        draws=learner.draws(1),
        scale=first.scale * ONE,
        copies=first.copies,
        unit=learner.pricing.unit,
        sensitivity=learner.sensitivity,
        beta=learner.margins.beta,
        steps=np.array([learner.schedule.mu(t) for t in range(1, rounds + 1)]),
    )
