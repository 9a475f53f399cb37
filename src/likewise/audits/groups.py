"""Selection rates and impact ratios of groups, computed by Fairlearn.

Individual fairness says nothing of groups, nor group fairness of individuals: reports show both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from likewise.errors import PeopleError
from likewise.extras import missing
from likewise.fixed_point import ONE, IntArray
from likewise.html import table
from likewise.schema import People
from likewise.validation import as_list, items, text

MOST_GROUPS = 50
FEWEST_PEOPLE = 30
"""A group of fewer people is no reference: its rate says little."""
MANY_VALUES = 10


@dataclass(frozen=True)
class GroupRate:
    """A group: how many people, their mean score, and that over the reference group's.

    The mean score is the selection rate, expected where scores are chances. The reference is the
    group with the highest rate among those of at least 30 people (of all where none is that
    large); ``small`` marks a group of fewer people, whose ratio may exceed 1.
    """

    by: str
    group: str
    count: int
    rate: float
    impact_ratio: float
    small: bool = False


@dataclass(frozen=True)
class GroupRates:
    """Rates by each trait, and of their intersections."""

    rates: tuple[GroupRate, ...]
    notes: tuple[str, ...] = ()

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        return [
            (r.by, r.group, f"{r.count:,}{'*' if r.small else ' '}", f"{r.rate:.3f}",
             f"{r.impact_ratio:.2f}")
            for r in self.rates
        ]  # fmt: skip

    def __str__(self) -> str:
        rows = [(f"{by}: {group}", *rest) for by, group, *rest in self._rows()]
        head = ("group", "people ", "rate", "ratio")
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(4)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in (head, *rows)
        ]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        title = " ".join(["Groups.", *self.notes])
        return table(title, ("by", "group", "people", "rate", "impact ratio"), self._rows())

    def to_dict(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [asdict(rate) for rate in self.rates]


def group_rates(
    people: People, units: IntArray, groups: Iterable[str] | Mapping[str, Any]
) -> GroupRates | None:
    """Selection rates and impact ratios of groups; None where no group is named."""
    columns = _columns(people, groups)
    if not columns:
        return None
    try:
        from fairlearn.metrics import MetricFrame, count, mean_prediction
    except ImportError as error:
        raise missing("Rates of groups", "fairlearn", "groups", error) from error

    rates: list[GroupRate] = []
    every = [[name] for name in columns] + ([list(columns)] if len(columns) > 1 else [])
    for names in every:
        frame = MetricFrame(
            metrics={"count": count, "rate": mean_prediction},
            y_true=np.zeros(len(people)),
            y_pred=units / ONE,
            sensitive_features={name: columns[name] for name in names},
        )
        rates += _compared(" and ".join(names), frame.by_group.dropna())
    return GroupRates(tuple(rates), _notes(columns, rates))


def _compared(by: str, groups: Any) -> list[GroupRate]:
    """Groups of a frame of counts and rates, each beside the one that is their reference."""
    enough = groups[groups["count"] >= FEWEST_PEOPLE]
    highest = float((enough if len(enough) else groups)["rate"].max())
    rates = []
    for index, row in groups.iterrows():
        group = " and ".join(map(str, index)) if isinstance(index, tuple) else str(index)
        rate, people = float(row["rate"]), int(row["count"])
        ratio = rate / highest if highest > 0 else 1.0
        rates.append(GroupRate(by, group, people, rate, ratio, people < FEWEST_PEOPLE))
    return rates


def _notes(columns: Mapping[str, list[str]], rates: Iterable[GroupRate]) -> tuple[str, ...]:
    """Remarks on how ratios are meant, and on columns that had better be cut into bands."""
    notes = [
        f"A ratio is to the highest rate among groups of at least {FEWEST_PEOPLE} people"
        + (
            f"; * marks groups of fewer than {FEWEST_PEOPLE}."
            if any(r.small for r in rates)
            else "."
        )
    ]
    for name, values in columns.items():
        different = set(values) - {"missing"}
        if len(different) > MANY_VALUES and all(map(_is_number, different)):
            notes.append(
                f"{name!r} is a number with {len(different)} different values: cut it into bands, "
                f"or groups become too small to compare."
            )
    return tuple(notes)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _columns(people: People, groups: Iterable[str] | Mapping[str, Any]) -> dict[str, list[str]]:
    """Everybody's group by the name of the trait, in words."""
    remedy = "Name features, ['sex'], or give values by name, {'sex': [...]}."
    if not isinstance(groups, Mapping):
        names = [text("groups", name, remedy) for name in items("groups", groups, remedy)]
        chosen = {name: _feature_values(people, name) for name in names}
    else:
        chosen = {
            text("groups", name, remedy): _listed_values(people, name, v)
            for name, v in groups.items()
        }
    for name, values in chosen.items():
        if len(set(values)) > MOST_GROUPS:
            raise PeopleError(
                f"groups: {name!r} has {len(set(values))} different values; at most {MOST_GROUPS} "
                f"groups can be compared. Cut it into bands."
            )
    return chosen


def _feature_values(people: People, name: str) -> list[str]:
    if name not in people.schema.names:
        raise PeopleError(
            f"groups: {name!r} is not among the features ({', '.join(people.schema.names)}). Give "
            f"its values in the order of the people: groups={{{name!r}: frame[{name!r}]}}."
        )
    feature = people.schema[name]
    return [feature.say(value) for value in people.column(name).tolist()]


def _listed_values(people: People, name: str, values: Any) -> list[str]:
    listed = as_list(values)
    if listed is None or len(listed) != len(people):
        raise PeopleError(
            f"groups: {name!r} must be a list, a value for each of the {len(people)} people."
        )
    missing = [v is None or (isinstance(v, float) and math.isnan(v)) for v in listed]
    return ["missing" if absent else str(v) for v, absent in zip(listed, missing, strict=True)]
