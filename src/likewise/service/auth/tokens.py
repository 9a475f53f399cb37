"""Callers: four roles, and tokens of which only a hash is stored."""

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

Role = Literal["operator", "client", "auditor", "regulator"]
ROLES: tuple[Role, ...] = get_args(Role)

_TOKEN = re.compile(r"lw_(?:operator|client|auditor|regulator)_[A-Za-z0-9_-]{43}\Z")
_FIRST = "first-operator"


@dataclass(frozen=True)
class Identity:
    """The owner of a token. An auditor's ``name`` is that of a member of the docket's panel.

    An identity without a docket may use all of them: the operator, and perhaps a regulator.
    """

    id: str
    role: Role
    name: str
    docket: str | None
    created: str
    revoked: str | None = None

    @property
    def issued(self) -> TokenIssued:
        """Return the token as ledgers record it."""
        return TokenIssued(self.id, self.role, self.name, self.docket, self.created)

    @property
    def actor(self) -> Actor:
        """Return the owner as an actor of the ledger."""
        return Actor.with_token(self.issued)

    def concerns(self, docket: str) -> bool:
        """Tell whether the owner may use a docket."""
        return self.docket is None or self.docket == docket


def create_token(store: Store, role: Role, name: str, docket: str | None) -> tuple[str, Identity]:
    """Create a token, which is shown now and never again."""
    return add_token(store, secrets.token_hex(8), role, name, docket)


def add_token(
    store: Store, token_id: str, role: Role, name: str, docket: str | None
) -> tuple[str, Identity]:
    """Create a token of that id: store its hash, and record it in the ledgers."""
    token = f"lw_{role}_{secrets.token_urlsafe(32)}"
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
    return token, identity


def first_operator(store: Store) -> str | None:
    """Create the first operator's token; return None if there is an operator.

    The row has a fixed id, so that of several processes only one succeeds.
    """
    with store.reading() as connection:
        if connection.execute(sa.select(tokens.c.id).where(tokens.c.role == "operator")).first():
            return None
    try:
        return add_token(store, _FIRST, "operator", "operator", None)[0]
    except sa.exc.IntegrityError:
        return None


def recognise(store: Store, token: str) -> Identity | None:
    """Return the owner of a token; None if it is unknown, or was revoked.

    It is looked up by its hash, so that timing says nothing about any token.
    """
    if not _TOKEN.match(token):
        return None
    digest = _hash(token)
    with store.reading() as connection:
        row = connection.execute(sa.select(tokens).where(tokens.c.hash == digest)).first()
    if row is None or not hmac.compare_digest(row.hash, digest) or row.revoked is not None:
        return None
    return identity_of(row)


class TokenCache:
    """Tokens recognised a moment ago, so that not every request reads the database.

    A token that this process revokes is dropped at once; one that another process revokes is
    accepted for ``SECONDS`` more. The cache holds hashes, never tokens.
    """

    SECONDS = 1.0
    MOST = 10_000
    _of_stores: ClassVar[WeakKeyDictionary[Store, TokenCache]] = WeakKeyDictionary()

    def __init__(self, store: Store) -> None:
        self.store = proxy(store)
        self._entries: dict[str, tuple[float, Identity]] = {}

    @classmethod
    def of(cls, store: Store) -> TokenCache:
        """Return the cache of a store, which all its users share."""
        if store not in cls._of_stores:
            cls._of_stores[store] = cls(store)
        return cls._of_stores[store]

    def get(self, token: str) -> Identity | None:
        """Return the owner of a token that was recognised a moment ago."""
        expires, identity = self._entries.get(_hash(token), (0.0, None))
        return identity if expires > time.monotonic() else None

    def recognise(self, token: str) -> Identity | None:
        """Return the owner of a token from the database."""
        identity = recognise(self.store, token)
        if identity is not None:
            if len(self._entries) >= self.MOST:
                self._entries.clear()
            self._entries[_hash(token)] = (time.monotonic() + self.SECONDS, identity)
        return identity

    def forget(self) -> None:
        """Read the database again from now on."""
        self._entries.clear()


def list_tokens(store: Store) -> list[Identity]:
    """List all identities, the oldest first, including revoked ones."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(tokens).order_by(tokens.c.created, tokens.c.id))
        return [identity_of(row) for row in rows]


def revoke_token(store: Store, token_id: str) -> Identity:
    """Revoke a token, and with it the sessions that it began."""
    try:
        return _revoke(store, token_id)
    finally:
        TokenCache.of(store).forget()


def _revoke(store: Store, token_id: str) -> Identity:
    select = sa.select(tokens).where(tokens.c.id == token_id)
    with store.changing() as connection:
        row = connection.execute(select).first()
        if row is None:
            raise ServiceError(
                "no-token", 404, f"There is no token {token_id!r}. List them to see their ids."
            )
        if row.revoked is not None:
            return identity_of(row)
        operators = sa.select(sa.func.count()).where(
            tokens.c.role == "operator", tokens.c.revoked.is_(None)
        )
        if row.role == "operator" and connection.execute(operators).scalar() == 1:
            raise ServiceError(
                "last-operator", 409,
                "This is the last operator's token; without it nobody could create another. "
                "Create one first.",
            )  # fmt: skip
        connection.execute(tokens.update().where(tokens.c.id == token_id).values(revoked=now()))
        notify(connection, row.docket, store.dockets_of(connection), TokenEnded(token_id))
        return identity_of(connection.execute(select).one())


def identity_of(row: sa.Row[Any]) -> Identity:
    """Return the identity of a row of the table of tokens."""
    return Identity(row.id, row.role, row.name, row.docket, row.created, row.revoked)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
