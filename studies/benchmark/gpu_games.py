"""Whole games on a GPU, without returning to the host.

Exponential weights: scores and one draw a round. Context-FTPL: noise, draws, audit and update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from likewise.errors import ParameterError
from likewise.learner.fold import upcoming
from likewise.learner.gpu import (
    EXACT,
    LARGEST_LAPLACE,
    LARGEST_SUM,
    DeviceList,
    device,
    interpreted,
    kernel,
    least_of,
    rint,
    word_of,
)
from likewise.learner.schedules import Paper
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import LN2, ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose
from studies.benchmark.items import Kinds


@kernel("size", "people")
def charge_kernel(
    costs: tl.tensor, minima: tl.tensor, points: tl.tensor, arrived: tl.tensor, amounts: tl.tensor,
    size: tl.tensor, people: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """costs[h] += Σ_i amounts[i]·h(x_i), and the lowest of every block."""
    block = tl.program_id(0)
    h = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = h < size
    cost = tl.load(costs + h, mask=valid, other=(1 << 63) - 1)
    for i in range(people):
        row = points + tl.load(arrived + i).to(tl.int64) * size
        approve = tl.load(row + h, mask=valid, other=0)
        cost += tl.where(approve != 0, tl.load(amounts + i), 0)
    tl.store(costs + h, cost, mask=valid)
    tl.store(minima + block, tl.min(cost))


BLOCK = 1024


class DeviceCosts:
    """Costs of a list's hypotheses on the device, and the predictions that charges need.

    Parameters
    ----------
    points: predictions of all hypotheses, a row for everybody who may arrive (0 or 1, |H| columns).
    costs: the initial costs, in units of 2^-20.
    people: the number of people of a round.
    """

    def __init__(self, points: npt.NDArray[np.uint8], costs: IntArray, people: int) -> None:
        self.points = torch.as_tensor(np.ascontiguousarray(points), device=device())
        self.costs = torch.as_tensor(np.array(costs), device=device())
        self.size, self.people = len(costs), people
        self.blocks = triton.cdiv(self.size, BLOCK)
        self.minima = torch.empty(self.blocks, dtype=torch.int64, device=device())
        self.amounts = torch.zeros(people, dtype=torch.int64, device=device())
        self.arrived = torch.zeros(people, dtype=torch.int32, device=device())
        self.charge()

    def charge(self) -> None:
        """Add ``amounts`` to the hypotheses that approve ``arrived``, and update the minima."""
        charge_kernel[(self.blocks,)](
            self.costs, self.minima, self.points, self.arrived, self.amounts, self.size,
            self.people, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip


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


_ONE = tl.constexpr(1 << 20)


@kernel("people")
def arrive_kernel(
    clock: tl.tensor, arrivals: tl.tensor, arrived: tl.tensor, counts: tl.tensor,
    people: tl.tensor, PEOPLE: tl.constexpr,
) -> None:  # fmt: skip
    """The people of the clock's round; nobody has been counted yet."""
    person = tl.arange(0, PEOPLE)
    valid = person < people
    at = (tl.load(clock) - 1) * people + person
    tl.store(arrived + person, tl.load(arrivals + at, mask=valid, other=0), mask=valid)
    tl.store(counts + person, tl.zeros((PEOPLE,), tl.int32), mask=valid)


@kernel("draws", "size", "people")
def tally_kernel(
    choice: tl.tensor, points: tl.tensor, arrived: tl.tensor, counts: tl.tensor,
    approved: tl.tensor, draws: tl.tensor, size: tl.tensor, people: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """counts[i] += draws that approve person i; the draw after them decides."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(choice + row, mask=row <= draws, other=0)
    for i in range(people):
        at = points + tl.load(arrived + i).to(tl.int64) * size
        bits = tl.load(at + chosen, mask=row <= draws, other=0).to(tl.int32)
        tl.atomic_add(counts + i, tl.sum(tl.where(row < draws, bits, 0)), sem="relaxed")
        tl.store(approved + i + row * 0, bits.to(tl.uint8), mask=row == draws)


@kernel("people", "draws", "sensitivity", "unit")
def settle_kernel(
    clock: tl.tensor, counts: tl.tensor, approved: tl.tensor, labels: tl.tensor,
    distances: tl.tensor, steps: tl.tensor, lam: tl.tensor, amounts: tl.tensor,
    scores_of: tl.tensor, approved_of: tl.tensor, report_of: tl.tensor, lam_of: tl.tensor,
    people: tl.tensor, draws: tl.tensor, sensitivity: tl.tensor, unit: tl.tensor, beta: tl.tensor,
    PEOPLE: tl.constexpr,
) -> None:  # fmt: skip
    """Scores, the report of the largest gap, the charges of a round, and the multiplier's step.

    amounts[i] = unit·(1 − 2·y_i), and ±lam on the two who are reported.
    """
    t = tl.load(clock)
    person = tl.arange(0, PEOPLE)
    valid = person < people
    at = (t - 1) * people + person
    count = tl.load(counts + person, mask=valid, other=0).to(tl.int64)
    score = (((count << 21) // draws) + 1) >> 1
    tl.store(scores_of + at, score, mask=valid)
    tl.store(approved_of + at, tl.load(approved + person, mask=valid, other=0), mask=valid)
    # Twice more, along either axis of the pairs.
    over, under = tl.arange(0, PEOPLE)[:, None], tl.arange(0, PEOPLE)[None, :]
    count_over = tl.load(counts + over, mask=over < people, other=0).to(tl.int64)
    count_under = tl.load(counts + under, mask=under < people, other=0).to(tl.int64)
    gap = ((((count_over << 21) // draws) + 1) >> 1) - ((((count_under << 21) // draws) + 1) >> 1)
    valid_pair = (over < people) & (under < people)
    pair = over * people + under
    allowed = tl.load(distances + (t - 1) * people * people + pair, mask=valid_pair, other=0)
    exceeded = valid_pair & (gap > allowed.to(tl.int64) + sensitivity)
    largest = tl.max(tl.max(tl.where(exceeded, gap, -1), axis=1), axis=0)
    first = tl.where(exceeded & (gap == largest), pair, people * people)
    reported = tl.min(tl.min(first, axis=1), axis=0)
    any_report = largest >= 0
    multiplier = tl.load(lam)
    price = rint(multiplier * _ONE).to(tl.int64)
    label = tl.load(labels + at, mask=valid, other=0).to(tl.int64)
    amount = unit * (1 - 2 * label)
    amount += tl.where(any_report & (person == reported // people), price, 0)
    amount -= tl.where(any_report & (person == reported % people), price, 0)
    tl.store(amounts + person, amount, mask=valid)
    mu = tl.load(steps + t - 1)
    gradient = tl.where(any_report, tl.load(beta), 0.0) - mu * multiplier
    multiplier = tl.maximum(multiplier + mu * gradient, 0.0)
    tl.store(lam, multiplier)
    tl.store(lam_of + t - 1, multiplier)
    tl.store(report_of + t - 1, tl.where(any_report, reported, -1))
    tl.store(clock, t + 1)


TALLY = 256


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


@dataclass(frozen=True)
class Visitors:
    """Kinds that come, (T, k), their labels, and the pivots' distances, (T, k, k), in units."""

    arrivals: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint8]
    distances: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Played:
    """The rounds played: scores and decisions (T, k), the reported pair (−1: none), lam after."""

    scores: IntArray
    approved: npt.NDArray[Any]
    reported: npt.NDArray[Any]
    lam: FloatArray


class DeviceGame:
    """Context-FTPL against a stream that is on the device, with full information.

    The report is that of the largest gap; audits and labels come at once. The learner has the
    paper's schedule, whose noise and draws are the same in every round, over a list of kinds. The
    rounds are those that the host plays with the same stream, bit for bit.
    """

    def __init__(self, learner: Learner, visitors: Visitors) -> None:
        listed, schedule = learner.hypotheses, learner.schedule
        plain = learner.feedback == "full" and learner.looking.least == 1
        if not (plain and isinstance(schedule, Paper) and isinstance(listed, Kinds)):
            raise ParameterError(
                "learner", "must have kinds, the paper's schedule, full information and all audits",
                learner, "Other learners play on the host: likewise.simulate.rounds.",
            )  # fmt: skip
        rounds, people = visitors.arrivals.shape
        self.learner, self.people, self.draws = learner, people, learner.draws(1)
        first = upcoming(State.start(learner))
        scale, self.copies = first.scale * ONE, first.copies
        steps = [schedule.mu(t) for t in range(1, rounds + 1)]
        noise = listed.separators * self.copies * (LARGEST_LAPLACE * scale + 0.5)
        # lam stays below beta/mu, since a step adds mu·(beta − mu·lam) at most.
        multiplier = learner.margins.beta / min(steps) * ONE
        largest = noise + rounds * (people * learner.pricing.unit + 2.0 * multiplier)
        if not largest < LARGEST_SUM or scale <= 0:
            raise ParameterError(
                "noise and costs", "must add up to less than 2^62 units, with noise above 0",
                largest, "Take a shorter horizon, or play on the host.",
            )  # fmt: skip
        self.list = DeviceList(listed.separating_points().T)
        self.costs = DeviceCosts(listed.table, np.zeros(listed.size, dtype=np.int64), people)
        self.arrivals, self.labels, self.distances = (
            torch.as_tensor(np.ascontiguousarray(array), device=device())
            for array in (visitors.arrivals, visitors.labels, visitors.distances)
        )
        self.beta, self.scale, self.steps, self.lam = (
            torch.tensor(numbers, dtype=torch.float64, device=device())
            for numbers in ([learner.margins.beta], [scale], steps, [0.0])
        )
        self.clock = self._zeros(1, torch.int64)
        self.counts = self._zeros(people, torch.int32)
        self.approved = self._zeros(people, torch.uint8)
        self.scores_of = self._zeros((rounds, people), torch.int64)
        self.approved_of = self._zeros((rounds, people), torch.uint8)
        self.report_of = self._zeros(rounds, torch.int32)
        self.lam_of = self._zeros(rounds, torch.float64)
        self.clock.fill_(1)
        self._replay: Callable[[], object] | None = None

    @staticmethod
    def _zeros(shape: Any, dtype: Any) -> Any:
        return torch.zeros(shape, dtype=dtype, device=device())

    def round(self) -> None:
        """Play the clock's round and advance the clock."""
        learner, costs = self.learner, self.costs
        padded = triton.next_power_of_2(self.people)
        arrive_kernel[(1,)](
            self.clock, self.arrivals, costs.arrived, self.counts, self.people, PEOPLE=padded
        )
        choice = self.list.draw(
            costs.costs, self.scale, self.clock, seed=learner.seed, copies=self.copies,
            purpose=int(Purpose.ELICIT), first_draw=0, draws=self.draws,
            second_purpose=int(Purpose.DECIDE), second_draws=1, minima=costs.minima,
        )  # fmt: skip
        tally_kernel[(triton.cdiv(self.draws + 1, TALLY),)](
            choice, costs.points, costs.arrived, self.counts, self.approved, self.draws,
            costs.size, self.people, BLOCK=TALLY,
        )  # fmt: skip
        settle_kernel[(1,)](
            self.clock, self.counts, self.approved, self.labels, self.distances, self.steps,
            self.lam, costs.amounts, self.scores_of, self.approved_of, self.report_of, self.lam_of,
            self.people, self.draws, learner.sensitivity, learner.pricing.unit, self.beta,
            PEOPLE=padded, num_warps=1, **EXACT,
        )  # fmt: skip
        costs.charge()

    def play(self, rounds: int) -> None:
        """Play some more rounds; on a GPU one is recorded and replayed."""
        if self._replay is None:
            tensors = (self.clock, self.lam, self.costs.costs, self.costs.minima)
            before = [tensor.clone() for tensor in tensors]
            self._replay = recorded(self.round)
            for tensor, value in zip(tensors, before, strict=True):
                tensor.copy_(value)
        for _ in range(rounds):
            self._replay()

    def played(self) -> Played:
        rounds = int(self.clock.item()) - 1
        return Played(
            self.scores_of[:rounds].cpu().numpy(), self.approved_of[:rounds].cpu().numpy(),
            self.report_of[:rounds].cpu().numpy(), self.lam_of[:rounds].cpu().numpy(),
        )  # fmt: skip
