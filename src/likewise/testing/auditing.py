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
from likewise.testing.people import called, generator, require, same_as_json, trial

__all__ = ["check_metric", "check_selection"]


def check_metric(metric: Metric, people: People) -> None:
    """Check a metric on some people: symmetric, within [0, 1], whoever else is there; and JSON.

    >>> from likewise.auditing import WeightedL1
    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> check_metric(WeightedL1({"income": 0.5}), schema.people([[10], [20], [90]]))
    """
    require(isinstance(metric, Metric), metric, "it is no Metric.")
    require(isinstance(people, People) and len(people) > 1, metric, "it needs at least two people.")
    with trial(metric):
        _check_metric(metric, people)


def _check_metric(metric: Metric, people: People) -> None:
    auditor = MetricAuditor("auditor", metric)
    found = called(metric, "a call", auditor.distances, people)
    again = auditor.distances(people)
    require(np.array_equal(again, found), metric, "the same people must have the same distances.")
    backwards = People(people.ids[::-1], people.x[::-1].copy(), people.schema)
    turned = called(metric, "a call", auditor.distances, backwards)
    same = np.array_equal(turned[::-1, ::-1], found)
    require(same, metric, "people in another order must have the same distances.")
    two = People(people.ids[:2], people.x[:2].copy(), people.schema)
    alone = called(metric, "a call", auditor.distances, two)
    require(alone[0, 1] == found[0, 1], metric, "two people must not be nearer in company.")
    half = len(people) // 2
    first, second = people.take(range(half)), people.take(range(half, 2 * half))
    blocks = called(metric, "between", auditor.between, Sides(first, second))
    same = np.array_equal(blocks, found[:half, half : 2 * half])
    require(same, metric, "between must have the distances that a call with everybody has.")
    paired = called(metric, "between", auditor.between, Sides(first, second, paired=True))
    require(
        np.array_equal(paired, np.diagonal(blocks)), metric, "between differs for single pairs."
    )
    read = same_as_json(metric, metric_to_spec, metric_from_spec)
    same = np.array_equal(MetricAuditor("auditor", read).distances(people), found)
    require(same, metric, "read back from its JSON, it has other distances.")


def check_selection(selection: Selection, *, seed: int = 1) -> None:
    """Check a selection: it chooses some of the pairs, the same ones again; and JSON.

    >>> from likewise.auditing import LargestGap
    >>> check_selection(LargestGap())
    """
    require(isinstance(selection, Selection), selection, "it is no Selection.")
    with trial(selection):
        _check_selection(selection, seed)


def _check_selection(selection: Selection, seed: int) -> None:
    for name in ("name", "summary"):
        text = getattr(selection, name, None)
        require(isinstance(text, str) and text, selection, f"it must have a {name}, a text.")
    read = same_as_json(selection, selection_to_spec, selection_from_spec)
    made = called(selection, "make(seed)", type(selection).make, 7)
    require(type(made) is type(selection), selection, "make(seed) must make one of its class.")
    rng = generator(seed)
    for pairs in (1, 1, 2, 3, 5, 8, 30):
        gaps = rng.integers(1, 6, pairs).astype(np.int64)
        given = gaps.copy()
        t = int(rng.integers(1, 1000))
        chosen = called(selection, "choose", selection.choose, gaps, t)
        places = isinstance(chosen, list) and all(
            isinstance(n, int) and 0 <= n < pairs for n in chosen
        )
        right = places and chosen and len(set(chosen)) == len(chosen)
        require(
            right, selection,
            f"choose must be a list of places below {pairs}, at least one and none twice; got "
            f"{chosen!r}.",
        )  # fmt: skip
        require(np.array_equal(gaps, given), selection, "choose must not change the gaps.")
        require(
            chosen == selection.choose(gaps, t) == read.choose(gaps, t), selection,
            "choose must choose the same pairs again, also read back from its JSON.",
        )  # fmt: skip
