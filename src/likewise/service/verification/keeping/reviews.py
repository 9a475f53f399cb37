"""Checks that a signed statement, in the words of a review, means what is recorded after it."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.service.dockets.reviews.lottery import ReviewKey
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.views.projection import Projection
from likewise.service.ledger import bodies
from likewise.service.ledger.bodies.evidence import Signed
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference

__all__ = ["ReviewChecks"]

_SAID = (bodies.Withdrawn, bodies.Finished, bodies.Repeated)


class ReviewChecks:
    """Translates the names of reviews, which whoever knows the docket's secret can do."""

    def __init__(self, projection: Projection, key: ReviewKey | None) -> None:
        self.projection, self.key = projection, key
        self._signed: Signed | None = None

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        """The difference of one record from the statement before it, if there is one."""
        signed, self._signed = self._signed, body if isinstance(body, Signed) else None
        if self.key is None or signed is None or not isinstance(body, _SAID):
            return
        round_ = self.projection.find(body.round)
        again = record.at if isinstance(body, bodies.Repeated) else None
        review = self.key.review_id(Seat(body.round, body.member, again))
        if round_ is None or signed.review != review:
            yield Difference(
                record.seq, "signature", f"It is about round {body.round!r}.", "the signed review."
            )
            return
        order = self.key.shuffled(review, round_.decisions)
        names = {person: f"p{place}" for place, person in enumerate(order, start=1)}
        meant = None if signed.pair is None else frozenset(signed.pair)
        fits = _repeated_fits if isinstance(body, bodies.Repeated) else _fits
        if not fits(body, signed, meant, names):
            yield Difference(
                record.seq, "signature", f"{record.kind!r} says something else.", "what was signed."
            )


def _fits(body: object, _: Signed, meant: frozenset[str] | None, names: dict[str, str]) -> bool:
    if isinstance(body, bodies.Withdrawn):
        return meant == frozenset(names.get(person, "") for person in body.pair)
    return meant is None


def _repeated_fits(
    body: object, signed: Signed, meant: frozenset[str] | None, names: dict[str, str]
) -> bool:
    if not isinstance(body, bodies.Repeated):
        return False
    said = {frozenset(names.get(p, "") for p in one.pair): one.reason for one in body.objections}
    if signed.act == "flag":
        return meant in said and said[meant] == signed.reason
    if signed.act == "withdraw":
        return meant not in said
    return body.finished == (signed.act == "finish")
