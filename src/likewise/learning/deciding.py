"""What the learner decides: a round's policy, and its draws for a batch of people."""

from __future__ import annotations

import numpy as np

from likewise.errors import EventRefused
from likewise.events import Decided, Decision, Person
from likewise.hypotheses import Points
from likewise.learning.primal import Frozen
from likewise.learning.refusals import open_round
from likewise.learning.state import State
from likewise.schema import People

__all__ = ["decide", "located", "upcoming"]


def located(state: State, people: tuple[Person, ...]) -> Points:
    """People of a round as points of the learner's class."""
    schema = state.learner.hypotheses.schema
    x = np.array([p.features for p in people], dtype=np.float64).reshape(len(people), len(schema))
    return state.learner.hypotheses.locate(People(tuple(p.id for p in people), x, schema))


def upcoming(state: State) -> Frozen:
    """The policy that a round would have if it opened now."""
    learner = state.learner
    scale = state.scale(state.tuning.opened(state.largest_cost))
    return Frozen(state.opened + 1, learner.seed, state.costs, scale, learner.copies)


def decide(state: State, round_id: str) -> Decided:
    """What the learner decides about the batch that arrived last; changes nothing.

    Scores come from draws of the batch's own, and the decision from one more draw that none of
    them has seen.
    """
    round_ = open_round(state, round_id)
    people = round_.undecided
    if not people:
        raise EventRefused(f"Round {round_id!r}: everybody who arrived has been decided on.")
    learner, batch = state.learner, round_.batches - 1
    points = located(state, people)
    player = learner.primal
    scores = player.scores(learner.hypotheses, round_.frozen, points, round_.draws, batch)
    bits = player.decide(learner.hypotheses, round_.frozen, points, batch)
    return Decided(
        round_id,
        tuple(
            Decision(person.id, bool(bit), score)
            for person, bit, score in zip(people, bits, scores, strict=True)
        ),
    )
