"""The installation's keys: one is in use, and signs every receipt; older ones stay known."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from likewise.service.clock import compact, now
from likewise.service.ledger.bodies.evidence import KeyPublished
from likewise.service.ledger.notices import notify
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.schema import keys
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey

if TYPE_CHECKING:
    from likewise.service.ledger.store import Store

# Seconds for which a process does not ask if another one has changed the key.
REMEMBERED = 5.0


@dataclass(frozen=True)
class InstallationKey:
    """A key as everybody may know it: since when, until when, and if it fell into other hands."""

    public: PublicKey
    created: str
    retired: str | None = None
    compromised: str | None = None


def succession(key: PublicKey) -> bytes:
    """Return the words by which a key names the one that comes after it."""
    return f"the next key is {key.text}".encode()


class Keyring:
    """The keys of one store."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._cached: tuple[float, PrivateKey, PublicKey] | None = None

    def current(self) -> PrivateKey:
        """Return the key in use; a store that has none gets one."""
        return self._current()[0]

    def public(self) -> PublicKey:
        """Return the public half of the key in use."""
        return self._current()[1]

    def _current(self) -> tuple[PrivateKey, PublicKey]:
        with self._lock:
            moment = time.monotonic()
            if self._cached is None or moment - self._cached[0] > REMEMBERED:
                row = self._row() or self._first()
                self._cached = (moment, PrivateKey(bytes(row.private)), PublicKey(row.public))
            return self._cached[1:]

    def _row(self) -> sa.Row[Any] | None:
        with self._store.reading() as connection:
            return connection.execute(sa.select(keys).where(keys.c.in_use.is_not(None))).first()

    def _first(self) -> sa.Row[Any]:
        try:
            with self._store.changing() as connection:
                _insert(connection, PrivateKey.fresh())
        except sa.exc.IntegrityError:
            pass  # another process was faster, and its key is the one in use
        row = self._row()
        assert row is not None  # noqa: S101 - one of them was inserted
        return row

    def sign(self, receipt: Receipt) -> Receipt:
        """Return the same receipt, as of now and signed."""
        private, public = self._current()
        dated = replace(receipt, at=compact(now()), key=public.id)
        return replace(dated, signature=private.sign("receipt", dated.statement.encode()))

    def listed(self) -> list[InstallationKey]:
        """Return all keys that the installation has had, the oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(keys).order_by(keys.c.created, keys.c.id))
            return [
                InstallationKey(PublicKey(r.public), r.created, r.retired, r.compromised)
                for r in rows
            ]

    def rotate(self, *, compromised: bool = False) -> tuple[PublicKey, PublicKey]:
        """Take a new key into use, and say so in every ledger; return the old and the new one.

        The old key signs the new one, unless it fell into other hands.
        """
        old, fresh, moment = self.current(), PrivateKey.fresh(), now()
        consent = None if compromised else old.sign("succession", succession(fresh.public))
        body = KeyPublished(fresh.public.text, old.public.id, consent, compromised)
        with self._store.changing() as connection:
            ended = {"in_use": None, "retired": moment}
            ended["compromised"] = moment if compromised else None
            connection.execute(keys.update().where(keys.c.id == old.public.id).values(ended))
            _insert(connection, fresh)
            notify(connection, None, self._store.dockets_of(connection), body)
        with self._lock:
            self._cached = None
        return old.public, fresh.public


def _insert(connection: sa.Connection, key: PrivateKey) -> None:
    row = {"id": key.public.id, "public": key.public.text, "private": key.raw}
    connection.execute(keys.insert().values(**row, created=now(), in_use="yes"))
