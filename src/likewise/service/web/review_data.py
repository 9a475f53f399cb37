"""A review as JSON for the script of its page: every pair, so that no key waits for the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.service.web.formatting import count, percent, person, points, rounded
from likewise.service.web.practice import PRACTICE
from likewise_client.responses import PairResponse, ReviewPair, ReviewPerson, ReviewResponse


def difference_text(pair: ReviewPair, feature: str) -> str:
    """Say how far two people differ in a feature."""
    return next((d.words for d in pair.differences if d.name == feature), "differs")


def pair_key(pair: PairResponse) -> str:
    """Name a pair in marks and forms."""
    return f"{pair.over}.{pair.under}"


def by_points(review: ReviewResponse) -> list[ReviewPair]:
    """Sort the pairs by the points that a reader sees, the largest first: 65 before 64."""
    chance = {person.id: person.chance for person in review.people}
    return sorted(
        review.pairs, key=lambda pair: (-points(chance[pair.over], chance[pair.under]), -pair.gap)
    )


def review_data(
    review: ReviewResponse, marks: Mapping[str, str], position: int, page: Any
) -> dict[str, Any]:
    """Return the people and pairs of a review, in the words of its page."""
    facts = next((p.features for p in review.people if not p.erased), [])
    columns = {fact.name: column for column, fact in enumerate(facts)}
    chance = {p.id: p.chance for p in review.people}
    reasons = {pair_key(objection): objection.reason for objection in review.objections}
    return {
        "key": review.id,
        "url": f"{page.base}/rounds/{review.id}",
        "home": f"{page.base}/" + ("guidelines?practised=1" if review.id == PRACTICE else ""),
        "csrf": page.csrf,
        "position": position,
        "editable": review.status == "asked",
        "people": {p.id: _person(p) for p in review.people},
        "pairs": [
            {
                "over": pair.over,
                "under": pair.under,
                "apart": _apart(chance[pair.over], chance[pair.under]),
                "flagged": pair.flagged,
                "reason": reasons.get(pair_key(pair)) or "",
                "mark": marks.get(pair_key(pair), ""),
                "differences": {
                    columns[name]: difference_text(pair, name) for name in pair.differing
                },
            }
            for pair in review.pairs
        ],
    }


def _person(response: ReviewPerson) -> dict[str, Any]:
    return {
        "name": person(response.id),
        "percent": percent(response.chance),
        "rounded": rounded(response.chance),
        "erased": response.erased,
        "facts": [fact.value for fact in response.features],
    }


def _apart(over: float, under: float) -> str:
    gap = points(over, under)
    return f"{count(gap, 'percentage point') if gap else 'less than 1 percentage point'} apart"
