"""``phd-admissions``: applicants of two years, scored by the same three committee members.

There is no outcome in the files; the label is 1 for those whose three scores, of 0, 1 or 2, sum to
3 or more, so that it is the committee's own view, and not what became of anybody. Empty cells count
as the least, and so does a grade that is out of its scale.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import IntArray
from likewise.people.features import Feature
from likewise.people.schema import People
from likewise.people.tables import read_table
from likewise.simulate.world import Encounter, pool_of_cuts, setting
from studies.people.files import Rated, panel_file

ORIGIN = "github.com/hil-se/RelativeFairnessTesting"
EVALUATORS = ("Eval 1", "Eval 2", "Eval 3")
YEARS = ("2022", "2023")
# Columns that both years have, with what an empty cell counts as.
_NUMBERS = {"BS GPA": 0.0, "GRE Quan": 130.0, "GRE Ver": 130.0, "Research Experience": 0.0,
            "Int'l pubs": 0.0, "Has MS": 0.0}  # fmt: skip
_FEATURES = (
    Feature("grades", "number", 0, 1, label="Grades of the first degree"),
    Feature("quantitative", "number", 130, 170, label="GRE, quantitative"),
    Feature("verbal", "number", 130, 170, label="GRE, verbal"),
    Feature("research", "integer", 0, 1, label="Research experience"),
    Feature("publications", "integer", 0, 1, label="International publications"),
    Feature("master", "integer", 0, 1, label="Has a master's degree"),
    Feature("file", "number", 0, 4, label="Sum of the file's parts", visible=False),
)


@dataclass(frozen=True)
class PhdAdmissions(Rated):
    """k applicants a round: of the first year for ``turn`` rounds, then of the second."""

    k: int = setting(4, "the number of people a round", low=1, high=100)
    turn: int = setting(500, "the round after which the second year begins", low=1, high=10**9)
    name = "phd-admissions"
    summary = "PhD applicants of two years before three committee members; needs their files"
    classes = ("pool",)
    features = _FEATURES
    respondents = EVALUATORS

    @cached_property
    def years(self) -> list[tuple[People, IntArray]]:
        return [self._year(year) for year in YEARS]

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        (first, labels), (second, more) = self.years
        return first.with_more(second), np.concatenate([labels, more])

    def _year(self, year: str) -> tuple[People, IntArray]:
        path = panel_file(self.folder, f"panel-phd/phd_{year}.csv", ORIGIN)
        x, labels = [], []
        for line, row in enumerate(read_table(path, [*EVALUATORS, *_NUMBERS]), start=2):
            try:
                scores = [float(row[name]) for name in EVALUATORS]
                values = [float(row[name] or default) for name, default in _NUMBERS.items()]
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
        """Draw k different people of the year."""
        return self.drawn(t, *self.years[int(t > self.turn)])
