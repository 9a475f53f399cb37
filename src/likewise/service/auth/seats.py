"""Several seats in one session: further tokens of the same person, until they sign out."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from likewise.service.auth.sign_ins import cookie_hash
from likewise.service.auth.tokens import Identity, identity_of, recognise
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import seats, sessions, tokens
from likewise.service.ledger.store import Store


def list_seats(store: Store, cookie: str) -> list[Identity]:
    """List the seats of a session: the one that it began with, and those that were added."""
    session = cookie_hash(cookie)
    added = sa.select(seats.c.token).where(seats.c.hash == session)
    current = sa.select(sessions.c.token).where(sessions.c.hash == session)
    query = sa.select(tokens).where(
        tokens.c.id.in_(added.union(current)), tokens.c.revoked.is_(None)
    )
    with store.reading() as connection:
        rows = connection.execute(query.order_by(tokens.c.docket, tokens.c.name))
        return [identity_of(row) for row in rows]


def add_seat(store: Store, cookie: str, token: str) -> None:
    """Add a member's token to a session."""
    identity = recognise(store, token)
    if identity is None or identity.role != "auditor":
        raise ServiceError(
            "unknown-token", 401,
            "This is not the token of a member of a panel, or it was revoked. Copy all of it.",
        )  # fmt: skip
    session = cookie_hash(cookie)
    with store.changing() as connection:
        query = sa.select(sessions.c.token).where(sessions.c.hash == session)
        ids = {connection.execute(query).scalar_one(), identity.id}
        same = (seats.c.hash == session) & seats.c.token.in_(ids)
        connection.execute(seats.delete().where(same))
        connection.execute(seats.insert(), [{"hash": session, "token": token} for token in ids])


def choose_seat(store: Store, cookie: str, token_id: str) -> None:
    """Let a session speak for another of its seats."""
    if token_id not in {seat.id for seat in list_seats(store, cookie)}:
        raise ServiceError("no-seat", 404, "You have no such seat here. Add it by its token.")
    session = sessions.c.hash == cookie_hash(cookie)
    with store.changing() as connection:
        # Another seat is another sign-in: a ledger knows each by one id.
        values = {"token": token_id, "id": secrets.token_hex(8)}
        connection.execute(sessions.update().where(session).values(values))
