"""The result of an audit: numbers, words, a table, JSON, frames, figures and a page."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.errors import PeopleError, missing
from likewise.html import described, table
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.numerics.intervals import Interval
from likewise.people.cells import alike
from likewise.people.columns import column_values, is_missing, is_table
from likewise.people.frames import as_frame
from likewise.people.schema import People
from likewise.validation import items, text

if TYPE_CHECKING:
    from likewise.audits.price import Price


@dataclass(frozen=True)
class Finding:
    """A pair: who is favoured, by how much, and who is the pivot.

    ``excess`` is the gap less the pivot's distance: the pair is reported at any alpha below it. In
    a survey there are no distances, and both are None.
    """

    over: str
    under: str
    gap: float
    distance: float | None
    excess: float | None
    pivot: str | None
    objecting: tuple[str, ...]
    decisive: tuple[str, ...]
    features: Mapping[str, tuple[str, str]]
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The pair in a few sentences.

        >>> Finding("ann", "bo", 0.5, 0.1, 0.4, "j1", ("j1",), ("j1",),
        ...         {"Income": ("52", "50"), "Purpose": ("car", "car")}).words
        'ann is 50 points above bo. They differ in Income (52 and 50), and agree in Purpose. j1 \
sees them 10 points apart. Objecting: j1.'
        """
        differ = [f"{name} ({a} and {b})" for name, (a, b) in self.features.items() if a != b]
        agree = [name for name, (a, b) in self.features.items() if a == b]
        sentences = [f"{self.over} is {_points(self.gap)} above {self.under}."]
        parts = [f"They differ in {', '.join(differ)}"] if differ else ["They do not differ"]
        parts += [f"agree in {', '.join(agree)}"] if agree and differ else []
        sentences.append(", and ".join(parts) + ".")
        if self.pivot is not None and self.distance is not None:
            sentences.append(f"{self.pivot} sees them {_points(self.distance)} apart.")
        sentences.append(f"Objecting: {', '.join(self.objecting) or 'nobody'}.")
        sentences += [f"{name} says: {reason}" for name, reason in self.reasons.items()]
        return " ".join(sentences)


def _points(share: float) -> str:
    """A share in points, with the noun."""
    points = f"{100 * share:.1f}".removesuffix(".0")
    return f"{points} point" if points == "1" else f"{points} points"


@dataclass(frozen=True)
class Reported:
    """The pairs that a rule would report at an alpha, and the people in them."""

    alpha: float
    rule: str
    pairs: Interval
    people: Interval


@dataclass(frozen=True, eq=False)
class Audit:
    """The findings of a panel on scores that exist. Made by :func:`likewise.audit`.

    ``pairs`` is the number of pairs, ``looked_at`` the number that were scanned; where that is
    fewer, counts are estimates with intervals (:class:`~likewise.numerics.intervals.Interval`).
    ``size`` is the number of people where ``people`` are only their kinds, or those in findings.
    ``pivots``, ``decisive`` and ``objections`` count pairs by member, among those scanned;
    ``agreement`` is Krippendorff's alpha over these, None where it is undefined. Of a survey,
    ``pairs`` are those that were judged, ``asked`` the people in them, and alpha is None.
    """

    panel: str
    members: tuple[str, ...]
    alpha: float | None
    people: People
    scores: tuple[float, ...]
    pairs: int
    looked_at: int
    reported: Interval
    touched: Interval
    curve: tuple[Reported, ...]
    rules: tuple[Reported, ...]
    worst: tuple[Finding, ...]
    pivots: Mapping[str, int]
    decisive: Mapping[str, int]
    objections: Mapping[str, int]
    agreement: float | None
    asked: int | None = None
    size: int | None = None
    sample: Mapping[str, int] | None = None
    groups: GroupRates | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __len__(self) -> int:
        """The number of people."""
        return len(self.people) if self.size is None else self.size

    def facts(self) -> list[tuple[str, str]]:
        """The findings as names and values, for tables."""
        share = self.reported.value / self.pairs if self.pairs else 0.0
        people = len(self) if self.asked is None else self.asked
        facts = [("panel", self.panel)]
        if self.alpha is not None:
            facts.append(("alpha", f"{self.alpha:g}"))
        facts.append(("people", f"{len(self):,}"))
        if self.asked is not None:
            facts.append(("people in pairs that were judged", f"{people:,}"))
        facts += [
            ("pairs", f"{self.pairs:,}" + self._how()),
            ("reported pairs", f"{self.reported} ({share:.2%})"),
            ("people touched", f"{self.touched} ({self.touched.value / people:.1%})"),
        ]
        if self.agreement is not None:
            facts.append(("agreement (Krippendorff's alpha)", f"{self.agreement:.2f}"))
        for name in self.members:
            counts = [f"objects to {self.objections[name]:,}"]
            counts += [f"pivot of {self.pivots[name]:,}"] if self.pivots else []
            counts += [f"decisive for {self.decisive[name]:,}"]
            facts.append((name, ", ".join(counts)))
        facts += [
            (f"under {reported.rule}", f"{reported.pairs} pairs, {reported.people} people")
            for reported in self.rules
        ]
        if self.price is not None:
            facts += self.price.facts()
        return facts

    def _how(self) -> str:
        if self.asked is not None:
            return ", judged by people"
        if self.looked_at >= self.pairs:
            return ", all looked at"
        return f", of which {self.looked_at:,} were looked at"

    def __str__(self) -> str:
        """A table for a terminal: findings, then the worst pairs in words."""
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {value}" for name, value in facts]
        if self.groups is not None:
            lines += ["", str(self.groups)]
        if self.worst:
            lines += ["", "Worst pairs:", *(f"- {pair.words}" for pair in self.worst[:5])]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Audit of {len(self):,} people: {self.reported} pairs reported>"

    def _repr_html_(self) -> str:
        return described("Audit", self.facts())

    def to_dict(self) -> dict[str, Any]:
        """Everything but the features of people who are in no finding, as JSON has it."""
        plain = (
            "panel", "members", "alpha", "pairs", "looked_at", "pivots", "decisive", "objections",
            "agreement", "asked", "sample", "notes",
        )  # fmt: skip
        data: dict[str, Any] = {"people": len(self)}
        data |= {name: getattr(self, name) for name in plain}
        data |= {name: asdict(getattr(self, name)) for name in ("reported", "touched")}
        for name in ("curve", "rules", "worst"):
            data[name] = [asdict(item) for item in getattr(self, name)]
        for name in ("groups", "price"):
            part = getattr(self, name)
            data[name] = None if part is None else part.to_dict()
        return data

    def to_json(self) -> str:
        """The audit as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def to_frame(self, backend: str | None = None) -> Any:
        """The worst pairs as a frame, of the kind that the people came as unless one is named."""
        from likewise.people.frames import make_frame

        names = ("over", "under", "gap", "distance", "excess", "pivot")
        columns: dict[str, Sequence[Any]] = {
            name: [getattr(pair, name) for pair in self.worst] for name in names
        }
        columns["objecting"] = [", ".join(pair.objecting) for pair in self.worst]
        origin = self.people.origin
        return make_frame(columns, backend or (origin.backend if origin else None))

    def plot(self, ax: Any = None, kind: str = "alpha") -> Any:
        """Draw a figure on matplotlib axes: ``alpha``, ``rules``, ``members`` or ``price``."""
        from likewise.audits.report import draw

        return draw(self, ax, kind)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as one page that needs nothing else; written to a file where one is named."""
        from likewise.audits.report import audit_page, write_page

        page = audit_page(self)
        if path is not None:
            write_page(page, path)
        return page


def as_share(units: int) -> float:
    """An integer of 2^-20 as a number, for people."""
    return units / ONE


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
    people: People, chances: FloatArray, groups: Iterable[str] | Mapping[str, Any]
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
            y_pred=chances,
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


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _columns(people: People, groups: Iterable[str] | Mapping[str, Any]) -> dict[str, list[str]]:
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
