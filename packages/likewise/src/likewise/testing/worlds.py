"""The contract of a world: the same stream for the same seed and decisions, of people who fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likewise.errors import LikewiseError
from likewise.learner.settings import Learner
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.panel.metrics import Metric, Sides, metric_from_spec, metric_to_spec
from likewise.panel.panels import MetricAuditor, Panel
from likewise.panel.reports import Selection, selection_from_spec, selection_to_spec
from likewise.people.schema import People
from likewise.registry import WORLDS
from likewise.simulate.rounds import play
from likewise.simulate.world import Encounter, Steady, World
from likewise.testing.contract import contract, generator, require, require_text, same_as_json


class _View:
    """A policy: everybody's chance follows from their position."""

    def chances(self, people: People) -> IntArray:
        return np.linspace(0, ONE, len(people)).astype(np.int64)


@contract
def check_world(world: World, *, rounds: int = 12, seed: int = 1) -> None:
    """Check a world: its rounds, its classes, and that it is known by its name and its settings.

    >>> from likewise.simulate import Loans
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


@contract
def check_metric(metric: Metric, people: People) -> None:
    """Check a metric on people: symmetric, within [0, 1], whoever else is present; and JSON.

    >>> from likewise.panel import WeightedL1
    >>> from likewise.people import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> check_metric(WeightedL1({"income": 0.5}), schema.people([[10], [20], [90]]))
    """
    require(isinstance(metric, Metric), metric, "it is no Metric.")
    require(isinstance(people, People) and len(people) > 1, metric, "it needs at least two people.")
    auditor = MetricAuditor("auditor", metric)
    distances = auditor.distances(people)
    same = np.array_equal(auditor.distances(people), distances)
    require(same, metric, "the same people must have the same distances.")
    reverse = auditor.distances(people.take(range(len(people) - 1, -1, -1)))
    same = np.array_equal(reverse[::-1, ::-1], distances)
    require(same, metric, "people in another order must have the same distances.")
    alone = auditor.distances(people.take([0, 1]))
    require(alone[0, 1] == distances[0, 1], metric, "two people must not be nearer in company.")
    half = len(people) // 2
    first, second = people.take(range(half)), people.take(range(half, 2 * half))
    blocks = auditor.between(Sides(first, second))
    same = np.array_equal(blocks, distances[:half, half : 2 * half])
    require(same, metric, "between must have the distances that a call with everybody has.")
    paired = auditor.between(Sides(first, second, paired=True))
    same = np.array_equal(paired, np.diagonal(blocks))
    require(same, metric, "between differs for single pairs.")
    copy = same_as_json(metric, metric_to_spec, metric_from_spec)
    same = np.array_equal(MetricAuditor("auditor", copy).distances(people), distances)
    require(same, metric, "read back from its JSON, it has other distances.")


@contract
def check_selection(selection: Selection, *, seed: int = 1) -> None:
    """Check a selection: it chooses some of the pairs, the same ones again; and JSON.

    >>> from likewise.panel import LargestGap
    >>> check_selection(LargestGap())
    """
    require(isinstance(selection, Selection), selection, "it is no Selection.")
    require_text(selection, "name", "summary")
    copy = same_as_json(selection, selection_to_spec, selection_from_spec)
    same = type(type(selection).make(7)) is type(selection)
    require(same, selection, "make(seed) must make one of its class.")
    rng = generator(seed)
    for pairs in (1, 1, 2, 3, 5, 8, 30):
        gaps = rng.integers(1, 6, pairs).astype(np.int64)
        before, t = gaps.copy(), int(rng.integers(1, 1000))
        chosen = selection.choose(gaps, t)
        fits = isinstance(chosen, list) and 0 < len(chosen) == len({*chosen})
        fits = fits and all(isinstance(n, int) and 0 <= n < pairs for n in chosen)
        rule = f"choose must be a list of places below {pairs}, at least one and none twice"
        require(fits, selection, f"{rule}; got {chosen!r}.")
        require(np.array_equal(gaps, before), selection, "choose must not change the gaps.")
        same = chosen == selection.choose(gaps, t) == copy.choose(gaps, t)
        rule = "choose must choose the same pairs again, also read back from its JSON."
        require(same, selection, rule)
