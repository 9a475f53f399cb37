"""Witnesses: all that a ledger says about its own keeping, checked record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.bodies import Body, readable
from likewise.service.ledger.bodies.evidence import EVIDENCE_KINDS
from likewise.service.ledger.records import LedgerBroken, Record
from likewise.service.verification.evidence import Evidence
from likewise.service.verification.findings import Difference
from likewise.service.verification.keeping.actors import ActorChecks
from likewise.service.verification.keeping.anchors import AnchorChecks
from likewise.service.verification.keeping.keys import KeyChecks
from likewise.service.verification.keeping.members import MemberChecks

__all__ = ["Trusted", "Witnesses"]

_READ = {*EVIDENCE_KINDS, "docket-opened"}


@dataclass(frozen=True)
class Trusted:
    """Knowledge from elsewhere: members' keys by name, and certificates of an authority."""

    member_keys: dict[str, str] = field(default_factory=dict)
    authorities: list[Any] = field(default_factory=list)


class Witnesses:
    """The four checks of a ledger's keeping: keys, actors, members' signatures, anchors."""

    def __init__(self, evidence: Evidence, trusted: Trusted | None = None) -> None:
        known = trusted or Trusted()
        self.keys, self.actors = KeyChecks(), ActorChecks()
        self.members = MemberChecks(evidence.docket, dict(known.member_keys))
        self.anchors = AnchorChecks(evidence.docket, evidence.records, list(known.authorities))
        self._all = (self.keys, self.actors, self.members, self.anchors)

    def take(self, record: Record, read: Body | LedgerBroken | None = None) -> Iterable[Difference]:
        """The differences of one record; ``read`` is its body, if it has been read already."""
        if record.kind not in _READ:
            return () if self._plain(record) else self._taken(record, None)
        body = readable(record) if read is None else read
        if isinstance(body, LedgerBroken):
            return (Difference(record.seq, "order", f"{body.why}", "a body of its kind."),)
        return self._taken(record, body)

    def _taken(self, record: Record, body: Body | None) -> Iterator[Difference]:
        for check in self._all:
            try:
                yield from check.take(record, body)
            except LikewiseError as error:
                yield Difference(record.seq, "signature", f"{error}", "something that can be read.")

    def _plain(self, record: Record) -> bool:
        """Tell at a glance that nothing is wrong with a record, as with almost all of them."""
        actors, members, anchors = self.actors, self.members, self.anchors
        return actors.fits(record) and members.silent(record) and anchors.in_order(record)

    def shown(self) -> list[str]:
        """Sentences on all that is shown."""
        return [line for check in self._all for line in check.shown()]

    def unshown(self) -> list[str]:
        """Sentences on all that is not shown."""
        return [line for check in self._all for line in check.unshown()]
