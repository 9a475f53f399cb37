"""Events: everything that can happen to a round, in its possible orders.

    Arrived ─▶ Decided ─▶ Sealed ─▶ Audited (a report | quiet | unaudited) ─▶ Closed
                     └─▶ Overridden … └─▶ Labelled …

People may arrive and be decided on in several batches before the round is sealed. After that the
audit and the labels come in any order and any number of rounds later, or never. Every event is a
value that can be written as JSON and read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Literal, cast, get_args

import numpy as np

from likewise.errors import EventRefused, shown
from likewise.numerics.fixed_point import ONE

Outcome = Literal["report", "quiet", "unaudited"]
OUTCOMES = get_args(Outcome)
PAIRS = "pairs (over, under) of ids; for one pair, write [(over, under)]"


def listed(value: object, name: str, items: str, kind: type = object) -> tuple[Any, ...]:
    """A list as a tuple, its items checked; a generator, which is read only once, is refused."""
    if type(value) is tuple and (kind is object or set(map(type, value)) <= {kind}):
        return value
    sequence = not isinstance(value, str | bytes) and isinstance(value, Sequence)
    fits = sequence and (kind is object or all(isinstance(i, kind) for i in cast(Any, value)))
    if not fits:
        raise EventRefused(f"{name} must be a list of {items}; got {shown(value)}.")
    return tuple(cast(Sequence[Any], value))


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody who arrived: an id and the encoded features, in the order of the schema.

    A missing value is NaN (or None), and equals another missing value.
    """

    id: str
    features: tuple[float, ...]

    def __post_init__(self) -> None:
        if type(self.features) is not tuple:
            features = listed(self.features, "Person.features", "numbers, in the schema's order")
            object.__setattr__(self, "features", features)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Person):
            return NotImplemented
        try:
            left, right = (np.array(p.features, dtype=np.float64) for p in (self, other))
        except (OverflowError, TypeError, ValueError):
            return False
        return self.id == other.id and np.array_equal(left, right, equal_nan=True)

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True)
class Decision:
    """The decision on a person, and the published score in units of 2^-20.

    ``inverse_chance`` is J, one over the chance of approval, in the same units: exact, or estimated
    from draws. It is fixed with the decision, for everybody whom a learner with one-sided labels
    approves, since the policy will have changed when the label comes. ``experts`` are the scores of
    each expert of a player that is a mixture.
    """

    person: str
    approved: bool
    score: int
    inverse_chance: int | None = None
    experts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Arrived:
    """A batch of people arrives; the first batch opens the round and freezes its policy."""

    round: str
    people: tuple[Person, ...]

    def __post_init__(self) -> None:
        people = listed(self.people, "Arrived.people", "people: (Person(id, features), …)", Person)
        object.__setattr__(self, "people", people)


@dataclass(frozen=True)
class Decided:
    """The last batch that arrived has been decided on, with one draw of h for the batch."""

    round: str
    decisions: tuple[Decision, ...]

    def __post_init__(self) -> None:
        items = "decisions: (Decision(person, approved, score), …)"
        decisions = listed(self.decisions, "Decided.decisions", items, Decision)
        object.__setattr__(self, "decisions", decisions)


@dataclass(frozen=True)
class Overridden:
    """Somebody changed the learner's decision; ``approved`` is theirs."""

    round: str
    person: str
    approved: bool


@dataclass(frozen=True)
class Sealed:
    """Nobody else can arrive; the panel (its members and the text of its rule) is fixed."""

    round: str
    panel: str


Limits = Mapping[tuple[str, str], int | None]
"""The largest gap, in units, that a panel would accept in a pair that it reported; None where it
was not asked."""


@dataclass(frozen=True)
class Audited:
    """The panel's report of pairs (over, under), its silence, or no audit at all.

    If the panel was asked for them, ``limits`` has the largest gap that it would accept in each
    reported pair, in units, or None.
    """

    round: str
    outcome: Outcome
    pairs: tuple[tuple[str, str], ...] = ()
    limits: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if type(self.pairs) is not tuple or self.pairs:
            self._check_pairs()
        if not isinstance(self.outcome, str) or self.outcome not in OUTCOMES:
            raise EventRefused(
                f"Audited.outcome must be 'report', 'quiet' or 'unaudited'; got "
                f"{shown(self.outcome)}."
            )
        if (self.outcome == "report") != bool(self.pairs):
            raise EventRefused(
                f"Audited.pairs must be given for a report, and only for one; the outcome is "
                f"{self.outcome!r} with {len(self.pairs)} pairs."
            )
        if type(self.limits) is not tuple or self.limits:
            self._check_limits()

    @property
    def limit_of(self) -> Limits:
        return dict(zip_longest(self.pairs, self.limits))

    def _check_pairs(self) -> None:
        pairs = tuple(
            listed(pair, "Audited.pairs", PAIRS)
            for pair in listed(self.pairs, "Audited.pairs", PAIRS)
        )
        if any(len(pair) != 2 for pair in pairs):
            raise EventRefused(f"Audited.pairs must be {PAIRS}; got {shown(self.pairs)}.")
        object.__setattr__(self, "pairs", pairs)

    def _check_limits(self) -> None:
        limits = listed(self.limits, "Audited.limits", "one limit a pair: (300000, None, …)")
        object.__setattr__(self, "limits", limits)
        plain = all(v is None or (type(v) is int and 0 <= v <= ONE) for v in limits)
        if not plain or len(limits) not in (0, len(self.pairs)):
            raise EventRefused(
                f"Audited.limits must be empty, or have an integer in [0, 2^20] or None for each "
                f"of the {len(self.pairs)} pairs; got {shown(self.limits)}."
            )


@dataclass(frozen=True)
class Labelled:
    """A person's label has become known: 0 or 1, or a fraction if the loss allows for it."""

    round: str
    person: str
    label: float


@dataclass(frozen=True)
class Closed:
    """The round ends; missing labels stay missing."""

    round: str


Event = Arrived | Decided | Overridden | Sealed | Audited | Labelled | Closed

_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Event)}


def event_to_json(event: Event) -> dict[str, Any]:
    """Write an event as JSON.

    >>> event_to_json(Labelled("r1", "ann", 1))
    {'event': 'labelled', 'round': 'r1', 'person': 'ann', 'label': 1}
    """
    if not isinstance(event, Event):
        raise EventRefused(f"{shown(event)} is not an event.")
    fields = asdict(event)
    for decision in fields.get("decisions", ()):
        if decision["experts"] is None:  # most players have none
            del decision["experts"]
    if not fields.get("limits", True):  # most panels are not asked for any
        del fields["limits"]
    return {"event": type(event).__name__.lower(), **fields}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Read an event from its JSON."""
    if not isinstance(data, Mapping):
        raise EventRefused(f"An event must be a JSON object; got {shown(data)}.")
    fields = dict(data)
    kind = fields.pop("event", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise EventRefused(f"An event must be one of {', '.join(_KINDS)}; got {shown(kind)}.")
    try:
        if kind == "arrived":
            people = fields.pop("people")
            fields["people"] = tuple(Person(p["id"], tuple(p["features"])) for p in people)
        if kind == "decided":
            decisions = [dict(decision) for decision in fields["decisions"]]
            for decision in decisions:
                if isinstance(decision.get("experts"), list):
                    decision["experts"] = tuple(decision["experts"])
            fields["decisions"] = tuple(Decision(**decision) for decision in decisions)
        if kind == "audited":
            fields["pairs"] = tuple((over, under) for over, under in fields.pop("pairs", ()))
            fields["limits"] = tuple(fields.pop("limits", ()))
        event: Event = _KINDS[kind](**fields)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise EventRefused(f"This is not a complete {kind!r} event: {error}.") from error
    return event
