"""Certificates measured: how often one fails, and what they say where people err and worlds drift.

    python studies/scripts/certificates.py coverage --json studies/results/certificates.json

``coverage`` plays 1,000 small games and looks 20 times at each: those of the certificates by draws
and with one-sided labels all at once, by the formulas of ``docs/research/theory.md`` (that the
program computes these a test sees, which plays some of the games by its fold). ``drift``,
``one-sided``, ``erring`` and ``perfect`` play 4,000 rounds with ten seeds, and go on
where their rows end. Each has its rows under its own name, and the page has tables of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise import Learner, Pool
from likewise.hypotheses import Segments
from likewise.learner import SelfTuned, State, apply
from likewise.learner.attention import BoolArray
from likewise.learner.bounds import charged_eta
from likewise.learner.certificate import (
    TUNED_TO,
    certificate,
    deviation,
    overlooked_reports,
    score_deviation,
)
from likewise.learner.costs import Additive
from likewise.learner.events import Audited, Closed
from likewise.learner.evidence import GAMMAS, Evidence
from likewise.learner.fold import label, upcoming
from likewise.learner.rounds import Deployment, deploy
from likewise.learner.state import OpenRound
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.panel.reports import exceeding_pairs
from likewise.people import Feature, FeatureSchema
from likewise.simulate import Loans, best_fair_policy, faced_rounds
from likewise.simulate.loans import Drift
from likewise.simulate.rounds import play

LOOKS, ROUNDS, LONG = 20, 100, 2000
DELTA = 0.05
TABLE = np.array([[0, 0], [0, 1], [1, 1]])


def heard(
    state: State, deployment: Deployment, labels: dict[str, int], pairs: tuple[tuple[str, str], ...]
) -> tuple[State, OpenRound]:
    """The state after a round's feedback, and the round as evidence."""
    name = deployment.round
    state = apply(state, Audited(name, "report" if pairs else "quiet", pairs))
    state = label(state, name, labels)
    return apply(state, Closed(name)), state.open[name]


def looks_of(rounds: int) -> set[int]:
    return set(range(rounds // LOOKS, rounds + 1, rounds // LOOKS))


def draws_learner(seed: int) -> Learner:
    """Context-FTPL on four coins, whose policy is known."""
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=tuple("abcd"))))
    coins = Segments(schema, score="score", cuts=[], by=["kind"])
    schedule = SelfTuned(eta=0.5, x=3.0, kappa=0.3, r=0.29, delta=0.9)
    return Learner(coins, 4, 0.6, 0.6, seed, schedule, "context-ftpl")


def draws_fail(seed: int) -> bool:
    """Are there ever more errors than the limit on the estimate allows for?"""
    learner, rng = draws_learner(seed), np.random.default_rng(seed)
    # Four of a kind, with one label: draws err together, as much as they can.
    people = learner.hypotheses.schema.people([[0, "a"]] * 4)
    state, more, failed = State.start(learner), 0.0, False
    points = learner.hypotheses.locate(people)
    for t in range(1, ROUNDS + 1):
        frozen = upcoming(state)
        policy = _laplace_cdf(-frozen.costs / ONE / frozen.scale)[points]
        labels = np.full(4, rng.integers(0, 2))
        state, deployment = deploy(state, people)
        by_id = dict(zip(people.ids, labels.tolist(), strict=True))
        state, _ = heard(state, deployment, by_id, ())
        more += float((1 - 2 * labels) @ (policy - deployment.scores))
        failed |= t in looks_of(ROUNDS) and more > score_deviation(learner, t, DELTA)[0]
    return bool(failed)


def _laplace_cdf(v: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1.0 - tail)


def one_sided_learner(seed: int) -> Learner:
    """Exponential weights with one-sided labels, where nobody objects."""
    pool = Pool.from_table(TABLE.tolist())
    return Learner(pool, 2, 1.0, 0.5, seed, SelfTuned(eta=0.5, x=0.3), feedback="one-sided")


def one_sided_fails(seed: int) -> tuple[bool, bool]:
    """Is a certificate ever below the regret?

    That with high probability, and the one that holds in expectation.
    """
    learner, rng = one_sided_learner(seed), np.random.default_rng(seed)
    people = learner.hypotheses.schema.people([[0, 0, 1], [0, 1, 1]])
    state, rounds, errors, totals = State.start(learner), [], 0.0, np.zeros(3)
    failed, plain = False, False
    for t in range(1, ROUNDS + 1):
        state, deployment = deploy(state, people)
        labels = (rng.random(2) < [0.35, 0.55]).astype(int)
        errors += float(np.abs(deployment.scores - labels).sum())
        totals += np.abs(TABLE - labels).sum(axis=1)
        seen = zip(people.ids, labels.tolist(), deployment.approved, strict=True)
        state, round_ = heard(state, deployment, {p: y for p, y, yes in seen if yes}, ())
        rounds.append(round_)
        if t in looks_of(ROUNDS):
            regret, limit = errors - totals.min(), Evidence.of(learner, rounds).one_sided()
            failed |= limit is None or regret > limit.regret
            plain |= regret > certificate(state).regret
    return bool(failed), bool(plain)


def overlooked_fails(seed: int) -> bool:
    """Reports that are overlooked with chance 1/10: do they ever exceed their limit?"""
    lost = np.random.default_rng(seed).random(ROUNDS) < 0.1
    overlooked, made = np.cumsum(lost), np.cumsum(~lost)
    return any(
        overlooked[t - 1] > overlooked_reports(int(made[t - 1]), 0.1).high for t in looks_of(ROUNDS)
    )


def wrong_fails(seed: int) -> tuple[bool, bool]:
    """A panel that reports pairs which it accepts in truth, in a fifth of the rounds: is the robust
    certificate ever below the regret, and the plain one?
    """
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


def all_draws_fail(games: int) -> int:
    """The games of :func:`draws_fail`, all at once: in how many are errors ever too many?"""
    learner = draws_learner(0)
    rng, eta, x = np.random.default_rng(0), charged_eta(learner), learner.x
    costs, more, failed = np.zeros(games), np.zeros(games), np.zeros(games, dtype=bool)
    for t in range(1, LONG + 1):
        policy = _laplace_cdf(-costs / (x * eta * math.sqrt(t)))
        draws = learner.draws(t)
        published = rng.binomial(draws, policy) / draws
        signs = 1.0 - 2.0 * rng.integers(0, 2, games)
        more += 4.0 * signs * (policy - published)
        costs += eta * signs
        if t in looks_of(LONG):
            failed |= more > score_deviation(learner, t, DELTA)[0]
    return int(failed.sum())


def all_one_sided_fail(games: int) -> tuple[int, int]:
    """The games of :func:`one_sided_fails`, all at once, by the theorem's formula."""
    learner = one_sided_learner(0)
    rng, eta, k = np.random.default_rng(1), charged_eta(learner), 2
    prior, failing = np.array([0.25, 0.5, 0.25]), DELTA / 2 / len(GAMMAS)
    gammas = np.array(GAMMAS)[:, None]
    totals, errors, truth = np.zeros((games, 3)), np.zeros(games), np.zeros((games, 3))
    paid, plain_paid = np.zeros((len(GAMMAS), games)), np.zeros(games)
    bias, sums = np.zeros((len(GAMMAS), games)), np.zeros((len(GAMMAS), games, 3))
    failed, plain = np.zeros(games, dtype=bool), np.zeros(games, dtype=bool)
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
        explored = eta / k * (seen / (q + gammas[..., None]) - 1)
        sums += explored @ TABLE.T
        paid += (explored * q).sum(axis=2)
        bias += (2 * q * gammas[..., None] / (q + gammas[..., None])).sum(axis=2)
        if t in looks_of(LONG):
            regret = errors - truth.min(axis=1)
            brackets = k / eta * (paid - sums.min(axis=2))
            estimates = k / gammas * (math.log(4) + math.log(1 / failing))
            limit = brackets + bias + estimates + deviation(k * k * t, k * k * TUNED_TO, failing)
            failed |= regret > limit.min(axis=0)
            plain |= regret > k / eta * (plain_paid - totals.min(axis=1))
    return int(failed.sum()), int(plain.sum())


def coverage(games: int) -> dict[str, Any]:
    """The number of games in which a certificate failed at any of 20 looks."""
    one_sided, plain = all_one_sided_fail(games)
    # What holds surely needs no such number: a tenth of the games, by the fold.
    wrong = [wrong_fails(seed) for seed in range(games // 10)]
    return {
        "games": games, "looks": LOOKS, "rounds": LONG, "delta": DELTA,
        "draws": all_draws_fail(games),
        "one-sided": one_sided, "one-sided, in expectation": plain,
        "overlooked": sum(overlooked_fails(seed) for seed in range(games)),
        "games with wrong reports": games // 10,
        "wrong": sum(failed for failed, _ in wrong),
        "wrong, believed": sum(believed for _, believed in wrong),
    }  # fmt: skip


def allowed(games: int) -> float:
    """delta and two standard errors of it, in games.

    >>> round(allowed(1000), 1)
    63.8
    """
    return games * DELTA + 2 * math.sqrt(games * DELTA * (1 - DELTA))


def drift(seed: int, rounds: int = 4000) -> dict[str, Any]:
    """`drift`: certificates of the best partitions, and the regret to their best policies."""
    world = Drift(seed=seed)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed)
    played = play(world, learner, rounds, record=True)
    if played.evidence is None:
        raise click.ClickException("the game was not recorded")
    faced, errors = faced_rounds(played.encounters, learner.hypotheses), float(played.error.sum())
    rows = []

    @cache
    def best_on(first: int, last: int) -> float:
        return best_fair_policy(learner.hypotheses, faced[first:last], 0.0).error

    for partition in played.evidence.partitions(8):
        best = sum(best_on(a, b) for a, b in pairwise((0, *partition.ends)))
        rows.append({
            "parts": len(partition.ends), "ends": list(partition.ends),
            "certificate": round(partition.regret, 1), "regret": round(errors - best, 1),
        })  # fmt: skip
    return {"seed": seed, "trivial": learner.k * rounds, "partitions": rows}


def one_sided(seed: int, rounds: int = 4000) -> dict[str, Any]:
    """`loans` with one-sided labels: the certificate with high probability."""
    world = Loans(seed=seed)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed, feedback="one-sided")
    played = play(world, learner, rounds, record=True)
    found = None if played.evidence is None else played.evidence.one_sided()
    faced = faced_rounds(played.encounters, learner.hypotheses)
    best = best_fair_policy(learner.hypotheses, faced, learner.alpha - learner.eps).error
    return {
        "seed": seed, "trivial": learner.k * rounds,
        "certificate": None if found is None else round(found.regret, 1),
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
        """The pair that it reports."""
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
        beyond = exceeding_pairs(deployment.units, pivots.distance, round(0.3 * ONE))
        violations += bool(beyond.any())
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


def as_tables(stored: Mapping[str, Any]) -> str:
    """The stored rows as the page shows them."""
    covered = stored["coverage"]
    games, some = covered["games"], covered["games with wrong reports"]
    lines = [f"{'certificate':<28}{'games':>8}{'failed':>8}  beside it"]
    for name, number, rival, what in (
        ("draws", games, None, ""),
        ("one-sided", games, "one-sided, in expectation", "the one in expectation"),
        ("overlooked", games, None, ""),
        ("wrong", some, "wrong, believed", "the plain one"),
    ):
        beside = "" if rival is None else f"{what}: {covered[rival]:,}"
        lines.append(f"{name:<28}{number:>8,}{covered[name]:>8,}  {beside}".rstrip())
    lines += ["", f"{'drift, parts':<28}{'certificate':>12}{'regret':>10}{'of trivial':>12}"]
    for parts in range(1, 9):
        rows = [(row["partitions"][parts - 1], row["trivial"]) for row in stored["drift"]]
        means = [float(np.mean([r[name] for r, _ in rows])) for name in ("certificate", "regret")]
        largest = max(r["certificate"] / trivial for r, trivial in rows)
        lines.append(f"{parts:<28}{means[0]:>12,.0f}{means[1]:>10,.0f}{largest:>12.1%}")
    names = ("error", "violations", "reports", "wrong", "overlooked", "certificate", "robust")
    lines += ["", f"{'panel':<12}" + "".join(f"{name:>12}" for name in (*names, "regret"))]
    for panel in ("perfect", "erring"):
        means = [float(np.mean([r[name] for r in stored[panel]])) for name in (*names, "regret")]
        cells = [f"{means[0]:>12.3f}"] + [f"{mean:>12,.0f}" for mean in means[1:]]
        lines.append(f"{panel:<12}" + "".join(cells))
    one = stored["one-sided"]
    largest, mean = max(r["certificate"] for r in one), np.mean([r["regret"] for r in one])
    lines += ["", f"one-sided, loans, T = 4,000: at most {largest:,.0f} in {len(one)} games, "
              f"regret {mean:,.0f} in the mean, any learner {one[0]['trivial']:,}"]  # fmt: skip
    return "\n".join(lines)


BY_SEED: dict[str, Callable[[int], dict[str, Any]]] = {
    "drift": drift,
    "one-sided": one_sided,
    "erring": erring,
    "perfect": lambda seed: erring(seed, 0.0),
}


@click.command()
@click.argument("what", type=click.Choice(["coverage", *BY_SEED]))
@click.option("--count", default=None, type=int, help="Games, or seeds.")
@click.option("--json", "path", type=click.Path(path_type=Path), required=True)
def main(what: str, count: int | None, path: Path) -> None:
    """Measure, and store each row as it comes; rows that are there are kept."""

    def stored() -> dict[str, Any]:
        return json.loads(path.read_text()) if path.exists() else {}

    def store(rows: Any) -> None:
        path.write_text(json.dumps(stored() | {what: rows}, indent=1, sort_keys=True) + "\n")

    if what == "coverage":
        store(coverage(count or 1000))
        return
    rows = stored().get(what, [])
    for seed in range(len(rows) + 1, (count or 10) + 1):
        rows.append(BY_SEED[what](seed))
        store(rows)


if __name__ == "__main__":
    main()
