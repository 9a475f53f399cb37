"""Checks that a signed statement, in the words of a review, means what is recorded after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from likewise.service.dockets.reviews.lottery import ReviewKey
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.views.projection import Projection
from likewise.service.ledger.bodies import Finished, Repeated, Withdrawn
from likewise.service.ledger.bodies.evidence import Signed
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference


class ReviewChecks:
    """Translates the names of reviews, which whoever knows the docket's secret can do."""

    def __init__(self, projection: Projection, key: ReviewKey | None) -> None:
        self.projection, self.key = projection, key
        self._signed: Signed | None = None

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """Yield the difference of one record from the statement before it, if there is one."""
        signed, self._signed = self._signed, body if isinstance(body, Signed) else None
        if signed is None or not isinstance(body, (Withdrawn, Finished, Repeated)):
            return
        if self.key is None:
            return
        round_ = self.projection.find(body.round)
        again = record.at if isinstance(body, Repeated) else None
        review = self.key.review_id(Seat(body.round, body.member, again))
        if round_ is None or signed.review != review:
            recorded, expected = f"It is about round {body.round!r}.", "the signed review."
            yield Difference(record.seq, "signature", recorded, expected)
            return
        order = self.key.shuffled(review, round_.decisions)
        names = {person: f"p{number}" for number, person in enumerate(order, start=1)}
        if not _means(signed, body, names):
            recorded = f"{record.kind!r} says something else."
            yield Difference(record.seq, "signature", recorded, "what was signed.")


def _means(signed: Signed, body: Withdrawn | Finished | Repeated, names: Mapping[str, str]) -> bool:
    """Tell if a record says what was signed; ``names`` are the people's in the review."""
    pair = None if signed.pair is None else frozenset(signed.pair)
    if isinstance(body, Withdrawn):
        return pair == frozenset(names.get(person, "") for person in body.pair)
    if isinstance(body, Finished):
        return pair is None
    objections = {frozenset(names.get(p, "") for p in o.pair): o.reason for o in body.objections}
    if signed.act == "flag":
        return pair in objections and objections[pair] == signed.reason
    if signed.act == "withdraw":
        return pair not in objections
    return body.finished == (signed.act == "finish")
