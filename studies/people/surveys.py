"""Surveys: judgements by respondents, who become the auditors of a panel.

A long CSV file has a judgement a line: the respondent, the person or the two people, the judgement.

- Of single people: with r_j(x) the rating rescaled to [0, 1], respondent j is an auditor with
  d_j(x, x′) = |r_j(x) − r_j(x′)|. These distances obey the triangle inequality.
- Of pairs: the judgement, rescaled to [0, 1], is the distance itself, which need not obey the
  triangle inequality. Respondents rarely judge every pair; ``unasked`` is the distance of the
  others, and a file with gaps is refused without it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import FloatArray
from likewise.panel.metrics import FromColumns, Ratings
from likewise.panel.objections import Pair
from likewise.panel.panels import MetricAuditor, Panel
from likewise.panel.rules import Rule
from likewise.people.features import Feature
from likewise.people.tables import read_table
from likewise.validation import within

Scale = Mapping[str, float] | tuple[float, float]
"""The number that each judgement stands for; or the least and the largest number."""
Subject = TypeVar("Subject", bound=Hashable)
Judgements = dict[str, dict[Subject, float]]
PERSON = "person of the survey"


@dataclass(frozen=True)
class Survey:
    """Ratings in [0, 1] by respondent and person; every respondent has rated everybody."""

    respondents: tuple[str, ...]
    people: tuple[str, ...] = ()
    ratings: Mapping[str, Mapping[str, float]] | None = None

    def of(self, person: str) -> list[float]:
        """Return the ratings of a person, in the order of the respondents."""
        ratings = self.ratings or {}
        return [ratings[respondent][person] for respondent in self.respondents]

    def features(self) -> list[Feature]:
        """Return a column for the ratings of each respondent, hidden from auditors."""
        columns = (f"rating of {name}" for name in self.respondents)
        return [Feature(column, "number", 0, 1, visible=False) for column in columns]

    def panel(self, rule: Rule | str) -> Panel:
        """Make a panel of the respondents, over people who have the columns :meth:`features`."""
        auditors = [MetricAuditor(n, Ratings(f"rating of {n}")) for n in self.respondents]
        return Panel(auditors, rule)


@dataclass(frozen=True)
class PairSurvey:
    """Distances in [0, 1] by respondent and pair, the pair in either order.

    ``unasked`` is the distance of a pair that a respondent did not judge; None where every
    respondent has judged all of them.

    >>> survey = PairSurvey(("ann",), ("a", "b", "c"), {"ann": {Pair("a", "b"): 0.25}}, unasked=1.0)
    >>> survey.distances("ann").tolist()
    [[0.0, 0.25, 1.0], [0.25, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """

    respondents: tuple[str, ...]
    people: tuple[str, ...]
    judgements: Mapping[str, Mapping[Pair, float]]
    unasked: float | None = None

    def distances(self, respondent: str) -> FloatArray:
        """Return the distances of a respondent, a symmetric array over the people."""
        positions = {person: i for i, person in enumerate(self.people)}
        table = np.full((len(positions),) * 2, 0.0 if self.unasked is None else self.unasked)
        np.fill_diagonal(table, 0.0)
        for pair, distance in self.judgements[respondent].items():
            left, right = (positions[person] for person in pair)
            table[left, right] = table[right, left] = distance
        return table

    def features(self) -> list[Feature]:
        """Return the column that holds a person's :meth:`position`, hidden from auditors."""
        return [Feature(PERSON, "integer", 0, len(self.people) - 1, visible=False)]

    def position(self, person: str) -> int:
        """Return the value of the column :meth:`features` for a person."""
        if person not in self.people:
            raise LikewiseError(f"The survey was asked about nobody called {person!r}.")
        return self.people.index(person)

    def panel(self, rule: Rule | str) -> Panel:
        """Make a panel of the respondents, over people who have the column :meth:`features`."""
        tables = {name: FromColumns(_Lookup(self.distances(name))) for name in self.respondents}
        return Panel([MetricAuditor(name, table) for name, table in tables.items()], rule)


@dataclass(frozen=True, eq=False)
class _Lookup:
    """The distances of blocks of pairs, by the people's positions."""

    table: FloatArray

    def __call__(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> FloatArray:
        rows, columns = (side[PERSON].astype(np.int64) for side in (left, right))
        return np.asarray(self.table[rows, columns])


def read_survey(
    path: Path,
    respondent: str = "respondent",
    person: str = "person",
    judgement: str = "judgement",
    *,
    scale: Scale = (0.0, 1.0),
    respondents: Sequence[str] | None = None,
) -> Survey:
    """Read ratings from a long CSV file, whose columns are named.

    ``respondents`` are those who were asked; by default, those in the file.
    """
    people: dict[str, None] = {}

    def cells() -> Iterator[tuple[int, str, str, str]]:
        for line, row in enumerate(read_table(path, [respondent, person, judgement]), start=2):
            name, subject, text = (row[key].strip() for key in (respondent, person, judgement))
            if not name or not subject:
                raise LikewiseError(
                    f"{path}, line {line}: respondent and person must not be empty."
                )
            people[subject] = None
            yield line, name, subject, text

    ratings = _collect(path, cells(), scale, respondents)
    return _survey(path, ratings, list(people))


def read_wide_survey(path: Path, person: str, scale: Scale) -> Survey:
    """Read ratings from a file with a column for each respondent, and a row for each person."""
    rows = read_table(path, [person])
    names = [name for name in rows[0] if name != person]
    people: list[str] = []

    def cells() -> Iterator[tuple[int, str, str, str]]:
        for line, row in enumerate(rows, start=2):
            subject = row[person].strip()
            if not subject or subject in people:
                raise LikewiseError(
                    f"{path}, line {line}: {subject!r} must be a person, and named once."
                )
            people.append(subject)
            for name in names:
                yield line, name, subject, row[name].strip()

    return _survey(path, _collect(path, cells(), scale, names), people)


def _survey(path: Path, ratings: Judgements[str], people: list[str]) -> Survey:
    remedy = "Leave out the respondent, or those people."
    _check_complete(path, ratings, people, "nobody", remedy)
    return Survey(tuple(ratings), tuple(people), ratings)


def read_pair_survey(
    path: Path,
    respondent: str = "respondent",
    person: str = "person",
    other: str = "other",
    judgement: str = "judgement",
    *,
    scale: Scale = (0.0, 1.0),
    unasked: float | None = None,
    respondents: Sequence[str] | None = None,
) -> PairSurvey:
    """Read judgements of pairs from a long CSV file, whose columns are named.

    Parameters
    ----------
    scale: from "treat them alike" to "no constraint".
    unasked: the distance of pairs that a respondent did not judge: 1 means that they object to
        nothing there, 0 that they ask for the same treatment.
    respondents: those who were asked; by default, those in the file.
    """
    if unasked is not None:
        unasked = within("unasked", unasked, 0, 1, "It is a distance.")

    def cells() -> Iterator[tuple[int, str, Pair, str]]:
        columns = [respondent, person, other, judgement]
        for line, row in enumerate(read_table(path, columns), start=2):
            name, left, right, text = (row[key].strip() for key in columns)
            if not (name and left and right and text):
                raise LikewiseError(
                    f"{path}, line {line}: a respondent, two people and a judgement must be there. "
                    f"Leave the line out if the respondent was not asked."
                )
            if left == right:
                raise LikewiseError(f"{path}, line {line}: {left!r} is paired with themselves.")
            yield line, name, Pair(left, right), text

    judgements = _collect(path, cells(), scale, respondents)
    people = sorted({person for row in judgements.values() for pair in row for person in pair})
    pairs = [Pair(*pair) for pair in combinations(people, 2)] if unasked is None else []
    remedy = "Say what that means: unasked=1 for no objection."
    _check_complete(path, judgements, pairs, "no pair", remedy)
    return PairSurvey(tuple(judgements), tuple(people), judgements, unasked)


def _collect(
    path: Path,
    cells: Iterable[tuple[int, str, Subject, str]],
    scale: Scale,
    respondents: Sequence[str] | None,
) -> Judgements[Subject]:
    """Gather judgements by respondent from (line, respondent, subject, text)."""
    judgements: Judgements[Subject] = {name: {} for name in respondents or ()}
    for line, name, subject, text in cells:
        if respondents is not None and name not in judgements:
            raise LikewiseError(f"{path}, line {line}: {name!r} is none of the respondents.")
        row = judgements.setdefault(name, {})
        if subject in row:
            raise LikewiseError(
                f"{path}, line {line}: {name!r} has judged {_names(subject)} before."
            )
        if text:
            row[subject] = _rescaled(path, line, text, scale)
    return judgements


def _rescaled(path: Path, line: int, text: str, scale: Scale) -> float:
    """Turn a judgement into a number in [0, 1], or refuse it with its line."""
    if isinstance(scale, Mapping):
        if text not in scale:
            raise LikewiseError(
                f"{path}, line {line}: {text!r} is none of the judgements ({', '.join(scale)})."
            )
        low, high = min(scale.values()), max(scale.values())
        value = scale[text]
    else:
        low, high = scale
        try:
            value = float(text)
        except ValueError:
            raise LikewiseError(f"{path}, line {line}: {text!r} is no number.") from None
    if not low <= value <= high or not low < high:
        raise LikewiseError(f"{path}, line {line}: {text!r} is not within [{low:g}, {high:g}].")
    return (value - low) / (high - low)


def _check_complete(
    path: Path,
    judgements: Judgements[Subject],
    subjects: Sequence[Subject],
    nothing: str,
    remedy: str,
) -> None:
    """Refuse respondents without a judgement, and gaps, whose distances would be invented."""
    for name, row in judgements.items():
        if not row:
            raise LikewiseError(
                f"{path}: the respondent {name!r} has judged {nothing}. Leave them out."
            )
        missing = [subject for subject in subjects if subject not in row]
        if missing:
            raise LikewiseError(
                f"{path}: the respondent {name!r} has no judgement of {_names(missing[0])}, and "
                f"of {len(missing) - 1} others. {remedy}"
            )


def _names(subject: object) -> str:
    people = subject if isinstance(subject, Pair) else (subject,)
    return " and ".join(repr(person) for person in people)
