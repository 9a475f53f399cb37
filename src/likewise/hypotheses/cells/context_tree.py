"""Context trees: a prior over how finely people are distinguished, and its exact posterior.

The groups of a class are all combinations of levels of some features. A node of the tree has fixed
the levels of some of them. It *stops* with probability 1/2, and then one rule holds for everybody
below it; or it *splits* on a feature that it has not fixed, each with the same probability, and
every level goes on by itself. So rules that distinguish few people are likely, and rules that
distinguish everybody are possible. This is context-tree weighting (Willems, Shtarkov, Tjalkens
1995), mixed over the orders of the features at every node:

    Z(node) = 1/2·Z_stop(node) + 1/2·mean_f Π_level Z(node, f = level)

where Z_stop is the weight of the rules that may hold for a node as a whole. A node that has fixed
everything stops. Two orders of the same levels lead to the same node, so there are Π(levels + 1).

A Z may be beyond any float, so it is stored as exp(v − least/temperature) with the least cost of
rules below the node, an integer, and v ≤ 0 of the size of the prior's logarithm. However the
features are split, the least is that of the best rule of every group: a sum of integers. Costs are
divided only after they have been subtracted exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.weights import WEIGHT_BITS, integer_weights, pick
from likewise.portable_math import LN2, log
from likewise.randomness import Stream


@dataclass(frozen=True)
class _Depth:
    """The nodes that leave the same number of features open, and the children of their splits.

    ``features`` are the open ones of each node, (open, nodes); ``children`` the nodes of each
    level, (levels, open, nodes), filled up with one more than the last node.
    """

    nodes: IntArray
    features: IntArray
    children: IntArray


@dataclass(frozen=True)
class ContextTree:
    """The nodes over all combinations of features with ``levels`` levels each.

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
    def strides(self) -> tuple[int, ...]:
        """The distance between the nodes of neighbouring levels, for each feature."""
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
    def splits(self) -> tuple[tuple[int, int, int], ...]:
        """From each subset with one feature more to a larger one, by their places."""
        place = {subset: column for column, subset in enumerate(self.subsets)}
        return tuple(
            (column, f, place[tuple(sorted((*subset, f)))])
            for column, subset in enumerate(self.subsets)
            for f in range(len(self.levels))
            if f not in subset
        )

    @cached_property
    def leaves(self) -> IntArray:
        """The nodes that have fixed everything, in the order of their groups."""
        grid = np.arange(self.nodes).reshape([n + 1 for n in self.levels])
        return grid[tuple(slice(0, n) for n in self.levels)].reshape(-1)

    @cached_property
    def _depths(self) -> tuple[_Depth, ...]:
        """From the nodes that have left one feature open up to the root."""
        shape = [n + 1 for n in self.levels]
        places = np.stack(np.unravel_index(np.arange(self.nodes), shape)) if shape else None
        if places is None:
            return ()
        left_open = places == np.array(self.levels)[:, None]
        counts = left_open.sum(axis=0)
        return tuple(
            self._depth(np.flatnonzero(counts == count), left_open)
            for count in range(1, len(self.levels) + 1)
        )

    def _depth(self, nodes: IntArray, left_open: npt.NDArray[np.bool_]) -> _Depth:
        features = np.nonzero(left_open[:, nodes].T)[1].reshape(len(nodes), -1).T
        levels, strides = np.array(self.levels)[features], np.array(self.strides)[features]
        children = np.stack(
            [
                np.where(level < levels, nodes + (level - levels) * strides, self.nodes)
                for level in range(max(self.levels))
            ]
        )
        return _Depth(nodes, features, children)

    def gather(self, cells: IntArray, join: np.ufunc = np.add) -> IntArray:
        """Integers of every node, from those of the groups, (groups, n), joined over levels."""
        cube = cells.reshape(*self.levels, cells.shape[-1])
        for axis in range(len(self.levels)):
            cube = np.concatenate([cube, join.reduce(cube, axis=axis, keepdims=True)], axis=axis)
        return cube.reshape(self.nodes, -1)

    def paths(self, groups: IntArray) -> IntArray:
        """The nodes above each group, (groups, 2^features): those that fix each of the subsets."""
        places = self.places(groups)
        paths = np.full((len(groups), len(self.subsets)), self.nodes - 1, dtype=np.int64)
        for column, fixed in enumerate(self.subsets):
            for f in fixed:
                paths[:, column] -= (self.levels[f] - places[f]) * self.strides[f]
        return paths

    def places(self, groups: IntArray) -> tuple[IntArray, ...]:
        """The level of every feature, for each group."""
        return np.unravel_index(groups, self.levels) if self.levels else ()

    def weigh(self, log_stop: FloatArray, least: IntArray, temperature: float) -> TreeWeights:
        """The posterior, from Z_stop = exp(log_stop − least/temperature) of every node."""
        best = self.gather(least[self.leaves].reshape(-1, 1))[:, 0]
        log_stop = log_stop - (least - best) / temperature
        # The last one is that of no node at all, whose weight is 1.
        log_z = np.append(log_stop, 0.0)
        choices = np.zeros((self.nodes, 1 + len(self.levels)), dtype=np.int64)
        choices[:, 0] = 1 << WEIGHT_BITS
        for depth in self._depths:
            count = len(depth.features)
            terms = np.empty((1 + count, len(depth.nodes)))
            terms[0] = log_stop[depth.nodes] - LN2
            terms[1:] = _summed(log_z, depth.children) - (LN2 + log(count))
            weights, log_z[depth.nodes] = integer_weights(terms)
            choices[depth.nodes, 0] = weights[0]
            choices[depth.nodes, 1 + depth.features] = weights[1:]
        return TreeWeights(self, choices, float(log_z[self.nodes - 1]), int(best[-1]))

    def log_prior(self, rules: IntArray, log_rules: FloatArray) -> float:
        """ln(prior) of one rule for every group: ``rules`` numbers them, equal where they agree.

        ``log_rules`` is the ln(prior) of every group's rule, as that of a node that stops.
        """
        low, high = (self.gather(rules[:, None], join)[:, 0] for join in (np.minimum, np.maximum))
        first = self.gather(np.arange(len(rules))[:, None], np.minimum)[:, 0]
        log_stop = np.where(low == high, log_rules[first], -np.inf)
        return self.weigh(log_stop, np.zeros(self.nodes, dtype=np.int64), 1.0).log_total

    def log_inverse_prior(self, log_rules: float) -> float:
        """ln(1/prior) of a hypothesis that has to split everywhere, with rules of such a prior.

        No hypothesis has more, if no rule of a group has: whatever the rules below a node are, a
        split has them, and stopping can only add to it. With two rules or more there is such a
        hypothesis: give two neighbouring levels different ones, as on a chessboard.
        """
        never = np.full(self.nodes, -np.inf)
        never[self.leaves] = -log_rules
        return -self.weigh(never, np.zeros(self.nodes, dtype=np.int64), 1.0).log_total


def _summed(values: FloatArray, children: IntArray) -> FloatArray:
    """The sum over the children, one after the other: the same bits on every machine."""
    total: FloatArray = values[children[0]]
    for level in children[1:]:
        total = total + values[level]
    return total


@dataclass(frozen=True, eq=False)
class TreeWeights:
    """The posterior of a tree: at every node, integer weights of stopping and of each split.

    ln Z(root) is ``log_total`` − ``least``/temperature.
    """

    tree: ContextTree
    choices: IntArray
    log_total: float
    least: int

    @cached_property
    def _shares(self) -> FloatArray:
        return np.asarray(self.choices / self.choices.sum(axis=1)[:, None])

    def stops(self, groups: IntArray) -> tuple[IntArray, FloatArray]:
        """For every subset of features the node above each group, and the chance to stop there."""
        paths = self.tree.paths(groups)
        shares = self._shares[paths]
        reach = np.zeros(paths.shape)
        reach[:, 0] = 1.0
        for column, f, below in self.tree.splits:
            reach[:, below] += reach[:, column] * shares[:, column, 1 + f]
        return paths, reach * shares[:, :, 0]

    def draw(self, groups: IntArray, stream: Stream, draw: int, first: int) -> IntArray:
        """The node at which each group's walk from the root stops, in one draw of the tree.

        Every node has a random number of its own, at position ``first`` + node, so that groups
        that share a node share its choice.
        """
        tree = self.tree
        places = np.array(tree.places(groups), dtype=np.int64)
        chosen: dict[int, int] = {}
        stops = np.empty(len(groups), dtype=np.int64)
        for person, levels in enumerate(places.reshape(len(tree.levels), len(groups)).T.tolist()):
            node = tree.nodes - 1
            while choice := self._choice(node, stream, draw, first, chosen):
                f = choice - 1
                node -= (tree.levels[f] - levels[f]) * tree.strides[f]
            stops[person] = node
        return stops

    def _choice(
        self, node: int, stream: Stream, draw: int, first: int, chosen: dict[int, int]
    ) -> int:
        """0 to stop at a node, or 1 more than the feature that it splits on."""
        if node not in chosen:
            weights = self.choices[node]
            total = int(weights.sum())
            number = stream.numbers_below([total], draw, np.array([first + node]))[0]
            chosen[node] = pick(weights, number)
        return chosen[node]
