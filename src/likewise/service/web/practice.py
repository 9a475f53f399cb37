"""The practice round: made-up people, nothing is recorded, and what others would have looked at."""

from __future__ import annotations

from likewise.service.api.responses import ReceiptResponse
from likewise.service.api.review_responses import (
    Fact,
    FeatureDifference,
    ReviewPair,
    ReviewPerson,
    ReviewResponse,
)

__all__ = ["PRACTICE", "practice_review"]

# The id of the practice round: no review has it, since ids are keyed hashes.
PRACTICE = "0" * 32
TITLES = ("Bureau score", "Debt", "Purpose")
# Chance, then the features: the first two are alike and treated apart, the last two are not alike.
PEOPLE = (
    (0.81, 702, 31, "car"),
    (0.34, 699, 32, "car"),
    (0.78, 760, 12, "home"),
    (0.22, 430, 71, "home"),
)
PAIRS = ((0, 3), (2, 3), (0, 1), (2, 1))
RANGES = (550, 100)


def practice_review() -> ReviewResponse:
    """A round to practise with: of its four pairs one is of two people who are nearly the same."""
    people = [
        ReviewPerson(
            f"p{place}", chance,
            [Fact(f"f{i}", title, str(value)) for i, (title, value) in
             enumerate(zip(TITLES, facts, strict=True))],
            erased=False,
        )
        for place, (chance, *facts) in enumerate(PEOPLE, start=1)
    ]  # fmt: skip
    return ReviewResponse(
        id=PRACTICE, number=0, status="asked", asked="2026-01-01T00:00:00Z", due=None, ended=None,
        shadow=False, reason_limit=2000, people=people,
        pairs=[_pair(over, under) for over, under in PAIRS], objections=[], outcome=None,
        reported=[], receipt=ReceiptResponse("practice", 0, "", ""),
    )  # fmt: skip


def _pair(over: int, under: int) -> ReviewPair:
    one, other = PEOPLE[over], PEOPLE[under]
    differences = []
    for place in range(2):
        amount = abs(int(one[place + 1]) - int(other[place + 1]))
        if amount:
            share = amount / RANGES[place]
            part = "under 1" if share < 0.01 else f"{100 * share:.0f}"
            words = f"{amount} apart, {part}\u202f% of the range"
            differences.append(FeatureDifference(f"f{place}", words, share))
    if one[3] != other[3]:
        differences.append(FeatureDifference("f2", "differs", None))
    return ReviewPair(
        f"p{over + 1}", f"p{under + 1}", one[0] - other[0], [d.name for d in differences], False,
        differences,
    )  # fmt: skip
