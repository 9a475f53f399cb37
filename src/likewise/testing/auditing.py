"""The contracts of a metric and of a selection of pairs."""

from __future__ import annotations

import numpy as np

from likewise.auditing import (
    Metric,
    MetricAuditor,
    Selection,
    Sides,
    metric_from_spec,
    metric_to_spec,
    selection_from_spec,
    selection_to_spec,
)
from likewise.schema import People
from likewise.testing.contract import contract, generator, require, require_text, same_as_json


@contract
def check_metric(metric: Metric, people: People) -> None:
    """Check a metric on people: symmetric, within [0, 1], whoever else is present; and JSON.

    >>> from likewise.auditing import WeightedL1
    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> check_metric(WeightedL1({"income": 0.5}), schema.people([[10], [20], [90]]))
    """
    require(isinstance(metric, Metric), metric, "it is no Metric.")
    require(isinstance(people, People) and len(people) > 1, metric, "it needs at least two people.")
    auditor = MetricAuditor("auditor", metric)
    distances = auditor.distances(people)
    same = np.array_equal(auditor.distances(people), distances)
    require(same, metric, "the same people must have the same distances.")
    reverse = auditor.distances(people.take(range(len(people) - 1, -1, -1)))
    same = np.array_equal(reverse[::-1, ::-1], distances)
    require(same, metric, "people in another order must have the same distances.")
    alone = auditor.distances(people.take([0, 1]))
    require(alone[0, 1] == distances[0, 1], metric, "two people must not be nearer in company.")
    half = len(people) // 2
    first, second = people.take(range(half)), people.take(range(half, 2 * half))
    blocks = auditor.between(Sides(first, second))
    same = np.array_equal(blocks, distances[:half, half : 2 * half])
    require(same, metric, "between must have the distances that a call with everybody has.")
    paired = auditor.between(Sides(first, second, paired=True))
    same = np.array_equal(paired, np.diagonal(blocks))
    require(same, metric, "between differs for single pairs.")
    copy = same_as_json(metric, metric_to_spec, metric_from_spec)
    same = np.array_equal(MetricAuditor("auditor", copy).distances(people), distances)
    require(same, metric, "read back from its JSON, it has other distances.")


@contract
def check_selection(selection: Selection, *, seed: int = 1) -> None:
    """Check a selection: it chooses some of the pairs, the same ones again; and JSON.

    >>> from likewise.auditing import LargestGap
    >>> check_selection(LargestGap())
    """
    require(isinstance(selection, Selection), selection, "it is no Selection.")
    require_text(selection, "name", "summary")
    copy = same_as_json(selection, selection_to_spec, selection_from_spec)
    same = type(type(selection).make(7)) is type(selection)
    require(same, selection, "make(seed) must make one of its class.")
    rng = generator(seed)
    for pairs in (1, 1, 2, 3, 5, 8, 30):
        gaps = rng.integers(1, 6, pairs).astype(np.int64)
        before, t = gaps.copy(), int(rng.integers(1, 1000))
        chosen = selection.choose(gaps, t)
        fits = isinstance(chosen, list) and all(
            isinstance(n, int) and 0 <= n < pairs for n in chosen
        )
        require(
            fits and chosen and len(set(chosen)) == len(chosen), selection,
            f"choose must be a list of places below {pairs}, at least one and none twice; got "
            f"{chosen!r}.",
        )  # fmt: skip
        require(np.array_equal(gaps, before), selection, "choose must not change the gaps.")
        require(
            chosen == selection.choose(gaps, t) == copy.choose(gaps, t), selection,
            "choose must choose the same pairs again, also read back from its JSON.",
        )  # fmt: skip
