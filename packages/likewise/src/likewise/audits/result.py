"""The result of an audit: a description from which words, tables, JSON and pages are made."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from likewise.audits import formats
from likewise.audits.basis import Basis
from likewise.audits.comparison import Comparison
from likewise.audits.groups import GroupPairs, GroupRates
from likewise.audits.scores import Rows
from likewise.errors import AuditError, ParameterError
from likewise.html import described
from likewise.numerics.fixed_point import ONE
from likewise.numerics.intervals import Interval
from likewise.panel import Rule
from likewise.people.frames import make_frame
from likewise.validation import choice, instance, within

FORMAT = "likewise-audit/1"


@dataclass(frozen=True)
class Price:
    """Errors of a person, from 0 to 1, of policies on the same people.

    ``model`` is that of the model whose scores are taken as chances, ``model_cut`` that of the
    model which approves from 1/2 on (None where the scores are decisions already).
    ``best_fair`` is the least error of a policy that no pair would be reported under; ``best`` is
    that of the class without a panel. ``learner`` is the mean over ``rounds`` rounds,
    ``learner_late`` that of the last quarter, ``learner_violations`` the share of those rounds
    with a violation, and ``learner_reported`` the share of pairs that would be reported under the
    policy it has at the end. Without an alpha above 0 there is no learner, and these are None.
    """

    people: int
    model: float
    model_cut: float | None
    best: float
    best_fair: float
    learner: float | None
    learner_late: float | None
    learner_violations: float | None
    learner_reported: float | None
    rounds: int
    hypotheses: str

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, for tables."""
        decided = self.model_cut is None
        errors = {
            "the model" if decided else "the model, scores as chances": self.model,
            "the model, approving from 0.5 on": self.model_cut,
            "the best policy without a panel": self.best,
            "the best policy that would pass": self.best_fair,
        }
        facts = [
            (f"error of {n}", f"{error:.3f}") for n, error in errors.items() if error is not None
        ]
        if self.learner is not None:
            late = f"{self.learner_late:.3f} (all {self.rounds:,} rounds: {self.learner:.3f})"
            unfair, reported = self.learner_violations or 0.0, self.learner_reported or 0.0
            facts += [
                ("error of the learner, last quarter", late),
                ("rounds in violation, last quarter", f"{100 * unfair:.1f} %"),
                ("pairs reported under its last policy", f"{100 * reported:.2f} %"),
            ]
        return [*facts, ("priced on", f"{self.people:,} people; {self.hypotheses}")]


@dataclass(frozen=True)
class Finding:
    """A pair: who is favoured, by how much, and who is the pivot.

    ``excess`` is the gap less the pivot's distance: the pair is reported at any alpha below it. In
    a survey there are no distances, and both are None. ``features`` has both people's in words,
    ``differences`` how far they differ, ``groups`` their groups; the favoured one comes first.
    """

    over: str
    under: str
    scores: tuple[float, float]
    gap: float
    distance: float | None
    excess: float | None
    reported: bool
    pivot: str | None
    objecting: tuple[str, ...]
    decisive: tuple[str, ...]
    features: Mapping[str, tuple[str, str]]
    differences: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The pair in a few sentences.

        >>> Finding("ann", "bo", (0.8, 0.3), 0.5, 0.1, 0.4, True, "j1", ("j1",), ("j1",),
        ...         {"Income": ("52", "50"), "Purpose": ("car", "car")},
        ...         {"Income": "2 apart"}).words
        'ann is 50 points above bo. They differ in Income (52 and 50), and agree in Purpose. j1 \
sees them 10 points apart. Objecting: j1.'
        """
        differ = [f"{name} ({' and '.join(self.features[name])})" for name in self.differences]
        agree = [name for name in self.features if name not in self.differences]
        parts = [f"They differ in {', '.join(differ)}"] if differ else ["They do not differ"]
        parts += [f"agree in {', '.join(agree)}"] if agree and differ else []
        first, *rest = self._sentences()
        return " ".join([first, ", and ".join(parts) + ".", *rest])

    @property
    def summary(self) -> str:
        """The pair in a few sentences, without the features."""
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        sentences = [f"{self.over} is {_points(self.gap)} above {self.under}."]
        if self.pivot is not None and self.distance is not None:
            sentences.append(f"{self.pivot} sees them {_points(self.distance)} apart.")
        sentences.append(f"Objecting: {', '.join(self.objecting) or 'nobody'}.")
        return sentences + [f"{name} says: {reason}" for name, reason in self.reasons.items()]

    def changes(self, alpha: float | None) -> list[str]:
        """Each of the changes that would let the pair pass, where it is reported.

        >>> pair = Finding("ann", "bo", (0.8, 0.3), 0.5, 0.1, 0.4, True, "j1", ("j1",), ("j1",), {})
        >>> for change in pair.changes(0.2): print(change)
        The score of ann is at most 60 %, or that of bo at least 50 %, or both move towards each \
other: the gap is 30 points at most (50 now).
        Alpha is 0.4 or more (0.2 now).
        j1 sees them 30 points apart or more (10 now).
        """
        if not self.reported:
            return []
        voters = self.decisive or self.objecting
        who = " or ".join(voters) if self.decisive else f"Enough of {', '.join(voters)}"
        if self.distance is None or alpha is None or self.excess is None:
            return [
                f"{self.over} and {self.under} have the same score.",
                f"{who} {'does' if self.decisive else 'do'} not object.",
            ]
        allowed = self.distance + checked_alpha(alpha)
        high, low = self.scores
        sees = "sees" if self.decisive else "see"
        return [
            f"The score of {self.over} is at most {_number(_down(low + allowed))} %, or that of "
            f"{self.under} at least {_number(_up(high - allowed))} %, or both move towards each "
            f"other: the gap is {_points(_down(allowed))} at most ({_number(self.gap)} now).",
            f"Alpha is {_up(self.excess):g} or more ({alpha:g} now).",
            f"{who} {sees} them {_points(_up(self.gap - alpha))} apart or more"
            + (f" ({_number(self.distance)} now)." if voters == (self.pivot,) else "."),
        ]


def checked_alpha(alpha: Any) -> float:
    if alpha is None:
        raise ParameterError("alpha", "must be given for a panel", None, "Write alpha=0.2.")
    return abs(within("alpha", alpha, 0, 1, "It is a difference of scores."))  # there is no -0


def _number(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0")


def _rounded(share: float) -> str:
    """A share in per cent, with two digits where it is small."""
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _points(share: float) -> str:
    """A share in points, with the noun."""
    points = _number(share)
    return f"{points} point" if points == "1" else f"{points} points"


def _down(share: float) -> float:
    """The share in thousandths, rounded down; what floats add to a tie does not count."""
    return math.floor(1000 * share + 1e-3) / 1000


def _up(share: float) -> float:
    return -_down(-share)


@dataclass(frozen=True)
class Person:
    """A person who was compared with everybody: how often they are in a reported pair, and how.

    ``above`` and ``below`` count the reported pairs in which theirs is the higher or the lower
    score. ``worst_with`` is with whom the excess is largest (in a survey, the gap), and ``excess``
    how large it is. ``groups`` are theirs, by trait. ``count`` people are alike, whom this one
    stands for.
    """

    id: str
    score: float
    above: int
    below: int
    worst_with: str | None
    excess: float | None
    groups: Mapping[str, str] = field(default_factory=dict)
    count: int = 1

    @property
    def times(self) -> int:
        """In how many reported pairs they are."""
        return self.above + self.below


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

    ``population`` is the number of people, ``pairs`` that of their pairs, ``looked_at`` how many of
    these were scanned; where that is fewer, all counts of pairs are estimates for all of them, with
    intervals of 95 % (:class:`~likewise.numerics.intervals.Interval`); those of the curve hold at
    every alpha at once. ``people`` are those who were compared with everybody: all, or those drawn.
    ``pivots``, ``decisive`` and ``objections`` count pairs by member; ``agreement`` is
    Krippendorff's alpha over the pairs scanned, None where it is undefined. Of a survey, ``pairs``
    are those that were judged, ``asked`` the people in them, and alpha is None.
    """

    basis: Basis
    panel: str
    members: tuple[str, ...]
    alpha: float | None
    population: int
    pairs: int
    looked_at: int
    reported: Interval
    touched: Interval
    curve: tuple[Reported, ...]
    rules: tuple[Reported, ...]
    worst: tuple[Finding, ...]
    people: tuple[Person, ...]
    pivots: Mapping[str, Interval]
    decisive: Mapping[str, Interval]
    objections: Mapping[str, Interval]
    agreement: float | None
    asked: int | None = None
    sample: Mapping[str, int] | None = None
    groups: GroupRates | None = None
    price: Price | None = None
    notes: tuple[str, ...] = ()
    format: str = FORMAT
    _pairs_of: Callable[[str], tuple[Finding, ...]] | None = field(default=None, repr=False)
    _backend: str | None = field(default=None, repr=False)

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of ``people``."""
        return tuple(person.score for person in self.people)

    @property
    def share(self) -> Interval:
        """The share of pairs that are reported."""
        return self.reported.times(1 / max(1, self.pairs))

    @property
    def others(self) -> int:
        """With how many others a person could be in a pair."""
        return max(1, (self.population if self.asked is None else self.asked) - 1)

    @cached_property
    def often(self) -> tuple[Person, ...]:
        """People by how often they are in a reported pair, the most often first."""
        return tuple(sorted(self.people, key=lambda p: (-p.times, -p.below, p.id)))

    def pairs_of(self, person: str) -> tuple[Finding, ...]:
        """The reported pairs of a person with everybody, the worst first; of people in memory."""
        if self._pairs_of is None:
            raise AuditError(
                f"The pairs of {person!r} need the people themselves. An audit that was read from "
                f"a file, or drew from people who are not in memory, does not have them. Audit "
                f"them in memory: schema.people(…)."
            )
        return self._pairs_of(person)

    def headlines(self) -> list[tuple[str, str, str]]:
        """The figures that matter most: what they are, how large, and what that means."""
        total = f"{self.pairs:,}"
        where = "that people judged" if self.alpha is None else f"at alpha = {self.alpha:g}"
        lines = [("Pairs reported", self.share.percent(), f"{self.reported} of {total}, {where}")]
        if self.people and self.often[0].times:
            lines += [self._typical(), self._sides()]
        lines += [self._farthest()] if self.worst and self.worst[0].excess is not None else []
        if self.groups is not None and (between := _most_one_sided(self.groups.pairs)):
            lines.append(between)
        if self.price is not None:
            lines.append((
                "The price", f"{self.price.best:.3f} → {self.price.best_fair:.3f}",
                "error of the best policy without a panel, and of the best that would pass",
            ))  # fmt: skip
        return lines

    def _typical(self) -> tuple[str, str, str]:
        ranks = np.cumsum([p.count for p in self.often])
        middle = self.often[int(np.searchsorted(ranks, ranks[-1] / 2))].times / self.others
        most = self.often[0]
        drawn = "" if self.sample is None else f", of {len(self.people)} drawn"
        return (
            "A typical person",
            f"{_rounded(middle)} % of others",
            f"are in a reported pair with the median person{drawn}; "
            f"{_rounded(most.times / self.others)} % are in one with {most.id}, the most",
        )

    def _sides(self) -> tuple[str, str, str]:
        lower = sum(p.count for p in self.people if p.below and not p.above)
        higher = sum(p.count for p in self.people if p.above and not p.below)
        total = sum(p.count for p in self.people)
        return (
            "Always the lower one",
            f"{lower:,} of {total:,} people",
            f"with the lower score in every reported pair they are in; {higher:,} with the higher "
            f"one in every",
        )

    def _farthest(self) -> tuple[str, str, str]:
        worst = self.worst[0]
        excess = worst.excess or 0.0
        many, than = ("fewer", " than") if excess < 0 else ("too many", ", beyond what")
        words = f"lie between {worst.over} and {worst.under}{than} the panel sees between them"
        return "The worst pair", f"{_points(abs(excess))} {many}", words

    def remedies(self) -> list[str]:
        """Changes that would let more pairs pass: other scores, another alpha, another panel."""
        worst = self.worst[0] if self.worst else None
        if not self.reported.value and not (worst and worst.reported):
            where = "" if self.sample is None else " of the sample"
            return [f"Nothing has to change: no pair{where} is reported."]
        sentences = [] if worst is None else [
            f"The worst pair, {worst.over} and {worst.under}, passes if one of these is so: "
            + " Or: ".join(worst.changes(self.alpha))
        ]  # fmt: skip
        if worst is not None and worst.excess is not None:
            limits = "" if self.sample is None else ", as far as the sample shows"
            sentences.append(f"No pair is reported from alpha = {_up(worst.excess):g} on{limits}.")
        sentences += [
            f"Without the objections of {name}, {self.decisive[name]} pairs fewer are reported."
            for name in self.members
        ]
        if self.price is not None:
            sentences.append(
                f"A policy that nobody would report is wrong for {100 * self.price.best_fair:.1f} "
                f"% of people at best, the best one without a panel for "
                f"{100 * self.price.best:.1f} %, this model for {100 * self.price.model:.1f} % "
                f"({self.price.hypotheses})."
            )
        return sentences

    def facts(self) -> list[tuple[str, str]]:
        """The findings as names and values, for tables."""
        people = self.population if self.asked is None else self.asked
        if self.asked is not None:
            how = "judged by people"
        elif self.looked_at >= self.pairs:
            how = "all looked at"
        else:
            how = f"of which {self.looked_at:,} were looked at"
        facts = [
            ("model", self.basis.model or None),
            ("panel", self.panel),
            ("alpha", None if self.alpha is None else f"{self.alpha:g}"),
            ("people", f"{self.population:,}"),
            *((f"left out: {why}", f"{n:,}") for why, n in self.basis.left_out.items()),
            ("people in pairs that were judged", None if self.asked is None else f"{people:,}"),
            ("pairs", f"{self.pairs:,}, {how}"),
            ("reported pairs", f"{self.reported} ({100 * self.share.value:.2f} %)"),
            ("people touched", f"{self.touched} ({100 * self.touched.value / people:.1f} %)"),
            *((name, f"{figure} {words}") for name, figure, words in self.headlines()[1:3]),
            ("agreement (Krippendorff's alpha)",
             None if self.agreement is None else f"{self.agreement:.2f}"),
            *((name, self._part_of(name)) for name in self.members),
            *((f"under {r.rule}", f"{r.pairs} pairs, {r.people} people") for r in self.rules),
            *(() if self.price is None else self.price.facts()),
        ]  # fmt: skip
        return [(name, value) for name, value in facts if value is not None]

    def _part_of(self, member: str) -> str:
        counts = {"objects to": self.objections, "pivot of": self.pivots,
                  "decisive for": self.decisive}  # fmt: skip
        return ", ".join(f"{does} {of[member]}" for does, of in counts.items() if of)

    def __str__(self) -> str:
        """A table for a terminal: findings, then the worst pairs in words."""
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {value}" for name, value in facts]
        if self.groups is not None:
            lines += ["", str(self.groups)]
        if self.worst:
            none = "" if self.reported.value else " (none of them is reported)"
            lines += ["", f"Worst pairs{none}:", *(f"- {pair.words}" for pair in self.worst[:5])]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def __len__(self) -> int:
        return self.population

    def __repr__(self) -> str:
        return f"<Audit of {self.population:,} people: {self.reported} pairs reported>"

    def _repr_html_(self) -> str:
        return described("Audit", self.facts())

    def with_files(self, paths: Iterable[str | os.PathLike[str]]) -> Audit:
        """The audit with the hashes of the files that it was made from, by their names."""
        files = {Path(p).name: sha256(Path(p).read_bytes()).hexdigest() for p in paths}
        hashes = {**self.basis.hashes, **files}
        return replace(self, basis=replace(self.basis, hashes=hashes))

    def compare(self, after: Audit) -> Comparison:
        """Compare with a later audit: of another model, or of another month."""
        instance("after", after, Audit, "Give the result of a later audit.")
        return Comparison(self, after)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The audit as one JSON object; :meth:`json_schema` says what is in it.

        That is everything but the features of people who are in no finding.
        """
        text = json.dumps(formats.plain(self), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_file(path, text.encode())
        return text

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON schema of :meth:`to_json`."""
        return formats.schema_of(Audit)

    @classmethod
    def from_json(cls, text: str | bytes) -> Audit:
        """Read what :meth:`to_json` wrote."""
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise AuditError(f"This is not an audit as JSON: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise AuditError(
                f"This is not an audit of the format {FORMAT!r}. Write it anew: result.to_json()."
            )
        audit: Audit = formats.read(Audit, data, "audit")
        return audit

    def tables(self) -> dict[str, formats.Table]:
        """Everything as tables by name, for spreadsheets and frames."""
        return formats.tables_of(self)

    def to_csv(self, path: str | os.PathLike[str]) -> list[str]:
        """Write a CSV file for each table, ``audit-pairs.csv`` for ``audit.csv``; return names."""
        root, ending = os.path.splitext(path)
        names = []
        for name, table in self.tables().items():
            names.append(f"{root}-{name.replace(' ', '-')}{ending}")
            write_file(names[-1], formats.csv_text(*table).encode("utf-8-sig"))
        return names

    def to_xlsx(self, path: str | os.PathLike[str]) -> None:
        """Write a workbook with a sheet for each table."""
        write_file(path, formats.workbook(self.tables()))

    def to_frame(self, backend: str | None = None, table: str = "pairs") -> Any:
        """A table as a frame, of the kind that the people came as unless one is named."""
        tables = self.tables()
        heads, rows = tables[choice("table", table, tuple(tables), "It is one of the tables.")]
        columns = {head: [row[place] for row in rows] for place, head in enumerate(heads)}
        return make_frame(columns, backend or self._backend)

    def plot(self, ax: Any = None, kind: str = "alpha") -> Any:
        """Draw a figure on matplotlib axes: ``alpha``, ``rules``, ``members`` or ``price``."""
        from likewise.audits.report import draw

        return draw(self, ax, kind)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, before: Audit | None = None
    ) -> str:
        """The audit as one page that needs nothing else; written to a file where one is named.

        With ``before``, an earlier audit, the page also says what has changed since.
        """
        from likewise.audits.report import audit_page

        page = audit_page(self, None if before is None else before.compare(self))
        if path is not None:
            write_file(path, page.encode())
        return page


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(data)
    except (OSError, TypeError, ValueError) as error:
        raise AuditError(f"The audit was not written to {path!r}: {error}") from error


def _most_one_sided(pairs: Sequence[GroupPairs]) -> tuple[str, str, str] | None:
    """The two groups of which one is the lower most often, by the number of pairs."""
    counts = {(p.by, p.over, p.under): p.pairs.value for p in pairs}
    excess = {(b, o, u): n - counts[b, u, o] for (b, o, u), n in counts.items() if o != u}
    by, over, under = max(excess, key=lambda key: excess[key], default=("", "", ""))
    if not by or excess[by, over, under] <= 0:
        return None
    both = counts[by, over, under] + counts[by, under, over]
    return (
        f"Between groups of {by}",
        f"“{under}” below “{over}”",
        f"in {100 * counts[by, over, under] / both:.0f} % of their {both:,.0f} reported pairs",
    )


def finding(
    rows: Rows, over: int, under: int, rule: Rule, members: tuple[str, ...], votes: Any,
    *, distance: int | None = None, **fields: Any,
) -> Finding:  # fmt: skip
    """The finding on two people, the favoured one first, of whom members voted so."""
    people, gap = rows.people, int(rows.units[over] - rows.units[under])
    first, second = (float(rows.chances[place]) for place in (over, under))

    def named(flags: Any) -> tuple[str, ...]:
        return tuple(name for name, flag in zip(members, flags, strict=True) if flag)

    return Finding(
        people.ids[over], people.ids[under], (first, second), gap / ONE,
        None if distance is None else distance / ONE,
        None if distance is None else (gap - distance) / ONE,
        objecting=named(votes), decisive=named(rule.decisive(votes, members)),
        features=people.say_apart(over, under), differences=people.differences(over, under),
        groups={name: (values[over], values[under]) for name, values in rows.traits.items()},
        **fields,
    )  # fmt: skip
