"""``linear``: the world of Gillen, Jung, Kearns and Roth (2018), in the variant of their remark.

k people a round with d = 2 features, norms at most 1; whoever is chosen brings a reward of 1 or −1
(here: the label) whose mean is linear in the features, and any number may be chosen. One auditor
has a Mahalanobis distance and names every pair whose gap exceeds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.auditing import Mahalanobis, MetricAuditor, Panel
from likewise.hypotheses import HypothesisClass, LinearByIntercepts
from likewise.randomness import Purpose, Stream
from likewise.schema import Feature, FeatureSchema
from likewise.worlds.base import Encounter, Steady, numbered
from likewise.worlds.settings import setting

# Shifted by 1, so that a boundary through the middle has intercepts.
SCHEMA = FeatureSchema((Feature("first", "number", 0, 2), Feature("second", "number", 0, 2)))
THETA = (1.0, 0.5)
MATRIX = ((0.25, 0.1), (0.1, 0.16))
INTERCEPTS = (-4.0, -2.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class Linear(Steady):
    """k people whose rewards are linear in the mean, before one auditor."""

    seed: int
    k: int = setting(4, "the number of people a round", low=1, high=100)
    leniency: float = setting(1.0, "a factor on the auditor's distances", low=0.01, high=10)
    name = "linear"
    summary = "rewards linear in two features, one auditor who names all pairs; for gillen"
    classes = ("linear",)
    schema = SCHEMA

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Linear classifiers by ten intercepts."""
        self.class_name(name)
        return LinearByIntercepts(SCHEMA, SCHEMA.names, INTERCEPTS, flips=False)

    @cached_property
    def panel(self) -> Panel:
        """One auditor."""
        distance = Mahalanobis(SCHEMA.names, MATRIX, scale=1.0 / self.leniency)
        return Panel([MetricAuditor("auditor", distance)], "any")

    def encounter(self, t: int) -> Encounter:
        """k people, each with a reward of mean ⟨x, theta⟩/sqrt(2)."""
        u = Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k, 4)
        x = np.rint(200 * u[:, :2]) / 100
        mean = ((x[:, 0] - 1) * THETA[0] + (x[:, 1] - 1) * THETA[1]) / 1.5
        labels = (u[:, 2] < (1 + mean) / 2).astype(np.int64)
        return Encounter(numbered(t, x, SCHEMA), labels, self.panel)
