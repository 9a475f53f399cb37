"""Canonical JSON: one text for a value, and rows that hold another are refused."""

from __future__ import annotations

import hmac
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import LikewiseError
from likewise_service.dockets.seating import ReviewKey, Seat
from likewise_service.ledger.records import LedgerBroken, Record, canonical, canonical_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20,
)  # fmt: skip


def plainly(value: Any) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


@given(VALUES)
def test_the_text_is_that_of_the_standard_library(value: Any) -> None:
    text = plainly(value)
    assert canonical_text(value) == text
    assert canonical_text(json.loads(text)) == text


def endless() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), b"x", {1, 2}, "\ud800", endless()], ids=repr
)
def test_what_cannot_be_written_is_refused_and_leaves_no_trace(value: Any) -> None:
    for _ in range(2):
        with pytest.raises(LikewiseError, match="cannot be written as JSON"):
            canonical({"a": [value]})
    assert canonical({"a": [1]}) == b'{"a":[1]}'


class Row(NamedTuple):
    """A row of ``events`` in the order of its columns."""

    docket: Any
    at: Any
    kind: Any
    body: Any
    nonce: Any
    hash: Any
    actor: Any
    seq: Any


GOOD = Row("loans", "t", "labelled", '{"a":1,"b":"é"}', "n", "h", "machine", 1)


def test_a_row_is_read_as_it_was_written() -> None:
    body = {"a": 1, "b": "é"}
    assert Record.of_row("loans", GOOD) == Record(
        "loans", 1, "t", "labelled", body, "n", "h", "machine"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"body": '{"b":"é","a":1}'},
        {"body": '{"a":1,"b":"é"} '},
        {"body": ' {"a":1,"b":"é"}'},
        {"body": '{"a":1,"b":"é"}{}'},
        {"body": '{"a":0,"a":1,"b":"é"}'},
        {"body": '{"a":1.0e0}'},
        {"body": '{"a":NaN}'},
        {"body": '{"b":"\\u00e9"}'},
        {"body": '{"b":"\\ud800"}'},
        {"body": '{"b":"\udcff"}'},
        {"body": "[1]"},
        {"body": "1"},
        {"body": ""},
        {"body": b"{}"},
        {"body": None},
        {"body": "[" * 100_000},
        {"at": 7},
        {"kind": None},
        {"nonce": b"n"},
        {"actor": "\udcff"},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_a_row_that_is_written_otherwise_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(LedgerBroken, match="record 1"):
        Record.of_row("loans", GOOD._replace(**change))


@given(st.text(), st.text(), st.integers(0, 9), st.binary(max_size=80))
def test_reviews_are_named_as_ever(member: str, round_id: str, seed: int, salt: bytes) -> None:
    """A keyed hash that is copied is the keyed hash."""
    parts = [text.encode() for text in ("review", member, round_id, "False")]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    key = hmac.digest(salt, f"reviews:{seed}".encode(), "sha256")
    made, seat = ReviewKey(seed, salt), Seat(round_id, member)
    for _ in range(2):
        assert made.review_id(seat) == hmac.digest(key, message, "sha256").hex()[:32]
