"""From a docket to the responses: reviews, as the auditor who is asked for them may see them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from likewise.auditing import Pair, decisive
from likewise.features import Feature
from likewise.fixed_point import from_units
from likewise.service.api.review_responses import (
    Fact,
    FeatureDifference,
    MyObjection,
    ReportedPair,
    ReviewList,
    ReviewPair,
    ReviewPerson,
    ReviewResponse,
    ReviewSummary,
)
from likewise.service.api.serializers import reason_words, receipt_response
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.learner import features_known
from likewise.service.dockets.reviews.board import Review, ReviewBoard
from likewise.service.ledger.payloads import features_of

__all__ = ["review_list", "review_response"]


def review_list(
    board: ReviewBoard, member: str, statuses: tuple[str, ...], limit: int
) -> ReviewList:
    """A member's reviews of some statuses, the oldest first; if they have ended, the latest."""
    found = board.listed(member, statuses, limit)
    receipt = receipt_response(board.docket.receipt())
    return ReviewList([_summary(review) for review in found], receipt)


def _summary(review: Review) -> ReviewSummary:
    return ReviewSummary(
        id=review.id,
        number=review.number,
        status=review.status,
        people=len(review.round.decisions),
        pairs=len(review.round.reportable()),
        objections=len(review.target.objections),
        asked=review.target.asked,
        due=review.target.due,
        ended=review.ended,
    )


def review_response(docket: Docket, review: Review) -> ReviewResponse:
    """A round as the member sees it: no labels, nothing of others before the panel closes."""
    round_, names, mine = review.round, review.aliases, review.target.objections
    values = _values(docket, review)
    facts = _facts(docket, values)
    found = docket.payloads(mine.values())
    return ReviewResponse(
        id=review.id,
        number=review.number,
        status=review.status,
        asked=review.target.asked,
        due=review.target.due,
        ended=review.ended,
        shadow=docket.projection.settings.shadow,
        reason_limit=docket.reason_limit,
        people=[
            ReviewPerson(
                name, from_units(round_.decisions[person].score),
                list(facts[person].values()), person in round_.erased,
            )
            for person, name in names.items()
        ],
        pairs=_pairs(docket, review, values, facts),
        objections=[
            MyObjection(names[over], names[under], reason_words(found, digest))
            for pair, digest in mine.items()
            for over, under in [round_.favoured_first(pair)]
        ],
        outcome=review.target.outcome.outcome if review.ended else None,
        reported=_reported(review) if review.ended else [],
        receipt=receipt_response(docket.receipt()),
    )  # fmt: skip


def _pairs(
    docket: Docket, review: Review, values: Mapping[str, tuple[float, ...]],
    facts: Mapping[str, Mapping[str, Fact]],
) -> list[ReviewPair]:  # fmt: skip
    """The pairs that can be reported, each with the features in which the two differ."""
    names, mine, visible = review.aliases, review.target.objections, _visible(docket)
    return [
        ReviewPair(
            names[over], names[under], from_units(gap),
            [f for f, fact in facts[over].items() if facts[under].get(f, fact) != fact],
            Pair(over, under) in mine,
            [
                _apart(feature, values[over][place], values[under][place])
                for place, feature in visible
                if values[over] and values[under]
                and facts[over][feature.name] != facts[under][feature.name]
            ],
        )
        for over, under, gap in review.round.reportable()
    ]  # fmt: skip


def _values(docket: Docket, review: Review) -> dict[str, tuple[float, ...]]:
    """Everybody's features; of those who were erased nothing."""
    round_ = review.round
    known = features_known(docket.state, round_.id)
    # What the learner holds need not be asked for.
    found = docket.payloads(d for person, d in round_.people.items() if person not in known)
    values: dict[str, tuple[float, ...]] = {}
    for person, digest in round_.people.items():
        payload = None if digest is None else found.get(digest)
        if person in round_.erased:
            values[person] = ()
        elif person in known:
            values[person] = known[person]
        else:
            values[person] = () if payload is None else features_of(payload.content)
    return values


def _visible(docket: Docket) -> list[tuple[int, Feature]]:
    features = docket.schema.features
    return [(place, feature) for place, feature in enumerate(features) if feature.visible]


def _facts(docket: Docket, values: Mapping[str, tuple[float, ...]]) -> dict[str, dict[str, Fact]]:
    """Everybody's visible features in words."""
    visible = _visible(docket)
    return {
        person: {
            feature.name: Fact(feature.name, feature.title, feature.say(mine[place]))
            for place, feature in visible
            if mine
        }
        for person, mine in values.items()
    }


def _apart(feature: Feature, one: float, other: float) -> FeatureDifference:
    """How large a difference is: 579 against 581 is not 579 against 200."""
    amount = abs(one - other)
    if feature.kind in ("category", "flag") or math.isnan(amount):
        return FeatureDifference(feature.name, "differs", None)
    low, high = feature.limits
    share = amount / (high - low) if math.isfinite(high - low) else None
    words = f"{feature.say(amount)} apart"
    if share is not None:
        part = "under 1" if share < 0.01 else f"{100 * share:.0f}"
        words += f", {part}\u202f% of the range"
    return FeatureDifference(feature.name, words, share)


def _reported(review: Review) -> list[ReportedPair]:
    """The reported pairs, and the member's part in each."""
    round_, names, spoken = review.round, review.aliases, review.round.panel_objections()
    found = []
    for over, under in review.target.outcome.pairs:
        mine = Pair(over, under) in review.target.objections
        alone = mine and review.target.member in decisive(round_.rule, spoken, (over, under))
        found.append(ReportedPair(names[over], names[under], mine, alone))
    return found
