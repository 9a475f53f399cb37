"""One transaction on one docket, and what is asked of the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.errors import LedgerBroken
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, Record, canonical
from likewise.service.ledger.schema import events, payloads, requests, secrets

__all__ = ["Transaction", "head_of", "payloads_of", "records_of", "secret_of"]

_INSERT_EVENTS, _INSERT_PAYLOADS = events.insert(), payloads.insert()
_HEAD = (
    sa.select(events.c.seq, events.c.hash)
    .where(events.c.docket == sa.bindparam("docket"))
    .order_by(events.c.seq.desc())
    .limit(1)
)


class Transaction:
    """What is appended and kept here becomes visible together, at the end of the transaction."""

    def __init__(self, connection: sa.Connection, docket: str, head: Head) -> None:
        self.connection, self.docket, self.head = connection, docket, head
        self._records: list[Record] = []
        self._payloads: list[dict[str, Any]] = []

    def append(self, kind: str, body: Mapping[str, Any], at: str) -> Record:
        """One more record."""
        return self.add(Record.following(self.docket, self.head, at, kind, body))

    def add(self, record: Record) -> Record:
        """One more record, which has to follow the last one."""
        self._records.append(record)
        self.head = record.head
        return record

    def flush(self) -> None:
        """Give to the database what has been gathered, in as few words as possible."""
        rows = [{**r.to_json(), "body": canonical(r.body).decode()} for r in self._records]
        for statement, some in ((_INSERT_EVENTS, rows), (_INSERT_PAYLOADS, self._payloads)):
            if some:
                # One row alone takes one round trip; several take a pipeline.
                self.connection.execute(statement, some if len(some) > 1 else some[0])
        self._records, self._payloads = [], []

    def records(self, after: int) -> list[Record]:
        """What was appended after a record."""
        self.flush()
        return records_of(self.connection, self.docket, after, None)

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for the ledger."""
        digest = payload.digest
        self._payloads.append({
            "docket": self.docket, "digest": digest, "salt": payload.salt,
            "content": canonical(payload.content).decode(),
        })  # fmt: skip
        return digest

    def payloads(self, digests: Iterable[str]) -> dict[str, Payload]:
        """Those that have not been erased."""
        self.flush()
        return payloads_of(self.connection, self.docket, digests)

    def erase(self, digest: str) -> None:
        """Remove salt and content for good."""
        self.flush()
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

    def forget_fingerprints(self, round_id: str) -> None:
        """Requests of a round keep their key, but nothing that depends on who arrived."""
        mine = (requests.c.docket == self.docket) & (requests.c.round == round_id)
        self.connection.execute(requests.update().where(mine).values(fingerprint=""))


def head_of(connection: sa.Connection, docket: str) -> Head:
    """A docket's last record."""
    row = connection.execute(_HEAD, {"docket": docket}).first()
    return Head() if row is None else Head(row.seq, row.hash)


def records_of(
    connection: sa.Connection, docket: str, after: int, until: int | None
) -> list[Record]:
    """A docket's records; their bodies have to be written exactly as records are."""
    query = sa.select(events).where(events.c.docket == docket, events.c.seq > after)
    if until is not None:
        query = query.where(events.c.seq <= until)
    return [read_row(docket, row) for row in connection.execute(query.order_by(events.c.seq))]


def read_row(docket: str, row: Any) -> Record:
    """A row as a record, once every byte of it is what would have been written."""
    try:
        body = json.loads(row.body)
        exact = isinstance(body, dict) and canonical(body).decode() == row.body
        "".join((row.docket, row.at, row.kind, row.nonce, row.prev, row.hash)).encode()
    except (ValueError, TypeError, RecursionError, LikewiseError) as error:
        raise LedgerBroken(docket, row.seq, f"it cannot be read ({error}).") from error
    if not exact:
        raise LedgerBroken(docket, row.seq, "its body is not written as bodies are.")
    return Record(row.docket, row.seq, row.at, row.kind, body, row.nonce, row.prev, row.hash)


def payloads_of(
    connection: sa.Connection, docket: str, digests: Iterable[str] | None
) -> dict[str, Payload]:
    """Payloads by digest; without digests, all of a docket."""
    query = sa.select(payloads).where(payloads.c.docket == docket)
    if digests is None:
        return {row.digest: _payload(row) for row in connection.execute(query)}
    wanted = list(digests)
    found: dict[str, Payload] = {}
    for start in range(0, len(wanted), 500):
        some = query.where(payloads.c.digest.in_(wanted[start : start + 500]))
        found.update({row.digest: _payload(row) for row in connection.execute(some)})
    return found


def _payload(row: Any) -> Payload:
    """A payload that cannot be read becomes one that does not have its digest."""
    try:
        content = json.loads(row.content)
        canonical(content)
        return Payload(bytes(row.salt), content)
    except (ValueError, TypeError, RecursionError, LikewiseError):
        return Payload(b"", {"unreadable": ascii(row.content)})


def secret_of(connection: sa.Connection, docket: str) -> tuple[int, bytes] | None:
    """A docket's seed and the salt of its commitment."""
    row = connection.execute(sa.select(secrets).where(secrets.c.docket == docket)).first()
    return None if row is None else (int(row.seed), bytes(row.salt))
