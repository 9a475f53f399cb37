"""Exponential weights over segments from coarse to fine: the compiled engine's are the reference's.

Mutants that were tried, and fail: children of a split added in another order; ln 2 and the number
of splits taken off one after the other; words of a neighbouring position; < for ≤ in a pick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.hypotheses import Segments
from likewise.hypotheses.base import pick
from likewise.hypotheses.grids import CoarseToFine
from likewise.learner import compiled
from likewise.learner.compiled import cells as kernels
from likewise.learner.compiled.cells import SegmentTreePolicy, _plan
from likewise.learner.compiled.noise import picked
from likewise.numerics.fixed_point import ONE, log
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema


def lender(levels: tuple[int, ...], bins: int) -> Segments:
    groups = tuple(
        Feature(f"f{i}", "category", levels=tuple(f"l{n}" for n in range(count)))
        for i, count in enumerate(levels)
    )
    schema = FeatureSchema((Feature("score"), *groups))
    by = [feature.name for feature in groups]
    return Segments(schema, score="score", cuts=range(1, bins), by=by)


@pytest.mark.parametrize("levels", [(), (4,), (1, 3), (5, 2), (2, 3, 2), (2, 2, 2, 3)])
@pytest.mark.parametrize("bins", [1, 8, 20])
@pytest.mark.parametrize("temperature", [1e-3, 0.02 * ONE, 0.7 * ONE, 2.0**60])
def test_chances_and_draws_are_the_references(
    levels: tuple[int, ...], bins: int, temperature: float
) -> None:
    segments, rng = lender(levels, bins), np.random.default_rng(bins)
    everybody = segments.separating_points()
    for largest in (1, ONE, 1 << 45):
        costs = rng.integers(-largest, largest + 1, segments.separators)
        fast: Any = compiled.weigh(segments, costs, temperature)
        plain: Any = segments.weigh(costs, temperature)
        assert isinstance(fast, SegmentTreePolicy)
        assert isinstance(plain, CoarseToFine)
        assert fast.approval(everybody) == plain.approval(everybody)
        summed, choices, top = fast._weights
        assert np.array_equal(choices, plain._tree.choices)
        assert np.array_equal(top, plain._top)
        nodes: Any = plain._nodes
        assert np.array_equal(summed, nodes._summed)
        for number in range(12):
            stream = Stream((1 << 63) + number, Purpose.DECIDE, number)
            bits = fast.draw(everybody, stream, number)
            assert bits.tolist() == plain.draw(everybody, stream, number).tolist()


def test_many_draws_agree_where_constants_and_tree_are_equally_likely() -> None:
    """No costs: half of the draws are constants, and every node is stopped at now and then."""
    segments = lender((5, 2), 8)
    costs, points = segments.no_costs(), np.array([3, 3, 17, 40, 79])
    fast, plain = compiled.weigh(segments, costs, 1.0), segments.weigh(costs, 1.0)
    stream, kinds = Stream(7, Purpose.DECIDE, 1), set()
    for number in range(400):
        bits = fast.draw(points, stream, number).tolist()
        assert bits == plain.draw(points, stream, number).tolist()
        kinds.add(tuple(bits))
    assert len(kinds) > 10


@pytest.mark.parametrize("levels", [(4,), (5, 2), (3, 5, 2)])
def test_sums_of_logarithms_have_the_references_bits(levels: tuple[int, ...]) -> None:
    """Weights are rounded to 2^-40, and hide what the last bits of a sum would show."""
    tree = lender(levels, 4).tree
    counts, strides, _, inner, log_splits, _ = _plan(tree, 4).nodes
    rng, zeros = np.random.default_rng(3), np.zeros(tree.nodes, dtype=np.int64)
    for _ in range(20):
        log_stop = -rng.exponential(3.0, tree.nodes)
        log_stop[inner] -= 40.0 * rng.integers(0, 2)  # splits decide, or stops do
        expected, log_z = tree.weigh(log_stop, zeros, 1.0), log_stop.copy()
        choices = np.zeros((tree.nodes, 1 + len(levels)), dtype=np.int64)
        choices[:, 0] = 1 << 40
        for node in inner:
            kernels._split(node, counts, strides, log_splits, log_z, choices)
        assert log_z[-1] == expected.log_total
        assert np.array_equal(choices, expected.choices)


def test_logarithms_and_picks_are_the_references() -> None:
    for number in [1.0, 2.0, 3.0, *np.random.default_rng(1).integers(1, 1 << 62, 2000).tolist()]:
        assert kernels._log(float(number)) == log(float(number))
    weights = np.array([2, 0, 1])
    assert [picked(weights, n) for n in range(3)] == [pick(weights, n) for n in range(3)]


def test_other_priors_and_classes_that_weigh_themselves_are_asked() -> None:
    class Own(Segments):
        def weigh(self, costs: Any, temperature: Any) -> Any:
            return "mine"

    flat = lender((2,), 4).with_prior("flat")
    assert not isinstance(compiled.weigh(flat, flat.no_costs(), 1.0), SegmentTreePolicy)
    overriding = Own(flat.schema, score="score", cuts=[1, 2], by=["f0"])
    policy: Any = compiled.weigh(overriding, overriding.no_costs(), 1.0)
    assert policy == "mine"
