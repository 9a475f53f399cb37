"""The GPU engine: the reference engine's draws on an NVIDIA GPU, by PyTorch and Triton.

The device draws from lists of hypotheses, whose tables are kept there. The compiled engine draws
from other classes, and computes all weights and charges. The two libraries are optional, and
imported only here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from likewise.errors import MissingGpuError, missing
from likewise.hypotheses.base import Bits, HypothesisClass, Points
from likewise.hypotheses.lists import Listed
from likewise.numerics.fixed_point import LN2, ONE, IntArray
from likewise.numerics.randomness import MULTIPLIERS, PHILOX_ROUNDS, WEYL, Noise

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    raise missing("The GPU engine", str(error.name or "torch"), "gpu", error) from error


def kernel(*changing: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile for the device, without specialised code for the values of ``changing`` integers."""
    compiled: Callable[[Callable[..., Any]], Any] = triton.jit(do_not_specialize=list(changing))
    return compiled


def interpreted() -> bool:
    """Look up whether Triton interprets its kernels on the CPU, for tests (TRITON_INTERPRET=1)."""
    return bool(triton.knobs.runtime.interpret)


@cache
def device() -> Any:
    """The GPU; the CPU where kernels are interpreted."""
    if interpreted():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise MissingGpuError(
            f"The GPU engine needs an NVIDIA GPU, and PyTorch {torch.__version__} sees none here "
            f"(torch.cuda.is_available() is False). Put one in, or ask for the compiled engine"
        )
    return torch.device("cuda")


# Without a GPU the import fails.
device()

# Options of every launch.
EXACT = {"enable_fp_fusion": False}

_M0, _M1 = tl.constexpr(MULTIPLIERS[0]), tl.constexpr(MULTIPLIERS[1])
_W0, _W1 = tl.constexpr(WEYL[0]), tl.constexpr(WEYL[1])
_ROUNDS = tl.constexpr(PHILOX_ROUNDS)
_LN2 = tl.constexpr(LN2)
_TWO_52 = tl.constexpr(4503599627370496.0)
_MANTISSA = tl.constexpr((1 << 52) - 1)
_SQRT_HALF = tl.constexpr(0x3FE6A09E667F3BCD)
_NONE = tl.constexpr((1 << 63) - 1)


@kernel()
def rint(x: tl.tensor) -> tl.tensor:
    """The nearest integer, halves to even: from 2^52 on, every float64 is an integer."""
    size = tl.abs(x)
    rounded = (size + _TWO_52) - _TWO_52
    rounded = tl.where(size < _TWO_52, rounded, size)
    return tl.where(x < 0, -rounded, rounded)


@kernel()
def laplace_of(word: tl.tensor) -> tl.tensor:
    """A unit Laplace variable from a word, as randomness.laplace: same operations, same bits."""
    number = (word >> 1).to(tl.float64) + 0.5
    above = number.to(tl.int64, bitcast=True) - _SQRT_HALF
    power = (above >> 52).to(tl.float64)
    m = ((above & _MANTISSA) + _SQRT_HALF).to(tl.float64, bitcast=True)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = tl.full(s.shape, 1.0 / 17.0, tl.float64)
    for i in tl.static_range(8):
        series = series * q + 1.0 / (15.0 - 2.0 * i)
    magnitude = 31.0 * _LN2 - (power * _LN2 + 2.0 * s * series)
    return tl.where((word & 1) != 0, -magnitude, magnitude)


@kernel()
def word_of(
    block: tl.tensor, draw: tl.tensor, round_: tl.tensor, purpose: tl.tensor, key0: tl.tensor,
    key1: tl.tensor, part: tl.tensor,
) -> tl.tensor:  # fmt: skip
    """Philox 4x32-10: word ``part`` of a block."""
    c0, c1 = block.to(tl.uint32), draw.to(tl.uint32)
    c2 = tl.zeros_like(c0) + round_.to(tl.uint32)
    c3 = tl.zeros_like(c0) + purpose.to(tl.uint32)
    k0, k1 = key0.to(tl.uint32), key1.to(tl.uint32)
    for _ in tl.static_range(_ROUNDS):
        high0 = tl.umulhi(c0, tl.zeros_like(c0) + _M0)
        high1 = tl.umulhi(c2, tl.zeros_like(c2) + _M1)
        low0 = c0 * _M0
        low1 = c2 * _M1
        c0 = high1 ^ c1 ^ k0
        c2 = high0 ^ c3 ^ k1
        c1 = low1
        c3 = low0
        k0 = k0 + _W0
        k1 = k1 + _W1
    return tl.where(part == 0, c0, tl.where(part == 1, c1, tl.where(part == 2, c2, c3)))


BASE = 127
LARGEST_NUMBER = BASE * BASE + BASE // 2
# |z| < 22.1808, see randomness.laplace.
LARGEST_LAPLACE = 22.19

_BASE = tl.constexpr(BASE)
_LARGEST_NUMBER = tl.constexpr(float(LARGEST_NUMBER))
_LARGEST_LAPLACE = tl.constexpr(LARGEST_LAPLACE)
_FAR = tl.constexpr((1 << 31) - 1)


@kernel()
def _factor(scale: tl.tensor, copies: tl.tensor) -> tl.tensor:
    """f, by which the largest possible noise becomes LARGEST_NUMBER."""
    largest = copies.to(tl.float64) * (_LARGEST_LAPLACE * scale + 0.5)
    return _LARGEST_NUMBER / largest


@kernel("first_draw", "rows", "purpose", "key0", "key1", "points", "copies")
def noise_kernel(
    noise: tl.tensor, digits: tl.tensor, scale: tl.tensor, round_: tl.tensor,
    first_draw: tl.tensor, rows: tl.tensor, purpose: tl.tensor, key0: tl.tensor, key1: tl.tensor,
    points: tl.tensor, copies: tl.tensor, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """noise[row, q] in units, and its digits[row, 2·WIDTH]: the first, then the second of each.

    Rows are draws first_draw, first_draw + 1, …; columns from ``points`` on are 0.
    """
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row, q = place // WIDTH, place % WIDTH
    valid = row < rows
    unit = tl.load(scale)
    number_of_round = tl.load(round_)
    draw = first_draw + row
    total = tl.zeros((BLOCK,), tl.int64)
    for copy in range(copies):
        position = q * copies + copy
        word = word_of(position // 4, draw, number_of_round, purpose, key0, key1, position % 4)
        total += rint(laplace_of(word) * unit).to(tl.int64)
    total = tl.where(q < points, total, 0)
    tl.store(noise + place, total, mask=valid)
    short = rint(total.to(tl.float64) * _factor(unit, copies)).to(tl.int32)
    second = rint(short.to(tl.float64) / _BASE).to(tl.int32)
    first = short - _BASE * second
    tl.store(digits + row * (2 * WIDTH) + q, first.to(tl.int8), mask=valid)
    tl.store(digits + row * (2 * WIDTH) + WIDTH + q, second.to(tl.int8), mask=valid)


@kernel("size", "padded", "points", "copies")
def costs_kernel(
    costs: tl.tensor, lowest: tl.tensor, scale: tl.tensor, out: tl.tensor, size: tl.tensor,
    padded: tl.tensor, points: tl.tensor, copies: tl.tensor, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    """out[h] = rint(f·(c_h − lowest)), cut off where h can never be chosen; padding is far away."""
    h = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    unit = tl.load(scale)
    above = tl.load(costs + h, mask=h < size, other=0) - tl.load(lowest)
    # Σ_q |n_q| is at most this, and so is the difference of two hypotheses' noise.
    spread = points.to(tl.float64) * copies.to(tl.float64) * (_LARGEST_LAPLACE * unit + 0.5)
    cut = tl.minimum(above, spread.to(tl.int64) + 1)
    short = rint(cut.to(tl.float64) * _factor(unit, copies)).to(tl.int32)
    tl.store(out + h, tl.where(h < size, short, _FAR // 2), mask=h < padded)


@kernel()
def _scores_in_parts(
    digits: tl.tensor, table: tl.tensor, row: tl.tensor, valid: tl.tensor, h: tl.tensor,
    WIDTH: tl.constexpr, DEPTH: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Σ digits[row]·table[h] of some rows and hypotheses, DEPTH digits at a time."""
    depth = tl.arange(0, DEPTH)
    scores = tl.zeros((ROWS, TILE), tl.int32)
    for start in range(0, 2 * WIDTH, DEPTH):
        part = tl.load(
            digits + row[:, None].to(tl.int64) * (2 * WIDTH) + start + depth[None, :],
            mask=valid[:, None], other=0,
        )  # fmt: skip
        rows = tl.load(table + h[:, None].to(tl.int64) * (2 * WIDTH) + start + depth[None, :])
        scores = tl.dot(part, tl.trans(rows), acc=scores, out_dtype=tl.int32)
    return scores


@kernel("rows", "groups")
def minima_kernel(
    digits: tl.tensor, table: tl.tensor, costs: tl.tensor, minima: tl.tensor, rows: tl.tensor,
    tiles: tl.tensor, groups: tl.tensor, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr, GROUP: tl.constexpr,
) -> None:  # fmt: skip
    """minima[row, tile] = the least of costs[h] + Σ digits[row]·table[h] over a tile of TILE.

    A program takes ROWS rows through GROUP tiles at a time, and writes their minima together;
    programs that run at the same time share tiles in the cache.
    """
    blocks = tl.cdiv(rows, ROWS)
    row = (tl.program_id(0) % blocks) * ROWS + tl.arange(0, ROWS)
    group = tl.program_id(0) // blocks
    valid = row < rows
    depth = tl.arange(0, DEPTH)
    places = tl.arange(0, GROUP)
    if DEPTH == 2 * WIDTH:
        digits_of_rows = tl.load(
            digits + row[:, None].to(tl.int64) * DEPTH + depth[None, :],
            mask=valid[:, None], other=0,
        )  # fmt: skip
    for first in range(group * groups, (group + 1) * groups):
        least = tl.full((ROWS, GROUP), _FAR, tl.int32)
        for j in range(GROUP):
            tile = first * GROUP + j
            h = tile * TILE + tl.arange(0, TILE)
            if DEPTH == 2 * WIDTH:
                table_rows = tl.load(table + h[:, None].to(tl.int64) * DEPTH + depth[None, :])
                scores = tl.dot(digits_of_rows, tl.trans(table_rows), out_dtype=tl.int32)
            else:
                scores = _scores_in_parts(digits, table, row, valid, h, WIDTH, DEPTH, ROWS, TILE)
            scores += tl.load(costs + h)[None, :]
            best = tl.min(scores, axis=1)
            least = tl.where(places[None, :] == j, best[:, None], least)
        column = first * GROUP + places
        tl.store(
            minima + row[:, None].to(tl.int64) * tiles + column[None, :], least,
            mask=valid[:, None] & (column < tiles)[None, :],
        )  # fmt: skip


@kernel("lead", "size")
def resolve_kernel(
    minima: tl.tensor, noise: tl.tensor, table: tl.tensor, costs: tl.tensor, choice: tl.tensor,
    tiles: tl.tensor, lead: tl.tensor, size: tl.tensor, WIDTH: tl.constexpr, TILE: tl.constexpr,
    CHUNK: tl.constexpr,
) -> None:  # fmt: skip
    """choice[row] = the first hypothesis of least cost, from all tiles that may contain it.

    ``lead`` is s/2 + 2, or large enough to search every tile.
    """
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.arange(0, CHUNK)
    least = tl.full((CHUNK,), _FAR, tl.int32)
    for start in range(0, tiles, CHUNK):
        minima_of_chunk = tl.load(
            minima + row * tiles + start + chunk, mask=start + chunk < tiles, other=_FAR
        )
        least = tl.minimum(least, minima_of_chunk)
    limit = tl.min(least).to(tl.int64) + lead
    q = tl.arange(0, WIDTH)
    numbers = tl.load(noise + row * WIDTH + q)
    best = tl.full((), _NONE, tl.int64)
    chosen = tl.full((), 0, tl.int64)
    for start in range(0, tiles, CHUNK):
        minima_of_chunk = tl.load(
            minima + row * tiles + start + chunk, mask=start + chunk < tiles, other=_FAR
        )
        undecided = ((minima_of_chunk.to(tl.int64) < limit) & (start + chunk < tiles)).to(tl.int32)
        left = tl.max(undecided)
        while left > 0:
            # The tiles of a chunk in their order, so that the first of equals is found first.
            tile = tl.min(tl.where(undecided > 0, chunk, CHUNK))
            undecided = tl.where(chunk == tile, 0, undecided)
            left = tl.max(undecided)
            h = (start + tile).to(tl.int64) * TILE + tl.arange(0, TILE)
            bits = tl.load(table + h[:, None] * (2 * WIDTH) + q[None, :])
            scores = tl.sum(tl.where(bits != 0, numbers[None, :], 0), axis=1)
            scores += tl.load(costs + h, mask=h < size, other=0)
            scores = tl.where(h < size, scores, _NONE)
            lowest = tl.min(scores)
            first = tl.min(tl.where((scores == lowest) & (h < size), h, _NONE))
            better = lowest < best
            chosen = tl.where(better, first, chosen)
            best = tl.where(better, lowest, best)
    tl.store(choice + row, chosen)


# At most this many minima (tiles times draws) are stored at a time: a gigabyte.
MINIMA_AT_ONCE = 1 << 28
LARGEST_SUM = 2.0**62
EVERY_TILE = 1 << 40
# Up to here the sums of short integers stay below 2^30.
MOST_SEPARATORS = 1 << 14
# How many rows and tiles a program searches at a time.
ROWS, GROUP = 128, 8


class DeviceList:
    """A class whose predictions on the separating set are on the device, as 8-bit integers.

    The row of a hypothesis is h(q) for all q, then 127·h(q); both padded with zeros.
    """

    def __init__(self, on_set: Any) -> None:
        self.size, self.points = on_set.shape
        self.width = max(16, triton.next_power_of_2(self.points))
        self.depth = min(2 * self.width, 128)
        # By measurement.
        self.tile, self.groups = (128, 8) if self.size >= 1 << 16 else (64, 1)
        self.tiles = -(-self.size // self.tile)
        self.parts = -(-self.tiles // (GROUP * self.groups))
        self.padded = self.parts * GROUP * self.groups * self.tile
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
        first_draw: int, draws: int, every: bool = False,
    ) -> Any:  # fmt: skip
        """The places in the list of draws of a purpose.

        ``costs`` (int64), the noise's ``scale`` in units (float64) and the number of the round
        (int64) are tensors on the device, for which the host never waits. ``every`` searches all
        tiles, for sums beyond 2^62, which short integers cannot certify.
        """
        noise, digits, least, choice = self.space(draws)
        noise_kernel[(triton.cdiv(draws * self.width, 256),)](
            noise, digits, scale, round_, first_draw, draws, purpose, seed & 0xFFFFFFFF,
            seed >> 32, self.points, copies, WIDTH=self.width, BLOCK=256, num_warps=4, **EXACT,
        )  # fmt: skip
        costs_kernel[(triton.cdiv(self.padded, 1024),)](
            costs, costs.amin(), scale, self.short_costs, self.size, self.padded, self.points,
            copies, BLOCK=1024, **EXACT,
        )  # fmt: skip
        minima_kernel[(triton.cdiv(draws, ROWS) * self.parts,)](
            digits, self.table, self.short_costs, least, draws, self.tiles, self.groups,
            WIDTH=self.width, DEPTH=self.depth, ROWS=ROWS, TILE=self.tile, GROUP=GROUP,
            num_warps=4, num_stages=3,
        )  # fmt: skip
        chunk = min(1024, max(16, triton.next_power_of_2(self.tiles)))
        resolve_kernel[(draws,)](
            least, noise, self.table, costs, choice, self.tiles,
            EVERY_TILE if every else self.points // 2 + 2, self.size, WIDTH=self.width,
            TILE=self.tile, CHUNK=chunk, num_warps=4,
        )  # fmt: skip
        return choice

    def choices(self, costs: Any, noise: Noise, first_draw: int, draws: int) -> Any:
        """The places of the draws in the list, for costs on the device.

        One thread at a time, since the work space is shared.
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
_PLACING = Lock()


def list_on_device(listed: Listed) -> DeviceList:
    """The class on the device, kept there as long as it is in use; once for all threads."""
    with _PLACING:
        device_list = _LISTS.get(listed)
        if device_list is None:
            device_list = _LISTS[listed] = DeviceList(listed.separating_points().T)
        return device_list


def approvals(
    hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points, draws: range
) -> Bits:
    if not isinstance(hypotheses, Listed) or hypotheses.separators > MOST_SEPARATORS:
        from likewise.learner.oracle import load_engine

        return load_engine("compiled").approvals(hypotheses, costs, noise, points, draws)
    on_device = torch.as_tensor(np.array(costs), device=device())
    chosen = list_on_device(hypotheses).choices(on_device, noise, draws.start, len(draws))
    predictions = torch.as_tensor(np.array(points, dtype=np.uint8), device=device())
    approved: Bits = predictions[:, chosen].T.contiguous().cpu().numpy()
    return approved
