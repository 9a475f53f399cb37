"""A review as the script of its page has it: every pair, so that no key waits for the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.service.api.review_responses import ReviewPair, ReviewPerson, ReviewResponse
from likewise.service.web.formatting import count, percent, person, points, rounded
from likewise.service.web.practice import PRACTICE

__all__ = ["as_shown", "how_far", "review_data"]


def how_far(pair: ReviewPair, feature: str) -> str:
    """How far two people differ in a feature, in words."""
    return next((one.words for one in pair.differences if one.name == feature), "differs")


def as_shown(review: ReviewResponse) -> list[ReviewPair]:
    """The pairs by the points that a reader sees, the largest first: 65 before 64."""
    chance = {one.id: one.chance for one in review.people}
    return sorted(
        review.pairs, key=lambda pair: (-points(chance[pair.over], chance[pair.under]), -pair.gap)
    )


def review_data(
    review: ReviewResponse, marks: Mapping[str, str], position: int, page: Any
) -> dict[str, Any]:
    """The people and pairs of a review, in the words of its page."""
    known = next((one.features for one in review.people if not one.erased), [])
    places = {fact.name: place for place, fact in enumerate(known)}
    people = {one.id: one for one in review.people}
    reasons = {(one.over, one.under): one.reason for one in review.objections}
    return {
        "key": review.id,
        "url": f"{page.base}/rounds/{review.id}",
        "home": f"{page.base}/" + ("guidelines?practised=1" if review.id == PRACTICE else ""),
        "csrf": page.csrf,
        "position": position,
        "editable": review.status == "asked",
        "people": {one.id: _person(one) for one in review.people},
        "pairs": [
            {
                "over": pair.over,
                "under": pair.under,
                "apart": _apart(people[pair.over].chance, people[pair.under].chance),
                "flagged": pair.flagged,
                "reason": reasons.get((pair.over, pair.under)) or "",
                "mark": marks.get(f"{pair.over}.{pair.under}", ""),
                "differences": {places[name]: how_far(pair, name) for name in pair.differing},
            }
            for pair in review.pairs
        ],
    }


def _person(one: ReviewPerson) -> dict[str, Any]:
    return {
        "name": person(one.id),
        "percent": percent(one.chance),
        "rounded": rounded(one.chance),
        "erased": one.erased,
        "facts": [fact.value for fact in one.features],
    }


def _apart(over: float, under: float) -> str:
    gap = points(over, under)
    return f"{count(gap, 'percentage point') if gap else 'less than 1 percentage point'} apart"
