"""Every world keeps one contract: the same seed, the same stream, and people the schema knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.hypotheses import verify_separating_set
from likewise.worlds import WORLDS, Admissions, Loans, Recorded, World

EACH = pytest.mark.parametrize("make", WORLDS.values(), ids=WORLDS.keys())


@EACH
def test_the_same_seed_gives_the_same_stream_in_any_order(make: type[Loans]) -> None:
    one, two = make(5), make(5)
    later = one.encounter(9)
    for t in (1, 9):
        a, b = one.encounter(t), two.encounter(t)
        assert (a.people.x == b.people.x).all()
        assert (a.labels == b.labels).all()
    assert (later.people.x == one.encounter(9).people.x).all()


@EACH
def test_another_seed_gives_another_stream(make: type[Loans]) -> None:
    assert (make(1).encounter(1).people.x != make(2).encounter(1).people.x).any()


@EACH
def test_people_satisfy_the_schema(make: type[Loans]) -> None:
    world: World = make(3)
    for t in range(1, 50):
        people = world.encounter(t).people
        assert (world.schema.people(people.x, people.ids).x == people.x).all()


@EACH
def test_labels_are_zero_or_one_and_neither_is_rare(make: type[Loans]) -> None:
    labels = np.concatenate([make(4).encounter(t).labels for t in range(1, 200)])
    assert set(labels.tolist()) == {0, 1}
    assert 0.3 < labels.mean() < 0.7


@EACH
def test_every_class_of_a_world_can_place_its_people(make: type[Loans]) -> None:
    world = make(3)
    for name in world.classes:
        hypotheses = world.hypotheses(name)
        points = hypotheses.locate(world.encounter(1).people)
        assert len(points) == world.k
        if hypotheses.size < 1000:
            assert verify_separating_set(hypotheses)


def test_the_lenders_large_rule_book_has_more_than_1e20_pages() -> None:
    assert Loans(1).hypotheses("segments-large").size == 21**50


def test_the_auditors_of_loans_disagree() -> None:
    world = Loans(1)
    seen = set()
    for t in range(1, 30):
        pivots = world.encounter(t).pivots
        seen |= {pivots.who(i, j) for i in range(8) for j in range(i)}
    assert seen == {"banker", "ethicist", "regulator", "statistician", "neighbour"}


def test_a_recorded_world_is_the_world() -> None:
    world = Loans(2)
    recorded = Recorded(world, 5)
    assert (recorded.encounter(5).people.x == world.encounter(5).people.x).all()
    assert recorded.encounter(3) is recorded.encounter(3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Loans(1, k=0),
        lambda: Loans(1, luck=2.0),
        lambda: Loans(1).hypotheses("trees"),
        lambda: Admissions(1, k=0),
        lambda: Admissions(1).hypotheses("segments"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()
