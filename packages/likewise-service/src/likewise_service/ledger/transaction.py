"""A docket's writer: its records become visible together, or not at all.

Several commands may share a transaction. Each runs within a savepoint of its own, so that one that
is refused leaves no trace and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise_client.tree import Tree, leaf_hash
from likewise_service.ledger import database as db
from likewise_service.ledger.records import Head, LedgerBroken, Payload, Record, canonical
from likewise_service.ledger.tiles import Log

T = TypeVar("T")
# Every command runs these, so they are in the driver's own words and need not be compiled.
_HEAD = "SELECT seq, hash FROM events WHERE docket = {} ORDER BY seq DESC LIMIT 1"
# The same, followed by requests by their keys.
_BEGINNING = (
    "SELECT seq, hash, '', '' FROM (SELECT seq, hash FROM events WHERE docket = {0} ORDER BY seq "
    "DESC LIMIT 1) AS head UNION ALL SELECT 0, key, fingerprint, round FROM requests "
    "WHERE docket = {0} AND key IN ({1})"
)
_REQUEST = "SELECT fingerprint, round FROM requests WHERE docket = {} AND key = {}"
PLACEHOLDERS = {"sqlite": "?", "postgresql": "%s"}
# The round that a body names, as the index has it.
_ROUND = {name: sa.literal_column(text, sa.Text) for name, text in db.ROUND.items()}
# The most values in one query.
PORTION = 500
# The tables whose new rows are gathered, as tuples in the order of their columns.
GATHERED = (
    db.events, db.subtrees, db.payloads, db.requests, db.rounds, db.reviews, db.policies,
)  # fmt: skip
Rows = dict[str, list[tuple[Any, ...]]]


def _no_rows() -> Rows:
    return {table.name: [] for table in GATHERED}


def json_text(text: str) -> str:
    """Return text as a JSON string, which both databases can keep, even with a zero character."""
    return canonical(text).decode()


def portions(values: Iterable[T]) -> Iterator[Sequence[T]]:
    listed = list(values)
    return (listed[start : start + PORTION] for start in range(0, len(listed), PORTION))


@dataclass(frozen=True)
class EndedReview:
    """A member's review of a round that has ended.

    ``number`` is the member's own count of reviews, ``finished`` their count of rounds reviewed;
    ``again`` is when they were asked for a second review.
    """

    id: str
    member: str
    number: int
    round: str
    again: str | None
    status: str
    ended: str
    finished: int | None

    @classmethod
    def read(cls, row: sa.Row[Any]) -> EndedReview:
        return cls(
            row.id, json.loads(row.member), row.number, json.loads(row.round), row.again,
            row.status, row.ended, row.finished,
        )  # fmt: skip


class LedgerView:
    """A docket's records, payloads and secret at one moment."""

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        self.connection, self.docket = connection, docket

    @cached_property
    def head(self) -> Head:
        return head_of(self.connection, self.docket)

    @cached_property
    def tree(self) -> Tree:
        return self.log().tree()

    def log(self, size: int | None = None) -> Log:
        """Return the stored Merkle tree of all records, or of the first ``size``."""
        return Log(self.head.seq if size is None else size, self._hashes)

    def _hashes(self, level: int, first: int, stop: int) -> list[bytes]:
        if level == 0:
            hashes = [leaf_hash(entry) for entry in self.entries(first, stop)]
        else:
            number, same = db.subtrees.c.number, db.subtrees.c.level == level
            query = self.select(db.subtrees.c.root, same, number >= first, number < stop)
            hashes = [bytes(root) for root in self.execute(query.order_by(number)).scalars()]
        if len(hashes) != stop - first:
            message = "the records and the tree over them were not written together."
            raise LedgerBroken(self.docket, first + 1, message)
        return hashes

    def entries(self, first: int, stop: int) -> list[bytes]:
        """Return entries of the tree: the hashes of the records above ``first``, up to ``stop``."""
        seq = db.events.c.seq
        query = self.select(db.events.c.hash, seq > first, seq <= stop).order_by(seq)
        return [bytes.fromhex(text) for text in self.execute(query).scalars()]

    def subtrees(self) -> dict[tuple[int, int], bytes]:
        rows = self.execute(self.select(db.subtrees))
        return {(row.level, row.number): bytes(row.root) for row in rows}

    def execute(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        return self.connection.execute(statement)

    def of(self, table: sa.Table) -> sa.ColumnElement[bool]:
        return table.c.docket == self.docket

    def select(self, column: Any, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
        """Return a query for the docket's rows of a table, or for one column of them."""
        table = column if isinstance(column, sa.Table) else column.table
        return sa.select(column).where(self.of(table), *conditions)

    def rows(
        self, after: int = 0, until: int | None = None, limit: int | None = None, kind: str = ""
    ) -> Iterable[sa.Row[Any]]:
        """Return the rows of records above ``after`` and up to ``until``, of one kind or of all."""
        query = self.select(db.events, db.events.c.seq > after)
        if until is not None:
            query = query.where(db.events.c.seq <= until)
        query = _of_kind(query, kind)
        result = self.execute(query.order_by(db.events.c.seq).limit(limit))
        # In partitions: fetching row after row would take most of the time.
        return (row for partition in result.partitions(PORTION) for row in partition)

    def records(
        self, after: int = 0, until: int | None = None, limit: int | None = None, kind: str = ""
    ) -> list[Record]:
        """Return the same as records, whose bodies have to be canonical JSON."""
        return [Record.of_row(self.docket, row) for row in self.rows(after, until, limit, kind)]

    def last_without(self, names: Sequence[str], until: int) -> Record:
        """Return the last record up to a number that is of none of these kinds."""
        seq, kind = db.events.c.seq, db.events.c.kind
        query = self.select(db.events, seq <= until, kind.not_in(names)).order_by(seq.desc())
        return Record.of_row(self.docket, self.execute(query.limit(1)).one())

    def records_of(
        self, round_ids: Iterable[str], until: int, kind: str = ""
    ) -> dict[str, list[Record]]:
        """Return the records of some rounds, of one kind or of all, up to a number, by round."""
        by_round: dict[str, list[Record]] = {}
        for portion in portions(round_ids):
            query = _of_kind(self.round_query(portion, until), kind)
            for row in self.execute(query):
                record = Record.of_row(self.docket, row)
                by_round.setdefault(str(record.body.get("round")), []).append(record)
        return by_round

    def round_query(self, round_ids: Iterable[str], until: int) -> sa.Select[Any]:
        """Return the query for the records of some rounds, in the words of the index."""
        name = _ROUND[self.connection.dialect.name]
        keys = [self.indexed(json_text(round_id)) for round_id in round_ids]
        seq = db.events.c.seq
        # In the order of the index: by number alone, SQLite would read all records instead.
        return self.select(db.events, name.in_(keys), seq <= until).order_by(name, seq)

    def indexed(self, text: str | sa.ColumnElement[str]) -> Any:
        """Return text as indexes have it: PostgreSQL cannot index long text, so there its hash."""
        return sa.func.md5(text) if self.connection.dialect.name == "postgresql" else text

    def payloads(self, digests: Iterable[str] | None = None) -> dict[str, Payload]:
        """Return the payloads with some digests, or all, as far as they are not erased."""
        queries = [query := self.select(db.payloads)]
        if digests is not None:
            queries = [query.where(db.payloads.c.digest.in_(p)) for p in portions(digests)]
        return {row.digest: _payload(row) for query in queries for row in self.execute(query)}

    def secret(self) -> tuple[int, bytes] | None:
        row = self.execute(self.select(db.secrets)).first()
        return None if row is None else (int(row.seed), bytes(row.salt))

    def round_numbers(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the numbers of closed rounds by id, without those that are not closed."""
        numbers: dict[str, int] = {}
        for portion in portions(map(json_text, ids)):
            names = [self.indexed(name) for name in portion]
            numbers |= self._numbers(self.indexed(db.rounds.c.id).in_(names))
        return numbers

    def rounds_after(self, number: int, limit: int) -> dict[str, int]:
        """Return the numbers of closed rounds above ``number`` by id, in order."""
        return self._numbers(db.rounds.c.number > number, order=db.rounds.c.number, limit=limit)

    def expired_rounds(self, people: str, words: str, after: int, limit: int) -> dict[str, int]:
        """Return the same for rounds that ended by then and keep ``people`` or ``words``."""
        due = (db.rounds.c.people <= people) | (db.rounds.c.words <= words)
        number = db.rounds.c.number + 0  # by the column itself SQLite would read all rounds
        return self._numbers(due, number > after, order=number, limit=limit)

    def _numbers(
        self, *conditions: sa.ColumnElement[bool], order: Any = None, limit: int | None = None
    ) -> dict[str, int]:
        query = self.select(db.rounds, *conditions).order_by(order).limit(limit)
        return {json.loads(row.id): row.number for row in self.execute(query)}

    def reviews(self, ids: Iterable[str]) -> list[EndedReview]:
        queries = [self.select(db.reviews, db.reviews.c.id.in_(p)) for p in portions(ids)]
        return [EndedReview.read(row) for query in queries for row in self.execute(query)]

    def ended_reviews(
        self, member: str, statuses: Sequence[str], before: int | None, limit: int, asked: int
    ) -> list[EndedReview]:
        """Return a member's ended reviews of some statuses among the first ``asked``.

        The latest come first; ``before`` is a number below which to look.
        """
        reviews, last = db.reviews.c, asked if before is None else min(asked, before - 1)
        same, listed = reviews.member == json_text(member), reviews.number <= last
        rows: list[sa.Row[Any]] = []
        for status in statuses:  # one at a time, as the index has them
            query = self.select(db.reviews, same, reviews.status == status, listed)
            rows += self.execute(query.order_by(reviews.number.desc()).limit(limit))
        return [EndedReview.read(row) for row in sorted(rows, key=lambda row: -row.number)[:limit]]

    def finished_rounds(self, member: str, first: int, last: int) -> list[str]:
        """Return the rounds from the ``first`` to the ``last`` that a member has reviewed."""
        reviews = db.reviews.c
        same, counted = reviews.member == json_text(member), reviews.finished.between(first, last)
        query = self.select(reviews.round, same, counted).order_by(reviews.finished)
        return [json.loads(name) for name in self.execute(query).scalars()]

    def policy(self, round_id: str) -> bytes | None:
        same = db.policies.c.round == json_text(round_id)
        content = self.execute(self.select(db.policies.c.content, same)).scalar()
        return None if content is None else bytes(content)

    def newest_snapshot(self) -> tuple[Tree, bytes] | None:
        """Return the newest snapshot that fits the ledger: its tree, and its content."""
        query = self.select(db.snapshots, db.snapshots.c.seq <= self.head.seq)
        for row in self.execute(query.order_by(db.snapshots.c.seq.desc())):
            tree = self.log(row.seq).tree()
            if tree.root.hex() == row.hash:
                return tree, bytes(row.content)
        return None


def _of_kind(query: sa.Select[Any], kind: str) -> sa.Select[Any]:
    """Return a query for records of a kind; it is no parameter, as an index has only some kinds."""
    return (
        query.where(db.events.c.kind == sa.literal(kind, literal_execute=True)) if kind else query
    )


def head_of(connection: sa.Connection, docket: str) -> Head:
    row = _first(connection, _HEAD, docket)
    return Head() if row is None else Head(row.seq, row.hash)


def _first(connection: sa.Connection, statement: str, *values: str) -> sa.Row[Any] | None:
    placeholder = PLACEHOLDERS[connection.dialect.name]
    text = statement.format(*(placeholder for _ in values))
    return connection.exec_driver_sql(text, values).first()


def _payload(row: Any) -> Payload:
    """Return a payload; one that cannot be read becomes one with another digest."""
    try:
        payload = Payload(bytes(row.salt), json.loads(row.content))
        payload.text  # noqa: B018 - cached here, so that what cannot be written is refused here
    except (ValueError, TypeError, RecursionError, LikewiseError):
        return Payload(b"", {"unreadable": ascii(row.content)})
    return payload


class Transaction(LedgerView):
    """A docket's only writer, until it ends.

    It gathers new rows and sends them in few statements, when the transaction ends or before
    anything is read. A savepoint begins in the database once something is sent within it.
    """

    head: Head
    tree: Tree

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        super().__init__(connection, docket)
        self._rows = _no_rows()
        self._due: str | None = None
        # Within a savepoint: the number of rows before it by table, and if the database has one.
        self._before: dict[str, int] | None = None
        self._begun, self._stack = False, ExitStack()
        # Requests that were looked up together, by key; None where there is none.
        self._earlier: dict[str, tuple[str, str] | None] = {}

    def look_up(self, keys: Sequence[str]) -> None:
        """Read the head and the earlier requests with some keys by one query, for later use."""
        place = PLACEHOLDERS[self.connection.dialect.name]
        text = _BEGINNING.format(place, ", ".join(place for _ in keys))
        self.head, self._earlier = Head(), dict.fromkeys(keys)
        for seq, name, fingerprint, round_id in self.connection.exec_driver_sql(
            text, (self.docket, self.docket, *keys)
        ):
            if seq:
                self.head = Head(seq, name)
            else:
                self._earlier[name] = fingerprint, round_id

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Keep all that the block writes, or nothing if it raises."""
        self._before = {table: len(rows) for table, rows in self._rows.items()}
        head, tree = self.head, self.tree
        try:
            with self._stack:
                yield
                if self._begun:
                    self.flush()
        except BaseException:
            for table, before in self._before.items():
                del self._rows[table][before:]
            self.head, self.tree = head, tree
            raise
        finally:
            self._before, self._begun = None, False

    def execute(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        """Execute a query, which sees all that was written before it."""
        self.flush()
        return super().execute(statement)

    def _change(self, statement: sa.Executable) -> None:
        self.flush()
        self._begin_savepoint()
        super().execute(statement)

    def _begin_savepoint(self) -> None:
        if self._before is not None and not self._begun:
            self._stack.enter_context(self.connection.begin_nested())
            self._begun = True

    def flush(self) -> None:
        rows, before, self._rows = self._rows, self._before, _no_rows()
        if before is None:
            self._insert(rows)
            return
        self._insert({table: rows[table][:number] for table, number in before.items()})
        self._before = dict.fromkeys(before, 0)
        after = {table: rows[table][number:] for table, number in before.items()}
        if any(after.values()):
            self._begin_savepoint()
            self._insert(after)

    def _insert(self, rows: Rows, last: tuple[str, tuple[Any, ...]] | None = None) -> None:
        """Send rows, and another statement after them, to the database together."""
        statements = [(table, values) for table, values in rows.items() if values]
        if statements or last is not None:
            with db.pipelined(self.connection) as driver:
                for table, values in statements:
                    db.insert(driver, table, values)
                if last is not None:
                    driver.cursor().execute(*last)

    def append(self, kind: str, body: Mapping[str, Any], at: str, actor: str) -> Record:
        record = Record.following(self.docket, self.head.seq, at, kind, body, actor)
        self.tree = self.tree.plus(record.entry)
        self._rows["events"].append((
            self.docket, at, kind, record.body_text, record.nonce, record.hash, actor, record.seq,
        ))  # fmt: skip
        self._rows["subtrees"] += [(self.docket, *subtree) for subtree in self.tree.filled]
        self.head = record.head
        return record

    def keep(self, payload: Payload) -> str:
        """Keep a payload beside the ledger; return its digest for the ledger."""
        self._rows["payloads"].append((self.docket, payload.digest, payload.text, payload.salt))
        return payload.digest

    def has_payload(self, digest: str) -> bool:
        if any(row[1] == digest for row in self._rows["payloads"]):
            return True
        query = self.select(db.payloads.c.digest, db.payloads.c.digest == digest)
        return self.connection.execute(query).first() is not None

    def erase(self, digest: str) -> None:
        """Remove a payload, salt and content, for good."""
        same = db.payloads.c.digest == digest
        self._change(db.payloads.delete().where(self.of(db.payloads), same))

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        self._rows["requests"].append((self.docket, key, fingerprint, round_id))
        self._earlier.pop(key, None)

    def request(self, key: str) -> tuple[str, str] | None:
        for _, other, fingerprint, round_id in self._rows["requests"]:
            if other == key:
                return fingerprint, round_id
        if key in self._earlier:
            return self._earlier[key]
        row = _first(self.connection, _REQUEST, self.docket, key)
        return None if row is None else (row.fingerprint, row.round)

    def forget_fingerprints(self, round_id: str) -> None:
        """Keep the keys of a round's requests, but no hash of their content."""
        same = self.indexed(db.requests.c.round) == self.indexed(round_id)
        self._change(db.requests.update().where(self.of(db.requests), same).values(fingerprint=""))
        self._earlier.clear()

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """Keep the docket's seed, to which its first record only commits."""
        self._change(db.secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt))

    def list_round(self, number: int, round_id: str, closed: str) -> None:
        self._rows["rounds"].append((self.docket, json_text(round_id), number, closed, closed))

    def keeps(self, number: int, what: Literal["people", "words"], closed: str | None) -> None:
        """Note that a closed round keeps something to erase, with its end, or nothing any more."""
        same = self.of(db.rounds) & (db.rounds.c.number == number)
        self._change(db.rounds.update().where(same).values({what: closed}))

    def keep_policy(self, round_id: str, content: bytes) -> None:
        self._rows["policies"].append((self.docket, json_text(round_id), content))

    def list_review(self, review: EndedReview) -> None:
        self._rows["reviews"].append((
            self.docket, review.id, json_text(review.member), json_text(review.round),
            review.status, review.ended, review.number, review.again, review.finished,
        ))  # fmt: skip

    def look_at(self, due: str | None) -> None:
        """Have the docket's panels looked at by then; :meth:`keep_numbers` writes it."""
        if due is not None:
            self._due = due if self._due is None else min(due, self._due)

    def set_due(self, due: str | None) -> None:
        """Set the next time at which to look at the panels, whatever it was before."""
        self._due = None
        self._change(db.dockets.update().where(self.of(db.dockets)).values(due=due))

    def keep_numbers(self, numbers: Mapping[str, float]) -> None:
        """Write, last of all, the running numbers and the next time to look at the panels."""
        statement = _DOCKET_ROW.format(PLACEHOLDERS[self.connection.dialect.name])
        values = (self.docket, self._due, json.dumps(numbers))
        rows, self._rows = self._rows, _no_rows()
        self._insert(rows, (statement, values))
        self._due = None

    def keep_snapshot(self, tree: Tree, content: bytes) -> None:
        """Write a state to start from, and keep the one before it but no older ones.

        It replaces one of the same record that another process may have written.
        """
        table, newest = db.snapshots, sa.select(sa.func.max(db.snapshots.c.seq))
        older = table.c.seq < newest.where(self.of(table)).scalar_subquery()
        self._change(table.delete().where(self.of(table), older | (table.c.seq == tree.size)))
        row = {"docket": self.docket, "seq": tree.size, "hash": tree.root.hex(), "content": content}
        self._change(db.snapshots.insert().values(row))

    def drop_snapshots(self) -> None:
        """Remove all states to start from: somebody in them is erased."""
        self._change(db.snapshots.delete().where(self.of(db.snapshots)))


# An earlier date replaces a later one.
_DOCKET_ROW = (
    "INSERT INTO dockets (docket, due, numbers) VALUES ({0}, {0}, {0}) ON CONFLICT (docket) DO "
    "UPDATE SET numbers = excluded.numbers, "
    "due = CASE WHEN dockets.due IS NULL OR dockets.due > excluded.due "
    "THEN COALESCE(excluded.due, dockets.due) ELSE dockets.due END"
)
