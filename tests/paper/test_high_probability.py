"""Theorem C with high probability, and realised errors, in docs/research/theory.md.

Small games are unfolded, so that the probabilities of the proof's events are exact; what the proof
says of a round is checked at every node. Long games are simulated: there a bound that holds with
probability 1 − e^{−l} must not fail more often, and half of it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy import stats

from likewise.learner import Learner, SelfTuned
from likewise.learner.bounds import bounds
from likewise.numerics.fixed_point import FloatArray
from tests.paper.games import coins
from tests.paper.referee import OFF
from tests.paper.unfolded import LABELS, TABLES, Capped, Game, learner_of, resampled

LEVELS = (0.1, 0.5, 1.0, 2.0, 4.0)
GAMES = pytest.mark.parametrize("labels", LABELS)
CLASSES = pytest.mark.parametrize("table", TABLES)


@dataclass(frozen=True)
class Terms:
    """The terms of the theorem for caps M_1 … M_T, divided by eta."""

    caps: list[int]

    @property
    def largest(self) -> int:
        """L_t/eta is at most that."""
        return 2 * max(self.caps) - 1

    def squares(self, level: float, factor: float = math.e - 1) -> float:
        """Σ L_t²/eta² is less with probability 1 − e^{−l}."""
        mean = sum(1 + 2.4 * cap for cap in self.caps)
        return factor * mean + self.largest**2 * level

    def estimates(self, level: float) -> float:
        """−Σ X_t(h)/eta is less with probability 1 − e^{−l}."""
        spread = sum(1 + 0.6 * cap for cap in self.caps)
        return 2 * math.sqrt(2 * spread * level) + 4 / 3 * (max(self.caps) + 1) * level

    @property
    def bias(self) -> float:
        return 2 / math.e * sum(1 / cap for cap in self.caps)


@cache
def unfolded(table: str, labels: str, x: float = 0.5) -> Game:
    """eta = 1 and three rounds, M = 2, 3, 3."""
    members = TABLES[table]
    learner = learner_of(members, Capped(eta=1.0, x=x, kappa=0.45), "context-ftpl")
    return Game(learner, np.array(members, float), LABELS[labels][:3])


# ── A round ─────────────────────────────────────────────────────────────────────────────────────


@CLASSES
@GAMES
def test_squares_grow_no_faster_than_e_minus_1_times_their_means(table: str, labels: str) -> None:
    """E exp(u) ≤ 1 + (e − 1)·E u ≤ exp((e − 1)·E u) for u = L_t²/(2·M_T − 1)², at every node."""
    game = unfolded(table, labels)
    largest = Terms(game.caps).largest
    for node in game.nodes:
        u = (node.sizes / largest) ** 2
        assert u.max() <= 1 + 1e-6
        mean = float(node.ways @ u)
        assert node.ways @ np.exp(u) <= 1 + (math.e - 1) * mean + 1e-6
        assert mean * largest**2 <= 1 + 2.4 * node.cap + 1e-6


@CLASSES
@GAMES
def test_estimates_have_the_range_and_the_variance_that_freedman_is_given(
    table: str, labels: str
) -> None:
    """|X_t| ≤ 2·eta·(M_t + 1), E X_t² ≤ 4·eta²·(1 + 0.6·M_t), and its moment generating function.

    E exp(v·X) ≤ exp(v²·E X²/(2·(1 − v·b/3))) for 0 ≤ v < 3/b and |X| ≤ b.
    """
    for node in unfolded(table, labels).nodes:
        x, most = node.estimates, 2.0 * (node.cap + 1)
        variance = node.ways @ x**2
        assert node.ways @ x == pytest.approx(0, abs=1e-9)
        assert np.abs(x).max() <= most
        assert (variance <= 4 * (1 + 0.6 * node.cap)).all()
        for v in (0.1 * 3 / most, 0.5 * 3 / most, 0.9 * 3 / most):
            allowed = np.exp(v * v * variance / (2 * (1 - v * most / 3)))
            assert (node.ways @ np.exp(-v * x) <= allowed + 1e-9).all()
            assert (node.ways @ np.exp(v * x) <= allowed + 1e-9).all()


def test_that_variance_is_nearly_attained() -> None:
    """M = 200: with 0.9 of it Freedman's inequality would be given too little."""
    cap, q = 200, 1.79 / 200
    j, chances = np.arange(1, cap + 1), np.array(resampled(q, cap))
    variance = 4 * (1 - q) ** 2 * (q * (chances @ j**2) - (q * (chances @ j)) ** 2)
    assert 0.9 < variance / (4 * (1 + 0.6 * cap)) <= 1


# ── A game, with its probabilities ──────────────────────────────────────────────────────────────


@CLASSES
@GAMES
@pytest.mark.parametrize("x", [0.05, pytest.param(0.5, marks=pytest.mark.long)])
def test_theorem_c_holds_on_every_path_but_for_two_unlikely_events(
    table: str, labels: str, x: float
) -> None:
    game = unfolded(table, labels, x)
    terms, paths = Terms(game.caps), game.paths
    constant = game.learner.primal.terms(game.learner.hypotheses, x)[0].constant()
    off = OFF * (3 * 5 + 2 * 3 * 2)  # of the integral, for all estimated costs together
    chances, squares = np.array([p.chance for p in paths]), np.array([p.squares for p in paths])
    lams, regrets = np.sqrt([p.lams for p in paths]), np.array([p.regret for p in paths])
    estimates, surely = np.array([p.estimates for p in paths]), np.array([p.bound for p in paths])
    # On every path: what an estimate is off by is its bias, and what the X_t add up to.
    assert (regrets <= surely[:, None] + terms.bias - estimates + off).all()
    for level in LEVELS:
        large = squares > terms.squares(level)
        assert chances[large].sum() <= math.exp(-level)
        root = math.sqrt(terms.squares(level) + terms.largest**2)
        w = constant * (root + 2 * lams) + terms.bias + terms.estimates(level)
        for h in range(len(game.table)):
            far = -estimates[:, h] > terms.estimates(level)
            assert chances[far].sum() <= math.exp(-level)
            good = ~(large | far)
            assert (regrets[good, h] <= w[good] + off).all()


# ── Long games ──────────────────────────────────────────────────────────────────────────────────

CAP, ROUNDS, RUNS, LEVEL = 30, 10_000, 4000, math.log(100)
# A right program has more failures than this with probability 1e-9.
ALLOWED = int(stats.binom.isf(1e-9, RUNS, math.exp(-LEVEL)))


@cache
def simulated() -> tuple[FloatArray, FloatArray]:
    """Σ L_t² and −Σ X_t(h) of a player who approves one person with probability about 1.8/M.

    That is where q·E[J(J − 1)] is largest; nobody repays, h approves, and eta = 1. The adversary
    moves q by what has happened in each of the runs so far.
    """
    rng = np.random.default_rng(17)
    squares, sums = np.zeros(RUNS), np.zeros(RUNS)
    for _ in range(ROUNDS):
        q = np.where(sums > 0, 1.8, 1.6) / CAP
        j = np.minimum(rng.geometric(q), CAP) * (rng.random(RUNS) < q)
        squares += (2 * j - 1) ** 2
        sums += 2 * (1 - q) * (j - (1 - (1 - q) ** CAP))
    return squares, sums


def test_in_long_games_squares_exceed_their_bound_no_more_often_than_stated() -> None:
    """With 1 in place of e − 1 they would."""
    squares, _ = simulated()
    terms = Terms([CAP] * ROUNDS)
    assert (squares > terms.squares(LEVEL)).sum() <= ALLOWED
    assert (squares > terms.squares(LEVEL, factor=1.0)).sum() > ALLOWED


def test_in_long_games_estimates_exceed_their_bound_no_more_often_than_stated() -> None:
    """With half of its first term, which is nearly all of it, they would."""
    _, sums = simulated()
    bound = Terms([CAP] * ROUNDS).estimates(LEVEL)
    rest = 4 / 3 * (CAP + 1) * LEVEL
    assert rest < 0.1 * bound
    assert (sums > bound).sum() <= ALLOWED
    assert (sums > (bound - rest) / 2 + rest).sum() > ALLOWED


@pytest.mark.parametrize("player", ["context-ftpl", "nested-ftpl"])
@pytest.mark.parametrize("feedback", ["full", "one-sided"])
def test_the_program_states_the_theorem_with_these_terms(player: str, feedback: str) -> None:
    """W = C·eta·sqrt(…) + bias + estimates + (4·C²/c + c·beta² + 2·b·beta)·sqrt(T), off the grid.

    A mixture adds eta·(2·M_T − 1)·sqrt(2·T·l/R), l = ln(9/delta); with full information M_T = 1 and
    ln(5/delta).
    """
    schedule = SelfTuned(eta=1.0, x=0.5, kappa=0.2, r=0.16)
    setting = coins(2)
    learner = Learner(setting.hypotheses, 2, 0.5, 0.5, 1, schedule, player, feedback=feedback)
    bound, one_sided, nested = (
        bounds(learner, 1000)[-1],
        feedback == "one-sided",
        "nested" in player,
    )
    terms = Terms([math.ceil(round(t ** (1 / 3), 9)) if one_sided else 1 for t in range(1, 1001)])
    level = math.log((9 if one_sided else 5) / schedule.delta)
    parts = learner.primal.terms(learner.hypotheses, learner.x)
    constant, burst = sum(p.constant() for p in parts), sum(p.burst() for p in parts)
    beta, c = 0.3, (0.3 - 0.16) / 0.3
    root = math.sqrt(terms.squares(level) + terms.largest**2) if one_sided else math.sqrt(1000)
    w = constant * root + burst * terms.largest
    if one_sided:
        w += terms.bias + terms.estimates(level + math.log(4))
    if nested:
        experts = learner.primal.experts(learner.hypotheses)
        draws = schedule.draws(learner.margins, 2 * experts, 1)
        w += terms.largest * math.sqrt(2 * 1000 * level / draws)
    w += (4 * constant**2 / c + c * beta**2 + 2 * burst * beta) * math.sqrt(1000)
    assert bound.holds.startswith("with probability 0.95")
    # Estimates and mixtures are of draws, which the labels may not follow.
    condition = "after 1,000 rounds, if a round's labels depend on nothing of its own draws"
    assert (condition in bound.holds) == (one_sided or nested)
    assert bound.regret == pytest.approx(2 * w, rel=1e-4)
    reports = 2 * math.sqrt(math.sqrt(1000) * (1000 + w) / (beta * (beta - 0.16)))
    assert bound.violations == pytest.approx(reports, rel=1e-4)


# ── Realised errors ─────────────────────────────────────────────────────────────────────────────


def realised(k: int, rounds: int, level: float) -> float:
    """The decisions have at most so many errors more, with probability 1 − e^{−l}."""
    return k * math.sqrt(rounds * level / 2)


@CLASSES
@GAMES
def test_the_errors_of_the_decisions_are_close_to_those_of_the_policies(
    table: str, labels: str
) -> None:
    game = unfolded(table, labels)
    assert sum(p.chance * p.errors for p in game.paths) == pytest.approx(0, abs=1e-9)
    for level in LEVELS:
        allowed = realised(2, 3, level)
        assert sum(p.chance for p in game.paths if p.errors > allowed) <= math.exp(-level)
        assert sum(p.chance for p in game.paths if -p.errors > allowed) <= math.exp(-level)


@pytest.mark.parametrize("rounds", [10, 100, 400])
@pytest.mark.parametrize("level", [1.0, 2.0, 4.0])
def test_realised_errors_are_furthest_where_all_of_a_round_are_decided_by_one_coin(
    rounds: int, level: float
) -> None:
    """k·(a binomial variable − T/2). With half of the bound, far out, it would be broken."""

    def beyond(share: float) -> float:
        """P(k·(N − T/2) > share·bound), whatever k is."""
        above = rounds / 2 + share * realised(8, rounds, level) / 8
        return float(stats.binom.sf(math.floor(above), rounds, 0.5))

    assert beyond(1.0) <= math.exp(-level)
    if rounds >= 100 and level >= 2.0:
        assert beyond(0.5) > math.exp(-level)
