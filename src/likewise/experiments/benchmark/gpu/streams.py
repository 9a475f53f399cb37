"""Streams for games on a GPU: kinds of people, labels, distances; the same game on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing import LargestGap
from likewise.auditing.pivots import exceeding_pairs
from likewise.auditing.reporting import choose_report
from likewise.events import Arrived, Decided, Person, Sealed
from likewise.experiments.benchmark.classes import Kinds, random_table
from likewise.fixed_point import ONE, IntArray
from likewise.learning import Deployment, Learner, State, apply, learn
from likewise.learning.decisions import decide

__all__ = ["Round", "Stream", "kinds", "play_on_host", "stream"]


@dataclass(frozen=True)
class Stream:
    """Kinds that come, (T, k), their labels, and the pivots' distances, (T, k, k), in units."""

    arrivals: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint8]
    distances: npt.NDArray[np.int32]


def kinds(size: int, points: int, more: int, seed: int = 1) -> Kinds:
    """A random list with both constants, on its separating set and on some more kinds of people.

    >>> kinds(64, 8, 5)
    Kinds(64 hypotheses, 8 separators)
    """
    rng = np.random.default_rng(seed)
    on_set = np.array(random_table(size, points, seed).separating_points().T)
    constants = (on_set.all(axis=1), ~on_set.any(axis=1))
    table = np.concatenate([on_set, rng.integers(0, 2, (size, more), dtype=np.uint8)], axis=1)
    for place, (constant, bit) in enumerate(zip(constants, (1, 0), strict=True)):
        table[np.flatnonzero(constant)[0] if constant.any() else place] = bit
    return Kinds(table, points)


def stream(listed: Kinds, rounds: int, k: int, seed: int = 2) -> Stream:
    """People at random; labels of a hypothesis, a fifth of them wrong; two traits a person.

    The distance of two people is that of their traits, so that some pairs are near.
    """
    rng = np.random.default_rng(seed)
    kind_count = len(listed.table)
    arrivals = rng.integers(0, kind_count, (rounds, k), dtype=np.int32)
    wrong = rng.random((rounds, k)) < 0.2
    labels = listed.table[arrivals, listed.size // 2] ^ wrong
    traits: Any = rng.random((kind_count, 2)) / 4
    arrived = traits[arrivals]
    apart = np.abs(arrived[:, :, None] - arrived[:, None, :]).sum(axis=3)
    return Stream(arrivals, labels.astype(np.uint8), np.rint(apart * ONE).astype(np.int32))


@dataclass(frozen=True)
class Round:
    """A round as the host played it; ``reported`` is over·k + under, or −1. lam is the next one."""

    scores: IntArray
    approved: npt.NDArray[np.bool_]
    reported: int
    lam: float


def play_on_host(
    learner: Learner,
    visitors: Stream,
    rounds: int,
    decisions: Callable[[State, str], Decided] = decide,
) -> tuple[State, list[Round]]:
    """The same game through the learner's events; ``decisions`` may be known already."""
    state, played = State.start(learner), []
    ids = tuple(f"p{i + 1}" for i in range(learner.k))
    for t in range(rounds):
        name = f"r{t + 1}"
        people = tuple(
            Person(id_, (float(kind),)) for id_, kind in zip(ids, visitors.arrivals[t], strict=True)
        )
        state = apply(state, Arrived(name, people))
        decided = decisions(state, name)
        state = apply(apply(state, decided), Sealed(name, "panel"))
        scores = np.array([d.score for d in decided.decisions], dtype=np.int64)
        approved = np.array([d.approved for d in decided.decisions])
        apart = visitors.distances[t].astype(np.int64)
        pairs = exceeding_pairs(scores, apart, learner.sensitivity)
        report = choose_report(pairs, scores, ids, LargestGap(), t + 1)
        over, under = report.pairs[0] if report.pairs else ("", "")
        reported = ids.index(over) * learner.k + ids.index(under) if report.pairs else -1
        deployment = Deployment(name, ids, scores, approved)
        state = learn(state, deployment, labels=visitors.labels[t].astype(np.int64), report=report)
        played.append(Round(scores, approved, reported, state.lam))
    return state, played
