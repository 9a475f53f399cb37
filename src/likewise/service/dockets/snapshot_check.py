"""A snapshot is checked against the ledger: computed again from the first record, and compared."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from likewise.service.dockets.docket import PAGE, Docket
from likewise.service.dockets.snapshots import content_of
from likewise.service.ledger.listings import newest_snapshot
from likewise.service.ledger.records import Record, chained
from likewise.service.ledger.store import Store
from likewise.service.ledger.view import LedgerView


@dataclass(frozen=True)
class SnapshotCheck:
    """The newest snapshot, of the record ``seq``; ``differing`` are the parts that are wrong."""

    seq: int
    differing: tuple[str, ...]


class DocketAt(Docket):
    """A docket as it was at one of its records, read from the first without a snapshot."""

    def __init__(self, store: Store, name: str, seq: int) -> None:
        self._until = seq
        super().__init__(store, name)

    def _catch_up(self, view: LedgerView) -> None:
        self._read(view)

    def _page(self, view: LedgerView) -> Iterator[Record]:
        head = self.projection.head
        return chained(self.name, view.records(head.seq, self._until, PAGE), head)


def check_snapshot(store: Store, docket: str) -> SnapshotCheck | None:
    """Compare the snapshot from which a docket would start with the records.

    Returns None if no snapshot fits the chain. It takes as long as a start without snapshots.
    """
    with store.view(docket) as view:
        snapshot = newest_snapshot(view)
    if snapshot is None:
        return None
    try:
        stored = json.loads(zlib.decompress(snapshot.content))
    except (ValueError, zlib.error):
        stored = None
    if not isinstance(stored, dict):
        return SnapshotCheck(snapshot.seq, ("content",))
    replayed = DocketAt(store, docket, snapshot.seq)
    content = content_of(replayed.projection, replayed.seating, replayed.state)
    derived = json.loads(json.dumps(content))
    names = sorted({*stored, *derived})
    wrong = tuple(name for name in names if stored.get(name) != derived.get(name))
    return SnapshotCheck(snapshot.seq, wrong)
