"""Rounds: deploy and learn beside a plain loop of the same sums, and what time does to a state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from likewise.experiments.benchmark.classes import Met, customers, pool_of_cuts
from likewise.experiments.benchmark.items import Asked, Item, race
from likewise.experiments.benchmark.plain import PlainList, PlainRound, PlainSegments
from likewise.hypotheses import Segments
from likewise.learning import Learner, State, deploy, learn
from likewise.learning.decisions import upcoming
from likewise.learning.states.files import dump_state
from likewise.oracles import Oracle
from likewise.randomness import Noise, Purpose, Stream
from likewise.worlds import Encounter, Loans

__all__ = ["rounds", "state_growth"]

ROUNDS = 60


def _reported(scores: Any, least: float) -> tuple[int, int] | None:
    """The pair of the largest gap, if that exceeds the least: what a strict panel says."""
    over, under = int(np.argmax(scores)), int(np.argmin(scores))
    return (over, under) if scores[over] - scores[under] > least else None


def _play(state: State, encounters: Sequence[Encounter | Met], digits: int | None = None) -> State:
    """Deploy and learn; with ``digits``, the names of all rounds are of that length."""
    for encounter in encounters:
        name = None if digits is None else f"r{state.opened + 1:0{digits}d}"
        state, deployment = deploy(state, encounter.people, round_id=name)
        pair = _reported(deployment.scores, state.learner.sensitivity)
        ids = deployment.ids
        report = () if pair is None else ((ids[pair[0]], ids[pair[1]]),)
        state = learn(state, deployment, labels=encounter.labels.tolist(), report=report)
    return state


def _play_plainly(start: Callable[[], PlainRound], encounters: Sequence[Encounter | Met]) -> None:
    plain = start()
    for encounter in encounters:
        scores, _ = plain.deploy(encounter.people.x)
        plain.learn(encounter.labels, _reported(scores, 0.15))


Contest = tuple[str, str, Learner, Sequence[Encounter | Met], Callable[[], PlainRound]]


def _contests(quick: bool) -> Iterator[Contest]:
    """Name, shape, learner, who comes, and the plain loop of the same sums."""
    count = 30 if quick else ROUNDS
    world = Loans(seed=3)
    encounters = [world.encounter(t) for t in range(1, count + 1)]
    schema = world.schema
    lender = cast(Segments, world.hypotheses("segments"))
    first, second = (schema.place(name) for name in lender.by)
    levels_of = cast(tuple[int, int], tuple(len(levels) for levels in lender.groups.levels))
    cuts, columns_of = np.array(lender.cuts), (schema.place("score"), first, second)
    yield (
        "loans-round", f"loans, {lender.segments} segments × {lender.bins} bins",
        Learner(lender, world.k, 0.3, 0.3, 1), encounters,
        lambda: PlainSegments(world.k, cuts, columns_of, levels_of),
    )  # fmt: skip
    pool = pool_of_cuts(60 if quick else 1000)
    columns = np.array([pool.schema.place(cut.column) for cut in pool.cuts])
    levels = np.array([cut.at for cut in pool.cuts])
    yield (
        "pool-round", f"a pool of {pool.size:,} cuts", Learner(pool, world.k, 0.3, 0.3, 1),
        customers(pool, count, world.k),
        lambda: PlainList(world.k, columns, levels, pool.log_inverse),
    )  # fmt: skip


def rounds(quick: bool) -> list[Item]:
    """A whole round of the library against the sums in it."""
    items = []
    for name, shape, learner, encounters, plain in _contests(quick):
        count = len(encounters)
        seconds, reference = race(
            partial(_play, State.start(learner), encounters),
            partial(_play_plainly, plain, encounters), 5 if quick else 40, time.thread_time,
        )  # fmt: skip
        items.append(
            Item(
                name, "deploy and learn, a round", f"{shape}, k = {learner.k}, exact",
                seconds / count, "numpy: a loop of the same sums", reference / count,
                Asked("times its time", 4.0),
                {"rounds_timed": count, "clock": "processor time of one thread"},
            )
        )  # fmt: skip
    return items


def state_growth(quick: bool) -> Item:
    """A state after many rounds against one after few: the time of its draws, and its size."""
    early_t, late_t = (100, 1000) if quick else (2000, 100_000)
    world = Loans(seed=4)
    encounters = [world.encounter(t) for t in range(1, early_t + 1)]
    lender = world.hypotheses()
    state = State.start(Learner(lender, world.k, 0.3, 0.3, 1))
    points = lender.locate(encounters[0].people)
    after: dict[int, tuple[State, int]] = {}
    played = 0
    for t in (early_t, late_t):
        while played < t:
            part = encounters[: t - played]
            # A state has the names of the last rounds: r100000 is longer than r2000, however old
            # the learner is.
            state = _play(state, part, len(str(late_t)))
            played += len(part)
        after[t] = state, len(dump_state(state))

    def draws(t: int) -> object:
        frozen = upcoming(after[t][0])
        noise = Noise(Stream(1, Purpose.ELICIT, frozen.number), frozen.scale, frozen.copies)
        return Oracle(lender).approvals(frozen.costs, noise, points, draws=2000)

    # A quarter of a millisecond each: of a few the least would be luck.
    late, early = race(lambda: draws(late_t), lambda: draws(early_t), 15 if quick else 600)
    bytes_ratio = after[late_t][1] / after[early_t][1]
    return Item(
        "state-growth", f"2,000 draws from the state after {late_t:,} rounds",
        f"loans, t = {late_t:,} against t = {early_t:,}, rounds with names of one length", late,
        f"the same from the state after {early_t:,} rounds", early, Asked("times its time", 1.05),
        {"state_bytes": after[late_t][1], "state_bytes_reference": after[early_t][1],
         "state_bytes_ratio": bytes_ratio},
        holds=bytes_ratio <= 1.05,
    )  # fmt: skip
