"""Recomputation: a docket is folded again from its first record, and compared with what it says."""

import json
from dataclasses import dataclass

from likewise.learner import State, evidence, fold
from likewise_service.dockets.docket import UNFIT, Docket, is_of_this_version, opened_snapshot
from likewise_service.ledger import kinds, transaction
from likewise_service.ledger.store import Store


@dataclass(frozen=True)
class SnapshotCheck:
    """A snapshot, of the record ``seq``; ``differing`` are the parts that are wrong."""

    seq: int
    differing: tuple[str, ...]


class Recomputation(Docket):
    """A docket that is read from the first record on, without a snapshot, a few records at a time.

    Every decision is taken again; ``differences`` are the records whose decision, snapshot or tree
    is not what follows from the records. ``one_sided`` is the certificate of the rounds that have
    closed, where labels are one-sided.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.differences: list[int] = []
        self.one_sided: evidence.OneSided | None = None
        super().__init__(store, name)

    def advance(self, count: int) -> bool:
        """Read at most so many records more, up to the next snapshot; tell if there are more."""
        with self.looking() as view:
            newest, last = view.newest_snapshot(), view.head.seq
            until = min(self.projection.head.seq + count, last)
            if newest is not None and self.projection.head.seq < newest[0].size <= until:
                until = newest[0].size
            self._read(view, until)
            # The roots that are kept beside the records, from which proofs are made.
            self.differences += [until] * (view.log(until).tree() != self.tree)
            if newest is not None and newest[0] == self.tree:
                self.differences += [until] * bool(self.compare(newest[1]))
        return until < last

    def compare(self, stored: bytes) -> tuple[str, ...] | None:
        """Return the parts of a snapshot of this record that are not what they should be.

        Of another version, from which nothing starts, nothing can be said: None.
        """
        try:
            content = opened_snapshot(self.name, self.tree, stored, self.store.keys)
            if not is_of_this_version(content):
                return None
        except UNFIT:
            return ("content",)
        derived = json.loads(json.dumps(self.content()))
        names = sorted({*content, *derived})
        return tuple(name for name in names if content.get(name) != derived.get(name))

    def _catch_up(self, view: transaction.LedgerView) -> None:
        """Read only what :meth:`advance` asks for."""

    def _fold(
        self, body: kinds.Body, contents: kinds.Contents, surrogates: kinds.Surrogates
    ) -> State:
        if isinstance(body, kinds.Decided) and not self.projection.audit_only:
            again = fold.decide(self.state, body.round).decisions
            self.differences += [self.projection.head.seq + 1] * (again != body.decisions)
        if isinstance(body, kinds.LearnerGiven):
            self.one_sided = None
        if isinstance(body, kinds.Closed) and body.round in self.state.open:
            self.one_sided = self.one_sided or evidence.OneSided(self.state.learner)
            self.one_sided.take(self.state.open[body.round])
        return super()._fold(body, contents, surrogates)


def check_snapshot(store: Store, docket: str) -> SnapshotCheck | None:
    """Compare the snapshot from which a docket would start with the records.

    Returns None if no snapshot is of this ledger and version. It takes as long as a start without
    snapshots.
    """
    with store.view(docket) as view:
        snapshot = view.newest_snapshot()
    if snapshot is None:
        return None
    recomputed = Recomputation(store, docket)
    while recomputed.projection.head.seq < snapshot[0].size:
        recomputed.advance(snapshot[0].size - recomputed.projection.head.seq)
    differing = recomputed.compare(snapshot[1])
    return None if differing is None else SnapshotCheck(snapshot[0].size, differing)
