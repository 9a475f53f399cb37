"""Snapshots: a docket at some record, so that a start need not read its ledger from the first.

They are a cache. One is read only if it fits the chain and this code; ``replay`` never builds on
one, and ``replay --snapshot`` computes it again and compares. Whoever is erased is erased from
them too.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections import Counter
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.dockets.governance import Governance
from likewise.service.dockets.learner import ALGORITHM, State, dumped, parsed
from likewise.service.dockets.reviews.seating import Seating
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import folded
from likewise.service.dockets.views.series import Curves
from likewise.service.dockets.views.tallies import Tallies
from likewise.service.ledger.bodies import SeedRevealed, read_body
from likewise.service.ledger.listings import Snapshot, newest_snapshot
from likewise.service.ledger.records import Head, chained
from likewise.service.ledger.transaction import Transaction
from likewise.service.ledger.view import LedgerView

__all__ = ["EVERY", "content_of", "numbers_of", "restore", "write_snapshot"]

FORMAT = "likewise-snapshot/1"
# A snapshot is written after so many records: the most that a start has to fold.
EVERY = 500
LOG = logging.getLogger("likewise.service")
_UNFIT = (LikewiseError, KeyError, TypeError, ValueError, IndexError, AttributeError, zlib.error)


def content_of(projection: Projection, seating: Seating, state: State) -> dict[str, Any]:
    """A docket as a snapshot holds it; what is open is named, and folded from its records."""
    revealed = projection.revealed
    return {
        "format": FORMAT,
        "algorithm": ALGORITHM,
        "at": projection.at,
        "members": list(projection.members),
        "rule": projection.rule,
        "guidelines": projection.guidelines,
        "counts": dict(sorted(projection.counts.items())),
        "named": projection.named,
        "revealed": None if revealed is None else [revealed.seed, revealed.salt],
        "learner": [projection.learner_from, projection.decided_elsewhere],
        "opened": [[r.id, r.number, r.opened] for r in projection.opened.values()],
        "curves": projection.curves.to_json(),
        "tallies": projection.tallies.to_json(),
        "seating": seating.to_json(),
        "governance": projection.governance.to_json(),
        "state": dumped(state),
    }


def numbers_of(projection: Projection, state: State) -> dict[str, float]:
    """A docket in a few numbers, which are kept beside its ledger: nobody has to open it for them.

    The number of its records is the ledger's own.
    """
    return {
        "rounds": projection.counts["rounds"],
        "open_rounds": len(projection.opened),
        "reports": state.reports,
        "missing_labels": state.missing,
        "lam": state.lam,
    }


def write_snapshot(
    transaction: Transaction, projection: Projection, seating: Seating, state: State
) -> None:
    """Write a snapshot of what the transaction leaves; older ones go."""
    text = json.dumps(content_of(projection, seating, state), separators=(",", ":"))
    head = projection.head
    transaction.keep_snapshot(Snapshot(head.seq, head.hash, zlib.compress(text.encode(), 1)))


def restore(view: LedgerView, projection: Projection, seating: Seating) -> State | None:
    """Begin from the newest snapshot, if there is one that fits; the state it was written with.

    The projection and the seating must be new; where None comes back, they have to be made anew.
    """
    found = newest_snapshot(view)
    if found is None:
        return None
    try:
        data = json.loads(zlib.decompress(found.content))
        if (data["format"], data["algorithm"]) != (FORMAT, ALGORITHM):
            return None
        return _restored(view, projection, seating, Head(found.seq, found.hash), data)
    except _UNFIT as error:
        said = {"docket": view.docket, "record": found.seq, "why": str(error)}
        LOG.warning("A snapshot does not fit; the ledger is read instead.", extra={"said": said})
        return None


def _restored(
    view: LedgerView, projection: Projection, seating: Seating, head: Head, data: dict[str, Any]
) -> State:
    for record in chained(view.docket, view.records(0, 1)):
        projection.take(record, read_body(record))
    if data["learner"][0]:
        place = data["learner"][0]
        for record in view.records(place - 1, place):
            projection.take(record, read_body(record))
        projection.decided_elsewhere = data["learner"][1]
    projection.members, projection.rule = list(data["members"]), data["rule"]
    projection.guidelines = data["guidelines"]
    projection.counts, projection.named = Counter(data["counts"]), data["named"]
    projection.revealed = None if data["revealed"] is None else SeedRevealed(*data["revealed"])
    projection.curves = Curves.from_json(data["curves"])
    projection.tallies = Tallies.from_json(data["tallies"])
    records = view.records_of([name for name, _, _ in data["opened"]], head.seq)
    for name, number, opened in data["opened"]:
        begun = Round(name, number, opened, projection.settings.sensitivity)
        projection.opened[name] = folded(begun, records[name])
    seating.restore(data["seating"])
    projection.governance = Governance.from_json(data["governance"])
    projection.head, projection.at = head, data["at"]
    return parsed(data["state"])
