"""The certificate of a run: a bound on its regret from what happened, whatever the world was.

A bound made before a run has to allow for the worst world; afterwards the costs are known. Let F_T
be the sum of all costs that were charged and lam_t the price of each report. Every report has cost
the published policies beta·lam_t more than it has cost any fair policy, so

    regret  ≤  (k/eta)·[Σ_t f_t(π̃^t) − min_h F_T(h) − beta·Σ_reports lam_t],

with one call of the oracle for the minimum (``docs/research/theory.md`` has the theorem). It holds
for any player, multiplier and schedule, however late feedback is. The other form needs no oracle
but the player's constant C, and the largest lam:

    regret  ≤  (k/eta)·(C·eta·sqrt(T) + 2·C·lam^ + C²·lam^/m).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from likewise.hypotheses.base import ExactWeights, HypothesisClass
from likewise.learner import bounds
from likewise.learner.schedules import Paper
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, State
from likewise.numerics.fixed_point import BITS, ONE, IntArray, to_units
from likewise.validation import instance, integer, within


@dataclass(frozen=True)
class Certificate:
    """A bound on the regret of a run to the best fair policy on its own rounds.

    ``regret`` is the sharp form, and ``holds`` says in which sense; ``from_largest_lam`` is the
    other one, None where no C is proved. Only labels that came in count.
    """

    rounds: int
    k: int
    regret: float
    holds: str
    from_largest_lam: float | None
    reports: int

    def to_json(self) -> dict[str, Any]:
        """The certificate with the trivial bound beside it."""
        names = ("regret", "holds", "from_largest_lam", "reports")
        trivial = {"trivial_regret": self.k * self.rounds, "informative": self.informative}
        return {name: getattr(self, name) for name in names} | trivial

    @property
    def informative(self) -> bool:
        """True if it is below k·T, which bounds the regret of any learner."""
        return self.regret < self.k * self.rounds


def certificate(
    state: State,
    *,
    delay: int | None = None,
    confidence: float = 0.95,
    wrong_reports: int = 0,
) -> Certificate:
    """The certificate of the run that led to a state.

    ``delay`` is the most rounds that feedback was late by, which a state does not know: without it
    there is no ``from_largest_lam``, which holds as the bounds do. ``confidence`` is the
    probability with which the sharp form holds for a player that makes draws, and ``wrong_reports``
    how many reports of pairs that the panel accepts in truth it allows for.

    >>> from likewise import Learner, Pool
    >>> from likewise.learner import deploy, learn
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> state = State.start(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1))
    >>> for _ in range(200):
    ...     state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
    ...     state = learn(state, deployment, labels=[0, 1])
    >>> bound = certificate(state, delay=0)
    >>> bound.holds, bound.regret < bound.from_largest_lam < 2 * 200
    ('surely', True)
    >>> certificate(state, wrong_reports=2).holds
    'surely, if at most 2 reports are wrong'
    """
    instance("state", state, State, "State.start(learner) makes one.")
    confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
    wrong = integer("wrong_reports", wrong_reports, 0, None, "It counts reports.")
    if delay is not None:
        delay = integer("delay", delay, 0, bounds.LONGEST, "It counts rounds.")
    learner, account = state.learner, state.account
    least = least_cost(learner.hypotheses, state.costs)
    regret = bracket(learner, account.paid, account.reported, least)
    slack, holds = _estimated(state, 1.0 - confidence)
    if wrong:
        slack += _wrong(state, wrong)
        holds += f", if at most {wrong:,} reports are wrong"
    from_lam = None if delay is None or wrong else _from_largest_lam(state, delay)
    return Certificate(state.opened, learner.k, regret + slack, holds, from_lam, state.reports)


@dataclass(frozen=True)
class Unseen:
    """Reports that nobody saw, since the panel was not asked.

    The estimate is unbiased; the interval holds at all times at once, with ``confidence``.
    """

    estimate: float
    low: int
    high: int
    confidence: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def unseen_reports(state: State, *, confidence: float = 0.95) -> Unseen:
    """Reports that the panel would have made in rounds that it was not shown whole.

    A round with such a report is shown whole with probability p: of Y + X of them Y were seen, and
    whenever one looks, with L = B(Y + 1, X + b)/B(1, b) / (p^Y·(1 − p)^X) and b = (1 − p)/p, a
    martingale that begins at 1, P(L ever exceeds 1/delta) ≤ delta (Ville). The interval has all X
    for which it does not, up to the number of rounds that were not shown whole (Theorem F).

    >>> from likewise import Learner, Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> learner = Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1, attention="model:0.1")
    >>> unseen_reports(State.start(learner))
    Unseen(estimate=0.0, low=0, high=0, confidence=0.95)
    """
    instance("state", state, State, "State.start(learner) makes one.")
    confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
    looks, p = state.looks, state.learner.looking.least
    if p == 1.0:
        return Unseen(0.0, 0, 0, confidence)
    b, most = (1.0 - p) / p, -math.log(1.0 - confidence)
    y, seen = looks.surprises, looks.log_chances

    def excess(x: int) -> float:
        beta = math.lgamma(x + b) + math.lgamma(y + 1) - math.lgamma(x + b + y + 1)
        beta -= math.lgamma(b) - math.lgamma(b + 1)
        return beta - seen - x * math.log1p(-p) - most

    # The excess falls until near the estimate, and rises from there on.
    middle = max(0, round(y * b))
    low = bisect_left(range(middle), True, key=lambda x: excess(x) <= 0)
    high = _last_within(excess, middle)
    return Unseen(looks.unseen, low, min(high, looks.in_part), confidence)


def overlooked_reports(reports: int, share: float, *, confidence: float = 0.95) -> Unseen:
    """Reports that a panel overlooked, each with probability ``share`` at most.

    Of Y reports that were made and X that were overlooked, (s/share)^X·((1 − s)/(1 − share))^Y is a
    supermartingale for every s above the share, and so is its mean over some of them: at all times
    at once it is below 1/delta with probability 1 − delta (Ville).

    >>> overlooked_reports(100, 0.1).high, overlooked_reports(100, 0.0).high
    (24, 0)
    """
    reports = integer("reports", reports, 0, None, "It counts the reports that were made.")
    share = within("share", share, 0, 1, "0.1 means one report in ten.", ends="[)")
    confidence = within("confidence", confidence, 0, 1, "Try 0.95.", ends="()")
    if share == 0:
        return Unseen(0.0, 0, 0, confidence)
    # Those for s = share + (1 − share)·z.
    steps = [2.0**-j for j in range(1, 13)]
    most = math.log(len(steps) / (1.0 - confidence))

    def excess(x: int) -> float:
        terms = [
            x * math.log1p((1.0 - share) / share * z) + reports * math.log1p(-z) for z in steps
        ]
        top = max(terms)
        return top + math.log(sum(math.exp(term - top) for term in terms)) - most

    high = _last_within(excess, 0)
    return Unseen(reports * share / (1.0 - share), 0, high, confidence)


def _last_within(excess: Callable[[int], float], start: int) -> int:
    """The last number before the excess, from ``start`` on, rises above 0 for good."""
    step = 1
    while excess(start + step) <= 0:
        step *= 2
    numbers = range(start, start + step)
    return start + bisect_left(numbers, True, key=lambda x: excess(x) > 0) - 1


def least_cost(hypotheses: HypothesisClass, costs: IntArray) -> int:
    """min_h F(h), in units."""
    silence = np.zeros((1, hypotheses.separators), dtype=np.int64)
    return int(hypotheses.totals(costs, hypotheses.minimise(costs, silence))[0])


def bracket(learner: Learner, paid: int, reported: int, least: int) -> float:
    """(k/eta)·[Σ f_t(π̃^t) − min_h F(h) − beta·Σ lam_t].

    ``paid`` is the first sum, in units of 2^-40; ``least``, the minimum, and ``reported``, the last
    sum, are in units of 2^-20.
    """
    costs = (paid - (least << BITS)) / float(ONE * ONE)
    beta = bounds.asked_beta(learner)
    return bounds.in_errors(learner) * (costs - beta * reported / ONE)


def _wrong(state: State, count: int) -> float:
    """(k/eta)·(1 − alpha + eps)·Σ lam, which ``count`` wrong reports add at most.

    A reported gap g is above alpha − kappa, so 1 − g + beta is below 1 − alpha + eps. The rounds
    themselves give less (:meth:`~likewise.learner.evidence.Evidence.wrong_reports`).
    """
    learner, account = state.learner, state.account
    prices = min(count * to_units(account.largest_lam / learner.audit_share), account.reported)
    each = 1.0 - learner.alpha + learner.eps
    return bounds.in_errors(learner) * each * prices / ONE


def _estimated(state: State, failing: float) -> tuple[float, str]:
    """A bound on the error of published scores and estimated labels, and when it holds."""
    learner, rounds = state.learner, state.opened
    if not learner.pricing.one_sided:
        in_order = not state.missing and labels_in_order(state.open.values(), rounds)
        return score_deviation(learner, rounds, failing, in_order=in_order)
    if reason := _not_unbiased(state):
        return 0.0, f"as an estimate only: {reason}"
    return _rounding(learner, rounds) + _bias(learner, rounds), bounds.IN_EXPECTATION


LATE = "if a round's labels, and which of them have come, depend on nothing of its own draws"
# A bound that holds at all times at once is tightest after about eight times this many rounds.
TUNED_TO = 500


def deviation(variance: float, rho: float, failing: float) -> float:
    """A limit that a martingale exceeds at any time with probability ``failing`` at most.

    Its differences are sub-Gaussian, and their variances add up to V = ``variance``, known in
    advance; the limit is sqrt((V + rho)·(ln((V + rho)/rho) + 2·ln(1/failing))) for any rho that is
    fixed in advance (a mixture of normals, and Ville's inequality).
    """
    total = variance + rho
    return math.sqrt(total * (math.log(total / rho) + 2.0 * math.log(1.0 / failing)))


def labels_in_order(rounds: Iterable[OpenRound], opened: int) -> bool:
    """Test whether labels have come for whole rounds, and only the latest rounds await theirs.

    Otherwise which labels have come, and when, might depend on scores.
    """
    waiting = [r for r in rounds if r.panel is None or r.awaiting_labels(one_sided=False)]
    latest = set(range(opened - len(waiting) + 1, opened + 1))
    return {r.number for r in waiting} == latest and not any(r.labels for r in waiting)


def score_deviation(
    learner: Learner, rounds: int, failing: float, *, in_order: bool = True
) -> tuple[float, str]:
    """How many more errors policies may make than their published scores, and when that holds.

    A player that knows its policy publishes it on the grid. One that draws is off by averages of
    R_t draws, each of range k: V = Σ_t k²/(4·R_t). ``in_order`` says that labels have come in the
    order of the rounds.
    """
    rounding, k = _rounding(learner, rounds), learner.k
    if "full" not in bounds.proved(learner.primal):
        return rounding, "surely, of the published scores"
    if learner.primal.exact:
        return rounding, "surely"
    # R never falls: each of the doubling blocks has at least the draws of its first round.
    variance, first = 0.0, 1
    while first <= rounds:
        count = min(2 * first - 1, rounds) - first + 1
        variance += count * k * k / (4.0 * score_draws(learner, first))
        first *= 2
    off = deviation(variance, TUNED_TO * k * k / (4.0 * score_draws(learner, 1)), failing)
    chance = f"with probability {1 - failing:g}"
    if in_order:
        return rounding + off, f"{chance} at all times at once, {bounds.UNSEEN}"
    return rounding + off, f"{chance} at one look, {LATE}"


def _rounding(learner: Learner, rounds: int) -> float:
    """Scores are on the grid, the smallest weights are cut off, and weighted labels are rounded."""
    k, hypotheses = learner.k, learner.hypotheses
    cut = hypotheses.cut if learner.primal.exact and isinstance(hypotheses, ExactWeights) else 0.0
    weighted = bounds.in_errors(learner) * bounds.weighted_rounding(learner, rounds)
    return k * (bounds.UNIT + cut) * rounds + weighted


def _not_unbiased(state: State) -> str | None:
    """Why the charges for one-sided labels are not an unbiased estimate; None if they are.

    Rejected people are charged when the round is sealed, approved ones when their label comes: if
    some labels do not come, the sum is one-sided.
    """
    learner = state.learner
    if isinstance(learner.schedule, Paper) or not bounds.covered(learner, late=False):
        return "labels that nobody saw are made up for"
    if state.overridden:
        return "some decisions were overridden, so that our chances of approval do not count"
    if state.missing:
        return "some labels of approved people never came"
    for round_ in state.open.values():
        if round_.panel is not None and round_.awaiting_labels(one_sided=True):
            return "some labels of approved people are still to come"
    return None


def _bias(learner: Learner, rounds: int) -> float:
    """The bias of the charges for one-sided labels, in errors.

    J is cut off and rounded; where it comes from the same draws as the scores, their covariance is
    at most 1/R. A mixture draws its J apart from its scores.
    """
    k, eta = learner.k, bounds.charged_eta(learner)
    if learner.primal.exact:
        return k / eta * (2.0 * eta + k) * bounds.UNIT * rounds
    together = not learner.primal.experts(learner.hypotheses)
    covariance = 2.0 * rounds / score_draws(learner) if together else 0.0
    return k * (2.0 / math.e * bounds.label_terms(rounds)[1] + covariance)


def score_draws(learner: Learner, t: int = 1) -> int:
    """R, the number of draws that estimate the scores of round t; later rounds have no fewer."""
    drawn_apart = learner.resamples(t) if learner.primal.experts(learner.hypotheses) else 0
    return learner.draws(t) - drawn_apart


def _from_largest_lam(state: State, delay: int) -> float | None:
    """The other form, with full information; late feedback needs a lam that never decreases."""
    learner, m = state.learner, bounds.proven_margin(state.learner)
    theorem = bounds.Theorems.of(learner, state.opened, delay)
    if theorem is None or not bounds.covered(learner, late=delay > 0):
        return None
    if learner.pricing.one_sided or m <= 0 or not state.opened:
        return None
    # Nothing is proved of late feedback together with reports that may be missed.
    if delay and (not learner.multiplier.never_decreases or learner.looking.least < 1):
        return None
    c, burst = theorem.constant, theorem.burst
    lam = state.account.largest_lam / learner.audit_share
    w = theorem.labels() + theorem.prices + lam * (2.0 * c + c * c / m + 2.0 * burst)
    return bounds.in_errors(learner) * w
