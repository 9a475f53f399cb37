"""One docket's rows: a view of them, and a transaction that adds to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, LedgerBroken, Record, canonical
from likewise.service.ledger.schema import events, payloads, requests, secrets

__all__ = ["LedgerView", "Transaction", "read_row"]

_INSERT_EVENTS, _INSERT_PAYLOADS = events.insert(), payloads.insert()
_HEAD = (
    sa.select(events.c.seq, events.c.hash)
    .where(events.c.docket == sa.bindparam("docket"))
    .order_by(events.c.seq.desc())
    .limit(1)
)
# So many digests are asked for at once.
_PORTION = 500


class LedgerView:
    """A docket's records, payloads and secret, at one moment."""

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        self.connection, self.docket = connection, docket

    @cached_property
    def head(self) -> Head:
        """The docket's last record."""
        row = self.connection.execute(_HEAD, {"docket": self.docket}).first()
        return Head() if row is None else Head(row.seq, row.hash)

    def rows(self, after: int = 0, until: int | None = None) -> Iterable[sa.Row[Any]]:
        """The rows of records with numbers above one and up to another."""
        query = sa.select(events).where(events.c.docket == self.docket, events.c.seq > after)
        if until is not None:
            query = query.where(events.c.seq <= until)
        return self.connection.execute(query.order_by(events.c.seq))

    def records(self, after: int = 0, until: int | None = None) -> list[Record]:
        """The same as records; their bodies have to be written exactly as records are."""
        return [read_row(self.docket, row) for row in self.rows(after, until)]

    def payloads(self, digests: Iterable[str] | None = None) -> dict[str, Payload]:
        """Payloads by digest, those that have not been erased; without digests, all of them."""
        query = sa.select(payloads).where(payloads.c.docket == self.docket)
        if digests is None:
            return {row.digest: _payload(row) for row in self.connection.execute(query)}
        wanted, found = list(digests), dict[str, Payload]()
        for start in range(0, len(wanted), _PORTION):
            some = query.where(payloads.c.digest.in_(wanted[start : start + _PORTION]))
            found.update({row.digest: _payload(row) for row in self.connection.execute(some)})
        return found

    def secret(self) -> tuple[int, bytes] | None:
        """The docket's seed and the salt of its commitment."""
        query = sa.select(secrets).where(secrets.c.docket == self.docket)
        row = self.connection.execute(query).first()
        return None if row is None else (int(row.seed), bytes(row.salt))

    def request(self, key: str) -> tuple[str, str] | None:
        """The fingerprint and the round of an earlier request with that key."""
        mine = (requests.c.docket == self.docket) & (requests.c.key == key)
        row = self.connection.execute(sa.select(requests).where(mine)).first()
        return None if row is None else (row.fingerprint, row.round)


class Transaction(LedgerView):
    """A docket's only writer: all that is added here becomes visible together, or not at all."""

    def __init__(self, connection: sa.Connection, docket: str) -> None:
        super().__init__(connection, docket)
        self._records: list[Record] = []
        self._payloads: list[dict[str, Any]] = []

    def append(self, kind: str, body: Mapping[str, Any], at: str, actor: str = "") -> Record:
        """One more record."""
        record = Record.following(self.docket, self.head, at, kind, body, actor)
        self._records.append(record)
        self.head = record.head
        return record

    def flush(self) -> None:
        """Give to the database what has been gathered, in as few words as possible."""
        rows = [{**r.to_json(), "body": r.body_text, "actor": r.actor} for r in self._records]
        for statement, some in ((_INSERT_EVENTS, rows), (_INSERT_PAYLOADS, self._payloads)):
            if some:
                # One row alone takes one round trip; several take a pipeline.
                self.connection.execute(statement, some if len(some) > 1 else some[0])
        self._records, self._payloads = [], []

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for the ledger."""
        digest = payload.digest
        self._payloads.append({
            "docket": self.docket, "digest": digest, "salt": payload.salt,
            "content": canonical(payload.content).decode(),
        })  # fmt: skip
        return digest

    def erase(self, digest: str) -> None:
        """Remove salt and content for good."""
        self.flush()
        mine = (payloads.c.docket == self.docket) & (payloads.c.digest == digest)
        self.connection.execute(payloads.delete().where(mine))

    def keep_secret(self, seed: int, salt: bytes) -> None:
        """The docket's seed, which its first record only commits to."""
        self.connection.execute(
            secrets.insert().values(docket=self.docket, seed=str(seed), salt=salt)
        )

    def keep_request(self, key: str, fingerprint: str, round_id: str) -> None:
        """Remember a request, so that it can be repeated safely."""
        row = {"docket": self.docket, "key": key, "fingerprint": fingerprint, "round": round_id}
        self.connection.execute(requests.insert().values(row))

    def forget_fingerprints(self, round_id: str) -> None:
        """Requests of a round keep their key, but nothing that depends on who arrived."""
        mine = (requests.c.docket == self.docket) & (requests.c.round == round_id)
        self.connection.execute(requests.update().where(mine).values(fingerprint=""))


def read_row(docket: str, row: Any) -> Record:
    """A row as a record, once every byte of it is what would have been written."""
    try:
        body = json.loads(row.body)
        texts = (row.nonce, row.prev, row.hash, row.actor)
        record = Record(row.docket, row.seq, row.at, row.kind, body, *texts)
        exact = isinstance(body, dict) and record.body_text == row.body
        "".join((row.docket, row.at, row.kind, *texts)).encode()
    except (ValueError, TypeError, RecursionError, LikewiseError) as error:
        raise LedgerBroken(docket, row.seq, f"it cannot be read ({error}).") from error
    if not exact:
        raise LedgerBroken(docket, row.seq, "its body is not written as bodies are.")
    return record


def _payload(row: Any) -> Payload:
    """A payload; one that cannot be read becomes one that does not have its digest."""
    try:
        content = json.loads(row.content)
        canonical(content)
        return Payload(bytes(row.salt), content)
    except (ValueError, TypeError, RecursionError, LikewiseError):
        return Payload(b"", {"unreadable": ascii(row.content)})
