"""Rounds that have closed, reviews that have ended, and snapshots, found by an index.

What is open is in memory. What has ended is listed in the same transaction as the record that
ended it; everything else about it is a fold over its own records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from likewise.service.ledger.schema import events, reviews, rounds, snapshots
from likewise.service.ledger.view import LedgerView, json_text, portions


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
        """Return the row that keeps it."""
        return {**asdict(self), "member": json_text(self.member), "round": json_text(self.round)}


def _reviews(view: LedgerView, query: sa.Select[Any]) -> list[EndedReview]:
    return [
        EndedReview(
            row.id, json.loads(row.member), row.number, json.loads(row.round), row.again,
            row.status, row.ended, row.finished,
        )
        for row in view.execute(query)
    ]  # fmt: skip


# ── Rounds ───────────────────────────────────────────────────────────────────────────────────────


def numbers_of(view: LedgerView, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of closed rounds by id; those that are not closed are left out."""
    numbers: dict[str, int] = {}
    for portion in portions(map(json_text, ids)):
        names = [view.indexed(name) for name in portion]
        query = sa.select(rounds.c.id, rounds.c.number).where(
            view.of(rounds), view.indexed(rounds.c.id).in_(names)
        )
        numbers.update({json.loads(row.id): row.number for row in view.execute(query)})
    return numbers


def rounds_after(view: LedgerView, number: int, limit: int) -> list[tuple[int, str]]:
    """Return (number, id) of closed rounds with numbers above ``number``."""
    query = sa.select(rounds.c.number, rounds.c.id).where(view.of(rounds), rounds.c.number > number)
    rows = view.execute(query.order_by(rounds.c.number).limit(limit))
    return [(row.number, json.loads(row.id)) for row in rows]


# ── Reviews ──────────────────────────────────────────────────────────────────────────────────────


def reviews_of(view: LedgerView, ids: Iterable[str]) -> list[EndedReview]:
    """Return the ended reviews among some ids."""
    query = sa.select(reviews).where(view.of(reviews))
    queries = [query.where(reviews.c.id.in_(portion)) for portion in portions(ids)]
    return [review for query in queries for review in _reviews(view, query)]


def ended_reviews(
    view: LedgerView, member: str, statuses: Sequence[str], before: int | None, limit: int,
    asked: int,
) -> list[EndedReview]:  # fmt: skip
    """Return a member's ended reviews of some statuses among their first ``asked``, latest first.

    ``before`` is a number below which to look.
    """
    listed: list[EndedReview] = []
    for status in statuses:  # one at a time, as the index has them
        query = sa.select(reviews).where(
            view.of(reviews),
            reviews.c.member == json_text(member),
            reviews.c.status == status,
            reviews.c.number <= (asked if before is None else min(asked, before - 1)),
        )
        listed += _reviews(view, query.order_by(reviews.c.number.desc()).limit(limit))
    return sorted(listed, key=lambda review: -review.number)[:limit]


def finished_rounds(view: LedgerView, member: str, first: int, last: int) -> list[str]:
    """Return the rounds that a member has reviewed, from one count to another, in their order."""
    query = sa.select(reviews.c.round).where(
        view.of(reviews),
        reviews.c.member == json_text(member),
        reviews.c.finished.between(first, last),
    )
    return [json.loads(row.round) for row in view.execute(query.order_by(reviews.c.finished))]


# ── Snapshots ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Snapshot:
    """A docket at one of its records; ``hash`` is that of the record."""

    seq: int
    hash: str
    content: bytes


def newest_snapshot(view: LedgerView) -> Snapshot | None:
    """Return the newest snapshot of a record which the ledger still has."""
    same = (events.c.seq == snapshots.c.seq) & (events.c.hash == snapshots.c.hash)
    query = sa.select(snapshots.c.seq, snapshots.c.hash, snapshots.c.content).where(
        view.of(snapshots), view.of(events), same
    )
    row = view.execute(query.order_by(snapshots.c.seq.desc()).limit(1)).first()
    return None if row is None else Snapshot(row.seq, row.hash, bytes(row.content))
