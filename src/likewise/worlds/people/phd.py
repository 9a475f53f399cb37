"""``phd-admissions``: applicants of two years, scored by the same three committee members.

From hil-se/RelativeFairnessTesting: 148 applicants of 2022 and 174 of 2023, each scored 0, 1 or 2
by three evaluators. Scored alike should be treated likewise: d_j(x, x′) = |r_j(x) − r_j(x′)|. There
is no outcome in the files; the label is 1 for those whose three scores sum to 3 or more, so that
it is the committee's own view, and not what became of anybody. Empty cells count as the least, and
so does a grade that is out of its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.auditing import Panel, Rule
from likewise.errors import LikewiseError, ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses import Cut, HypothesisClass, Pool
from likewise.schema import Feature, FeatureSchema, People
from likewise.schema.tables import read_table
from likewise.worlds.base import Encounter, Steady
from likewise.worlds.people.resampled import draw_round
from likewise.worlds.people.sources import check_paths, panel_file
from likewise.worlds.people.surveys import Survey, panel_of, rating_features
from likewise.worlds.settings import setting

__all__ = ["PhdAdmissions"]

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
class PhdAdmissions(Steady):
    """k applicants a round: of the first year for ``turn`` rounds, then of the second."""

    seed: int
    k: int = setting(4, "the number of people a round", low=1, high=100)
    rule: Rule | str = setting("majority", "when objections make a report")
    turn: int = setting(500, "the round after which the second year begins", low=1, high=10**9)
    folder: str = setting("", "the folder with panel-phd; LIKEWISE_PANELS where it is empty")
    name = "phd-admissions"
    summary = "PhD applicants of two years before three committee members; needs their files"
    classes = ("pool",)

    def __post_init__(self) -> None:
        check_paths(folder=self.folder)
        super().__post_init__()
        self._years  # noqa: B018 - refused now if a file is not here

    @cached_property
    def _years(self) -> list[tuple[People, IntArray]]:
        return [self._year(year) for year in YEARS]

    @cached_property
    def schema(self) -> FeatureSchema:
        """Six features, their sum, and the three scores, which nobody is shown."""
        survey = Survey(EVALUATORS, (), {})
        return FeatureSchema((*_FEATURES, *rating_features(survey)))

    @cached_property
    def panel(self) -> Panel:
        """Three committee members."""
        return panel_of(Survey(EVALUATORS, (), {}), self.rule)

    def _year(self, year: str) -> tuple[People, IntArray]:
        path = panel_file(self.folder, f"panel-phd/phd_{year}.csv", ORIGIN)
        rows = read_table(path, [*EVALUATORS, *_NUMBERS])
        x, labels = [], []
        for line, row in enumerate(rows, start=2):
            try:
                scores = [float(row[name]) for name in EVALUATORS]
                given = [float(row[name] or other) for name, other in _NUMBERS.items()]
            except ValueError as error:
                raise LikewiseError(f"{path}, line {line}: {error}.") from error
            grades, quantitative, verbal, *flags = given
            grades = grades if grades <= 1 else 0.0
            flags = [float(value > 0) for value in flags]
            whole = grades + (quantitative - 130) / 40 + (verbal - 130) / 80 + sum(flags[:2]) / 2
            x.append([grades, quantitative, verbal, *flags, whole, *(s / 2 for s in scores)])
            labels.append(int(sum(scores) >= 3))
        ids = tuple(f"{year}-{place + 1}" for place in range(len(x)))
        return self.schema.encoded(np.array(x), ids), np.array(labels, dtype=np.int64)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Cuts on grades, both tests and the sum of the file's parts."""
        if name not in (None, "pool"):
            raise ParameterError("hypotheses", "must be pool", name, "This world has no other.")
        x = np.concatenate([people.x for people, _ in self._years])
        members = [Cut("file", float("-inf")), Cut("file", float("inf"))]
        for column in ("file", "grades", "quantitative", "verbal"):
            seen = np.unique(x[:, self.schema.place(column)])[1:]
            chosen = np.unique(np.linspace(0, len(seen) - 1, 25).astype(np.int64))
            members += [Cut(column, float(at)) for at in seen[chosen]]
        return Pool(self.schema, members, x)

    def encounter(self, t: int) -> Encounter:
        """k different applicants of the year."""
        people, labels = self._years[int(t > self.turn)]
        places = draw_round(self.seed, t, len(people), self.k)
        ids = tuple(f"{t}-{people.ids[place]}" for place in places.tolist())
        some = People(ids, people.x[places], people.schema)
        return Encounter(some, labels[places], self.panel)
