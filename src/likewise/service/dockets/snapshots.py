"""Snapshots: a docket at some record, so that a start need not read its ledger from the first.

They are a cache. One is used only if it fits the chain and this code; ``replay`` never builds on
one, and ``replay --snapshot`` computes it again and compares. An erasure removes them.
"""

from __future__ import annotations

import json
import logging
import zlib
from typing import Any

from pydantic import TypeAdapter

from likewise.errors import LikewiseError
from likewise.service.dockets.learner import ALGORITHM, State, dump_state, parse_state
from likewise.service.dockets.reviews.seating import Member, Seating
from likewise.service.dockets.views.projection import Projection, Standing
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.views.round_fold import folded
from likewise.service.ledger.bodies import read_body
from likewise.service.ledger.listings import Snapshot, newest_snapshot
from likewise.service.ledger.records import Head, chained
from likewise.service.ledger.transaction import Transaction
from likewise.service.ledger.view import LedgerView

FORMAT = "likewise-snapshot/1"
# A snapshot is written after this many records: the most that a start has to fold.
EVERY = 500
LOG = logging.getLogger("likewise.service")
_UNFIT = (LikewiseError, KeyError, TypeError, ValueError, IndexError, AttributeError, zlib.error)
_STANDING, _MEMBERS = TypeAdapter(Standing), TypeAdapter(dict[str, Member])


def content_of(projection: Projection, seating: Seating, state: State) -> dict[str, Any]:
    """Return a docket as a snapshot holds it; open rounds are named, and folded from records."""
    return {
        "format": FORMAT,
        "algorithm": ALGORITHM,
        **_STANDING.dump_python(projection, mode="json"),
        "opened": [[r.id, r.number, r.opened] for r in projection.opened.values()],
        "seating": _MEMBERS.dump_python(seating.members, mode="json"),
        "state": dump_state(state).decode(),
    }


def numbers_of(projection: Projection, state: State) -> dict[str, float]:
    """Return the numbers that are kept beside the ledger, for those who do not open the docket."""
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
    """Start from the newest snapshot that fits, and return its state; None if there is none.

    The projection and the seating must be new; where None comes back, they have to be made anew.
    """
    snapshot = newest_snapshot(view)
    if snapshot is None:
        return None
    try:
        content = json.loads(zlib.decompress(snapshot.content))
        if (content["format"], content["algorithm"]) != (FORMAT, ALGORITHM):
            return None
        return _restored(view, projection, seating, Head(snapshot.seq, snapshot.hash), content)
    except _UNFIT as error:
        context = {"docket": view.docket, "record": snapshot.seq, "why": str(error)}
        LOG.warning("A snapshot does not fit; the ledger is read instead.", extra={"said": context})
        return None


def _restored(
    view: LedgerView, projection: Projection, seating: Seating, head: Head, content: dict[str, Any]
) -> State:
    for record in chained(view.docket, view.records(0, 1)):
        projection.take(record, read_body(record))
    if seq := content["learner_from"]:
        for record in view.records(seq - 1, seq):
            projection.take(record, read_body(record))
    vars(projection).update(vars(_STANDING.validate_python(content)), head=head)
    records = view.records_of([name for name, _, _ in content["opened"]], head.seq)
    for name, number, opened in content["opened"]:
        begun = Round(name, number, opened, projection.settings.sensitivity)
        projection.opened[name] = folded(begun, records[name])
    seating.restore(_MEMBERS.validate_python(content["seating"]))
    return parse_state(content["state"].encode(), "a snapshot")
