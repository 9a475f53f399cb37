"""From a desk to the answers: dockets, rounds and receipts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from likewise.fixed_point import from_units
from likewise.service.api.responses import (
    DecisionAnswer,
    DocketAnswer,
    DocketSummary,
    FeatureAnswer,
    ObjectionAnswer,
    PairAnswer,
    ReceiptAnswer,
    RoundAnswer,
    RoundSummary,
    Written,
)
from likewise.service.dockets.docket import Desk
from likewise.service.dockets.projection import Book, Round
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Writing

__all__ = [
    "awaited",
    "docket_answer",
    "docket_summary",
    "payloads",
    "receipt_answer",
    "round_answer",
    "round_summary",
    "written",
]

IN_SHADOW = "This docket runs in shadow: do not use its decisions."


def receipt_answer(receipt: Receipt) -> ReceiptAnswer:
    """A receipt with the line to keep."""
    return ReceiptAnswer(receipt.docket, receipt.head.seq, receipt.head.hash, str(receipt))


def written(receipt: Receipt) -> Written:
    """The answer to a command that says nothing else."""
    return Written(receipt_answer(receipt))


def payloads(desk: Desk, digests: Iterable[str]) -> dict[str, Payload]:
    """What is personal, as far as it has not been erased."""
    with desk.store.reading() as connection:
        return Writing(connection, desk.docket, desk.book.head).payloads(digests)


def docket_summary(book: Book) -> DocketSummary:
    """A docket in a list."""
    return DocketSummary(book.docket, book.settings.title, book.settings.shadow)


def docket_answer(desk: Desk, *, all_features: bool) -> DocketAnswer:
    """A docket's settings; auditors are not told of features that they are not shown."""
    book, learner = desk.book, desk.state.learner
    settings = book.settings
    return DocketAnswer(
        name=book.docket,
        title=settings.title,
        shadow=settings.shadow,
        notice=IN_SHADOW if settings.shadow else None,
        features=[
            FeatureAnswer(
                f.name, f.title, f.kind, f.unit, _finite(f.low), _finite(f.high), list(f.levels)
            )
            for f in learner.hypotheses.schema.features
            if all_features or f.visible
        ],
        k=learner.k,
        alpha=learner.alpha,
        feedback=learner.feedback,
        members=list(book.members),
        rule=book.rule,
        quorum=settings.quorum,
        deadline=settings.deadline,
        seed_commitment=book.commitment,
        receipt=receipt_answer(desk.receipt()),
    )


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def awaited(desk: Desk, round_: Round) -> tuple[str, ...]:
    """Whose labels may still come."""
    open_round = desk.state.open.get(round_.id)
    if open_round is None:
        return ()
    return open_round.awaited(one_sided=desk.state.learner.pricing.one_sided)


def round_summary(desk: Desk, round_: Round) -> RoundSummary:
    """A round in a list."""
    return RoundSummary(
        id=round_.id, number=round_.number, status=round_.status, people=len(round_.people),
        opened=round_.opened, sealed=round_.sealed, due=round_.due, outcome=round_.outcome,
        missing=len(awaited(desk, round_)), closed=round_.closed,
    )  # fmt: skip


def round_answer(desk: Desk, round_: Round, *, with_panel: bool) -> RoundAnswer:
    """A round as a client sees it, or with what the panel said."""
    shadow = desk.book.settings.shadow
    return RoundAnswer(
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
            DecisionAnswer(d.person, d.approved, from_units(d.score), d.score)
            for d in round_.decisions.values()
        ],
        outcome=round_.outcome,
        reported=[PairAnswer(over, under) for over, under in round_.pairs],
        labels=dict(round_.labels),
        overrides=dict(round_.overrides),
        missing=list(awaited(desk, round_)),
        closed=round_.closed,
        seats=dict(round_.seats) if with_panel else None,
        objections=_objections(desk, round_) if with_panel else None,
        receipt=receipt_answer(desk.receipt()),
    )


def _objections(desk: Desk, round_: Round) -> list[ObjectionAnswer]:
    said = [
        (member, pair, digest)
        for member, mine in round_.objections.items()
        for pair, digest in mine.items()
    ]
    found = payloads(desk, [digest for _, _, digest in said if digest is not None])
    return [
        ObjectionAnswer(
            member, list(pair),
            str(found[digest].content["text"]) if digest in found else None,
        )
        for member, pair, digest in said
    ]  # fmt: skip
