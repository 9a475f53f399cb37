"""Anchoring at work: every docket that has grown is fixed outside, and the ledger says so.

Nothing waits for a target: it is asked in a thread of its own, and what it says is recorded when
it comes. A failure is recorded once, and tried again at every look until it succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from likewise.errors import LikewiseError
from likewise.service.anchoring.targets import AnchorTarget, Fixed
from likewise.service.clock import later, now
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.governance import AnchorState, Governance
from likewise.service.dockets.worker import Workers
from likewise.service.ledger.actors import SERVICE, acting
from likewise.service.ledger.bodies.evidence import Anchored, AnchorFailed
from likewise.service.ledger.records import Receipt

__all__ = ["Anchoring", "anchor", "record_failure"]

LOG = logging.getLogger("likewise.service")
# So long a reason may be in a record.
WORDS = 300


@dataclass(frozen=True)
class Anchoring:
    """Targets, and how many minutes may pass between two anchors of a docket that grows."""

    targets: Sequence[AnchorTarget]
    minutes: float
    _quiet: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)

    def due(self, governance: Governance, target: AnchorTarget, at: str) -> bool:
        """Tell if a docket has grown since it was fixed there, and it is time.

        What is recorded about anchors themselves does not count as growth. After a failure it is
        time at every look.
        """
        known = governance.anchors.get(target.name, AnchorState())
        grown = governance.busy > known.seq
        in_time = known.fixed and later(known.fixed, 60 * self.minutes) > at
        return grown and (bool(known.failure) or not in_time)

    async def run(self, workers: Workers, seconds: float, stop: asyncio.Event) -> None:
        """Look after all dockets, again and again until told to stop."""
        while not stop.is_set():
            for name in await self._dockets(workers):
                for target in self.targets:
                    if stop.is_set():
                        return
                    await self._look(workers, name, target)
            try:
                await asyncio.wait_for(stop.wait(), seconds)
            except TimeoutError:
                continue

    async def _dockets(self, workers: Workers) -> tuple[str, ...]:
        try:
            return await workers.dockets()
        except Exception:  # the database may be back at the next look
            LOG.exception("Anchors could not be looked after; it is tried again.")
            return ()

    async def _look(self, workers: Workers, name: str, target: AnchorTarget) -> None:
        try:
            # A docket that has not grown since the last look is not opened for this.
            head = await asyncio.to_thread(workers.store.head, name)
            if self._quiet.get((name, target.name)) == head.seq:
                return
            receipt = await workers.run(name, lambda w: self._asked(w.docket, target))
            if receipt is None:
                return
            try:
                fixed = await asyncio.to_thread(target.fix, str(receipt))
            except LikewiseError as error:
                why = str(error)
                await workers.run(name, lambda w: record_failure(w.docket, target, why))
            else:
                await workers.run(name, lambda w: record_anchor(w.docket, target, receipt, fixed))
        except Exception:  # one docket that fails must not stop the others' anchors
            LOG.exception("An anchor failed; it is tried again.", extra={"said": {"docket": name}})

    def _asked(self, docket: Docket, target: AnchorTarget) -> Receipt | None:
        governance = docket.projection.governance
        if self.due(governance, target, now()):
            return docket.receipt()
        known = governance.anchors.get(target.name, AnchorState())
        if governance.busy <= known.seq:
            self._quiet[docket.name, target.name] = docket.projection.head.seq
        return None


def anchor(docket: Docket, target: AnchorTarget) -> Fixed:
    """Fix a docket's head at a target now, and record it."""
    receipt = docket.receipt()
    fixed = target.fix(str(receipt))
    record_anchor(docket, target, receipt, fixed)
    return fixed


def record_anchor(docket: Docket, target: AnchorTarget, receipt: Receipt, fixed: Fixed) -> None:
    """Say in the ledger that a receipt was fixed."""
    with acting(SERVICE), docket.unit_of_work() as work:
        work.add(Anchored(target.name, str(receipt), fixed.at, fixed.proof))


def record_failure(docket: Docket, target: AnchorTarget, why: str) -> None:
    """Say in the ledger that a receipt could not be fixed, once until it can."""
    with acting(SERVICE), docket.unit_of_work() as work:
        known = work.projection.governance.anchors.get(target.name, AnchorState())
        if not known.failure:
            work.add(AnchorFailed(target.name, why[:WORDS]))
