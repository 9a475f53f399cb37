"""Measurements on a GPU: draws from lists, beside a reference."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from likewise.hypotheses.lists import Listed
from likewise.learner.gpu import DeviceList, device, interpreted
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose
from studies.benchmark.draws import NOISE, choices
from studies.benchmark.items import Asked, Item, race, random_table, seconds_of


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


SAMPLE = 200


def _finished(function: Callable[[], object]) -> Callable[[], None]:
    """The same, and wait until the device has done it."""

    def run() -> None:
        function()
        if not interpreted():
            torch.cuda.synchronize()

    return run


def recorded(function: Callable[[], object]) -> Callable[[], object]:
    """The same launches as a graph; where kernels are interpreted there is none to record.

    The function runs once: the first call of a kernel compiles it, which cannot be recorded.
    """
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


@cache
def _products_a_second() -> float:
    """Operations a second in products of 8-bit integers on the matrix units."""
    square = torch.randint(-127, 127, (8192, 8192), dtype=torch.int8, device=device())
    return 2.0 * 8192**3 / seconds_of(_finished(lambda: torch._int_mm(square, square.t())), 10)


def _draw_limit(rows: int, points: int, size: int) -> dict[str, float | int | str]:
    """The products alone: two digits a point, a product and a sum."""
    if interpreted():
        return {}
    seconds = 4.0 * rows * size * max(16, 1 << (points - 1).bit_length()) / _products_a_second()
    return {"limit": "products of 8-bit integers", "limit_seconds": seconds}


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
