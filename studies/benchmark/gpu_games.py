"""A whole game on a GPU: noise, draws, audit and update, without returning to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from likewise.errors import ParameterError
from likewise.learner.gpu import (
    EXACT,
    LARGEST_LAPLACE,
    LARGEST_SUM,
    DeviceList,
    device,
    interpreted,
    kernel,
    rint,
)
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose


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


@dataclass(frozen=True)
class Visitors:
    """The stream of a game: the rows of ``points`` that arrive, their labels, pivots' distances.

    ``points`` (kinds, |H|) are 0s and 1s; ``arrivals`` (T, k) their rows; ``labels`` (T, k);
    ``distances`` (T, k, k) in units of 2^-20.
    """

    points: npt.NDArray[np.uint8]
    arrivals: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint8]
    distances: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Constants:
    """A learner's constants: draws a round, noise in units, label costs, and the dual's steps."""

    seed: int
    draws: int
    scale: float
    copies: int
    unit: int
    sensitivity: int
    beta: float
    steps: FloatArray


@dataclass(frozen=True)
class Played:
    """The rounds played: scores and decisions (T, k), the reported pair (−1: none), lam after."""

    scores: IntArray
    approved: npt.NDArray[np.uint8]
    reported: npt.NDArray[np.int32]
    lam: FloatArray
    costs: IntArray


class DeviceGame:
    """Context-FTPL against a stream that is on the device, with full information.

    The report is that of the largest gap; audits and labels come at once.
    """

    def __init__(
        self, on_set: npt.NDArray[np.uint8], visitors: Visitors, constants: Constants
    ) -> None:
        rounds, people = visitors.arrivals.shape
        self.rounds, self.people, self.constants = rounds, people, constants
        self._check_sums(on_set.shape[1])
        self.list = DeviceList(on_set)
        no_costs = np.zeros(len(on_set), dtype=np.int64)
        self.costs = DeviceCosts(visitors.points, no_costs, people)
        self.arrivals, self.labels, self.distances = (
            torch.as_tensor(np.ascontiguousarray(array), device=device())
            for array in (visitors.arrivals, visitors.labels, visitors.distances)
        )
        self.clock = self._zeros(1, torch.int64)
        self.counts, self.approved = (
            self._zeros(people, torch.int32),
            self._zeros(people, torch.uint8),
        )
        self.lam, self.beta = self._zeros(1, torch.float64), self._zeros(1, torch.float64)
        self.scale, self.steps = self._zeros(1, torch.float64), self._zeros(rounds, torch.float64)
        self.beta.fill_(constants.beta)
        self.scale.fill_(constants.scale)
        self.steps.copy_(torch.as_tensor(constants.steps))
        self.scores_of = self._zeros((rounds, people), torch.int64)
        self.approved_of = self._zeros((rounds, people), torch.uint8)
        self.report_of, self.lam_of = (
            self._zeros(rounds, torch.int32),
            self._zeros(rounds, torch.float64),
        )
        self.graph: Any = None
        self.start()

    def _check_sums(self, points: int) -> None:
        """Refuse sums beyond 62 bits, which short integers cannot certify."""
        constants = self.constants
        noise = points * constants.copies * (LARGEST_LAPLACE * constants.scale + 0.5)
        # lam stays below beta/mu, since a step adds mu·(beta − mu·lam) at most.
        multiplier = constants.beta / float(constants.steps.min()) * ONE
        largest = noise + self.rounds * (self.people * constants.unit + 2.0 * multiplier)
        if not largest < LARGEST_SUM or constants.scale <= 0:
            raise ParameterError(
                "noise and costs", "must add up to less than 2^62 units, with noise above 0",
                largest, "Take a shorter horizon, or play on the host.",
            )  # fmt: skip

    @staticmethod
    def _zeros(shape: Any, dtype: Any) -> Any:
        return torch.zeros(shape, dtype=dtype, device=device())

    def start(self) -> None:
        """Return to the first round, with nothing learned."""
        self.clock.fill_(1)
        self.lam.zero_()
        self.costs.amounts.zero_()
        self.costs.costs.zero_()
        self.costs.charge()

    def round(self) -> None:
        """Play the clock's round and advance the clock."""
        constants, costs = self.constants, self.costs
        padded = triton.next_power_of_2(self.people)
        arrive_kernel[(1,)](
            self.clock, self.arrivals, costs.arrived, self.counts, self.people, PEOPLE=padded
        )
        choice = self.list.draw(
            costs.costs, self.scale, self.clock, seed=constants.seed, copies=constants.copies,
            purpose=int(Purpose.ELICIT), first_draw=0, draws=constants.draws,
            second_purpose=int(Purpose.DECIDE), second_draws=1, minima=costs.minima,
        )  # fmt: skip
        tally_kernel[(triton.cdiv(constants.draws + 1, TALLY),)](
            choice, costs.points, costs.arrived, self.counts, self.approved, constants.draws,
            costs.size, self.people, BLOCK=TALLY,
        )  # fmt: skip
        settle_kernel[(1,)](
            self.clock, self.counts, self.approved, self.labels, self.distances, self.steps,
            self.lam, costs.amounts, self.scores_of, self.approved_of, self.report_of, self.lam_of,
            self.people, constants.draws, constants.sensitivity, constants.unit, self.beta,
            PEOPLE=padded, num_warps=1, **EXACT,
        )  # fmt: skip
        costs.charge()

    def play(self, rounds: int) -> None:
        """Play some more rounds; on a GPU one is recorded and replayed."""
        if interpreted():
            for _ in range(rounds):
                self.round()
            return
        if self.graph is None:
            self._record()
        for _ in range(rounds):
            self.graph.replay()

    def _record(self) -> None:
        """Record a round: the first call of a kernel compiles it, which cannot be recorded."""
        saved = [
            tensor.clone() for tensor in (self.clock, self.lam, self.costs.costs, self.costs.minima)
        ]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self.round()
        torch.cuda.current_stream().wait_stream(aside)
        for tensor, before in zip(
            (self.clock, self.lam, self.costs.costs, self.costs.minima), saved, strict=True
        ):
            tensor.copy_(before)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.round()

    def played(self) -> Played:
        """The rounds played so far, on the host."""
        rounds = int(self.clock.item()) - 1
        return Played(
            self.scores_of[:rounds].cpu().numpy(), self.approved_of[:rounds].cpu().numpy(),
            self.report_of[:rounds].cpu().numpy(), self.lam_of[:rounds].cpu().numpy(),
            self.costs.costs.cpu().numpy(),
        )  # fmt: skip
