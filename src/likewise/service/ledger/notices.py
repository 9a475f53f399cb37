"""Notices: records about who and what keeps a docket, added without opening it.

They concern no round, so nothing has to be folded: they follow the last record, whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from likewise.service.clock import now
from likewise.service.ledger.actors import current_actor
from likewise.service.ledger.bodies import write_body
from likewise.service.ledger.bodies.evidence import EvidenceBody, TokenIssued
from likewise.service.ledger.database import advisory_lock
from likewise.service.ledger.schema import events, tokens
from likewise.service.ledger.transaction import Transaction


def tokens_for(connection: sa.Connection, docket: str) -> list[TokenIssued]:
    """Return the tokens that are in use and concern a docket, as records."""
    concerns = tokens.c.docket.is_(None) | (tokens.c.docket == docket)
    query = sa.select(tokens).where(concerns, tokens.c.revoked.is_(None))
    rows = connection.execute(query.order_by(tokens.c.created, tokens.c.id))
    return [TokenIssued(r.id, r.role, r.name, r.docket, r.created) for r in rows]


def notify(
    connection: sa.Connection, docket: str | None, dockets: Iterable[str], body: EvidenceBody
) -> None:
    """Add a body to the ledger of one docket or, without one, of all, in the caller's transaction.

    All writers take the ledgers in the order of their names, so that two of them never deadlock.
    """
    for name in sorted(dockets) if docket is None else (docket,):
        advisory_lock(connection, name)
        last = sa.select(events.c.at).where(events.c.docket == name).order_by(events.c.seq.desc())
        before = connection.execute(last.limit(1)).scalar()
        if before is not None:
            transaction = Transaction(connection, name)
            transaction.append(*write_body(body), max(now(), before), current_actor().id)
            transaction.flush()
