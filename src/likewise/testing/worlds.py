"""The contract of a world: the same stream for the same seed and decisions, of people who fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likewise.auditing import Panel
from likewise.errors import LikewiseError
from likewise.fixed_point import ONE, IntArray
from likewise.game import play
from likewise.learning import Learner
from likewise.registry import WORLDS
from likewise.schema import People
from likewise.testing.contract import contract, generator, require, require_text
from likewise.worlds import Encounter, Steady, World


class _View:
    """A policy: everybody's chance follows from their position."""

    def chances(self, people: People) -> IntArray:
        """Return chances that differ from person to person."""
        return np.linspace(0, ONE, len(people)).astype(np.int64)


@contract
def check_world(world: World, *, rounds: int = 12, seed: int = 1) -> None:
    """Check a world: its rounds, its classes, and that it is known by its name and its settings.

    >>> from likewise.worlds import Loans
    >>> check_world(Loans(seed=1, k=3), rounds=4)
    """
    require(isinstance(world, World), world, "it is no World.")
    require_text(world, "name", "summary")
    WORLDS.check_name(world.name, type(world))
    type(world).make(seed)  # by its name alone
    first, second = (list(_course(world, rounds, seed)) for _ in range(2))
    for t, (encounter, repeat) in enumerate(zip(first, second, strict=True), start=1):
        _check_encounter(world, encounter, t)
        same = _same(encounter, repeat)
        require(same, world, f"round {t} differs though all was the same before it.")
    if isinstance(world, Steady):
        for t in (rounds, 1):
            same = _same(world.encounter(t), first[t - 1])
            require(same, world, f"round {t} depends on the rounds before.")
    _check_classes(world, first[0].people)
    play(world, Learner(world.hypotheses(), world.k, 0.3, 0.3, seed), min(rounds, 3))


def _course(world: World, rounds: int, seed: int) -> Iterator[Encounter]:
    course, rng = world.course(), generator(seed)
    for t in range(1, rounds + 1):
        encounter = course.meet(t, _View())
        require(isinstance(encounter, Encounter), world, f"meet must be an Encounter in {t}.")
        course.hear(encounter, rng.random(len(encounter.people)) < 0.5)
        yield encounter


def _check_encounter(world: World, encounter: Encounter, t: int) -> None:
    people, labels = encounter.people, encounter.labels
    require(1 <= len(people) <= world.k, world, f"round {t} has {len(people)} people, k={world.k}.")
    try:
        world.schema.encoded(people)
        world.schema.encoded(people.x, people.ids)
    except LikewiseError as error:
        require(False, world, f"round {t}: the people do not fit its schema: {error}")
    fits = isinstance(labels, np.ndarray) and labels.shape == (len(people),)
    fits = fits and labels.dtype.kind in "iu" and bool(np.isin(labels, (0, 1)).all())
    require(fits, world, f"round {t}: labels must be an array of 0s and 1s, one a person.")
    require(isinstance(encounter.panel, Panel), world, f"round {t}: the panel must be a Panel.")
    pivots = encounter.panel.pivots(people)
    require(pivots.distance.shape == (len(people),) * 2, world, f"round {t}: pivots of the people.")


def _same(left: Encounter, right: Encounter) -> bool:
    return (
        left.people.ids == right.people.ids
        and np.array_equal(left.people.x, right.people.x, equal_nan=True)
        and np.array_equal(left.labels, right.labels)
        and left.panel.name == right.panel.name
        and np.array_equal(left.pivots.distance, right.pivots.distance)
    )


def _check_classes(world: World, people: People) -> None:
    """Every class is over the world's features, the first by default, and others are refused."""
    require(bool(world.classes), world, "classes must name at least one class.")
    for name in (None, *world.classes):
        hypotheses = world.hypotheses(name)
        same = hypotheses.schema.digest == world.schema.digest
        require(same, world, f"the class {name!r} is over other features than the world has.")
        hypotheses.locate(people)
    try:
        world.hypotheses("no such class")
    except LikewiseError:
        return
    require(False, world, "a class that it has not must be refused.")
