"""Surveys: judgements of people by respondents, who become the auditors of a panel.

A long CSV file has a judgement a line: who judged, whom, and how. With r_j(x) the rating rescaled
to [0, 1], the distance of respondent j is d_j(x, x′) = |r_j(x) − r_j(x′)|. Such distances are
derived from ratings of single people, so they obey the triangle inequality; distances that
respondents give for pairs need not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from likewise.auditing import MetricAuditor, Panel, Ratings, Rule
from likewise.errors import LikewiseError
from likewise.schema import Feature
from likewise.schema.tables import read_table

__all__ = [
    "Scale", "Survey", "panel_of", "rating_features", "read_survey", "read_wide_survey", "rescaled",
]  # fmt: skip

Scale = Mapping[str, float]


@dataclass(frozen=True)
class Survey:
    """Ratings in [0, 1] by respondent and person; every respondent has rated everybody."""

    respondents: tuple[str, ...]
    people: tuple[str, ...]
    ratings: Mapping[str, Mapping[str, float]]

    def of(self, person: str) -> list[float]:
        """The ratings of one person, in the order of the respondents."""
        return [self.ratings[respondent][person] for respondent in self.respondents]


def read_survey(
    path: Path,
    respondent: str = "respondent",
    person: str = "person",
    judgement: str = "judgement",
    *,
    scale: Scale | tuple[float, float] = (0.0, 1.0),
    respondents: Sequence[str] | None = None,
) -> Survey:
    """A survey from a long CSV file, whose columns are named.

    Parameters
    ----------
    scale: the number that each judgement stands for; or the least and the best rating.
    respondents: those who were asked; without it, those who are in the file.
    """
    found: dict[str, dict[str, float]] = {name: {} for name in respondents or ()}
    people: dict[str, None] = {}
    for line, row in enumerate(read_table(path, [respondent, person, judgement]), start=2):
        who, whom = row[respondent].strip(), row[person].strip()
        if not who or not whom:
            raise LikewiseError(f"{path}, line {line}: respondent and person must not be empty.")
        if respondents is not None and who not in found:
            raise LikewiseError(f"{path}, line {line}: {who!r} is none of the respondents.")
        mine = found.setdefault(who, {})
        if whom in mine:
            raise LikewiseError(f"{path}, line {line}: {who!r} has judged {whom!r} before.")
        people[whom] = None
        if row[judgement].strip():
            mine[whom] = rescaled(path, line, row[judgement].strip(), scale)
    return _complete(path, found, list(people))


def read_wide_survey(path: Path, person: str, scale: Scale | tuple[float, float]) -> Survey:
    """A survey from a file with a column for each respondent, and a row for each person."""
    rows = read_table(path, [person])
    names = [name for name in rows[0] if name != person]
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    people = []
    for line, row in enumerate(rows, start=2):
        whom = row[person].strip()
        if not whom or whom in people:
            raise LikewiseError(f"{path}, line {line}: {whom!r} must be a person, and named once.")
        people.append(whom)
        for name in names:
            if row[name].strip():
                found[name][whom] = rescaled(path, line, row[name].strip(), scale)
    return _complete(path, found, people)


def rescaled(path: Path, line: int, text: str, scale: Scale | tuple[float, float]) -> float:
    """A judgement as a number in [0, 1]; refused with its line where it is none."""
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


def _complete(path: Path, found: dict[str, dict[str, float]], people: list[str]) -> Survey:
    """Refuse gaps: a distance of somebody who did not judge would have to be made up."""
    for name, mine in found.items():
        if not mine:
            raise LikewiseError(
                f"{path}: the respondent {name!r} has judged nobody. Leave them out."
            )
        missing = [whom for whom in people if whom not in mine]
        if missing:
            raise LikewiseError(
                f"{path}: the respondent {name!r} has no judgement of {missing[0]!r}, and of "
                f"{len(missing) - 1} others. Leave out the respondent, or those people."
            )
    return Survey(tuple(found), tuple(people), found)


def rating_features(survey: Survey) -> list[Feature]:
    """A column for the ratings of each respondent, which no auditor is shown."""
    return [
        Feature(f"rating of {name}", "number", 0, 1, visible=False) for name in survey.respondents
    ]


def panel_of(survey: Survey, rule: Rule | str) -> Panel:
    """The respondents as a panel: those whom one rates alike should be treated likewise."""
    return Panel(
        [MetricAuditor(name, Ratings(f"rating of {name}")) for name in survey.respondents], rule
    )
