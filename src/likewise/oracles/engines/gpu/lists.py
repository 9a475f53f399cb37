"""Lists of hypotheses on a GPU: their tables, kept there, and draws from them."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from likewise.fixed_point import ONE
from likewise.hypotheses import Listed
from likewise.oracles.engines.gpu.arithmetic import EXACT
from likewise.oracles.engines.gpu.libraries import device, torch, triton
from likewise.oracles.engines.gpu.list_kernels import (
    BASE,
    LARGEST_LAPLACE,
    costs_kernel,
    minima_kernel,
    noise_kernel,
    resolve_kernel,
)
from likewise.randomness import Noise

# At most this many minima (tiles times draws) are stored at a time: a gigabyte.
MINIMA_AT_ONCE = 1 << 28
LARGEST_SUM = 2.0**62
EVERY_TILE = 1 << 40
# Up to here the sums of short integers stay below 2^30.
MOST_SEPARATORS = 1 << 14


@dataclass(frozen=True)
class Shape:
    """How a kernel divides its work; a tile is searched for one least score."""

    rows: int
    tile: int
    group: int
    groups: int
    warps: int
    stages: int

    @classmethod
    def of(cls, size: int) -> Shape:
        """The shape that was measured to be fast for that many hypotheses."""
        if size >= 1 << 16:
            return cls(rows=128, tile=128, group=8, groups=8, warps=4, stages=3)
        return cls(rows=128, tile=64, group=8, groups=1, warps=4, stages=3)


class DeviceList:
    """A class whose predictions on the separating set are on the device, as 8-bit integers.

    The row of a hypothesis is h(q) for all q, then 127·h(q); both padded with zeros.
    """

    def __init__(self, on_set: Any, shape: Shape | None = None) -> None:
        self.size, self.points = on_set.shape
        self.width = max(16, triton.next_power_of_2(self.points))
        self.depth = min(2 * self.width, 128)
        self.shape = shape or Shape.of(self.size)
        self.tiles = -(-self.size // self.shape.tile)
        step = self.shape.group * self.shape.groups
        self.padded = -(-self.tiles // step) * step * self.shape.tile
        self.table = torch.zeros((self.padded, 2 * self.width), dtype=torch.int8, device=device())
        bits = torch.as_tensor(np.ascontiguousarray(on_set), device=device()).to(torch.int8)
        self.table[: self.size, : self.points] = bits
        self.table[: self.size, self.width : self.width + self.points] = bits * BASE
        self.short_costs = torch.empty(self.padded, dtype=torch.int32, device=device())
        self._in_use = Lock()
        self._space: dict[int, tuple[Any, Any, Any, Any]] = {}

    def space(self, rows: int) -> tuple[Any, Any, Any, Any]:
        """Buffers for noise, its digits, the minima of tiles and choices of ``rows`` draws."""
        if rows not in self._space:
            self._space.clear()
            self._space[rows] = (
                torch.empty((rows, self.width), dtype=torch.int64, device=device()),
                torch.empty((rows, 2 * self.width), dtype=torch.int8, device=device()),
                torch.empty((rows, self.tiles), dtype=torch.int32, device=device()),
                torch.empty(rows, dtype=torch.int64, device=device()),
            )
        return self._space[rows]

    def draw(
        self, costs: Any, scale: Any, round_: Any, *, seed: int, copies: int, purpose: int,
        first_draw: int, draws: int, second_purpose: int = 0, second_draws: int = 0,
        every: bool = False, minima: Any = None,
    ) -> Any:  # fmt: skip
        """The place in the list of some draws of a purpose, and then of draws of a second one.

        ``costs`` (int64), the noise's ``scale`` in units (float64) and the number of the round
        (int64) are tensors on the device; the host never waits for it. ``every`` searches all
        tiles: for sums beyond 2^62, which short integers cannot certify. ``minima`` are the lowest
        costs of blocks of hypotheses, if the caller has them.
        """
        rows, shape = draws + second_draws, self.shape
        noise, digits, least, choice = self.space(rows)
        lowest = costs.amin().reshape(1) if minima is None else minima
        noise_kernel[(triton.cdiv(rows * self.width, 256),)](
            noise, digits, scale, round_, first_draw, draws, rows, purpose, second_purpose,
            seed & 0xFFFFFFFF, seed >> 32, self.points, copies, WIDTH=self.width, BLOCK=256,
            num_warps=4, **EXACT,
        )  # fmt: skip
        costs_kernel[(triton.cdiv(self.padded, 1024),)](
            costs, lowest, len(lowest), scale, self.short_costs, self.size, self.padded,
            self.points, copies, BLOCK=1024, **EXACT,
        )  # fmt: skip
        programs = triton.cdiv(rows, shape.rows) * (
            self.padded // (shape.tile * shape.group * shape.groups)
        )
        minima_kernel[(programs,)](
            digits, self.table, self.short_costs, least, rows, self.tiles, shape.groups,
            WIDTH=self.width, DEPTH=self.depth, ROWS=shape.rows, TILE=shape.tile,
            GROUP=shape.group, num_warps=shape.warps, num_stages=shape.stages,
        )  # fmt: skip
        chunk = min(1024, max(16, triton.next_power_of_2(self.tiles)))
        resolve_kernel[(rows,)](
            least, noise, self.table, costs, choice, self.tiles,
            EVERY_TILE if every else self.points // 2 + 2, self.size, WIDTH=self.width,
            TILE=shape.tile, CHUNK=chunk, num_warps=4,
        )  # fmt: skip
        return choice

    def choices(self, costs: Any, noise: Noise, first_draw: int, draws: int) -> Any:
        """The place in the list of every draw, for costs on the device.

        One thread at a time: work space is shared.
        """
        stream = noise.stream
        if noise.scale == 0:
            return torch.full((draws,), int(costs.argmin()), dtype=torch.int64, device=device())
        scale = torch.tensor([noise.scale * ONE], dtype=torch.float64, device=device())
        round_ = torch.tensor([stream.round], dtype=torch.int64, device=device())
        largest = self.points * noise.copies * (LARGEST_LAPLACE * noise.scale * ONE + 0.5)
        every = largest + float(costs.abs().max().double()) >= LARGEST_SUM
        most = max(1024, MINIMA_AT_ONCE // self.tiles)
        blocks = []
        for start in range(0, draws, most):
            size = min(most, draws - start)
            with self._in_use:
                block = self.draw(
                    costs, scale, round_, seed=stream.seed, copies=noise.copies,
                    purpose=int(stream.purpose), first_draw=first_draw + start, draws=size,
                    every=every,
                ).clone()  # fmt: skip
            blocks.append(block)
        return torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.int64, device=device())


_LISTS: WeakKeyDictionary[Listed, DeviceList] = WeakKeyDictionary()


def list_on_device(listed: Listed) -> DeviceList:
    """The class on the device, kept there as long as it is in use."""
    device_list = _LISTS.get(listed)
    if device_list is None:
        device_list = _LISTS[listed] = DeviceList(listed.separating_points().T)
    return device_list
