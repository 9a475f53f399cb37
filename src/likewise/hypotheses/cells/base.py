"""Classes over a finite domain of cells: one cost a cell, and a rule for every group of people."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from likewise.errors import HypothesisError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import ExactWeights, GibbsPolicy, HypothesisClass, Nested, Points
from likewise.hypotheses.cells.coarse_to_fine import CoarseToFine, NodeRules
from likewise.hypotheses.cells.context_tree import ContextTree
from likewise.hypotheses.cells.groups import Groups, coarser_groups
from likewise.hypotheses.priors import FLAT, Prior, named_prior
from likewise.hypotheses.weights import WEIGHT_BITS, integer_weights
from likewise.portable_math import LN2
from likewise.schema import FeatureSchema

# Nodes times cells of a context tree; each of them takes a few numbers of memory and time.
LARGEST_TREE = 1 << 22
LONGEST_LIST = 1 << 20


class OverCells(HypothesisClass, ExactWeights):
    """A class over a finite domain of cells: a point is a cell, and every cell separates.

    Groups of people are its parts: a hypothesis has a rule for each of them. A point is
    group·cells + cell. ``by`` is one of its parameters.
    """

    groups: Groups
    cellular = True

    @abstractmethod
    def __init__(self, schema: FeatureSchema, **parameters: Any) -> None:
        """Take the schema, and the parameters by name."""

    @property
    @abstractmethod
    def rules(self) -> NodeRules:
        """The rules that may hold for one group."""

    @property
    def parts(self) -> int:
        """The groups."""
        return self.groups.count

    def part_of(self, points: Points) -> IntArray:
        """The group that each point is in."""
        return np.asarray(points // self.rules.cells)

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
        return weights / (1 << WEIGHT_BITS)

    def checked_prior(self, prior: Any) -> Prior:
        """By name: such a class has too many hypotheses for probabilities of each."""
        return named_prior(type(self).__name__, prior)

    @property
    def log_inverse_prior(self) -> float:
        """log|H|, or from coarse to fine that of a different rule for every group."""
        if self.prior == FLAT:
            return self.log_size
        return LN2 + self.tree.log_inverse_prior(self.rules.log_count)

    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        """log|H| for each, or by a walk over the tree."""
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
        return -float(integer_weights(terms)[1][0])

    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """Weights that factorise over the groups, or a tree over them."""
        if self.prior == FLAT:
            return self.flat(costs, temperature)
        return CoarseToFine(self.tree, self.rules, costs, float(temperature))

    @abstractmethod
    def flat(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        """The policy with a flat prior; a temperature for all groups, or one for each."""

    def nested(self) -> tuple[Nested, ...]:
        """The same class by fewer of the features, the fewest first."""
        values = {name: getattr(self, name) for name in self.parameters}
        return tuple(
            Nested(
                type(self)(self.schema, **{**values, "by": groups.by}), groups.costs, groups.points
            )
            for groups in coarser_groups(self.groups, self.rules.cells)
        )

    def check_listable(self, count: str) -> None:
        """Refuse to list more than 2^20 hypotheses; ``count`` says how many there are."""
        if self.size > LONGEST_LIST:
            raise HypothesisError(f"This class has {count} hypotheses; at most 2^20 can be listed.")

    def separating_points(self) -> Points:
        """Every cell, in order."""
        return np.arange(self.separators)

    def no_costs(self) -> IntArray:
        """One cost for every cell."""
        return np.zeros(self.separators, dtype=np.int64)

    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        """Add each amount to its cell."""
        charged = costs.copy()
        np.add.at(charged, points, amounts)
        return charged

    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        """Add up the cells that each approves."""
        approved = self.predict(codes, self.separating_points()) != 0
        return np.asarray(np.where(approved, costs, 0).sum(axis=1))
