"""Plain numpy loops of the same sums as a round of the exact player, without any bookkeeping.

Floating-point numbers, no checks, no records, no state that could be saved: what the arithmetic of
a round costs in numpy, and therefore what the learner's rounds are measured by.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import FloatArray
from likewise.portable_math import LN2

__all__ = ["PlainList", "PlainRound", "PlainSegments"]

Pair = tuple[int, int]


class PlainRound(ABC):
    """Exponential weights at the temperature x·sqrt(S), a multiplier, and k people a round."""

    def __init__(self, k: int, eta: float = 0.25, x: float = 1.0, beta: float = 0.15) -> None:
        self.k, self.eta, self.x, self.beta = k, eta, x, beta
        self.rng = np.random.default_rng(1)
        self.lam, self.squares, self.t = 0.0, 0.0, 0

    @property
    def temperature(self) -> float:
        """The temperature of the round that opens now."""
        bound = self.eta + 2 * self.lam
        return self.x * math.sqrt(self.squares + bound * bound)

    @abstractmethod
    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Scores of the people, and decisions by one draw of h."""

    @abstractmethod
    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on some of the round's people."""

    def learn(self, labels: npt.NDArray[np.int64], pair: Pair | None) -> None:
        """Costs of the labels and of a reported pair, and the dual step."""
        self.t += 1
        amounts = self.eta * (1 - 2 * labels) / self.k
        self.charge(slice(None), amounts)
        size = float(np.abs(amounts).sum())
        if pair is not None:
            self.charge(np.array(pair), np.array([self.lam, -self.lam]))
            size += 2 * self.lam
        self.squares += size * size
        mu = 1 / math.sqrt(self.t)
        gradient = (self.beta if pair is not None else 0.0) - mu * self.lam
        self.lam = max(0.0, self.lam + mu * gradient)


class PlainSegments(PlainRound):
    """A threshold for each combination of two features' levels, weighed from coarse to fine.

    The same tree as :mod:`likewise.hypotheses.cells.context_tree` has, of which every node stops
    with one threshold or splits on a feature that is left open, and both constants beside it.
    ``columns`` are the columns of the score and of the two features, ``levels`` how many each has.
    """

    def __init__(
        self, k: int, cuts: FloatArray, columns: tuple[int, int, int], levels: tuple[int, int]
    ) -> None:
        super().__init__(k)
        self.cuts, self.columns = cuts, columns
        self.costs: FloatArray = np.zeros((*levels, len(cuts) + 1))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Weights of all thresholds of all nodes, of the nodes, and of the constants."""
        score, first, second = (x[:, column] for column in self.columns)
        a, b = first.astype(np.int64), second.astype(np.int64)
        bins = np.searchsorted(self.cuts, score, side="right")
        self.cells = (a, b, bins)
        cube = np.concatenate([self.costs, self.costs.sum(0, keepdims=True)], 0)
        cube = np.concatenate([cube, cube.sum(1, keepdims=True)], 1)
        tails = np.zeros((*cube.shape[:2], cube.shape[2] + 1))
        tails[..., :-1] = np.cumsum(cube[..., ::-1], axis=2)[..., ::-1]
        low = tails.min(axis=2)
        summed = np.cumsum(np.exp((low[..., None] - tails) / self.temperature), axis=2)
        stop = np.log(summed[..., -1] / tails.shape[2]) - low / self.temperature
        z = stop.copy()
        splits = stop[:-1, :-1].sum(axis=1), stop[:-1, :-1].sum(axis=0)
        z[:-1, -1] = np.logaddexp(stop[:-1, -1], splits[0]) - LN2
        z[-1, :-1] = np.logaddexp(stop[-1, :-1], splits[1]) - LN2
        terms = np.array([stop[-1, -1] - LN2, z[:-1, -1].sum(), z[-1, :-1].sum()])
        terms[1:] -= 2 * LN2
        z[-1, -1] = np.logaddexp.reduce(terms)
        stops, root = np.exp(stop - LN2 - z), np.exp(terms - z[-1, -1])
        top = np.array([-self.costs.sum() / self.temperature - LN2, -LN2, z[-1, -1]])
        top = np.exp(top - top.max())
        chance = summed[..., :-1] / summed[..., -1:]
        by_first, by_second = stops[a, -1], stops[-1, b]
        leaf = root[1] * (1 - by_first) + root[2] * (1 - by_second)
        tree = (
            root[0] * chance[-1, -1, bins] + root[1] * by_first * chance[a, -1, bins]
            + root[2] * by_second * chance[-1, b, bins] + leaf * chance[a, b, bins]
        )  # fmt: skip
        scores = (top[0] + top[2] * tree) / top.sum()
        return scores, self._decide(top, root, stops, chance)

    def _decide(
        self, top: FloatArray, root: FloatArray, stops: FloatArray, chance: FloatArray
    ) -> npt.NDArray[np.bool_]:
        """One draw: a constant, or what every node says; those that split leave it to others."""
        a, b, bins = self.cells
        branch = int(np.searchsorted(np.cumsum(top), self.rng.random() * top.sum()))
        if branch < 2:
            return np.full(len(a), branch == 0)
        split = int(np.searchsorted(np.cumsum(root), self.rng.random() * root.sum()))
        stays = self.rng.random(stops.shape) < stops
        above = self.rng.random(stops.shape)
        if split == 0:
            place = (np.full_like(a, -1), np.full_like(b, -1))
        elif split == 1:
            place = (a, np.where(stays[a, -1], -1, b))
        else:
            place = (np.where(stays[-1, b], -1, a), b)
        return np.asarray(above[place] < chance[(*place, bins)])

    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on the people's cells."""
        a, b, bins = self.cells
        np.add.at(self.costs, (a[places], b[places], bins[places]), amounts)


class PlainList(PlainRound):
    """A list of cuts on columns: one weight for each, and ln(1/prior) unless that is flat."""

    def __init__(
        self,
        k: int,
        columns: npt.NDArray[np.int64],
        levels: FloatArray,
        inverse: FloatArray | None = None,
    ) -> None:
        super().__init__(k)
        self.columns, self.levels, self.inverse = columns, levels, inverse
        self.costs: FloatArray = np.zeros(len(columns))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Weights of those that approve each person."""
        return self.decide((x[:, self.columns] >= self.levels).astype(np.float64))

    def decide(self, predictions: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The same where the predictions are given, shape (k, N)."""
        self.predictions = predictions
        far = (self.costs - self.costs.min()) / self.temperature
        if self.inverse is not None:
            far += self.inverse
            far -= far.min()
        weights = np.exp(-far)
        summed = np.cumsum(weights)
        member = int(np.searchsorted(summed, self.rng.random() * summed[-1]))
        return predictions @ weights / summed[-1], predictions[:, member] != 0

    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on those that approve."""
        self.costs += amounts @ self.predictions[places]
