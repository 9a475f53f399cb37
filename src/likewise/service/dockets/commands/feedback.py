"""Labels, overrides, and the end of a round."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.dockets.docket import Docket
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import (
    Audited,
    Closed,
    Labelled,
    Overridden,
    OverrideExplained,
)
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt

__all__ = ["close", "label", "override"]


def label(docket: Docket, labels: Sequence[tuple[str, str, int]]) -> Receipt:
    """Labels (round, person, label) have become known: all of them are recorded, or none."""
    with docket.unit_of_work() as work:
        for round_id, person, value in dict.fromkeys(labels):
            if work.projection.round(round_id).labels.get(person) != value:
                known = int(value) if value in (0, 1) else value
                work.add(Labelled(round_id, person, known))
        for round_id in dict.fromkeys(name for name, _, _ in labels):
            work.close_if_done(round_id)
    return docket.receipt()


def override(
    docket: Docket, round_id: str, person: str, approved: bool, reason: str | None = None
) -> Receipt:
    """Somebody decided otherwise, and may say why."""
    if reason is not None and len(reason) > docket.reason_limit:
        words = f"A reason may have {docket.reason_limit} characters; shorten it."
        raise ServiceError("too-long", 422, words)
    with docket.unit_of_work() as work:
        if work.projection.round(round_id).overrides.get(person) is not approved:
            if reason:
                digest = work.keep(Payload.fresh({"text": reason}))
                work.add(OverrideExplained(round_id, person, digest))
            work.add(Overridden(round_id, person, approved))
            work.close_if_done(round_id)
    return docket.receipt()


def close(docket: Docket, round_id: str, *, unaudited: bool = False) -> Receipt:
    """Nothing more will be heard of a round; ``unaudited`` ends an audit that is under way."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        if round_.closed is None:
            if unaudited and round_.outcome is None and round_.sealed is not None:
                work.add(Audited(round_id, "unaudited"))
            work.add(Closed(round_id))
    return docket.receipt()
