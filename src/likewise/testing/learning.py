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
from likewise.testing.contract import (
    contract,
    generator,
    people_of,
    require,
    require_text,
    same_as_json,
)

_TABLE = [[0, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]]


def check_state(part: object, learner: Learner, seed: int, rounds: int = 4) -> None:
    """Play rounds; a state that is saved and loaded in between must go on the same way."""
    state = State.start(learner)
    rng = generator(seed)
    for t in range(rounds):
        people = people_of(learner.hypotheses.schema, learner.k, seed + t)
        state, deployment = deploy(state, people)
        loaded = parse_state(dump_state(state))
        require(loaded == state, part, "a state that was saved and loaded is not the same.")
        same = dict(loaded.learner.spec()) == learner.spec()
        require(same, part, "a learner read from a file has other settings.")
        report = () if drawn_for_audit(state, deployment.round) else None
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

    >>> from likewise.learning import SelfTuned
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
    copy = same_as_json(schedule, schedule_to_spec, schedule_from_spec)
    before, after = _constants(schedule), _constants(copy)
    require(before == after, schedule, f"read back from its JSON, {before} became {after}.")
    pool = Pool.from_table(_TABLE)
    for feedback in schedule.feedback:
        learner = Learner(
            pool, 2, 0.4, 0.4, 1, schedule, "context-ftpl", "reference", feedback=feedback
        )
        check_state(schedule, learner, seed=1, rounds=2)


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

    >>> from likewise.game import untaught
    >>> check_baseline(untaught)
    """
    require_text(baseline, "name", "summary")
    registered = BASELINES[baseline.name] is baseline
    require(registered, baseline, f"another baseline is registered as {baseline.name!r}.")
    if hypotheses is None:
        hypotheses = Pool.from_table(_TABLE)
    expected = (3, 0.3, 0.2, 5)
    learner = baseline(hypotheses, *expected, rounds=20)
    fits = isinstance(learner, Learner | Algorithm)
    require(fits, baseline, f"it must make a Learner or an Algorithm; got {learner!r}.")
    settings = (learner.k, learner.alpha, learner.eps, learner.seed)
    same = settings == expected
    require(same, baseline, f"k, alpha, eps and seed must be {expected}; got {settings}.")
    require(
        learner.hypotheses.schema.digest == hypotheses.schema.digest, baseline,
        "its class must be over the features of the class that it was given.",
    )  # fmt: skip
    same = baseline(hypotheses, *expected, rounds=20).settings() == learner.settings()
    require(same, baseline, "called again, it makes another learner.")
    if isinstance(learner, Learner):
        baseline(hypotheses, *expected)  # rounds have a default
        check_state(baseline, learner, seed=2)
