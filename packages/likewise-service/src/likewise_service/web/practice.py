"""Practice: made-up people with the docket's own features, and a word on each of their pairs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api import reviews
from likewise_service.web.language import N_, _

# The id of the practice round: no review has it, since ids are keyed hashes.
PRACTICE = "0" * 32
# The chance of each person, and where they are within the range of every feature.
PEOPLE = {"p1": (0.81, 0.60), "p2": (0.34, 0.61), "p3": (0.78, 0.95), "p4": (0.22, 0.05)}


class Gold(NamedTuple):
    """A pair of which it is known what to say of it, and why."""

    over: str
    under: str
    response: str
    why: str

    def word(self, response: str) -> str:
        """Say whether a response is right.

        >>> GOLD[2].word("fine")[:43]
        'Look again: Person 1 and Person 2 are nearl'
        """
        verdict = _("Yes") if response == self.response else _("Look again")
        why = _(self.why, first=self.over[1:], second=self.under[1:])
        return f"{verdict}: {why}"


GOLD = (
    Gold("p1", "p4", "fine", N_(
        "Person %(first)s and Person %(second)s differ in much that may matter, so their chances "
        "may too."
    )),
    Gold("p3", "p4", "fine", N_(
        "Person %(first)s and Person %(second)s are at opposite ends of nearly everything."
    )),
    Gold("p1", "p2", "flag", N_(
        "Person %(first)s and Person %(second)s are nearly the same, and treated very differently."
    )),
    Gold("p3", "p2", "fine", N_(
        "Person %(first)s and Person %(second)s are a third of the range apart in most things."
    )),
)  # fmt: skip


def practised(pair: str) -> int:
    """Return how many pairs are done after one of them.

    >>> practised("p1.p2"), practised("p9.p9")
    (3, 0)
    """
    names = [f"{gold.over}.{gold.under}" for gold in GOLD]
    return names.index(pair) + 1 if pair in names else 0


def made_up(feature: Feature, place: float) -> float:
    """Return a value at a place within a feature's range, in [0, 1].

    >>> made_up(Feature("score", "integer", 300, 850), 0.6), made_up(Feature("debt"), 0.25)
    (630.0, 25.0)
    >>> made_up(Feature("purpose", "category", levels=("car", "home")), 0.61)
    1.0
    """
    low, high = feature.limits
    low = low if math.isfinite(low) else min(0.0, high - 100)
    high = high if math.isfinite(high) else low + 100
    if feature.kind in ("category", "flag"):
        place = round(place, 1)  # those who are nearly the same have the same
    value = low + (high - low) * place
    return value if feature.kind == "number" else float(round(value))


def practice_review(features: Sequence[Feature]) -> responses.ReviewResponse:
    """Return a round to practise with: one of its four pairs is of two people nearly the same."""
    values = {name: [made_up(f, place) for f in features] for name, (_, place) in PEOPLE.items()}
    people = [
        responses.ReviewPerson(name, chance, reviews.facts(features, values[name]), erased=False)
        for name, (chance, _) in PEOPLE.items()
    ]
    pairs = [
        responses.ReviewPair(
            gold.over, gold.under, PEOPLE[gold.over][0] - PEOPLE[gold.under][0], False,
            reviews.differences(features, values[gold.over], values[gold.under]),
        )
        for gold in GOLD
    ]  # fmt: skip
    return responses.ReviewResponse(
        id=PRACTICE, number=0, status="asked", asked="2026-01-01T00:00:00Z", due=None, ended=None,
        shadow=False, reason_limit=2000, people=people, pairs=pairs, objections=[], outcome=None,
        reported=[], receipt=responses.ReceiptResponse("practice", 0, "", ""),
    )  # fmt: skip
