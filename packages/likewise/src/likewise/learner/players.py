"""Primal players: the policy of each round, and the constants of its regret bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np

from likewise.errors import HypothesisError
from likewise.hypotheses import base
from likewise.hypotheses.base import Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.learner.oracle import ENGINES, Oracle, engine_for
from likewise.numerics import fixed_point
from likewise.numerics.fixed_point import ONE, FloatArray, HoldsArrays, IntArray, log, read_only
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.validation import assign, choice, flag, require


@dataclass(frozen=True, eq=False)
class Frozen(HoldsArrays):
    """Everything that determines a round's policy π^t, frozen when the round opens.

    ``scales`` are the player's noise scales (temperatures), usually one. ``incurred`` is the cost
    of each expert so far, in units of 2^-40, for a player that is a mixture.
    """

    number: int
    seed: int
    costs: IntArray
    scales: FloatArray
    copies: int
    incurred: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assign(self, costs=read_only(self.costs), scales=read_only(self.scales))

    @property
    def scale(self) -> float:
        """The scale, or the first of several."""
        return float(self.scales[0])


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws that estimate scores; every batch and every purpose has its own.

    J comes from the first ``cap`` of them. A player that knows its policy makes none.
    """

    count: int
    batch: int = 0
    purpose: Purpose = Purpose.ELICIT
    cap: int = 1


@dataclass(frozen=True)
class Estimates:
    """Estimates of a round's policy at some points, in units of 2^-20.

    ``scores`` are π̃^t(x); ``inverses`` are J(x), one over the chance of approval. With draws, J is
    the number of the first one that approves, at most M (geometric resampling), so that
    E[J·1[approved]] = 1 − (1 − π^t(x))^M; a player that knows π^t knows J = 1/π^t(x). ``experts``
    are the scores of each expert, for a player that is a mixture.
    """

    scores: list[int]
    inverses: list[int]
    experts: list[tuple[int, ...]] | None = None


@dataclass(frozen=True)
class Term:
    """A part of a player's regret bound: a scale of x·sqrt(max S), or one for each of its parts.

    The regret of part j is at most (stability/x + gains[j]·x)·sqrt(max S), with its own S. Their
    sum is at most C·sqrt(Σ B̄²) + burst·max B̄, where C is the Euclidean norm of these constants,
    and burst = x·Σ gains if there are several parts (Theorem A for products). Late feedback makes
    the stability's share ``slow`` times as large, and the gain's ``wide`` times; ``late`` is the
    weight of late costs beside a round's own, 1 for noise and 2 for weights.

    >>> Term(1.0, (4.0,), x=0.5).constant(), Term(1.0, (1.0, 1.0, 1.0, 1.0), x=1.0).constant()
    (4.0, 4.0)
    """

    stability: float
    gains: tuple[float, ...]
    x: float
    late: int = 1

    def constant(self, slow: float = 1.0, wide: float = 1.0) -> float:
        moving = slow * self.stability / self.x
        constants = [moving + wide * gain * self.x for gain in self.gains]
        return math.sqrt(sum(constant * constant for constant in constants))

    def burst(self, wide: float = 1.0) -> float:
        """The price of counting a round's full bound in the S of every part."""
        return wide * self.x * sum(self.gains) if len(self.gains) > 1 else 0.0


@dataclass(frozen=True)
class Player(ABC):
    """A no-regret player on the Lagrangian; the learner is a reduction to any of them.

    Its regret is at most C·sqrt(max S) with C = stability/x + gain·x, where x is the noise (or
    temperature) in units of sqrt(S). Bounds are computed from these two constants; :meth:`terms`
    has them for a player with several scales.

    A subclass is registered under its ``name`` (:data:`likewise.registry.PLAYERS`), and has no
    memory: a round's policy is a function of ``frozen`` alone, and its draws of the purpose and the
    batch too, so that a decision can be reproduced. ``exact`` says that :meth:`estimates` is the
    policy itself, without draws. ``likewise.testing.check_player`` checks all of that, the regret
    included.

    ``proved`` names the settings for which its constants are proved: ``full`` information without
    delay, ``one-sided`` labels, ``late`` feedback. A subclass inherits none of them.

    ``engine`` computes its draws and weights. With ``per_part`` each part of a product class has a
    scale of its own, for players that ``can_be_per_part``. A player with other scales overrides
    :meth:`scales`, their number, and :meth:`places`, those for which a cost on a point counts:
    each has an S of its own. A mixture overrides :meth:`experts`, their number; their costs, by
    the scores kept with every decision, are ``frozen.incurred``.
    """

    engine: str = "compiled"
    per_part: bool = False
    name: ClassVar[str]
    exact: ClassVar[bool]
    can_be_per_part: ClassVar[bool] = False
    proved: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        choice("engine", self.engine, ENGINES, "They all agree.")
        fits = not flag("per_part", self.per_part, "Set it.") or self.can_be_per_part
        remedy = "context-ftpl and exponential-weights can have one for every part."
        require(fits, "scales", f"must be shared for the player {self.name}", "per-part", remedy)

    @abstractmethod
    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The price of moving the policy, the bound's factor of 1/x."""

    @abstractmethod
    def gain(self, hypotheses: HypothesisClass) -> float:
        """The price of randomising the policy, the bound's factor of x."""

    def terms(
        self, hypotheses: HypothesisClass, x: float, *, estimated: bool = False
    ) -> tuple[Term, ...]:
        """The terms of its regret bound, which add up."""
        gains = self.part_gains(hypotheses) if self.per_part else (self.gain(hypotheses),)
        stability = self.stability(hypotheses, estimated=estimated)
        return (Term(stability, gains, x, late=2 if self.exact else 1),)

    def part_gains(self, hypotheses: HypothesisClass) -> tuple[float, ...]:
        """The gain of every part of a product by itself; by default that of the whole."""
        return (self.gain(hypotheses),) * hypotheses.parts

    @abstractmethod
    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """The x that works well in practice; ``estimated`` if J is exact and has no bound."""

    @abstractmethod
    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """π̃^t(x) of every point in units of 2^-20, and J, from the same fresh draws."""

    @abstractmethod
    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """The predictions of one more draw h ~ π^t on the points."""

    @abstractmethod
    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:
        """The number of oracle calls for a batch."""

    def scales(self, hypotheses: HypothesisClass) -> int:
        """The number of its scales: one, or one for every part."""
        return hypotheses.parts if self.per_part else 1

    def places(self, hypotheses: HypothesisClass, points: Points) -> IntArray:
        """The scales for which a cost on each point counts, shape (points, any)."""
        if self.per_part:
            return hypotheses.part_of(points)[:, None]
        return np.zeros((len(points), 1), dtype=np.int64)

    def experts(self, hypotheses: HypothesisClass) -> int:  # noqa: ARG002
        """The number of experts whose costs are kept; 0 for a player that is no mixture."""
        return 0

    def scale_factors(self, hypotheses: HypothesisClass, x: float) -> FloatArray:
        """Each scale in units of its sqrt(S), given the x of the schedule or the default."""
        return np.full(self.scales(hypotheses), x)

    def best_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """sqrt(stability/gain), the x with the smallest C; 1 if the gain is 0."""
        gain = self.gain(hypotheses)
        stability = self.stability(hypotheses, estimated=estimated)
        return math.sqrt(stability / gain) if gain > 0 else 1.0


# Only the paper's own constants need larger scales.
LARGEST_SCALE_BITS = 33


@dataclass(frozen=True)
class Perturbed:
    """The law of argmin_h Σ_tau f_tau(h) + Σ_q noise_q·h(q), known through its draws.

    ``scales`` holds the noise scale, or one for every part of a product class.
    """

    hypotheses: HypothesisClass
    costs: IntArray
    scales: FloatArray
    copies: int
    engine: str

    def approvals(self, points: Points, stream: Stream, *, first_draw: int, draws: int) -> Bits:
        oracle = Oracle(self.hypotheses, self.engine)
        if len(self.scales) == 1:
            costs, noise = self._perturbation(0, stream)
            return oracle.approvals(costs, noise, points, draws=draws, first_draw=first_draw)
        parts = self.hypotheses.part_of(points)
        predictions = np.empty((draws, len(points)), dtype=np.uint8)
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            costs, noise = self._perturbation(part, stream)
            predictions[:, rows] = oracle.approvals(
                costs, noise, points[rows], draws=draws, first_draw=first_draw
            )
        return predictions

    def _perturbation(self, part: int, stream: Stream) -> tuple[IntArray, Noise]:
        """The costs and the noise of a part, on a coarser grid if the noise is very large.

        The last bits of a cost then do not matter, and integers have to stay below 2^63.
        """
        scale = float(self.scales[part])
        shift = max(0, math.frexp(scale * self.copies)[1] - LARGEST_SCALE_BITS)
        return self.costs >> shift, Noise(stream, math.ldexp(scale, -shift), self.copies)


def first_approvals(tried: Bits) -> list[int]:
    """J of every point: the number of the first draw that approves, in units; at most all."""
    # J is the cap where no earlier draw approves.
    approved = tried.astype(bool)
    approved[-1] = True
    return [int(j) * ONE for j in approved.argmax(axis=0) + 1]


# Less noise than the bound's best learns faster; see docs/research/defaults.md. Noise per part of a
# class of cells is in units of its own sqrt(S), so one number serves all sizes.
LAPLACE_SHARE, X_PER_PART = 0.1, 0.3


class ContextFTPL(Player):
    """h = argmin_h Σ_tau f_tau(h) + Σ_q noise_q·h(q), for classes that only an oracle can search.

    Regret (Theorem A): Σ s·B_t²/(2·sigma_t) + A·sigma_T, hence stability s and gain A. For cells,
    where every point is one of Q, the stability is 1 (Theorem A for cells). With ``per_part`` each
    part of a product class has a noise scale of its own (Theorem A for products).
    """

    name = "context-ftpl"
    proved = frozenset(("full", "one-sided", "late"))
    exact = False
    can_be_per_part = True

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """s, the size of the separating set; 1 if every point belongs to it."""
        return 1.0 if hypotheses.cellular else float(hypotheses.separators)

    def gain(self, hypotheses: HypothesisClass) -> float:
        return hypotheses.noise_gain

    def part_gains(self, hypotheses: HypothesisClass) -> tuple[float, ...]:
        return tuple(hypotheses.part_noise_gains.tolist())

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """A share of sqrt(s/A), the best x if only the Q of the class is known."""
        if self.per_part and hypotheses.cellular:
            return X_PER_PART
        gain = hypotheses.noise_gain
        return LAPLACE_SHARE * (math.sqrt(hypotheses.separators / gain) if gain > 0 else 1.0)

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """The share of draws that approve, and the number of the first."""
        stream = Stream(frozen.seed, draws.purpose, frozen.number)
        approved = self._law(hypotheses, frozen).approvals(
            points, stream, first_draw=draws.batch * draws.count, draws=draws.count
        )
        counts = approved.sum(axis=0, dtype=np.int64)
        scores = base.score(counts, draws.count).tolist()
        return Estimates(scores, first_approvals(approved[: draws.cap]))

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """The predictions of one extra draw, independent of the scores."""
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        law = self._law(hypotheses, frozen)
        return np.asarray(law.approvals(points, stream, first_draw=batch, draws=1)[0])

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:  # noqa: ARG002
        """The draws for the scores, and one that decides."""
        return draws + 1

    def _law(self, hypotheses: HypothesisClass, frozen: Frozen) -> Perturbed:
        return Perturbed(hypotheses, frozen.costs, frozen.scales, frozen.copies, self.engine)


# J is at most 2^20, so that costs stay within 64 bits; whoever has a smaller chance than 2^-20 is
# approved once in a million rounds at most.
LARGEST_INVERSE = ONE << 20

# Chosen in docs/research/defaults.md: with a prior from coarse to fine one number serves classes of
# any size. The second is for one-sided labels, whose S is another.
X, X_ESTIMATED = 0.25, 0.125
# With a flat prior, shares of the bound's best x.
SHARE, SHARE_ESTIMATED = 2.0, 0.7


class ExponentialWeights(Player):
    """For classes that can be listed, or whose weights factorise (a rule for each segment).

    Regret to h (Hedge with a rate that never rises): Σ B_t²/(8·tau_t) + tau_T·ln(1/prior(h)) for
    temperatures tau_t = x·sqrt(max S), hence stability 1/4 and gain max_h ln(1/prior(h)).

    With ``per_part`` every part of a product class has a temperature of its own; the prior has to
    be flat, since any other couples the parts.
    """

    name = "exponential-weights"
    proved = frozenset(("full", "one-sided", "late"))
    exact = True
    can_be_per_part = True

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """1/4, since Σ B_t²/sqrt(S_t) ≤ 2·sqrt(S_T); 1/2 for estimated costs (Theorem C')."""
        return 0.5 if estimated else 0.25

    def gain(self, hypotheses: HypothesisClass) -> float:
        return self._class(hypotheses).log_inverse_prior

    def part_gains(self, hypotheses: HypothesisClass) -> tuple[float, ...]:
        """ln |H_j|: a temperature for every part goes with a flat prior."""
        return tuple(hypotheses.part_log_sizes.tolist())

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        """One number for the prior from coarse to fine; for a flat one, a share of the best x."""
        if self._class(hypotheses).prior != base.FLAT:
            return X_ESTIMATED if estimated else X
        share = SHARE_ESTIMATED if estimated else SHARE
        # The best x of a part belongs to its own share of the gain.
        root = math.sqrt(self.scales(hypotheses))
        return share * root * self.best_x(hypotheses, estimated=estimated)

    def scales(self, hypotheses: HypothesisClass) -> int:
        fits = not self.per_part or self._class(hypotheses).prior == base.FLAT
        rule = "must be shared where the prior is not flat"
        remedy = "Such a prior couples the parts; take with_prior('flat')."
        require(fits, "scales", rule, "per-part", remedy)
        return super().scales(hypotheses)

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points,
        draws: Draws,  # noqa: ARG002
    ) -> Estimates:  # fmt: skip
        """π^t itself and one over it, rounded to units, without draws."""
        weights = self._policy(hypotheses, frozen).approval(points)
        return Estimates(
            [base.score(weight, total) for weight, total in weights],
            [_inverse(weight, total) for weight, total in weights],
        )

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        return self._policy(hypotheses, frozen).draw(points, stream, batch)

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:  # noqa: ARG002
        return 0

    def _policy(self, hypotheses: HypothesisClass, frozen: Frozen) -> GibbsPolicy:
        """The weights of a round, for its scores and its decisions."""
        cached = frozen.__dict__.get("_policy")
        if cached is None or cached[0] is not hypotheses:
            exact = self._class(hypotheses)
            temperature = frozen.scales * ONE if self.per_part else frozen.scale * ONE
            engine = engine_for(self.engine, hypotheses)
            cached = (hypotheses, engine.weigh(exact, frozen.costs, temperature))
            # A note on the frozen value, not a part of it: neither compared nor saved.
            frozen.__dict__["_policy"] = cached
        policy: GibbsPolicy = cached[1]
        return policy

    @staticmethod
    def _class(hypotheses: HypothesisClass) -> ExactWeights:
        if not isinstance(hypotheses, ExactWeights):
            raise HypothesisError(
                f"{type(hypotheses).__name__} has no exact weights. Use nested-ftpl or "
                f"context-ftpl, which only need its oracle."
            )
        return hypotheses


def _inverse(weight: int, total: int) -> int:
    """J = total/weight in units; any number if nobody can be approved."""
    return min(total * ONE // weight, LARGEST_INVERSE) if weight else LARGEST_INVERSE


# The temperature of the weights in units of their sqrt(S); see docs/research/defaults.md.
X_HEDGE = 0.25


@lru_cache(maxsize=64)
def _nested(hypotheses: HypothesisClass) -> tuple[tuple[base.Nested, slice], ...]:
    """The nested classes, each with the places of its scales; scale 0 is the temperature."""
    classes = hypotheses.nested()
    ends = accumulate((nested.hypotheses.parts for nested in classes), initial=1)
    return tuple(zip(classes, (slice(*pair) for pair in pairwise(ends)), strict=True))


class NestedFTPL(Player):
    """A mixture of Context-FTPL on nested classes and of the constants.

    The first scale is the temperature of the weights; then every part of every class has its own.
    Costs are kept of the constant that approves everybody, and of the classes; the other constant
    never costs anything.
    """

    name = "nested-ftpl"
    proved = frozenset(("full", "one-sided", "late"))
    exact = False
    can_be_per_part = True  # it always is

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        return ContextFTPL(self.engine).stability(hypotheses, estimated=estimated)

    def gain(self, hypotheses: HypothesisClass) -> float:
        return hypotheses.noise_gain

    def terms(
        self, hypotheses: HypothesisClass, x: float, *, estimated: bool = False
    ) -> tuple[Term, ...]:
        """The regret of the weights, and that of the class with a scale for every part."""
        weights = Term(0.25, (log(2 * len(_nested(hypotheses))),), X_HEDGE, late=2)
        stability = self.stability(hypotheses, estimated=estimated)
        gains = tuple(hypotheses.part_noise_gains.tolist())
        return weights, Term(stability, gains, self._noise(hypotheses, x))

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:  # noqa: ARG002
        """The noise of a part of a class of cells; that of other classes follows from it."""
        return X_PER_PART

    def scales(self, hypotheses: HypothesisClass) -> int:
        """The temperature, and the noise of every part of every class."""
        return int(_nested(hypotheses)[-1][1].stop)

    def places(self, hypotheses: HypothesisClass, points: Points) -> IntArray:
        """The temperature, and each point's part in every class."""
        columns = [np.zeros(len(points), dtype=np.int64)]
        for nested, scales in _nested(hypotheses):
            columns.append(scales.start + nested.hypotheses.part_of(nested.points(points)))
        return np.stack(columns, axis=1)

    def scale_factors(self, hypotheses: HypothesisClass, x: float) -> FloatArray:
        """x for cells; for other classes in proportion to the bound's best noise."""
        factors = np.full(self.scales(hypotheses), X_HEDGE)
        for nested, scales in _nested(hypotheses):
            factors[scales] = self._noise(nested.hypotheses, x)
        return factors

    @staticmethod
    def _noise(hypotheses: HypothesisClass, x: float) -> float:
        """The noise of a class if that of cells is x."""
        if hypotheses.cellular or not hypotheses.noise_gain:
            return x
        root = math.sqrt(hypotheses.separators / hypotheses.noise_gain)
        return x * LAPLACE_SHARE / X_PER_PART * root

    def experts(self, hypotheses: HypothesisClass) -> int:
        """The constant that approves everybody, and the classes."""
        return 1 + len(_nested(hypotheses))

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        """The mixture of the draws of every class, and of the constants.

        The first ``cap`` draws of every class are for J alone.
        """
        laws = self._laws(hypotheses, frozen)
        stream = Stream(frozen.seed, draws.purpose, frozen.number)
        count, batch = draws.count, draws.batch
        approved = []
        for block, (nested, law) in enumerate(laws, start=batch * len(laws)):
            located, first = nested.points(points), block * count
            approved.append(law.approvals(located, stream, first_draw=first, draws=count))
        resampled = min(draws.cap, count - 1)
        counts = [bits[resampled:].sum(axis=0, dtype=np.int64) for bits in approved]
        units = [base.score(yes, count - resampled) for yes in counts]
        experts = np.stack([np.full(len(points), ONE), *units])
        weights = self._weights(hypotheses, frozen)
        total = int(weights.sum())
        # Weights are below 2^41 and scores at most 2^20, so a product needs Python's integers.
        mixed = [
            (2 * sum(w * s for w, s in zip(weights[1:].tolist(), column, strict=True)) + total)
            // (2 * total)
            for column in experts.T.tolist()
        ]
        tried = self._tried(weights, approved, frozen, batch, draws.cap)
        return Estimates(mixed, first_approvals(tried), [tuple(e) for e in experts.T.tolist()])

    def _tried(
        self, weights: IntArray, approved: list[Bits], frozen: Frozen, batch: int, cap: int
    ) -> Bits:
        """The first draws of the mixture, each one of an expert that is picked by weight."""
        stream = Stream(frozen.seed, Purpose.MIX, frozen.number)
        tried = np.empty((cap, approved[0].shape[1]), dtype=np.uint8)
        for row in range(cap):
            expert = base.pick(weights, stream.below(int(weights.sum()), 1 + batch * cap + row))
            tried[row] = (0, 1)[expert] if expert < 2 else approved[expert - 2][row]
        return tried

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        """Pick one expert by weight, and one extra draw of it, independent of the scores."""
        weights = self._weights(hypotheses, frozen)
        mix = Stream(frozen.seed, Purpose.MIX_DECIDE, frozen.number)
        expert = base.pick(weights, mix.below(int(weights.sum()), batch))
        if expert < 2:
            return np.full(len(points), expert, dtype=np.uint8)
        nested, law = self._laws(hypotheses, frozen)[expert - 2]
        stream = Stream(frozen.seed, Purpose.DECIDE, frozen.number)
        bits = law.approvals(nested.points(points), stream, first_draw=batch, draws=1)
        return np.asarray(bits[0])

    def calls(self, hypotheses: HypothesisClass, draws: int) -> int:
        """The draws of every class for the scores, and one that decides."""
        return draws * len(_nested(hypotheses)) + 1

    def _weights(self, hypotheses: HypothesisClass, frozen: Frozen) -> IntArray:
        """The integer weights of approving nobody, of approving everybody, and of every class."""
        count = len(_nested(hypotheses))
        temperature = frozen.scale * float(ONE * ONE)
        costs = (0, *frozen.incurred)
        least = min(costs)
        priors = [2.0 * fixed_point.LN2] * 2 + [log(2 * count)] * count
        exponents = [
            float(cost - least) / temperature + prior
            for cost, prior in zip(costs, priors, strict=True)
        ]
        smallest = min(exponents)
        return np.array([base.weight_of(e - smallest) for e in exponents], dtype=np.int64)

    def _laws(
        self, hypotheses: HypothesisClass, frozen: Frozen
    ) -> list[tuple[base.Nested, Perturbed]]:
        laws = []
        for nested, scales in _nested(hypotheses):
            costs, own = nested.costs(frozen.costs), frozen.scales[scales]
            law = Perturbed(nested.hypotheses, costs, own, frozen.copies, self.engine)
            laws.append((nested, law))
        return laws
