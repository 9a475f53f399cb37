"""Theorem A for products, and mixtures of players, in docs/research/theory.md.

The parts of a product have a scale each; a mixture of players pays for its weights and for one of
the players.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from likewise.hypotheses import HypothesisClass, Points, Segments
from likewise.learner import Learner, SelfTuned, State, certificate
from likewise.learner.players import (
    ContextFTPL,
    Draws,
    ExponentialWeights,
    Frozen,
    NestedFTPL,
    Player,
    Term,
)
from likewise.learner.state import Tuning, changed
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.people import Feature, FeatureSchema
from tests.paper.referee import opened, perturbed_coins
from tests.paper.runs import (
    ADVERSARIES,
    ROUNDS,
    Adversary,
    coins,
    random_costs,
)

# ── Products: a scale for every part ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("player", [ContextFTPL(per_part=True), ExponentialWeights(per_part=True)])
@ADVERSARIES
@pytest.mark.parametrize("x", [0.05, 0.3, 1.0])
def test_a_product_pays_for_its_parts_one_by_one(
    player: Player, adversary: Adversary, x: float
) -> None:
    """Eight coins with a scale each, at places and scales as the program has them."""
    hypotheses, parts = coins(8).with_prior("flat"), 8
    points, rng = hypotheses.separating_points(), np.random.default_rng(2)
    assert player.scales(hypotheses) == parts
    costs, paid, tuning = np.zeros(parts), np.zeros(parts), Tuning.start(parts)
    spread, total, largest = np.zeros(parts), 0.0, 0.0
    stability, gain = (1 / 8, math.log(2)) if player.exact else (1 / 2, 1 / 2)
    for t in range(ROUNDS):
        # the last rounds touch one part only: its S is its own
        more = adversary(rng, np.full(parts, 0.6), t) * (np.arange(parts) == t % 3)
        bound = 3.0 * math.sqrt(t + 1) * parts
        largest = max(largest, bound)
        tuning = opened(tuning, bound)
        scales = player.scale_factors(hypotheses, x) * np.sqrt(tuning.peak)
        if player.exact:
            units = np.rint(costs * ONE).astype(np.int64)
            frozen = Frozen(1, 1, units, scales, 1)
            policy = np.array(player.estimates(hypotheses, frozen, points, Draws(0)).scores) / ONE
            assert policy == pytest.approx(1 / (1 + np.exp(costs / scales)), abs=1e-5)
        else:
            policy = perturbed_coins(costs, scales)
        paid += policy * more
        costs = costs + more
        spread += stability * more * more / scales
        total += float(np.abs(more).sum()) ** 2
        amounts = np.rint(more * ONE).astype(np.int64)
        tuning = tuning.charged(player.places(hypotheses, points), amounts)
    regrets = paid - np.minimum(costs, 0.0)
    assert (regrets <= spread + gain * scales + 1e-3).all()
    # Each part's S is the square of the last bound and what it has paid itself.
    assert (tuning.peak <= largest**2 + tuning.squares + 1e-6).all()
    (term,) = player.terms(hypotheses, x)
    assert term.gains == pytest.approx((gain,) * parts)
    together = term.constant() * math.sqrt(total) + term.burst() * largest
    assert float((spread + gain * scales).sum()) <= together + 1e-3


class Unequal(Segments):
    """79 coins in 16 parts: 64 of them in one, and one in each of the others."""

    @property
    def parts(self) -> int:
        return 16

    def part_of(self, points: Points) -> IntArray:
        return np.asarray(np.maximum(points - 63, 0))

    @property
    def part_log_sizes(self) -> FloatArray:
        return HypothesisClass.part_log_sizes.fget(self)  # type: ignore[attr-defined,no-any-return]


def test_a_product_with_unequal_parts_pays_for_each_as_large_as_it_is() -> None:
    """64 people a round, all of one part, whose labels never change: Context-FTPL is known in
    closed form, and has more regret than parts of the mean size would allow.
    """
    rounds, k = 4096, 64
    levels = tuple(f"l{i}" for i in range(79))
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=levels)))
    lender = Unequal(schema, score="score", cuts=[], by=["kind"])
    assert lender.part_noise_gains.tolist() == [32.0] + [0.5] * 15
    assert lender.part_log_sizes == pytest.approx([64 * math.log(2)] + [math.log(2)] * 15)
    learner = Learner(
        lender, k, 0.3, 0.3, 1, SelfTuned(eta=1.0, x=1.0), "context-ftpl", scales="per-part"
    )
    t = np.arange(rounds)
    wrong = perturbed_coins(t / k, np.sqrt(t + 1.0))  # π^t of a coin whose label is 0
    regret = k * float(wrong.sum())
    state = changed(State.start(learner), opened=rounds)
    allowed = certificate(state, delay=0).from_largest_lam
    assert allowed is not None
    mean = Term(1.0, (39.5 / 16,) * 16, 1.0)
    assert k * (mean.constant() * math.sqrt(rounds) + mean.burst()) < regret <= allowed
    # in its largest part the bound is met within a factor of two
    assert allowed < 2.5 * regret


def test_a_part_that_nothing_happens_to_keeps_its_scale() -> None:
    """Else a scale of its own would be none: here the other parts grow tenfold."""
    player, hypotheses = ContextFTPL(per_part=True), coins(4)
    points, tuning = hypotheses.separating_points(), Tuning.start(4)
    for _ in range(100):
        tuning = opened(tuning, 1.0)
        tuning = tuning.charged(player.places(hypotheses, points[:1]), np.array([ONE]))
    peaks = opened(tuning, 1.0).peak
    assert peaks.tolist() == [101.0, 1.0, 1.0, 1.0]


# ── Mixtures of players ─────────────────────────────────────────────────────────────────────────


@dataclass
class Mixture:
    """Nested-FTPL over two coins: everybody alike, one by one, and the constants.

    The policies of the two classes are known in closed form; weights, scales and places are the
    program's own.
    """

    x: float
    player: NestedFTPL = field(default_factory=NestedFTPL)
    regrets: FloatArray = field(default_factory=lambda: np.zeros(4))
    hedge: float = 0.0
    fine: float = 0.0
    ranges: list[float] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)

    def against(self, adversary: Adversary, rounds: int = ROUNDS) -> Mixture:
        hypotheses, player = coins(2), self.player
        points, rng = hypotheses.separating_points(), np.random.default_rng(2)
        tuning = Tuning.start(player.scales(hypotheses))
        costs, loss = np.zeros(2, dtype=np.int64), 0.0
        incurred: tuple[int, ...] = (0, 0, 0)
        for t in range(rounds):
            tuning = opened(tuning, 6.0 * math.sqrt(t + 1))
            scales = player.scale_factors(hypotheses, self.x) * np.sqrt(tuning.peak)
            frozen = Frozen(1, 1, costs, scales, 1, incurred)
            weights = player._weights(hypotheses, frozen).astype(float)
            weights /= weights.sum()
            self.weights.append(weights)
            alike = perturbed_coins(np.full(2, costs.sum() / ONE), float(scales[1]))
            apart = perturbed_coins(costs / ONE, scales[2:])
            experts = np.stack([np.zeros(2), np.ones(2), alike, apart])
            policy = weights @ experts
            units = np.rint(adversary(rng, policy, t) * ONE).astype(np.int64)
            self.ranges.append(float(np.abs(units).sum()) / ONE)
            loss += float(policy @ units) / ONE
            self.hedge += self.ranges[-1] ** 2 / (8 * float(scales[0]))
            self.fine += float((0.5 * (units / ONE) ** 2 / scales[2:]).sum())
            costs = costs + units
            scores = np.rint(experts[1:] * ONE).astype(np.int64)
            incurred = tuple(
                paid + int(score @ units) for paid, score in zip(incurred, scores, strict=True)
            )
            tuning = tuning.charged(player.places(hypotheses, points), units)
        totals = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]) @ costs / ONE
        self.regrets = loss - totals
        self.hedge += float(scales[0]) * math.log(4)  # prior ¼ of a class, as of a constant
        self.fine += 0.5 * float(scales[2:].sum())
        return self


@ADVERSARIES
@pytest.mark.parametrize("x", [0.05, 0.3, 1.0])
def test_a_mixture_pays_for_its_weights_and_for_one_of_its_players(
    adversary: Adversary, x: float
) -> None:
    run = Mixture(x).against(adversary)
    off = 2.0**-19 * sum(run.ranges)
    assert run.regrets.max() <= run.hedge + run.fine + off
    # Against a constant the weights alone have to pay.
    assert max(run.regrets[0], run.regrets[3]) <= run.hedge + off
    # and the bound that the program computes from its terms is no less
    weights, fine = run.player.terms(coins(2), x)
    squares = sum((6.0 * math.sqrt(t + 1)) ** 2 for t in range(ROUNDS))
    largest = 6.0 * math.sqrt(ROUNDS)
    allowed = weights.constant() * math.sqrt(squares)
    assert run.hedge <= allowed + 1e-6
    assert run.fine <= fine.constant() * math.sqrt(squares) + fine.burst() * largest + 1e-6


def test_a_mixture_finds_the_player_that_is_best() -> None:
    """Its weight is nearly 1 in the end: of a constant, of all alike, and of one by one."""

    def constant(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
        return np.array([1.0, -0.5])

    def apart(rng: np.random.Generator, policy: FloatArray, t: int) -> FloatArray:
        return np.array([1.0, -1.0])

    nobody = Mixture(0.3).against(constant, 3000).weights[-1]
    fine = Mixture(0.3).against(apart, 3000).weights[-1]
    assert nobody[0] < 0.01  # approving nobody costs 0, the second alone is better
    assert fine[3] > 0.99
    assert fine[:2].max() < 0.01


def test_the_first_weights_of_a_mixture_are_its_prior() -> None:
    first = Mixture(0.3).against(random_costs, 1).weights[0]
    assert first == pytest.approx([0.25, 0.25, 0.25, 0.25], abs=1e-9)
