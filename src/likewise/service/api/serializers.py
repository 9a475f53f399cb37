"""From a docket to the responses: dockets, rounds and receipts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice

from likewise.fixed_point import from_units
from likewise.service.api.responses import (
    DecisionResponse,
    DocketList,
    DocketResponse,
    DocketSummary,
    FeatureResponse,
    ObjectionResponse,
    PairResponse,
    ReceiptResponse,
    RoundList,
    RoundResponse,
    RoundSummary,
    Written,
)
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.learner import awaited
from likewise.service.dockets.views.round import Round
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store

__all__ = [
    "docket_list",
    "docket_response",
    "reason_words",
    "receipt_response",
    "round_list",
    "round_response",
    "written",
]

DECIDED_ELSEWHERE = "This docket audits decisions that are taken elsewhere."
IN_SHADOW = "This docket runs in shadow: do not use its decisions."


def receipt_response(receipt: Receipt) -> ReceiptResponse:
    """A receipt with the line to keep."""
    return ReceiptResponse(receipt.docket, receipt.head.seq, receipt.head.hash, str(receipt))


def written(receipt: Receipt) -> Written:
    """The response to a command that says nothing else."""
    return Written(receipt_response(receipt))


def reason_words(found: Mapping[str, Payload], digest: str | None) -> str | None:
    """The words of a reason; None if there were none, or they were erased."""
    payload = None if digest is None else found.get(digest)
    return None if payload is None else str(payload.content["text"])


def docket_list(store: Store, names: Iterable[str]) -> DocketList:
    """Dockets by name, from their first records: none of them has to be opened for that."""
    found = []
    for name in names:
        for record in store.records(name, 0, 1):
            spec = record.body["spec"]
            found.append(DocketSummary(name, spec["title"], spec["shadow"]))
    return DocketList(found)


def docket_response(docket: Docket, *, all_features: bool) -> DocketResponse:
    """A docket's settings; auditors are not told of features that they are not shown."""
    projection, learner = docket.projection, docket.state.learner
    settings = projection.settings
    return DocketResponse(
        name=docket.name,
        title=settings.title,
        shadow=settings.shadow,
        notice=IN_SHADOW if settings.shadow else DECIDED_ELSEWHERE if settings.audit_only else None,
        audit_only=settings.audit_only,
        learner_from=projection.learner_from or None,
        features=[
            FeatureResponse(
                f.name, f.title, f.kind, f.unit, _finite(f.low), _finite(f.high), list(f.levels)
            )
            for f in learner.hypotheses.schema.features
            if all_features or f.visible
        ],
        k=learner.k,
        alpha=learner.alpha,
        feedback=learner.feedback,
        members=list(projection.members),
        rule=projection.rule,
        quorum=settings.quorum,
        deadline=settings.deadline,
        seed_commitment=projection.commitment,
        receipt=receipt_response(docket.receipt()),
    )


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def round_list(
    docket: Docket, *, status: str | None, after: int, limit: int, with_panel: bool
) -> RoundList:
    """A page of rounds by number, of one status or (``open``) of all but one."""
    projection = docket.projection
    if status in (None, "closed"):
        found = (r for r in projection.history(after) if status in (None, r.status))
    else:
        found = (
            r for r in projection.open_rounds() if r.number > after and status in ("open", r.status)
        )
    page = list(islice(found, limit + 1))
    more = page[limit - 1].number if len(page) > limit else None
    return RoundList([_summary(docket, r, with_panel) for r in page[:limit]], more)


def _summary(docket: Docket, round_: Round, with_panel: bool) -> RoundSummary:
    reviewed = sum(seat == "finished" for seat in round_.seats.values())
    return RoundSummary(
        id=round_.id, number=round_.number, status=round_.status, people=len(round_.people),
        opened=round_.opened, sealed=round_.sealed, due=round_.due, outcome=round_.outcome,
        missing=len(awaited(docket.state, round_.id)), closed=round_.closed,
        seats=len(round_.seats) if with_panel else None,
        finished=reviewed if with_panel else None,
    )  # fmt: skip


def round_response(docket: Docket, round_: Round, *, with_panel: bool) -> RoundResponse:
    """A round as a client sees it, or with what the panel said."""
    shadow = docket.projection.settings.shadow
    return RoundResponse(
        id=round_.id,
        number=round_.number,
        status=round_.status,
        shadow=shadow,
        notice=IN_SHADOW if shadow else None,
        opened=round_.opened,
        sealed=round_.sealed,
        rule=round_.rule or None,
        drawn=round_.drawn,
        due=round_.due,
        decisions=[
            DecisionResponse(d.person, d.approved, from_units(d.score), d.score)
            for d in round_.decisions.values()
        ],
        outcome=round_.outcome,
        reported=[PairResponse(over, under) for over, under in round_.pairs],
        labels=dict(round_.labels),
        overrides=dict(round_.overrides),
        missing=list(awaited(docket.state, round_.id)),
        closed=round_.closed,
        seats=dict(round_.seats) if with_panel else None,
        objections=_objections(docket, round_) if with_panel else None,
        receipt=receipt_response(docket.receipt()),
    )


def _objections(docket: Docket, round_: Round) -> list[ObjectionResponse]:
    said = [
        (member, pair, digest)
        for member, mine in round_.objections.items()
        for pair, digest in mine.items()
    ]
    found = docket.payloads(digest for _, _, digest in said)
    return [
        ObjectionResponse(member, list(pair), reason_words(found, digest))
        for member, pair, digest in said
    ]
