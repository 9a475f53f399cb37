"""Labels, overrides, and the end of a round."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.dockets.docket import Desk
from likewise.service.ledger.records import Receipt

__all__ = ["close", "label", "override"]


def label(desk: Desk, labels: Sequence[tuple[str, str, int]]) -> Receipt:
    """Labels (round, person, label) have become known: all of them are recorded, or none."""
    with desk.work() as bench:
        for round_id, person, value in dict.fromkeys(labels):
            if bench.book.round(round_id).labels.get(person) != value:
                known = int(value) if value in (0, 1) else value
                bench.add("labelled", {"round": round_id, "person": person, "label": known})
        for round_id in dict.fromkeys(name for name, _, _ in labels):
            bench.close_if_done(round_id)
    return desk.receipt()


def override(desk: Desk, round_id: str, person: str, approved: bool) -> Receipt:
    """Somebody decided otherwise."""
    with desk.work() as bench:
        if bench.book.round(round_id).overrides.get(person) is not approved:
            bench.add("overridden", {"round": round_id, "person": person, "approved": approved})
            bench.close_if_done(round_id)
    return desk.receipt()


def close(desk: Desk, round_id: str, *, unaudited: bool = False) -> Receipt:
    """Nothing more will be heard of a round; ``unaudited`` ends an audit that is under way."""
    with desk.work() as bench:
        round_ = bench.book.round(round_id)
        if round_.closed is None:
            if unaudited and round_.outcome is None and round_.sealed is not None:
                bench.add("audited", {"round": round_id, "outcome": "unaudited", "pairs": []})
            bench.add("closed", {"round": round_id})
    return desk.receipt()
