"""Exponential weights over a list, on a GPU with the predictions of everybody who may arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import IntArray
from likewise.oracles.engines.gpu.arithmetic import EXACT
from likewise.oracles.engines.gpu.libraries import device, torch, triton
from likewise.oracles.engines.gpu.weight_kernels import charge_kernel, decide_kernel, sums_kernel
from likewise.randomness import Purpose

BLOCK = 1024
# The blocks of a list are added up by one program.
MOST_BLOCKS = 1 << 13


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
