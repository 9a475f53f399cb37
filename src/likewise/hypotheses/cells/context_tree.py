"""Context trees: a prior over how finely people are told apart, and its exact posterior.

The groups of a class are all combinations of levels of some features. A node of the tree has fixed
the levels of some of them. It *stops* with probability 1/2, and then one rule holds for everybody
below it; or it *splits* on a feature that it has not fixed, each with the same probability, and
every level goes on by itself. So rules that tell few people apart are likely, and rules that tell
everybody apart are possible. This is context-tree weighting (Willems, Shtarkov, Tjalkens 1995),
mixed over the orders of the features, at every node anew:

    Z(node) = 1/2·Z_stop(node) + 1/2·mean_f Π_level Z(node, f = level)

where Z_stop is the weight of the rules that may hold for a node as a whole. A node that has fixed
everything stops. Two orders of the same levels lead to the same node, so there are Π(levels + 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.weights import integer_weights, pick
from likewise.portable_math import LN2, log
from likewise.randomness import Stream

__all__ = ["ContextTree", "TreeWeights"]


@dataclass(frozen=True)
class _Layer:
    """The nodes that have left the same features open, and where each split of them leads."""

    open: tuple[int, ...]
    nodes: IntArray
    children: tuple[IntArray, ...]


@dataclass(frozen=True)
class ContextTree:
    """The nodes over groups that are made of features with so many levels each.

    A node is a number in mixed radix: for every feature its level, or the number of levels where
    it is left open. The last node is the root.

    >>> tree = ContextTree((2, 3))
    >>> tree.nodes, tree.paths(np.array([5])).tolist()
    (12, [[11, 7, 10, 6]])
    """

    levels: tuple[int, ...]

    @cached_property
    def nodes(self) -> int:
        """Π(levels + 1)."""
        return int(np.prod([n + 1 for n in self.levels], dtype=np.int64))

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        strides, step = [], 1
        for n in reversed(self.levels):
            strides.append(step)
            step *= n + 1
        return tuple(reversed(strides))

    @cached_property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """All sets of features, the smaller before the larger."""
        features = range(len(self.levels))
        return tuple(
            s for size in range(len(self.levels) + 1) for s in combinations(features, size)
        )

    @cached_property
    def _layers(self) -> tuple[_Layer, ...]:
        """From the nodes that have fixed everything up to the root."""
        grid = np.arange(self.nodes).reshape([n + 1 for n in self.levels])
        found = []
        for left_open in self.subsets:
            place = tuple(
                slice(n, n + 1) if f in left_open else slice(0, n)
                for f, n in enumerate(self.levels)
            )
            nodes = grid[place].reshape(-1)
            children = tuple(
                nodes[:, None] + (np.arange(self.levels[f]) - self.levels[f]) * self._strides[f]
                for f in left_open
            )
            found.append(_Layer(left_open, nodes, children))
        return tuple(found)

    def gather(self, cells: IntArray) -> IntArray:
        """Costs of cells by group, (groups, n), as those of every node: sums over what is open."""
        cube = cells.reshape(*self.levels, cells.shape[-1])
        for axis in range(len(self.levels)):
            cube = np.concatenate([cube, cube.sum(axis=axis, keepdims=True)], axis=axis)
        return cube.reshape(self.nodes, -1)

    def paths(self, groups: IntArray) -> IntArray:
        """The nodes above each group, (groups, 2^features): those that fix each of the subsets."""
        places = np.unravel_index(groups, self.levels) if self.levels else ()
        paths = np.full((len(groups), len(self.subsets)), self.nodes - 1, dtype=np.int64)
        for column, fixed in enumerate(self.subsets):
            for f in fixed:
                paths[:, column] -= (self.levels[f] - places[f]) * self._strides[f]
        return paths

    def weigh(self, log_stop: FloatArray) -> TreeWeights:
        """The posterior, from ln Z_stop of every node."""
        log_z = np.empty(self.nodes)
        choices = np.zeros((self.nodes, 1 + len(self.levels)), dtype=np.int64)
        for layer in self._layers:
            terms = np.empty((1 + len(layer.open), len(layer.nodes)))
            terms[0] = log_stop[layer.nodes]
            if layer.open:
                terms[0] -= LN2
                share = LN2 + log(float(len(layer.open)))
                for row, children in enumerate(layer.children, start=1):
                    terms[row] = _summed(log_z, children) - share
            weights, log_z[layer.nodes] = integer_weights(terms)
            for row, column in enumerate((0, *(1 + f for f in layer.open))):
                choices[layer.nodes, column] = weights[row]
        return TreeWeights(self, choices, float(log_z[-1]))

    def log_inverse_prior(self, log_rules: float) -> float:
        """max_h ln(1/prior(h)) where a node that stops has rules of ln(1/prior) ≤ log_rules."""
        worst = np.empty(self.nodes)
        for layer in self._layers:
            worst[layer.nodes] = log_rules
            if layer.open:
                share = LN2 + log(float(len(layer.open)))
                # Any rules can be had by a split, and by the best of them.
                below = [_summed(worst, children) + share for children in layer.children]
                worst[layer.nodes] = np.minimum.reduce(below)
        return float(worst[-1])


def _summed(values: FloatArray, children: IntArray) -> FloatArray:
    """The sum over the children, one after the other: the same bits on every machine."""
    total = np.zeros(len(children))
    for column in children.T:
        total = total + values[column]
    return total


@dataclass(frozen=True, eq=False)
class TreeWeights:
    """The posterior of a tree: at every node, integer weights of stopping and of each split.

    ``log_total`` is ln Z(root).
    """

    tree: ContextTree
    choices: IntArray
    log_total: float

    @cached_property
    def _shares(self) -> FloatArray:
        return np.asarray(self.choices / self.choices.sum(axis=1)[:, None])

    def stops(self, groups: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """For every subset of features, the node above each group and the chance to stop there."""
        paths, subsets = self.tree.paths(groups), self.tree.subsets
        reach = np.zeros((len(subsets), len(groups)))
        reach[0] = 1.0
        place = {subset: row for row, subset in enumerate(subsets)}
        for row, subset in enumerate(subsets):
            shares = self._shares[paths[:, row]]
            yield paths[:, row], reach[row] * shares[:, 0]
            for f in range(len(self.tree.levels)):
                if f not in subset:
                    below = place[tuple(sorted((*subset, f)))]
                    reach[below] = reach[below] + reach[row] * shares[:, 1 + f]

    def draw(self, groups: IntArray, stream: Stream, draw: int, first: int) -> IntArray:
        """The node at which each group's walk from the root stops, in one draw of the tree.

        Every node has a random number of its own, at position ``first`` + node, so that groups
        that share a node share its choice.
        """
        nodes = np.unique(self.tree.paths(groups))
        totals = [int(total) for total in self.choices[nodes].sum(axis=1)]
        drawn = stream.numbers_below(totals, draw, first + nodes)
        number = dict(zip(nodes.tolist(), drawn, strict=True))
        places = np.stack(np.unravel_index(groups, self.tree.levels)) if self.tree.levels else None
        found = np.empty(len(groups), dtype=np.int64)
        for person in range(len(groups)):
            node = self.tree.nodes - 1
            while choice := pick(self.choices[node], number[node]):
                f = choice - 1
                level = 0 if places is None else int(places[f, person])
                node -= (self.tree.levels[f] - level) * self.tree._strides[f]
            found[person] = node
        return found
