"""Games with one-sided labels, unfolded completely: expectations and probabilities, not averages.

Every round branches over the decisions and over J, with their probabilities, and the learner's own
fold goes down every branch. Two people come every round, one of each kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest

from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, apply
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Labelled,
    Person,
    Sealed,
)
from likewise.learner.fold import upcoming
from likewise.learner.players import Draws, Frozen
from likewise.numerics.fixed_point import ONE, FloatArray, to_units
from tests.paper.games import log_inverse
from tests.paper.referee import perturbed_leader


class Capped(SelfTuned):
    """M = 3 at once, which the schedule has from round 9 on; a game of that length is too large."""

    def resamples(self, k: int, t: int) -> int:
        return 3 if t > 1 else 2


TABLES: dict[str, list[list[int]]] = {
    "nobody or some": [[0, 0], [0, 1]],
    "three on two points": [[0, 0], [1, 0], [1, 1]],
    "all on two points": [[0, 0], [1, 0], [0, 1], [1, 1]],
}
# What the labels of the two people are is fixed beforehand.
LABELS: dict[str, list[tuple[int, int]]] = {
    "nobody repays": [(0, 0)] * 4,
    "one of them repays": [(1, 0)] * 4,
    "they change": [(0, 1), (1, 0), (0, 0), (1, 1)],
}
NAMES = ("ann", "bo")
Pairs = tuple[tuple[str, str], ...]
Branch = tuple[tuple[int, ...], tuple[int, ...]]  # decisions, and J in units


def learner_of(table: list[list[int]], schedule: SelfTuned, player: str) -> Learner:
    """The panel finds every gap above alpha − kappa = 0.05: lam moves from the first round on."""
    hypotheses = Pool.from_table(table)
    return Learner(hypotheses, 2, 0.5, 0.5, 1, schedule, player, feedback="one-sided")


def resampled(q: float, cap: int) -> list[float]:
    """P(J = j) for j = 1 … M."""
    return [q * (1 - q) ** (j - 1) for j in range(1, cap)] + [(1 - q) ** (cap - 1)]


@dataclass(frozen=True)
class Node:
    """A round: the branches' probabilities and, of each, L_t and X_t (a column a hypothesis).

    X_t is the labels' part of f̂_t(π^t) − f̂_t(h) less its mean over the branches.
    """

    cap: int
    ways: FloatArray
    sizes: FloatArray
    estimates: FloatArray


@dataclass(frozen=True)
class Path:
    """The sums over the rounds of a branch; of the regret and of X_t one for each hypothesis."""

    chance: float
    squares: float  # of L_t
    lams: float  # of lam_t²
    bound: float  # Theorem A's for the estimated costs
    regret: FloatArray  # of the true costs
    estimates: FloatArray  # X_t
    errors: float  # of the decisions, less those of the policies

    def then(
        self, way: float, square: float, lam: float, paid: float, regret: FloatArray,
        estimates: FloatArray, errors: float,
    ) -> Path:  # fmt: skip
        """One round more, which goes this way with such a probability."""
        return Path(
            self.chance * way, self.squares + square, self.lams + lam, self.bound + paid,
            self.regret + regret, self.estimates + estimates, self.errors + errors,
        )  # fmt: skip


@dataclass
class Game:
    """All branches of a game, and expectations added up over them."""

    learner: Learner
    table: FloatArray  # predictions, a row for every hypothesis and a column for ann and for bo
    labels: list[tuple[int, int]]
    bias: float = 0.0
    root_peak: float = 0.0
    closest: float = 0.0  # sqrt(max S) came to what it is at most
    checked: int = 0
    nodes: list[Node] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        nothing = np.zeros(len(self.table))
        self.play(State.start(self.learner), 0, Path(1.0, 0.0, 0.0, 0.0, nothing, nothing, 0.0))

    @property
    def chance(self) -> float:
        return sum(path.chance for path in self.paths)

    @property
    def bound(self) -> float:
        return sum(path.chance * path.bound for path in self.paths)

    @property
    def regret(self) -> FloatArray:
        """Against every hypothesis."""
        total: FloatArray = np.sum([path.chance * path.regret for path in self.paths], axis=0)
        return total

    @property
    def exact(self) -> bool:
        return self.learner.primal.exact

    @property
    def unit(self) -> float:
        """eta/k, on the grid."""
        return to_units(self.learner.schedule.error_weight() / 2) / ONE

    @property
    def caps(self) -> list[int]:
        """M_t of every round."""
        return [self.learner.resamples(t + 1) for t in range(len(self.labels))]

    def law(self, frozen: Frozen) -> FloatArray:
        totals = frozen.costs / ONE / frozen.scale
        assert isinstance(self.learner.hypotheses, Pool)
        if self.exact:
            hypotheses = self.learner.hypotheses
            totals = totals + hypotheses.log_inverse_priors(hypotheses.codes())
            weights = np.exp(totals.min() - totals)
            return np.asarray(weights / weights.sum())
        separators = self.learner.hypotheses.separating_points().T.astype(float)
        return perturbed_leader(separators, totals)

    def branches(self, cap: int, frozen: Frozen, law: FloatArray) -> dict[Branch, float]:
        """All (ŷ, J) with their probabilities, J of those who were not approved left at 1."""
        members, actual = range(len(law)), dict[Branch, float]()
        ways = product(members, repeat=1 if self.exact else cap)
        for decider, *tried in ways:
            decisions = tuple(int(v) for v in self.table[decider])
            inverses = self.exact_inverses(frozen) if self.exact else self.first(tried, cap)
            observed = tuple(j if bit else ONE for j, bit in zip(inverses, decisions, strict=True))
            chance = float(law[decider] * math.prod(law[h] for h in tried))
            actual[decisions, observed] = actual.get((decisions, observed), 0.0) + chance
        assert sum(actual.values()) == pytest.approx(1, abs=1e-9)
        return {branch: chance for branch, chance in actual.items() if chance > 0}

    def exact_inverses(self, frozen: Frozen) -> list[int]:
        points = self.table.T.astype(np.uint8)
        learner = self.learner
        return learner.primal.estimates(learner.hypotheses, frozen, points, Draws(0)).inverses

    def first(self, tried: list[int], cap: int) -> list[int]:
        """The number of the first draw that approves, at most M; the last draw never matters."""
        approvals = [[*self.table[tried, i], 1.0] for i in (0, 1)]
        assert all(len(a) == cap for a in approvals)
        return [(a.index(1.0) + 1) * ONE for a in approvals]

    def node(
        self, cap: int, actual: dict[Branch, float], policy: FloatArray, y: FloatArray
    ) -> Node:
        ways = np.array(list(actual.values()))
        j = np.array([np.array(i) / ONE * np.array(d) for d, i in actual])
        costs = self.unit * (2 * j * (1 - y) - 1)
        estimates = costs @ (policy - self.table).T
        return Node(cap, ways, np.abs(costs).sum(axis=1), estimates - ways @ estimates)

    def paid(self, size: float, lam: float, reported: int, scale: float) -> float:
        """A round's part of the stability."""
        if self.exact:
            return (20 * (2 * self.unit) ** 2 + 4 * lam**2 * reported) / (4 * scale)
        return self.learner.hypotheses.separators * (size + 2 * lam * reported) ** 2 / (2 * scale)

    def play(self, state: State, t: int, path: Path) -> None:
        """Round t and all that may follow."""
        frozen, lam = upcoming(state), to_units(state.lam) / ONE
        law, y = self.law(frozen), np.array(self.labels[t], dtype=float)
        policy, cap, last = law @ self.table, self.caps[t], t + 1 == len(self.labels)
        scores = [to_units(float(v)) for v in policy]
        gap = scores[0] - scores[1]
        pairs = (NAMES if gap > 0 else NAMES[::-1],) * (abs(gap) > self.learner.sensitivity)
        reported = lam * math.copysign(1, gap) * np.array([1, -1]) * len(pairs)
        costs = self.unit * (1 - 2 * y) + reported
        actual = self.branches(cap, frozen, law)
        node = self.node(cap, actual, policy, y)
        self.nodes.append(node)
        self.bias += 0.0 if self.exact else path.chance * 4 * self.unit / (math.e * cap)
        charged = []
        for place, (branch, way) in enumerate(actual.items()):
            size, wrong = float(node.sizes[place]), np.abs(np.array(branch[0]) - y)
            along = path.then(
                way, size**2, lam**2, self.paid(size, lam, len(pairs), frozen.scale),
                (policy - self.table) @ costs, node.estimates[place],
                float((wrong - np.abs(policy - y)).sum()),
            )  # fmt: skip
            after = self.apply(state, t, scores, branch, pairs)
            charged.append((after.costs - state.costs) / ONE)
            if last:
                self.finish(frozen, along)
            else:
                self.play(after, t + 1, along)
        # J is exact up to 2^20
        missed = np.maximum(0, 1 - policy * 2.0**20) if self.exact else (1 - policy) ** cap
        expected = costs - 2 * self.unit * (1 - y) * missed
        estimate = node.ways @ np.array(charged)
        assert estimate == pytest.approx(self.table @ expected, abs=1e-5)
        if self.exact:
            # of the potential −tau·log Σ exp(−F/tau)
            logs = np.log(np.exp(-np.array(charged) / frozen.scale) @ law)
            slack = (5 * (2 * self.unit) ** 2 + lam**2 * len(pairs)) / frozen.scale
            assert law @ estimate <= -frozen.scale * (node.ways @ logs) + slack + 1e-5
        self.checked += 1

    def finish(self, frozen: Frozen, path: Path) -> None:
        """sqrt(max S) as the proofs bound it, by Minkowski's inequality for draws."""
        root, eta = frozen.scale / self.learner.schedule.x, 2 * self.unit  # type: ignore[attr-defined]
        if self.exact:
            gain = log_inverse(self.learner)
            promised = math.sqrt(20 * eta**2 * len(self.labels) + 4 * path.lams)
        else:
            gain = self.learner.hypotheses.separators / 2  # A ≤ s/2
            largest = eta * (2 * self.caps[-1] - 1)
            promised = math.sqrt(path.squares + largest**2) + 2 * math.sqrt(path.lams)
        assert root <= promised + 1e-4
        self.closest = max(self.closest, root / promised)
        self.root_peak += path.chance * root
        self.paths.append(replace(path, bound=path.bound + gain * frozen.scale))

    def apply(self, state: State, t: int, scores: list[int], branch: Branch, pairs: Pairs) -> State:
        """Through the learner's fold."""
        name, (decisions, inverses) = f"r{t}", branch
        people = tuple(
            Person(player, tuple(float(v) for v in self.table[:, i]))
            for i, player in enumerate(NAMES)
        )
        instance = tuple(
            Decision(player, bool(bit), score, j if bit else None)
            for player, bit, score, j in zip(NAMES, decisions, scores, inverses, strict=True)
        )
        state = apply(apply(state, Arrived(name, people)), Decided(name, instance))
        state = apply(state, Sealed(name, "panel"))
        state = apply(state, Audited(name, "report" if pairs else "quiet", pairs))
        for player, bit, label in zip(NAMES, decisions, self.labels[t], strict=True):
            state = apply(state, Labelled(name, player, label)) if bit else state
        return apply(state, Closed(name))
