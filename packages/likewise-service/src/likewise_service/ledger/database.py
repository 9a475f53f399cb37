"""Connections to databases: when transactions begin, how long they wait, what stays on disk."""

from __future__ import annotations

import hashlib
import logging
import os
import selectors
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cache, lru_cache
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from likewise_service.errors import StoreError, store_unavailable

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory


# Seconds that a writer waits for its turn; a silent writer may hold it for fewer.
PATIENCE = 60
SILENCE = 30
# Seconds within which a process that opens a file makes its log, or one that closes it folds it.
OPENING = 3.0
# PostgreSQL's codes for a server that takes no writes: read-only, starting up, or full.
READ_ONLY = ("25006", "57P03", "53100")
LOG = logging.getLogger("likewise_service")


def engines(url: sa.URL, *, read_only: bool = False) -> tuple[sa.Engine, sa.Engine]:
    """Return the engines for readers and for writers; readers see one moment and never wait."""
    name = url.get_backend_name()
    if name == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise StoreError("A ledger must be kept in a file; give sqlite:///PATH.")
        if read_only:
            engine = _sqlite_read_only(str(url.database))
            return engine, engine
        return _sqlite(url, "BEGIN"), _sqlite(url, "BEGIN IMMEDIATE")
    if name == "postgresql":
        writers = _postgresql(url)
        if read_only:  # otherwise the server's own default says whether it takes writes
            writers = writers.execution_options(postgresql_readonly=True)
        return writers.execution_options(isolation_level="REPEATABLE READ"), writers
    raise StoreError(
        f"{name!r} is not a database that Likewise keeps ledgers in. Give sqlite:///PATH or "
        f"postgresql://HOST/NAME."
    )


def glancing(writers: sa.Engine) -> sa.Engine:
    """Return an engine for single statements without a transaction.

    It is made from the writers', as PostgreSQL's connections would keep another isolation level.
    """
    if writers.dialect.name == "sqlite":
        return writers.execution_options(glance=True)
    return writers.execution_options(isolation_level="AUTOCOMMIT")


def advisory_lock(connection: sa.Connection, name: str) -> None:
    """On PostgreSQL, wait for a turn that ends with the transaction, or when its client vanishes.

    On SQLite ``BEGIN IMMEDIATE`` has taken it already.
    """
    if connection.dialect.name == "postgresql":
        digest = hashlib.sha256(f"likewise:{name}".encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        connection.exec_driver_sql(_TURN, (f"{PATIENCE}s", f"{SILENCE}s", number))


# In the driver's own words, as every group of commands runs it; not in a pipeline, after which
# PostgreSQL does not count the seconds of silence.
_TURN = (
    "SELECT set_config('lock_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', %s, true), pg_advisory_xact_lock(%s)"
)


@contextmanager
def pipelined(connection: sa.Connection) -> Iterator[Any]:
    """Yield the driver's own connection; errors become SQLAlchemy's.

    PostgreSQL gets the statements of the block without a wait for each result.
    """
    driver: Any = connection.connection.driver_connection
    dialect, error_class = connection.dialect, connection.dialect.loaded_dbapi.Error
    on_postgresql = dialect.name == "postgresql"
    try:
        with driver.pipeline() if on_postgresql else nullcontext():
            yield driver
    except error_class as error:
        raise sa.exc.DBAPIError.instance(
            None, None, error, error_class, hide_parameters=True,
            connection_invalidated=on_postgresql and driver.closed, dialect=dialect,
        ) from error  # fmt: skip


# The most rows of one statement.
TOGETHER = 256


def insert(driver: Any, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows by a database's driver, with values in the order of the columns."""
    if isinstance(driver, sqlite3.Connection):
        driver.executemany(_insertion(name, 1, "?"), rows)
        return
    from psycopg import RawCursor

    # Many rows in a statement take less than one after another.
    for start in range(0, len(rows), TOGETHER):
        portion = rows[start : start + TOGETHER]
        statement = _insertion(name, len(portion), "${}").encode()
        RawCursor(driver).execute(statement, list(chain.from_iterable(portion)))


@lru_cache
def _insertion(name: str, rows: int, place: str) -> str:
    """Return the statement for a number of rows; places are ?, ?, … or $1, $2, … (for ``${}``)."""
    columns, places = metadata.tables[name].columns.keys(), map(place.format, count(1))
    values = [", ".join(islice(places, len(columns))) for _ in range(rows)]
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({'), ('.join(values)})"


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise the refusal for a database that does not respond."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
        if not _out_of_reach(error):
            raise
        # The address and the driver's words are for the log, not for the caller.
        cause = getattr(error, "orig", None) or error
        line = (str(cause).splitlines() or [type(cause).__name__])[0]
        LOG.error("The database %s does not respond, or is busy: %s", where, line)
        raise store_unavailable() from error


def _out_of_reach(error: Exception) -> bool:
    """Tell a database that fails from one that refuses what was asked of it."""
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    kinds = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return lost or isinstance(error, kinds) or state in READ_ONLY


def _sqlite(url: sa.URL, begin: str) -> sa.Engine:
    engine = sa.create_engine(
        url.set(drivername="sqlite+pysqlite"), connect_args={"timeout": PATIENCE},
        hide_parameters=True,  # they are personal, and errors go to the log
    )  # fmt: skip

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        _configure(connection)
        # Overwrite what is deleted: it may be a person who asked to be erased.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    _begin_with(engine, begin)
    return engine


def _sqlite_read_only(path: str) -> sa.Engine:
    """Return an engine that only reads a file, even on a medium that cannot be written to."""

    def connect() -> sqlite3.Connection:
        uri = Path(path).resolve().as_uri() + "?mode=ro"
        writable = os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)
        if not writable and not os.path.exists(f"{path}-wal"):
            uri += "&immutable=1"  # otherwise SQLite would write a file beside it
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, check_same_thread=False)
        _configure(connection)
        return connection

    engine = sa.create_engine(
        "sqlite+pysqlite://", creator=connect, poolclass=sa.pool.NullPool, hide_parameters=True
    )
    _begin_with(engine, "BEGIN")
    return engine


def _configure(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None  # we begin transactions, not the driver
    # A damaged byte must be found in its record, not end the reading.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")


def _begin_with(engine: sa.Engine, word: str) -> None:
    """Begin transactions with a statement; single statements need none."""

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        if not connection.get_execution_options().get("glance"):
            connection.exec_driver_sql(word)


def _keeps_log(path: str) -> bool:
    """Tell from a SQLite file's header if it has a write-ahead log."""
    try:
        with open(path, "rb") as file:
            return file.read(20)[18:20] == b"\x02\x02"
    except OSError:
        return False


def check_log(path: str) -> None:
    """Refuse a file that was copied from a database in use, without the log beside it.

    The last process to close a file folds the log into it, and its header says so.
    """
    ends = time.monotonic() + OPENING
    while _keeps_log(path) and not os.path.exists(f"{path}-wal"):
        # A process that opens or closes it leaves it so for an instant.
        if time.monotonic() < ends:
            time.sleep(0.05)
            continue
        raise StoreError(
            f"{path} lacks the log that belongs to it ({path}-wal): it was copied from a database "
            f"in use, and what was written last is missing. Use `likewise backup`. If you know "
            f"that it is whole: sqlite3 {path} 'PRAGMA journal_mode=DELETE'"
        )


def fold_log(path: str, seconds: float = 0.0) -> None:
    """Fold the log into the file, if nobody else uses it."""
    if not _keeps_log(path):
        return
    with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            return  # another process uses it, and folds the log when it closes the file


def keep_private(path: str) -> None:
    """Create a file for its owner only: it holds features and the seed. Journals get its mode."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(folder) and not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT, 0o600))


def _postgresql(url: sa.URL) -> sa.Engine:
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=5, max_overflow=10, hide_parameters=True,
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise StoreError(
            "PostgreSQL needs the driver psycopg: pip install 'likewise-service[postgres]'."
        ) from error
    _ping_after_a_pause(engine)
    return engine


# Seconds without use after which a connection is pinged. Pinging it each time would double the
# statements of a busy server; the farewell of a server that has ended is read before.
IDLE = 1.0


def _ping_after_a_pause(engine: sa.Engine) -> None:
    @sa.event.listens_for(engine, "checkin")
    def note(_: Any, record: Any) -> None:
        record.info["idle_since"] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def ping(connection: Any, record: Any, _: Any) -> None:
        moment = time.monotonic()
        if moment - record.info.get("idle_since", moment) <= IDLE and not _has_spoken(connection):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:  # the pool opens other connections
            raise sa.exc.InvalidatePoolError from error


def _has_spoken(connection: Any) -> bool:
    """Tell if the server has sent something unasked: its farewell."""
    with selectors.PollSelector() as selector:  # it takes fewer calls than the default one
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))


# The revision of the tables that this code reads and writes, the newest in ``migrations``; and the
# oldest that it can upgrade.
REVISION, OLDEST = 4, 4

metadata = sa.MetaData()


def _table(
    name: str, key: tuple[str, ...], texts: tuple[str, ...], *others: sa.schema.SchemaItem
) -> sa.Table:
    """A table of text columns and some ``others``."""
    keys = [sa.Column(column, sa.Text, primary_key=True) for column in key]
    plain = [sa.Column(column, sa.Text, nullable=False) for column in texts]
    return sa.Table(name, metadata, *keys, *plain, *others)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False)


# Records that are looked for by kind: appeals for their list, periods for what has expired.
SOUGHT = sa.text("kind = 'appeal-opened' OR kind = 'retention-set'")

# The ledgers. Bodies are stored as the canonical JSON that was hashed.
events = _table(
    "events", ("docket",), ("at", "kind", "body", "nonce", "hash", "actor"), _number("seq"),
    sa.Index(
        "events_sought", "docket", "kind", "seq", sqlite_where=SOUGHT, postgresql_where=SOUGHT
    ),
)  # fmt: skip

# The roots of all complete subtrees of 256, 65,536, … records (level 1, 2, …) of a ledger's tree.
subtrees = _table("subtrees", ("docket",), (), _number("level"), _number("number"), _bytes("root"))

# Features and reasons; rows are removed when somebody is erased.
payloads = _table("payloads", ("docket", "digest"), ("content",), _bytes("salt"))

secrets = _table("secrets", ("docket",), ("seed",), _bytes("salt"))

# Requests that carried an idempotency key, by a keyed hash of their content.
requests = _table("requests", ("docket", "key"), ("fingerprint", "round"))

tokens = _table(
    "tokens", ("id",), ("role", "name", "created"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("docket", sa.Text),
    sa.Column("revoked", sa.Text),
)  # fmt: skip

# ``id`` is what a ledger calls a sign-in; issuer, subject and provider_session are those of the
# organisation's sign-on, and empty for somebody who signed in with a token.
sessions = _table(
    "sessions", ("hash",),
    ("token", "csrf", "expires", "id", "issuer", "subject", "provider_session"),
)  # fmt: skip

# The installation's keys, which sign receipts; one of them is ``in_use``.
keys = _table(
    "keys", ("id",), ("public", "created"),
    _bytes("private"),
    sa.Column("in_use", sa.Text, unique=True),
    sa.Column("retired", sa.Text),
    sa.Column("compromised", sa.Text),
)  # fmt: skip
# Further seats of whoever signed in: the tokens that they added to a session.
seats = _table("seats", ("hash", "token"), ())

# What follows from the ledgers, in tables with indexes instead of in memory. A docket has one row:
# ``due`` is when to look at its panels, ``numbers`` are its running numbers as JSON.
dockets = _table(
    "dockets", ("docket",), (), sa.Column("due", sa.Text), sa.Column("numbers", sa.Text)
)

# Rounds that have closed, by number, with the time of their end as long as there is something to
# erase: ``people`` and ``words``. Ids of rounds and members are JSON strings here, which both
# databases can keep, whatever they hold.
rounds = _table(
    "rounds", ("docket",), ("id",), _number("number"),
    sa.Column("people", sa.Text),
    sa.Column("words", sa.Text),
    sa.Index("rounds_people", "docket", "people"),
    sa.Index("rounds_words", "docket", "words"),
)  # fmt: skip

# Reviews that have ended, by the member's own count; ``finished`` counts the rounds they reviewed.
reviews = _table(
    "reviews", ("docket", "id"), ("member", "round", "status", "ended"),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("again", sa.Text),
    sa.Column("finished", sa.BigInteger),
    sa.Index("reviews_status", "docket", "member", "status", "number"),
    sa.Index("reviews_finished", "docket", "member", "finished"),
)  # fmt: skip

# The policies of rounds, from which decisions are explained.
policies = _table("policies", ("docket", "round"), (), _bytes("content"))

# States to start from; features of people in open rounds are among them.
snapshots = _table("snapshots", ("docket",), ("hash",), _number("seq"), _bytes("content"))

# Beside the ledgers: what a member has looked at, and where they are told what awaits them.
marks = _table("marks", ("docket", "review", "pair"), ("mark", "at"))
contacts = _table("contacts", ("docket", "member"), ("email",), sa.Column("told", sa.Text))
# About the database as a whole: the manifest of a backup, languages that people chose.
meta = _table("meta", ("key",), ("value",))


# The round of a body, as an index has it. PostgreSQL cannot parse JSON with a zero character, nor
# index long text. Canonical JSON escapes quotation marks within text, so the pattern matches the
# key alone.
ROUND = {
    "sqlite": "(body -> '$.round')",
    "postgresql": r"""md5(substring(body from '"round":("(?:[^"\\]|\\.)*")'))""",
}
# Beyond the columns: indexes on expressions, and triggers that guard the ledger.
GUARDS = {
    "sqlite": (
        f"CREATE INDEX events_round ON events (docket, {ROUND['sqlite']}, seq)",
        "CREATE UNIQUE INDEX rounds_id ON rounds (docket, id)",
        "CREATE INDEX requests_round ON requests (docket, round)",
        *(
            f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
            f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            for action in ("UPDATE", "DELETE")
        ),
        # INSERT OR REPLACE would remove a row without asking the triggers above.
        "CREATE TRIGGER events_follow BEFORE INSERT ON events WHEN NEW.seq IS NOT "
        "(SELECT coalesce(max(seq), 0) + 1 FROM events WHERE docket = NEW.docket) "
        "BEGIN SELECT RAISE(ABORT, 'a record must follow the last one of its ledger'); END",
    ),
    "postgresql": (
        f"CREATE INDEX events_round ON events (docket, {ROUND['postgresql']}, seq)",
        "CREATE UNIQUE INDEX rounds_id ON rounds (docket, md5(id))",
        "CREATE INDEX requests_round ON requests (docket, md5(round))",
        "CREATE FUNCTION likewise_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'the ledger is append-only'; END$$",
        "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION likewise_append_only()",
        "CREATE FUNCTION likewise_follow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN IF NEW.seq IS DISTINCT FROM "
        "(SELECT coalesce(max(seq), 0) + 1 FROM events WHERE docket = NEW.docket) THEN "
        "RAISE EXCEPTION 'a record must follow the last one of its ledger'; END IF; "
        "RETURN NEW; END$$",
        "CREATE TRIGGER events_follow BEFORE INSERT ON events "
        "FOR EACH ROW EXECUTE FUNCTION likewise_follow()",
    ),
}


FOLDER = Path(__file__).parent / "migrations"


def stored_revision(connection: sa.Connection, where: str) -> int:
    """Return the revision of a database's tables; 0 if it has none yet."""
    tables = set(sa.inspect(connection).get_table_names())
    if not tables & set(metadata.tables):
        return 0
    if "alembic_version" not in tables:
        raise StoreError(
            f"{where} has no version of its tables; it is not a store of Likewise. Name another."
        )
    stored = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    if len(stored) != 1 or not stored[0].isdecimal():
        raise StoreError(
            f"{where} has tables of the unknown version {stored}; this Likewise reads revision "
            f"{REVISION}. Open it with the Likewise that wrote it."
        )
    return int(stored[0])


def check_revision(stored: int, where: str) -> None:
    """Refuse a store whose tables are older or newer than this code."""
    if not stored:
        raise StoreError(f"{where} holds no store of Likewise. Correct the address.")
    if stored != REVISION:
        remedy = "Open it with a newer Likewise."
        if stored < OLDEST:
            remedy = (
                "It is of a time before the first release. Keep it for the Likewise that wrote it, "
                "and begin a new one."
            )
        elif stored < REVISION:
            remedy = f"Copy it to be safe, then run: likewise upgrade --database {where}"
        raise StoreError(
            f"{where} has tables of revision {stored}; this Likewise needs revision {REVISION}. "
            f"{remedy}"
        )


def migrate(connection: sa.Connection, stored: int) -> None:
    """Make the tables, or bring them to the newest revision, within the caller's transaction."""
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext

    context, scripts = MigrationContext.configure(connection), _scripts()
    if not stored:
        metadata.create_all(connection)
        for statement in GUARDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        context.stamp(scripts, "head")
        return
    with Operations.context(context):
        for step in reversed(list(scripts.iterate_revisions("head", str(stored)))):
            step.module.upgrade()
            context.stamp(scripts, step.revision)


@cache
def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(FOLDER), version_locations=[str(FOLDER)])
