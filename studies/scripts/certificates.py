"""Certificates measured: how often one fails, and what they say where people err and worlds drift.

    python studies/scripts/certificates.py coverage --json studies/results/certificates.json

``coverage`` plays 1,000 small games and looks 20 times at each; ``drift``, ``one-sided`` and
``erring`` play 4,000 rounds with ten seeds. Each writes its rows under its own name, and the tables
of ``docs/research/theory.md`` are made of that file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise import Learner, Pool
from likewise.hypotheses import Segments
from likewise.learner import SelfTuned, State, apply
from likewise.learner.certificate import certificate, overlooked_reports, score_deviation
from likewise.learner.costs import Additive
from likewise.learner.events import Audited, Closed
from likewise.learner.evidence import Evidence
from likewise.learner.fold import label, upcoming
from likewise.learner.rounds import Deployment, deploy
from likewise.learner.state import OpenRound
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel.reports import exceeding_pairs
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Loans, best_fair_policy, faced_rounds
from likewise.simulate.loans import Drift
from likewise.simulate.rounds import play

LOOKS, ROUNDS = 20, 100
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


def draws_fail(seed: int) -> bool:
    """Context-FTPL on four coins, whose policy is known: do its errors ever exceed the estimate?"""
    levels = tuple("abcd")
    schema = FeatureSchema((Feature("score"), Feature("kind", "category", levels=levels)))
    coins = Segments(schema, score="score", cuts=[], by=["kind"])
    schedule = SelfTuned(eta=0.5, x=0.3, kappa=0.3, r=0.29, delta=0.9)
    learner = Learner(coins, 4, 0.6, 0.6, seed, schedule, "context-ftpl")
    people, rng = schema.people([[0, level] for level in levels]), np.random.default_rng(seed)
    state, more, failed = State.start(learner), 0.0, False
    points = coins.locate(people)
    for t in range(1, ROUNDS + 1):
        frozen = upcoming(state)
        policy = _laplace_cdf(-frozen.costs / ONE / frozen.scale)[points]
        labels = rng.integers(0, 2, 4)
        state, deployment = deploy(state, people)
        by_id = dict(zip(people.ids, labels.tolist(), strict=True))
        state, _ = heard(state, deployment, by_id, ())
        more += float((1 - 2 * labels) @ (policy - deployment.scores))
        failed |= t in looks_of(ROUNDS) and more > score_deviation(learner, t, DELTA)[0]
    return failed


def _laplace_cdf(v: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-np.abs(v))
    return np.where(v < 0, tail, 1.0 - tail)


def one_sided_fails(seed: int) -> tuple[bool, bool]:
    """Exponential weights with one-sided labels: is a certificate ever below the regret?

    That with high probability, and the one that holds in expectation.
    """
    pool = Pool.from_table(TABLE.tolist())
    schedule = SelfTuned(eta=0.5, x=0.3)
    learner = Learner(pool, 2, 1.0, 0.5, seed, schedule, feedback="one-sided")
    people, rng = pool.schema.people([[0, 0, 1], [0, 1, 1]]), np.random.default_rng(seed)
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
    return failed, plain


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
    return failed, plain


def coverage(games: int) -> dict[str, Any]:
    """The number of games in which a certificate failed at any of 20 looks."""
    one_sided = [one_sided_fails(seed) for seed in range(games)]
    wrong = [wrong_fails(seed) for seed in range(games)]
    return {
        "games": games, "looks": LOOKS, "rounds": ROUNDS, "delta": DELTA,
        "draws": sum(bool(draws_fail(seed)) for seed in range(games)),
        "one-sided": sum(bool(failed) for failed, _ in one_sided),
        "one-sided, in expectation": sum(bool(plain) for _, plain in one_sided),
        "overlooked": sum(bool(overlooked_fails(seed)) for seed in range(games)),
        "wrong": sum(bool(failed) for failed, _ in wrong),
        "wrong, believed": sum(bool(plain) for _, plain in wrong),
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
    for partition in played.evidence.partitions(8):
        best = sum(
            best_fair_policy(learner.hypotheses, faced[a:b], learner.alpha - learner.eps).error
            for a, b in pairwise((0, *partition.ends))
        )
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


def erring(seed: int, rounds: int = 4000, share: float = 0.1) -> dict[str, Any]:
    """`loans` before a panel of which a share of the reports is overlooked, and of the quiet rounds
    with a possible pair a share has a wrong report, beside a perfect one (share 0).
    """
    world, rng = Loans(seed=seed), np.random.default_rng(seed)
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, seed)
    state, closed, faced = State.start(learner), [], []
    errors, violations, counts, alpha = 0.0, 0, {"reports": 0, "wrong": 0, "overlooked": 0}, 0.3
    for t in range(1, rounds + 1):
        encounter = world.encounter(t)
        people, pivots = encounter.people, encounter.pivots
        state, deployment = deploy(state, people)
        pairs, kind = _judged(deployment, pivots, learner.sensitivity, share, rng, people)
        counts["reports"] += bool(pairs)
        if kind:
            counts[kind] += 1
        labels = dict(zip(people.ids, encounter.labels.tolist(), strict=True))
        state, round_ = heard(state, deployment, labels, pairs)
        closed.append(round_)
        faced.append(encounter)
        errors += float(np.abs(deployment.scores - encounter.labels).sum())
        violations += bool(
            exceeding_pairs(deployment.units, pivots.distance, round(alpha * ONE)).any()
        )
    run, evidence = certificate(state), Evidence.of(learner, closed)
    best = best_fair_policy(
        learner.hypotheses, faced_rounds(faced, learner.hypotheses), learner.alpha - learner.eps
    ).error
    missed = overlooked_reports(run.reports, share).high
    return {
        "seed": seed, "share": share, "error": round(errors / (rounds * world.k), 4),
        "violations": violations, **counts, "regret": round(errors - best, 1),
        "certificate": round(run.regret, 1),
        "robust": round(run.regret + evidence.wrong_reports(counts["wrong"]), 1),
        "overlooked at most": missed, "trivial": learner.k * rounds,
    }  # fmt: skip


def _judged(
    deployment: Deployment, pivots: Any, sensitivity: int, share: float,
    rng: np.random.Generator, people: People,
) -> tuple[tuple[tuple[str, str], ...], str]:  # fmt: skip
    """The pair that an erring panel reports, and the kind of its mistake if it made one."""
    units = deployment.units
    exceeded = pivots.exceeded(units, sensitivity)
    gaps = units[:, None] - units
    errs = share > 0 and rng.random() < share
    if exceeded.any():
        if errs:
            return (), "overlooked"
        over, under = np.unravel_index(np.where(exceeded, gaps, -1).argmax(), gaps.shape)
        return ((people.ids[int(over)], people.ids[int(under)]),), ""
    if errs and gaps.max() > sensitivity:
        over, under = np.unravel_index(gaps.argmax(), gaps.shape)
        return ((people.ids[int(over)], people.ids[int(under)]),), "wrong"
    return (), ""


def _rows(what: str, count: int) -> Iterator[Any]:
    """The rows of a measurement, one a seed."""
    each: dict[str, Callable[[int], Any]] = {
        "drift": drift,
        "one-sided": one_sided,
        "erring": erring,
        "perfect": lambda seed: erring(seed, share=0.0),
    }
    for seed in range(1, count + 1):
        yield each[what](seed)


@click.command()
@click.argument("what", type=click.Choice(["coverage", "drift", "one-sided", "erring", "perfect"]))
@click.option("--count", default=None, type=int, help="Games, or seeds.")
@click.option("--json", "path", default=None, type=click.Path(path_type=Path))
def main(what: str, count: int | None, path: Path | None) -> None:
    """Measure, and store the rows."""
    rows = coverage(count or 1000) if what == "coverage" else list(_rows(what, count or 10))
    click.echo(json.dumps(rows, indent=1))
    if path is not None:
        stored = json.loads(path.read_text()) if path.exists() else {}
        stored[what] = rows
        path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
