"""The compiled engine's exponential weights over segments, with the prior from coarse to fine."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from likewise.fixed_point import IntArray, read_only
from likewise.hypotheses import Bits, GibbsPolicy, Points, Segments
from likewise.hypotheses.cells.context_tree import ContextTree
from likewise.hypotheses.weights import WEIGHT_BITS
from likewise.oracles.engines.compiled.exact import tree_kernels as kernels
from likewise.oracles.engines.compiled.exact.picking import noise_of
from likewise.portable_math import LN2, log
from likewise.randomness import Stream

CERTAIN = 1 << WEIGHT_BITS


class _Plan(NamedTuple):
    """A tree as compiled code takes it: nodes for weights, and paths for chances."""

    nodes: tuple[Any, ...]
    paths: IntArray
    splits: IntArray


@lru_cache(maxsize=16)
def _plan(tree: ContextTree, bins: int) -> _Plan:
    features = len(tree.levels)
    left_open = np.zeros(tree.nodes, dtype=np.int64)
    for levels, stride in zip(tree.levels, tree.strides, strict=True):
        left_open += np.arange(tree.nodes) // stride % (levels + 1) == levels
    # Those that leave fewer features open come first: others are made of them.
    order = np.argsort(left_open, kind="stable")
    inner = order[left_open[order] > 0]
    log_splits = np.array([0.0, *(LN2 + log(count) for count in range(1, features + 1))])
    nodes = (
        np.array(tree.levels, dtype=np.int64), np.array(tree.strides, dtype=np.int64),
        np.ascontiguousarray(tree.leaves), inner, log_splits, log(bins + 1),
    )  # fmt: skip
    splits = np.array(tree.splits, dtype=np.int64).reshape(-1, 3)
    return _Plan(nodes, tree.paths(np.arange(len(tree.leaves))), splits)


class SegmentTreePolicy(GibbsPolicy):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature) over thresholds by segment.

    The fractions and draws are those of the class's own policy,
    :class:`~likewise.hypotheses.cells.coarse_to_fine.CoarseToFine`.
    """

    def __init__(self, hypotheses: Segments, costs: IntArray, temperature: float) -> None:
        tree, bins = hypotheses.tree, hypotheses.bins
        self._plan = _plan(tree, bins)
        self._weights = (
            np.empty((tree.nodes, bins + 1), dtype=np.int64),
            np.empty((tree.nodes, 1 + len(tree.levels)), dtype=np.int64),
            np.empty(3, dtype=np.int64),
        )
        kernels.weigh(read_only(costs), temperature, self._plan.nodes, *self._weights)

    def approval(self, points: Points) -> list[tuple[int, int]]:
        """The chances in units of 2^-40."""
        cells, units = np.ascontiguousarray(points, dtype=np.int64), np.empty(len(points), np.int64)
        kernels.approve(cells, self._plan.paths, self._plan.splits, *self._weights, units)
        return [(unit, CERTAIN) for unit in units.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Position 0 chooses among the constants and the tree; then every node has its own."""
        cells, bits = np.ascontiguousarray(points, dtype=np.int64), np.empty(len(points), np.uint8)
        kernels.draw(cells, self._plan.nodes, noise_of(stream, draw), *self._weights, bits)
        return bits
