"""The contracts of a schedule and of a baseline, and of every state that they are part of."""

from __future__ import annotations

import math

from likewise.algorithms import Algorithm
from likewise.game import Baseline
from likewise.hypotheses import HypothesisClass, Pool
from likewise.learning import (
    Learner,
    Schedule,
    State,
    deploy,
    drawn_for_audit,
    dump_state,
    learn,
    parse_state,
)
from likewise.learning.schedules import schedule_from_spec, schedule_to_spec
from likewise.registry import BASELINES
from likewise.testing.people import called, generator, people_of, require, same_as_json, trial

__all__ = ["check_baseline", "check_schedule", "check_state"]

_TABLE = [[0, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]]


def check_state(what: object, learner: Learner, seed: int, rounds: int = 4) -> None:
    """Play some rounds; the state is saved and read back in between, and goes on the same way."""
    state = called(what, "State.start", State.start, learner)
    rng = generator(seed)
    for t in range(rounds):
        people = people_of(learner.hypotheses.schema, learner.k, seed + t)
        state, deployment = called(what, "deploy", deploy, state, people)
        read = called(what, "loading", parse_state, called(what, "saving", dump_state, state))
        require(read == state, what, "a state that was saved and loaded is not the same.")
        spec = dict(read.learner.spec())
        require(spec == learner.spec(), what, "a learner read from a file has other settings.")
        audited = drawn_for_audit(state, deployment.round)
        labels = {
            person: int(rng.integers(0, 2))
            for person, approved in zip(deployment.ids, deployment.approved, strict=True)
            if approved or not learner.pricing.one_sided
        }
        report = () if audited else None
        state = learn(state, deployment, labels=labels, report=report)
        require(
            learn(read, deployment, labels=labels, report=report) == state, what,
            "a state that was saved and loaded goes on in another way.",
        )  # fmt: skip


def check_schedule(schedule: Schedule) -> None:
    """Check a schedule: constants that make sense, the same ones again; JSON; and a learner.

    >>> from likewise.learning import SelfTuned
    >>> check_schedule(SelfTuned(eta=0.5))
    """
    require(isinstance(schedule, Schedule), schedule, "it is no Schedule.")
    with trial(schedule):
        _check_schedule(schedule)


def _check_schedule(schedule: Schedule) -> None:
    known = {"full", "one-sided"}
    fits = bool(schedule.feedback) and set(schedule.feedback) <= known
    require(fits, schedule, f"feedback must be some of {sorted(known)}; got {schedule.feedback}.")
    require(schedule.embedding in ("per-point", "repeated"), schedule, "unknown embedding.")
    eta = called(schedule, "error_weight", schedule.error_weight)
    require(math.isfinite(eta) and eta > 0, schedule, f"error_weight must be above 0; got {eta}.")
    margins = called(schedule, "margins", schedule.margins, 0.3, 0.3, exact=False)
    _check_rounds(schedule)
    for peaks in ((0.5, 2.0), (2.0, 50.0)):
        scales = [schedule.scale(peak, 4, 10, 0.3) for peak in peaks]
        fits = all(math.isfinite(s) and s > 0 for s in scales) and scales[0] <= scales[1]
        require(fits, schedule, f"scale must be above 0 and not fall with the peak; got {scales}.")
    read = same_as_json(schedule, schedule_to_spec, schedule_from_spec)
    again = (read.error_weight(), read.mu(3), read.draws(margins, 4, 3), read.resamples(4, 3))
    mine = (eta, schedule.mu(3), schedule.draws(margins, 4, 3), schedule.resamples(4, 3))
    require(again == mine, schedule, f"read back from its JSON, {mine} became {again}.")
    pool = Pool.from_table(_TABLE)
    for feedback in schedule.feedback:
        given = (pool, 2, 0.4, 0.4, 1, schedule, "context-ftpl", "reference")
        learner = called(schedule, "a learner", Learner, *given, feedback=feedback)
        check_state(schedule, learner, seed=1, rounds=2)


def _check_rounds(schedule: Schedule) -> None:
    margins = schedule.margins(0.3, 0.3, exact=False)
    for t in (1, 2, 10, 1000):
        mu, draws, most = schedule.mu(t), schedule.draws(margins, 4, t), schedule.resamples(4, t)
        require(0 < mu <= 1, schedule, f"mu must be in (0, 1]; got {mu} at audit {t}.")
        require(mu <= schedule.mu(max(1, t // 2)), schedule, "mu must never rise.")
        for name, value in (("draws", draws), ("resamples", most)):
            fits = isinstance(value, int) and value >= 1
            require(fits, schedule, f"{name} must be a count of at least 1; got {value!r}.")


def check_baseline(baseline: Baseline, hypotheses: HypothesisClass | None = None) -> None:
    """Check a baseline: a name, a line about it, and a learner that can be saved.

    >>> from likewise.game import untaught
    >>> check_baseline(untaught)
    """
    for name in ("name", "summary"):
        text = getattr(baseline, name, None)
        require(isinstance(text, str) and text, baseline, f"it must have a {name}, a text.")
    with trial(baseline):
        _check_baseline(baseline, Pool.from_table(_TABLE) if hypotheses is None else hypotheses)


def _check_baseline(baseline: Baseline, given: HypothesisClass) -> None:
    same = called(baseline, "its name", BASELINES.__getitem__, baseline.name) is baseline
    require(same, baseline, f"another baseline is registered as {baseline.name!r}.")
    learner = called(baseline, "a call", baseline, given, 3, 0.3, 0.2, 5, rounds=20)
    fits = isinstance(learner, Learner | Algorithm)
    require(fits, baseline, f"it must make a Learner or an Algorithm; got {learner!r}.")
    asked, made = (3, 0.3, 0.2, 5), (learner.k, learner.alpha, learner.eps, learner.seed)
    require(made == asked, baseline, f"k, alpha, eps and seed must be {asked}; got {made}.")
    require(
        learner.hypotheses.schema.digest == given.schema.digest, baseline,
        "its class must be over the features of the class that it was given.",
    )  # fmt: skip
    again = baseline(given, 3, 0.3, 0.2, 5, rounds=20)
    alike = again.settings() == learner.settings()
    require(alike, baseline, "called again, it makes another learner.")
    if isinstance(learner, Learner):
        called(baseline, "a call without rounds", baseline, given, 3, 0.3, 0.2, 5)
        check_state(baseline, learner, seed=2)
