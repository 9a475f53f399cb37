"""Connections to databases: when transactions begin, how long they wait, what stays on disk."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from likewise.service.errors import StoreError, store_unavailable

__all__ = ["advisory_lock", "engines", "keep_private", "translated"]

# Seconds that a writer waits for its turn; and, fewer, that one which fell silent may hold it.
PATIENCE = 60
SILENCE = 30
# PostgreSQL's words for a server that takes no writes: read-only, or one that is being recovered.
READ_ONLY = ("25006", "57P03", "53100")
LOG = logging.getLogger("likewise.service")


def engines(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """The engines for readers and for writers; readers see one moment and never wait."""
    name = url.get_backend_name()
    if name == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise StoreError("A ledger must be kept in a file; give sqlite:///PATH.")
        return _sqlite(url, "BEGIN"), _sqlite(url, "BEGIN IMMEDIATE")
    if name == "postgresql":
        writers = _postgresql(url)
        return writers.execution_options(isolation_level="REPEATABLE READ"), writers
    raise StoreError(
        f"{name!r} is not a database that Likewise keeps ledgers in. Give sqlite:///PATH or "
        f"postgresql://HOST/NAME."
    )


def advisory_lock(connection: sa.Connection, name: str) -> None:
    """On PostgreSQL, wait for the turn; it ends with the transaction.

    A client that vanished, or was stopped, within a transaction must not keep the turn.
    SQLite's ``BEGIN IMMEDIATE`` has taken the turn already.
    """
    if connection.dialect.name == "postgresql":
        digest = hashlib.sha256(f"likewise:{name}".encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        waits = {"patience": f"{PATIENCE}s", "silence": f"{SILENCE}s"}
        connection.execute(_TURN, {"number": number, **waits})


_TURN = sa.text(
    "SELECT set_config('lock_timeout', :patience, true), "
    "set_config('idle_in_transaction_session_timeout', :silence, true), "
    "pg_advisory_xact_lock(:number)"
)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Say in a sentence that the database does not respond."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        if not _out_of_reach(error):
            raise
        # The address and the driver's words are for the log, not for whoever asked.
        LOG.error("The database %s does not respond, or is busy: %s", where, _first_line(error))
        raise store_unavailable() from error


def _out_of_reach(error: Exception) -> bool:
    """Tell a database that fails from one that refuses what was asked of it."""
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    kinds = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return lost or isinstance(error, kinds) or state in READ_ONLY


def _first_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    return (str(cause).splitlines() or [type(cause).__name__])[0]


def _sqlite(url: sa.URL, begin: str) -> sa.Engine:
    engine = sa.create_engine(
        url.set(drivername="sqlite+pysqlite"), connect_args={"timeout": PATIENCE},
        hide_parameters=True,  # they are personal, and errors go to the log
    )  # fmt: skip

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        # The driver would begin transactions where it pleases; we say where.
        connection.isolation_level = None
        # A damaged byte is to be found in its record, not to end the reading.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        # What is deleted is overwritten, since it may be a person who wanted to be erased.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def keep_private(path: str) -> None:
    """A new file is for its owner only: it holds features, and the seed. Journals get its mode."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(folder) and not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT, 0o600))


def _postgresql(url: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=5, max_overflow=10, pool_pre_ping=True, hide_parameters=True,
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise StoreError(
            "PostgreSQL needs the driver psycopg: pip install 'likewise[service,postgres]'."
        ) from error
