"""A survey: judgements of real people on pairs, from a table of who was asked about whom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from likewise.audits.basis import Basis
from likewise.audits.groups import group_rates
from likewise.audits.result import Audit, Finding, Person, finding
from likewise.audits.scores import Rows
from likewise.errors import AuditError, LikewiseError, shown
from likewise.numerics.intervals import Interval
from likewise.panel import Pair, Rule, as_rule, krippendorff_alpha, objections
from likewise.people import cells, columns, tables
from likewise.validation import items, text

YES = frozenset({"1", "yes", "true", "y", "t", "x", "objects", "unfair"})
NO = frozenset({"0", "no", "false", "n", "f", "accepts", "fair"})


@dataclass(frozen=True, eq=False)
class Survey:
    """Judgements of people on pairs: by pair, whether each member who was asked objects.

    ``rule`` joins them; who was not asked about a pair does not object to it.

    >>> survey = Survey.from_rows([("ann", "bo", "j1", 1), ("bo", "ann", "j2", 0)], rule="any")
    >>> survey.members, survey.judgements[Pair("ann", "bo")]
    (('j1', 'j2'), {'j1': True, 'j2': False})
    """

    judgements: Mapping[Pair, Mapping[str, bool]]
    rule: Rule
    reasons: Mapping[tuple[Pair, str], str]

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Everybody who judged a pair, in the order of the table."""
        return tuple(dict.fromkeys(name for votes in self.judgements.values() for name in votes))

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[Any]], rule: Rule | str) -> Survey:
        """A survey from rows: person, other person, member, objects, and perhaps a reason."""
        judged: dict[Pair, dict[str, bool]] = {}
        reasons: dict[tuple[Pair, str], str] = {}
        for number, row in enumerate(items("Survey.rows", rows, "List them."), start=1):
            values = items(f"Survey row {number}", row, "Write (person, other, member, objects).")
            if len(values) not in (4, 5):
                raise AuditError(
                    f"Row {number} of the survey must be a person, another person, a member and "
                    f"whether they object; got {shown(row)}."
                )
            if odd := [name for name in values[:2] if columns.id_text(name) is None]:
                raise AuditError(
                    f"Row {number} of the survey names {shown(odd[0])}, and ids are text or "
                    f"integers: write it as the people's ids are."
                )
            pair = Pair.of([str(columns.id_text(name)) for name in values[:2]])
            member = text(f"Survey row {number}: member", values[2], "Names are text: str(…).")
            if member in judged.setdefault(pair, {}):
                raise AuditError(
                    f"Row {number} of the survey: {member!r} has judged {list(pair)} before. Keep "
                    f"one of the two, or see likewise.panel.consistency."
                )
            judged[pair][member] = _truth(values[3], number)
            if len(values) == 5 and values[4]:
                reasons[pair, member] = str(values[4])
        if not judged:
            raise AuditError("The survey has no rows, so nobody was asked.")
        survey = cls(judged, as_rule(rule), reasons)
        cells.warn_of_alike(survey.members)
        survey.rule.check(survey.members)
        return survey

    @classmethod
    def read_csv(
        cls, path: str | os.PathLike[str], rule: Rule | str, *, person: str = "person",
        other: str = "other", member: str = "member", objects: str = "objects",
        reason: str = "reason",
    ) -> Survey:  # fmt: skip
        """A survey from a CSV file, a line for every judgement; its columns may have any names."""
        named = (person, other, member, objects)
        try:
            optional = reason == "reason"  # a column that was named must be there
            rows = tables.read_table(path, named if optional else (*named, reason))
        except (LikewiseError, TypeError, ValueError) as error:
            raise AuditError(
                f"No survey was read. {error} Other names of columns are given as person=…, "
                f"other=…, member=…, objects=…, reason=…."
            ) from error
        return cls.from_rows(
            [[*(row[name] for name in named), row.get(reason) or ""] for row in rows], rule
        )

    def votes(self, pair: Pair) -> list[bool]:
        """The votes of all members on a pair; a member who was not asked does not object."""
        return [self.judgements[pair].get(name, False) for name in self.members]

    def fires(self, pair: Pair) -> bool:
        """Test whether the panel reports a pair."""
        return bool(self.rule.fires(self.votes(pair), self.members))

    def spec(self) -> dict[str, Any]:
        """The survey as JSON, without the judgements: members, rule, how many there are."""
        judgements = sum(map(len, self.judgements.values()))
        return {"members": list(self.members), "rule": str(self.rule), "judgements": judgements}


def survey_audit(rows: Rows, survey: Survey, notes: Iterable[str], basis: Basis) -> Audit:
    """Judgements of people, joined by their rule: no distances, so no curve and no price."""
    objections.check_among(survey.judgements, rows.people.places, "The survey asks about")
    fired = [_finding(rows, survey, pair) for pair in survey.judgements if survey.fires(pair)]
    findings = [pair for pair in fired if pair.gap]
    findings.sort(key=lambda pair: (-pair.gap, pair.over, pair.under))
    if equal := len(fired) - len(findings):
        notes = [*notes, f"{equal:,} of the pairs objected to have equal scores: not reported."]
    asked = dict.fromkeys(person for pair in survey.judgements for person in pair)
    if not survey.rule.can_fire(survey.members):
        notes = [*notes, f"The rule {survey.rule} reports no pair, even if all members object."]
    theirs: dict[str, list[Finding]] = {person: [] for person in rows.people.ids}
    for found in findings:
        theirs[found.over].append(found)
        theirs[found.under].append(found)
    judged = [_person(rows, name, theirs[name]) for name in asked]
    judgements, exactly = survey.judgements.values(), Interval.exactly
    return Audit(
        panel=f"{', '.join(survey.members)}: {survey.rule}", members=survey.members, alpha=None,
        population=len(rows.people), asked=len(asked), pairs=len(judgements),
        looked_at=len(judgements), reported=exactly(len(findings)),
        touched=exactly(sum(person.times > 0 for person in judged)), curve=(), rules=(),
        worst=tuple(findings), people=tuple(judged), pivots={},
        objections={n: exactly(sum(v.get(n, False) for v in judgements)) for n in survey.members},
        decisive={n: exactly(sum(n in p.decisive for p in findings)) for n in survey.members},
        agreement=krippendorff_alpha(judgements),
        notes=(
            "People have no distances: there is no curve over alpha, no pivot and no price.",
            *notes,
        ),
        basis=basis, groups=group_rates(rows.groups), _backend=rows.backend,
        _pairs_of=partial(_pairs_of, theirs),
    )  # fmt: skip


def _pairs_of(theirs: Mapping[str, list[Finding]], person: str) -> tuple[Finding, ...]:
    if person not in theirs:
        raise AuditError(f"{person!r} is not among the people. Check the id.")
    return tuple(theirs[person])


def _person(rows: Rows, name: str, pairs: Sequence[Finding]) -> Person:
    """Somebody in pairs that were judged, with their reported ones, of which the first is worst."""
    place = rows.people.places[name]
    mates = [pair.under if pair.over == name else pair.over for pair in pairs]
    above = sum(name == pair.over for pair in pairs)
    return Person(
        name, float(rows.chances[place]), above, len(pairs) - above, next(iter(mates), None), None,
        rows.groups_of(place),
    )  # fmt: skip


def _finding(rows: Rows, survey: Survey, pair: Pair) -> Finding:
    places = [rows.people.places[person] for person in pair]
    under, over = sorted(places, key=lambda place: rows.chances[place])
    given = {name: survey.reasons.get((pair, name)) for name in survey.judgements[pair]}
    return finding(
        rows, over, under, survey.rule, survey.members, survey.votes(pair), reported=True,
        pivot=None, reasons={name: why for name, why in given.items() if why},
    )  # fmt: skip


def _truth(value: Any, number: int) -> bool:
    if isinstance(value, bool | int) and value in (0, 1):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in YES and word not in NO:
        raise AuditError(
            f"Row {number} of the survey must say yes or no (1 or 0, true or false); got "
            f"{shown(value)}."
        )
    return word in YES
