"""Marks of pairs that a member has looked at, or finds fine; nothing follows from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from likewise.service.clock import now
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import marks
from likewise.service.ledger.store import Store

__all__ = ["MARKS", "keep_marks", "parse_marks", "read_marks", "unseen"]

MARKS = ("seen", "fine")
_MARK = re.compile(r"(p[0-9]{1,4}\.p[0-9]{1,4})=(seen|fine)\Z")


def parse_marks(text: str) -> dict[str, str]:
    """Marks as a page sends them.

    >>> parse_marks("p1.p2=seen p1.p3=fine")
    {'p1.p2': 'seen', 'p1.p3': 'fine'}
    """
    found = {}
    for word in text.split():
        match = _MARK.match(word)
        if match is None:
            raise ServiceError("no-mark", 422, "This form names no mark. Load the page again.")
        found[match[1]] = match[2]
    return found


def read_marks(store: Store, docket: str, review: str) -> dict[str, str]:
    """The marks of a review, by pair."""
    mine = (marks.c.docket == docket) & (marks.c.review == review)
    with store.reading() as connection:
        rows = connection.execute(sa.select(marks.c.pair, marks.c.mark).where(mine))
        return {row.pair: row.mark for row in rows}


def keep_marks(store: Store, docket: str, review: str, given: Mapping[str, str]) -> None:
    """Put marks in the place of earlier ones."""
    if not given:
        return
    mine = (marks.c.docket == docket) & (marks.c.review == review)
    rows = [
        {"docket": docket, "review": review, "pair": pair, "mark": mark, "at": now()}
        for pair, mark in given.items()
    ]
    with store.changing() as connection:
        connection.execute(marks.delete().where(mine, marks.c.pair.in_(list(given))))
        connection.execute(marks.insert(), rows)


def unseen(pairs: Sequence[tuple[str, bool]], known: Mapping[str, str]) -> int:
    """How many pairs, (name, flagged), somebody has not looked at yet.

    >>> unseen([("p1.p2", False), ("p1.p3", True), ("p2.p3", False)], {"p1.p2": "fine"})
    1
    """
    return sum(not flagged and name not in known for name, flagged in pairs)
