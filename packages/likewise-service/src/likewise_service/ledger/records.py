"""Records, and the hash by which each is an entry of the ledger's Merkle tree.

    hash = SHA-256 of the canonical JSON of {actor, at, body, docket, kind, nonce, seq}

The nonce is random, so that nobody can guess what a hash stands for: somebody who holds two
receipts learns how many records lie between them, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from likewise.errors import LikewiseError

# Returns text as a JSON string; refuses everything else.
quoted: Callable[[str], str] = json.encoder.encode_basestring
# Every record passes here, so the compiled encoder is made once: sorted keys, no spaces, no NaN,
# and no check for cycles, which fail as too deep.
_make_encoder: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined] # CPython has it
_encode = _make_encoder(
    None, json.JSONEncoder().default, quoted, None, ":", ",", True, False, False
)


def canonical_text(value: Any) -> str:
    """Return JSON with sorted keys, no spaces and no NaN, or raise the encoder's own errors."""
    return "".join(_encode(value, 0))


def canonical(value: Any) -> bytes:
    """Return canonical JSON in UTF-8, or refuse a value that cannot be written so.

    >>> canonical({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    try:
        return canonical_text(value).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise LikewiseError(
            f"What is to be recorded cannot be written as JSON ({error}). Numbers must be finite, "
            f"and text must be text that can be written to a file."
        ) from error


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FORMAT = "likewise-ledger/3"


class LedgerBroken(LikewiseError):  # noqa: N818 - the sentence reads better
    """A ledger that was changed; ``seq`` is the first record that does not hold."""

    def __init__(self, docket: str, seq: int, why: str) -> None:
        super().__init__(f"The ledger of {docket!r} does not hold at record {seq}: {why}")
        self.docket, self.seq, self.why = docket, seq, why


@dataclass(frozen=True)
class Head:
    """The last record of a ledger, by number and hash; 0 and nothing before the first."""

    seq: int = 0
    hash: str = ""


@dataclass(frozen=True)
class Record:
    """One line of a docket's ledger; ``actor`` says who acted."""

    docket: str
    seq: int
    at: str
    kind: str
    body: Mapping[str, Any]
    nonce: str
    hash: str
    actor: str

    @classmethod
    def following(
        cls, docket: str, seq: int, at: str, kind: str, body: Mapping[str, Any], actor: str
    ) -> Record:
        """Return the record after number ``seq``; its body is plain JSON."""
        text, nonce = canonical(body).decode(), os.urandom(16).hex()
        record = cls.of_text(docket, seq + 1, at, kind, body, text, nonce, "", actor)
        record.__dict__["hash"] = record.content_hash
        return record

    @classmethod
    def of_text(
        cls, docket: str, seq: int, at: str, kind: str, body: Mapping[str, Any], body_text: str,
        nonce: str, hash: str, actor: str,
    ) -> Record:  # fmt: skip
        """Return a record without computing its body's canonical JSON again.

        A ledger has millions of records, so each is made in one step instead of one a field.
        """
        record = object.__new__(cls)
        values = {
            "docket": docket, "seq": seq, "at": at, "kind": kind, "body": body,
            "body_text": body_text, "nonce": nonce, "hash": hash, "actor": actor,
        }  # fmt: skip
        object.__setattr__(record, "__dict__", values)
        return record

    @classmethod
    def of_row(cls, docket: str, row: Any) -> Record:
        """Return a row of ``events`` as a record; refuse one that we would write in other bytes."""
        name, at, kind, text, nonce, hash_, actor, seq = row
        try:
            body = json.loads(text)
            exact = isinstance(body, dict) and canonical_text(body) == text
            "".join((text, name, at, kind, nonce, hash_, actor)).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise LedgerBroken(docket, seq, f"it cannot be read ({error}).") from error
        if not exact:
            raise LedgerBroken(docket, seq, "its body is not canonical JSON.")
        return cls.of_text(name, seq, at, kind, body, text, nonce, hash_, actor)

    @property
    def head(self) -> Head:
        return Head(self.seq, self.hash)

    @cached_property
    def body_text(self) -> str:
        return canonical(self.body).decode()

    @property
    def content_hash(self) -> str:
        # The canonical JSON of all but the hash; the body's own text is not written again.
        seq = self.seq if type(self.seq) is int else canonical(self.seq).decode()
        content = (
            f'{{"actor":{quoted(self.actor)},"at":{quoted(self.at)},"body":{self.body_text},'
            f'"docket":{quoted(self.docket)},"kind":{quoted(self.kind)},'
            f'"nonce":{quoted(self.nonce)},"seq":{seq}}}'
        )
        return sha256(content.encode())

    @property
    def entry(self) -> bytes:
        try:
            return bytes.fromhex(self.hash)
        except (ValueError, TypeError):
            return b""  # the record was changed, as its hash is none

    @cached_property
    def intact(self) -> bool:
        return self.hash == self.content_hash

    def to_json(self) -> dict[str, Any]:
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def line(self) -> bytes:
        """Return the line of an export, without its end."""
        return canonical(self.to_json())


def fault_of(docket: str, record: Record, seq: int) -> tuple[str, str] | None:
    """Return how a record is not the one of that number, and what it should be; None if it is."""
    if record.seq != seq:
        return f"The record here has the number {record.seq}.", f"number {seq}."
    if record.docket != docket:
        return f"It is a record of {record.docket!r}.", f"one of {docket!r}."
    if not record.intact:
        return (
            f"Its content was changed: it has the hash {record.content_hash[:16]}….",
            f"{str(record.hash)[:16]}…, the hash that it carries.",
        )
    return None


def consecutive(docket: str, records: Iterable[Record], after: int = 0) -> Iterator[Record]:
    """Yield the same records; refuse one that is not the next, or was changed."""
    for seq, record in enumerate(records, start=after + 1):
        if fault := fault_of(docket, record, seq):
            raise LedgerBroken(docket, seq, f"{fault[0]} It should be: {fault[1]}")
        yield record


def parse_line(docket: str, number: int, line: bytes) -> Record:
    """Parse a line of an export, byte for byte; ``number`` is the line's and the record's."""
    text = line.removesuffix(b"\n")
    try:
        record = Record(**json.loads(text))
        exact = record.line() == text
    except (ValueError, TypeError, RecursionError, LikewiseError) as error:
        raise LedgerBroken(docket, number, f"its line cannot be read ({error}).") from error
    names = ("docket", "at", "kind", "nonce", "hash", "actor")
    texts = all(isinstance(getattr(record, name), str) for name in names)
    if not (exact and texts and type(record.seq) is int and isinstance(record.body, dict)):
        raise LedgerBroken(docket, number, "its line is not canonical JSON of a record.")
    return record


@dataclass(frozen=True)
class Payload:
    """Something personal, with the salt of its digest."""

    salt: bytes
    content: Mapping[str, Any]

    @classmethod
    def fresh(cls, content: Mapping[str, Any]) -> Payload:
        return cls(secrets.token_bytes(16), content)

    @cached_property
    def text(self) -> str:
        return canonical(self.content).decode()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.salt + self.text.encode()).hexdigest()


def person_payload(features: Sequence[float]) -> Payload:
    """Return a person's encoded features as a payload; a missing value is null."""
    plain = [None if math.isnan(value) else float(value) for value in features]
    return Payload.fresh({"features": plain})


def words_in(payloads: Mapping[str, Payload], digest: str | None) -> str | None:
    """Return the words under a digest, or None if there are none, or they were erased."""
    payload = payloads.get(digest or "")
    return None if payload is None else payload.content.get("text")


def features_of(content: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in content["features"])
