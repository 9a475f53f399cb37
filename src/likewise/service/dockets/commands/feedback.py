"""Labels, overrides, and the end of a round."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.dockets.commands.reviews import reason_payload
from likewise.service.dockets.docket import Docket
from likewise.service.ledger.bodies import (
    Audited,
    Closed,
    Labelled,
    Overridden,
    OverrideExplained,
)
from likewise.service.ledger.records import Receipt


def label(docket: Docket, labels: Sequence[tuple[str, str, int]]) -> Receipt:
    """Record labels (round, person, label): all of them, or none."""
    with docket.unit_of_work() as work:
        for round_id, person, value in dict.fromkeys(labels):
            if work.projection.round(round_id).labels.get(person) != value:
                work.add(Labelled(round_id, person, int(value) if value in (0, 1) else value))
        for round_id in dict.fromkeys(name for name, _, _ in labels):
            work.close_if_done(round_id)
    return docket.receipt()


def override(
    docket: Docket, round_id: str, person: str, approved: bool, reason: str | None = None
) -> Receipt:
    """Record that a human decided otherwise, and why, if they say so."""
    payload = reason_payload(reason, docket.reason_limit)
    with docket.unit_of_work() as work:
        if work.projection.round(round_id).overrides.get(person) is not approved:
            if payload is not None:
                work.add(OverrideExplained(round_id, person, work.keep(payload)))
            work.add(Overridden(round_id, person, approved))
            work.close_if_done(round_id)
    return docket.receipt()


def close(docket: Docket, round_id: str, *, unaudited: bool = False) -> Receipt:
    """Close a round without the labels that are missing; ``unaudited`` ends an open audit too."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        if round_.closed is None:
            if unaudited and round_.outcome is None and round_.sealed is not None:
                work.add(Audited(round_id, "unaudited"))
            work.add(Closed(round_id))
    return docket.receipt()
