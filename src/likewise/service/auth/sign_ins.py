"""Sessions of browsers: a token is exchanged for a cookie, of which only a hash is stored."""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

import sqlalchemy as sa

from likewise.service.auth.tokens import Identity, recognise
from likewise.service.clock import later, now
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import Actor, acting
from likewise.service.ledger.bodies.evidence import SignedIn, SignedOut
from likewise.service.ledger.notices import notify
from likewise.service.ledger.schema import seats, sessions, tokens
from likewise.service.ledger.store import Store


class Session(NamedTuple):
    """A browser in which somebody is signed in; its forms carry ``csrf``, ledgers name it ``id``.

    ``issuer`` and ``subject`` are those of the organisation's sign-on, and empty after signing in
    with a token.
    """

    identity: Identity
    csrf: str
    expires: str
    id: str
    issuer: str = ""
    subject: str = ""

    @property
    def signed_in(self) -> SignedIn:
        """Return the sign-in as ledgers record it."""
        identity, issuer, subject = self.identity, self.issuer or None, self.subject or None
        return SignedIn(
            self.id, identity.id, identity.role, identity.name, issuer, subject, self.expires
        )

    @property
    def actor(self) -> Actor:
        """Return the person who is signed in as an actor of the ledger."""
        return Actor.signed_in(self.identity.issued, self.signed_in)


def begin_session(store: Store, token: str, seconds: float) -> tuple[str, Session]:
    """Sign in with a token; return the cookie's value and the session."""
    identity = recognise(store, token)
    if identity is None:
        raise ServiceError(
            "unknown-token", 401,
            "This token is not known, or was revoked. Copy all of it, or ask the operator for "
            "another.",
        )  # fmt: skip
    return open_session(store, identity, seconds)


def open_session(
    store: Store, identity: Identity, seconds: float, *,
    issuer: str = "", subject: str = "", provider_session: str = "",
) -> tuple[str, Session]:  # fmt: skip
    """Begin a session; return the cookie's value and the session.

    The ledger of the identity's one docket records it at once; the ledgers of others record it
    when the person first acts there.
    """
    cookie, csrf, moment = secrets.token_urlsafe(32), secrets.token_urlsafe(32), now()
    expires, name = later(moment, seconds), secrets.token_hex(8)
    session = Session(identity, csrf, expires, name, issuer, subject)
    with store.changing() as connection:
        connection.execute(sessions.delete().where(sessions.c.expires <= moment))
        connection.execute(
            sessions.insert().values(
                hash=cookie_hash(cookie), token=identity.id, csrf=csrf, expires=expires, id=name,
                issuer=issuer, subject=subject, provider_session=provider_session,
            )
        )  # fmt: skip
        if identity.docket is not None:
            with acting(session.actor):
                notify(connection, identity.docket, (), session.signed_in)
    return cookie, session


def find_session(store: Store, cookie: str) -> Session | None:
    """Return the session of a cookie; None if it has ended or its token was revoked."""
    query = (
        sa.select(sessions, tokens)
        .join(tokens, tokens.c.id == sessions.c.token)
        .where(
            sessions.c.hash == cookie_hash(cookie),
            sessions.c.expires > now(),
            tokens.c.revoked.is_(None),
        )
    )
    with store.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    identity = Identity(row.token, row.role, row.name, row.docket, row.created)
    return Session(identity, row.csrf, row.expires, row.id, row.issuer, row.subject)


def end_session(store: Store, cookie: str) -> None:
    """Sign out."""
    with store.changing() as connection:
        end_sessions(connection, sessions.c.hash == cookie_hash(cookie))


def end_sessions(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> int:
    """End sessions, and record it in the ledger of each one's docket; return their number."""
    query = sa.select(sessions.c.id, sessions.c.expires, tokens.c.docket)
    rows = connection.execute(
        query.join(tokens, tokens.c.id == sessions.c.token)
        .where(condition)
        .order_by(tokens.c.docket)
    ).all()
    for row in rows:
        if row.docket is not None and row.expires > now():
            notify(connection, row.docket, (), SignedOut(row.id))
    ended = sa.select(sessions.c.hash).where(condition)
    connection.execute(seats.delete().where(seats.c.hash.in_(ended)))
    return connection.execute(sessions.delete().where(condition)).rowcount


def cookie_hash(cookie: str) -> str:
    """Return the hash that is stored of a cookie."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()
