"""Anchoring at work: every docket that has grown is anchored outside, and the ledger says so.

Nothing waits for a target: it is called in a thread of its own, and the result is recorded when it
comes. A failure is recorded once, and tried again at every look until it succeeds.
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

LOG = logging.getLogger("likewise.service")
# The longest reason in a record.
LONGEST = 300


@dataclass(frozen=True)
class Anchoring:
    """Targets, and how many minutes may pass between two anchors of a docket that grows.

    A docket that has not grown since ``_unchanged``, the head at the last look, is not opened.
    """

    targets: Sequence[AnchorTarget]
    minutes: float
    _unchanged: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)

    def due(self, governance: Governance, target: AnchorTarget, at: str) -> bool:
        """Tell if a docket has grown since its last anchor there, and it is time.

        Records about anchors themselves do not count as growth. After a failure it is time at every
        look.
        """
        last = _state(governance, target)
        in_time = last.fixed and later(last.fixed, 60 * self.minutes) > at
        return governance.busy > last.seq and (bool(last.failure) or not in_time)

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
            head = await asyncio.to_thread(workers.store.head, name)
            if self._unchanged.get((name, target.name)) == head.seq:
                return
            receipt = await workers.run(name, lambda w: self._receipt(w.docket, target))
            if receipt is None:
                return
            try:
                fixed = await asyncio.to_thread(target.fix, str(receipt))
            except LikewiseError as error:
                cause = str(error)
                await workers.run(name, lambda w: record_failure(w.docket, target, cause))
            else:
                await workers.run(name, lambda w: record_anchor(w.docket, target, receipt, fixed))
        except Exception:  # one docket that fails must not stop the others' anchors
            LOG.exception("An anchor failed; it is tried again.", extra={"said": {"docket": name}})

    def _receipt(self, docket: Docket, target: AnchorTarget) -> Receipt | None:
        """Return the receipt to anchor, if one is due."""
        governance = docket.projection.governance
        if self.due(governance, target, now()):
            return docket.receipt()
        if governance.busy <= _state(governance, target).seq:
            self._unchanged[docket.name, target.name] = docket.projection.head.seq
        return None


def _state(governance: Governance, target: AnchorTarget) -> AnchorState:
    return governance.anchors.get(target.name, AnchorState())


def anchor(docket: Docket, target: AnchorTarget) -> Fixed:
    """Anchor a docket's head at a target now, and record it."""
    receipt = docket.receipt()
    fixed = target.fix(str(receipt))
    record_anchor(docket, target, receipt, fixed)
    return fixed


def record_anchor(docket: Docket, target: AnchorTarget, receipt: Receipt, fixed: Fixed) -> None:
    """Record that a receipt was anchored."""
    with acting(SERVICE), docket.unit_of_work() as work:
        work.add(Anchored(target.name, str(receipt), fixed.at, fixed.proof))


def record_failure(docket: Docket, target: AnchorTarget, cause: str) -> None:
    """Record that a receipt could not be anchored, once until it can."""
    with acting(SERVICE), docket.unit_of_work() as work:
        if not _state(work.projection.governance, target).failure:
            work.add(AnchorFailed(target.name, cause[:LONGEST]))
