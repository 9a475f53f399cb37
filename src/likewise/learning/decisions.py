"""Decisions: a round's policy, and its draws for a batch of people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likewise.errors import EventRefused
from likewise.events import Decided, Decision, Person
from likewise.fixed_point import ONE, to_units
from likewise.hypotheses import Points
from likewise.learning.costs import Direct
from likewise.learning.event_checks import open_round
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.learning.state import State
from likewise.randomness import Purpose, Stream
from likewise.schema import People

__all__ = ["decide", "drawn_for_audit", "located", "lottery", "upcoming"]


def located(state: State, people: tuple[Person, ...]) -> Points:
    """People of a round as points of the learner's class."""
    schema = state.learner.hypotheses.schema
    x = np.array([p.features for p in people], dtype=np.float64).reshape(len(people), len(schema))
    return state.learner.hypotheses.locate(People(tuple(p.id for p in people), x, schema))


def upcoming(state: State) -> Frozen:
    """The policy that a round would have if it opened now."""
    learner = state.learner
    scale = state.scale(state.tuning.opened(state.largest_square))
    return Frozen(state.opened + 1, learner.seed, state.costs, scale, learner.copies)


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
    points, frozen, one_sided = located(state, people), round_.policy, learner.pricing.one_sided
    cap = learner.resamples(round_.number)
    estimates = learner.primal.estimates(
        learner.hypotheses, frozen, points, round_.draws, batch, cap=cap
    )
    bits = learner.primal.decide(learner.hypotheses, frozen, points, batch)
    if isinstance(learner.pricing, Direct):
        # Its estimate has no bound where J has none, so J is capped even where it is exact.
        estimates = replace(estimates, inverses=[min(j, cap * ONE) for j in estimates.inverses])
    return Decided(
        round_id,
        tuple(
            Decision(person.id, bool(bit), score, inverse if one_sided and bit else None)
            for person, bit, score, inverse in zip(
                people, bits, estimates.scores, estimates.inverses, strict=True
            )
        ),
    )


def drawn_for_audit(state: State, round_id: str) -> bool:
    """Look up whether the lottery drew the round for audit, with the learner's ``audit_share``.

    The lottery is held when the round opens, with random numbers of its own, so that neither the
    policy nor the people have anything to do with it, and anybody who knows the seed can check it.
    """
    number = open_round(state, round_id).number
    return lottery(state.learner, number)


def lottery(learner: Learner, number: int) -> bool:
    """The draw for the round of that number."""
    if learner.audit_share == 1:
        return True
    stream = Stream(learner.seed, Purpose.LOTTERY, number)
    return stream.below(ONE) < to_units(learner.audit_share)
