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
    """A threshold for each segment; people by their segment's code and score."""

    def __init__(self, k: int, cuts: FloatArray, groups: list[tuple[int, int]], score: int) -> None:
        super().__init__(k)
        self.cuts, self.groups, self.score = cuts, groups, score
        self.bins = len(cuts) + 1
        self.costs = np.zeros((math.prod(levels for _, levels in groups), self.bins))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Weights of all thresholds of the people's segments, added up to their bins."""
        group = np.zeros(len(x), dtype=np.int64)
        for column, levels in self.groups:
            group = group * levels + x[:, column].astype(np.int64)
        bins = np.searchsorted(self.cuts, x[:, self.score], side="right")
        self.cells = (group, bins)
        tails = np.zeros((len(x), self.bins + 1))
        tails[:, :-1] = np.cumsum(self.costs[group][:, ::-1], axis=1)[:, ::-1]
        weights = np.exp((tails.min(axis=1, keepdims=True) - tails) / self.temperature)
        summed = np.cumsum(weights, axis=1)
        scores = summed[np.arange(len(x)), bins] / summed[:, -1]
        return scores, self.rng.random(len(self.costs))[group] < scores

    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on the people's cells."""
        group, bins = self.cells
        np.add.at(self.costs, (group[places], bins[places]), amounts)


class PlainList(PlainRound):
    """A list of cuts on columns: one weight for each."""

    def __init__(self, k: int, columns: npt.NDArray[np.int64], levels: FloatArray) -> None:
        super().__init__(k)
        self.columns, self.levels = columns, levels
        self.costs = np.zeros(len(columns))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Weights of those that approve each person."""
        return self.decide((x[:, self.columns] >= self.levels).astype(np.float64))

    def decide(self, predictions: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The same where the predictions are given, shape (k, N)."""
        self.predictions = predictions
        weights = np.exp((self.costs.min() - self.costs) / self.temperature)
        summed = np.cumsum(weights)
        member = int(np.searchsorted(summed, self.rng.random() * summed[-1]))
        return predictions @ weights / summed[-1], predictions[:, member] != 0

    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on those that approve."""
        self.costs += amounts @ self.predictions[places]
