"""Certificates measured: how often one fails, and what they say where people err and worlds drift.

    python -m studies.scripts.certificates coverage      # writes its rows and the tables

``coverage`` plays 1,000 small games: those of the certificates by draws and with one-sided labels
all at once, by the formulas of ``docs/research/theory.md``, which says what is measured; a test
plays some of them by the program's fold. ``drift``, ``one-sided``, ``erring`` and ``perfect`` play
with ten seeds.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np

from likewise import (
    Feature,
    FeatureSchema,
    Learner,
    Pool,
    Segments,
    SelfTuned,
    State,
    apply,
    deploy,
)
from likewise.learner import Deployment, certificate, fold
from likewise.learner.attention import BoolArray, PanelModel
from likewise.learner.bounds import charged_eta
from likewise.learner.certificate import overlooked_reports, score_deviation, unseen_reports
from likewise.learner.costs import Additive
from likewise.learner.events import Audited, Closed
from likewise.learner.evidence import GAMMAS, Evidence
from likewise.learner.state import Looks, OpenRound, changed
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.simulate import Drift, Loans, best_fair_policy, faced_rounds, play
from studies.pages import Study, table

LOOKS, ROUNDS, LONG, DRAWN = 20, 100, 2000, 500
DELTA, REPAID = 0.05, 0.45
TABLE = np.array([[0, 0], [0, 1], [1, 1]])


def heard(
    state: State, deployment: Deployment, labels: dict[str, int], pairs: tuple[tuple[str, str], ...]
) -> tuple[State, OpenRound]:
    """The state after a round's feedback, and the round as evidence."""
    name = deployment.round
    state = apply(state, Audited(name, "report" if pairs else "quiet", pairs))
    state = fold.label(state, name, labels)
    return apply(state, Closed(name)), state.open[name]


def looks_of(rounds: int) -> set[int]:
    return set(range(rounds // LOOKS, rounds + 1, rounds // LOOKS))


def draws_learner(seed: int, feedback: Literal["full", "one-sided"] = "full") -> Learner:
    """Context-FTPL on four coins, whose policy is known."""
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=tuple("abcd"))))
    coins = Segments(schema, score="score", cuts=[], by=["kind"])
    schedule = SelfTuned(eta=0.5, x=3.0, kappa=0.3, r=0.29, delta=0.9)
    return Learner(coins, 4, 0.6, 0.6, seed, schedule, "context-ftpl", feedback=feedback)


def laplace_cdf(v: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1.0 - tail)


def one_sided_learner(seed: int) -> Learner:
    """Exponential weights with one-sided labels, where nobody objects."""
    pool = Pool.from_table(TABLE.tolist())
    return Learner(pool, 2, 1.0, 0.5, seed, SelfTuned(eta=0.5, x=0.3), feedback="one-sided")


def overlooked_fails(seed: int) -> bool:
    """Reports that are overlooked with chance 1/10: do they ever exceed their limit?"""
    lost = np.random.default_rng(seed).random(ROUNDS) < 0.1
    overlooked, made = np.cumsum(lost), np.cumsum(~lost)
    return any(
        overlooked[t - 1] > overlooked_reports(int(made[t - 1]), 0.1).high for t in looks_of(ROUNDS)
    )


def wrong_fails(seed: int) -> tuple[bool, bool]:
    """A fifth of the rounds have wrong reports: is the robust certificate too low, or the plain?"""
    pool = Pool.from_table(TABLE.tolist()).with_prior("flat")
    learner = Learner(pool, 2, 0.5, 0.5, seed, SelfTuned(eta=0.5, x=0.1), dual=Additive(0.2))
    people, rng = pool.schema.people([[0, 0, 1], [0, 1, 1]]), np.random.default_rng(seed)
    state, rounds, errors, totals, wrong = State.start(learner), [], 0.0, np.zeros(3), 0
    failed, plain = False, False
    for t in range(1, ROUNDS + 1):
        state, deployment = deploy(state, people)
        low, high = deployment.units.tolist()
        errs = high - low > learner.sensitivity and rng.random() < 0.2
        wrong += errs
        labels = (rng.random(2) < [0.1, 0.9]).astype(int)
        errors += float(np.abs(deployment.scores - labels).sum())
        totals += np.abs(TABLE - labels).sum(axis=1)
        pairs = ((people.ids[1], people.ids[0]),) if errs else ()
        by_id = dict(zip(people.ids, labels.tolist(), strict=True))
        state, round_ = heard(state, deployment, by_id, pairs)
        rounds.append(round_)
        if t in looks_of(ROUNDS):
            regret, limit = errors - totals.min(), certificate(state).regret
            plain |= regret > limit
            failed |= regret > limit + Evidence.of(learner, rounds).wrong_reports(wrong)
    return bool(failed), bool(plain)


def unseen_fails(seed: int) -> bool:
    """Reports are seen with chance 1/10: is the number of the others ever outside its interval?"""
    pool, attention = Pool.from_table(TABLE.tolist()), PanelModel(least=0.1)
    learner = Learner(pool, 2, 0.5, 0.5, seed, attention=attention)
    start, chance = State.start(learner), learner.looking.least
    shown = np.cumsum(np.random.default_rng(seed).random(ROUNDS) < chance)
    for t in looks_of(ROUNDS):
        surprises = int(shown[t - 1])
        looks = Looks(in_part=t, surprises=surprises, log_chances=surprises * math.log(chance))
        interval = unseen_reports(changed(start, looks=looks))
        if not interval.low <= t - surprises <= interval.high:
            return True
    return False


def all_draws_fail(games: int) -> tuple[int, int]:
    """In how many games, all at once, are there ever more errors than the limit allows for?

    Four of one kind come with one label, so that draws err together as much as they can. Errors are
    counted over all rounds, and over every interval between two looks.
    """
    learner = draws_learner(0)
    rng, eta, x = np.random.default_rng(0), charged_eta(learner), learner.x
    costs, more, failed = np.zeros(games), np.zeros(games), np.zeros((2, games), dtype=bool)
    earlier: list[tuple[FloatArray, float]] = []
    for t in range(1, LONG + 1):
        policy = laplace_cdf(-costs / (x * eta * math.sqrt(t)))
        draws = learner.draws(t)
        published = rng.binomial(draws, policy) / draws
        signs = 1.0 - 2.0 * rng.integers(0, 2, games)
        more += 4.0 * signs * (policy - published)
        costs += eta * signs
        if t in looks_of(LONG):
            limit = score_deviation(learner, t, DELTA)[0]
            failed[0] |= more > limit
            for before, early in earlier:
                failed[1] |= more - before > limit + early
            earlier.append((more.copy(), limit))
    whole, intervals = failed.sum(axis=1).tolist()
    return whole, intervals


class Accounts:
    """The sums of the one-sided certificate in many games at once, by the theorem's formula.

    There are ``copies`` of everybody in the columns of a class's table, and nobody objects.
    """

    def __init__(self, games: int, table: IntArray, copies: int, log_size: float) -> None:
        self.table, self.copies, self.log_size = table, copies, log_size
        self.k = copies * table.shape[1]
        self.sums = np.zeros((len(GAMMAS), games, len(table)))
        self.paid, self.lost, self.squares = np.zeros(games), np.zeros(games), np.zeros(games)
        self.rounds = 0

    def hear(self, q: FloatArray, off: float, seen: FloatArray) -> None:
        """A round: published scores, and 2 where somebody was approved whose label is 0."""
        chance = np.clip(q + off, 1e-300, 1.0)
        for n, gamma in enumerate(GAMMAS):
            inverse = np.log1p(math.expm1(2 * gamma) / chance) / (2 * gamma)
            self.sums[n] += self.copies * (seen * inverse - 1) @ self.table.T
        lost = self.copies * seen.sum(axis=1)
        self.paid += lost - self.copies * q.sum(axis=1)
        self.squares += (lost - self.lost / max(1, self.rounds)) ** 2
        self.lost += lost
        self.rounds += 1

    def limit(self, failing: float) -> FloatArray:
        """Each of its two events fails with this probability at most."""
        gammas, b = np.array(GAMMAS)[:, None], 2.0 * self.k
        log = math.log(len(GAMMAS) / failing)
        estimates = self.k / gammas * (self.log_size + log)
        short = b / gammas * ((-np.log1p(-gammas) - gammas) * self.squares / b**2 + log)
        regret = (self.paid - self.sums.min(axis=2) + estimates).min(axis=0)
        return np.asarray(regret + short.min(axis=0))


def all_one_sided_fail(games: int) -> tuple[int, int]:
    """Exponential weights where nobody objects, all games at once, by the theorem's formula.

    In how many is the certificate ever below the regret, and the one that holds in expectation?
    """
    learner = one_sided_learner(0)
    rng, eta, k = np.random.default_rng(1), charged_eta(learner), 2
    prior, accounts = np.array([0.25, 0.5, 0.25]), Accounts(games, TABLE, 1, math.log(3))
    totals, errors, truth = np.zeros((games, 3)), np.zeros(games), np.zeros((games, 3))
    plain_paid, failed = np.zeros(games), np.zeros((2, games), dtype=bool)
    for t in range(1, LONG + 1):
        far = totals - totals.min(axis=1, keepdims=True)
        weights = prior * np.exp(-far / (learner.x * eta * math.sqrt(20 * t)))
        weights /= weights.sum(axis=1, keepdims=True)
        chosen = (rng.random((games, 1)) > weights.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        q, approved = weights @ TABLE, TABLE[chosen]
        labels = (rng.random((games, 2)) < [0.35, 0.55]).astype(int)
        errors += np.abs(q - labels).sum(axis=1)
        truth += np.abs(TABLE[None] - labels[:, None]).sum(axis=2)
        seen = 2.0 * approved * (1 - labels)
        costs = eta / k * (seen / q - 1)
        totals += costs @ TABLE.T
        plain_paid += (costs * q).sum(axis=1)
        accounts.hear(q, 0.0, seen)
        if t in looks_of(LONG):
            regret = errors - truth.min(axis=1)
            failed[0] |= regret > accounts.limit(DELTA / 2)
            failed[1] |= regret > k / eta * (plain_paid - totals.min(axis=1))
    surely, plain = failed.sum(axis=1).tolist()
    return surely, plain


def all_drawn_one_sided_fail(games: int) -> int:
    """In how many games by draws is the one-sided certificate ever below the regret?

    Four alike come in every round: the point's cost is charged with J, the first of M draws that
    approves, and the noise is that of Theorem C.
    """
    learner, rng, k = draws_learner(0, "one-sided"), np.random.default_rng(2), 4
    eta, failing, table = charged_eta(learner), DELTA / 4, np.array([[0], [1]])
    accounts = Accounts(games, table, k, learner.hypotheses.log_size)
    costs, squares, largest = np.zeros(games), np.zeros(games), np.zeros(games)
    errors, ones, failed = np.zeros(games), np.zeros(games), np.zeros(games, dtype=bool)
    for t in range(1, DRAWN + 1):
        draws, most = learner.draws(t), learner.resamples(t)
        largest = np.maximum(largest, squares + (eta * (2 * most - 1)) ** 2)
        policy = laplace_cdf(-costs / (learner.x * np.sqrt(largest)))
        first = rng.random((games, most)) < policy[:, None]
        published = (first.sum(axis=1) + rng.binomial(draws - most, policy)) / draws
        first[:, -1] = True
        y, approved = rng.random(games) < REPAID, rng.random(games) < policy
        seen = 2.0 * (approved & ~y)
        charged = eta * (seen * (first.argmax(axis=1) + 1) - 1)
        costs, squares = costs + charged, squares + charged**2
        errors, ones = errors + k * np.abs(policy - y), ones + y
        off = math.sqrt(math.log(k * t * (t + 1) / failing) / (2 * draws))
        accounts.hear(published[:, None], off, seen[:, None].astype(np.float64))
        if t in looks_of(DRAWN):
            limit = accounts.limit(failing) + score_deviation(learner, t, failing)[0]
            failed |= errors - k * np.minimum(ones, t - ones) > limit
    return int(failed.sum())


def coverage(games: int) -> dict[str, Any]:
    """The number of games in which a certificate failed at any of 20 looks."""
    draws, intervals = all_draws_fail(games)
    one_sided, plain = all_one_sided_fail(games)
    # What holds surely needs no such number: a tenth of the games, by the fold.
    wrong = [wrong_fails(seed) for seed in range(games // 10)]
    return {
        "games": games, "looks": LOOKS, "rounds": LONG, "rounds by draws": DRAWN, "delta": DELTA,
        "draws": draws, "draws, intervals": intervals,
        "one-sided": one_sided, "one-sided, in expectation": plain,
        "one-sided, by draws": all_drawn_one_sided_fail(games),
        "unseen": sum(unseen_fails(seed) for seed in range(games)),
        "overlooked": sum(overlooked_fails(seed) for seed in range(games)),
        "games with wrong reports": games // 10,
        "wrong": sum(failed for failed, _ in wrong),
        "wrong, believed": sum(believed for _, believed in wrong),
    }  # fmt: skip


def drift(seed: int, rounds: int = 4000) -> dict[str, Any]:
    """`drift`: certificates of the best partitions, and the regret to their best policies."""
    world = Drift(seed=seed)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed)
    played = play(world, learner, rounds, record=True)
    faced, errors = faced_rounds(played.encounters, learner.hypotheses), float(played.error.sum())
    rows = []

    @cache
    def best_on(first: int, last: int) -> float:
        return best_fair_policy(learner.hypotheses, faced[first:last], 0.0).error

    for partition in cast(Evidence, played.evidence).partitions(8):
        best = sum(best_on(a, b) for a, b in pairwise((0, *partition.ends)))
        rows.append({
            "parts": len(partition.ends), "ends": list(partition.ends),
            "certificate": round(partition.regret, 1), "regret": round(errors - best, 1),
        })  # fmt: skip
    return {"seed": seed, "trivial": learner.k * rounds, "partitions": rows}


def one_sided(seed: int, rounds: int = 4000) -> dict[str, Any]:
    """`loans` with one-sided labels: the certificate, and when it is below half of the trivial."""
    world = Loans(seed=seed)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed, feedback="one-sided")
    played = play(world, learner, rounds, record=True)
    every = cast(Evidence, played.evidence).rounds
    certificates = {n: Evidence(learner, every[:n]).one_sided() for n in (250, 500, 1000, rounds)}
    regrets = {n: limit.regret for n, limit in certificates.items() if limit is not None}
    faced = faced_rounds(played.encounters, learner.hypotheses)
    best = best_fair_policy(learner.hypotheses, faced, learner.alpha - learner.eps).error
    return {
        "seed": seed, "trivial": learner.k * rounds, "certificate": round(regrets[rounds], 1),
        "below half from": min(n for n, most in regrets.items() if most < learner.k * n / 2),
        "in expectation": round(certificate(played.state).regret, 1),
        "regret": round(float(played.error.sum()) - best, 1),
    }  # fmt: skip


KINDS = ("reports", "wrong", "overlooked")


@dataclass
class Erring:
    """A panel that overlooks a share of its reports, and of whose reports a share is wrong."""

    share: float
    rng: np.random.Generator
    due: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def judge(
        self, units: IntArray, exceeded: BoolArray, sensitivity: int
    ) -> tuple[int, int] | None:
        gaps, slips = units[:, None] - units, self.rng.random() < self.share
        if exceeded.any():
            # one wrong report in ten is one for every nine that are right
            self.due += self.rng.random() < self.share / (1 - self.share)
            if slips:
                self.counts["overlooked"] += 1
                return None
            gaps = np.where(exceeded, gaps, -1)
        elif gaps.max() > sensitivity and self.due:
            self.due -= 1
            self.counts["wrong"] += 1
        else:
            return None
        self.counts["reports"] += 1
        over, under = np.unravel_index(gaps.argmax(), gaps.shape)
        return int(over), int(under)


def erring(seed: int, share: float = 0.1) -> dict[str, Any]:
    """`loans` before a panel that errs: error, violations, regret and certificates."""
    world, rounds = Loans(seed=seed), 4000
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed)
    panel = Erring(share, np.random.default_rng(seed))
    state, closed, faced, errors, violations = State.start(learner), [], [], 0.0, 0
    for t in range(1, rounds + 1):
        encounter = world.encounter(t)
        people, pivots = encounter.people, encounter.pivots
        state, deployment = deploy(state, people)
        exceeded = pivots.exceeded(deployment.units, learner.sensitivity)
        pair = panel.judge(deployment.units, exceeded, learner.sensitivity)
        pairs = () if pair is None else ((people.ids[pair[0]], people.ids[pair[1]]),)
        labels = dict(zip(people.ids, encounter.labels.tolist(), strict=True))
        state, round_ = heard(state, deployment, labels, pairs)
        closed.append(round_)
        faced.append(encounter)
        errors += float(np.abs(deployment.scores - encounter.labels).sum())
        violations += bool(pivots.exceeded(deployment.units, round(0.3 * ONE)).any())
    run, evidence = certificate(state), Evidence.of(learner, closed)
    best = best_fair_policy(learner.hypotheses, faced_rounds(faced, learner.hypotheses), 0.0).error
    return {
        "seed": seed, "share": share, "error": round(errors / (rounds * world.k), 4),
        "violations": violations, **panel.counts, "regret": round(errors - best, 1),
        "certificate": round(run.regret, 1),
        "robust": round(run.regret + evidence.wrong_reports(panel.counts["wrong"]), 1),
        "overlooked at most": overlooked_reports(run.reports, share).high,
        "trivial": learner.k * rounds,
    }  # fmt: skip


def failures(covered: Mapping[str, int]) -> str:
    """Games in which a certificate failed at any look."""
    beside = {
        "one-sided": f"in expectation alone: {covered['one-sided, in expectation']:,}",
        "wrong": f"the plain certificate: {covered['wrong, believed']:,}",
    }
    rows = (
        (words, f"{covered['games with wrong reports' if name == 'wrong' else 'games']:,}",
         f"{covered[name]:,}", beside.get(name, ""))
        for name, words in CERTIFICATES.items()
    )  # fmt: skip
    return table(("certificate", "games", "failed", "beside it"), rows)


def as_tables(figures: Mapping[str, Any]) -> str:
    games = figures["one-sided"]
    parts = []
    for n in range(8):
        rows = [{**row["partitions"][n], "trivial": row["trivial"]} for row in figures["drift"]]
        largest = max(row["certificate"] / row["trivial"] for row in rows)
        means = (f"{_mean(rows, name):,.0f}" for name in ("certificate", "regret"))
        parts.append((str(n + 1), *means, f"{largest:.1%}"))
    counts = ("violations", "reports", "wrong", "overlooked", "certificate", "robust", "regret")
    panels = (
        (panel, f"{_mean(figures[panel], 'error'):.3f}",
         *(f"{_mean(figures[panel], name):,.0f}" for name in counts))
        for panel in ("perfect", "erring")
    )  # fmt: skip
    return "\n\n".join([
        failures(figures["coverage"]),
        table(("drift, parts", "certificate", "regret", "of trivial"), parts),
        table(("panel", "error", *counts), panels),
        f"One-sided, loans, T = 4,000: at most {max(row['certificate'] for row in games):,.0f} in "
        f"{len(games)} games, regret {_mean(games, 'regret'):,.0f} in the mean, any learner "
        f"{games[0]['trivial']:,}; below half of any learner's in all of them from T = "
        f"{max(row['below half from'] for row in games):,} on.",
    ])  # fmt: skip


CERTIFICATES = {
    "draws": "scores from draws",
    "draws, intervals": "scores from draws, any part of the rounds",
    "one-sided": "one-sided labels",
    "one-sided, by draws": "one-sided labels, by draws",
    "unseen": "unseen reports",
    "overlooked": "overlooked reports",
    "wrong": "wrong reports",
}


def _mean(rows: Sequence[Mapping[str, float]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


BY_SEED: dict[str, Callable[[int], dict[str, Any]]] = {
    "drift": drift,
    "one-sided": one_sided,
    "erring": erring,
    "perfect": lambda seed: erring(seed, 0.0),
}


STUDY = Study("certificates", "certificates.json", "theory.md", as_tables)

if __name__ == "__main__":
    rows, what = STUDY.stored(), sys.argv[1]
    if what == "coverage":
        rows[what] = coverage(1000)
    else:
        rows[what] = [BY_SEED[what](seed) for seed in range(1, 11)]
    STUDY.keep(rows)
