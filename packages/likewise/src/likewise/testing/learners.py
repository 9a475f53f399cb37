"""The contracts of a schedule, an attention, a player, a baseline, and of states with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from likewise.hypotheses import HypothesisClass, Points, Pool
from likewise.learner import Learner, Player, State, asking, deploy, learn, state_files
from likewise.learner.attention import Attention, Possible, Response
from likewise.learner.bounds import Lateness, proved
from likewise.learner.events import Person
from likewise.learner.oracle import ENGINES
from likewise.learner.players import Draws, Estimates, Frozen, Term
from likewise.learner.schedules import Paper, Schedule, SelfTuned
from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from likewise.registry import ATTENTIONS, BASELINES, PLAYERS, SCHEDULES
from likewise.simulate.learners import Baseline
from likewise.simulate.rounds import Algorithm
from likewise.testing import contract as contracts
from likewise.testing.contract import contract, require

# What there are theorems about.
SETTINGS = frozenset(("full", "one-sided", "late"))
_TABLE = [[0, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]]
_SIX = [[0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 1]]


def check_state(part: object, learner: Learner, seed: int, rounds: int = 4) -> None:
    """Play rounds; a state that is saved and loaded in between must go on the same way."""
    state = State.start(learner)
    rng = contracts.generator(seed)
    for t in range(rounds):
        people = contracts.people_of(learner.hypotheses.schema, learner.k, seed + t)
        state, deployment = deploy(state, people)
        loaded = state_files.parse_state(state_files.dump_state(state))
        require(loaded == state, part, "a state that was saved and loaded is not the same.")
        same = dict(loaded.learner.spec()) == learner.spec()
        require(same, part, "a learner read from a file has other settings.")
        asked = asking(state, deployment.round)
        report = () if asked.looked_at or asked.quiet else None
        labels = {
            person: int(rng.integers(0, 2))
            for person, approved in zip(deployment.ids, deployment.approved, strict=True)
            if approved or not learner.pricing.one_sided
        }
        state = learn(state, deployment, labels=labels, report=report)
        same = learn(loaded, deployment, labels=labels, report=report) == state
        require(same, part, "a state that was saved and loaded goes on in another way.")


@contract
def check_schedule(schedule: Schedule) -> None:
    """Check a schedule: constants that make sense, the same ones again; JSON; and a learner.

    If its class says that something is ``proved`` of it, its constants must be those of the
    theorems: mu = n^{-1/2}, x·sqrt(max S), as many draws as r asks for, M = ceil(t^{1/3}).

    >>> from likewise.learner import SelfTuned
    >>> check_schedule(SelfTuned(eta=0.5))
    """
    require(isinstance(schedule, Schedule), schedule, "it is no Schedule.")
    kinds = {"full", "one-sided"}
    fits = bool(schedule.feedback) and set(schedule.feedback) <= kinds
    require(fits, schedule, f"feedback must be some of {sorted(kinds)}; got {schedule.feedback}.")
    require(schedule.embedding in ("per-point", "repeated"), schedule, "unknown embedding.")
    eta = schedule.error_weight()
    require(math.isfinite(eta) and eta > 0, schedule, f"error_weight must be above 0; got {eta}.")
    _check_rounds(schedule)
    for peaks in ((0.5, 2.0), (2.0, 50.0)):
        scales = [schedule.scale(peak, 4, 10, 0.3) for peak in peaks]
        fits = all(math.isfinite(s) and s > 0 for s in scales) and scales[0] <= scales[1]
        require(fits, schedule, f"scale must be above 0 and not fall with the peak; got {scales}.")
    _check_proved(schedule)
    copy = contracts.same_as_json(schedule, SCHEDULES.write, SCHEDULES.read)
    before, after = _constants(schedule), _constants(copy)
    require(before == after, schedule, f"read back from its JSON, {before} became {after}.")
    pool = Pool.from_table(_TABLE)
    for feedback in schedule.feedback:
        settings = (2, 0.4, 0.4, 1, schedule, "context-ftpl", "reference")
        check_state(schedule, Learner(pool, *settings, feedback=feedback), seed=1, rounds=2)


def _check_proved(schedule: Schedule) -> None:
    """Compare what a schedule says to be proved with the constants that the theorems are about."""
    claims = proved(schedule)
    require(claims <= SETTINGS, schedule, f"proved must be some of {sorted(SETTINGS)}.")
    if not claims or isinstance(schedule, Paper):
        return  # of the paper's constants its own inequalities are computed, whatever they are
    rule = "no theorem is about it: proved is for kinds of SelfTuned."
    require(isinstance(schedule, SelfTuned), schedule, rule)
    margins = schedule.margins(0.3, 0.3, exact=False)
    same = SelfTuned(delta=cast(SelfTuned, schedule).delta)
    for t in (1, 2, 10, 1000):
        right = math.isclose(schedule.mu(t), same.mu(t), rel_tol=1e-9)
        right = right and schedule.draws(margins, 4, t) >= same.draws(margins, 4, t)
        right = right and schedule.resamples(4, t) == same.resamples(4, t)
        right = right and math.isclose(schedule.scale(t, 4, 9, 0.3), same.scale(t, 4, 9, 0.3))
        scales = schedule.scales(np.array([float(t), 1.0]), 4, 9, np.array([0.3, 0.2]))
        right = right and np.allclose(scales, [0.3 * math.sqrt(t), 0.2], rtol=1e-9)
        rule = f"it says that {sorted(claims)} are proved, and its constants at {t} are others."
        require(right, schedule, rule)


def _constants(schedule: Schedule) -> tuple[float, float, int, int]:
    draws = schedule.draws(schedule.margins(0.3, 0.3, exact=False), 4, 3)
    return schedule.error_weight(), schedule.mu(3), draws, schedule.resamples(4, 3)


def _check_rounds(schedule: Schedule) -> None:
    margins = schedule.margins(0.3, 0.3, exact=False)
    for t in (1, 2, 10, 1000):
        mu, draws, most = schedule.mu(t), schedule.draws(margins, 4, t), schedule.resamples(4, t)
        require(0 < mu <= 1, schedule, f"mu must be in (0, 1]; got {mu} at audit {t}.")
        require(mu <= schedule.mu(max(1, t // 2)), schedule, "mu must never rise.")
        for name, value in (("draws", draws), ("resamples", most)):
            fits = isinstance(value, int) and value >= 1
            require(fits, schedule, f"{name} must be a count of at least 1; got {value!r}.")


@contract
def check_baseline(baseline: Baseline, hypotheses: HypothesisClass | None = None) -> None:
    """Check a baseline: a name, a line about it, and a learner that can be saved.

    >>> from likewise.simulate import untaught
    >>> check_baseline(untaught)
    """
    contracts.require_text(baseline, "name", "summary")
    registered = BASELINES[baseline.name] is baseline
    require(registered, baseline, f"another baseline is registered as {baseline.name!r}.")
    if hypotheses is None:
        hypotheses = Pool.from_table(_TABLE)
    expected = (3, 0.3, 0.2, 5)
    learner = baseline(hypotheses, *expected, rounds=20)
    fits = isinstance(learner, Learner | Algorithm)
    require(fits, baseline, f"it must make a Learner or an Algorithm; got {learner!r}.")
    settings = (learner.k, learner.alpha, learner.eps, learner.seed)
    other = f"k, alpha, eps and seed must be {expected}; got {settings}."
    require(settings == expected, baseline, other)
    same = learner.hypotheses.schema.digest == hypotheses.schema.digest
    require(same, baseline, "its class must be over the features of the class that it was given.")
    same = baseline(hypotheses, *expected, rounds=20).settings() == learner.settings()
    require(same, baseline, "called again, it makes another learner.")
    if isinstance(learner, Learner):
        baseline(hypotheses, *expected)  # rounds have a default
        check_state(baseline, learner, seed=2)


ROUNDS, DECISIONS, DRAWS = 120, 400, 400


@contract
def check_attention(attention: Attention, *, seed: int = 1) -> None:
    """Check an attention in a short game: what it asks about and what it learns.

    Both must be functions of their arguments, chances within [least, 1], the memory a tuple of
    finite numbers that a state file brings back, and its JSON must bring back the attention.
    """
    require(isinstance(attention, Attention), attention, "it is no Attention.")
    again = contracts.same_as_json(attention, ATTENTIONS.write, ATTENTIONS.read)
    require(again == attention, attention, "its JSON must bring it back.")
    pool = Pool.from_table(_SIX)
    learner = Learner(pool, 4, 0.3, 0.3, seed, attention=attention)
    rng, memory = np.random.default_rng(seed), attention.start(pool.schema)
    for _ in range(30):
        rows = rng.integers(0, 2, (4, len(pool.schema))).astype(float).tolist()
        people = tuple(Person(f"p{i}", tuple(row)) for i, row in enumerate(rows))
        pairs = Possible.of(pool.schema, people, rng.integers(0, ONE, 4).tolist(), ONE // 4)
        unknown, chance = attention.unknown(memory, pairs), attention.chance(memory)
        require(unknown.shape == (len(pairs),), attention, "unknown must have a value a pair.")
        require(unknown.dtype == np.bool_, attention, "unknown must be true or false.")
        least = to_units(attention.least)
        require(least <= chance <= ONE, attention, "chances must be in [least, 1].")
        same = np.array_equal(unknown, attention.unknown(memory, pairs))
        require(same, attention, "what it asks about must be a function of its arguments.")
        reported = np.zeros(len(pairs), dtype=np.bool_)
        reported[: rng.integers(0, 2)] = True
        response = Response(pairs, unknown, reported, True)
        after = attention.learn(memory, response)
        require(after == attention.learn(memory, response), attention, "so must what it learns.")
        fits = isinstance(after, tuple) and all(type(value) is float for value in after)
        fits = fits and bool(np.isfinite(after).all()) and attention.fits(after, pool.schema)
        require(fits, attention, "its memory must be finite floats that fit the features.")
        memory = after
    check_state(attention, learner, seed)


@contract
def check_player(
    player: Player, hypotheses: HypothesisClass | None = None, *, seed: int = 1
) -> None:
    """Check a player on a class that can be listed, by default a pool of six.

    Decisions are compared with scores at six standard deviations, and the regret of a sequence of
    costs that are set against the policy with the player's own constants: C·sqrt(max S), with
    C = stability/x + gain·x, or what its :meth:`~likewise.learner.Player.terms` add up to. For a
    player that estimates its scores there is a margin of six standard deviations more. A correct
    player is accused with a probability of less than 1e-6. If its class says that late feedback is
    ``proved``, costs come three rounds late too; if one-sided labels, J must make up for the
    rejected.
    """
    require(isinstance(player, Player), player, "it is no Player.")
    PLAYERS.check_name(player.name, type(player))
    for engine in ENGINES:
        named = type(player)(engine).name
        require(named == player.name, player, "its name must not depend on the engine.")
    trial = _Trial(player, Pool.from_table(_SIX) if hypotheses is None else hypotheses, seed)
    trial.constants()
    trial.policy()
    trial.decisions()
    trial.regret()
    claims = proved(player)
    trial.require(claims <= SETTINGS, f"proved must be some of {sorted(SETTINGS)}.")
    if "late" in claims:
        trial.regret(delay=3)
    if "one-sided" in claims:
        trial.inverses()
    learner = Learner(trial.hypotheses, 4, 0.3, 0.3, seed, player=player.name)
    check_state(player, learner, seed)


@dataclass(frozen=True, eq=False)
class _Trial:
    """One player under check, with people of a class and costs on their points."""

    player: Player
    hypotheses: HypothesisClass
    seed: int

    @cached_property
    def rng(self) -> np.random.Generator:
        return contracts.generator(self.seed)

    @cached_property
    def points(self) -> Points:
        return self.hypotheses.locate(contracts.people_of(self.hypotheses.schema, 12, self.seed))

    def require(self, holds: object, sentence: str) -> None:
        require(holds, self.player, sentence)

    @cached_property
    def experts(self) -> int:
        return self.player.experts(self.hypotheses)

    def frozen(self, number: int, costs: IntArray, incurred: tuple[int, ...] | None = None,
               scales: FloatArray | None = None) -> Frozen:  # fmt: skip
        scales = np.ones(self.player.scales(self.hypotheses)) if scales is None else scales
        incurred = (0,) * self.experts if incurred is None else incurred
        return Frozen(number, self.seed, costs, scales, 1, incurred)

    def estimates(self, frozen: Frozen, points: Points, batch: int = 0, cap: int = 1) -> Estimates:
        draws = Draws(DRAWS, batch, cap=cap)
        return self.player.estimates(self.hypotheses, frozen, points, draws)

    @cached_property
    def costs(self) -> IntArray:
        amounts = self.rng.integers(-ONE, ONE, len(self.points)).astype(np.int64)
        return self.hypotheses.charge(self.hypotheses.no_costs(), self.points, amounts)

    def constants(self) -> None:
        for estimated in (False, True) if self.player.exact else (False,):
            stability = self.player.stability(self.hypotheses, estimated=estimated)
            gain = self.player.gain(self.hypotheses)
            x = self.player.default_x(self.hypotheses, estimated=estimated)
            for name, value in (("stability", stability), ("gain", gain)):
                fits = math.isfinite(value) and value >= 0
                self.require(fits, f"{name} must be a number of at least 0; got {value}.")
            self.require(math.isfinite(x) and x > 0, f"default_x must be above 0; got {x}.")
            for term in self.player.terms(self.hypotheses, x, estimated=estimated):
                fits = math.isfinite(term.constant()) and term.burst() >= 0
                self.require(fits, f"terms must have finite constants; got {term}.")
        factors = self.player.scale_factors(self.hypotheses, x)
        fits = factors.shape == (self.player.scales(self.hypotheses),) and bool((factors > 0).all())
        self.require(fits, f"scale_factors must be above 0, one a scale; got {factors}.")
        places = self.player.places(self.hypotheses, self.points)
        fits = places.ndim == 2 and len(places) == len(self.points)
        fits = fits and bool(((places >= 0) & (places < len(factors))).all())
        self.require(fits, "places must name scales, a row for every point.")
        calls = self.player.calls(self.hypotheses, 5)
        self.require(isinstance(calls, int) and calls >= 0, f"calls must be a count; got {calls}.")

    def policy(self) -> None:
        """Scores are chances, the same ones again, whoever else is asked about."""
        frozen = self.frozen(3, self.costs)
        first = self.estimates(frozen, self.points, cap=5)
        for name, low, values in (("scores", 0, first.scores), ("inverses", ONE, first.inverses)):
            plain = len(values) == len(self.points) and all(
                isinstance(v, int) and v >= low for v in values
            )
            self.require(plain, f"{name} must be integers of at least {low}, one a point.")
        self.require(max(first.scores) <= ONE, "scores must be at most 2^20, which is 1.")
        lengths = [len(row) for row in first.experts or ()]
        fits = lengths == ([self.experts] * len(self.points) if self.experts else [])
        self.require(fits, f"there must be scores of {self.experts} experts; got {lengths}.")
        if not self.player.exact:
            self.require(max(first.inverses) <= 5 * ONE, "J must be at most the cap.")
        again = self.estimates(frozen, self.points, cap=5)
        self.require(first == again, "asked again, the same scores must come out.")
        turned = self.estimates(frozen, self.points[::-1], cap=5)
        same = (turned.scores[::-1], turned.inverses[::-1]) == (first.scores, first.inverses)
        same = same and (turned.experts or [])[::-1] == (first.experts or [])
        self.require(same, "points in another order must have the same scores.")
        if self.player.exact:
            batch = self.estimates(frozen, self.points, batch=4)
            self.require(batch.scores == first.scores, "an exact player's scores have no batch.")

    def decisions(self) -> None:
        """Decisions are draws from the policy, one for each batch, and can be taken again."""
        frozen = self.frozen(4, self.costs)

        def decide(batch: int) -> IntArray:
            bits = self.player.decide(self.hypotheses, frozen, self.points, batch)
            return np.asarray(bits).astype(np.int64)

        decisions = np.array([decide(batch) for batch in range(DECISIONS)])
        fits = decisions.shape == (DECISIONS, len(self.points))
        fits = fits and bool(np.isin(decisions, (0, 1)).all())
        self.require(fits, "decide must be 0 or 1 for every point.")
        again = np.array([decide(batch) for batch in range(20)])
        same = np.array_equal(again, decisions[:20])
        self.require(same, "asked again, the same decision must come out.")
        chances = np.array(self.estimates(frozen, self.points).scores) / ONE
        noise = 1.0 / DECISIONS + (0.0 if self.player.exact else 1.0 / DRAWS)
        spread = 6.0 * np.sqrt(np.maximum(chances * (1 - chances), 0.01) * noise)
        off = np.abs(decisions.mean(axis=0) - chances)
        self.require((off <= spread).all(), "decisions do not have the chances that scores say.")

    def inverses(self) -> None:
        """E[J·1[approved]] is 1 if J is exact, and 1 − (1 − π)^M if it comes from M draws."""
        frozen, cap, batches = self.frozen(5, self.costs), 4, 60
        means = np.zeros(len(self.points))
        chances = np.zeros(len(self.points))
        for batch in range(batches):
            estimates = self.estimates(frozen, self.points, batch, cap)
            means += np.array(estimates.inverses) / ONE / batches
            chances += np.array(estimates.scores) / ONE / batches
        exact = np.divide(1.0, chances, out=np.full(len(chances), np.inf), where=chances > 0)
        resampled = np.where(chances > 0, (1 - (1 - chances) ** cap) * exact, cap)
        if self.player.exact:
            likely = chances > 1e-3  # of others J is cut off, and nobody will ask
            off, most = np.abs(means * chances - 1)[likely], np.full(int(likely.sum()), 2e-3)
        else:
            off, most = np.abs(means - resampled), np.full(len(means), 6 * cap / 2 / batches**0.5)
        self.require((off <= most).all(), "J does not make up for those who were rejected.")

    def regret(self, delay: int = 0) -> None:
        """Σ f_t(π^t) − min_h Σ f_t(h) ≤ C·sqrt(Σ B²) + burst·B, for costs set against it.

        With a delay all costs come so many rounds late.
        """
        h, player, size = self.hypotheses, self.player, 1 << 18
        x = player.default_x(h)
        costs, played, incurred = h.no_costs(), 0.0, [0] * self.experts
        tuning = Tuning.start(player.scales(h))
        everything = np.zeros(len(h.codes()), dtype=np.int64)
        largest = 3 * size / ONE
        late: list[tuple[Points, IntArray, list[int]]] = []
        for t in range(1, ROUNDS + 1):
            points = self.points[self.rng.integers(0, len(self.points), 3)]
            tuning = tuning.opened(largest, largest * largest)
            scales = player.scale_factors(h, x) * np.sqrt(tuning.peak)
            estimates = self.estimates(self.frozen(t, costs, tuple(incurred), scales), points)
            scores = np.array(estimates.scores, dtype=np.int64)
            # What the policy likes becomes dear, and what it does not like becomes cheap.
            amounts = np.where(scores > ONE // 2, size, -size).astype(np.int64)
            amounts = np.where(self.rng.random(3) < 0.2, -amounts, amounts)
            played += float((amounts / ONE * (scores / ONE)).sum())
            everything += h.predict(h.codes(), points).astype(np.int64) @ amounts
            shares = [0] * self.experts
            for row, amount in zip(estimates.experts or (), amounts.tolist(), strict=False):
                shares = [share + amount * score for share, score in zip(shares, row, strict=True)]
            late.append((points, amounts, shares))
            if len(late) <= delay:
                continue
            points, amounts, shares = late.pop(0)
            incurred = [paid + share for paid, share in zip(incurred, shares, strict=True)]
            costs = h.charge(costs, points, amounts)
            tuning = tuning.charged(player.places(h, points), amounts)
        squares = ROUNDS * largest * largest
        margin = 6.0 * math.sqrt(squares / DRAWS) if not player.exact else 1e-3
        regret = played - float(everything.min()) / ONE
        bound = _regret_bound(player.terms(h, x), delay, squares, largest)
        beyond = f"its regret is {regret:.3g}, and its own constants allow {bound:.3g}."
        self.require(regret <= bound + margin, beyond)


def _regret_bound(terms: Sequence[Term], delay: int, squares: float, largest: float) -> float:
    """Σ C·sqrt(Σ B²) + burst·B over the terms of a player's bound."""
    how = Lateness(delay, counted=False)
    return sum(
        term.constant(how.slow(term.late), how.wide) * math.sqrt(squares)
        + term.burst(how.wide) * largest
        for term in terms
    )
