"""Two audits side by side: of two models on the same people, or of two months."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from likewise.html import table
from likewise.numerics.intervals import Interval, share

if TYPE_CHECKING:
    from likewise.audits import Audit, GroupRate

REPORTED = "reported pairs"
SHOWN = 6
_NUMBERED = re.compile(r"p\d+")


@dataclass(frozen=True)
class Change:
    """A figure before and after, and by how much it changed.

    The change has an interval where the people differ, for people such as these; where they are the
    same, it is a fact about them.
    """

    name: str
    before: float
    after: float
    change: Interval

    @property
    def clear(self) -> bool:
        """Test whether the interval of the change leaves 0 out."""
        return self.change.low > 0 or self.change.high < 0

    def row(self) -> tuple[str, str, str, str]:
        """The change in words, in points of a per cent."""
        change = self.change
        low, value, high = (f"{100 * x:+.2f}" for x in (change.low, change.value, change.high))
        spread = "" if change.low == change.high else f" ({low} to {high})"
        unclear = "" if self.clear or not spread else ", which may be chance"
        return (
            self.name, f"{100 * self.before:.2f} %", f"{100 * self.after:.2f} %",
            f"{value}{spread} points{unclear}",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Comparison:
    """The changes from one audit to another. Made by :meth:`Audit.compare`."""

    before: Audit
    after: Audit

    @property
    def same_people(self) -> bool:
        """Test whether both audits are of the same people with the same features."""
        data = [audit.basis.hashes.get("data") for audit in (self.before, self.after)]
        return data[0] is not None and data[0] == data[1]

    @property
    def _named(self) -> bool:
        """Test whether an id is the same person in both: p1, p2, … are others in another table."""
        numbered = all(_NUMBERED.fullmatch(person.id) for person in self.after.people)
        return self.same_people or not numbered

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on whatever was not the same in both audits."""
        before, after = self.before, self.after
        old, new = before.basis, after.basis
        rates = [_rates(audit) for audit in (before, after)]
        alone = [": ".join(group) for group in sorted(rates[0].keys() ^ rates[1].keys())]
        differ = [
            (old.panel != new.panel, "The panels differ."),
            ((before.alpha is None) != (after.alpha is None),
             "One audit is of judgements of some pairs, the other of metrics on all of them."),
            (None not in (before.alpha, after.alpha) and before.alpha != after.alpha,
             f"Alpha was {before.alpha} and is {after.alpha}."),
            (old.schema != new.schema, "The schemas differ."),
            (old.versions != new.versions, "The versions differ."),
            (all(rates) and bool(alone),
             f"Groups of one audit alone are not compared: {', '.join(alone[:SHOWN])}"
             f"{', …' if len(alone) > SHOWN else '.'}"),
        ]  # fmt: skip
        if self.same_people:
            who = "Both audits are of the same people: changes are counted."
        elif self._named and {p.id for p in before.people} == {p.id for p in after.people}:
            who = (
                "The ids are the same, their features are not: intervals of 95 % are for people "
                "such as these."
            )
        else:
            who = "The people differ: intervals of 95 % are for people such as these."
        return (who, *(words for is_so, words in differ if is_so))

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The share of reported pairs, then the rates of the groups that both audits have."""
        before, after = (
            audit.share if self.same_people else rate_of_pairs(audit)
            for audit in (self.before, self.after)
        )
        changes = [self._change(REPORTED, before, after)]
        old, new = (_rates(audit) for audit in (self.before, self.after))
        for by, group in old:
            if (rate := new.get((by, group))) is not None:
                name = f"selected, {by}: {group}"
                changes.append(self._change(name, old[by, group].rate, rate.rate))
        return tuple(changes)

    @property
    def worse(self) -> bool:
        """Test whether the share of reported pairs has risen, beyond chance."""
        return self.changes[0].change.low > 0

    def _change(self, name: str, before: Interval, after: Interval) -> Change:
        change = after.minus(before)
        if self.same_people and name != REPORTED:  # no sample of people plays a part
            change = Interval.exactly(change.value)
        return Change(name, before.value, after.value, change)

    @cached_property
    def people(self) -> tuple[tuple[str, int, int], ...]:
        """In how many reported pairs each person was and is, where that changed; most change first.

        Only of people who are in both audits, by ids of their own.
        """
        times = {person.id: person.times for person in self.before.people if self._named}
        changed = [
            (person.id, times[person.id], person.times)
            for person in self.after.people
            if times.get(person.id, person.times) != person.times
        ]
        return tuple(sorted(changed, key=lambda row: (-abs(row[2] - row[1]), row[0])))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """The changes in words."""
        return [change.row() for change in self.changes]

    def heads(self) -> tuple[str, str, str, str]:
        """The names of the columns of :meth:`rows`."""
        named = [(audit.basis.model, audit.basis.date[:10]) for audit in (self.before, self.after)]
        before, after = (" ".join(filter(None, words)) for words in named)
        return "", f"before ({before})", f"after ({after})", "change"

    def __str__(self) -> str:
        rows = [self.heads(), *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        return table(" ".join(self.notes), self.heads(), self.rows())

    def to_html(self, path: Any = None) -> str:
        """The page of the later audit, which says what has changed since the earlier one."""
        return self.after.to_html(path, before=self.before)


def _rates(audit: Audit) -> dict[tuple[str, str], GroupRate]:
    rates = () if audit.groups is None else audit.groups.rates
    return {(rate.by, rate.group): rate for rate in rates}


def rate_of_pairs(audit: Audit) -> Interval:
    """The share of reported pairs, for people such as these.

    Pairs that share a person are not independent. A mean over all pairs varies no more than one
    over pairs of which no two do (Hoeffding 1963), and there are half as many of these as people.
    """
    people = audit.population if audit.asked is None else audit.asked
    apart = max(1, min(people // 2, audit.looked_at))
    return share(min(audit.share.value, 1.0) * apart, apart)
