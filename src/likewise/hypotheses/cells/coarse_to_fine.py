"""Exponential weights over classes of cells, with a prior that goes from coarse to fine.

Half of the prior is on the two constants, to which nobody can object; the other half is a context
tree over the groups (:mod:`.context_tree`), in which a node that stops has one rule for everybody
below it: a threshold, or a staircase on a grid of any coarseness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits, GibbsPolicy, Points
from likewise.hypotheses.cells.context_tree import ContextTree, TreeWeights
from likewise.hypotheses.weights import WEIGHT_BITS, gibbs_weights, pick, weight_of
from likewise.portable_math import LN2, log, log_array
from likewise.randomness import Stream


class NodeWeights(ABC):
    """Exponential weights over the rules of every node, given the costs of its cells.

    Z_stop(node) = exp(log_stop − least/temperature), where ``least`` is the least cost of a rule.
    ``numbers`` are the random numbers that a draw of one rule takes.
    """

    log_stop: FloatArray
    least: IntArray
    numbers: int

    @abstractmethod
    def chances(self, nodes: IntArray, cells: IntArray) -> FloatArray:
        """The chance of approval in a cell of a node that stops; both arrays broadcast."""

    @abstractmethod
    def draw(self, node: int, stream: Stream, draw: int, first: int) -> Bits:
        """One rule of a node in every cell, drawn with ``numbers`` positions from first on."""


class NodeRules(ABC):
    """The rules that may hold for everybody at a node."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of cells that a rule decides on."""

    @property
    @abstractmethod
    def log_count(self) -> float:
        """max ln(1/prior) of a rule; ln of their number where all are equally likely."""

    @abstractmethod
    def weigh(self, costs: IntArray, temperature: float) -> NodeWeights:
        """The weights for costs of shape (nodes, cells)."""

    @abstractmethod
    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        """ln(1/prior) of some rules, a row of the class's code for each."""


@dataclass(frozen=True)
class Thresholds(NodeRules):
    """Approve from a bin on, or nobody: B + 1 thresholds, equally likely."""

    bins: int

    @property
    def cells(self) -> int:
        """The bins."""
        return self.bins

    @property
    def log_count(self) -> float:
        """ln(B + 1)."""
        return log(self.bins + 1)

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        """ln(B + 1) for each."""
        return np.full(len(codes), self.log_count)

    def weigh(self, costs: IntArray, temperature: float) -> NodeWeights:
        """Costs of the thresholds are sums of those of the bins from there on."""
        return _ThresholdWeights(threshold_costs(costs), temperature)


def threshold_costs(cells: IntArray) -> IntArray:
    """Costs of the thresholds 0 … B from those of the bins (last axis): Σ_{b ≥ j} c_b.

    >>> threshold_costs(np.array([5, -2])).tolist()
    [3, -2, 0]
    """
    costs = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1), dtype=np.int64)
    costs[..., :-1] = np.cumsum(cells[..., ::-1], axis=-1)[..., ::-1]
    return costs


class _ThresholdWeights(NodeWeights):
    numbers = 1

    def __init__(self, costs: IntArray, temperature: float) -> None:
        self._summed = np.cumsum(gibbs_weights(costs, temperature), axis=1)
        total = log_array(self._summed[:, -1].astype(np.float64)) - WEIGHT_BITS * LN2
        self.least = costs.min(axis=1)
        self.log_stop = total - log(costs.shape[1])

    def chances(self, nodes: IntArray, cells: IntArray) -> FloatArray:
        return np.asarray(self._summed[nodes, cells] / self._summed[nodes, -1])

    def draw(self, node: int, stream: Stream, draw: int, first: int) -> Bits:
        summed = self._summed[node]
        number = stream.numbers_below([int(summed[-1])], draw, np.array([first]))[0]
        threshold = int(np.searchsorted(summed, number, side="right"))
        return (np.arange(len(summed) - 1) >= threshold).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class CoarseToFine(GibbsPolicy):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature); a point is group·cells + cell."""

    tree: ContextTree
    rules: NodeRules
    costs: IntArray
    temperature: float

    @cached_property
    def _nodes(self) -> NodeWeights:
        cells = self.tree.gather(self.costs.reshape(-1, self.rules.cells))
        return self.rules.weigh(cells, self.temperature)

    @cached_property
    def _tree(self) -> TreeWeights:
        return self.tree.weigh(self._nodes.log_stop, self._nodes.least, self.temperature)

    @cached_property
    def _top(self) -> IntArray:
        """Weights of approving everybody, of approving nobody, and of the tree."""
        # Costs are subtracted as integers, and divided after that.
        least, total = self._tree.least, int(self.costs.sum())
        terms = (
            -float(total - least) / self.temperature - LN2,
            float(least) / self.temperature - LN2,
            self._tree.log_total,
        )
        top = max(terms)
        return np.array([weight_of(top - term) for term in terms], dtype=np.int64)

    def chances(self, points: Points) -> FloatArray:
        """π(x) of every point."""
        groups, cells = points // self.rules.cells, points % self.rules.cells
        nodes, stops = self._tree.stops(groups)
        chances = stops * self._nodes.chances(nodes, cells[:, None])
        total = np.zeros(len(points))
        # One after the other: the same bits on every machine.
        for column in chances.T:
            total = total + column
        everybody, nobody, tree = (float(weight) for weight in self._top)
        return np.asarray((everybody + tree * total) / (everybody + nobody + tree))

    def approval(self, points: Points) -> list[tuple[int, int]]:
        """The chances in units of 2^-40."""
        units = np.rint(np.ldexp(np.minimum(self.chances(points), 1.0), WEIGHT_BITS))
        return [(int(unit), 1 << WEIGHT_BITS) for unit in units]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Position 0 picks a constant or the tree; then every node has positions of its own."""
        choice = pick(self._top, stream.below(int(self._top.sum()), draw))
        if choice < 2:
            return np.full(len(points), 1 - choice, dtype=np.uint8)
        groups, cells = points // self.rules.cells, points % self.rules.cells
        stops = self._tree.draw(groups, stream, draw, 1)
        first, numbers = 1 + self.tree.nodes, self._nodes.numbers
        rules = {
            node: self._nodes.draw(node, stream, draw, first + node * numbers)
            for node in np.unique(stops).tolist()
        }
        pairs = zip(stops.tolist(), cells.tolist(), strict=True)
        return np.array([rules[node][cell] for node, cell in pairs], dtype=np.uint8)
