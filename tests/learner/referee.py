"""docs/research/theory.md in plain floats: what must be so when the next round opens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from likewise.learner import State, apply
from likewise.learner.events import Event


def units(value: float) -> int:
    return round(value * 2**20)


def fold(state: State, *events: Event) -> State:
    for event in events:
        state = apply(state, event)
    return state


@dataclass
class Referee:
    """The costs of cells, S and lam; ``unit`` is eta/k, and ``exact`` says that J is."""

    unit: int
    k: int
    beta: float
    costs: list[int]
    share: float = 1.0
    exact: bool = False
    lam: float = 0.0
    audits: int = 0
    squares: float = 0.0
    peak: float = 0.0

    def largest(self, m: int = 1) -> float:
        """B̄_t = eta·(2M−1) + 2·lam/p, where costs are integers of 2^-20."""
        return (self.k * self.unit * (2 * m - 1) + 2 * units(self.lam / self.share)) / 2**20

    def open(self, m: int = 1) -> float:
        """S_t = B̄_t² + Σ_{tau<t} B_tau²; its largest value so far is what counts.

        Where J is exact, B̄_t² is 20·eta² + 4·lam².
        """
        square = self.largest(m) ** 2
        if self.exact:
            eta = self.k * self.unit / 2**20
            square = 20 * eta**2 + 4 * (units(self.lam / self.share) / 2**20) ** 2
        s_t = square + self.squares
        self.peak = max(self.peak, s_t)
        return s_t

    def hear(
        self, labels: list[tuple[int, int]], pairs: list[tuple[int, int]], audited: bool
    ) -> float:
        """Label costs (cell, units) and reported pairs of cells come in; returns B_t."""
        absolute = 0
        for cell, cost in labels:
            self.costs[cell] += cost
            absolute += abs(cost)
        if self.exact:
            # 20·eta²/k a person
            self.squares += len(labels) * 20 * (self.k * self.unit / 2**20) ** 2 / self.k
            absolute = 0
        for over, under in pairs:
            cost = units(self.lam / self.share) // len(pairs)
            self.costs[over] += cost
            self.costs[under] -= cost
            absolute += 2 * cost
        self.squares += (absolute / 2**20) ** 2
        if audited:
            self.audits += 1
            mu = 1 / math.sqrt(self.audits)
            u = self.beta / self.share if pairs else 0.0
            self.lam = max(0.0, self.lam + mu * (u - mu * self.lam))
        return absolute / 2**20
