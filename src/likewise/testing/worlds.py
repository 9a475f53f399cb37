"""The contract of a world: the same stream for the same seed and decisions, of people who fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likewise.auditing import Panel
from likewise.errors import ContractError, LikewiseError
from likewise.fixed_point import ONE, IntArray
from likewise.game import play
from likewise.learning import Learner
from likewise.registry import WORLDS
from likewise.schema import People
from likewise.testing.people import called, generator, require, trial
from likewise.worlds import Encounter, Steady, World

__all__ = ["check_world"]


class _View:
    """A policy at random: everybody has some chance, and it is nobody's."""

    def chances(self, people: People) -> IntArray:
        """Chances that differ from person to person."""
        return np.linspace(0, ONE, len(people)).astype(np.int64)


def check_world(world: World, *, rounds: int = 12, seed: int = 1) -> None:
    """Check a world: its rounds, its classes, and that it is known by its name and its settings.

    >>> from likewise.worlds import Loans
    >>> check_world(Loans(seed=1, k=3), rounds=4)
    """
    require(isinstance(world, World), world, "it is no World.")
    with trial(world):
        _check_world(world, rounds, seed)


def _check_world(world: World, rounds: int, seed: int) -> None:
    for name in ("name", "summary"):
        text = getattr(world, name, None)
        require(isinstance(text, str) and text, world, f"it must have a {name}, a text.")
    called(world, "its name", WORLDS.check_name, world.name, type(world))
    called(world, "make(seed), by its name alone", type(world).make, seed)
    first, second = (list(_course(world, rounds, seed)) for _ in range(2))
    for t, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        _check_encounter(world, one, t)
        require(_same(one, other), world, f"round {t} differs though all was the same before it.")
    if isinstance(world, Steady):
        for t in (rounds, 1):
            again = called(world, "encounter", world.encounter, t)
            require(_same(again, first[t - 1]), world, f"round {t} depends on the rounds before.")
    _check_classes(world, first)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed)
    called(world, "a game", play, world, learner, min(rounds, 3))


def _course(world: World, rounds: int, seed: int) -> Iterator[Encounter]:
    course, rng = called(world, "course", world.course), generator(seed)
    for t in range(1, rounds + 1):
        encounter = called(world, f"meet({t})", course.meet, t, _View())
        require(isinstance(encounter, Encounter), world, f"meet must be an Encounter in {t}.")
        approved = rng.random(len(encounter.people)) < 0.5
        called(world, "hear", course.hear, encounter, approved)
        yield encounter


def _check_encounter(world: World, encounter: Encounter, t: int) -> None:
    people, labels = encounter.people, encounter.labels
    require(1 <= len(people) <= world.k, world, f"round {t} has {len(people)} people, k={world.k}.")
    called(world, f"round {t}: people of its schema", world.schema.encoded, people)
    called(world, f"round {t}: features", world.schema.encoded, people.x, people.ids)
    fits = isinstance(labels, np.ndarray) and labels.shape == (len(people),)
    fits = fits and labels.dtype.kind in "iu" and bool(np.isin(labels, (0, 1)).all())
    require(fits, world, f"round {t}: labels must be an array of 0s and 1s, one a person.")
    require(isinstance(encounter.panel, Panel), world, f"round {t}: the panel must be a Panel.")
    pivots = called(world, f"round {t}: distances", encounter.panel.pivots, people)
    require(pivots.distance.shape == (len(people),) * 2, world, f"round {t}: pivots of the people.")


def _same(one: Encounter, other: Encounter) -> bool:
    return (
        one.people.ids == other.people.ids
        and np.array_equal(one.people.x, other.people.x, equal_nan=True)
        and np.array_equal(one.labels, other.labels)
        and one.panel.name == other.panel.name
        and np.array_equal(one.pivots.distance, other.pivots.distance)
    )


def _check_classes(world: World, met: list[Encounter]) -> None:
    """Every class is over the world's features, the first by default, and none is made up."""
    require(bool(world.classes), world, "classes must name at least one class.")
    for name in (None, *world.classes):
        made = called(world, f"hypotheses({name!r})", world.hypotheses, name)
        same = made.schema.digest == world.schema.digest
        require(same, world, f"the class {name!r} is over other features than the world has.")
        called(world, f"locating people in {name!r}", made.locate, met[0].people)
    try:
        world.hypotheses("no such class")
    except LikewiseError:
        return
    raise ContractError(f"{type(world).__name__}: a class that it has not must be refused.")
