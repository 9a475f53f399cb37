"""Practice: made-up people with the docket's own features, and a word on each of their pairs.

The operator sets pairs and their right responses; until then the service's own are shown.
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from likewise.numerics.fixed_point import from_units
from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api import reviews
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.errors import ServiceError
from likewise_service.language import N_, _
from likewise_service.ledger import kinds, records

# The id of the practice round: no review has it, since ids are keyed hashes.
PRACTICE = "0" * 32
# The chance of each person, and where they are within the range of every feature.
PEOPLE = {"p1": (0.81, 0.60), "p2": (0.34, 0.61), "p3": (0.78, 0.95), "p4": (0.22, 0.05)}


class Gold(NamedTuple):
    """A pair with the right response, and why; ``own`` says that the operator wrote it."""

    over: str
    under: str
    response: str
    why: str
    own: bool = False

    def word(self, response: str) -> str:
        """Say whether a response is right.

        >>> GOLD[2].word("fine")[:43]
        'Look again: Person 1 and Person 2 are nearl'
        """
        verdict = _("Yes") if response == self.response else _("Look again")
        places = {} if self.own else {"first": self.over[1:], "second": self.under[1:]}
        why = self.why if self.own else _(self.why, **places)
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


def gold_pairs(pairs: Sequence[kinds.GoldPair]) -> Sequence[Gold]:
    """Return the operator's pairs, or the service's own where there are none."""
    return [
        Gold(f"p{2 * place + 1}", f"p{2 * place + 2}", pair.response, pair.why, own=True)
        for place, pair in enumerate(pairs)
    ] or GOLD


def practised(pair: str, golds: Sequence[Gold]) -> int:
    """Return how many pairs are done after one of them.

    >>> practised("p1.p2", GOLD), practised("p9.p9", GOLD)
    (3, 0)
    """
    names = [f"{gold.over}.{gold.under}" for gold in golds]
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


def _people(
    features: Sequence[Feature], pairs: Sequence[kinds.GoldPair]
) -> dict[str, tuple[float, tuple[float, ...]]]:
    if not pairs:
        return {
            name: (chance, tuple(made_up(feature, place) for feature in features))
            for name, (chance, place) in PEOPLE.items()
        }
    everybody = [
        (from_units(score), records.features_of({"features": values}))
        for pair in pairs
        for score, values in zip(pair.scores, pair.features, strict=True)
    ]
    return {f"p{place}": person for place, person in enumerate(everybody, start=1)}


def practice_review(
    features: Sequence[Feature], pairs: Sequence[kinds.GoldPair] = ()
) -> responses.ReviewResponse:
    """Return a round to practise with: the operator's pairs, or four of the service's own."""
    people = {
        name: (chance, reviews.Described.of(features, values))
        for name, (chance, values) in _people(features, pairs).items()
    }
    return responses.ReviewResponse(
        id=PRACTICE, number=0, status="asked", asked="2026-01-01T00:00:00Z", due=None, ended=None,
        shadow=False, reason_limit=2000, objections=[], outcome=None, reported=[],
        receipt=responses.ReceiptResponse("practice", 0, "", ""),
        people=[
            responses.ReviewPerson(name, chance, reviews.facts(features, person), erased=False)
            for name, (chance, person) in people.items()
        ],
        pairs=[
            responses.ReviewPair(
                gold.over, gold.under, people[gold.over][0] - people[gold.under][0], False,
                reviews.differences(features, people[gold.over][1], people[gold.under][1]),
            )
            for gold in gold_pairs(pairs)
        ],
    )  # fmt: skip


class Field(NamedTuple):
    """A visible feature in the form for a pair, with what two people who are nearly alike have."""

    column: int
    feature: Feature
    values: tuple[str, str]


def form_fields(features: Sequence[Feature]) -> list[Field]:
    """Return what is asked of two made-up people, and what the form begins with."""
    places = [PEOPLE[name][1] for name in ("p1", "p2")]
    return [
        Field(column, feature, (_plain(feature, places[0]), _plain(feature, places[1])))
        for column, feature in enumerate(features)
        if feature.visible
    ]


def _plain(feature: Feature, place: float) -> str:
    value = made_up(feature, place)
    return feature.levels[int(value)] if feature.kind == "category" else f"{value:.10g}"


def read_gold(docket: Docket, form: Mapping[str, str]) -> kinds.GoldPair:
    """Return the pair of a form, whoever is favoured first; what nobody sees is made up."""
    people = []
    for side in (1, 2):
        text = form.get(f"chance-{side}", "")  # in percent; what cannot be is refused later
        chance = float(text) / 100 if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text) else math.nan
        people.append((_values(docket.schema.features, form, side), chance))
    people.sort(key=lambda person: -person[1])
    response = form.get("response", "")
    if response not in ("flag", "fine"):
        raise ServiceError("bad-practice", 422, "Say what is right: to flag the pair, or not.")
    return panel.gold_pair(docket.schema, people, response, form.get("why", ""))  # type: ignore[arg-type] # as it was checked


def _values(features: Sequence[Feature], form: Mapping[str, str], side: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column, feature in enumerate(features):
        text = form.get(f"value-{side}-{column}", "").strip()
        text = text if feature.visible else _plain(feature, 0.5)
        values[feature.name] = text
        if not text and feature.missing is not None:
            values[feature.name] = None
        elif feature.kind != "category":
            with suppress(ValueError):  # the schema refuses what is no number, in its own words
                values[feature.name] = float(text)
    return values
