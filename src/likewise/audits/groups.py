"""Rates of groups, beside what is found of individuals: by Fairlearn, for those who ask for them.

Individual fairness says nothing of groups, and the other way round; a reader wants to see both.
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

__all__ = ["GroupRate", "GroupRates", "group_rates"]

MOST_GROUPS = 50


@dataclass(frozen=True)
class GroupRate:
    """A group: how many people, their mean score, and that over the highest group's.

    The mean score is the selection rate, expected where scores are chances.
    """

    by: str
    group: str
    count: int
    rate: float
    impact_ratio: float


@dataclass(frozen=True)
class GroupRates:
    """Rates by each trait, and of their intersections."""

    rates: tuple[GroupRate, ...]

    def __str__(self) -> str:
        head = f"{'group':<32} {'people':>8} {'rate':>7} {'ratio':>7}"
        lines = [
            f"{f'{r.by}: {r.group}':<32} {r.count:>8,} {r.rate:>7.3f} {r.impact_ratio:>7.2f}"
            for r in self.rates
        ]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        rows = [
            (r.by, r.group, f"{r.count:,}", f"{r.rate:.3f}", f"{r.impact_ratio:.2f}")
            for r in self.rates
        ]
        return table("Groups", ("by", "group", "people", "rate", "impact ratio"), rows)

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

    found: list[GroupRate] = []
    every = [[name] for name in columns] + ([list(columns)] if len(columns) > 1 else [])
    for names in every:
        frame = MetricFrame(
            metrics={"count": count, "rate": mean_prediction},
            y_true=np.zeros(len(people)),
            y_pred=units / ONE,
            sensitive_features={name: columns[name] for name in names},
        )
        by_group = frame.by_group.dropna()
        highest = float(by_group["rate"].max())
        for index, row in by_group.iterrows():
            group = " and ".join(map(str, index)) if isinstance(index, tuple) else str(index)
            rate = float(row["rate"])
            ratio = rate / highest if highest > 0 else 1.0
            found.append(GroupRate(" and ".join(names), group, int(row["count"]), rate, ratio))
    return GroupRates(tuple(found))


def _columns(people: People, groups: Iterable[str] | Mapping[str, Any]) -> dict[str, list[str]]:
    """Everybody's group by the name of the trait, in words."""
    remedy = "Name features, ['sex'], or give values by name, {'sex': [...]}."
    if not isinstance(groups, Mapping):
        names = [text("groups", name, remedy) for name in items("groups", groups, remedy)]
        chosen = {name: _said(people, name) for name in names}
    else:
        chosen = {
            text("groups", name, remedy): _listed(people, name, v) for name, v in groups.items()
        }
    for name, values in chosen.items():
        if len(set(values)) > MOST_GROUPS:
            raise PeopleError(
                f"groups: {name!r} has {len(set(values))} different values; at most {MOST_GROUPS} "
                f"groups can be compared. Cut it into bands."
            )
    return chosen


def _said(people: People, name: str) -> list[str]:
    feature = people.schema[name]
    return [feature.say(value) for value in people.column(name).tolist()]


def _listed(people: People, name: str, values: Any) -> list[str]:
    listed = as_list(values)
    if listed is None or len(listed) != len(people):
        raise PeopleError(
            f"groups: {name!r} must be a list, a value for each of the {len(people)} people."
        )
    gone = [v is None or (isinstance(v, float) and math.isnan(v)) for v in listed]
    return ["missing" if none else str(v) for v, none in zip(listed, gone, strict=True)]
