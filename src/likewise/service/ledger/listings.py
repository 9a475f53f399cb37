"""Rounds that have closed, reviews that have ended, and snapshots, found by an index.

What is open is in memory. What has ended is listed in the same transaction as the record that
ended it; everything else about it is a fold over its own records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from likewise.service.ledger.schema import events, reviews, rounds, snapshots
from likewise.service.ledger.view import LedgerView, json_text, portions

__all__ = [
    "EndedReview",
    "Snapshot",
    "ended_reviews",
    "finished_rounds",
    "newest_snapshot",
    "numbers_of",
    "reviews_of",
    "rounds_after",
]


@dataclass(frozen=True)
class EndedReview:
    """A review that has ended: whose and of which round, when, and how.

    ``number`` is the member's own count of reviews, ``finished`` their count of rounds reviewed;
    ``again`` is when they were asked, if it was for the second time.
    """

    id: str
    member: str
    number: int
    round: str
    again: str | None
    status: str
    ended: str
    finished: int | None

    def row(self) -> dict[str, object]:
        """The row that keeps it."""
        return {**asdict(self), "member": json_text(self.member), "round": json_text(self.round)}


def _ended(row: sa.Row[tuple[object, ...]]) -> EndedReview:
    return EndedReview(
        row.id, json.loads(row.member), row.number, json.loads(row.round), row.again,
        row.status, row.ended, row.finished,
    )  # fmt: skip


# ── Rounds ───────────────────────────────────────────────────────────────────────────────────────


def numbers_of(view: LedgerView, ids: Iterable[str]) -> dict[str, int]:
    """The numbers of closed rounds by id; those that are not closed are left out."""
    view.flush()
    found: dict[str, int] = {}
    for some in portions(map(json_text, ids)):
        query = sa.select(rounds.c.id, rounds.c.number).where(
            rounds.c.docket == view.docket,
            view.indexed(rounds.c.id).in_([view.indexed(one) for one in some]),
        )
        found.update({json.loads(r.id): r.number for r in view.connection.execute(query)})
    return found


def rounds_after(view: LedgerView, number: int, limit: int) -> list[tuple[int, str]]:
    """Closed rounds, (number, id), from the one after some number on."""
    view.flush()
    query = sa.select(rounds.c.number, rounds.c.id).where(
        rounds.c.docket == view.docket, rounds.c.number > number
    )
    rows = view.connection.execute(query.order_by(rounds.c.number).limit(limit))
    return [(row.number, json.loads(row.id)) for row in rows]


# ── Reviews ──────────────────────────────────────────────────────────────────────────────────────


def reviews_of(view: LedgerView, ids: Iterable[str]) -> list[EndedReview]:
    """The ended reviews of some ids."""
    view.flush()
    found: list[EndedReview] = []
    for some in portions(ids):
        mine = (reviews.c.docket == view.docket) & reviews.c.id.in_(some)
        found += map(_ended, view.connection.execute(sa.select(reviews).where(mine)))
    return found


def ended_reviews(
    view: LedgerView, member: str, statuses: Sequence[str], before: int | None, limit: int,
    asked: int,
) -> list[EndedReview]:  # fmt: skip
    """A member's ended reviews of some statuses, the latest first, of the first ``asked`` ones."""
    view.flush()
    found: list[EndedReview] = []
    for status in statuses:  # one at a time, as the index has them
        query = sa.select(reviews).where(
            reviews.c.docket == view.docket,
            reviews.c.member == json_text(member),
            reviews.c.status == status,
            reviews.c.number <= (asked if before is None else min(asked, before - 1)),
        )
        rows = view.connection.execute(query.order_by(reviews.c.number.desc()).limit(limit))
        found += [_ended(row) for row in rows]
    return sorted(found, key=lambda review: -review.number)[:limit]


def finished_rounds(view: LedgerView, member: str, first: int, last: int) -> list[str]:
    """The rounds that a member has reviewed, from one count to another, in their order."""
    view.flush()
    query = sa.select(reviews.c.round).where(
        reviews.c.docket == view.docket,
        reviews.c.member == json_text(member),
        reviews.c.finished.between(first, last),
    )
    rows = view.connection.execute(query.order_by(reviews.c.finished))
    return [json.loads(row.round) for row in rows]


# ── Snapshots ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Snapshot:
    """A docket at one of its records; ``hash`` is that of the record."""

    seq: int
    hash: str
    content: bytes


def newest_snapshot(view: LedgerView) -> Snapshot | None:
    """The newest snapshot that is of a record which the ledger still has."""
    mine = (snapshots.c.docket == view.docket) & (events.c.docket == snapshots.c.docket)
    same = (events.c.seq == snapshots.c.seq) & (events.c.hash == snapshots.c.hash)
    query = sa.select(snapshots.c.seq, snapshots.c.hash, snapshots.c.content).where(mine & same)
    row = view.connection.execute(query.order_by(snapshots.c.seq.desc()).limit(1)).first()
    return None if row is None else Snapshot(row.seq, row.hash, bytes(row.content))
