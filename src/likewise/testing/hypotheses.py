"""The contract of a hypothesis class; brute force over all hypotheses is the referee."""

from __future__ import annotations

from likewise.hypotheses import (
    ExactWeights,
    HypothesisClass,
)
from likewise.schema import FeatureSchema, People
from likewise.testing.people import people_of, require, trial
from likewise.testing.weights import WeighingTrial

__all__ = ["check_hypotheses"]


def check_hypotheses(
    hypotheses: HypothesisClass, people: People | None = None, *, seed: int = 1
) -> None:
    """Check a hypothesis class: points, costs, oracle, engines, weights, words and JSON.

    Without ``people``, some are made up from the schema. Up to 2^13 hypotheses, all of them are
    listed and tried; of larger classes the oracle is only held against the hypotheses that it finds
    itself. Draws are compared with chances at five standard deviations, and decisions on several
    people with those of all hypotheses by a chi-square test: a correct class is accused with a
    probability of less than 1e-6 a point.
    """
    require(isinstance(hypotheses, HypothesisClass), hypotheses, "it is no HypothesisClass.")
    require(
        isinstance(getattr(hypotheses, "schema", None), FeatureSchema), hypotheses,
        "it must have a schema, a FeatureSchema.",
    )  # fmt: skip
    given = people_of(hypotheses.schema, 40, seed) if people is None else people
    with trial(hypotheses):
        on_trial = WeighingTrial(hypotheses, given, seed)
        on_trial.sizes()
        on_trial.points()
        on_trial.charging()
        on_trial.oracle()
        on_trial.constant()
        if on_trial.small:
            on_trial.all_different()
        on_trial.engines()
        on_trial.json()
        if isinstance(hypotheses, ExactWeights):
            on_trial.weights(hypotheses)
            on_trial.draws(hypotheses)
