"""Marks of pairs that a member has looked at, or finds fine; no record follows from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from likewise.service.clock import now
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import marks
from likewise.service.ledger.store import Store

_MARK = re.compile(r"(p[0-9]{1,4}\.p[0-9]{1,4})=(seen|fine)\Z")


def parse_marks(text: str) -> dict[str, str]:
    """Read marks as a page sends them.

    >>> parse_marks("p1.p2=seen p1.p3=fine")
    {'p1.p2': 'seen', 'p1.p3': 'fine'}
    """
    matches = [_MARK.match(word) for word in text.split()]
    if None in matches:
        raise ServiceError("no-mark", 422, "This form names no mark. Load the page again.")
    return {match[1]: match[2] for match in matches if match is not None}


def read_marks(store: Store, docket: str, review: str) -> dict[str, str]:
    """Return the marks of a review, by pair."""
    with store.reading() as connection:
        query = sa.select(marks.c.pair, marks.c.mark).where(_of(docket, review))
        return {row.pair: row.mark for row in connection.execute(query)}


def keep_marks(store: Store, docket: str, review: str, changes: Mapping[str, str]) -> None:
    """Replace the marks of some pairs."""
    if not changes:
        return
    rows = [
        {"docket": docket, "review": review, "pair": pair, "mark": mark, "at": now()}
        for pair, mark in changes.items()
    ]
    with store.changing() as connection:
        replaced = marks.c.pair.in_(list(changes))
        connection.execute(marks.delete().where(_of(docket, review), replaced))
        connection.execute(marks.insert(), rows)


def _of(docket: str, review: str) -> sa.ColumnElement[bool]:
    return (marks.c.docket == docket) & (marks.c.review == review)


def unseen(pairs: Sequence[tuple[str, bool]], marked: Mapping[str, str]) -> int:
    """Count the pairs, (name, flagged), that are neither flagged nor marked.

    >>> unseen([("p1.p2", False), ("p1.p3", True), ("p2.p3", False)], {"p1.p2": "fine"})
    1
    """
    return sum(not flagged and name not in marked for name, flagged in pairs)
