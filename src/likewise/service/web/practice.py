"""The practice round: invented people; nothing is recorded."""

from __future__ import annotations

from likewise.service.api.reviews import apart
from likewise_client.responses import (
    Fact,
    FeatureDifference,
    ReceiptResponse,
    ReviewPair,
    ReviewPerson,
    ReviewResponse,
)

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
    """Return a round to practise with: one of its four pairs is of two people nearly the same."""
    people = [
        ReviewPerson(
            f"p{number}", chance,
            [Fact(f"f{i}", title, str(facts[i])) for i, title in enumerate(TITLES)], erased=False,
        )
        for number, (chance, *facts) in enumerate(PEOPLE, start=1)
    ]  # fmt: skip
    return ReviewResponse(
        id=PRACTICE, number=0, status="asked", asked="2026-01-01T00:00:00Z", due=None, ended=None,
        shadow=False, reason_limit=2000, people=people,
        pairs=[_pair(over, under) for over, under in PAIRS], objections=[], outcome=None,
        reported=[], receipt=ReceiptResponse("practice", 0, "", ""),
    )  # fmt: skip


def _pair(over: int, under: int) -> ReviewPair:
    first, second = PEOPLE[over], PEOPLE[under]
    differences = []
    for i in range(2):
        amount = abs(int(first[i + 1]) - int(second[i + 1]))
        if amount:
            share = amount / RANGES[i]
            differences.append(FeatureDifference(f"f{i}", apart(str(amount), share), share))
    if first[3] != second[3]:
        differences.append(FeatureDifference("f2", "differs", None))
    names = [difference.name for difference in differences]
    gap = first[0] - second[0]
    return ReviewPair(f"p{over + 1}", f"p{under + 1}", gap, names, False, differences)
