"""Notices: records about who and what keeps a docket, added without opening it.

They concern no round, so nothing has to be folded: they follow the last record, whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from likewise.service.clock import now
from likewise.service.ledger.actors import current_actor
from likewise.service.ledger.bodies import write_body
from likewise.service.ledger.bodies.evidence import EvidenceBody, TokenIssued
from likewise.service.ledger.database import advisory_lock
from likewise.service.ledger.schema import events, tokens
from likewise.service.ledger.transaction import Transaction

__all__ = ["append_notice", "notify", "tokens_for"]


def tokens_for(connection: sa.Connection, docket: str) -> list[TokenIssued]:
    """The tokens that are in use and concern a docket, as its ledger should know them."""
    mine = tokens.c.docket.is_(None) | (tokens.c.docket == docket)
    query = sa.select(tokens).where(mine, tokens.c.revoked.is_(None))
    rows = connection.execute(query.order_by(tokens.c.created, tokens.c.id))
    return [TokenIssued(r.id, r.role, r.name, r.docket, r.created) for r in rows]


def append_notice(
    connection: sa.Connection, docket: str, bodies: Iterable[tuple[str, Mapping[str, Any]]]
) -> None:
    """Add (kind, body) to a docket's ledger, within the caller's transaction.

    Whoever adds to several ledgers at once does so in the order of their names, so that two of
    them never wait for each other.
    """
    advisory_lock(connection, docket)
    last = sa.select(events.c.at).where(events.c.docket == docket).order_by(events.c.seq.desc())
    before = connection.execute(last.limit(1)).scalar()
    if before is None:
        return
    transaction, at = Transaction(connection, docket), max(now(), before)
    for kind, body in bodies:
        transaction.append(kind, body, at, current_actor().id)
    transaction.flush()


def notify(
    connection: sa.Connection, docket: str | None, dockets: Iterable[str], body: EvidenceBody
) -> None:
    """Add a body to the ledger of one docket or, without one, of all of them."""
    for name in sorted(dockets) if docket is None else (docket,):
        append_notice(connection, name, [write_body(body)])
