"""A snapshot against the ledger: it is computed again from the first record, and compared."""

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

__all__ = ["SnapshotCheck", "check_snapshot"]


@dataclass(frozen=True)
class SnapshotCheck:
    """The newest snapshot, of the record ``seq``; ``differing`` are the parts that are wrong."""

    seq: int
    differing: tuple[str, ...]


class DocketAt(Docket):
    """A docket as it was at one of its records, read from the first; no snapshot is looked at."""

    def __init__(self, store: Store, name: str, seq: int) -> None:
        self._until = seq
        super().__init__(store, name)

    def _catch_up(self, view: LedgerView) -> None:
        self._read(view)

    def _page(self, view: LedgerView) -> Iterator[Record]:
        known = self.projection.head
        records = view.records(known.seq, self._until, PAGE)
        return chained(self.name, records, known)


def check_snapshot(store: Store, docket: str) -> SnapshotCheck | None:
    """Tell if the snapshot from which a docket would start says what the records say.

    None if there is none that fits the chain. It takes the time of one start without snapshots.
    """
    with store.view(docket) as view:
        found = newest_snapshot(view)
    if found is None:
        return None
    try:
        stored = json.loads(zlib.decompress(found.content))
    except (ValueError, zlib.error):
        return SnapshotCheck(found.seq, ("content",))
    read = DocketAt(store, docket, found.seq)
    content = content_of(read.projection, read.seating, read.state)
    derived = json.loads(json.dumps(content))
    names = sorted({*stored, *derived} if isinstance(stored, dict) else derived)
    wrong = [n for n in names if not isinstance(stored, dict) or stored.get(n) != derived.get(n)]
    return SnapshotCheck(found.seq, tuple(wrong))
