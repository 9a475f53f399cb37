"""A whole game on a GPU: noise, draws, audit and update, without returning to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.oracles.engines.gpu.arithmetic import EXACT
from likewise.oracles.engines.gpu.game_kernels import arrive_kernel, settle_kernel, tally_kernel
from likewise.oracles.engines.gpu.libraries import device, interpreted, torch, triton
from likewise.oracles.engines.gpu.list_kernels import LARGEST_LAPLACE
from likewise.oracles.engines.gpu.lists import LARGEST_SUM, DeviceList
from likewise.oracles.engines.gpu.weights import DeviceCosts
from likewise.randomness import Purpose

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
