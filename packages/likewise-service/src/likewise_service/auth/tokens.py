"""Callers: four roles, and tokens of which only a hash is stored."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import sqlalchemy as sa

from likewise.errors import LikewiseError, ParameterError
from likewise.numerics.fixed_point import to_units
from likewise.panel.rules import checked_name
from likewise.validation import choice
from likewise_service.clock import now
from likewise_service.dockets.spec import checked_docket_name
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, records, signatures
from likewise_service.ledger.database import tokens
from likewise_service.ledger.store import Store, notify

Role = Literal["operator", "client", "auditor", "regulator"]
ROLES: tuple[Role, ...] = get_args(Role)

_TOKEN = re.compile(r"lw_(?:operator|client|auditor|regulator)_[A-Za-z0-9_-]{43}\Z")
_FIRST = "first-operator"


@dataclass(frozen=True)
class Identity:
    """The owner of a token; an auditor's ``name`` is that of a member of the docket's panel.

    An identity without a docket may use all of them: an operator, and perhaps a regulator.
    """

    id: str
    role: Role
    name: str
    docket: str | None
    created: str
    revoked: str | None = None

    @property
    def issued(self) -> kinds.TokenIssued:
        return kinds.TokenIssued(self.id, self.role, self.name, self.docket, self.created)

    @cached_property
    def actor(self) -> kinds.Actor:
        return kinds.Actor.introduced(self.issued)

    def concerns(self, docket: str) -> bool:
        return self.docket is None or self.docket == docket


def create_token(
    store: Store, role: Role, name: str, docket: str | None, token_id: str | None = None
) -> tuple[str, Identity]:
    """Create a token: record it, and store its hash alone, so that it is shown this once."""
    token = f"lw_{role}_{secrets.token_urlsafe(32)}"
    choice("role", role, ROLES, "Choose one.")
    checked_name(name, "name")
    if len(name) > 200 or not name.isprintable():
        raise ParameterError("name", "must be at most 200 printable characters", name, "")
    if role == "operator" and docket is not None:
        raise ParameterError("docket", "must not be given for an operator", docket, "Leave it out.")
    if role in ("client", "auditor") and docket is None:
        raise ParameterError("docket", f"must be given for {role}s", docket, "Name one docket.")
    if docket is not None:
        checked_docket_name(docket)
    identity = Identity(token_id or secrets.token_hex(8), role, name, docket, now())
    with store.changing() as connection:
        connection.execute(
            tokens.insert().values(hash=records.sha256(token.encode()), **asdict(identity))
        )
        notify(connection, docket, identity.issued)
    return token, identity


def check_member(name: str, docket: str, members: Collection[str]) -> None:
    if name not in members:
        raise ServiceError(
            "no-member", 422,
            f"{name!r} does not sit on the panel of {docket!r}; there are "
            f"{', '.join(members) or 'nobody'}. Add the member first, or correct the name.",
        )  # fmt: skip


def first_operator(store: Store) -> str | None:
    """Create the first operator's token; return None if there is an operator.

    Its row has a fixed id, so that only one of several processes succeeds.
    """
    with store.reading() as connection:
        if connection.execute(sa.select(tokens.c.id).where(tokens.c.role == "operator")).first():
            return None
    try:
        return create_token(store, "operator", "operator", None, _FIRST)[0]
    except sa.exc.IntegrityError:
        return None


def recognise(store: Store, token: str) -> Identity | None:
    """Return the owner of a token; None if it is unknown or revoked.

    It is looked up by its hash, so that timing reveals nothing about any token.
    """
    if not _TOKEN.match(token):
        return None
    query = sa.select(tokens).where(tokens.c.hash == records.sha256(token.encode()))
    with store.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None or row.revoked is not None else identity_of(row)


class TokenCache:
    """Tokens recognised a moment ago, so that not every request reads the database.

    A token that this process revokes is dropped at once; one that another process revokes counts
    for ``SECONDS`` more. The cache holds hashes, never tokens.
    """

    SECONDS = 1.0
    MOST = 1_000

    def __init__(self, store: Store) -> None:
        self.store = store
        self._entries: dict[str, tuple[float, Identity]] = {}
        # Lookups under way, for which other requests with the same token wait.
        self._asked: dict[str, asyncio.Task[Identity | None]] = {}

    async def find(self, token: str) -> Identity | None:
        digest = records.sha256(token.encode())
        expires, identity = self._entries.get(digest, (0.0, None))
        if expires > time.monotonic():
            return identity
        asked = self._asked.get(digest)
        if asked is None:
            asked = self._asked[digest] = asyncio.create_task(self._look_up(token, digest))
        return await asyncio.shield(asked)  # others wait for it too

    async def _look_up(self, token: str, digest: str) -> Identity | None:
        this = asyncio.current_task()
        try:
            identity = await asyncio.to_thread(recognise, self.store, token)
            # Not if a token was revoked here after this was read.
            if identity is not None and self._asked.get(digest) is this:
                if len(self._entries) >= self.MOST:
                    self._entries.clear()
                self._entries[digest] = (time.monotonic() + self.SECONDS, identity)
            return identity
        finally:
            if self._asked.get(digest) is this:
                self._asked.pop(digest, None)

    def forget(self) -> None:
        self._entries.clear()
        self._asked.clear()


def list_tokens(
    store: Store, *, after: str = "", limit: int | None = None, docket: str | None = None
) -> list[Identity]:
    """List identities after the id ``after``, the oldest first, with revoked ones."""
    query = sa.select(tokens).order_by(tokens.c.created, tokens.c.id).limit(limit)
    with store.reading() as connection:
        if after:
            row = connection.execute(sa.select(tokens).where(tokens.c.id == after)).first()
            if row is None:
                raise _no_token(after)
            place = sa.tuple_(tokens.c.created, tokens.c.id)
            query = query.where(place > sa.tuple_(sa.literal(row.created), sa.literal(row.id)))
        if docket is not None:
            query = query.where(tokens.c.docket.is_(None) | (tokens.c.docket == docket))
        return [identity_of(row) for row in connection.execute(query)]


def _no_token(token_id: str) -> ServiceError:
    sentence = f"There is no token {token_id!r}. List them to see their ids."
    return ServiceError("no-token", 404, sentence)


def revoke_token(store: Store, token_id: str) -> Identity:
    """Revoke a token, and with it its sessions."""
    select = sa.select(tokens).where(tokens.c.id == token_id)
    with store.changing() as connection:
        row = connection.execute(select).first()
        if row is None:
            raise _no_token(token_id)
        if row.revoked is not None:
            return identity_of(row)
        operators = sa.select(sa.func.count()).where(
            tokens.c.role == "operator", tokens.c.revoked.is_(None)
        )
        if row.role == "operator" and connection.execute(operators).scalar() == 1:
            sentence = N_("This is the last operator’s token. Create another one first.")
            raise ServiceError("last-operator", 409, sentence)
        notify(connection, row.docket, kinds.TokenEnded(token_id))
        connection.execute(tokens.update().where(tokens.c.id == token_id).values(revoked=now()))
        return identity_of(connection.execute(select).one())


def identity_of(row: sa.Row[Any]) -> Identity:
    return Identity(row.id, row.role, row.name, row.docket, row.created, row.revoked)


# The most callers in memory; others' buckets are full again, or nearly so.
REMEMBERED = 10_000


class TooMany(ServiceError):  # noqa: N818 - the sentence reads better
    """Requests come too fast; the next may come after ``wait`` seconds."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait + 0.5))
        super().__init__(
            "too-many-requests", 429, f"Too many requests; wait {self.wait} s and send it again."
        )


class Buckets:
    """A token bucket for each caller: ``burst`` requests at once, ``rate`` a second on average.

    >>> moments = iter([0.0, 0.0, 0.0, 0.5])
    >>> buckets = Buckets(rate=2.0, burst=2, clock=lambda: next(moments))
    >>> [buckets.take("ann") for _ in range(2)]
    [None, None]
    >>> buckets.take("ann")
    Traceback (most recent call last):
    likewise_service.auth.tokens.TooMany: Too many requests; wait 1 s and send it again.
    >>> buckets.take("ann")
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request of a caller; refuse it if the bucket is empty."""
        moment = self.clock()
        tokens, since = self._buckets.pop(caller, (float(self.burst), moment))
        tokens = min(float(self.burst), tokens + (moment - since) * self.rate)
        allowed = tokens >= 1
        self._buckets[caller] = (tokens - 1 if allowed else tokens, moment)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if not allowed:
            raise TooMany((1 - tokens) / self.rate)


class MemberKey(signatures.PrivateKey):
    """A private key that signs what a member says."""

    def sign_act(
        self, docket: str, member: str, review: str, to_sign: Mapping[str, Any],
        act: signatures.Act, pair: Sequence[str] = (), reason: str | None = None,
        limit: float | None = None,
    ) -> dict[str, str]:  # fmt: skip
        """Sign an act, with the salted digest of its reason, so that the reason can be erased.

        ``to_sign`` is what a signature covers, as the review has it: what is shown, and the flags
        that stand.
        """
        salt, moment = secrets.token_bytes(16), now()
        digest = records.Payload(salt, {"text": reason}).digest if reason else None
        units = None if limit is None else to_units(limit)
        shown = records.sha256(str(to_sign["shown"]).encode())
        flags = to_sign["flags"] if act == "finish" else None
        statement = signatures.act_statement(
            docket, member, review, shown, act, pair, digest, units, flags, moment
        )
        return {
            "key": self.public.id, "at": moment, "shown": shown, "salt": salt.hex(),
            "signature": self.sign("member", statement),
        }  # fmt: skip

    def consent(self, docket: str, member: str, key: str) -> str:
        """Sign that the member takes a key into use: this one, or another."""
        content = signatures.possession(docket, member, signatures.PublicKey(key))
        return self.sign("member-key", content)

    def revocation(self, docket: str, member: str, key: str) -> str:
        """Sign that a key of the member ends: this one, or another."""
        content = signatures.revocation(docket, member, signatures.PublicKey(key))
        return self.sign("member-key-end", content)


def read_key(path: Path) -> MemberKey:
    """Read a private key from a file; refuse one that others may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise LikewiseError(f"Others may read {path}. Make it yours alone: chmod 600 {path}")
        return MemberKey(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except (OSError, ValueError) as error:
        raise LikewiseError(
            f"{path} holds no private key ({error}). Make one: likewise key --create {path}"
        ) from error
