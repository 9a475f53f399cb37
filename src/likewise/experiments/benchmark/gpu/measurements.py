"""Rows on a GPU: draws beside plain torch, exponential weights, and a whole game, all checked.

Launches are recorded once and replayed, ours and torch's alike, so that the time of the host for
them does not count. What is timed ends when the device has finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from likewise.experiments.benchmark.classes import Table, random_table
from likewise.experiments.benchmark.gpu.streams import Stream, kinds, play_on_host, stream
from likewise.experiments.benchmark.items import Asked, Item, race
from likewise.fixed_point import ONE, IntArray
from likewise.game.on_device import device_game
from likewise.hypotheses import Listed
from likewise.hypotheses.weights import score
from likewise.learning import Learner
from likewise.learning.schedules import Paper
from likewise.oracles import Oracle
from likewise.oracles.engines.gpu.game_kernels import arrive_kernel
from likewise.oracles.engines.gpu.games import Played, Visitors
from likewise.oracles.engines.gpu.libraries import device, interpreted, torch, triton
from likewise.oracles.engines.gpu.lists import DeviceList
from likewise.oracles.engines.gpu.weights import DeviceWeights
from likewise.randomness import Noise, Purpose
from likewise.randomness import Stream as Words

__all__ = ["draws", "game", "weights"]

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


def _recorded(function: Callable[[], object]) -> Callable[[], object]:
    """The same launches as a graph; where kernels are interpreted there is none to record."""
    if interpreted():
        return function
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        function()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    replay: Callable[[], object] = graph.replay
    return replay


def _wrong_by_sums(listed: DeviceList, costs: Any, found: Any) -> int:
    """Choices that are not the first of least cost, by sums in float64, exact at this size."""
    noise = listed.space(len(found))[0][: len(found), : listed.points].double()
    table = listed.table[: listed.size, : listed.points].T.double()
    places = torch.arange(listed.size, device=device())
    wrong, block = 0, max(64, (1 << 28) // listed.size)
    for start in range(0, len(found), block):
        scores = torch.addmm(costs.double(), noise[start : start + block], table)
        least = scores.amin(dim=1, keepdim=True)
        first = torch.where(scores == least, places, listed.size).amin(dim=1)
        wrong += int((first != found[start : start + block]).sum())
    return wrong


def _wrong_by_reference(table: Listed, costs: IntArray, found: Any) -> int:
    """Choices that are not the reference engine's, read off its predictions."""
    bits = max(1, (table.size - 1).bit_length())
    places = (np.arange(table.size) >> np.arange(bits)[:, None] & 1).astype(np.uint8)
    drawn = Oracle(table, "reference").approvals(costs, NOISE, places, draws=len(found))
    expected = (drawn.astype(np.int64) << np.arange(bits)).sum(axis=1)
    return int(np.count_nonzero(found.cpu().numpy() != expected))


def _torch_draws(table: Listed, costs: IntArray, rows: int) -> Callable[[], object]:
    """Plain torch: float32 addmm and argmin in blocks that fit, the noise given."""
    transposed = torch.as_tensor(table.separating_points(), device=device()).float()
    c = torch.as_tensor(costs / ONE, device=device()).float()
    noise = torch.randn((rows, len(transposed)), device=device())
    block = min(rows, max(1024, (1 << 33) // (4 * table.size)))

    def plain() -> None:
        for start in range(0, rows, block):
            torch.addmm(c, noise[start : start + block], transposed).argmin(1)

    return plain


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

    found = draw().clone()
    wrong, sample = _wrong_by_sums(listed, costs, found), min(SAMPLE, rows)
    wrong_sample = _wrong_by_reference(table, host_costs, found[:sample])
    plain = _torch_draws(table, host_costs, rows)
    repeats = 1 if interpreted() else 10
    ours, theirs = race(_finished(_recorded(draw)), _finished(_recorded(plain)), repeats)
    return Item(
        name, "draws from a list on the device, noise and rechecks included",
        f"R = {rows:,}, s = {points}, |H| = {size:,}", ours,
        "torch float32: addmm and argmin, its noise given", theirs, Asked("times faster", times),
        {"choices_checked": rows, "choices_wrong": wrong, "sample": sample,
         "sample_wrong": wrong_sample},
        holds=wrong + wrong_sample == 0 and (most is None or ours <= most),
    )  # fmt: skip


def _wrong(
    player: DeviceWeights, one: Callable[[], None], points: Any, costs: Any, arrivals: Any,
    amounts: Any,
) -> int:  # fmt: skip
    """Play some rounds on the device and on the host: how many scores, draws or costs differ."""
    table, wrong = Table(np.zeros((points.shape[1], 1), dtype=np.uint8)), 0
    for t, arrived in enumerate(arrivals):
        one()
        here = points[arrived]
        policy = table.weigh(costs, float(ONE))
        expected = [score(*pair) for pair in policy.approval(here)]
        drawn = policy.draw(here, Words(SEED, Purpose.DECIDE, t + 1), 0)
        costs = table.charge(costs, here, amounts)
        wrong += int((player.scores.cpu().numpy() != expected).any())
        wrong += int((player.approved.cpu().numpy() != drawn).any())
        wrong += int((player.costs.cpu().numpy() != costs).any())
    return wrong


def weights(name: str, size: int, k: int, rounds: int) -> Item:
    """Exponential weights, all on the device: the first rounds again on the host, then the time."""
    rng = np.random.default_rng(3)
    points = rng.integers(0, 2, (64, size), dtype=np.uint8)
    costs = rng.integers(0, 4 * ONE, size)
    arrivals = rng.integers(0, len(points), (rounds, k)).astype(np.int32)
    amounts = rng.integers(-ONE // 32, ONE // 32, k)
    player = DeviceWeights(points, costs, k, seed=SEED)
    player.temperature.fill_(float(ONE))
    player.amounts.copy_(torch.as_tensor(amounts))
    met = torch.as_tensor(arrivals, device=device())
    unused = torch.zeros(k, dtype=torch.int32, device=device())

    def one() -> None:
        arrive_kernel[(1,)](
            player.round, met, player.who, unused, k, PEOPLE=triton.next_power_of_2(k)
        )
        player.decide()
        player.charge()
        player.round.add_(1)

    checked = min(8, rounds // 2)
    wrong = _wrong(player, one, points, costs, arrivals[:checked], amounts)
    replay = _recorded(one)
    left = rounds - int(player.round.item()) + 1
    began = time.perf_counter()
    _finished(lambda: [replay() for _ in range(left)])()
    seconds = (time.perf_counter() - began) / left
    return Item(
        name, "a round of exponential weights on the device: scores, draw, charges",
        f"|H| = {size:,}, k = {k}", seconds, asked=Asked("a second", 5000.0),
        details={"rounds_a_second": 1 / seconds, "rounds_checked": checked, "rounds_wrong": wrong},
        holds=wrong == 0,
    )  # fmt: skip


def game(
    name: str, shape: tuple[int, int, int], k: int, rounds: int, *, eps: float, delta: float,
    rule: Literal["paper", "tight"] = "paper",
) -> Item:  # fmt: skip
    """A whole game at the paper's R on the device; its first rounds again on the host."""
    listed = kinds(*shape)
    met = stream(listed, rounds, k)
    # The paper's constants and its R, with noise under which there is something to learn.
    schedule = Paper(rounds, draws_rule=rule, delta=delta, noise_divisor=2_000_000.0)
    learner = Learner(listed, k, eps, eps, SEED, schedule=schedule, player="context-ftpl")
    played = device_game(learner, Visitors(listed.table, met.arrivals, met.labels, met.distances))
    _finished(lambda: played.play(1))()
    began = time.perf_counter()
    _finished(lambda: played.play(rounds - 1))()
    seconds = time.perf_counter() - began
    checked = min(CHECKED_ROUNDS, rounds)
    wrong = _wrong_rounds(learner, met, played.played(), checked)
    return Item(
        name, "a game on the device: noise, draws, audit and update",
        f"|H| = {shape[0]:,}, s = {shape[1]}, k = {k}, T = {rounds:,}", seconds,
        asked=Asked("seconds", 60.0),
        details={"draws_a_round": learner.draws(1), "rounds_checked": checked,
                 "rounds_wrong": wrong},
        holds=wrong == 0,
    )  # fmt: skip


def _wrong_rounds(learner: Learner, met: Stream, found: Played, checked: int) -> int:
    """Rounds that the host plays otherwise."""
    _, expected = play_on_host(learner, met, checked)
    return sum(
        not (
            np.array_equal(one.scores, found.scores[t])
            and np.array_equal(one.approved, found.approved[t])
            and one.reported == found.reported[t]
            and one.lam == found.lam[t]
        )
        for t, one in enumerate(expected)
    )
