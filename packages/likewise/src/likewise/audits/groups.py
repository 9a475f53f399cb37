"""Rates of groups, with intervals; and of which groups the two of a reported pair are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.errors import PeopleError
from likewise.html import table
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import Interval, share
from likewise.people.cells import alike
from likewise.people.columns import column_values, is_missing, is_table
from likewise.people.frames import as_frame
from likewise.people.schema import People
from likewise.validation import items, text

MOST_GROUPS = 50
FEWEST_PEOPLE = 30
"""A group of fewer people is no reference: its rate says little."""
MANY_VALUES = 10
Traits = Mapping[str, Sequence[str]]
"""Everybody's group in words, by the name of the trait."""


@dataclass(frozen=True)
class GroupRate:
    """A group: how many people, and their mean score with an interval.

    The mean score is the selection rate, expected where scores are chances; ``tpr`` and ``fpr`` are
    that of the people with label 1 and with label 0, None where there are none. ``impact_ratio`` is
    the rate over the reference group's: the highest among groups of at least 30 people (of all
    where none is that large). ``small`` marks a group of fewer people, whose ratio may exceed 1.
    Intervals are of 95 %, for people such as these.
    """

    by: str
    group: str
    count: int
    rate: Interval
    tpr: Interval | None
    fpr: Interval | None
    impact_ratio: float
    small: bool = False


@dataclass(frozen=True)
class GroupPairs:
    """Reported pairs whose higher and lower score belong to these groups, and ``of`` how many."""

    by: str
    over: str
    under: str
    pairs: Interval
    of: int

    @property
    def share(self) -> Interval:
        """The share of such pairs that are reported so."""
        return self.pairs.times(1 / self.of if self.of else 0.0)


@dataclass(frozen=True)
class GroupRates:
    """Rates by each trait and of their intersections; reported pairs between groups."""

    rates: tuple[GroupRate, ...]
    pairs: tuple[GroupPairs, ...] = ()
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, ...]]:
        """The rates in words: by, group, people, rate, ratio, and by label where there are any."""
        labels = any(r.tpr or r.fpr for r in self.rates)
        return [
            (r.by, r.group, f"{r.count:,}{'*' if r.small else ' '}", r.rate.percent(1),
             f"{r.impact_ratio:.2f}", *(_percent(x) for x in (r.tpr, r.fpr) if labels))
            for r in self.rates
        ]  # fmt: skip

    def heads(self) -> tuple[str, ...]:
        """The names of the columns of :meth:`rows`."""
        heads = ("by", "group", "people ", "rate", "ratio", "TPR", "FPR")
        return heads[: len(self.rows()[0])]

    def __str__(self) -> str:
        rows = [(f"{by}: {group}", *rest) for by, group, *rest in (self.heads(), *self.rows())]
        rows[0] = ("group", *rows[0][1:])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        return table(" ".join(["Groups.", *self.notes]), self.heads(), self.rows())


def _percent(rate: Interval | None) -> str:
    return "" if rate is None else rate.percent(1)


def group_rates(
    traits: Traits, chances: FloatArray, labels: IntArray | None, pairs: tuple[GroupPairs, ...] = ()
) -> GroupRates | None:
    """Selection rates and impact ratios of groups; None where no group is named."""
    if not traits:
        return None
    every = {name: list(values) for name, values in traits.items()}
    if len(traits) > 1:
        joined = zip(*traits.values(), strict=True)
        every[" and ".join(traits)] = [" and ".join(values) for values in joined]
    rates = [
        rate
        for by, values in every.items()
        for rate in _compared(by, np.array(values, dtype=object), chances, labels)
    ]
    return GroupRates(tuple(rates), pairs, _notes(traits, rates))


def _compared(
    by: str, values: Any, chances: FloatArray, labels: IntArray | None
) -> list[GroupRate]:
    """The rates of a trait's groups, each beside the one that is their reference."""
    members = {str(group): values == group for group in sorted(set(values.tolist()))}
    sizes = {group: int(inside.sum()) for group, inside in members.items()}
    rates = {group: _mean(chances[inside]) for group, inside in members.items()}
    enough = [group for group in members if sizes[group] >= FEWEST_PEOPLE] or list(members)
    highest = max(rates[group].value for group in enough)
    return [
        GroupRate(
            by, group, sizes[group], rate,
            tpr=_rate_of(chances, labels, 1, members[group]),
            fpr=_rate_of(chances, labels, 0, members[group]),
            impact_ratio=rate.value / highest if highest > 0 else 1.0,
            small=sizes[group] < FEWEST_PEOPLE,
        )
        for group, rate in rates.items()
    ]  # fmt: skip


def _mean(chances: FloatArray) -> Interval:
    return share(min(float(chances.sum()), len(chances)), len(chances))


def _rate_of(
    chances: FloatArray, labels: IntArray | None, label: int, group: Any
) -> Interval | None:
    """The mean score of the people of a group with a label; None where there are none."""
    if labels is None or not (inside := group & (labels == label)).any():
        return None
    return _mean(chances[inside])


def codes_of(traits: Traits) -> dict[str, tuple[list[str], IntArray]]:
    """By trait its groups in order, and everybody's place among them."""
    coded = {}
    for name, values in traits.items():
        groups = sorted(set(values))
        places = {group: place for place, group in enumerate(groups)}
        coded[name] = groups, np.array([places[value] for value in values])
    return coded


def between_groups(traits: Traits, counts: IntArray, estimate: Any) -> tuple[GroupPairs, ...]:
    """Reported pairs by the groups of both; ``estimate`` turns counts into those of all pairs."""
    listed = []
    for (name, (groups, codes)), table_ in zip(codes_of(traits).items(), counts, strict=True):
        sizes = np.bincount(codes).tolist()
        for (i, j), count in np.ndenumerate(table_[: len(groups), : len(groups)]):
            of = sizes[i] * (sizes[i] - 1) // 2 if i == j else sizes[i] * sizes[j]
            listed.append(GroupPairs(name, groups[i], groups[j], estimate(int(count)), of))
    return tuple(listed)


def _notes(traits: Traits, rates: Iterable[GroupRate]) -> tuple[str, ...]:
    """Remarks on how ratios are meant, and on columns that had better be cut into bands."""
    notes = [
        f"A ratio is to the highest rate among groups of at least {FEWEST_PEOPLE} people"
        + (
            f"; * marks groups of fewer than {FEWEST_PEOPLE}."
            if any(r.small for r in rates)
            else "."
        )
    ]
    for name, values in traits.items():
        different = set(values) - {"missing"}
        if same := alike(sorted(different)):
            notes.append(
                f"{name!r} has groups that may be one: {', '.join(map(repr, same))}. Write them "
                f"alike."
            )
        if len(different) > MANY_VALUES and all(map(_is_number, different)):
            notes.append(
                f"{name!r} is a number with {len(different)} different values: cut it into bands, "
                f"or groups become too small to compare."
            )
    return tuple(notes)


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def read_traits(people: People, groups: Iterable[str] | Mapping[str, Any]) -> Traits:
    """Everybody's group by the name of the trait, in words."""
    remedy = "Name features, ['sex'], or give values by name, {'sex': [...]}."
    if is_table(groups) and (frame := as_frame(groups)) is not None:
        groups = {name: frame[name].to_native() for name in frame.columns}
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
    listed = column_values(f"groups: {name!r}", values, people).tolist()
    texts = ["" if is_missing(value) else str(value).strip() for value in listed]
    return [text or "missing" for text in texts]
