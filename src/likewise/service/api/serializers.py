"""From a docket to the answers: dockets, rounds and receipts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from likewise.fixed_point import from_units
from likewise.service.api.responses import (
    DecisionResponse,
    DocketResponse,
    DocketSummary,
    FeatureResponse,
    ObjectionResponse,
    PairResponse,
    ReceiptResponse,
    RoundResponse,
    RoundSummary,
    Written,
)
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.projection import Projection, Round
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Transaction

__all__ = [
    "awaited",
    "docket_response",
    "docket_summary",
    "payloads",
    "receipt_response",
    "round_response",
    "round_summary",
    "written",
]

IN_SHADOW = "This docket runs in shadow: do not use its decisions."


def receipt_response(receipt: Receipt) -> ReceiptResponse:
    """A receipt with the line to keep."""
    return ReceiptResponse(receipt.docket, receipt.head.seq, receipt.head.hash, str(receipt))


def written(receipt: Receipt) -> Written:
    """The answer to a command that says nothing else."""
    return Written(receipt_response(receipt))


def payloads(docket: Docket, digests: Iterable[str]) -> dict[str, Payload]:
    """What is personal, as far as it has not been erased."""
    with docket.store.reading() as connection:
        return Transaction(connection, docket.name, docket.projection.head).payloads(digests)


def docket_summary(projection: Projection) -> DocketSummary:
    """A docket in a list."""
    return DocketSummary(projection.name, projection.settings.title, projection.settings.shadow)


def docket_response(docket: Docket, *, all_features: bool) -> DocketResponse:
    """A docket's settings; auditors are not told of features that they are not shown."""
    projection, learner = docket.projection, docket.state.learner
    settings = projection.settings
    return DocketResponse(
        name=projection.name,
        title=settings.title,
        shadow=settings.shadow,
        notice=IN_SHADOW if settings.shadow else None,
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


def awaited(docket: Docket, round_: Round) -> tuple[str, ...]:
    """Whose labels may still come."""
    open_round = docket.state.open.get(round_.id)
    if open_round is None:
        return ()
    return open_round.awaited(one_sided=docket.state.learner.pricing.one_sided)


def round_summary(docket: Docket, round_: Round) -> RoundSummary:
    """A round in a list."""
    return RoundSummary(
        id=round_.id, number=round_.number, status=round_.status, people=len(round_.people),
        opened=round_.opened, sealed=round_.sealed, due=round_.due, outcome=round_.outcome,
        missing=len(awaited(docket, round_)), closed=round_.closed,
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
        missing=list(awaited(docket, round_)),
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
    found = payloads(docket, [digest for _, _, digest in said if digest is not None])
    return [
        ObjectionResponse(
            member, list(pair),
            str(found[digest].content["text"]) if digest in found else None,
        )
        for member, pair, digest in said
    ]  # fmt: skip
