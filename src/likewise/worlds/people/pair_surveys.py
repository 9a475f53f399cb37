"""Surveys of pairs: respondents said how differently two people may be treated.

A long CSV file has a judgement a line: who judged, which two people, and how. Rescaled to [0, 1],
the judgement is the distance itself, so nothing is derived: such distances need not obey the
triangle inequality. Respondents are rarely asked about every pair; ``unasked`` says what that
means, and without it such a file is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from likewise.auditing import FromColumns, MetricAuditor, Pair, Panel, Rule
from likewise.errors import LikewiseError, ParameterError
from likewise.fixed_point import FloatArray
from likewise.schema import Feature
from likewise.schema.tables import read_table
from likewise.validation import real
from likewise.worlds.people.surveys import Scale, rescaled

__all__ = ["PairSurvey", "person_feature", "read_pair_survey"]

PERSON = "person of the survey"


@dataclass(frozen=True)
class PairSurvey:
    """Distances in [0, 1] by respondent and pair, the pair in either order.

    ``unasked`` is the distance of a pair that a respondent was not asked about; None where every
    respondent was asked about all of them.

    >>> survey = PairSurvey(("ann",), ("a", "b", "c"), {"ann": {Pair("a", "b"): 0.25}}, unasked=1.0)
    >>> survey.distances("ann").tolist()
    [[0.0, 0.25, 1.0], [0.25, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    respondents: tuple[str, ...]
    people: tuple[str, ...]
    judgements: Mapping[str, Mapping[Pair, float]]
    unasked: float | None = None

    def distances(self, respondent: str) -> FloatArray:
        """The distances that a respondent gave, as a symmetric array over the people."""
        places = {person: n for n, person in enumerate(self.people)}
        table = np.full((len(places), len(places)), 0.0 if self.unasked is None else self.unasked)
        np.fill_diagonal(table, 0.0)
        for pair, distance in self.judgements[respondent].items():
            one, other = (places[person] for person in pair)
            table[one, other] = table[other, one] = distance
        return table

    def panel(self, rule: Rule | str) -> Panel:
        """The respondents as a panel, over people who have the column :func:`person_feature`."""
        auditors = [
            MetricAuditor(name, FromColumns(_Lookup(self.distances(name))))
            for name in self.respondents
        ]
        return Panel(auditors, rule)

    def place(self, person: str) -> int:
        """The value of the column for one person."""
        if person not in self.people:
            raise LikewiseError(f"The survey was asked about nobody called {person!r}.")
        return self.people.index(person)


def person_feature(survey: PairSurvey) -> Feature:
    """The column that says who in the survey a person is, which no auditor is shown."""
    return Feature(PERSON, "integer", 0, len(survey.people) - 1, visible=False)


@dataclass(frozen=True, eq=False)
class _Lookup:
    """The distances of blocks of pairs, by their places."""

    table: FloatArray

    def __call__(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> FloatArray:
        left, right = (side[PERSON].astype(np.int64) for side in (one, other))
        return np.asarray(self.table[left, right])


def read_pair_survey(
    path: Path,
    respondent: str = "respondent",
    person: str = "person",
    other: str = "other",
    judgement: str = "judgement",
    *,
    scale: Scale | tuple[float, float] = (0.0, 1.0),
    unasked: float | None = None,
    respondents: Sequence[str] | None = None,
) -> PairSurvey:
    """A survey of pairs from a long CSV file, whose columns are named.

    Parameters
    ----------
    scale: the number that each judgement stands for, from "treat them alike" to "no constraint"; or
        the least and the largest distance.
    unasked: the distance of pairs that a respondent was not asked about: 1 means that they object
        to nothing there, 0 that they ask for the same treatment.
    respondents: those who were asked; without it, those who are in the file.
    """
    if unasked is not None and not 0 <= real("unasked", unasked, "It is a distance.") <= 1:
        raise ParameterError("unasked", "must be in [0, 1]", unasked, "It is a distance.")
    found: dict[str, dict[Pair, float]] = {name: {} for name in respondents or ()}
    for line, row in enumerate(read_table(path, [respondent, person, other, judgement]), start=2):
        who, one, two, said = (row[key].strip() for key in (respondent, person, other, judgement))
        if not (who and one and two and said):
            raise LikewiseError(
                f"{path}, line {line}: a respondent, two people and a judgement must be there. "
                f"Leave the line out if the respondent was not asked."
            )
        if one == two:
            raise LikewiseError(f"{path}, line {line}: {one!r} is paired with themselves.")
        if respondents is not None and who not in found:
            raise LikewiseError(f"{path}, line {line}: {who!r} is none of the respondents.")
        mine, pair = found.setdefault(who, {}), Pair(one, two)
        if pair in mine:
            raise LikewiseError(
                f"{path}, line {line}: {who!r} has judged {one!r} and {two!r} before."
            )
        mine[pair] = rescaled(path, line, said, scale)
    people = tuple(sorted({one for mine in found.values() for pair in mine for one in pair}))
    _refuse_gaps(path, found, people, unasked)
    return PairSurvey(tuple(found), people, found, unasked)


def _refuse_gaps(
    path: Path,
    found: Mapping[str, Mapping[Pair, float]],
    people: Iterable[str],
    unasked: float | None,
) -> None:
    """Refuse respondents who judged nobody, and pairs whose distance would have to be made up."""
    every = [Pair(*pair) for pair in combinations(people, 2)]
    for name, mine in found.items():
        if not mine:
            raise LikewiseError(
                f"{path}: the respondent {name!r} has judged no pair. Leave them out."
            )
        missing = [pair for pair in every if pair not in mine]
        if missing and unasked is None:
            one, two = missing[0]
            raise LikewiseError(
                f"{path}: the respondent {name!r} has no judgement of {one!r} and {two!r}, and of "
                f"{len(missing) - 1} other pairs. Say what that means: unasked=1 for no objection."
            )
