"""Evidence for a replay: records, the payloads beside them, and the seed if it is known."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa

from likewise.service.errors import ServiceError, StoreError
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import GENESIS, LedgerBroken, Receipt, Record
from likewise.service.ledger.store import Store
from likewise.service.ledger.view import read_row
from likewise.service.verification.findings import Difference


@dataclass(frozen=True)
class Evidence:
    """A docket's ledger; ``unreadable`` says why some records are not among it.

    ``payloads`` is None where there are none to check; ``receipt`` is the one beside an export.
    """

    docket: str
    records: Sequence[Record]
    payloads: Mapping[str, Payload] | None = None
    secret: tuple[int, bytes] | None = None
    unreadable: Mapping[int, str] = field(default_factory=dict)
    receipt: Receipt | None = None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector while a whole ledger is taken into memory.

    Records hold no cycles, and all of them stay; it would visit every one again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def evidence_of(store: Store, docket: str, *, personal: bool = True) -> Evidence:
    """Return all that a store holds of a docket, at one moment; payloads if ``personal``."""
    records, unreadable = [], {}
    try:
        with _uncollected(), store.view(docket) as view:
            for row in view.rows():
                try:
                    records.append(read_row(docket, row))
                except LedgerBroken as error:
                    seq = error.seq if isinstance(error.seq, int) else len(records) + 1
                    unreadable[seq] = error.why
            payloads, secret = view.payloads() if personal else None, view.secret()
    except sa.exc.DatabaseError as error:
        raise StoreError(f"{store.where} cannot be read: {error.orig}") from error
    if not records and not unreadable:
        names = ", ".join(store.dockets()) or "none"
        raise ServiceError(
            "no-docket", 404, f"There is no docket {docket!r} in {store.where}; it has: {names}."
        )
    return Evidence(docket, records, payloads, secret, unreadable)


def walked(evidence: Evidence) -> Iterator[tuple[Record, Difference | None]]:
    """Yield every record with what breaks the hash chain there, and go on after a fault.

    A record whose number has been there already is a fault and nothing else: what follows it is
    compared with the record before it.
    """
    last, prev = 0, GENESIS
    for record in evidence.records:
        seq, linked = last + 1, True
        while seq in evidence.unreadable:
            seq, linked = seq + 1, False
        yield record, _fault(evidence.docket, record, seq, prev if linked else None)
        if record.seq >= seq:
            last, prev = record.seq, record.hash


def _fault(docket: str, record: Record, seq: int, prev: str | None) -> Difference | None:
    if record.seq != seq:
        words = (f"The record here has the number {record.seq}.", f"number {seq}.")
    elif record.docket != docket:
        words = (f"It is a record of {record.docket!r}.", f"one of {docket!r}.")
    elif not record.intact:
        words = (
            f"Its content was changed: it has the hash {record.content_hash[:16]}….",
            f"{str(record.hash)[:16]}…, the hash that it carries.",
        )
    elif prev is not None and record.prev != prev:
        before = "nothing" if prev == GENESIS else f"{prev[:16]}…"
        words = (f"It follows {record.prev[:16]}….", f"{before}, the record before it.")
    else:
        return None
    return Difference(seq, "chain", *words)
