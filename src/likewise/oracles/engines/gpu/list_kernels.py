"""Draws from a list on a GPU: noise as digits, the least score of every tile, the exact choice.

The same certificate as on the CPU (:mod:`likewise.oracles.engines.compiled.lists`): noise and costs
are multiplied by a factor f and rounded, N_q = rint(f·n_q) and C_h = rint(f·c_h), and sums of
integers are exact, on the matrix units too. N = 127·d₁ + d₀ has two digits of 8 bits, and a
hypothesis two entries for every point, h(q) and 127·h(q): one product of 8-bit integers gives
Σ_q N_q·h(q). Of every tile of hypotheses only the least score is kept. The difference of two scores
is off by at most (s + 2)·(1/2 + 2^-20) < s/2 + 2, so the choice lies in a tile whose least score
exceeds the least of all by less than s/2 + 2; usually there is one such tile. Its hypotheses, and
those of the others if there are more, are added up again in int64, as they are.
"""

from __future__ import annotations

from likewise.oracles.engines.gpu.arithmetic import laplace_of, least_of, rint, word_of
from likewise.oracles.engines.gpu.libraries import kernel, tl

BASE = 127
LARGEST_NUMBER = BASE * BASE + BASE // 2
# |z| < 22.1808, see randomness.laplace.
LARGEST_LAPLACE = 22.19

_BASE = tl.constexpr(BASE)
_LARGEST_NUMBER = tl.constexpr(float(LARGEST_NUMBER))
_LARGEST_LAPLACE = tl.constexpr(LARGEST_LAPLACE)
_FAR = tl.constexpr((1 << 31) - 1)
_NONE = tl.constexpr((1 << 63) - 1)


@kernel()
def _factor(scale: tl.tensor, copies: tl.tensor) -> tl.tensor:  # pragma: no cover
    """f: numbers of LARGEST_NUMBER at most, for noise of the largest size that there can be."""
    largest = copies.to(tl.float64) * (_LARGEST_LAPLACE * scale + 0.5)
    return _LARGEST_NUMBER / largest


@kernel(
    "first_draw", "draws", "rows", "purpose", "second_purpose", "key0", "key1", "points", "copies"
)
def noise_kernel(
    noise: tl.tensor,
    digits: tl.tensor,
    scale: tl.tensor,
    round_: tl.tensor,
    first_draw: tl.tensor,
    draws: tl.tensor,
    rows: tl.tensor,
    purpose: tl.tensor,
    second_purpose: tl.tensor,
    key0: tl.tensor,
    key1: tl.tensor,
    points: tl.tensor,
    copies: tl.tensor,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:  # pragma: no cover
    """noise[row, q] in units, and its digits[row, 2·WIDTH]: the first, then the second of each.

    Rows are draws first_draw, first_draw + 1, … of the purpose; those from ``draws`` on are draws
    0, 1, … of the second purpose. Columns from ``points`` on are 0.
    """
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row, q = place // WIDTH, place % WIDTH
    valid = row < rows
    unit = tl.load(scale)
    number_of_round = tl.load(round_)
    draw = tl.where(row < draws, first_draw + row, row - draws)
    of = tl.where(row < draws, purpose, second_purpose)
    total = tl.zeros((BLOCK,), tl.int64)
    for copy in range(copies):
        position = q * copies + copy
        word = word_of(position // 4, draw, number_of_round, of, key0, key1, position % 4)
        total += rint(laplace_of(word) * unit).to(tl.int64)
    total = tl.where(q < points, total, 0)
    tl.store(noise + place, total, mask=valid)
    short = rint(total.to(tl.float64) * _factor(unit, copies)).to(tl.int32)
    second = rint(short.to(tl.float64) / _BASE).to(tl.int32)
    first = short - _BASE * second
    tl.store(digits + row * (2 * WIDTH) + q, first.to(tl.int8), mask=valid)
    tl.store(digits + row * (2 * WIDTH) + WIDTH + q, second.to(tl.int8), mask=valid)


@kernel("size", "padded", "points", "copies", "count")
def costs_kernel(
    costs: tl.tensor,
    minima: tl.tensor,
    count: tl.tensor,
    scale: tl.tensor,
    out: tl.tensor,
    size: tl.tensor,
    padded: tl.tensor,
    points: tl.tensor,
    copies: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # pragma: no cover
    """out[h] = rint(f·(c_h − lowest)), cut off where h can never be chosen; padding is far away.

    The lowest cost is the least of ``count`` minima, such as one for each block of hypotheses.
    """
    h = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    unit = tl.load(scale)
    above = tl.load(costs + h, mask=h < size, other=0) - least_of(minima, count, 256)
    # Σ_q |n_q| is at most this, and so is the difference of two hypotheses' noise.
    spread = points.to(tl.float64) * copies.to(tl.float64) * (_LARGEST_LAPLACE * unit + 0.5)
    cut = tl.minimum(above, spread.to(tl.int64) + 1)
    short = rint(cut.to(tl.float64) * _factor(unit, copies)).to(tl.int32)
    tl.store(out + h, tl.where(h < size, short, _FAR // 2), mask=h < padded)


@kernel("rows", "groups")
def minima_kernel(
    digits: tl.tensor,
    table: tl.tensor,
    costs: tl.tensor,
    minima: tl.tensor,
    rows: tl.tensor,
    tiles: tl.tensor,
    groups: tl.tensor,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    GROUP: tl.constexpr,
) -> None:  # pragma: no cover
    """minima[row, tile] = the least of costs[h] + Σ digits[row]·table[h] over a tile of TILE.

    A program takes ROWS rows through GROUP tiles at a time, of which the minima are written
    together; programs that run at the same time share their tiles in the cache.
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
                scores = tl.zeros((ROWS, TILE), tl.int32)
                for start in range(0, 2 * WIDTH, DEPTH):
                    part = tl.load(
                        digits + row[:, None].to(tl.int64) * (2 * WIDTH) + start + depth[None, :],
                        mask=valid[:, None], other=0,
                    )  # fmt: skip
                    table_rows = tl.load(
                        table + h[:, None].to(tl.int64) * (2 * WIDTH) + start + depth[None, :]
                    )
                    scores = tl.dot(part, tl.trans(table_rows), acc=scores, out_dtype=tl.int32)
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
    minima: tl.tensor,
    noise: tl.tensor,
    table: tl.tensor,
    costs: tl.tensor,
    choice: tl.tensor,
    tiles: tl.tensor,
    lead: tl.tensor,
    size: tl.tensor,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    CHUNK: tl.constexpr,
) -> None:  # pragma: no cover
    """choice[row]: the first hypothesis of least cost, from all tiles that may contain it.

    ``lead`` is s/2 + 2, or so large that every tile is looked at.
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
