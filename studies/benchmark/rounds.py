"""Rounds: deploy and learn beside a plain loop of the same sums, and what time does to a state."""

import math
import os
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from likewise.hypotheses import Segments
from likewise.learner import Learner, State, deploy, dump_state, learn
from likewise.learner.fold import upcoming
from likewise.learner.oracle import Oracle, load_engine
from likewise.numerics.fixed_point import LN2, ONE, FloatArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.simulate import Encounter, Loans
from likewise.simulate.game import Game
from studies.benchmark import items
from studies.benchmark.items import Asked, Item, Met


class PlainRound(ABC):
    """Exponential weights at the temperature x·sqrt(S), a multiplier, and k people a round."""

    eta, x, beta = 0.25, 1.0, 0.15

    def __init__(self, k: int) -> None:
        self.k = k
        self.rng = np.random.default_rng(1)
        self.lam, self.squares, self.t = 0.0, 0.0, 0

    @property
    def temperature(self) -> float:
        bound = self.eta + 2 * self.lam
        return self.x * math.sqrt(self.squares + bound * bound)

    @abstractmethod
    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Scores of the people, and decisions by one draw of h."""

    @abstractmethod
    def charge(self, places: Any, amounts: FloatArray) -> None:
        """Costs on some of the round's people."""

    def learn(self, labels: npt.NDArray[np.int64], pair: tuple[int, int] | None) -> None:
        """Costs of the labels and of a reported pair, and the dual step."""
        self.t += 1
        amounts = self.eta * (1 - 2 * labels) / self.k
        self.charge(slice(None), amounts)
        size = float(np.abs(amounts).sum())
        if pair is not None:
            self.charge(np.array(pair), np.array([self.lam, -self.lam]))
            size += 2 * self.lam
        self.squares += size * size
        mu = 1 / math.sqrt(self.t)
        gradient = (self.beta if pair is not None else 0.0) - mu * self.lam
        self.lam = max(0.0, self.lam + mu * gradient)


class PlainSegments(PlainRound):
    """A threshold for each combination of two features' levels, weighed from coarse to fine.

    The tree of :mod:`likewise.hypotheses.grids`: a node stops with one threshold, or splits.
    ``columns`` are the columns of the score and of the two features, ``levels`` how many each has.
    """

    def __init__(
        self, k: int, cuts: FloatArray, columns: tuple[int, int, int], levels: tuple[int, int]
    ) -> None:
        super().__init__(k)
        self.cuts, self.columns = cuts, columns
        self.costs: FloatArray = np.zeros((*levels, len(cuts) + 1))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Weights of all thresholds of all nodes, of the nodes, and of the constants."""
        score, first, second = (x[:, column] for column in self.columns)
        a, b = first.astype(np.int64), second.astype(np.int64)
        bins = np.searchsorted(self.cuts, score, side="right")
        self.cells = (a, b, bins)
        cube = np.concatenate([self.costs, self.costs.sum(0, keepdims=True)], 0)
        cube = np.concatenate([cube, cube.sum(1, keepdims=True)], 1)
        tails = np.zeros((*cube.shape[:2], cube.shape[2] + 1))
        tails[..., :-1] = np.cumsum(cube[..., ::-1], axis=2)[..., ::-1]
        low = tails.min(axis=2)
        summed = np.cumsum(np.exp((low[..., None] - tails) / self.temperature), axis=2)
        stop = np.log(summed[..., -1] / tails.shape[2]) - low / self.temperature
        z = stop.copy()
        splits = stop[:-1, :-1].sum(axis=1), stop[:-1, :-1].sum(axis=0)
        z[:-1, -1] = np.logaddexp(stop[:-1, -1], splits[0]) - LN2
        z[-1, :-1] = np.logaddexp(stop[-1, :-1], splits[1]) - LN2
        terms = np.array([stop[-1, -1] - LN2, z[:-1, -1].sum(), z[-1, :-1].sum()])
        terms[1:] -= 2 * LN2
        z[-1, -1] = np.logaddexp.reduce(terms)
        stops, root = np.exp(stop - LN2 - z), np.exp(terms - z[-1, -1])
        top = np.array([-self.costs.sum() / self.temperature - LN2, -LN2, z[-1, -1]])
        top = np.exp(top - top.max())
        chance = summed[..., :-1] / summed[..., -1:]
        by_first, by_second = stops[a, -1], stops[-1, b]
        leaf = root[1] * (1 - by_first) + root[2] * (1 - by_second)
        tree = (
            root[0] * chance[-1, -1, bins] + root[1] * by_first * chance[a, -1, bins]
            + root[2] * by_second * chance[-1, b, bins] + leaf * chance[a, b, bins]
        )  # fmt: skip
        scores = (top[0] + top[2] * tree) / top.sum()
        return scores, self._decide(top, root, stops, chance)

    def _decide(
        self, top: FloatArray, root: FloatArray, stops: FloatArray, chance: FloatArray
    ) -> npt.NDArray[np.bool_]:
        """One draw: a constant, or what every node says; those that split leave it to others."""
        a, b, bins = self.cells
        branch = int(np.searchsorted(np.cumsum(top), self.rng.random() * top.sum()))
        if branch < 2:
            return np.full(len(a), branch == 0)
        split = int(np.searchsorted(np.cumsum(root), self.rng.random() * root.sum()))
        stays = self.rng.random(stops.shape) < stops
        above = self.rng.random(stops.shape)
        if split == 0:
            place = (np.full_like(a, -1), np.full_like(b, -1))
        elif split == 1:
            place = (a, np.where(stays[a, -1], -1, b))
        else:
            place = (np.where(stays[-1, b], -1, a), b)
        return np.asarray(above[place] < chance[(*place, bins)])

    def charge(self, places: Any, amounts: FloatArray) -> None:
        a, b, bins = self.cells
        np.add.at(self.costs, (a[places], b[places], bins[places]), amounts)


class PlainList(PlainRound):
    """A list of cuts on columns: one weight for each, and ln(1/prior) unless that is flat."""

    def __init__(
        self,
        k: int,
        columns: npt.NDArray[np.int64],
        levels: FloatArray,
        inverse: FloatArray | None = None,
    ) -> None:
        super().__init__(k)
        self.columns, self.levels, self.inverse = columns, levels, inverse
        self.costs: FloatArray = np.zeros(len(columns))

    def deploy(self, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        return self.decide((x[:, self.columns] >= self.levels).astype(np.float64))

    def decide(self, predictions: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The same where the predictions are given, shape (k, N)."""
        self.predictions = predictions
        far = (self.costs - self.costs.min()) / self.temperature
        if self.inverse is not None:
            far += self.inverse
            far -= far.min()
        weights = np.exp(-far)
        summed = np.cumsum(weights)
        member = int(np.searchsorted(summed, self.rng.random() * summed[-1]))
        return predictions @ weights / summed[-1], predictions[:, member] != 0

    def charge(self, places: Any, amounts: FloatArray) -> None:
        self.costs += amounts @ self.predictions[places]


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
        pair = _reported(deployment.units, state.learner.sensitivity)
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
    pool = items.pool_of_cuts(60 if quick else 1000)
    columns = np.array([pool.schema.place(cut.column) for cut in pool.cuts])
    levels = np.array([cut.at for cut in pool.cuts])
    yield (
        "pool-round", f"a pool of {pool.size:,} cuts", Learner(pool, world.k, 0.3, 0.3, 1),
        items.customers(pool, count, world.k),
        lambda: PlainList(world.k, columns, levels, pool.log_inverse),
    )  # fmt: skip


def rounds(quick: bool) -> list[Item]:
    """A whole round of the library against the sums in it."""
    figures = []
    for name, shape, learner, encounters, plain in _contests(quick):
        count = len(encounters)
        seconds, reference = items.race(
            partial(_play, State.start(learner), encounters),
            partial(_play_plainly, plain, encounters), 5 if quick else 40, time.thread_time,
        )  # fmt: skip
        figures.append(
            Item(
                name, "deploy and learn, a round", f"{shape}, k = {learner.k}, exact",
                seconds / count, "numpy: a loop of the same sums", reference / count,
                Asked("times its time", 4.0),
                {"rounds_timed": count, "clock": "processor time of one thread"},
            )
        )  # fmt: skip
    return figures


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
    late, early = items.race(lambda: draws(late_t), lambda: draws(early_t), 15 if quick else 600)
    bytes_ratio = after[late_t][1] / after[early_t][1]
    return Item(
        "state-growth", f"2,000 draws from the state after {late_t:,} rounds",
        f"loans, t = {late_t:,} against t = {early_t:,}, rounds with names of one length", late,
        f"the same from the state after {early_t:,} rounds", early, Asked("times its time", 1.05),
        {"state_bytes": after[late_t][1], "state_bytes_reference": after[early_t][1],
         "state_bytes_ratio": bytes_ratio},
        holds=bytes_ratio <= 1.05,
    )  # fmt: skip


def copy_rate(size: int) -> float:
    """Bytes a second that numpy reads and writes when it copies as many costs."""
    numbers = np.zeros(size, dtype=np.int64)
    copy = np.empty_like(numbers)
    return 2.0 * numbers.nbytes / items.seconds_of(lambda: np.copyto(copy, numbers), 20)


def exact_round(quick: bool) -> Item:
    """Exponential weights over a long list, the predictions given: scores, a draw, charges."""
    size, k = (1 << 12, 8) if quick else (1 << 20, 8)
    table = items.random_table(size, 20 if quick else 24).with_prior("flat")
    rng, engine, stream = (
        np.random.default_rng(6),
        load_engine("compiled"),
        Stream(1, Purpose.DECIDE, 1),
    )
    predictions = rng.integers(0, 2, (k, size), dtype=np.uint8)
    amounts, costs = rng.integers(-ONE // 32, ONE // 32, k), rng.integers(0, 4 * ONE, size)
    costs.flags.writeable = False

    def ours() -> None:
        policy = engine.weigh(table, costs, float(ONE))
        policy.approval(predictions)
        policy.draw(predictions, stream, 0)
        engine.charge(table, costs, predictions, amounts)

    plain = PlainList(k, np.zeros(size, dtype=np.int64), np.zeros(size))
    plain.costs, floats = costs / ONE, predictions.astype(np.float64)

    def theirs() -> None:
        plain.decide(floats)
        plain.charge(slice(None), amounts / ONE)

    # Each after its like, as a game has them: in turns they would empty each other's caches.
    seconds = items.seconds_of(ours, 3 if quick else 200)
    reference = items.seconds_of(theirs, 3 if quick else 40)
    # The time of all threads together on their processors, without that of other programs.
    processor = items.seconds_of(ours, 5, time.process_time)
    # Costs (8 bytes) and predictions (1) are read twice, costs written once.
    limit = size * (24.0 + 2.0 * k) / copy_rate(size)
    return Item(
        "exact-round", "a round of exponential weights, predictions given: scores, draw, charges",
        f"|H| = {size:,}, k = {k}", seconds,
        "numpy float64: exp, sums and charges, predictions given as floats", reference,
        Asked("a second", 200.0),
        {"processor_seconds": processor,
         "limit": "costs and predictions read twice, costs written once, at the speed of a copy",
         "limit_seconds": limit},
    )  # fmt: skip


def games(quick: bool) -> list[Item]:
    """Context-FTPL at R(r) with its evaluation draws, and the exact player, on ``loans``."""
    rounds = 50 if quick else 10_000
    limits = {"self-tuned": Asked("seconds", 30.0), "exact": Asked("seconds", 8.0)}
    figures = []
    for learner, limit in limits.items():
        Game("loans", learner, 2).prepare().play()
        game = Game("loans", learner, rounds).prepare()
        began = time.perf_counter()
        played = game.play()
        seconds = time.perf_counter() - began
        figures.append(
            Item(
                f"simulate-{learner}", "a game of likewise simulate, without the comparator",
                f"loans, T = {rounds:,}", seconds, asked=limit,
                details={"draws_of_the_learner": int(played.calls[-1]),
                         "seconds_a_round": seconds / rounds},
            )
        )  # fmt: skip
    return figures


_FIRST_DRAWS = """
from studies.benchmark.items import grid, random_table, segments
from likewise.learner.oracle import Oracle, compile_at_once
from likewise.numerics.randomness import Noise, Purpose, Stream
import numpy as np

compile_at_once()
noise = Noise(Stream(1, Purpose.ELICIT, 1), 1.0)
for h in (random_table(64, 8), segments(2, 4), grid(4, 4)):
    points = np.zeros((1, h.size), dtype=np.uint8) if h.size == 64 else np.zeros(1, dtype=np.int64)
    Oracle(h).approvals(h.no_costs(), noise, points, draws=100)
"""


def _seconds_to_draw(folder: str) -> float:
    began = time.perf_counter()
    env = {**os.environ, "NUMBA_CACHE_DIR": folder}
    subprocess.run([sys.executable, "-c", _FIRST_DRAWS], env=env, check=True)
    return time.perf_counter() - began


def start_up(quick: bool) -> Item:
    """A process that draws from a pool, segments and staircases, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        compiling = _seconds_to_draw(folder)
        again = min(_seconds_to_draw(folder) for _ in range(1 if quick else 3))
    return Item(
        "start", "a process that draws from a pool, segments and staircases, and ends",
        "100 draws of each", again, "its first start, which compiles", compiling,
    )  # fmt: skip
