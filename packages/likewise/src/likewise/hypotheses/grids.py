"""Classes over a finite domain of cells: one cost a cell, and a rule for every group of people."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import combinations, product
from typing import Any, cast

import numpy as np

from likewise.errors import HypothesisError
from likewise.hypotheses import base
from likewise.hypotheses.base import FLAT, Bits, GibbsPolicy, Nested, Points
from likewise.numerics.fixed_point import LN2, FloatArray, IntArray, log, log_array
from likewise.numerics.randomness import Stream
from likewise.people.schema import FeatureSchema, People
from likewise.registry import parameters_of
from likewise.validation import assign, instance, items, reals, require, text


@dataclass(frozen=True)
class Groups:
    """All combinations of levels of the features ``by`` (a list or one name).

    Errors name the ``owner``.

    >>> from likewise.people import Feature
    >>> schema = FeatureSchema((Feature("car", "flag"), Feature("home", "flag")))
    >>> groups = Groups(schema, ("car", "home"), "Segments")
    >>> groups.count, groups.of(schema.people([[1, 0]])).tolist(), groups.names[2]
    (4, [2], ('yes', 'no'))
    """

    schema: FeatureSchema
    by: Sequence[str]
    owner: str

    def __post_init__(self) -> None:
        name, by = f"{self.owner}.by", self.by
        listed = [by] if isinstance(by, str) else items(name, by, "List features.")
        features = tuple(text(name, feature, "Name a feature.") for feature in listed)
        assign(self, by=features)
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        schema = instance(f"{self.owner}.schema", self.schema, FeatureSchema, remedy)
        different = len(set(features)) == len(features)
        require(different, name, "must not name a feature twice", self.by, "Drop one.")
        rule = "must name categories or flags that are never missing"
        remedy = "Give 'missing' a level of its own, or bands to a number."
        for feature in map(schema.__getitem__, features):
            fits = feature.missing is None and feature.kind in ("category", "flag")
            require(fits, name, rule, feature.name, remedy)

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self.schema[name].levels or ("no", "yes") for name in self.by)

    @cached_property
    def count(self) -> int:
        return math.prod(len(levels) for levels in self.levels)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The levels that make each group, in order."""
        return list(product(*self.levels))

    def of(self, people: People) -> IntArray:
        group = np.zeros(len(people), dtype=np.int64)
        for name, levels in zip(self.by, self.levels, strict=True):
            group = group * len(levels) + people.column(name).astype(np.int64)
        return group

    def bands(self, name: str, cuts: Sequence[float], names: tuple[str, str]) -> tuple[float, ...]:
        """Check the cuts that divide a number into bands; ``names`` are the two parameters."""
        feature = self.schema[name]
        column, parameter = (f"{self.owner}.{name}" for name in names)
        fits, rule = feature.missing is None, "must be a number that is never missing"
        remedy = "Fill missing values before they come here, or put a category into by."
        require(fits and feature.kind != "category", column, rule, name, remedy)
        levels = reals(parameter, cuts, "List them.")
        fits = bool(np.isfinite(levels).all()) and sorted(set(levels)) == list(levels)
        require(fits, parameter, "must increase and be finite", levels, "Sort them.")
        return levels


# Nested classes that are played at once; each needs draws of its own.
MOST_NESTED = 16
# Nodes times cells of a context tree; each of them takes a few numbers of memory and time.
LARGEST_TREE = 1 << 22
# Hypotheses that are listed one by one.
LONGEST_LIST = 1 << 20


class OverCells(base.HypothesisClass, base.ExactWeights):
    """A class over a finite domain of cells: a point is a cell, and every cell separates.

    Groups of people are its parts: a hypothesis has a rule for each of them. A point is
    group·cells + cell. ``by`` is one of its parameters.
    """

    groups: Groups
    cellular = True

    @property
    @abstractmethod
    def rules(self) -> NodeRules:
        """The rules that may hold for one group."""

    @property
    def parts(self) -> int:
        return self.groups.count

    def part_of(self, points: Points) -> IntArray:
        return np.asarray(points // self.rules.cells)

    @property
    def part_log_sizes(self) -> FloatArray:
        """Every group has the same rules."""
        return np.full(self.parts, self.rules.log_count)

    @cached_property
    def tree(self) -> ContextTree:
        """The context tree over the groups, for the prior from coarse to fine."""
        tree = ContextTree(tuple(len(levels) for levels in self.groups.levels if len(levels) > 1))
        if tree.nodes * self.rules.cells > LARGEST_TREE:
            raise HypothesisError(
                f"{type(self).__name__}: the prior from coarse to fine has {tree.nodes} nodes of "
                f"{self.rules.cells} cells here, and may have {LARGEST_TREE} in all. Leave a "
                f"feature out of `by`, or take the flat prior: with_prior('flat')."
            )
        return tree

    @property
    def cut(self) -> float:
        """2^-40 for every weight: those of one group, or of all nodes with their cells."""
        weights = self.rules.cells + 2
        if self.prior != FLAT:
            weights = self.tree.nodes * (weights + len(self.tree.levels))
        return weights / (1 << base.WEIGHT_BITS)

    @property
    def log_inverse_prior(self) -> float:
        """log|H|; from coarse to fine, that of different rules in all groups."""
        if self.prior == FLAT:
            return self.log_size
        return LN2 + self.tree.log_inverse_prior(self.rules.log_count)

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        if self.prior == FLAT:
            return np.full(len(codes), self.log_size)
        return np.array([self._log_inverse_prior_of(code) for code in codes])

    def _log_inverse_prior_of(self, code: IntArray) -> float:
        rules = code.reshape(self.groups.count, -1)
        _, numbers = np.unique(rules, axis=0, return_inverse=True)
        tree = self.tree.log_prior(numbers.reshape(-1), -self.rules.log_inverse_priors(rules))
        predictions = self.predict(code[None, :], self.separating_points())
        constant = predictions.all() or not predictions.any()
        terms = np.array([[tree - LN2], [-2.0 * LN2 if constant else -np.inf]])
        return -float(base.integer_weights(terms)[1][0])

    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        if self.prior == FLAT:
            return self.flat(costs, temperature)
        return CoarseToFine(self.tree, self.rules, costs, float(temperature))

    @abstractmethod
    def flat(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """The policy with a flat prior; a temperature for all groups, or one for each."""

    def nested(self) -> tuple[Nested, ...]:
        """The same class by every subset of the features, the smallest first and all last.

        If these are too many: by the first features. Features with one level do not count.
        """
        features = [f for f, levels in enumerate(self.groups.levels) if len(levels) > 1]
        subsets = [subset for n in range(len(features)) for subset in combinations(features, n)]
        if len(subsets) >= MOST_NESTED:
            subsets = [tuple(features[:n]) for n in range(min(len(features), MOST_NESTED - 1))]
        subsets.append(tuple(range(len(self.groups.levels))))
        return tuple(map(self._coarser, subsets))

    def _coarser(self, features: tuple[int, ...]) -> Nested:
        """The same class by some of the features; costs are summed over the others."""
        shape, cells = tuple(map(len, self.groups.levels)), self.rules.cells
        omitted = tuple(f for f in range(len(shape)) if f not in features)

        def coarser_costs(costs: IntArray) -> IntArray:
            return np.asarray(costs.reshape(*shape, cells).sum(axis=omitted).reshape(-1))

        def coarser_points(points: Points) -> Points:
            places = np.unravel_index(points // cells, shape) if shape else ()
            group = np.zeros(len(points), dtype=np.int64)
            for f in features:
                group = group * shape[f] + places[f]
            return np.asarray(group * cells + points % cells)

        by = tuple(self.groups.by[f] for f in features)
        coarser = cast(Any, type(self))(**{**parameters_of(self), "by": by})
        return Nested(coarser, coarser_costs, coarser_points)

    def check_listable(self, count: str) -> None:
        """Refuse to list more than 2^20 hypotheses; ``count`` is their number as a formula."""
        if self.size > LONGEST_LIST:
            raise HypothesisError(f"This class has {count} hypotheses; at most 2^20 can be listed.")

    @property
    def separators(self) -> int:
        return self.groups.count * self.rules.cells

    def separating_points(self) -> Points:
        return np.arange(self.separators)

    def no_costs(self) -> IntArray:
        return np.zeros(self.separators, dtype=np.int64)

    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        charged = costs.copy()
        np.add.at(charged, points, amounts)
        return charged

    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        approved = self.predict(codes, self.separating_points()) != 0
        return np.asarray(np.where(approved, costs, 0).sum(axis=1))


class NodeRules(ABC):
    """The rules that may hold for everybody at a node, each on ``cells`` cells."""

    cells: int

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


@dataclass(frozen=True)
class Thresholds(NodeRules):
    """Approve from a bin on, or nobody: B + 1 thresholds, equally likely."""

    cells: int

    @property
    def log_count(self) -> float:
        return log(self.cells + 1)

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        return np.full(len(codes), self.log_count)

    def weigh(self, costs: IntArray, temperature: float) -> NodeWeights:
        """Costs of the thresholds are sums of those of the bins from there on."""
        return _ThresholdWeights(threshold_costs(costs), temperature)


class _ThresholdWeights(NodeWeights):
    numbers = 1

    def __init__(self, costs: IntArray, temperature: float) -> None:
        self._summed = np.cumsum(base.gibbs_weights(costs, temperature), axis=1)
        total = log_array(self._summed[:, -1].astype(np.float64)) - base.WEIGHT_BITS * LN2
        self.least = costs.min(axis=1)
        self.log_stop = total - log(costs.shape[1])

    def chances(self, nodes: IntArray, cells: IntArray) -> FloatArray:
        return np.asarray(self._summed[nodes, cells] / self._summed[nodes, -1])

    def draw(self, node: int, stream: Stream, draw: int, first: int) -> Bits:
        summed = self._summed[node]
        number = stream.numbers_below([int(summed[-1])], draw, np.array([first]))[0]
        threshold = int(np.searchsorted(summed, number, side="right"))
        return (np.arange(len(summed) - 1) >= threshold).astype(np.uint8)


def threshold_costs(cells: IntArray) -> IntArray:
    """Costs of the thresholds 0 … B from those of the bins (last axis): Σ_{b ≥ j} c_b.

    >>> threshold_costs(np.array([5, -2])).tolist()
    [3, -2, 0]
    """
    costs = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1), dtype=np.int64)
    costs[..., :-1] = np.cumsum(cells[..., ::-1], axis=-1)[..., ::-1]
    return costs


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
        return np.array([base.weight_of(top - term) for term in terms], dtype=np.int64)

    def chances(self, points: Points) -> FloatArray:
        groups, cells = points // self.rules.cells, points % self.rules.cells
        nodes, stops = self._tree.stops(groups)
        chances = stops * self._nodes.chances(nodes, cells[:, None])
        total = reduce(np.add, chances.T)  # in this order: the same bits on every machine
        everybody, nobody, tree = (float(weight) for weight in self._top)
        return np.asarray((everybody + tree * total) / (everybody + nobody + tree))

    def approval(self, points: Points) -> list[tuple[int, int]]:
        units = np.rint(np.ldexp(np.minimum(self.chances(points), 1.0), base.WEIGHT_BITS))
        return [(int(unit), 1 << base.WEIGHT_BITS) for unit in units]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Position 0 picks a constant or the tree; then every node has positions of its own."""
        choice = base.pick(self._top, stream.below(int(self._top.sum()), draw))
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
        return math.prod(n + 1 for n in self.levels)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The distance between the nodes of neighbouring levels, for each feature."""
        later = (self.levels[f + 1 :] for f in range(len(self.levels)))
        return tuple(math.prod(n + 1 for n in levels) for levels in later)

    @cached_property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """All sets of features, the smaller before the larger."""
        count = len(self.levels)
        return tuple(s for size in range(count + 1) for s in combinations(range(count), size))

    @cached_property
    def splits(self) -> tuple[tuple[int, int, int], ...]:
        """Subsets with one feature more: the place of a subset, the feature, the larger's place."""
        place = {subset: column for column, subset in enumerate(self.subsets)}
        return tuple(
            (column, f, place[tuple(sorted((*subset, f)))])
            for column, subset in enumerate(self.subsets)
            for f in range(len(self.levels))
            if f not in subset
        )

    @cached_property
    def leaves(self) -> IntArray:
        """The nodes that leave nothing open, in the order of their groups."""
        grid = np.arange(self.nodes).reshape([n + 1 for n in self.levels])
        return grid[tuple(slice(0, n) for n in self.levels)].reshape(-1)

    @cached_property
    def depths(self) -> tuple[Depth, ...]:
        """The nodes from those that leave one feature open up to the root, which leaves all."""
        if not self.levels:
            return ()
        places = np.stack(np.unravel_index(np.arange(self.nodes), [n + 1 for n in self.levels]))
        left_open = places == np.array(self.levels)[:, None]
        counts = left_open.sum(axis=0)
        level, depths = np.arange(max(self.levels))[:, None, None], []
        for count in range(1, len(self.levels) + 1):
            nodes = np.flatnonzero(counts == count)
            features = np.nonzero(left_open[:, nodes].T)[1].reshape(-1, count).T
            levels, strides = np.array(self.levels)[features], np.array(self.strides)[features]
            children = np.where(level < levels, nodes + (level - levels) * strides, self.nodes)
            depths.append(Depth(nodes, features, children))
        return tuple(depths)

    def gather(self, cells: IntArray, join: np.ufunc = np.add) -> IntArray:
        """Integers of every node: those of the groups, (groups, n), joined over levels."""
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
        return np.unravel_index(groups, self.levels) if self.levels else ()

    def weigh(self, log_stop: FloatArray, least: IntArray, temperature: float) -> TreeWeights:
        """The posterior, from Z_stop = exp(log_stop − least/temperature) of every node."""
        best = self.gather(least[self.leaves].reshape(-1, 1))[:, 0]
        log_stop = log_stop - (least - best) / temperature
        # The last one is that of no node at all, whose weight is 1.
        log_z = np.append(log_stop, 0.0)
        choices = np.zeros((self.nodes, 1 + len(self.levels)), dtype=np.int64)
        choices[:, 0] = 1 << base.WEIGHT_BITS
        for depth in self.depths:
            count = len(depth.features)
            terms = np.empty((1 + count, len(depth.nodes)))
            terms[0] = log_stop[depth.nodes] - LN2
            # Children are added up in their order: the same bits on every machine.
            children = reduce(np.add, (log_z[level] for level in depth.children))
            terms[1:] = children - (LN2 + log(count))
            weights, log_z[depth.nodes] = base.integer_weights(terms)
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
        """ln(1/prior) of a hypothesis that splits everywhere, with rules of such a prior.

        No hypothesis has more if no rule of a group has, since stopping only adds to a prior. With
        two rules or more there is such a hypothesis: neighbours differ, as on a chessboard.
        """
        never = np.full(self.nodes, -np.inf)
        never[self.leaves] = -log_rules
        return -self.weigh(never, np.zeros(self.nodes, dtype=np.int64), 1.0).log_total


@dataclass(frozen=True)
class Depth:
    """The nodes that leave the same number of features open, and the children of their splits.

    ``features`` are the open ones of each node, (open, nodes); ``children`` the nodes of each
    level, (levels, open, nodes), filled up with one more than the last node.
    """

    nodes: IntArray
    features: IntArray
    children: IntArray


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
        """The nodes above each group, (groups, subsets), and the chances to stop there."""
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

        @cache
        def choice(node: int) -> int:
            """0 to stop at a node, or 1 more than the feature that it splits on."""
            weights = self.choices[node]
            total = [int(weights.sum())]
            return base.pick(
                weights, stream.numbers_below(total, draw, np.array([first + node]))[0]
            )

        places = np.array(tree.places(groups), dtype=np.int64)
        stops = []
        for levels in places.reshape(len(tree.levels), len(groups)).T.tolist():
            node = tree.nodes - 1
            while split := choice(node):
                f = split - 1
                node -= (tree.levels[f] - levels[f]) * tree.strides[f]
            stops.append(node)
        return np.array(stops, dtype=np.int64)
