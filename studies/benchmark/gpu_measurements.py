"""Measurements on a GPU: draws, exponential weights and whole games, each beside a reference."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
import triton

from likewise.hypotheses.base import score
from likewise.hypotheses.lists import Listed
from likewise.learner.events import Arrived, Person, Sealed
from likewise.learner.fold import apply, decide
from likewise.learner.gpu import DeviceList, device, interpreted
from likewise.learner.rounds import Deployment, learn
from likewise.learner.schedules import Paper
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel.reports import LargestGap, choose_report, exceeding_pairs
from studies.benchmark.draws import NOISE, choices
from studies.benchmark.gpu_games import (
    DeviceGame,
    DeviceWeights,
    Played,
    Visitors,
    arrive_kernel,
    recorded,
)
from studies.benchmark.items import Asked, Item, Kinds, Table, race, random_table, seconds_of


def wrong_by_sums(listed: DeviceList, costs: Any, choices: Any) -> int:
    """Choices that are not the first of least cost, by sums in float64, exact at this size."""
    noise = listed.space(len(choices))[0][: len(choices), : listed.points].double()
    table = listed.table[: listed.size, : listed.points].T.double()
    places = torch.arange(listed.size, device=device())
    wrong, block = 0, max(64, (1 << 28) // listed.size)
    for start in range(0, len(choices), block):
        scores = torch.addmm(costs.double(), noise[start : start + block], table)
        least = scores.amin(dim=1, keepdim=True)
        first = torch.where(scores == least, places, listed.size).amin(dim=1)
        wrong += int((first != choices[start : start + block]).sum())
    return wrong


def plain_torch(table: Listed, costs: IntArray, rows: int) -> Callable[[], object]:
    """Plain torch: float32 addmm and argmin in blocks that fit, the noise given."""
    transposed = torch.as_tensor(table.separating_points(), device=device()).float()
    c = torch.as_tensor(costs / ONE, device=device()).float()
    noise = torch.randn((rows, len(transposed)), device=device())
    block = min(rows, max(1024, (1 << 33) // (4 * table.size)))

    def plain() -> None:
        for start in range(0, rows, block):
            torch.addmm(c, noise[start : start + block], transposed).argmin(1)

    return plain


class WeightedRounds:
    """Rounds of exponential weights on the device, with people who were drawn beforehand."""

    def __init__(self, size: int, k: int, rounds: int, seed: int) -> None:
        rng = np.random.default_rng(3)
        self._points = rng.integers(0, 2, (64, size), dtype=np.uint8)
        self._costs = rng.integers(0, 4 * ONE, size)
        self._arrivals = rng.integers(0, len(self._points), (rounds, k)).astype(np.int32)
        self._amounts = rng.integers(-ONE // 32, ONE // 32, k)
        self.player = DeviceWeights(self._points, self._costs, k, seed=seed)
        self.player.temperature.fill_(float(ONE))
        self.player.amounts.copy_(torch.as_tensor(self._amounts))
        self._met = torch.as_tensor(self._arrivals, device=device())
        self._unused = torch.zeros(k, dtype=torch.int32, device=device())
        self._k, self._seed = k, seed

    @property
    def left(self) -> int:
        return len(self._arrivals) - int(self.player.round.item()) + 1

    def play(self) -> None:
        """One round: people arrive, scores, a draw, charges."""
        player = self.player
        arrive_kernel[(1,)](
            player.round, self._met, player.arrived, self._unused, self._k,
            PEOPLE=triton.next_power_of_2(self._k),
        )  # fmt: skip
        player.decide()
        player.charge()
        player.round.add_(1)

    def wrong(self, rounds: int) -> int:
        """Play the first rounds here and on the host: how many scores, draws or costs differ."""
        table, wrong = Table(np.zeros((self._points.shape[1], 1), dtype=np.uint8)), 0
        costs = self._costs
        for t, arrived in enumerate(self._arrivals[:rounds]):
            self.play()
            predictions = self._points[arrived]
            policy = table.weigh(costs, float(ONE))
            expected = [score(*pair) for pair in policy.approval(predictions)]
            draws = policy.draw(predictions, Stream(self._seed, Purpose.DECIDE, t + 1), 0)
            costs = table.charge(costs, predictions, self._amounts)
            wrong += int((self.player.scores.cpu().numpy() != expected).any())
            wrong += int((self.player.approved.cpu().numpy() != draws).any())
            wrong += int((self.player.costs.cpu().numpy() != costs).any())
        return wrong


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


def stream(listed: Kinds, rounds: int, k: int, seed: int = 2) -> Visitors:
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
    return Visitors(arrivals, labels.astype(np.uint8), np.rint(apart * ONE).astype(np.int32))


def play_on_host(learner: Learner, visitors: Visitors, rounds: int) -> Played:
    state = State.start(learner)
    ids = tuple(f"p{i + 1}" for i in range(learner.k))
    scores, approved, reported, lam = [], [], [], []
    for t in range(rounds):
        name = f"r{t + 1}"
        people = tuple(
            Person(id_, (float(kind),)) for id_, kind in zip(ids, visitors.arrivals[t], strict=True)
        )
        state = apply(state, Arrived(name, people))
        decided = decide(state, name)
        state = apply(apply(state, decided), Sealed(name, "panel"))
        scores.append(np.array([d.score for d in decided.decisions], dtype=np.int64))
        approved.append(np.array([d.approved for d in decided.decisions]))
        apart = visitors.distances[t].astype(np.int64)
        pairs = exceeding_pairs(scores[t], apart, learner.sensitivity)
        report = choose_report(pairs, scores[t], ids, LargestGap(), t + 1)
        over, under = report.pairs[0] if report.pairs else ("", "")
        reported.append(ids.index(over) * learner.k + ids.index(under) if report.pairs else -1)
        deployment = Deployment(name, ids, scores[t], approved[t])
        state = learn(state, deployment, labels=visitors.labels[t].astype(np.int64), report=report)
        lam.append(state.lam)
    return Played(np.array(scores), np.array(approved), np.array(reported), np.array(lam))


SEED = 20261115
SAMPLE, CHECKED_ROUNDS = 200, 100


def _finished(function: Callable[[], object]) -> Callable[[], None]:
    """The same, and wait until the device has done it."""

    def run() -> None:
        function()
        if not interpreted():
            torch.cuda.synchronize()

    return run


Details = dict[str, float | int | str]


@cache
def _products_a_second() -> float:
    """Operations a second in products of 8-bit integers on the matrix units."""
    square = torch.randint(-127, 127, (8192, 8192), dtype=torch.int8, device=device())
    return 2.0 * 8192**3 / seconds_of(_finished(lambda: torch._int_mm(square, square.t())), 10)


@cache
def _copied_a_second() -> float:
    """Bytes a second that the device reads and writes when it copies."""
    numbers = torch.ones(1 << 30, dtype=torch.uint8, device=device())
    copy = torch.empty_like(numbers)
    return float(2 << 30) / seconds_of(_finished(lambda: copy.copy_(numbers)), 10)


def _draw_limit(rows: int, points: int, size: int) -> Details:
    """The products alone: two digits a point, a product and a sum."""
    if interpreted():
        return {}
    seconds = 4.0 * rows * size * max(16, 1 << (points - 1).bit_length()) / _products_a_second()
    return {"limit": "products of 8-bit integers", "limit_seconds": seconds}


def _weights_limit(size: int, k: int) -> Details:
    if interpreted():
        return {}
    seconds = size * (24.0 + 2.0 * k) / _copied_a_second()
    text = "costs and predictions read twice, costs written once"
    return {"limit": text, "limit_seconds": seconds}


def draws(
    name: str, rows: int, points: int, size: int, *, times: float, most: float | None = None
) -> Item:
    """Draws from a list, noise included, against plain torch without its noise."""
    table = random_table(size, points)
    host_costs = np.random.default_rng(2).integers(0, 4 * ONE, size)
    costs = torch.as_tensor(host_costs, device=device())
    scale = torch.tensor([NOISE.scale * ONE], dtype=torch.float64, device=device())
    number = torch.tensor([NOISE.stream.round], dtype=torch.int64, device=device())
    listed = DeviceList(table.separating_points().T)

    def draw() -> Any:
        return listed.draw(
            costs, scale, number, seed=NOISE.stream.seed, copies=1, purpose=int(Purpose.ELICIT),
            first_draw=0, draws=rows,
        )  # fmt: skip

    result = draw().clone()
    wrong, sample = wrong_by_sums(listed, costs, result), min(SAMPLE, rows)
    expected = choices(table, host_costs, sample, "reference")
    wrong_sample = int(np.count_nonzero(result[:sample].cpu().numpy() != expected))
    plain = plain_torch(table, host_costs, rows)
    repeats = 1 if interpreted() else 10
    seconds, reference = race(_finished(recorded(draw)), _finished(recorded(plain)), repeats)
    return Item(
        name, "draws from a list on the device, noise and rechecks included",
        f"R = {rows:,}, s = {points}, |H| = {size:,}", seconds,
        "torch float32: addmm and argmin, its noise given", reference, Asked("times faster", times),
        {"choices_checked": rows, "choices_wrong": wrong, "reference_choices_checked": sample,
         "reference_choices_wrong": wrong_sample, **_draw_limit(rows, points, size)},
        holds=wrong + wrong_sample == 0 and (most is None or seconds <= most),
    )  # fmt: skip


def weights(name: str, size: int, k: int, rounds: int) -> Item:
    """Exponential weights, all on the device: the first rounds again on the host, then the time."""
    game = WeightedRounds(size, k, rounds, SEED)
    checked = min(8, rounds // 2)
    wrong = game.wrong(checked)
    replay, left = recorded(game.play), game.left
    began = time.perf_counter()
    _finished(lambda: [replay() for _ in range(left)])()
    seconds = (time.perf_counter() - began) / left
    return Item(
        name, "a round of exponential weights on the device: scores, draw, charges",
        f"|H| = {size:,}, k = {k}", seconds, asked=Asked("a second", 5000.0),
        details={
            "rounds_a_second": 1 / seconds, "rounds_checked": checked, "rounds_wrong": wrong,
            **_weights_limit(size, k),
        },
        holds=wrong == 0,
    )  # fmt: skip


def game(
    name: str, shape: tuple[int, int, int], k: int, rounds: int, *, eps: float, delta: float,
    rule: Literal["paper", "tight"] = "paper",
) -> Item:  # fmt: skip
    """A whole game at the paper's R on the device; its first rounds again on the host."""
    listed = kinds(*shape)
    people = stream(listed, rounds, k)
    # The paper's constants and its R, with noise under which there is something to learn.
    schedule = Paper(rounds, draws_rule=rule, delta=delta, noise_divisor=2_000_000.0)
    learner = Learner(listed, k, eps, eps, SEED, schedule=schedule, player="context-ftpl")
    played = DeviceGame(learner, people)
    _finished(lambda: played.play(1))()
    began = time.perf_counter()
    _finished(lambda: played.play(rounds - 1))()
    seconds = time.perf_counter() - began
    limit = _draw_limit(rounds * (learner.draws(1) + 1), shape[1], shape[0])
    checked = min(CHECKED_ROUNDS, rounds)
    wrong = _wrong_rounds(learner, people, played.played(), checked)
    return Item(
        name, "a game on the device: noise, draws, audit and update",
        f"|H| = {shape[0]:,}, s = {shape[1]}, k = {k}, T = {rounds:,}", seconds,
        asked=Asked("seconds", 60.0),
        details={"draws_a_round": learner.draws(1), "rounds_checked": checked,
                 "rounds_wrong": wrong, **limit},
        holds=wrong == 0,
    )  # fmt: skip


def _wrong_rounds(learner: Learner, people: Visitors, result: Played, checked: int) -> int:
    """Rounds that the host plays otherwise."""
    expected = play_on_host(learner, people, checked)
    same = np.logical_and.reduce([
        (expected.scores == result.scores[:checked]).all(axis=1),
        (expected.approved == result.approved[:checked]).all(axis=1),
        expected.reported == result.reported[:checked],
        expected.lam == result.lam[:checked],
    ])  # fmt: skip
    return int(np.count_nonzero(~same))
