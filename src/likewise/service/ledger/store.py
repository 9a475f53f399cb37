"""Where ledgers are kept: SQLite by default, PostgreSQL when several machines serve.

The ``events`` table only ever grows; the database itself refuses to change or remove a row, and a
row that does not follow the last one of its ledger. One writer at a time a docket, whatever the
number of processes: what is written within :meth:`Store.transaction` is there as a whole or not at
all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from likewise.service.errors import ServiceError, StoreError
from likewise.service.ledger.database import advisory_lock, engines, keep_private, translated
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, Record
from likewise.service.ledger.schema import APPEND_ONLY, SCHEMA_VERSION, events, meta, metadata
from likewise.service.ledger.transaction import (
    Transaction,
    head_of,
    payloads_of,
    records_of,
    secret_of,
)

__all__ = ["Store", "Transaction", "now"]

# How often the journal is tried before readers are told to let go of it.
SCRUBS = 40


def now() -> str:
    """The time in UTC, to the microsecond.

    >>> now()[-1], len(now())
    ('Z', 27)
    """
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Store:
    """A database with the ledgers of some dockets."""

    def __init__(self, url: str) -> None:
        try:
            self.url = sa.make_url(url)
        except sa.exc.ArgumentError as error:
            raise StoreError(
                f"{url!r} does not name a database. Give sqlite:///PATH or postgresql://HOST/NAME."
            ) from error
        self._readers, self._writers = engines(self.url)

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Store:
        """Open a database; an empty one becomes a store, one of another version is refused.

        Without ``create``, what is not a store already is refused and left as it is.
        """
        store = cls(url)
        try:
            is_file = store.url.get_backend_name() == "sqlite"
            if is_file and not create and not Path(str(store.url.database)).is_file():
                raise StoreError(f"{store.where} is not there.")
            if is_file:
                keep_private(str(store.url.database))
            found = store._version(create)
        except sa.exc.OperationalError as error:
            store.close()
            raise StoreError(
                f"The database {store.where} cannot be opened: {error.orig}"
            ) from error
        except sa.exc.DatabaseError as error:
            store.close()
            raise StoreError(f"{store.where} is not a store of Likewise: {error.orig}") from error
        except StoreError:
            store.close()
            raise
        if found != SCHEMA_VERSION:
            store.close()
            raise StoreError(
                f"{store.where} has the version {found!r}; this Likewise reads {SCHEMA_VERSION!r}. "
                f"Open it with the Likewise that wrote it."
            )
        return store

    def _version(self, create: bool) -> str | None:
        with (self._writers if create else self._readers).begin() as connection:
            if create:
                advisory_lock(connection, "schema")
            names = set(sa.inspect(connection).get_table_names())
            if create and not names & set(metadata.tables):
                metadata.create_all(connection)
                for statement in APPEND_ONLY[connection.dialect.name]:
                    connection.execute(sa.text(statement))
                connection.execute(meta.insert().values(key="schema", value=SCHEMA_VERSION))
            elif "meta" not in names:
                raise StoreError(
                    f"{self.where} has no version of its tables; it is not a store of Likewise."
                )
            asked = sa.select(meta.c.value).where(meta.c.key == "schema")
            found: str | None = connection.execute(asked).scalar()
            return found

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
        """One consistent look: all that is read within the block is of the same moment."""
        with translated(self.where), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sa.Connection]:
        """A change of what is not in any ledger, such as tokens."""
        with translated(self.where), self._writers.begin() as connection:
            yield connection

    @contextmanager
    def transaction(self, docket: str) -> Iterator[Transaction]:
        """The docket's only writer, until the end of the block."""
        with translated(self.where), self._writers.begin() as connection:
            advisory_lock(connection, docket)
            transaction = Transaction(connection, docket, head_of(connection, docket))
            yield transaction
            transaction.flush()

    def dockets(self) -> tuple[str, ...]:
        """The names of all dockets."""
        with self.reading() as connection:
            rows = connection.execute(sa.select(events.c.docket).where(events.c.seq == 1))
            return tuple(sorted(row.docket for row in rows))

    def head(self, docket: str) -> Head:
        """The docket's last record."""
        with self.reading() as connection:
            return head_of(connection, docket)

    def records(self, docket: str, after: int = 0, until: int | None = None) -> list[Record]:
        """The docket's records with numbers above one and up to another."""
        with self.reading() as connection:
            return records_of(connection, docket, after, until)

    def payload(self, docket: str, digest: str) -> Payload | None:
        """Something personal, if it has not been erased."""
        with self.reading() as connection:
            return payloads_of(connection, docket, [digest]).get(digest)

    def secret(self, docket: str) -> tuple[int, bytes] | None:
        """The docket's seed and the salt of its commitment."""
        with self.reading() as connection:
            return secret_of(connection, docket)

    def scrub_soon(self) -> None:
        """After an erasure: SQLite's journal is emptied at once, as it costs next to nothing."""
        if self.url.get_backend_name() == "sqlite":
            self.scrub()

    def scrub(self) -> None:
        """Remove what was erased from the files too, as far as the database can do that.

        SQLite empties its journal (deleted rows are overwritten anyway); PostgreSQL rewrites the
        table. Its own journal, replicas and backups forget when they are recycled.
        """
        with translated(self.where):
            if self.url.get_backend_name() == "postgresql":
                engine = self._writers.execution_options(isolation_level="AUTOCOMMIT")
                with engine.connect() as connection:
                    connection.exec_driver_sql("VACUUM FULL payloads")
                return
            with closing(self._writers.raw_connection()) as raw:
                for _ in range(SCRUBS):
                    busy = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                    if not busy:
                        return
                    time.sleep(0.05)
            raise ServiceError(
                "store-busy", 503,
                "What was erased is gone from the tables, but readers hold on to the database's "
                "journal. Erase again in a while, to empty that too.",
            )  # fmt: skip
