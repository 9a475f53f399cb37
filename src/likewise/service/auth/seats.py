"""Several seats in one session: further tokens of the same person, until they sign out."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from likewise.service.auth.sign_ins import cookie_hash
from likewise.service.auth.tokens import Identity, recognise
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import seats, sessions, tokens
from likewise.service.ledger.store import Store

__all__ = ["add_seat", "choose_seat", "list_seats"]


def list_seats(store: Store, cookie: str) -> list[Identity]:
    """The seats of a session: the one that it began with, and those that were added."""
    mine = cookie_hash(cookie)
    held = sa.select(seats.c.token).where(seats.c.hash == mine)
    current = sa.select(sessions.c.token).where(sessions.c.hash == mine)
    query = sa.select(tokens).where(
        tokens.c.id.in_(held.union(current)), tokens.c.revoked.is_(None)
    )
    with store.reading() as connection:
        rows = connection.execute(query.order_by(tokens.c.docket, tokens.c.name))
        return [Identity(r.id, r.role, r.name, r.docket, r.created) for r in rows]


def add_seat(store: Store, cookie: str, token: str) -> Identity:
    """Add a member's token to a session."""
    identity = recognise(store, token)
    if identity is None or identity.role != "auditor":
        raise ServiceError(
            "unknown-token", 401,
            "This is not the token of a member of a panel, or it was revoked. Copy all of it.",
        )  # fmt: skip
    mine = cookie_hash(cookie)
    with store.changing() as connection:
        current = sa.select(sessions.c.token).where(sessions.c.hash == mine)
        before = connection.execute(current).scalar_one()
        for one in {before, identity.id}:
            same = (seats.c.hash == mine) & (seats.c.token == one)
            connection.execute(seats.delete().where(same))
            connection.execute(seats.insert().values(hash=mine, token=one))
    return identity


def choose_seat(store: Store, cookie: str, token_id: str) -> None:
    """Let a session speak for another of its seats."""
    if token_id not in {seat.id for seat in list_seats(store, cookie)}:
        raise ServiceError("no-seat", 404, "You have no such seat here. Add it by its token.")
    mine = sessions.c.hash == cookie_hash(cookie)
    with store.changing() as connection:
        # Another seat is another sign-in: a ledger knows each by one name.
        fresh = {"token": token_id, "id": secrets.token_hex(8)}
        connection.execute(sessions.update().where(mine).values(fresh))
