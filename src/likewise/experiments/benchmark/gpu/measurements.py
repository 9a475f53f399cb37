"""Rows on a GPU: draws beside plain torch, exponential weights, and a whole game, all checked.

Launches are recorded once and replayed, ours and torch's alike, so that the time of the host for
them does not count. What is timed ends when the device has finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from likewise.experiments.benchmark.classes import random_table
from likewise.experiments.benchmark.gpu.checks import (
    WeightedRounds,
    plain_torch,
    recorded,
    wrong_by_reference,
    wrong_by_sums,
)
from likewise.experiments.benchmark.gpu.streams import Stream, kinds, play_on_host, stream
from likewise.experiments.benchmark.items import Asked, Item, race, seconds_of
from likewise.fixed_point import ONE
from likewise.game.on_device import device_game
from likewise.learning import Learner
from likewise.learning.schedules import Paper
from likewise.oracles.engines.gpu.games import Played, Visitors
from likewise.oracles.engines.gpu.libraries import device, interpreted, torch
from likewise.oracles.engines.gpu.lists import DeviceList
from likewise.randomness import Noise, Purpose
from likewise.randomness import Stream as Words

NOISE = Noise(Words(7, Purpose.ELICIT, 1), 1.0)
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
    wrong_sample = wrong_by_reference(table, host_costs, NOISE, result[:sample])
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
    played = device_game(
        learner, Visitors(listed.table, people.arrivals, people.labels, people.distances)
    )
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


def _wrong_rounds(learner: Learner, people: Stream, result: Played, checked: int) -> int:
    """Rounds that the host plays otherwise."""
    _, expected = play_on_host(learner, people, checked)
    return sum(
        not (
            np.array_equal(round_.scores, result.scores[t])
            and np.array_equal(round_.approved, result.approved[t])
            and round_.reported == result.reported[t]
            and round_.lam == result.lam[t]
        )
        for t, round_ in enumerate(expected)
    )
