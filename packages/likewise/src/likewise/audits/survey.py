"""A survey: judgements of real people on pairs, from a table of who was asked about whom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.audits.groups import Traits
from likewise.audits.result import Audit, Finding, Person, as_share, backend_of, named, side_by_side
from likewise.audits.scores import score_units
from likewise.errors import AuditError, LikewiseError, shown
from likewise.numerics.fixed_point import FloatArray
from likewise.numerics.intervals import Interval
from likewise.panel.agreement import krippendorff_alpha
from likewise.panel.objections import Pair
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import Rule
from likewise.people.cells import warn_of_alike
from likewise.people.columns import id_text
from likewise.people.schema import People
from likewise.people.tables import read_table
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
            if odd := [name for name in values[:2] if id_text(name) is None]:
                raise AuditError(
                    f"Row {number} of the survey names {shown(odd[0])}, and ids are text or "
                    f"integers: write it as the people's ids are."
                )
            pair = Pair.of([str(id_text(name)) for name in values[:2]])
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
        warn_of_alike(survey.members)
        survey.rule.check(survey.members)
        return survey

    @classmethod
    def read_csv(
        cls,
        path: str | os.PathLike[str],
        rule: Rule | str,
        *,
        person: str = "person",
        other: str = "other",
        member: str = "member",
        objects: str = "objects",
        reason: str = "reason",
    ) -> Survey:
        """A survey from a CSV file, a line for every judgement; its columns may have any names."""
        columns = (person, other, member, objects)
        try:
            optional = reason == "reason"  # a column that was named must be there
            rows = read_table(path, columns if optional else (*columns, reason))
        except (LikewiseError, TypeError, ValueError) as error:
            raise AuditError(
                f"No survey was read. {error} Other names of columns are given as person=…, "
                f"other=…, member=…, objects=…, reason=…."
            ) from error
        return cls.from_rows(
            [[*(row[name] for name in columns), row.get(reason) or ""] for row in rows], rule
        )

    def check_people(self, ids: Iterable[str]) -> None:
        """Refuse a survey about somebody who is not among the people."""
        people = set(ids)
        for pair in self.judgements:
            for person in pair:
                if person not in people:
                    raise AuditError(
                        f"The survey asks about {person!r}, who is not among the people. Correct "
                        f"the id, or leave the row out."
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


def survey_audit(
    people: People,
    chances: FloatArray,
    survey: Survey,
    traits: Traits,
    *,
    notes: Iterable[str],
    **fields: Any,
) -> Audit:
    """Judgements of people, joined by their rule: no distances, so no curve and no price."""
    survey.check_people(people.ids)
    units = score_units(chances)
    places = {name: place for place, name in enumerate(people.ids)}
    fired = [pair for pair in survey.judgements if survey.fires(pair)]
    findings = [
        _finding(people, chances, survey, traits, pair, places)
        for pair in fired
        if units[places[pair.first]] != units[places[pair.second]]
    ]
    if equal := len(fired) - len(findings):
        notes = [*notes, f"{equal:,} of the pairs objected to have equal scores: not reported."]
    findings.sort(key=lambda pair: (-pair.gap, pair.over, pair.under))
    asked = list(dict.fromkeys(person for pair in survey.judgements for person in pair))
    judged = [
        Person(
            name, float(chances[places[name]]), sum(name == p.over for p in findings),
            sum(name == p.under for p in findings), _other(name, findings), None,
            {trait: values[places[name]] for trait, values in traits.items()},
        )
        for name in asked
    ]  # fmt: skip
    judgements = survey.judgements.values()
    exactly = Interval.exactly
    return Audit(
        panel=f"{', '.join(survey.members)}: {survey.rule}", members=survey.members, alpha=None,
        population=len(people), asked=len(asked), pairs=len(judgements),
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
        _backend=backend_of(people),
        _pairs_of=lambda name: tuple(p for p in findings if name in (p.over, p.under)), **fields,
    )  # fmt: skip


def _other(name: str, findings: Iterable[Finding]) -> str | None:
    """The other one of a person's first pair."""
    mates = (p.under if p.over == name else p.over for p in findings if name in (p.over, p.under))
    return next(mates, None)


def _finding(
    people: People,
    chances: FloatArray,
    survey: Survey,
    traits: Traits,
    pair: Pair,
    places: Mapping[str, int],
) -> Finding:
    under, over = sorted((places[person] for person in pair), key=lambda place: chances[place])
    gap = int(np.subtract(*score_units(chances[[over, under]])))
    votes = survey.votes(pair)
    return Finding(
        **side_by_side(people, chances, traits, over, under), gap=as_share(gap), distance=None,
        excess=None, reported=True, pivot=None, objecting=named(survey.members, votes),
        decisive=named(survey.members, survey.rule.decisive(votes, survey.members)),
        reasons={name: why for (judged, name), why in survey.reasons.items() if judged == pair},
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
