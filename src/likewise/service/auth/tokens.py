"""Callers: four roles, and tokens of which only a hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args
from weakref import WeakKeyDictionary, proxy

import sqlalchemy as sa

from likewise.auditing.names import checked_name
from likewise.errors import ParameterError
from likewise.service.clock import now
from likewise.service.dockets.spec import checked_docket_name
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import Actor
from likewise.service.ledger.bodies.evidence import TokenEnded, TokenIssued
from likewise.service.ledger.notices import notify
from likewise.service.ledger.schema import tokens
from likewise.service.ledger.store import Store

__all__ = [
    "ROLES",
    "Identity",
    "KnownTokens",
    "Role",
    "add_token",
    "create_token",
    "first_operator",
    "list_tokens",
    "recognise",
    "revoke_token",
]

Role = Literal["operator", "client", "auditor", "regulator"]
ROLES: tuple[Role, ...] = get_args(Role)

_TOKEN = re.compile(r"lw_(?:operator|client|auditor|regulator)_[A-Za-z0-9_-]{43}\Z")
_FIRST = "first-operator"


@dataclass(frozen=True)
class Identity:
    """Somebody with a token. An auditor's ``name`` is that of a member of the docket's panel.

    Without a docket an identity concerns all of them: the operator does, and a regulator may.
    """

    id: str
    role: Role
    name: str
    docket: str | None
    created: str
    revoked: str | None = None

    @property
    def issued(self) -> TokenIssued:
        """The token as a ledger knows it."""
        return TokenIssued(self.id, self.role, self.name, self.docket, self.created)

    @property
    def actor(self) -> Actor:
        """The owner, as somebody who acts."""
        return Actor.with_token(self.issued)

    def concerns(self, docket: str) -> bool:
        """Tell if they have anything to do with a docket."""
        return self.docket is None or self.docket == docket


def create_token(store: Store, role: Role, name: str, docket: str | None) -> tuple[str, Identity]:
    """A new token, which is shown now and never again."""
    return _create(store, secrets.token_hex(8), role, name, docket)


def _create(
    store: Store, token_id: str, role: Role, name: str, docket: str | None
) -> tuple[str, Identity]:
    token = f"lw_{role}_{secrets.token_urlsafe(32)}"
    return token, add_token(store, token, token_id, role, name, docket)


def add_token(
    store: Store, token: str, token_id: str, role: Role, name: str, docket: str | None
) -> Identity:
    """Keep the hash of a token, and say in the ledgers that there is one."""
    if role not in ROLES:
        raise ParameterError("role", f"must be one of {', '.join(ROLES)}", role, "Choose one.")
    checked_name(name, "name")
    if len(name) > 200 or not name.isprintable():
        raise ParameterError("name", "must be at most 200 printable characters", name, "")
    if role == "operator" and docket is not None:
        raise ParameterError("docket", "must not be given for an operator", docket, "Leave it out.")
    if role in ("client", "auditor") and docket is None:
        raise ParameterError("docket", f"must be given for {role}s", docket, "Name one docket.")
    if docket is not None:
        checked_docket_name(docket)
    identity = Identity(token_id, role, name, docket, now())
    with store.changing() as connection:
        connection.execute(
            tokens.insert().values(
                id=identity.id, hash=_hash(token), role=role, name=name, docket=docket,
                created=identity.created,
            )
        )  # fmt: skip
        notify(connection, docket, store.dockets_of(connection), identity.issued)
    return identity


def first_operator(store: Store) -> str | None:
    """The token of a store's first operator; None if there has been one.

    The row has an id of its own, so that of several processes only one succeeds.
    """
    with store.reading() as connection:
        if connection.execute(sa.select(tokens.c.id).where(tokens.c.role == "operator")).first():
            return None
    try:
        return _create(store, _FIRST, "operator", "operator", None)[0]
    except sa.exc.IntegrityError:
        return None


def recognise(store: Store, token: str) -> Identity | None:
    """The owner of a token; None if nobody knows it, or it was revoked.

    Looked up by its hash, so that timing says nothing about any token.
    """
    if not _TOKEN.match(token):
        return None
    wanted = _hash(token)
    with store.reading() as connection:
        row = connection.execute(sa.select(tokens).where(tokens.c.hash == wanted)).first()
    if row is None or not hmac.compare_digest(row.hash, wanted) or row.revoked is not None:
        return None
    return _identity(row)


class KnownTokens:
    """Tokens that were recognised a moment ago, so that not every request asks the database.

    What this process revokes is forgotten at once; what another one revokes opens things for
    ``SECONDS`` more. Hashes are kept, never tokens.
    """

    SECONDS = 1.0
    MOST = 10_000
    _of_stores: ClassVar[WeakKeyDictionary[Store, KnownTokens]] = WeakKeyDictionary()

    def __init__(self, store: Store) -> None:
        self.store = proxy(store)
        self._known: dict[str, tuple[float, Identity]] = {}

    @classmethod
    def of(cls, store: Store) -> KnownTokens:
        """Those of a store; all who use it share them."""
        if store not in cls._of_stores:
            cls._of_stores[store] = cls(store)
        return cls._of_stores[store]

    def get(self, token: str) -> Identity | None:
        """The owner of a token that was recognised a moment ago."""
        found = self._known.get(_hash(token)) if _TOKEN.match(token) else None
        return found[1] if found is not None and found[0] > time.monotonic() else None

    def recognise(self, token: str) -> Identity | None:
        """The owner of a token, asked of the database."""
        found = recognise(self.store, token)
        if found is not None:
            if len(self._known) >= self.MOST:
                self._known.clear()
            self._known[_hash(token)] = (time.monotonic() + self.SECONDS, found)
        return found

    def forget(self) -> None:
        """Ask the database again from now on."""
        self._known.clear()


def list_tokens(store: Store) -> list[Identity]:
    """All identities, the oldest first, with those that were revoked."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(tokens).order_by(tokens.c.created, tokens.c.id))
        return [_identity(row) for row in rows]


def revoke_token(store: Store, token_id: str) -> Identity:
    """From now on the token opens nothing, nor do the sessions that it began."""
    try:
        return _revoke(store, token_id)
    finally:
        KnownTokens.of(store).forget()


def _revoke(store: Store, token_id: str) -> Identity:
    with store.changing() as connection:
        found = connection.execute(sa.select(tokens).where(tokens.c.id == token_id)).first()
        if found is None:
            raise ServiceError(
                "no-token", 404, f"There is no token {token_id!r}. List them to see their ids."
            )
        if found.revoked is not None:
            return _identity(found)
        operators = sa.select(sa.func.count()).where(
            tokens.c.role == "operator", tokens.c.revoked.is_(None)
        )
        if found.role == "operator" and connection.execute(operators).scalar() == 1:
            raise ServiceError(
                "last-operator", 409,
                "This is the last operator's token; without it nobody could create another. "
                "Create one first.",
            )  # fmt: skip
        connection.execute(tokens.update().where(tokens.c.id == token_id).values(revoked=now()))
        row = connection.execute(sa.select(tokens).where(tokens.c.id == token_id)).one()
        notify(connection, row.docket, store.dockets_of(connection), TokenEnded(token_id))
        return _identity(row)


def _identity(row: sa.Row[Any]) -> Identity:
    return Identity(row.id, row.role, row.name, row.docket, row.created, row.revoked)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
