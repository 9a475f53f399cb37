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


def is_located(learner: Learner, people: tuple[Person, ...]) -> bool:
    """Test whether these are the people who were looked up last."""
    cached = learner.__dict__.get("_located")
    return cached is not None and cached[0] is people


def located(learner: Learner, people: tuple[Person, ...]) -> Points:
    """The points of some people."""
    cached = learner.__dict__.get("_located")
    if cached is not None and cached[0] is people:
        points: Points = cached[1]
        return points
    schema = learner.hypotheses.schema
    x = np.array([p.features for p in people], dtype=np.float64)
    x = x.reshape(len(people), len(schema))
    return located_as(learner, people, People(tuple(p.id for p in people), x, schema))


def located_as(learner: Learner, people: tuple[Person, ...], rows: People) -> Points:
    """The points of people whose features are at hand as an array, too."""
    points = learner.hypotheses.locate(rows)
    # A note on the learner, not a part of it: neither compared nor saved.
    learner.__dict__["_located"] = (people, points)
    return points


def points_of(learner: Learner, people: tuple[Person, ...], names: Sequence[str]) -> Points:
    """The points of some of a round's people, by their ids; an id may occur more than once."""
    ids = [p.id for p in people]
    if ids == names:  # everybody, in order: the labels of a round that come together
        return located(learner, people)
    distinct = set(names)
    if not is_located(learner, people) and 2 * len(distinct) < len(people):
        # Feedback that comes late, on a few of many: nobody else need be looked up.
        people = tuple(p for p in people if p.id in distinct)
        ids = [p.id for p in people]
    index = {name: i for i, name in enumerate(ids)}
    return located(learner, people)[[index[name] for name in names]]
