"""Where ledgers are kept: SQLite by default, PostgreSQL when several machines serve.

The ``events`` table only ever grows; the database itself refuses to change or remove a row. One
writer at a time a docket, whatever the number of processes: what is written within
:meth:`Store.writing` is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from likewise.service.errors import StoreError
from likewise.service.personal import Payload
from likewise.service.records import Head, Record, canonical
from likewise.service.tables import (
    APPEND_ONLY,
    SCHEMA_VERSION,
    events,
    meta,
    metadata,
    payloads,
    requests,
    secrets,
)

__all__ = ["Store", "Writing", "now"]


def now() -> str:
    """The time in UTC, to the microsecond.

    >>> now()[-1], len(now())
    ('Z', 27)
    """
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Store:
    """A database with the ledgers of some dockets."""

    def __init__(self, url: str) -> None:
        self.url = sa.make_url(url)
        if self.url.get_backend_name() == "sqlite":
            if self.url.database in (None, "", ":memory:"):
                raise StoreError("A ledger must be kept in a file; give sqlite:///PATH.")
            # Two doors to one file: readers never wait for the writer.
            self._readers = _sqlite(self.url, "BEGIN")
            self._writers = _sqlite(self.url, "BEGIN IMMEDIATE")
        elif self.url.get_backend_name() == "postgresql":
            self._writers = _postgresql(self.url)
            self._readers = self._writers.execution_options(isolation_level="REPEATABLE READ")
        else:
            raise StoreError(
                f"{self.url.get_backend_name()!r} is not a database that Likewise keeps ledgers "
                f"in. Give sqlite:///PATH or postgresql://HOST/NAME."
            )

    @classmethod
    def open(cls, url: str) -> Store:
        """Open a database; an empty one becomes a store, one of another version is refused."""
        store = cls(url)
        with store._writers.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_lock("schema"))))
            names = set(sa.inspect(connection).get_table_names())
            if not names & set(metadata.tables):
                metadata.create_all(connection)
                for statement in APPEND_ONLY[connection.dialect.name]:
                    connection.execute(sa.text(statement))
                connection.execute(meta.insert().values(key="schema", value=SCHEMA_VERSION))
            elif "meta" not in names:
                raise StoreError(
                    f"{store.where} has tables but no version; it is not a store of Likewise."
                )
            found = connection.execute(
                sa.select(meta.c.value).where(meta.c.key == "schema")
            ).scalar()
        if found != SCHEMA_VERSION:
            store.close()
            raise StoreError(
                f"{store.where} has the version {found!r}; this Likewise reads {SCHEMA_VERSION!r}. "
                f"Open it with the Likewise that wrote it."
            )
        return store

    @property
    def where(self) -> str:
        """The database in words, without a password."""
        return self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Let go of all connections."""
        self._readers.dispose()
        self._writers.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look."""
        with self._readers.begin() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sa.Connection]:
        """A change of what is not in any ledger, such as tokens."""
        with self._writers.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, docket: str) -> Iterator[Writing]:
        """The docket's only writer, until the end of the block."""
        with self._writers.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_lock(docket))))
            yield Writing(connection, docket, _head(connection, docket))

    def dockets(self) -> tuple[str, ...]:
        """The names of all dockets."""
        with self.reading() as connection:
            rows = connection.execute(sa.select(events.c.docket).where(events.c.seq == 1))
            return tuple(sorted(row.docket for row in rows))

    def head(self, docket: str) -> Head:
        """The docket's last record."""
        with self.reading() as connection:
            return _head(connection, docket)

    def records(self, docket: str, after: int = 0, until: int | None = None) -> list[Record]:
        """The docket's records with numbers above one and up to another."""
        with self.reading() as connection:
            return _records(connection, docket, after, until)

    def payload(self, docket: str, digest: str) -> Payload | None:
        """Something personal, if it has not been erased."""
        with self.reading() as connection:
            return _payloads(connection, docket, [digest]).get(digest)

    def secret(self, docket: str) -> tuple[int, bytes] | None:
        """The docket's seed and the salt of its commitment."""
        with self.reading() as connection:
            row = connection.execute(sa.select(secrets).where(secrets.c.docket == docket)).first()
        return None if row is None else (int(row.seed), bytes(row.salt))


class Writing:
    """One transaction on one docket: the records that it appends become visible together."""

    def __init__(self, connection: sa.Connection, docket: str, head: Head) -> None:
        self.connection, self.docket, self.head = connection, docket, head

    def append(self, kind: str, body: Mapping[str, Any], at: str | None = None) -> Record:
        """One more record."""
        record = Record.following(self.docket, self.head, at or now(), kind, body)
        self.connection.execute(
            events.insert().values(
                docket=record.docket, seq=record.seq, at=record.at, kind=record.kind,
                body=canonical(record.body).decode(), prev=record.prev, hash=record.hash,
            )
        )  # fmt: skip
        self.head = record.head
        return record

    def records(self, after: int) -> list[Record]:
        """What was appended after a record."""
        return _records(self.connection, self.docket, after, None)

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for the ledger."""
        self.connection.execute(
            payloads.insert().values(
                docket=self.docket, digest=payload.digest, salt=payload.salt,
                content=canonical(payload.content).decode(),
            )
        )  # fmt: skip
        return payload.digest

    def payloads(self, digests: Iterable[str]) -> dict[str, Payload]:
        """Those that have not been erased."""
        return _payloads(self.connection, self.docket, digests)

    def erase(self, digest: str) -> None:
        """Remove salt and content for good."""
        mine = (payloads.c.docket == self.docket) & (payloads.c.digest == digest)
        self.connection.execute(payloads.delete().where(mine))

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """The docket's seed, which its first record only commits to."""
        row = secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt)
        self.connection.execute(row)

    def request(self, key: str) -> tuple[str, str] | None:
        """The fingerprint and the round of an earlier request with that key."""
        mine = (requests.c.docket == self.docket) & (requests.c.key == key)
        row = self.connection.execute(sa.select(requests).where(mine)).first()
        return None if row is None else (row.fingerprint, row.round)

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        """Remember a request, so that it can be repeated safely."""
        row = requests.insert().values(
            docket=self.docket, key=key, fingerprint=fingerprint, round=round_id
        )
        self.connection.execute(row)


def _head(connection: sa.Connection, docket: str) -> Head:
    query = sa.select(events.c.seq, events.c.hash).where(events.c.docket == docket)
    row = connection.execute(query.order_by(events.c.seq.desc()).limit(1)).first()
    return Head() if row is None else Head(row.seq, row.hash)


def _records(connection: sa.Connection, docket: str, after: int, until: int | None) -> list[Record]:
    query = sa.select(events).where(events.c.docket == docket, events.c.seq > after)
    if until is not None:
        query = query.where(events.c.seq <= until)
    return [
        Record(row.docket, row.seq, row.at, row.kind, json.loads(row.body), row.prev, row.hash)
        for row in connection.execute(query.order_by(events.c.seq))
    ]


def _payloads(connection: sa.Connection, docket: str, digests: Iterable[str]) -> dict[str, Payload]:
    wanted = list(digests)
    found: dict[str, Payload] = {}
    for start in range(0, len(wanted), 500):
        some = wanted[start : start + 500]
        query = sa.select(payloads).where(payloads.c.docket == docket, payloads.c.digest.in_(some))
        for row in connection.execute(query):
            found[row.digest] = Payload(bytes(row.salt), json.loads(row.content))
    return found


def _lock(name: str) -> int:
    """A number for PostgreSQL's advisory locks."""
    digest = hashlib.sha256(f"likewise:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _sqlite(url: sa.URL, begin: str) -> sa.Engine:
    engine = sa.create_engine(url.set(drivername="sqlite+pysqlite"), connect_args={"timeout": 60})

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        # The driver would begin transactions where it pleases; we say where.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql(url: sa.URL) -> sa.Engine:
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"), pool_size=5, max_overflow=10, pool_pre_ping=True
    )
