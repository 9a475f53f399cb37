"""``admissions``: a college whose applicants are made up; for choosing defaults."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.hypotheses import Cut, HypothesisClass, Pool
from likewise.numerics.fixed_point import FloatArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Masked, MetricAuditor, Panel, Ratings, Rule, WeightedL1
from likewise.people import Feature, FeatureSchema
from likewise.simulate import Encounter, Steady
from likewise.simulate.world import numbered, setting

MODELS = 12
CUTS = 33

SCHEMA = FeatureSchema(
    (
        Feature("grades", "integer", 0, 100, label="School grades", unit="of 100"),
        Feature("test", "integer", 0, 100, label="Admission test", unit="of 100"),
        Feature("essay", "integer", 0, 10, label="Essay", unit="of 10"),
        Feature("activities", "integer", 0, 10, label="Activities", unit="of 10"),
        *(Feature(f"model{j + 1}", "integer", 0, 1000, visible=False) for j in range(MODELS)),
    )
)


@dataclass(frozen=True)
class Admissions(Steady):
    """k applicants a round, a pool of about four hundred cuts, five readers by majority."""

    seed: int
    k: int = setting(4, "the number of people a round", low=1, high=10_000)
    rule: Rule | str = setting("majority", "when objections make a report")
    name = "admissions"
    summary = "a college, twelve models with cuts, five readers; used for choosing defaults"
    classes = ("pool",)
    schema = SCHEMA

    @cached_property
    def _weights(self) -> FloatArray:
        """How each model weighs the four things; a fixed choice, the same for every seed."""
        weights = Stream(0, Purpose.WORLD, 0).uniforms(0, MODELS, 4)
        return weights / (weights[:, 0] + weights[:, 1] + weights[:, 2] + weights[:, 3])[:, None]

    @cached_property
    def panel(self) -> Panel:
        marks = {"grades": 1.3, "test": 1.0}
        return Panel(
            [
                MetricAuditor("dean", WeightedL1({"grades": 1.2, "test": 1.2, "essay": 0.4})),
                MetricAuditor("teacher", WeightedL1(marks)),
                MetricAuditor("alumna", WeightedL1({"activities": 0.7, "essay": 0.7, "test": 0.4})),
                MetricAuditor("examiner", Masked(WeightedL1({"test": 2.0}), ["test"])),
                MetricAuditor("essayist", Ratings("essay", 0, 10)),
            ],
            self.rule,
        )

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        self.class_name(name)
        x, _ = self._applicants(Stream(0, Purpose.PROBE, 0), 3000)
        members = [Cut("model1", float("-inf")), Cut("model1", float("inf"))]
        for j in range(MODELS):
            scores = np.sort(x[:, 4 + j])
            ranks = np.linspace(0, len(scores) - 1, CUTS + 2).astype(np.int64)[1:-1]
            members += [Cut(f"model{j + 1}", float(cut)) for cut in np.unique(scores[ranks])]
        return Pool(SCHEMA, members, x)

    def _applicants(self, stream: Stream, k: int) -> tuple[FloatArray, FloatArray]:
        u = stream.uniforms(0, k, 8)
        talent = (u[:, 0] + u[:, 1]) / 2
        parts = [0.6 * talent + 0.4 * u[:, 2 + f] for f in range(4)]
        models = np.zeros((k, MODELS))
        for f, part in enumerate(parts):
            models += part[:, None] * self._weights[:, f]
        marks = [np.rint(part * high) for part, high in zip(parts, (100, 100, 10, 10), strict=True)]
        merit = 0.45 * parts[0] + 0.3 * parts[1] + 0.1 * parts[2] + 0.15 * parts[3]
        chance = np.clip(4.0 * (merit - 0.5) + 0.5, 0.05, 0.95)
        x = np.concatenate([np.stack(marks, axis=1), np.rint(1000 * models)], axis=1)
        return x, (u[:, 6] < chance).astype(np.float64)

    def encounter(self, t: int) -> Encounter:
        x, labels = self._applicants(Stream(self.seed, Purpose.WORLD, t), self.k)
        return Encounter(numbered(t, x, SCHEMA), labels.astype(np.int64), self.panel)
