"""From a docket to the answers: reviews, as the auditor who is asked for them may see them."""

from __future__ import annotations

from collections.abc import Mapping

from likewise.auditing import Pair, decisive
from likewise.fixed_point import from_units
from likewise.service.api.review_responses import (
    Fact,
    MyObjection,
    ReportedPair,
    ReviewPair,
    ReviewPerson,
    ReviewResponse,
    ReviewSummary,
)
from likewise.service.api.serializers import payloads, receipt_response
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews import Review, ReviewBoard
from likewise.service.ledger.payloads import features_of

__all__ = ["my_objections", "review_response", "review_summary"]


def my_objections(docket: Docket, review: Review) -> Mapping[Pair, str | None]:
    """What the member objects to in a review, with the digests of reasons."""
    if not review.repeat:
        return review.round.objections.get(review.member, {})
    said = docket.projection.repeats.get((review.member, review.round.id))
    return {} if said is None else said.reasons


def review_summary(docket: Docket, review: Review) -> ReviewSummary:
    """A review in a list."""
    sensitivity = docket.state.learner.sensitivity
    return ReviewSummary(
        id=review.id,
        number=review.number,
        status=review.status,
        people=len(review.round.decisions),
        pairs=len(review.round.askable(sensitivity)),
        objections=len(my_objections(docket, review)),
        asked=review.asked,
        due=review.due,
    )


def review_response(board: ReviewBoard, review: Review) -> ReviewResponse:
    """A round as the member sees it: no labels, nothing of others before the panel closes."""
    docket, round_ = board.docket, review.round
    names, mine = review.aliases(board.key), my_objections(board.docket, review)
    facts = _facts(docket, review)
    found = payloads(docket, [digest for digest in mine.values() if digest is not None])
    closed = review.status in ("closed", "missed")
    people = sorted(round_.decisions, key=lambda person: int(names[person][1:]))
    return ReviewResponse(
        id=review.id,
        number=review.number,
        status=review.status,
        asked=review.asked,
        due=review.due,
        shadow=docket.projection.settings.shadow,
        people=[
            ReviewPerson(
                names[person], from_units(round_.decisions[person].score),
                list(facts[person].values()), person in round_.erased,
            )
            for person in people
        ],
        pairs=[
            ReviewPair(
                names[over], names[under], from_units(gap),
                [f for f, fact in facts[over].items() if facts[under].get(f, fact) != fact],
                Pair(over, under) in mine,
            )
            for over, under, gap in round_.askable(docket.state.learner.sensitivity)
        ],
        objections=[
            MyObjection(
                names[over], names[under],
                str(found[digest].content["text"]) if digest in found else None,
            )
            for pair, digest in mine.items()
            for over, under in [_favoured_first(review, pair)]
        ],
        outcome=round_.outcome if closed else None,
        reported=_reported(review, names, mine) if closed else [],
        receipt=receipt_response(docket.receipt()),
    )  # fmt: skip


def _facts(docket: Docket, review: Review) -> dict[str, dict[str, Fact]]:
    """Everybody's visible features in words; of those who were erased nothing."""
    round_, schema = review.round, docket.state.learner.hypotheses.schema
    found = payloads(docket, round_.people.values())
    facts: dict[str, dict[str, Fact]] = {}
    for person, digest in round_.people.items():
        known = digest in found and person not in round_.erased
        values = features_of(found[digest].content) if known else ()
        facts[person] = {
            feature.name: Fact(feature.name, feature.title, feature.say(value))
            for feature, value in zip(schema.features, values, strict=known)
            if feature.visible
        }
    return facts


def _favoured_first(review: Review, pair: Pair) -> tuple[str, str]:
    decisions = review.round.decisions
    over, under = sorted(pair, key=lambda person: -decisions[person].score)
    return over, under


def _reported(
    review: Review, names: Mapping[str, str], mine: Mapping[Pair, str | None]
) -> list[ReportedPair]:
    round_ = review.round
    spoken = round_.spoken()
    return [
        ReportedPair(
            names[over], names[under], Pair(over, under) in mine,
            Pair(over, under) in mine
            and review.member in decisive(round_.rule, spoken, (over, under)),
        )
        for over, under in round_.pairs
    ]  # fmt: skip
