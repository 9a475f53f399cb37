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

__all__ = ["Evidence", "evidence_of", "walked"]


@dataclass(frozen=True)
class Evidence:
    """A docket's ledger as it was found; ``unreadable`` says why some records are not among it.

    ``payloads`` is None where none were given, so that nothing can be said about them; ``receipt``
    is the one that lies beside an export.
    """

    docket: str
    records: Sequence[Record]
    payloads: Mapping[str, Payload] | None = None
    secret: tuple[int, bytes] | None = None
    unreadable: Mapping[int, str] = field(default_factory=dict)
    receipt: Receipt | None = None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the collector of cycles, while a whole ledger is taken into memory.

    Records and what is made of them hold no cycles, and all of them stay; the collector would look
    at every one of them again and again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def evidence_of(store: Store, docket: str, *, personal: bool = True) -> Evidence:
    """All that a store holds of a docket, at one moment; without ``personal``, no payloads.

    Receipts, signatures and anchors are about records alone, and features need not be looked at.
    """
    records, unreadable = [], {}
    try:
        with _uncollected(), store.view(docket) as view:
            for row in view.rows():
                try:
                    records.append(read_row(docket, row))
                except LedgerBroken as error:
                    place = error.seq if isinstance(error.seq, int) else len(records) + 1
                    unreadable[place] = error.why
            payloads, secret = view.payloads() if personal else None, view.secret()
    except sa.exc.DatabaseError as error:
        raise StoreError(f"{store.where} cannot be read: {error.orig}") from error
    if not records and not unreadable:
        known = ", ".join(store.dockets()) or "none"
        raise ServiceError(
            "no-docket", 404, f"There is no docket {docket!r} in {store.where}; it has: {known}."
        )
    return Evidence(docket, records, payloads, secret, unreadable)


def walked(evidence: Evidence) -> Iterator[tuple[Record, Difference | None]]:
    """Every record with what is wrong with its place in the chain; it goes on after a fault.

    A record that has been there already, by its number, is a fault and nothing else: what follows
    it is compared with the record before it.
    """
    seq, last = 0, GENESIS
    for record in evidence.records:
        place, linked = seq + 1, True
        while place in evidence.unreadable:
            place, linked = place + 1, False
        yield record, _fault(evidence.docket, record, place, last if linked else None)
        if record.seq >= place:
            seq, last = record.seq, record.hash


def _fault(docket: str, record: Record, place: int, prev: str | None) -> Difference | None:
    if record.seq == place and record.docket == docket and record.intact and (
        prev is None or record.prev == prev
    ):  # fmt: skip
        return None

    def fault(recorded: str, expected: str) -> Difference:
        return Difference(place, "chain", recorded, expected)

    if record.seq != place:
        return fault(f"The record here has the number {record.seq}.", f"number {place}.")
    if record.docket != docket:
        return fault(f"It is a record of {record.docket!r}.", f"one of {docket!r}.")
    if not record.intact:
        return fault(
            f"Its content was changed: it has the hash {record.content_hash[:16]}….",
            f"{str(record.hash)[:16]}…, the hash that it carries.",
        )
    before = f"{prev[:16]}…" if prev and prev != GENESIS else "nothing"
    return fault(f"It follows {record.prev[:16]}….", f"{before}, the record before it.")
