"""Exponential weights on a GPU: scores and one draw a round, without returning to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from likewise.learner.gpu import EXACT, device, kernel, least_of, rint, word_of
from likewise.numerics.fixed_point import LN2, IntArray
from likewise.numerics.randomness import Purpose
from studies.benchmark.gpu_games import BLOCK, DeviceCosts

_LN2 = tl.constexpr(LN2)
_SCORE_BITS = tl.constexpr(21)


@kernel()
def weight_of(cost: tl.tensor, lowest: tl.tensor, temperature: tl.tensor) -> tl.tensor:
    """An integer weight, as hypotheses.base.gibbs_weights: round(2^40·exp(−excess/temperature)).

    From 2^-60 on the weight is 0.
    """
    x = tl.minimum((cost - lowest).to(tl.float64) / temperature, 1000.0)
    halvings = rint(x / _LN2)
    rest = halvings * _LN2 - x
    series = tl.full(rest.shape, 1.0, tl.float64)
    for i in tl.static_range(14):
        series = 1.0 + rest * series / (14.0 - i)
    shift = tl.minimum(halvings, 60.0).to(tl.int64)
    power = ((1023 + 40 - shift) << 52).to(tl.float64, bitcast=True)
    return tl.where(halvings < 60.0, rint(series * power).to(tl.int64), 0)


@kernel()
def below(
    total: tl.tensor, round_: tl.tensor, draw: tl.tensor, purpose: tl.tensor, key0: tl.tensor,
    key1: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """An integer uniformly below the total, as Stream.below."""
    nothing = tl.zeros((1,), tl.int32)
    high = word_of(nothing, nothing + draw, round_, nothing + purpose, key0, key1, nothing)
    low = word_of(nothing, nothing + draw, round_, nothing + purpose, key0, key1, nothing + 1)
    word = (tl.sum(high.to(tl.uint64)) << 32) | tl.sum(low.to(tl.uint64))
    return tl.umulhi(word, total.to(tl.uint64)).to(tl.int64)


@kernel("size", "people", "blocks")
def sums_kernel(
    costs: tl.tensor, minima: tl.tensor, temperature: tl.tensor, points: tl.tensor,
    arrived: tl.tensor, sums: tl.tensor, size: tl.tensor, people: tl.tensor, blocks: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """sums[0, block] = Σ weights of a block, sums[1 + i, block] = of those that approve person i.

    ``points`` has a row of predictions for everybody, ``arrived`` the rows of a round.
    """
    block = tl.program_id(0)
    h = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = h < size
    lowest = least_of(minima, blocks, 1024)
    weights = weight_of(tl.load(costs + h, mask=valid, other=0), lowest, tl.load(temperature))
    weights = tl.where(valid, weights, 0)
    tl.store(sums + block, tl.sum(weights))
    for i in range(people):
        row = points + tl.load(arrived + i).to(tl.int64) * size
        approve = tl.load(row + h, mask=valid, other=0)
        tl.store(sums + (1 + i) * blocks + block, tl.sum(tl.where(approve != 0, weights, 0)))


@kernel()
def share_of(part: tl.tensor, total: tl.tensor) -> tl.tensor:
    """part/total in units of 2^-20, halves up, as hypotheses.base.score: bit by bit.

    Numbers of 63 bits would not fit when multiplied by 2^21; a remainder twice as large does.
    """
    rest = part.to(tl.uint64)
    divisor = total.to(tl.uint64)
    quotient = tl.where(rest >= divisor, 1, 0).to(tl.uint64)
    rest = tl.where(rest >= divisor, rest - divisor, rest)
    for _ in tl.static_range(_SCORE_BITS):
        rest = rest << 1
        more = rest >= divisor
        quotient = (quotient << 1) | more.to(tl.uint64)
        rest = tl.where(more, rest - divisor, rest)
    return ((quotient + 1) >> 1).to(tl.int64)


@kernel("size", "people", "blocks", "draw", "purpose", "key0", "key1")
def decide_kernel(
    costs: tl.tensor, minima: tl.tensor, temperature: tl.tensor, points: tl.tensor,
    arrived: tl.tensor, sums: tl.tensor, round_: tl.tensor, scores: tl.tensor, approved: tl.tensor,
    chosen: tl.tensor, size: tl.tensor, people: tl.tensor, blocks: tl.tensor, draw: tl.tensor,
    purpose: tl.tensor, key0: tl.tensor, key1: tl.tensor, BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr, PEOPLE: tl.constexpr,
) -> None:  # fmt: skip
    """scores[i] = π(x_i) in units of 2^-20; the predictions of one h ~ π, and its place."""
    block = tl.arange(0, BLOCKS)
    cumulated = tl.cumsum(tl.load(sums + block, mask=block < blocks, other=0))
    total = tl.max(cumulated)
    person = tl.arange(0, PEOPLE)
    parts = tl.zeros((PEOPLE,), tl.int64)
    for i in range(people):
        part = tl.sum(tl.load(sums + (1 + i) * blocks + block, mask=block < blocks, other=0))
        parts = tl.where(person == i, part, parts)
    valid = person < people
    tl.store(scores + person, share_of(parts, total), mask=valid)
    number = below(total, tl.load(round_), draw, purpose, key0, key1)
    # The block, and the place in it, that the number falls on: as many sums as do not exceed it.
    passed = (cumulated <= number) & (block < blocks)
    at = tl.sum(passed.to(tl.int64))
    number -= tl.max(tl.where(passed, cumulated, 0))
    place = tl.arange(0, BLOCK)
    h = at * BLOCK + place
    lowest = least_of(minima, blocks, 1024)
    cost = tl.load(costs + h, mask=h < size, other=0)
    weights = tl.where(h < size, weight_of(cost, lowest, tl.load(temperature)), 0)
    within = tl.cumsum(weights)
    member = at * BLOCK + tl.sum(((within <= number) & (h < size)).to(tl.int64))
    rows = tl.load(arrived + person, mask=valid, other=0).to(tl.int64)
    bits = tl.load(points + rows * size + member, mask=valid, other=0)
    tl.store(approved + person, bits, mask=valid)
    tl.store(chosen, member)


class DeviceWeights(DeviceCosts):
    """π(h) ∝ exp(−cost(h)/temperature) on the device: scores, one draw a round, charges.

    ``temperature`` is in units, and ``round`` the number of the round: both are tensors, so that
    the device never waits for the host. The results are those of ``Listed.approval`` (rounded by
    ``score``) and ``Listed.draw``.
    """

    def __init__(
        self, points: npt.NDArray[np.uint8], costs: IntArray, people: int, *, seed: int
    ) -> None:
        super().__init__(points, costs, people)
        self.seed = seed
        self.temperature = torch.ones(1, dtype=torch.float64, device=device())
        self.round = torch.ones(1, dtype=torch.int64, device=device())
        self.sums = torch.empty((1 + people, self.blocks), dtype=torch.int64, device=device())
        self.scores = torch.empty(people, dtype=torch.int64, device=device())
        self.approved = torch.empty(people, dtype=torch.uint8, device=device())
        self.chosen = torch.empty(1, dtype=torch.int64, device=device())

    def decide(self, draw: int = 0, purpose: Purpose = Purpose.DECIDE) -> tuple[Any, Any]:
        """Scores of ``arrived``, and the predictions of one draw; the next call overwrites them."""
        sums_kernel[(self.blocks,)](
            self.costs, self.minima, self.temperature, self.points, self.arrived, self.sums,
            self.size, self.people, self.blocks, BLOCK=BLOCK, num_warps=4, **EXACT,
        )  # fmt: skip
        decide_kernel[(1,)](
            self.costs, self.minima, self.temperature, self.points, self.arrived, self.sums,
            self.round, self.scores, self.approved, self.chosen, self.size, self.people,
            self.blocks, draw, int(purpose), self.seed & 0xFFFFFFFF, self.seed >> 32, BLOCK=BLOCK,
            BLOCKS=triton.next_power_of_2(self.blocks), PEOPLE=triton.next_power_of_2(self.people),
            num_warps=8, **EXACT,
        )  # fmt: skip
        return self.scores, self.approved
