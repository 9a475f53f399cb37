"""The objections of real people, from a table of any survey: who was asked about whom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from likewise.auditing import MemberObjections, Objections, Pair, Rule, as_rule, decisive
from likewise.errors import AuditError, LikewiseError, shown
from likewise.schema.tables import read_cells
from likewise.validation import items, text

__all__ = ["Survey"]

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

    @property
    def members(self) -> tuple[str, ...]:
        """Everybody who judged a pair, in the order of the table."""
        return tuple(dict.fromkeys(name for said in self.judgements.values() for name in said))

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
            if odd := [name for name in values[:2] if not isinstance(name, str)]:
                raise AuditError(
                    f"Row {number} of the survey names {shown(odd[0])}, and ids are text: write "
                    f"str({shown(odd[0])}), as the people's ids are."
                )
            pair = Pair.of(values[:2])
            member = text(f"Survey row {number}: member", values[2], "Names are text: str(…).")
            if member in judged.setdefault(pair, {}):
                raise AuditError(
                    f"Row {number} of the survey: {member!r} has judged {list(pair)} before. Keep "
                    f"one of the two, or see likewise.auditing.consistency."
                )
            judged[pair][member] = _truth(values[3], number)
            if len(values) == 5 and values[4]:
                reasons[pair, member] = str(values[4])
        if not judged:
            raise AuditError("The survey has no rows, so nobody was asked.")
        read = as_rule(rule)
        survey = cls(judged, read, reasons)
        read.check(survey.members)
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
        try:
            names, rows = read_cells(path)
        except (LikewiseError, TypeError, ValueError) as error:
            raise AuditError(f"No survey was read from {shown(path)}: {error}") from error
        wanted = (person, other, member, objects)
        needed = wanted if reason == "reason" else (*wanted, reason)  # whoever names it means it
        if lacking := [name for name in needed if name not in names]:
            raise AuditError(
                f"The survey {shown(str(path))} lacks the column {lacking[0]!r}; it has "
                f"{', '.join(names) or 'none'}. Name its columns: person=…, other=…, member=…, "
                f"objects=…, reason=…, or rename them in the file."
            )
        return cls.from_rows(
            [[*(row[name] for name in wanted), row.get(reason) or ""] for row in rows], rule
        )

    def check_people(self, ids: Iterable[str]) -> None:
        """Refuse a survey about somebody who is not among the people."""
        known = set(ids)
        for pair in self.judgements:
            for person in pair:
                if person not in known:
                    raise AuditError(
                        f"The survey asks about {person!r}, who is not among the people. Correct "
                        f"the id, or leave the row out."
                    )

    def fires(self, pair: Pair) -> bool:
        """Test whether the panel reports a pair."""
        said = self.judgements[pair]
        votes = [[said.get(name, False)] for name in self.members]
        return bool(self.rule.fires(votes, self.members)[0])

    def decisive(self, pair: Pair) -> tuple[str, ...]:
        """Members without whom the pair would not be reported."""
        said = self.judgements[pair]
        objections = Objections(
            tuple(pair),
            {n: MemberObjections(pairs=[pair] if said.get(n) else []) for n in self.members},
        )
        return decisive(self.rule, objections, pair)


def _truth(value: Any, number: int) -> bool:
    if isinstance(value, bool | int) and value in (0, 1):
        return bool(value)
    said = value.strip().lower() if isinstance(value, str) else None
    if said is None or (said not in YES and said not in NO):
        raise AuditError(
            f"Row {number} of the survey must say yes or no (1 or 0, true or false); got "
            f"{shown(value)}."
        )
    return said in YES
