"""The store: ledgers, payloads, secrets and requests, in SQLite or PostgreSQL.

The ``events`` table only grows: the database itself refuses to change or remove a row, or to add
one that does not follow the last of its ledger. A docket has one writer at a time, whatever the
number of processes.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from likewise_client.tree import Tree
from likewise_service.clock import now, write
from likewise_service.errors import LOG, ServiceError, StoreError, store_unavailable
from likewise_service.ledger import database as db
from likewise_service.ledger import kinds
from likewise_service.ledger.key_places import KeyPlace, key_place
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import Head, Record
from likewise_service.ledger.signatures import PrivateKey, PublicKey, succession
from likewise_service.ledger.transaction import LedgerView, Transaction, head_of


def tokens_for(connection: sa.Connection, docket: str) -> list[kinds.TokenIssued]:
    """Return the tokens in use that concern a docket, as records."""
    concerns = db.tokens.c.docket.is_(None) | (db.tokens.c.docket == docket)
    query = sa.select(db.tokens).where(concerns, db.tokens.c.revoked.is_(None))
    rows = connection.execute(query.order_by(db.tokens.c.created, db.tokens.c.id))
    return [kinds.TokenIssued(r.id, r.role, r.name, r.docket, r.created) for r in rows]


def introductions(
    connection: sa.Connection, actor: kinds.Actor, actors: Mapping[str, kinds.Introduction], at: str
) -> list[kinds.Introduction]:
    """Return the records that introduce an actor and that a ledger lacks; it has ``actors``.

    Somebody who was revoked or has signed out is refused here, in the ledger's own order: what a
    cache or a request under way believes does not count.
    """
    lacking = list[kinds.Introduction]()
    for body in reversed(actor.introduction):  # the sign-in first, which adds the others
        last = actors.get(body.actor)
        if isinstance(body, kinds.SignedIn):
            _check_there(connection, body)
            if last is None or (last.until is not None and last.until < at):
                lacking.append(body.as_of(at, now()))
        elif last is None:
            _check_there(connection, body)
            lacking.append(body)
    return lacking


def _check_there(connection: sa.Connection, body: kinds.Introduction) -> None:
    tokens, sessions = db.tokens.c, db.sessions.c
    query = sa.select(tokens.id).where(tokens.id == body.token, tokens.revoked.is_(None))
    code, sentence = "unauthorised", "Your token was revoked. Ask the operator for another."
    if isinstance(body, kinds.SignedIn):
        query = query.join(db.sessions, sessions.token == tokens.id)
        query = query.where(sessions.id == body.sign_in)
        code, sentence = "signed-out", "You are signed out, or revoked. Sign in again."
    if connection.execute(query).first() is None:
        raise ServiceError(code, 401, sentence)


def notify(connection: sa.Connection, docket: str | None, body: kinds.Body | None) -> None:
    """Add a body to the ledger of one docket or, without one, of all, in the caller's transaction.

    Without a body it only introduces the actor. All writers take the ledgers in the order of their
    names, so that two of them never deadlock.
    """
    names: Sequence[str] = () if docket is None else (docket,)
    if docket is None:
        db.advisory_lock(connection, INSTALLATION)
        names = sorted(connection.execute(_DOCKETS).scalars())
    actor = kinds.current_actor()
    # Every ledger has the tokens that concern it; a sign-in is introduced wherever it acts.
    tokens = {
        body.actor: body for body in actor.introduction if isinstance(body, kinds.TokenIssued)
    }
    for token in tokens.values():
        _check_there(connection, token)
    for name in names:
        db.advisory_lock(connection, name)
        transaction = Transaction(connection, name)
        times = transaction.select(db.events.c.at).order_by(db.events.c.seq.desc())
        before = connection.execute(times.limit(1)).scalar()
        if before is not None:
            at = max(now(), before)
            lacking = introductions(connection, actor, tokens, at)
            for added in lacking if body is None else (*lacking, body):
                transaction.append(*kinds.write_body(added), at, actor.id)
            transaction.flush()


# The turn that every writer to all ledgers, or to a new one, waits for first.
INSTALLATION = "installation"
# Seconds for which a process uses a key without asking if another process has changed it.
REMEMBERED = 5.0


@dataclass(frozen=True)
class InstallationKey:
    """A public key: since when, until when, and since when it is ``compromised``, if it is."""

    public: PublicKey
    created: str
    retired: str | None = None
    compromised: str | None = None


class Keyring:
    """The keys of a store; their private halves are in the database, or in a ``place``."""

    def __init__(self, store: Store, place: KeyPlace | None = None) -> None:
        self._store, self._place, self._lock = store, place, threading.Lock()
        self._cached: tuple[float, PrivateKey] | None = None

    def current(self) -> PrivateKey:
        """Return the key in use; a store that has none gets one."""
        with self._lock:
            moment = time.monotonic()
            if self._cached is None or moment - self._cached[0] > REMEMBERED:
                self._cached = (moment, self._stored())
            return self._cached[1]

    def forget(self) -> None:
        """Read the key from the database again, the next time."""
        with self._lock:
            self._cached = None

    def public(self) -> PublicKey:
        return self.current().public

    def locked(self, connection: sa.Connection) -> PrivateKey:
        """Return the key in use, which stays so until the transaction ends."""
        db.advisory_lock(connection, INSTALLATION)
        key = self._in_use(connection)
        assert key is not None  # noqa: S101 - there is one, and it is not removed
        return key

    def _stored(self) -> PrivateKey:
        with self._store.reading() as connection:
            key = self._in_use(connection)
        if key is None:
            self._begin()
            return self._stored()
        return key

    def _in_use(self, connection: sa.Connection) -> PrivateKey | None:
        """Return the key in use; one that is missing is never replaced by a new one."""
        row = _in_use(connection)
        if row is not None and row.private and self._place is not None:
            raise StoreError(
                f"The installation's key {row.id} is in the database, and not in {self._place}. "
                f"Take one from there into use: likewise key --rotate"
            )
        return None if row is None else self._private(row)

    def _private(self, row: sa.Row[Any]) -> PrivateKey:
        if row.private:
            return PrivateKey(bytes(row.private))
        if self._place is None:
            raise StoreError(
                f"The installation's key {row.id} is not in the database. Say where it is: "
                f"LIKEWISE_INSTALLATION_KEY."
            )
        for key in self._place.read():
            if key.public.id == row.id:
                return key
        raise StoreError(
            f"The installation signs with the key {row.id}, which is not in {self._place}. Put it "
            f"back. If there is no copy: likewise key --rotate --compromised"
        )

    def _unused(self, connection: sa.Connection) -> PrivateKey | None:
        """Return a key of the place that the installation never had."""
        listed = set(connection.execute(sa.select(db.keys.c.public)).scalars())
        keys = () if self._place is None else self._place.read()
        return next((key for key in keys if key.public.text not in listed), None)

    def _begin(self) -> None:
        """Take the first key into use."""
        try:
            with self._store.changing() as connection:
                if connection.execute(_DOCKETS).first() is not None:
                    raise StoreError(
                        f"{self._store.where} has ledgers and none of the keys that signed them: "
                        f"its table of keys was emptied. Restore a backup."
                    )
                key = PrivateKey.fresh() if self._place is None else self._unused(connection)
                if key is None:
                    raise StoreError(
                        f"There is no key in {self._place}. Make one: likewise key --create PLACE, "
                        f"with what LIKEWISE_INSTALLATION_KEY names"
                    )
                self._insert(connection, key)
        except sa.exc.IntegrityError:
            pass  # another process was faster, and its key is the one in use

    def sign(self, origin: str, tree: Tree) -> Checkpoint:
        return Checkpoint.of(origin, tree).signed(self.current())

    def listed(self) -> list[InstallationKey]:
        """Return all keys that the installation has had, the oldest first; the last is in use."""
        query = sa.select(db.keys).order_by(db.keys.c.created, db.keys.c.id)
        with self._store.reading() as connection:
            keys = [
                InstallationKey(PublicKey(r.public), r.created, r.retired, r.compromised)
                for r in connection.execute(query)
            ]
        if not keys:
            self.current()  # a store that has none gets one
            return self.listed()
        return keys

    def rotate(self, *, compromised: bool = False) -> tuple[PublicKey, PublicKey]:
        """Take a new key into use, and record it in every ledger; return the old and the new one.

        The old key signs the new one, unless it was compromised or lost. The new one is a key of
        the place that was never used, or else a fresh one. The old private half is not kept.
        """
        self.listed()  # a store that has none gets one
        moment, consent = now(), None
        with self._store.changing() as connection:
            db.advisory_lock(connection, INSTALLATION)
            old = _in_use(connection)
            assert old is not None  # noqa: S101 - there is one, and it is not removed
            before = None if compromised else self._private(old)
            create = PrivateKey.fresh if self._place is None else self._place.create
            fresh = self._unused(connection) or create()
            if before is not None:
                consent = before.sign("succession", succession(fresh.public))
            body = kinds.KeyPublished(fresh.public.text, old.id, consent, compromised)
            lost = moment if compromised else None
            ended = {"in_use": None, "retired": moment, "compromised": lost, "private": b""}
            connection.execute(db.keys.update().where(db.keys.c.id == old.id).values(ended))
            self._insert(connection, fresh)
            notify(connection, None, body)
            if compromised:  # nobody believes what the old one signed; it is every ledger's turn
                connection.execute(db.snapshots.delete())
        self.forget()
        return PublicKey(old.public), fresh.public

    def _insert(self, connection: sa.Connection, key: PrivateKey) -> None:
        private = key.raw if self._place is None else b""
        row = {"id": key.public.id, "public": key.public.text, "private": private}
        connection.execute(db.keys.insert().values(**row, created=now(), in_use="yes"))


def _in_use(connection: sa.Connection) -> sa.Row[Any] | None:
    return connection.execute(sa.select(db.keys).where(db.keys.c.in_use.is_not(None))).first()


# The bytes that are written to find out if a store takes writes, and those that the disk of a
# SQLite file needs besides: its journal may have room that the file has not.
WRITTEN = 16_384
SPARE = 1_048_576
# How often to try to empty the files, and the seconds in between; PostgreSQL rewrites a table each
# time.
SCRUBS = {"sqlite": (40, 0.05), "postgresql": (3, 1.0)}


class Store:
    """A database with the ledgers of some dockets."""

    def __init__(
        self, url: str, *, read_only: bool = False, key: str = "", writer: str = ""
    ) -> None:
        try:
            self.url = sa.make_url(url)
        except sa.exc.ArgumentError as error:
            raise StoreError(
                f"{url!r} does not name a database. Give sqlite:///PATH or postgresql://HOST/NAME."
            ) from error
        except ValueError as error:  # such as a port that is none; the address may hold a password
            raise StoreError(
                "The address of the database cannot be read. In a password write %40 for @, %2F "
                "for /, %3A for :, and so on."
            ) from error
        self._read_only, self._writer = read_only, writer
        self.begun = False  # if opening it made a store of an empty database
        self._readers, self._writers = db.engines(self.url, read_only=read_only)
        self._glances = db.glancing(self._writers)
        self.keys = Keyring(self, key_place(key))

    @classmethod
    def open(cls, url: str, *, create: bool = True, key: str = "", writer: str = "") -> Store:
        """Open a database; an empty one becomes a store, one of another revision is refused.

        Without ``create``, a database that is not a store is refused and left as it is. ``key`` is
        the place of the installation's private key, unless that is the database. With a ``writer``,
        the address of a server that writes, the store is only read.
        """
        if writer:
            return cls.read_only(url, key=key, writer=writer)
        store = cls(url, key=key)
        with store._opening(create):
            stored = store._revision()
            store.begun = create and not stored
            db.check_revision(stored or (store._migrated() if create else 0), store.where)
        return store

    @classmethod
    def read_only(cls, url: str, *, key: str = "", writer: str = "") -> Store:
        """Open a store to read it, even where nothing can be written."""
        store = cls(url, read_only=True, key=key, writer=writer)
        with store._opening(create=False):
            if store._on_sqlite:
                db.check_log(str(store.url.database))
            db.check_revision(store._revision(), store.where)
        return store

    @classmethod
    def upgrade(cls, url: str) -> tuple[int, int]:
        """Bring a database to the newest revision, in one transaction; return both."""
        store = cls(url)
        with store._opening(create=False), closing(store):
            before = store._revision()
            if not db.OLDEST <= before < db.REVISION:
                db.check_revision(before, store.where)
            return before, store._migrated()

    @contextmanager
    def _opening(self, create: bool) -> Iterator[None]:
        """Close a database that cannot be opened, and say why in a sentence."""
        try:
            if self._on_sqlite and create:
                db.keep_private(str(self.url.database))
            elif self._on_sqlite and not Path(str(self.url.database)).is_file():
                raise StoreError(
                    f"{self.where} is not there. Correct the address (--database, or "
                    f"LIKEWISE_DATABASE)."
                )
            yield
        except (sa.exc.DatabaseError, StoreError, OSError) as error:
            self.close()
            if isinstance(error, StoreError):
                raise
            if isinstance(error, sa.exc.OperationalError | OSError):
                fault = f"The database {self.where} cannot be opened"
            else:
                fault = f"{self.where} is not a store of Likewise"
            raise StoreError(f"{fault}: {getattr(error, 'orig', error)}") from error

    def _revision(self) -> int:
        with self._readers.begin() as connection:
            return db.stored_revision(connection, self.where)

    def _migrated(self) -> int:
        """Create the tables or bring them to the newest revision; return it."""
        with self._writers.begin() as connection:
            # Another process may have been faster; they take turns.
            db.advisory_lock(connection, "schema")
            stored = db.stored_revision(connection, self.where)
            if stored < db.REVISION:
                db.migrate(connection, stored)
            return db.stored_revision(connection, self.where)

    @property
    def _on_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @cached_property
    def where(self) -> str:
        """The database in words, without a password."""
        plain = self.url.difference_update_query(["password"])
        return plain.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close all connections. The last to do so leaves a SQLite file without a log."""
        self._readers.dispose()
        self._writers.dispose()
        if self._on_sqlite and not self._read_only:
            db.fold_log(str(self.url.database))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection whose reads are all of the same moment."""
        with db.translated(self.where), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sa.Connection]:
        """Yield a connection for changes outside the ledgers, such as those of tokens."""
        if self._read_only:
            raise ServiceError("read-only", 405, f"Here one only reads. Write at {self._writer}")
        with db.translated(self.where), self._writers.begin() as connection:
            yield connection

    def as_of(self) -> str:
        """Return the time of the last change that a replica has, or the present."""
        with self.reading() as connection:
            moment = None if self._on_sqlite else connection.execute(_REPLAYED).scalar()
        return now() if moment is None else write(moment)

    def try_writing(self) -> None:
        """Write as much as a round takes, and remove it: a database may respond, and yet be
        read-only or full. A write that is rolled back would need no space.
        """
        if self._on_sqlite and shutil.disk_usage(str(self.url.database)).free < SPARE:
            LOG.error("The disk of %s has less than %d bytes left.", self.where, SPARE)
            raise store_unavailable()
        key, value = f"writable-{secrets.token_hex(8)}", secrets.token_hex(WRITTEN // 2)
        with self.changing() as connection:
            connection.execute(db.meta.insert().values(key=key, value=value))
        with self.changing() as connection:
            connection.execute(db.meta.delete().where(db.meta.c.key == key))

    @contextmanager
    def view(self, docket: str) -> Iterator[LedgerView]:
        with self.reading() as connection:
            yield LedgerView(connection, docket)

    @contextmanager
    def transaction(self, docket: str, keys: Sequence[str] = ()) -> Iterator[Transaction]:
        """Yield the docket's only writer, until the end of the block; ``keys`` are of requests."""
        with self.changing() as connection:
            db.advisory_lock(connection, docket)
            transaction = Transaction(connection, docket)
            if keys:
                transaction.look_up(keys)
            yield transaction
            transaction.flush()

    def dockets(self) -> tuple[str, ...]:
        with self.reading() as connection:
            return tuple(connection.execute(_DOCKETS).scalars())

    def listed(
        self, after: str, limit: int, *, contains: str = "", only: str | None = None
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return names above ``after`` with the settings in the docket's first record, in order.

        Only names that hold ``contains`` are listed, or ``only`` one. No docket is opened.
        """
        names, events = db.dockets.c.docket, db.events.c
        same = (events.docket == names) & (events.seq == 1)
        query = sa.select(names, events.body).join(db.events, same)
        query = query.where(names > after, names.contains(contains, autoescape=True))
        if only is not None:
            query = query.where(names == only)
        with self.reading() as connection:
            rows = connection.execute(query.order_by(names).limit(limit)).all()
        return [(name, json.loads(body)["spec"]) for name, body in rows]

    def due(self, moment: str) -> tuple[str, ...]:
        dockets = db.dockets.c
        query = sa.select(dockets.docket).where(dockets.due <= moment).order_by(dockets.docket)
        with self.reading() as connection:
            return tuple(connection.execute(query).scalars())

    def periods(self) -> dict[str, dict[str, float | None]]:
        """Return by docket how many days features and reasons are kept, where that was ever set."""
        with self.reading() as connection:
            return {name: json.loads(body) for name, body in connection.execute(_PERIODS)}

    def numbers(self) -> dict[str, dict[str, float]]:
        dockets, events = db.dockets.c, db.events.c
        last = sa.select(sa.func.max(events.seq)).where(events.docket == dockets.docket)
        query = sa.select(dockets.docket, dockets.numbers, last.scalar_subquery())
        with self.reading() as connection:
            rows = connection.execute(query).all()
        return {name: {**json.loads(text), "ledger_records": seq} for name, text, seq in rows}

    def head(self, docket: str) -> Head:
        """Return the docket's last record, by one query without a transaction."""
        with db.translated(self.where), self._glances.connect() as connection:
            return head_of(connection, docket)

    def records(self, docket: str, after: int = 0, until: int | None = None) -> list[Record]:
        with self.view(docket) as view:
            return view.records(after, until)

    def scrub_soon(self) -> None:
        """After an erasure, empty SQLite's journal at once, which costs next to nothing."""
        if self._on_sqlite:
            self.scrub()

    def scrub(self) -> None:
        """Remove what was erased from the files too, as far as the database can.

        SQLite empties its journal (it overwrites deleted rows anyway); PostgreSQL rewrites the
        table, while its journal, replicas and backups forget when they are recycled.
        """
        scrubbed = self._journal_emptied if self._on_sqlite else self._payloads_rewritten
        with db.translated(self.where):
            tries, pause = SCRUBS[self.url.get_backend_name()]
            for _ in range(tries):
                if scrubbed():
                    return
                time.sleep(pause)
        raise ServiceError(
            "store-busy", 503,
            "What was erased is gone from the tables, but readers who began before hold on to the "
            "database's files. Erase again in a while, to empty those too.",
        )  # fmt: skip

    def _journal_emptied(self) -> bool:
        with closing(self._writers.raw_connection()) as raw:
            busy = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def _payloads_rewritten(self) -> bool:
        """Rewrite PostgreSQL's table, which keeps the rows that an older reader might ask for."""
        engine = self._writers.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("VACUUM FULL payloads")
            return not connection.exec_driver_sql(_KEPT).scalar()


# Rewriting a table counts what is in its index, and in the table only what is not deleted.
_KEPT = (
    "SELECT bool_or(entries.reltuples > rows.reltuples) FROM pg_index JOIN pg_class entries ON "
    "entries.oid = indexrelid JOIN pg_class rows ON rows.oid = indrelid "
    "WHERE indrelid = 'payloads'::regclass"
)
_REPLAYED = sa.text(
    "SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_xact_replay_timestamp(), "
    "(SELECT checkpoint_time FROM pg_control_checkpoint())) END"
)
_PERIODS = sa.text(
    "SELECT docket, body FROM events WHERE kind = 'retention-set' ORDER BY docket, kind, seq"
)
# From name to name along the table's key, however long the ledgers are.
_DOCKETS = sa.text(
    "WITH RECURSIVE named(docket) AS (SELECT min(docket) FROM events UNION ALL "
    "SELECT (SELECT min(docket) FROM events WHERE docket > named.docket) FROM named "
    "WHERE docket IS NOT NULL) SELECT docket FROM named WHERE docket IS NOT NULL"
)


def fold_log_of(url: str) -> None:
    """Fold a SQLite file's log into it, once nobody uses it any more."""
    address = sa.make_url(url)
    if address.get_backend_name() == "sqlite":
        db.fold_log(str(address.database), 5.0)
