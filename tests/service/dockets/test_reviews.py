"""Rounds that are shown again: nobody can tell them from the others, and they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from likewise_client.responses import ReviewResponse
from likewise_service.api.reviews import review_response
from likewise_service.clock import later
from likewise_service.dockets import panel as reviews
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase
from likewise_service.dockets.reviews import Review, find
from likewise_service.dockets.rounds import Applicant, label, open_docket, open_round
from likewise_service.errors import ServiceError
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Store
from tests.service.live import Clock, every_review, people, spec

OPAQUE = {"id", "asked", "number", "people", "pairs", "objections", "receipt"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path / 'likewise.db'}")
    yield opened
    opened.close()


class Panel:
    """A docket's reviews, and what its members do with them."""

    def __init__(self, store: Store, clock: Clock | None = None, **more: Any) -> None:
        if "loans" not in store.dockets():
            open_docket(store, "loans", spec(**{"repeat_share": 0.5, **more}), seed=7)
        self.docket = Docket(store, "loans", clock) if clock else Docket(store, "loans")

    def play(self, number: int) -> None:
        applicants = [Applicant(name, features) for name, features in people(number, 3).items()]
        open_round(self.docket, applicants)

    def now(self, review: Review) -> Review:
        return find(self.docket, review.seat.member, review.id)

    def response(self, review: Review) -> ReviewResponse:
        return review_response(self.docket, self.now(review))

    def flag(self, review: Review, pair: tuple[str, str], reason: str | None) -> Checkpoint:
        return reviews.flag(self.docket, review.seat, review.people(pair), reason)

    def withdraw(self, review: Review, pair: tuple[str, str]) -> Checkpoint:
        return reviews.withdraw(self.docket, review.seat, review.people(pair))

    def finish(self, review: Review) -> Checkpoint:
        return reviews.finish(self.docket, review.seat)

    def awaiting(self, member: str = "ann") -> list[Review]:
        return [review for review in every_review(self.docket, member) if review.status == "asked"]

    def judge(self, review: Review, *, flag: bool) -> ReviewResponse:
        response = self.response(review)
        if flag and response.pairs:
            self.flag(review, (response.pairs[0].over, response.pairs[0].under), "alike")
        self.finish(review)
        for colleague in every_review(self.docket, "bob"):
            if (
                colleague.round.id == review.round.id
                and not repeated(review)
                and not repeated(colleague)
            ):
                self.finish(colleague)
        return response

    def until_repeat(self) -> Review:
        """Play rounds until one is shown again."""
        for number in range(60):
            self.play(number)
            for review in self.awaiting():
                if repeated(review):
                    return review
                self.judge(review, flag=number % 2 == 0)
        raise AssertionError("no round was ever shown again")


def repeated(review: Review) -> bool:
    return review.seat.again is not None


def test_a_repeat_looks_like_any_other(store: Store) -> None:
    panel = Panel(store)
    repeat = panel.until_repeat()
    panel.play(99)
    again, fresh = panel.now(repeat), panel.awaiting()[-1]
    assert (again.id, repeated(fresh)) == (repeat.id, False)
    repeat_fields, fresh_fields = asdict(panel.response(again)), asdict(panel.response(fresh))
    assert repeat_fields.keys() == fresh_fields.keys()
    assert {k: v for k, v in repeat_fields.items() if k not in OPAQUE} == {
        k: v for k, v in fresh_fields.items() if k not in OPAQUE
    }
    assert (repeat_fields["objections"], repeat_fields["outcome"], repeat_fields["reported"]) == (
        [],
        None,
        [],
    )
    first = next(
        r
        for r in every_review(panel.docket, "ann")
        if r.round.id == repeat.round.id and not repeated(r)
    )
    assert first.id != again.id
    names = str(repeat_fields)
    assert not any(person in names for person in repeat.round.people)
    # People stand in another order, or at least under names that this review made.
    assert [p["id"] for p in repeat_fields["people"]] == ["p1", "p2", "p3"]


def test_receipts_do_not_tell_either(store: Store) -> None:
    """Every act writes one record, whichever kind of review it is."""
    panel = Panel(store)
    repeat = panel.until_repeat()
    panel.play(99)
    steps = []
    for review in (repeat, panel.awaiting()[-1]):
        response = panel.response(review)
        pair = (response.pairs[0].over, response.pairs[0].under)
        before = panel.docket.projection.head.seq
        receipts = [
            panel.flag(review, pair, "why"),
            panel.flag(review, pair, "another"),
            panel.withdraw(review, pair),
            panel.withdraw(review, pair),
            panel.flag(review, pair, None),
            panel.finish(review),
            reviews.reopen(panel.docket, review.seat),
        ]
        steps.append([receipt.size - before for receipt in receipts])
    assert steps == [[1, 2, 3, 3, 4, 5, 6]] * 2
    assert panel.now(repeat).status == "asked"


def test_a_repeat_can_be_taken_back_until_it_closes(store: Store) -> None:
    panel = Panel(store)
    repeat = panel.until_repeat()
    response = panel.judge(repeat, flag=True)
    assert panel.now(repeat).status == "waiting"
    reviews.reopen(panel.docket, repeat.seat)
    assert panel.now(repeat).status == "asked"
    panel.finish(repeat)
    outcome = repeat.round.outcome
    panel.play(99)
    first = next(r for r in panel.awaiting() if not repeated(r))
    panel.judge(first, flag=False)
    ended = panel.response(repeat)
    assert (ended.status, ended.outcome) == ("closed", outcome)
    assert ended.ended == panel.response(first).ended, "it closed with the audit that ended next"
    assert panel.docket.projection.round(repeat.round.id).outcome == outcome
    with pytest.raises(ServiceError, match="has closed"):
        panel.withdraw(repeat, (response.pairs[0].over, response.pairs[0].under))


def test_whoever_sits_alone_closes_the_panel(store: Store) -> None:
    panel = Panel(store, members=("ann",))
    repeat = panel.until_repeat()
    panel.play(99)
    for review in (repeat, panel.awaiting()[-1]):
        before = panel.docket.projection.head.seq
        assert panel.finish(review).size == before + 2
        assert panel.now(review).status == "closed"
        assert panel.now(review).ended == panel.docket.projection.at
        with pytest.raises(ServiceError, match="has closed"):
            reviews.reopen(panel.docket, review.seat)


@pytest.mark.parametrize(("early", "records"), [(False, 2), (True, 3)])
def test_whoever_comes_last_ends_a_repeat_as_they_ended_the_round(
    store: Store, early: bool, records: int
) -> None:
    """The last of the panel writes its end too, and the round's, if all labels are earlier."""
    panel = Panel(store)
    counts: dict[bool, set[int]] = {False: set(), True: set()}
    for number in range(40):
        panel.play(number)
        if early:
            label(panel.docket, [(f"r{number + 1}", f"x{number}-{i}", 1) for i in range(3)])
        for review in panel.awaiting("bob"):
            panel.finish(review)
        for review in panel.awaiting("ann"):
            before = panel.docket.projection.head.seq
            count = panel.finish(review).size - before
            counts[repeated(review)].add(count)
            assert panel.now(review).status == "closed"
    assert counts == {False: {records}, True: {records}}


@pytest.mark.parametrize("finished", [True, False])
def test_at_its_deadline_a_repeat_ends_like_any_other(
    store: Store, clock: Clock, finished: bool
) -> None:
    """Also before anybody has closed the panel: status, time, refusal, and that there is an end."""
    clock.at = "2100-01-01T00:00:00.000000Z"
    panel = Panel(store, clock, deadline=3600)
    repeat = panel.until_repeat()
    panel.play(99)
    fresh = panel.awaiting()[-1]
    for review in (repeat, fresh):
        assert panel.response(review).due == "2100-01-01T01:00:00.000000Z"
        pair = panel.response(review).pairs[0]
        panel.flag(review, (pair.over, pair.under), None)
        if finished:
            panel.finish(review)
    clock.at = later(clock.at, 3600)
    ends = []
    for review in (repeat, fresh):
        response = panel.response(review)
        assert response.outcome is not None
        with pytest.raises(ServiceError) as refused:
            panel.finish(review)
        ends.append((response.status, response.ended, refused.value.code, str(refused.value)))
    assert ends[0] == ends[1]
    assert ends[0][:2] == ("closed" if finished else "missed", clock.at)
    before = panel.response(fresh)
    clock.at = later(clock.at, 1)
    reviews.close_late_panels(panel.docket)
    after = panel.response(fresh)
    assert (before.outcome, before.reported) == (after.outcome, after.reported)
    assert (before.status, before.ended) == (after.status, after.ended)


def test_a_repeat_of_somebody_who_was_erased_is_over(store: Store) -> None:
    panel = Panel(store)
    repeat = panel.until_repeat()
    erase(panel.docket, repeat.round.id, next(iter(repeat.round.people)))
    gone = panel.now(repeat)
    assert (gone.status, gone.ended) == ("missed", panel.docket.projection.at)


def test_the_lottery_can_be_drawn_again(store: Store) -> None:
    """Another process, and the same one after a restart, asks for the same reviews."""
    panel = Panel(store)
    panel.until_repeat()
    before, after = (
        [(review.id, review.number, review.seat) for review in every_review(docket, "ann")]
        for docket in (panel.docket, Panel(store).docket)
    )
    assert after == before


def test_numbers_of_reviews_never_change(store: Store, clock: Clock) -> None:
    """Even where the clock stands still: they are given in the order of the ledger."""
    panel = Panel(store, clock)
    earlier: list[str] = []
    for number in range(12):
        panel.play(number)
        for review in panel.awaiting():
            panel.judge(review, flag=False)
        ids = [review.id for review in every_review(panel.docket, "ann")]
        assert ids[: len(earlier)] == earlier
        earlier = ids
    assert [review.number for review in every_review(panel.docket, "ann")] == list(
        range(1, len(earlier) + 1)
    )


def test_a_share_of_zero_means_never(store: Store) -> None:
    panel = Panel(store, repeat_share=0.0)
    with pytest.raises(AssertionError, match="ever"):
        panel.until_repeat()


def test_reasons_that_nobody_gives_any_more_are_removed(store: Store) -> None:
    panel = Panel(store)
    panel.play(1)
    [review] = panel.awaiting()
    pair = next((p.over, p.under) for p in panel.response(review).pairs)

    def reasons() -> list[str]:
        with store.reading() as connection:
            rows = connection.exec_driver_sql("SELECT content FROM payloads").scalars()
            return [row for row in rows if "text" in row]

    panel.flag(review, pair, "first")
    panel.flag(review, pair, "second")
    assert len(reasons()) == 1
    panel.withdraw(review, pair)
    assert reasons() == []


def test_labels_do_not_matter_to_auditors(store: Store) -> None:
    panel = Panel(store)
    panel.play(1)
    [review] = panel.awaiting()
    before = asdict(panel.response(review))
    label(panel.docket, [("r1", "x1-0", 1)])
    after = asdict(panel.response(review))
    assert before.pop("receipt") != after.pop("receipt")
    assert before == after


def test_what_cannot_be_objected_to(store: Store) -> None:
    panel = Panel(store)
    applicants = {f"a{n}": {"score": 300, "debt": 1, "purpose": "car"} for n in range(2)}
    applicants["b"] = {"score": 800, "debt": 1, "purpose": "car"}
    open_round(panel.docket, [Applicant(name, features) for name, features in applicants.items()])
    [review] = panel.awaiting()
    for pair, code in [
        ((review.aliases["a0"], review.aliases["a1"]), "not-asked"),
        (("p1", "p1"), "no-pair"),
        (("p1", "a0"), "no-person"),
    ]:
        with pytest.raises(ServiceError) as refused:
            panel.flag(review, pair, None)
        assert refused.value.code == code
        assert "r1" not in str(refused.value)
        assert code == "no-person" or "a0" not in str(refused.value)
    with pytest.raises(ServiceError) as unknown:
        find(panel.docket, "cy", review.id)
    assert unknown.value.code == "no-review"
