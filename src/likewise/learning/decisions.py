"""Decisions: a round's policy, and its draws for a batch of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from likewise.errors import EventRefused
from likewise.events import Decided, Decision
from likewise.fixed_point import ONE, IntArray, to_units
from likewise.learning.costs import Direct
from likewise.learning.event_checks import open_round
from likewise.learning.learner import Learner
from likewise.learning.primal import Draws, Frozen
from likewise.learning.states.located import located
from likewise.learning.states.state import State
from likewise.randomness import Purpose, Stream
from likewise.schema import People


def upcoming(state: State) -> Frozen:
    """The policy that a round would have if it opened now."""
    return state.frozen(state.opening())


def current_scores(state: State, people: People, draws: int = 1000) -> IntArray:
    """π(x) that people would have if a round opened now, in units; nothing is decided.

    Exactly where the player knows its policy, otherwise from ``draws`` that nobody else uses.
    """
    return scores_under(state.learner, upcoming(state), people, draws, Purpose.VIEW)


def scores_under(
    learner: Learner, frozen: Frozen, people: People, draws: int, purpose: Purpose
) -> IntArray:
    """π^t(x) of people under a frozen policy, in units: exactly, or from draws of a purpose."""
    points = learner.hypotheses.locate(people)
    estimates = learner.primal.estimates(
        learner.hypotheses, frozen, points, Draws(draws, purpose=purpose)
    )
    return np.array(estimates.scores, dtype=np.int64)


def decide(state: State, round_id: str) -> Decided:
    """Decide on the batch that arrived last; the state does not change.

    Scores come from draws of the batch's own, and the decision from one more draw that none of
    them has seen.
    """
    round_ = open_round(state, round_id)
    people = round_.undecided
    if not people:
        raise EventRefused(f"Round {round_id!r}: everybody who arrived has been decided on.")
    learner, batch = state.learner, round_.batches - 1
    # The same tuple, where everybody arrived at once: then nobody is looked up twice.
    points = located(learner, round_.people if len(people) == len(round_.people) else people)
    frozen, one_sided = round_.policy, learner.pricing.one_sided
    cap = learner.resamples(round_.number)
    draws = Draws(round_.draws, batch, cap=cap)
    estimates = learner.primal.estimates(learner.hypotheses, frozen, points, draws)
    bits = learner.primal.decide(learner.hypotheses, frozen, points, batch)
    if isinstance(learner.pricing, Direct):
        # Its estimate has no bound where J has none, so J is capped even where it is exact.
        estimates = replace(estimates, inverses=[min(j, cap * ONE) for j in estimates.inverses])
    experts: Sequence[tuple[int, ...] | None] = estimates.experts or [None] * len(people)
    approvals = np.asarray(bits).tolist()
    rows = zip(people, approvals, estimates.scores, estimates.inverses, experts, strict=True)
    decisions = [
        Decision(person.id, bool(bit), score, inverse if one_sided and bit else None, by)
        for person, bit, score, inverse, by in rows
    ]
    return Decided(round_id, tuple(decisions))


def drawn_for_audit(state: State, round_id: str) -> bool:
    """Look up whether the lottery drew the round for audit, with the learner's ``audit_share``.

    The lottery is held when the round opens, with random numbers of its own, so that neither the
    policy nor the people have anything to do with it, and anybody who knows the seed can check it.
    """
    return open_round(state, round_id).drawn


def lottery(learner: Learner, number: int) -> bool:
    """The draw for the round of that number."""
    if learner.audit_share == 1:
        return True
    stream = Stream(learner.seed, Purpose.LOTTERY, number)
    return stream.below(ONE) < to_units(learner.audit_share)
