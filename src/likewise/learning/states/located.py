"""People of a round as points of the learner's class, looked up once.

The last people who were looked up are remembered, since a round asks for its own several times
over: to decide, to charge labels and to charge a report. They are known by being the same tuple.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.events import Person
from likewise.hypotheses import Points
from likewise.learning.learner import Learner
from likewise.schema import People

__all__ = ["is_located", "located", "located_as", "points_of"]


def is_located(learner: Learner, people: tuple[Person, ...]) -> bool:
    """Test whether these are the people who were looked up last."""
    known = learner.__dict__.get("_located")
    return known is not None and known[0] is people


def located(learner: Learner, people: tuple[Person, ...]) -> Points:
    """The points of some people."""
    known = learner.__dict__.get("_located")
    if known is not None and known[0] is people:
        found: Points = known[1]
        return found
    schema = learner.hypotheses.schema
    x = np.array([p.features for p in people], dtype=np.float64)
    x = x.reshape(len(people), len(schema))
    return located_as(learner, people, People(tuple(p.id for p in people), x, schema))


def located_as(learner: Learner, people: tuple[Person, ...], same: People) -> Points:
    """The same for people who are at hand as an array."""
    points = learner.hypotheses.locate(same)
    # A note on the learner, not a part of it: neither compared nor saved.
    learner.__dict__["_located"] = (people, points)
    return points


def points_of(learner: Learner, people: tuple[Person, ...], some: Sequence[str]) -> Points:
    """The points of some of a round's people, by their ids; one may be named more than once."""
    ids = [p.id for p in people]
    if ids == some:  # everybody, in order: the labels of a round that come together
        return located(learner, people)
    wanted = set(some)
    if not is_located(learner, people) and 2 * len(wanted) < len(people):
        # Feedback that comes late, on a few of many: the others need not be looked up.
        people = tuple(p for p in people if p.id in wanted)
        ids = [p.id for p in people]
    place = {name: i for i, name in enumerate(ids)}
    return located(learner, people)[[place[person] for person in some]]
