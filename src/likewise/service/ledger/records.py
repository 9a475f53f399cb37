"""The ledger: records that each carry the hash of the one before.

    hash = SHA-256 of the canonical JSON of {docket, seq, at, kind, body, nonce, prev, actor}

``actor`` says who acted; records of before that was recorded have none, and are hashed without it.
The nonce is random, so that nobody can find out by guessing what a hash stands for: an auditor who
holds two receipts learns how many records lie between them, and nothing else.

Whoever holds an old head, as every client and auditor does, can tell whether anything up to it was
rewritten, even by somebody who rehashed all that follows.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import canonical, quoted, sha256

__all__ = [
    "FORMAT",
    "GENESIS",
    "Head",
    "LedgerBroken",
    "Receipt",
    "Record",
    "chained",
    "parse_line",
    "parse_lines",
]

FORMAT = "likewise-ledger/1"
GENESIS = "0" * 64
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_AT = re.compile(r"[0-9]{8}T[0-9]{6}Z\Z")
_KEY = re.compile(r"[0-9a-f]{16}\Z")


class LedgerBroken(LikewiseError):  # noqa: N818 - the sentence reads better
    """A ledger that was changed; ``seq`` is the first record that does not hold."""

    def __init__(self, docket: str, seq: int, why: str) -> None:
        super().__init__(f"The ledger of {docket!r} does not hold at record {seq}: {why}")
        self.docket, self.seq, self.why = docket, seq, why


@dataclass(frozen=True)
class Head:
    """The last record of a ledger, by number and hash; before the first, 0 and zeros."""

    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True)
class Receipt:
    """A ledger's head as somebody was given it: proof of all that was recorded by then.

    One that is signed says when it was given (``at``), by which ``key``, and proves that to
    others. Two receipts are equal if they are of the same head.

    >>> str(Receipt("loans", Head(3, "ab" * 32)))[:24]
    'likewise-receipt/1:loans'
    """

    docket: str
    head: Head
    at: str = field(default="", compare=False)
    key: str = field(default="", compare=False)
    signature: str = field(default="", compare=False)

    @property
    def statement(self) -> str:
        """The words that are signed."""
        return f"{self.docket}:{self.head.seq}:{self.head.hash}:{self.at}:{self.key}"

    def __str__(self) -> str:
        if self.signature:
            return f"likewise-receipt/2:{self.statement}:{self.signature}"
        return f"likewise-receipt/1:{self.docket}:{self.head.seq}:{self.head.hash}"

    @classmethod
    def parse(cls, text: str) -> Receipt:
        """Read a receipt as it was printed."""
        version, *rest = text.strip().split(":")
        wanted = {"likewise-receipt/1": 3, "likewise-receipt/2": 6}.get(version)
        well_formed = wanted == len(rest) and rest[1].isascii() and rest[1].isdecimal()
        if not well_formed or len(rest[1]) > 40 or not _HASH.match(rest[2]):
            raise _no_receipt(text)
        if len(rest) == 6 and not (_AT.match(rest[3]) and _KEY.match(rest[4]) and rest[5]):
            raise _no_receipt(text)
        return cls(rest[0], Head(int(rest[1]), rest[2]), *rest[3:])


def _no_receipt(text: str) -> LikewiseError:
    return LikewiseError(
        f"{text!r} is not a receipt; one reads likewise-receipt/2:DOCKET:NUMBER:HASH:TIME:KEY:"
        f"SIGNATURE, or likewise-receipt/1:DOCKET:NUMBER:HASH if it was not signed. Copy the whole "
        f"line."
    )


@dataclass(frozen=True)
class Record:
    """One line of a docket's ledger."""

    docket: str
    seq: int
    at: str
    kind: str
    body: Mapping[str, Any]
    nonce: str
    prev: str
    hash: str
    actor: str = ""

    @classmethod
    def following(
        cls, docket: str, head: Head, at: str, kind: str, body: Mapping[str, Any], actor: str = ""
    ) -> Record:
        """The record that comes after a head."""
        text, nonce = canonical(body).decode(), secrets.token_hex(16)
        plain = json.loads(text)
        made = cls.of_text(docket, head.seq + 1, at, kind, plain, text, nonce, head.hash, "", actor)
        made.__dict__["hash"] = made.content_hash
        return made

    @classmethod
    def of_text(
        cls, docket: str, seq: int, at: str, kind: str, body: Mapping[str, Any], body_text: str,
        nonce: str, prev: str, hash: str, actor: str,
    ) -> Record:  # fmt: skip
        """A record whose body is known to be that of a text; it is not written a second time.

        A ledger has millions of records, so they are made in one step instead of one a field.
        """
        made = object.__new__(cls)
        values = {
            "docket": docket, "seq": seq, "at": at, "kind": kind, "body": body,
            "body_text": body_text, "nonce": nonce, "prev": prev, "hash": hash, "actor": actor,
        }  # fmt: skip
        object.__setattr__(made, "__dict__", values)
        return made

    @property
    def head(self) -> Head:
        """The head of a ledger that ends here."""
        return Head(self.seq, self.hash)

    @cached_property
    def body_text(self) -> str:
        """The body as it is hashed and stored."""
        return canonical(self.body).decode()

    @property
    def content_hash(self) -> str:
        """The hash that the record should carry."""
        # The canonical JSON of all but the hash, in which the body's own text stands as it is.
        seq = self.seq if type(self.seq) is int else canonical(self.seq).decode()
        actor = f'"actor":{quoted(self.actor)},' if self.actor else ""
        content = (
            f'{{{actor}"at":{quoted(self.at)},"body":{self.body_text},'
            f'"docket":{quoted(self.docket)},"kind":{quoted(self.kind)},'
            f'"nonce":{quoted(self.nonce)},"prev":{quoted(self.prev)},"seq":{seq}}}'
        )
        return sha256(content.encode())

    @cached_property
    def intact(self) -> bool:
        """Tell if the record carries the hash of its content; several look, one computes."""
        return self.hash == self.content_hash

    def to_json(self) -> dict[str, Any]:
        """The record as a line of an export has it."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        if not self.actor:
            del plain["actor"]
        return plain

    def line(self) -> bytes:
        """The line of an export, without its end."""
        return canonical(self.to_json())


def chained(
    docket: str,
    records: Iterable[Record],
    after: Head = Head(),  # noqa: B008 - a frozen value
) -> Iterator[Record]:
    """The same records, each checked as it passes: number, docket, link and hash."""
    head = after
    for record in records:
        place = head.seq + 1
        if record.seq != place:
            raise LedgerBroken(docket, place, f"the next record has the number {record.seq}.")
        if record.docket != docket:
            raise LedgerBroken(docket, place, f"it is a record of {record.docket!r}.")
        if record.prev != head.hash:
            raise LedgerBroken(docket, place, "it does not follow the record before it.")
        if not record.intact:
            raise LedgerBroken(docket, place, "its content does not have the hash it carries.")
        head = record.head
        yield record


def parse_lines(docket: str, lines: Iterable[bytes]) -> Iterator[Record]:
    """Records of an export, line by line; every byte has to be what was written."""
    for number, line in enumerate(lines, start=1):
        yield parse_line(docket, number, line)


def parse_line(docket: str, number: int, line: bytes) -> Record:
    """The record of one line; the line's number is what the record's should be."""
    text = line.removesuffix(b"\n")
    try:
        record = Record(**json.loads(text))
        exact = record.line() == text
    except (ValueError, TypeError, RecursionError, LikewiseError) as error:
        raise LedgerBroken(docket, number, f"its line cannot be read ({error}).") from error
    texts = (record.nonce, record.prev, record.hash, record.actor)
    words = (record.docket, record.at, record.kind, *texts)
    plain = type(record.seq) is int and isinstance(record.body, dict)
    if not exact or not plain or not all(isinstance(word, str) for word in words):
        raise LedgerBroken(docket, number, "its line is not written as records are.")
    return record
