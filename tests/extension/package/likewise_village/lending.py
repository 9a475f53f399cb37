"""The village's world, what its auditors measure, and a learner to compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.errors import ParameterError
from likewise.hypotheses import HypothesisClass
from likewise.learner import Learner, SelfTuned
from likewise.numerics.fixed_point import FloatArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Metric, MetricAuditor, Panel, Ratings
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Encounter, Steady, baseline
from likewise.validation import real

from .intervals import Intervals

__all__ = ["Village", "YearsApart", "cautious"]

SCHEMA = FeatureSchema(
    (
        Feature("age", "integer", 18, 90, label="Age", unit="years"),
        Feature("savings", "integer", 0, 100, label="Savings", unit="k€"),
    )
)


@dataclass(frozen=True)
class YearsApart(Metric):
    """d(x, x′) = min(1, |x − x′|/years), on a feature that is counted in years."""

    name = "years-apart"

    feature: str
    years: float

    def __post_init__(self) -> None:
        years = real("YearsApart.years", self.years, "Such as 20.")
        if not 0 < years < float("inf"):
            raise ParameterError("YearsApart.years", "must be above 0", years, "Such as 20.")
        object.__setattr__(self, "years", years)

    def __call__(self, people: People, /) -> FloatArray:
        """The distances of all pairs."""
        x = people.column(self.feature)
        return np.minimum(1.0, np.abs(x[:, None] - x[None, :]) / self.years)


@dataclass(frozen=True)
class Village(Steady):
    """Villagers ask for loans; those with middling savings repay."""

    seed: int
    k: int = 4
    luck: float = 0.1
    name = "village"
    summary = "villagers ask for loans; those with middling savings repay"
    classes = ("intervals",)

    @property
    def schema(self) -> FeatureSchema:
        """Age and savings."""
        return SCHEMA

    @property
    def panel(self) -> Panel:
        """One looks at years, the other at savings; either suffices."""
        return Panel(
            [
                MetricAuditor("elder", YearsApart("age", 30)),
                MetricAuditor("teller", Ratings("savings", 0, 100)),
            ],
            "any",
        )

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Intervals of savings, ten wide."""
        if name not in (None, "intervals"):
            raise ParameterError("hypotheses", "must be intervals", name, "There is no other.")
        return Intervals(SCHEMA, "savings", range(10, 100, 10))

    def encounter(self, t: int) -> Encounter:
        """k villagers, and whether they will repay."""
        u = Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k, 3)
        age, savings = np.floor(18 + 73 * u[:, 0]), np.floor(101 * u[:, 1])
        people = SCHEMA.people(
            np.stack([age, savings], axis=1), [f"{t}-{i + 1}" for i in range(self.k)]
        )
        sound = (savings >= 30) & (savings < 70)
        chance = np.where(sound, 1.0 - self.luck, self.luck)
        return Encounter(people, (u[:, 2] < chance).astype(np.int64), self.panel)


@baseline("cautious", "self-tuned, but errors weigh next to nothing")
def cautious(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,
) -> Learner:  # fmt: skip
    """A learner for whom reports are what counts: eta = 1/64."""
    return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(eta=1 / 64))
