"""``recidivism-fitted``: 1,000 defendants before models of twenty respondents: fitted, not judged.

Hardly two respondents of Lin et al. (2020) judged the same people, so each of the first twenty who
judged all 50 of theirs is fitted on what they were shown. Approved is who is released; the label is
1 for those who were not charged again within two years, or not with a violent offence. COMPAS'
decile is in the file, and respondents did not see it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people.features import Feature
from likewise.people.schema import People
from likewise.people.tables import Row, read_table
from likewise.simulate.world import pool_of_cuts, setting
from studies.people.compas import fitted
from studies.people.files import Rated, panel_file

ORIGIN = "github.com/stanford-policylab/recidivism-predictions"
FOLDER = "recidivism-predictions/data/public"
DEFENDANT = (
    "sex", "age", "juv_fel_count", "juv_misd_count", "priors_count", "charge_degree (misd/fel)",
)  # fmt: skip
RESPONDENTS, ASKED = 20, 50
_FEATURES = (
    Feature("sex", "category", levels=("Male", "Female")),
    Feature("age", "integer", 0, 120, unit="years"),
    Feature("juvenile felonies", "integer", 0, 40),
    Feature("juvenile misdemeanours", "integer", 0, 40),
    Feature("priors", "integer", 0, 60, label="Earlier convictions"),
    Feature("charge", "category", levels=("misdemeanour", "felony")),
    Feature("safety", "integer", 0, 9, label="10 less the COMPAS decile", visible=False),
    Feature("spotless", "integer", 0, 60, label="60 less earlier convictions", visible=False),
)


def predictions(survey: str, folder: str = "") -> dict[tuple[str, str], float]:
    """The last prediction, 0 to 100, by respondent and defendant; some lines are there twice."""
    file = panel_file(folder, f"{FOLDER}/surveys/{survey}_response.csv", ORIGIN)
    rows = read_table(file, ["user_id", "individual_id", "predicted_decision"])
    return {(r["user_id"], r["individual_id"]): float(r["predicted_decision"]) for r in rows}


def vignettes(columns: Sequence[str] = DEFENDANT, folder: str = "") -> list[Row]:
    """The defendants of the surveys ``df``; those of the others are not public."""
    file = panel_file(folder, f"{FOLDER}/individuals/compas_vignettes.csv", ORIGIN)
    return read_table(file, ["id", *columns])


@dataclass(frozen=True)
class RecidivismFitted(Rated):
    """k defendants a round, drawn from 1,000."""

    violent: bool = setting(False, "whether respondents were asked about violent offences")
    name = "recidivism-fitted"
    summary = "1,000 defendants before 20 fitted respondents, other ones; needs their files"
    classes = ("pool",)
    features = _FEATURES

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
        """All defendants with their labels, and with the ratings that the models predict."""
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
            file = panel_file(self.folder, f"{FOLDER}/individuals/compas_scores.csv", ORIGIN)
            violent = {r["id"]: r["is_violent_recid"] for r in read_table(file, ["id"])}
            charged = {person: violent[person] for person in charged}
        return np.array([1 - int(value) for value in charged.values()], dtype=np.int64)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Cuts on safety, age and earlier convictions."""
        self.class_name(name)
        return pool_of_cuts(self.schema, self.everybody[0].x, ("safety", "age", "spotless"))
