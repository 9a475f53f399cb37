"""Rates of groups, with intervals; and of which groups the two of a reported pair are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.errors import PeopleError
from likewise.html import table
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import Interval, share
from likewise.people import People, cells, columns, frames
from likewise.validation import items, text

MOST_GROUPS = 50
FEWEST_PEOPLE = 30
"""A group of fewer people is no reference: its rate says little."""
MANY_VALUES = 10
Traits = Mapping[str, Sequence[str]]
"""Everybody's group in words, by the name of the trait."""
Totals = dict[tuple[str, int | None], tuple[int, int]]
"""How many people there are by group and label, and the sum of their scores."""


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
             f"{r.impact_ratio:.2f}",
             *("" if rate is None else rate.percent(1) for rate in (r.tpr, r.fpr) if labels))
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


FINE = 1 << 40


@dataclass(frozen=True)
class GroupCounts:
    """People by cell, which is a group by every trait and a label; and the sums of their scores.

    Sums are integers of 2^-40, so that they are the same in whatever order and pieces people come.
    """

    traits: tuple[str, ...]
    cells: Mapping[tuple[Any, ...], tuple[int, int]]

    @classmethod
    def of(
        cls, traits: Traits, chances: FloatArray, labels: IntArray | None, sizes: IntArray
    ) -> GroupCounts:
        """The counts of some people, each of whom may stand for several."""
        codes = codes_of(traits, len(chances))
        if labels is not None:
            codes = np.vstack([codes, labels])
        different, which = np.unique(codes, axis=1, return_inverse=True)
        fine = np.rint(chances * FINE).astype(np.int64)
        # In two parts, so that no sum leaves 64 bits.
        sums = np.zeros((3, different.shape[1]), dtype=np.int64)
        parts = sizes, sizes * (fine >> 20), sizes * (fine & 0xFFFFF)
        for row, values in zip(sums, parts, strict=True):
            np.add.at(row, which.ravel(), values)
        words = [sorted(set(groups)) for groups in traits.values()]
        cells = {}
        for column, (size, high, low) in zip(different.T.tolist(), sums.T.tolist(), strict=True):
            names = [groups[code] for groups, code in zip(words, column, strict=False)]
            label = None if labels is None else column[-1]
            cells[*names, label] = size, (high << 20) + low
        return cls(tuple(traits), cells)

    def joined(self, other: GroupCounts) -> GroupCounts:
        """The counts of these people and of others."""
        cells = dict(self.cells)
        for cell, (size, total) in other.cells.items():
            before = cells.get(cell, (0, 0))
            cells[cell] = before[0] + size, before[1] + total
        joined = GroupCounts(self.traits, cells)
        for name in self.traits:
            _check_few(name, joined.groups(name))
        return joined

    def groups(self, trait: str) -> list[str]:
        place = self.traits.index(trait)
        return sorted({cell[place] for cell in self.cells})

    def totals(self, places: Sequence[int]) -> Totals:
        """The people and the sums of scores of the groups by these traits; None is any label."""
        totals: Totals = {}
        for cell, (count, total) in self.cells.items():
            words = [cell[place] for place in places]
            if len(words) > 1:  # no two groups have the same words
                words = [f"“{word}”" if " and " in word else word for word in words]
            for label in {None, cell[-1]}:
                before = totals.get((" and ".join(words), label), (0, 0))
                totals[" and ".join(words), label] = before[0] + count, before[1] + total
        return totals


def group_rates(counts: GroupCounts, pairs: tuple[GroupPairs, ...] = ()) -> GroupRates | None:
    """Selection rates and impact ratios of groups; None where no group is named."""
    if not counts.traits:
        return None
    every = {name: [place] for place, name in enumerate(counts.traits)}
    if len(counts.traits) > 1:
        every[" and ".join(counts.traits)] = list(range(len(counts.traits)))
    rates = [rate for by, places in every.items() for rate in _compared(by, places, counts)]
    return GroupRates(tuple(rates), pairs, _notes(counts, rates))


def _compared(by: str, places: Sequence[int], counts: GroupCounts) -> list[GroupRate]:
    """The rates of a trait's groups, each beside the one that is their reference."""
    totals = counts.totals(places)
    means = {key: share(min(total / FINE, size), size) for key, (size, total) in totals.items()}
    sizes = {group: totals[group, None][0] for group in sorted({group for group, _ in totals})}
    enough = [means[group, None].value for group, size in sizes.items() if size >= FEWEST_PEOPLE]
    highest = max(enough or [means[group, None].value for group in sizes])
    return [
        GroupRate(
            by, group, size, rate := means[group, None], tpr=means.get((group, 1)),
            fpr=means.get((group, 0)),
            impact_ratio=rate.value / highest if highest > 0 else 1.0, small=size < FEWEST_PEOPLE,
        )
        for group, size in sizes.items()
    ]  # fmt: skip


def codes_of(
    traits: Traits, people: int, groups: Mapping[str, Sequence[str]] | None = None
) -> IntArray:
    """Everybody's place among the groups of each trait, in order or as listed: (traits, people)."""
    codes = np.empty((len(traits), people), dtype=np.int64)
    for row, (name, values) in zip(codes, traits.items(), strict=True):
        listed = sorted(set(values)) if groups is None else groups[name]
        places = {group: place for place, group in enumerate(listed)}
        if odd := set(values) - {*listed}:
            raise PeopleError(f"groups: {name!r} has {odd.pop()!r}, and had not when it was read.")
        row[:] = [places[value] for value in values]
    return codes


def between_groups(counts: GroupCounts, table: IntArray, estimate: Any) -> tuple[GroupPairs, ...]:
    """Reported pairs by the groups of both; ``estimate`` turns counts into those of all pairs."""
    listed = []
    for place, (name, reported) in enumerate(zip(counts.traits, table, strict=True)):
        groups, totals = counts.groups(name), counts.totals([place])
        sizes = [totals[group, None][0] for group in groups]
        for (i, j), count in np.ndenumerate(reported[: len(groups), : len(groups)]):
            of = sizes[i] * (sizes[i] - 1) // 2 if i == j else sizes[i] * sizes[j]
            listed.append(GroupPairs(name, groups[i], groups[j], estimate(int(count)), of))
    return tuple(listed)


def _notes(counts: GroupCounts, rates: Iterable[GroupRate]) -> tuple[str, ...]:
    """Remarks on how ratios are meant, and on columns that had better be cut into bands."""
    small = any(rate.small for rate in rates)
    marked = f"; * marks groups of fewer than {FEWEST_PEOPLE}" if small else ""
    notes = [
        f"A ratio is to the highest rate among groups of at least {FEWEST_PEOPLE} people{marked}."
    ]
    for name in counts.traits:
        different = {*counts.groups(name)} - {"missing"}
        if marks := sorted(filter(cells.is_mark, different)):
            notes.append(
                f"{name!r} has the group {marks[0]!r}. If that stands for a missing value, leave "
                f"these cells empty."
            )
        if same := cells.alike(sorted(different)):
            notes.append(
                f"{name!r} has groups that may be one: {', '.join(map(repr, same))}. Write them "
                f"alike."
            )
        if len(different) > MANY_VALUES and None not in map(cells.parse_number, different):
            notes.append(
                f"{name!r} is a number with {len(different)} different values: cut it into bands, "
                f"or groups become too small to compare."
            )
    return tuple(notes)


def read_traits(people: People, groups: Iterable[str] | Mapping[str, Any]) -> Traits:
    """Everybody's group by the name of the trait, in words."""
    remedy = "Name features, ['sex'], or give values by name, {'sex': [...]}."
    if columns.is_table(groups) and (frame := frames.as_frame(groups)) is not None:
        groups = {name: frame[name].to_native() for name in frame.columns}
    if not isinstance(groups, Mapping):
        names = [text("groups", name, remedy) for name in items("groups", groups, remedy)]
        chosen = {name: _feature_values(people, name) for name in names}
    else:
        texts = {text("groups", name, remedy): values for name, values in groups.items()}
        read = {n: columns.column_values(f"groups: {n!r}", v, people) for n, v in texts.items()}
        chosen = {name: list(map(group_word, values.tolist())) for name, values in read.items()}
    for name, values in chosen.items():
        _check_few(name, set(values))
    return chosen


def _check_few(name: str, groups: Collection[str]) -> None:
    if len(groups) > MOST_GROUPS:
        raise PeopleError(
            f"groups: {name!r} has {len(groups)} different values; at most {MOST_GROUPS} groups "
            f"can be compared. Cut it into bands."
        )


def _feature_values(people: People, name: str) -> list[str]:
    if name not in people.schema.names:
        raise PeopleError(
            f"groups: {name!r} is not among the features ({', '.join(people.schema.names)}). Give "
            f"its values in the order of the people: groups={{{name!r}: frame[{name!r}]}}."
        )
    values, places = np.unique(people.column(name), return_inverse=True)
    words = np.array([people.schema[name].say(v) for v in values.tolist()], dtype=object)
    return list(words[places.ravel()])


def group_word(value: Any) -> str:
    """A group as text; 1.0 is that of 1, since a column has floats where one of it is missing."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "missing" if columns.is_missing(value) else str(value).strip() or "missing"
