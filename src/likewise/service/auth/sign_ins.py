"""Sessions of browsers: a token is exchanged for a cookie, of which only a hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

import sqlalchemy as sa

from likewise.service.auth.tokens import Identity, recognise
from likewise.service.clock import later, now
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import seats, sessions, tokens
from likewise.service.ledger.store import Store

__all__ = ["Session", "begin_session", "check_csrf", "cookie_hash", "end_session", "find_session"]


class Session(NamedTuple):
    """A browser in which somebody has signed in; its forms carry ``csrf``."""

    identity: Identity
    csrf: str
    expires: str


def begin_session(store: Store, token: str, seconds: float) -> tuple[str, Session]:
    """Sign in with a token: the cookie's value, and the session."""
    identity = recognise(store, token)
    if identity is None:
        raise ServiceError(
            "unknown-token", 401,
            "This token is not known, or was revoked. Copy all of it, or ask the operator for "
            "another.",
        )  # fmt: skip
    cookie, csrf, moment = secrets.token_urlsafe(32), secrets.token_urlsafe(32), now()
    expires = later(moment, seconds)
    with store.changing() as connection:
        connection.execute(sessions.delete().where(sessions.c.expires <= moment))
        connection.execute(
            sessions.insert().values(
                hash=cookie_hash(cookie), token=identity.id, csrf=csrf, expires=expires
            )
        )
    return cookie, Session(identity, csrf, expires)


def find_session(store: Store, cookie: str) -> Session | None:
    """The session of a cookie; None if it has ended or its token was revoked."""
    query = (
        sa.select(sessions.c.csrf, sessions.c.expires, tokens)
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
    identity = Identity(row.id, row.role, row.name, row.docket, row.created)
    return Session(identity, row.csrf, row.expires)


def end_session(store: Store, cookie: str) -> None:
    """Sign out."""
    with store.changing() as connection:
        connection.execute(sessions.delete().where(sessions.c.hash == cookie_hash(cookie)))
        connection.execute(seats.delete().where(seats.c.hash == cookie_hash(cookie)))


def check_csrf(session: Session, given: str) -> None:
    """Refuse a form that was not made for this session."""
    if not hmac.compare_digest(session.csrf.encode(), given.encode(errors="replace")):
        raise ServiceError(
            "wrong-form", 403, "This form is not of your session. Load the page again."
        )


def cookie_hash(cookie: str) -> str:
    """The hash that is kept of a cookie."""
    return hashlib.sha256(cookie.encode(errors="replace")).hexdigest()
