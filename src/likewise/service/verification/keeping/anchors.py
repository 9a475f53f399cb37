"""Checks of anchors: heads that were anchored outside, and the bounds that they give to all times.

A record before an anchor's head was written before the anchor; a record after the one that tells of
the anchor was written after it. So whoever back-dates or post-dates records contradicts one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.clock import later, seconds_between
from likewise.service.ledger.bodies.evidence import Anchored, AnchorFailed
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.timestamps import TimeStamp
from likewise.service.verification.findings import Difference

# Seconds by which a server's clock may differ from an authority's.
TOLERANCE = 300.0


@dataclass
class AnchorChecks:
    """Anchors in the order of the ledger; ``roots`` are certificates of time-stamp authorities.

    ``covered`` is the last record that an anchor fixes, by the time ``last``; ``widest`` is the
    longest time between two anchors, in minutes.
    """

    docket: str
    records: Sequence[Record]
    roots: list[Any] = field(default_factory=list)
    anchors: int = 0
    stamped: int = 0
    failures: int = 0
    last: str = ""
    covered: int = 0
    widest: float = 0.0
    _began: str = ""
    _bound: str = ""

    def passes(self, record: Record) -> bool:
        """Tell at once that a record is later than the anchor before it."""
        return bool(self._began) and record.at >= self._bound

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """Yield the differences of one record; ``body`` is there for records about anchors."""
        self._began = self._began or record.at
        if self._bound and record.at < self._bound:
            expected = f"{self._bound} or later: it follows an anchor, and is back-dated."
            yield Difference(record.seq, "time", f"It has the time {record.at}.", expected)
        if isinstance(body, AnchorFailed):
            self.failures += 1
        elif isinstance(body, Anchored):
            yield from self._anchored(record, body)

    def _anchored(self, record: Record, body: Anchored) -> Iterator[Difference]:
        try:
            receipt = Receipt.parse(body.receipt)
            fault = self._fault(record, receipt) or self._stamp_fault(body)
        except LikewiseError as error:
            fault = str(error)
        if fault:
            yield Difference(record.seq, "anchor", fault, "a head of this ledger.")
            return
        self.anchors += 1
        head = self.records[receipt.head.seq - 1]
        if head.at > later(body.fixed, TOLERANCE):
            expected = f"{body.fixed} or earlier: it was anchored then, and is post-dated."
            yield Difference(head.seq, "time", f"It has the time {head.at}.", expected)
        minutes = seconds_between(self.last or self._began, body.fixed) / 60
        self.widest = max(self.widest, minutes)
        self.last, self.covered = max(self.last, body.fixed), receipt.head.seq
        self._bound = later(self.last, -TOLERANCE)

    def _fault(self, record: Record, receipt: Receipt) -> str:
        seq = receipt.head.seq
        if receipt.docket != self.docket or not 0 < seq < record.seq or seq > len(self.records):
            return f"It anchors record {seq:,} of {receipt.docket!r}."
        if self.records[seq - 1].hash != receipt.head.hash:
            return f"Record {seq:,} is not the one that was anchored: it was rewritten."
        return ""

    def _stamp_fault(self, body: Anchored) -> str:
        if body.proof is None:
            return ""
        stamp, content = TimeStamp.parse(body.proof), body.receipt.encode()
        if not stamp.covers(content):
            return "The time-stamp is of something else."
        if stamp.at != body.fixed:
            return f"The time-stamp is of {stamp.at}, and the record says {body.fixed}."
        if self.roots:
            fault = stamp.check(content, self.roots)
            if fault:
                return f"The time-stamp is not of the authority that was named: {fault}."
            self.stamped += 1
        return ""

    def proved(self) -> list[str]:
        """Return sentences on all that is proved."""
        if not self.anchors:
            return []
        certified = f", {self.stamped:,} by the authority that was named" * bool(self.stamped)
        return [
            f"{self.anchors:,} anchors{certified}: records up to {self.covered:,} were written by "
            f"{self.last}, and times are bounded to within {self.widest + TOLERANCE / 60:,.1f} "
            f"minutes (of which {TOLERANCE / 60:g} are for clocks)."
        ]

    def unproved(self) -> list[str]:
        """Return sentences on all that is not proved."""
        if not self.records:
            return []
        if not self.anchors:
            return [
                "When records were written: nothing was anchored outside, so all times are the "
                "operator's, and what follows the last receipt that anybody holds can be rewritten."
            ]
        minutes = seconds_between(self.last, max(self.records[-1].at, self.last)) / 60
        sentences = [
            f"What was recorded after the last anchor, of record {self.covered:,}: the window left "
            f"open is {minutes:,.1f} minutes long here, and narrower for whoever has a later "
            f"receipt."
        ]
        if not self.stamped:
            sentences.append(
                "That the anchors' times are true: compare the file or the receiver's own copies "
                "(likewise verify FILE), or name the authority's certificates (--authority)."
            )
        if self.failures:
            sentences.append(f"{self.failures:,} times an anchor failed; it was tried again.")
        return sentences
