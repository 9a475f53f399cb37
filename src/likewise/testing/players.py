"""The contract of a primal player: a policy that can be taken again, and the regret it promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import HypothesisClass, Points, Pool
from likewise.learning import Learner, Player
from likewise.learning.primal import Draws, Estimates, Frozen
from likewise.learning.states.tuning import Tuning
from likewise.oracles import ENGINES
from likewise.registry import PLAYERS
from likewise.testing.learning import check_state
from likewise.testing.people import called, generator, people_of, require, trial

__all__ = ["check_player"]

ROUNDS, DECISIONS, DRAWS = 120, 400, 400


def check_player(
    player: Player, hypotheses: HypothesisClass | None = None, *, seed: int = 1
) -> None:
    """Check a player on a class that can be listed, by default a pool of six.

    Decisions are compared with scores at six standard deviations, and the regret of a sequence of
    costs that are set against the policy with the player's own constants: C·sqrt(max S), with
    C = stability/x + gain·x, or what its :meth:`~likewise.learning.Player.terms` add up to. For a
    player that estimates its scores there is a margin of six standard deviations more. A correct
    player is accused with a probability of less than 1e-6.
    """
    require(isinstance(player, Player), player, "it is no Player.")
    called(player, "its name", PLAYERS.check_name, player.name, type(player))
    for engine in ENGINES:
        player_of = called(player, "the constructor", type(player), engine)
        require(player_of.name == player.name, player, "its name must not depend on the engine.")
    with trial(player):
        on_trial = _Trial(player, _pool() if hypotheses is None else hypotheses, seed)
        on_trial.constants()
        on_trial.policy()
        on_trial.decisions()
        on_trial.regret()
        learner = Learner(on_trial.hypotheses, 4, 0.3, 0.3, seed, player=player.name)
        check_state(player, learner, seed)


def _pool() -> Pool:
    """Six hypotheses on four kinds of people."""
    return Pool.from_table(
        [[0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]]
    )


@dataclass(frozen=True, eq=False)
class _Trial:
    """One player on trial, with people of a class and costs on their points."""

    player: Player
    hypotheses: HypothesisClass
    seed: int

    @cached_property
    def rng(self) -> np.random.Generator:
        return generator(self.seed)

    @cached_property
    def points(self) -> Points:
        return self.hypotheses.locate(people_of(self.hypotheses.schema, 12, self.seed))

    def require(self, holds: object, sentence: str) -> None:
        require(holds, self.player, sentence)

    @cached_property
    def experts(self) -> int:
        return self.player.experts(self.hypotheses)

    def frozen(self, number: int, costs: IntArray, incurred: tuple[int, ...] | None = None,
               scales: FloatArray | None = None) -> Frozen:  # fmt: skip
        scales = np.ones(self.player.scales(self.hypotheses)) if scales is None else scales
        none = (0,) * self.experts
        return Frozen(number, self.seed, costs, scales, 1, none if incurred is None else incurred)

    def estimates(self, frozen: Frozen, points: Points, batch: int = 0, cap: int = 1) -> Estimates:
        given = (self.hypotheses, frozen, points, Draws(DRAWS, batch, cap=cap))
        return called(self.player, "estimates", self.player.estimates, *given)

    @cached_property
    def costs(self) -> IntArray:
        amounts = self.rng.integers(-ONE, ONE, len(self.points)).astype(np.int64)
        return self.hypotheses.charge(self.hypotheses.no_costs(), self.points, amounts)

    def constants(self) -> None:
        """The bound's constants, and the default x, are numbers."""
        for estimated in (False, True) if self.player.exact else (False,):
            stability = self.player.stability(self.hypotheses, estimated=estimated)
            gain, x = (
                self.player.gain(self.hypotheses),
                self.player.default_x(self.hypotheses, estimated=estimated),
            )
            for name, value in (("stability", stability), ("gain", gain)):
                fits = math.isfinite(value) and value >= 0
                self.require(fits, f"{name} must be a number of at least 0; got {value}.")
            self.require(math.isfinite(x) and x > 0, f"default_x must be above 0; got {x}.")
            for term in self.player.terms(self.hypotheses, x, estimated=estimated):
                constant = term.constant()
                self.require(
                    math.isfinite(constant) and term.burst() >= 0,
                    f"terms must have finite constants; got {term}.",
                )
        factors = self.player.scale_factors(self.hypotheses, x)
        right = factors.shape == (self.player.scales(self.hypotheses),) and (factors > 0).all()
        self.require(right, f"scale_factors must be above 0, one a scale; got {factors}.")
        places = self.player.places(self.hypotheses, self.points)
        right = (
            places.ndim == 2
            and len(places) == len(self.points)
            and (((places >= 0) & (places < len(factors))).all())
        )
        self.require(right, "places must name scales, a row for every point.")
        calls = self.player.calls(self.hypotheses, 5)
        self.require(isinstance(calls, int) and calls >= 0, f"calls must be a count; got {calls}.")

    def policy(self) -> None:
        """Scores are chances, the same ones again, whoever else is asked about."""
        frozen = self.frozen(3, self.costs)
        found = self.estimates(frozen, self.points, cap=5)
        for name, low, values in (("scores", 0, found.scores), ("inverses", ONE, found.inverses)):
            plain = len(values) == len(self.points) and all(
                isinstance(v, int) and v >= low for v in values
            )
            self.require(plain, f"{name} must be integers of at least {low}, one a point.")
        self.require(max(found.scores) <= ONE, "scores must be at most 2^20, which is 1.")
        kept = [len(row) for row in found.experts or ()]
        right = kept == ([self.experts] * len(self.points) if self.experts else [])
        self.require(right, f"there must be scores of {self.experts} experts; got {kept}.")
        if not self.player.exact:
            self.require(max(found.inverses) <= 5 * ONE, "J must be at most the cap.")
        again = self.estimates(frozen, self.points, cap=5)
        self.require(found == again, "asked again, the same scores must come out.")
        turned = self.estimates(frozen, self.points[::-1], cap=5)
        same = (turned.scores[::-1], turned.inverses[::-1]) == (found.scores, found.inverses)
        same = same and (turned.experts or [])[::-1] == (found.experts or [])
        self.require(same, "points in another order must have the same scores.")
        if self.player.exact:
            other = self.estimates(frozen, self.points, batch=4)
            self.require(other.scores == found.scores, "an exact player's scores have no batch.")

    def decisions(self) -> None:
        """Decisions are draws from the policy, one for each batch, and can be taken again."""
        frozen = self.frozen(4, self.costs)

        def decide(batch: int) -> IntArray:
            bits = self.player.decide(self.hypotheses, frozen, self.points, batch)
            return np.asarray(bits).astype(np.int64)

        made = np.array([called(self.player, "decide", decide, b) for b in range(DECISIONS)])
        fits = made.shape == (DECISIONS, len(self.points)) and np.isin(made, (0, 1)).all()
        self.require(fits, "decide must be 0 or 1 for every point.")
        again = np.array([decide(batch) for batch in range(20)])
        same = np.array_equal(again, made[:20])
        self.require(same, "asked again, the same decision must come out.")
        chances = np.array(self.estimates(frozen, self.points).scores) / ONE
        noise = 1.0 / DECISIONS + (0.0 if self.player.exact else 1.0 / DRAWS)
        spread = 6.0 * np.sqrt(np.maximum(chances * (1 - chances), 0.01) * noise)
        off = np.abs(made.mean(axis=0) - chances)
        self.require((off <= spread).all(), "decisions do not have the chances that scores say.")

    def regret(self) -> None:
        """Σ f_t(π^t) − min_h Σ f_t(h) ≤ C·sqrt(Σ B²) + burst·B, for costs set against it."""
        h, player, size = self.hypotheses, self.player, 1 << 18
        x = player.default_x(h)
        terms = player.terms(h, x)
        costs, played, incurred = h.no_costs(), 0.0, [0] * self.experts
        tuning = Tuning.start(player.scales(h))
        everything = np.zeros(len(h.codes()), dtype=np.int64)
        largest = 3 * size / ONE
        for t in range(1, ROUNDS + 1):
            points = self.points[self.rng.integers(0, len(self.points), 3)]
            tuning = tuning.opened(largest, largest * largest, counts_outstanding=False)
            scales = player.scale_factors(h, x) * np.sqrt(tuning.peak)
            found = self.estimates(self.frozen(t, costs, tuple(incurred), scales), points)
            scores = np.array(found.scores, dtype=np.int64)
            # What the policy likes becomes dear, and what it does not like becomes cheap.
            amounts = np.where(scores > ONE // 2, size, -size).astype(np.int64)
            amounts = np.where(self.rng.random(3) < 0.2, -amounts, amounts)
            played += float((amounts / ONE * (scores / ONE)).sum())
            for own, amount in zip(found.experts or (), amounts.tolist(), strict=False):
                incurred = [
                    paid + amount * score for paid, score in zip(incurred, own, strict=True)
                ]
            everything += h.predict(h.codes(), points).astype(np.int64) @ amounts
            costs = h.charge(costs, points, amounts)
            tuning = tuning.charged(player.places(h, points), amounts)
        squares = ROUNDS * largest * largest
        margin = 6.0 * math.sqrt(squares / DRAWS) if not player.exact else 1e-3
        regret = played - float(everything.min()) / ONE
        bound = sum(t.constant() * math.sqrt(squares) + t.burst() * largest for t in terms)
        self.require(
            regret <= bound + margin,
            f"its regret is {regret:.3g}, and its own constants allow {bound:.3g}.",
        )
