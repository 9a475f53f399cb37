"""All that a ledger says about its own governance, checked record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.bodies import Body, DocketOpened, readable
from likewise.service.ledger.bodies.evidence import EvidenceBody
from likewise.service.ledger.bodies.own import KINDS
from likewise.service.ledger.records import LedgerBroken, Record
from likewise.service.verification.evidence import Evidence
from likewise.service.verification.findings import Difference
from likewise.service.verification.keeping.actors import ActorChecks
from likewise.service.verification.keeping.anchors import AnchorChecks
from likewise.service.verification.keeping.keys import KeyChecks
from likewise.service.verification.keeping.members import MemberChecks

_READ = {kind for kind, body in KINDS.items() if issubclass(body, (EvidenceBody, DocketOpened))}


@dataclass(frozen=True)
class Trusted:
    """Knowledge from elsewhere: members' keys by name, and certificates of an authority."""

    member_keys: dict[str, str] = field(default_factory=dict)
    authorities: list[Any] = field(default_factory=list)


class Witnesses:
    """The four checks of a ledger's governance: keys, actors, members' signatures, anchors."""

    def __init__(self, evidence: Evidence, trusted: Trusted | None = None) -> None:
        trust = trusted or Trusted()
        self.actors = ActorChecks()
        self.members = MemberChecks(evidence.docket, dict(trust.member_keys))
        self.anchors = AnchorChecks(evidence.docket, evidence.records, list(trust.authorities))
        self._all = (KeyChecks(), self.actors, self.members, self.anchors)

    def take(self, record: Record, body: Body | LedgerBroken | None = None) -> Iterable[Difference]:
        """Return the differences of one record; ``body`` is read if it is not given."""
        if record.kind not in _READ:
            # Almost all records pass at once.
            checks = (self.actors, self.members, self.anchors)
            return () if all(check.passes(record) for check in checks) else self._check(record)
        body = readable(record) if body is None else body
        if isinstance(body, LedgerBroken):
            return (Difference(record.seq, "order", f"{body.why}", "a body of its kind."),)
        return self._check(record, body)

    def _check(self, record: Record, body: Body | None = None) -> Iterator[Difference]:
        for check in self._all:
            try:
                yield from check.take(record, body)
            except LikewiseError as error:
                yield Difference(record.seq, "signature", f"{error}", "something that can be read.")

    def proved(self) -> list[str]:
        """Return sentences on all that is proved."""
        return [line for check in self._all for line in check.proved()]

    def unproved(self) -> list[str]:
        """Return sentences on all that is not proved."""
        return [line for check in self._all for line in check.unproved()]
