"""Checks of what a GPU computed: by sums in float64, and by the reference engine.

Launches can be recorded once and replayed, so that the time of the host for them does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.experiments.benchmark.classes import Table
from likewise.fixed_point import ONE, IntArray
from likewise.hypotheses import Listed
from likewise.hypotheses.weights import score
from likewise.oracles import Oracle
from likewise.oracles.engines.gpu.game_kernels import arrive_kernel
from likewise.oracles.engines.gpu.libraries import device, interpreted, torch, triton
from likewise.oracles.engines.gpu.lists import DeviceList
from likewise.oracles.engines.gpu.weights import DeviceWeights
from likewise.randomness import Noise, Purpose
from likewise.randomness import Stream as Words

__all__ = ["WeightedRounds", "plain_torch", "recorded", "wrong_by_reference", "wrong_by_sums"]


def recorded(function: Callable[[], object]) -> Callable[[], object]:
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


def wrong_by_reference(
    table: Listed, costs: IntArray, noise: Noise, choices: Any, *, first: int = 0
) -> int:
    """Choices that are not the reference engine's, read off its predictions."""
    bits = max(1, (table.size - 1).bit_length())
    places = (np.arange(table.size) >> np.arange(bits)[:, None] & 1).astype(np.uint8)
    oracle = Oracle(table, "reference")
    draws = oracle.approvals(costs, noise, places, draws=len(choices), first_draw=first)
    expected = (draws.astype(np.int64) << np.arange(bits)).sum(axis=1)
    return int(np.count_nonzero(choices.cpu().numpy() != expected))


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
        """Rounds that have not been played yet."""
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
            draws = policy.draw(predictions, Words(self._seed, Purpose.DECIDE, t + 1), 0)
            costs = table.charge(costs, predictions, self._amounts)
            wrong += int((self.player.scores.cpu().numpy() != expected).any())
            wrong += int((self.player.approved.cpu().numpy() != draws).any())
            wrong += int((self.player.costs.cpu().numpy() != costs).any())
        return wrong
