"""Every world keeps one contract: the same seed, the same stream, and people the schema knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.hypotheses import verify_separating_set
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import People
from likewise.simulate import (
    WORLDS,
    Adaptive,
    Adversarial,
    Drift,
    Encounter,
    Loans,
    Recorded,
    Strategic,
    View,
    World,
)
from likewise.simulate.loans import applicants
from studies.people.admissions import Admissions
from tests.files_of_people import HERE

EACH = pytest.mark.parametrize("make", [WORLDS[name] for name in HERE], ids=HERE)
REACTING = pytest.mark.parametrize("name", ["strategic", "adversarial"])


class Flat:
    """A policy that gives everybody the same chance."""

    def chances(self, people: People) -> IntArray:
        return np.full(len(people), ONE // 2)


class Steep:
    """A policy that approves whoever has at least 600 points."""

    def chances(self, people: People) -> IntArray:
        return np.where(people.column("score") >= 600, ONE, 0).astype(np.int64)


def rounds(world: World, count: int, view: View | None = None) -> list[Encounter]:
    course = world.course()
    met = []
    for t in range(1, count + 1):
        met.append(course.meet(t, view or Flat()))
        course.hear(met[-1], np.ones(len(met[-1].labels), dtype=bool))
    return met


def same(a: Encounter, b: Encounter) -> bool:
    return (
        np.array_equal(a.people.x, b.people.x)
        and np.array_equal(a.labels, b.labels)
        and a.panel.name == b.panel.name
    )


@EACH
def test_the_same_seed_and_the_same_decisions_give_the_same_stream(make: type[Loans]) -> None:
    assert all(map(same, rounds(make(5), 30), rounds(make(5), 30)))


@EACH
def test_another_seed_gives_another_stream(make: type[Loans]) -> None:
    assert not any(map(same, rounds(make(1), 5), rounds(make(2), 5)))


@EACH
def test_people_satisfy_the_schema(make: type[Loans]) -> None:
    world = make(3)
    for encounter in rounds(world, 50):
        people = encounter.people
        assert (world.schema.encoded(people.x, people.ids).x == people.x).all()


@EACH
def test_labels_are_zero_or_one_and_neither_is_rare(make: type[Loans]) -> None:
    labels = np.concatenate([encounter.labels for encounter in rounds(make(4), 200)])
    assert set(labels.tolist()) == {0, 1}
    assert 0.2 < labels.mean() < 0.8


@EACH
def test_every_class_of_a_world_can_place_its_people(make: type[Loans]) -> None:
    world = make(3)
    for name in world.classes:
        hypotheses = world.hypotheses(name)
        people = rounds(world, 1)[0].people
        assert len(hypotheses.locate(people)) == len(people)
        if hypotheses.size < 1000:
            assert verify_separating_set(hypotheses)


def test_steady_worlds_can_be_asked_for_any_round() -> None:
    for world in (Loans(5), Admissions(5), Drift(5, spell=10)):
        assert all(map(same, rounds(world, 30)[20:], (world.encounter(t) for t in range(21, 31))))


@pytest.mark.parametrize("k", [8, 700])
def test_rounds_of_loans_are_the_same_one_by_one(k: int) -> None:
    """They are made some at a time; what was handed out may be changed by whoever has it."""
    world = Loans(3, k=k)
    for t in (1, 63, 64, 1000, (1 << 32) - 1):
        met = world.encounter(t)
        stream = Stream(3, Purpose.WORLD, t)
        x, labels = applicants(stream, k, world.luck, world.harshness)
        assert met.people.x.tolist() == x.tolist()
        assert met.labels.tolist() == labels.tolist()
        met.people.x[:] = 0
        assert world.encounter(t).people.x.tolist() == x.tolist()
    with pytest.raises(ParameterError, match="round"):
        world.encounter(1 << 32)


def test_a_recession_makes_repayment_rarer() -> None:
    world = Drift(1, spell=150)
    good, bad = (
        np.mean([world.encounter(t).labels.mean() for t in range(a, a + 150)]) for a in (1, 151)
    )
    assert bad < good - 0.1


def test_applicants_move_only_where_it_pays() -> None:
    world = Strategic(2)
    still, moved = rounds(world, 40, Flat()), rounds(world, 40, Steep())
    honest = rounds(Strategic(2, reach=0), 40, Steep())
    for a, b, c in zip(still, moved, honest, strict=True):
        assert np.array_equal(a.people.x[:, 1:5], b.people.x[:, 1:5])
        assert np.array_equal(a.people.column("score"), c.people.column("score"))
        before, after = a.people.column("score"), b.people.column("score")
        assert (after >= before).all()
        assert ((after >= 600) | (after == before)).all()
    assert sum(int((b.people.x != a.people.x).any()) for a, b in zip(still, moved, strict=True)) > 5


def test_approvals_change_later_repayments() -> None:
    def played(approve: bool) -> list[Encounter]:
        course, met = Adaptive(3).course(), []
        for t in range(1, 300):
            met.append(course.meet(t, Flat()))
            course.hear(met[-1], np.full(8, approve))
        return met

    lent, kept = played(True), played(False)
    assert same(lent[0], kept[0])
    assert any(not np.array_equal(a.labels, b.labels) for a, b in zip(lent, kept, strict=True))


def test_the_adversary_picks_people_whom_the_policy_tells_apart() -> None:
    for encounter in rounds(Adversarial(4), 30, Steep()):
        scores = Steep().chances(encounter.people)
        assert scores.max() - scores.min() == ONE


def test_the_adversary_changes_size_panel_and_rule() -> None:
    met = rounds(Adversarial(4), 60, Steep())
    assert {len(e.labels) for e in met} == set(range(2, 9))
    assert len({e.panel.name for e in met}) > 20


def test_the_adversary_picks_the_panel_that_finds_most_to_object_to() -> None:
    """Not the panel of a round's first proposal, but the strictest: gaps exceed its distances more.

    Over 60 rounds, the largest excess before the panel that was picked is at least that before the
    five auditors by majority in most rounds, and more of them on average.
    """
    course, whole = Adversarial(3).course(), Loans(3).panel
    picked, majority = [], []
    for t in range(1, 61):
        met = course.meet(t, Steep())
        chances = Steep().chances(met.people)
        gaps = chances[:, None] - chances[None, :]
        picked.append(int((gaps - met.pivots.distance).max()))
        majority.append(int((gaps - whole.pivots(met.people).distance).max()))
    assert sum(p >= m for p, m in zip(picked, majority, strict=True)) >= 50
    assert sum(picked) > sum(majority)


def test_the_adversary_labels_against_the_policy() -> None:
    met = rounds(Adversarial(4, spite=1.0), 30, Steep())
    assert all((e.labels == (Steep().chances(e.people) < ONE // 2)).all() for e in met)


def test_the_lenders_large_rule_book_has_more_than_1e20_pages() -> None:
    assert Loans(1).hypotheses("segments-large").size == 21**50


def test_the_auditors_of_loans_disagree() -> None:
    world = Loans(1)
    seen = set()
    for t in range(1, 30):
        pivots = world.encounter(t).pivots
        seen |= {pivots.member(i, j) for i in range(8) for j in range(i)}
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
        lambda: Loans(1).hypotheses("forest"),
        lambda: Admissions(1, k=0),
        lambda: Drift(1, spell=0),
        lambda: Strategic(1, price=2.0),
        lambda: Adaptive(1, fading=0.0),
        lambda: Adversarial(1, spite=-0.1),
        lambda: Admissions(1).hypotheses("segments"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()
