"""Rounds that are shown again: nobody can tell them from the others, and they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.service.live import people, spec

from likewise.service.api.metrics import measure
from likewise.service.api.review_responses import ReviewResponse
from likewise.service.api.review_serializers import review_response
from likewise.service.dockets.commands.feedback import label
from likewise.service.dockets.commands.reviewing import finish, objection, take_back, withdrawal
from likewise.service.dockets.commands.rounds import Applicant, open_docket, open_round
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews import Review, ReviewBoard
from likewise.service.errors import ServiceError
from likewise.service.ledger.store import Store

OPAQUE = {"id", "asked", "number", "people", "pairs", "objections", "receipt"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path / 'likewise.db'}")
    yield opened
    opened.close()


def board(store: Store, **more: Any) -> ReviewBoard:
    if "loans" not in store.dockets():
        wanted = {"repeat_share": 0.5, **more}
        open_docket(store, "loans", spec(**wanted), seed=7)
    return ReviewBoard(Docket(store, "loans"))


def play(board: ReviewBoard, number: int) -> None:
    applicants = [Applicant(name, features) for name, features in people(number, 3).items()]
    open_round(board.docket, applicants)


def judged(board: ReviewBoard, review: Review, *, object_to: bool) -> ReviewResponse:
    shown = review_response(board, review)
    if object_to and shown.pairs:
        pair = shown.pairs[0]
        objection(board, "ann", review.id, (pair.over, pair.under), "alike")
    finish(board, "ann", review.id)
    if not review.repeat:
        for other in board.of("bob"):
            if other.round.id == review.round.id and not other.repeat:
                finish(board, "bob", other.id)
    return shown


def asked(board: ReviewBoard) -> list[Review]:
    return [review for review in board.of("ann") if review.status == "asked"]


def until_repeat(board: ReviewBoard) -> Review:
    """Play rounds until one is shown again."""
    for number in range(60):
        play(board, number)
        for review in asked(board):
            if review.repeat:
                return review
            judged(board, review, object_to=number % 2 == 0)
    raise AssertionError("no round was ever shown again")


def test_a_repeat_looks_like_any_other(store: Store) -> None:
    here = board(store)
    repeat = until_repeat(here)
    play(here, 99)
    again, fresh = here.one("ann", repeat.id), asked(here)[-1]
    assert (again, fresh.repeat) == (repeat, False)
    ours = asdict(review_response(here, again))
    other = asdict(review_response(here, fresh))
    assert ours.keys() == other.keys()
    assert {k: v for k, v in ours.items() if k not in OPAQUE} == {
        k: v for k, v in other.items() if k not in OPAQUE
    }
    assert (ours["objections"], ours["outcome"], ours["reported"]) == ([], None, [])
    first = next(r for r in here.of("ann") if r.round.id == repeat.round.id and not r.repeat)
    assert first.id != again.id
    names = str(ours)
    assert not any(person in names for person in repeat.round.people)
    # People stand in another order, or at least under names that this review made.
    assert [p["id"] for p in ours["people"]] == ["p1", "p2", "p3"]


def test_receipts_do_not_tell_either(store: Store) -> None:
    """Every act writes one record, whichever kind of review it is."""
    here = board(store)
    repeat = until_repeat(here)
    play(here, 99)
    steps = []
    for review in (repeat, asked(here)[-1]):
        shown = review_response(here, review)
        pair = (shown.pairs[0].over, shown.pairs[0].under)
        before, me = here.docket.projection.head.seq, (here, "ann", review.id, pair)
        receipts = [
            objection(*me, "why"),
            objection(*me, "another"),
            withdrawal(*me),
            withdrawal(*me),
            objection(*me, None),
        ]
        numbers = [receipt.head.seq - before for receipt in receipts]
        steps.append(numbers)
    assert steps == [[1, 2, 3, 3, 4]] * 2
    assert here.one("ann", repeat.id).status == "asked"


def test_a_repeat_can_be_taken_back_until_it_closes(store: Store) -> None:
    here = board(store)
    repeat = until_repeat(here)
    shown = judged(here, repeat, object_to=True)
    assert here.one("ann", repeat.id).status == "waiting"
    take_back(here, "ann", repeat.id)
    assert here.one("ann", repeat.id).status == "asked"
    finish(here, "ann", repeat.id)
    outcome = repeat.round.outcome
    play(here, 99)
    judged(here, next(r for r in asked(here) if not r.repeat), object_to=False)
    ended = review_response(here, here.one("ann", repeat.id))
    assert (ended.status, ended.outcome) == ("closed", outcome)
    assert here.docket.projection.rounds[repeat.round.id].outcome == outcome
    with pytest.raises(ServiceError, match="has closed"):
        withdrawal(here, "ann", repeat.id, (shown.pairs[0].over, shown.pairs[0].under))
    members = measure(here.docket).members
    assert members is not None
    assert members[0].repeats == 1
    assert members[0].consistency is not None


def test_whoever_sits_alone_closes_the_panel(store: Store) -> None:
    here = board(store, members=("ann",))
    repeat = until_repeat(here)
    play(here, 99)
    for review in (repeat, asked(here)[-1]):
        before = here.docket.projection.head.seq
        assert finish(here, "ann", review.id).head.seq == before + 2
        assert here.one("ann", review.id).status == "closed"
        with pytest.raises(ServiceError, match="has closed"):
            take_back(here, "ann", review.id)


def test_a_repeat_has_a_deadline_like_any_other(store: Store) -> None:
    moment = datetime(2100, 1, 1, tzinfo=UTC)

    def clock() -> str:
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    open_docket(store, "loans", spec(repeat_share=0.5, deadline=3600), seed=7)
    here = ReviewBoard(Docket(store, "loans", clock))
    repeat = until_repeat(here)
    assert repeat.due == "2100-01-01T01:00:00.000000Z"
    objected = review_response(here, repeat).pairs[0]
    objection(here, "ann", repeat.id, (objected.over, objected.under), None)
    moment += timedelta(hours=1)
    assert here.one("ann", repeat.id).status == "missed"
    with pytest.raises(ServiceError, match="has closed"):
        finish(here, "ann", repeat.id)


def test_the_lottery_can_be_drawn_again(store: Store) -> None:
    """Another process, and the same one after a restart, asks for the same reviews."""
    here = board(store)
    until_repeat(here)
    there = board(store)
    assert [r.id for r in there.of("ann")] == [r.id for r in here.of("ann")]


def test_a_share_of_zero_means_never(store: Store) -> None:
    here = board(store, repeat_share=0.0)
    with pytest.raises(AssertionError, match="ever"):
        until_repeat(here)


def test_reasons_that_nobody_gives_any_more_are_removed(store: Store) -> None:
    here = board(store)
    play(here, 1)
    [review] = asked(here)
    pair = next((p.over, p.under) for p in review_response(here, review).pairs)

    def reasons() -> list[str]:
        with store.reading() as connection:
            rows = connection.exec_driver_sql("SELECT content FROM payloads").scalars()
            return [row for row in rows if "text" in row]

    objection(here, "ann", review.id, pair, "first")
    objection(here, "ann", review.id, pair, "second")
    assert len(reasons()) == 1
    withdrawal(here, "ann", review.id, pair)
    assert reasons() == []


def test_labels_do_not_matter_to_auditors(store: Store) -> None:
    here = board(store)
    play(here, 1)
    [review] = asked(here)
    before = asdict(review_response(here, review))
    label(here.docket, [("r1", "x1-0", 1)])
    after = asdict(review_response(here, here.one("ann", review.id)))
    assert before.pop("receipt") != after.pop("receipt")
    assert before == after


def test_what_cannot_be_objected_to(store: Store) -> None:
    here = board(store)
    applicants = {f"a{n}": {"score": 500, "debt": 1, "purpose": "car"} for n in range(2)}
    open_round(here.docket, [Applicant(name, one) for name, one in applicants.items()])
    [review] = asked(here)
    for pair, code in [
        (("p1", "p2"), "gap-too-small"),
        (("p1", "p1"), "no-pair"),
        (("p1", "a0"), "no-person"),
    ]:
        with pytest.raises(ServiceError) as refused:
            objection(here, "ann", review.id, pair, None)
        assert refused.value.code == code
        assert "r1" not in str(refused.value)
    with pytest.raises(ServiceError) as unknown:
        finish(here, "cy", review.id)
    assert unknown.value.code == "no-review"
