"""Practice: made-up people with the docket's own features, and a word on each of their pairs.

The operator sets pairs and their right responses; until then the service's own are shown.
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from likewise.numerics.fixed_point import from_units, to_units
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
# Made-up people: the chance of each, and their place within the range of every feature.
Person = tuple[float, float]
TYPICAL, ALIKE, STRONG, WEAK = (0.81, 0.60), (0.34, 0.61), (0.78, 0.95), (0.22, 0.05)
# The service's default pairs: the two people, the right response, and why.
DEFAULTS: tuple[tuple[Person, Person, Literal["flag", "fine"], str], ...] = (
    (TYPICAL, WEAK, "fine", N_(
        "Person %(first)s and Person %(second)s differ in much that may matter, so their chances "
        "may too."
    )),
    (STRONG, WEAK, "fine", N_(
        "Person %(first)s and Person %(second)s are at opposite ends of nearly everything."
    )),
    (TYPICAL, ALIKE, "flag", N_(
        "Person %(first)s and Person %(second)s are nearly the same, and treated very differently."
    )),
    (STRONG, ALIKE, "fine", N_(
        "Person %(first)s and Person %(second)s are a third of the range apart in most things."
    )),
)  # fmt: skip


def default_pairs(features: Sequence[Feature]) -> list[kinds.GoldPair]:
    """Return the service's default pairs with the features of a docket, in the language in use."""
    pairs = []
    for number, (over, under, response, why) in enumerate(DEFAULTS):
        first, second = (tuple(made_up(f, place) for f in features) for _, place in (over, under))
        scores = (to_units(over[0]), to_units(under[0]))
        reason = _(why, first=2 * number + 1, second=2 * number + 2)
        pairs.append(kinds.GoldPair((first, second), scores, response, reason))
    return pairs


def word(pair: kinds.GoldPair, response: str) -> str:
    """Say whether a response is right.

    >>> word(default_pairs([])[2], "fine")[:43]
    'Look again: Person 5 and Person 6 are nearl'
    """
    verdict = _("Yes") if response == pair.response else _("Look again")
    return f"{verdict}: {pair.why}"


def practised(pair: str) -> int:
    """Return how many pairs are done after one of them, which is named by its two people.

    >>> practised("p5.p6"), practised("p9.p9")
    (3, 0)
    """
    names = [f"p{2 * number - 1}.p{2 * number}" for number in range(1, panel.GOLD + 1)]
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


def practice_review(
    features: Sequence[Feature], golds: Sequence[kinds.GoldPair]
) -> responses.ReviewResponse:
    """Return a round to practise with: the people of the pairs, two after two."""
    people, pairs = list[responses.ReviewPerson](), []
    for gold in golds:
        over, under = (f"p{len(people) + place}" for place in (1, 2))
        values = (records.features_of({"features": row}) for row in gold.features)
        both = [reviews.Described.of(features, row) for row in values]
        chances = [from_units(score) for score in gold.scores]
        people += [
            responses.ReviewPerson(name, chance, reviews.facts(features, person), erased=False)
            for name, chance, person in zip((over, under), chances, both, strict=True)
        ]
        gap, differences = chances[0] - chances[1], reviews.differences(features, *both)
        pairs.append(responses.ReviewPair(over, under, gap, False, differences))
    return responses.ReviewResponse(
        id=PRACTICE, number=0, status="asked", asked="2026-01-01T00:00:00Z", due=None, ended=None,
        shadow=False, reason_limit=2000, objections=[], outcome=None, reported=[],
        receipt=responses.ReceiptResponse("practice", 0, "", ""), people=people, pairs=pairs,
    )  # fmt: skip


class Field(NamedTuple):
    """A visible feature in the form for a pair, with what two people who are nearly alike have."""

    column: int
    feature: Feature
    values: tuple[str, str]


def form_fields(features: Sequence[Feature]) -> list[Field]:
    """Return what is asked of two made-up people, and what the form begins with."""
    return [
        Field(column, feature, (_plain(feature, TYPICAL[1]), _plain(feature, ALIKE[1])))
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
