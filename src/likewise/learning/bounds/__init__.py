"""Bounds: the guarantees for a run's own parameters, as numbers, and whether they say anything.

The paper's bounds are computed from the inequalities of its proofs, not from the O(·) of its
statements. A bound is *informative* if it is below what holds for any learner at all: k·T errors,
T violations. The theorems are proved in ``docs/theory.md``.
"""

from __future__ import annotations

from likewise.learning.bounds.base import LONGEST, Bound
from likewise.learning.bounds.multipliers import theorem_e_geometric
from likewise.learning.bounds.paper import paper_bound
from likewise.learning.bounds.players import Lateness
from likewise.learning.bounds.theorems import Theorems
from likewise.learning.costs import Lifted
from likewise.learning.dual import GradientAscent
from likewise.learning.learner import Learner
from likewise.learning.schedules import Paper, SelfTuned
from likewise.validation import instance, integer

__all__ = ["Bound", "bounds", "theorem_e_geometric"]


def bounds(
    learner: Learner, rounds: int, *, delay: int | None = 0, pieces: int | None = None
) -> tuple[Bound, ...]:
    """Every bound that covers the learner as it is set, after some rounds; maybe none.

    ``delay`` is the most rounds that feedback is late by, None where there is no such number, and
    ``pieces`` in how many parts that of one round comes (delay + 1 at most). Not covered are
    learners that ignore their panel, the paper's schedules at other horizons than their own, the
    estimate ``direct``, late feedback together with audits of a share, late one-sided labels of
    exponential weights, and late costs with other weights than the default. Of multipliers that
    never decrease: geometric ones that grow faster than Theorem E allows, those that may reach
    2^20, and what would hold in expectation only for a player that draws (one-sided labels, or
    audits of a share).

    >>> from likewise import Pool
    >>> learner = Learner(Pool.from_table([[0], [1]]), k=1, alpha=0.3, eps=0.3, seed=1)
    >>> [bound.holds for bound in bounds(learner, 1000)], bounds(learner, 1000, delay=None)
    (['surely'], ())
    """
    instance("learner", learner, Learner, "Make one: Learner(…).")
    rounds = integer("rounds", rounds, 1, None, "It is T, the number of rounds.")
    if delay is not None:
        delay = integer("delay", delay, 0, LONGEST, "It counts rounds.")
    if pieces is not None:
        pieces = integer("pieces", pieces, 1, None, "All at once is one piece.")
    if learner.ignores_reports or delay is None or (delay and learner.audit_share < 1):
        return ()
    schedule, one_sided = learner.schedule, learner.pricing.one_sided
    if one_sided and not isinstance(learner.pricing, Lifted):
        return ()
    if isinstance(schedule, Paper):  # its horizon is bounded already
        fits = rounds == schedule.horizon and delay == 0 and learner.audit_share == 1
        fits = fits and isinstance(learner.multiplier, GradientAscent)
        return (paper_bound(learner, schedule, rounds),) if fits else ()
    if not isinstance(schedule, SelfTuned) or (delay and not schedule.as_proved):
        return ()
    rounds = integer("rounds", rounds, 1, LONGEST, "It is T, the number of rounds.")
    if one_sided and delay and learner.primal.exact:
        return ()
    late = Lateness(
        delay, min(delay + 1, delay + 1 if pieces is None else pieces),
        counted=schedule.counts_outstanding,
        steady=learner.multiplier.never_decreases,
    )  # fmt: skip
    theorems = Theorems(learner, schedule, rounds, late)
    return theorems.one_sided() if one_sided else theorems.full()
