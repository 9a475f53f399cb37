"""A survey: judgements of real people on pairs, from a table of who was asked about whom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from likewise.errors import AuditError, LikewiseError, shown
from likewise.panel.objections import Pair
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import Rule
from likewise.people.columns import id_text
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
