"""The compiled engine: the reference engine's arithmetic, step for step, in numba.

The loops run over lanes of draws, which is what lets the compiler use vector instructions. No
``fastmath``: every operation is the one that numpy does, so every bit is the same. Classes that
have no kernel here run on the reference engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import ONE, IntArray
from likewise.hypotheses import Bits, HypothesisClass, Listed, Points, Segments, Staircases
from likewise.oracles.engines import compiled_staircases, reference
from likewise.oracles.engines.compilation import compiled
from likewise.portable_math import LN2
from likewise.randomness import MULTIPLIERS, PHILOX_ROUNDS, WEYL, Noise

__all__ = ["approvals"]

LANES = 256
EXACT_FLOAT = 1 << 53

_M0, _M1 = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])
_W0, _W1 = np.uint64(WEYL[0]), np.uint64(WEYL[1])
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BIT = np.uint64(1)
# Bits of a float64: 52 of the mantissa, and the exponent that frexp calls 0.
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)
_EXPONENT_0 = np.int64(0x3FE0000000000000)
_SQRT_HALF = 0.7071067811865476


@compiled
def _words(key: Any, fixed: Any, block: Any, draw0: Any, out: Any) -> None:  # pragma: no cover
    """The four words of one block of positions, for a lane of draws: out[4, lanes]."""
    purpose, round_ = fixed
    for lane in range(out.shape[1]):
        c0, c1 = block, draw0 + np.uint64(lane)
        c2, c3 = round_, purpose
        k0, k1 = key & _LOW, key >> _HALF
        for _ in range(PHILOX_ROUNDS):
            p0 = c0 * _M0
            p1 = c2 * _M1
            c0 = (p1 >> _HALF) ^ c1 ^ k0
            c2 = (p0 >> _HALF) ^ c3 ^ k1
            c1 = p1 & _LOW
            c3 = p0 & _LOW
            k0 = (k0 + _W0) & _LOW
            k1 = (k1 + _W1) & _LOW
        out[0, lane] = c0
        out[1, lane] = c1
        out[2, lane] = c2
        out[3, lane] = c3


@compiled
def _add_laplace(words: Any, scale: Any, work: Any, out: Any) -> None:  # pragma: no cover
    """Add rint(scale·z) to a lane; the logarithm is that of portable.log_array.

    Three plain loops over separate arrays: in one loop the compiler would not vectorise.
    """
    number, power, mantissa = work[0], work[1], work[2]
    number_bits, mantissa_bits = number.view(np.int64), mantissa.view(np.int64)
    for lane in range(len(words)):
        number[lane] = np.float64(np.int64(words[lane] >> _BIT)) + 0.5
    for lane in range(len(words)):
        power[lane] = np.float64((number_bits[lane] >> 52) - 1022)
        mantissa_bits[lane] = (number_bits[lane] & _MANTISSA) | _EXPONENT_0
    for lane in range(len(words)):
        low = mantissa[lane] < _SQRT_HALF
        m = mantissa[lane] * 2.0 if low else mantissa[lane]
        p = power[lane] - 1.0 if low else power[lane]
        s = (m - 1.0) / (m + 1.0)
        q = s * s
        series = 1.0 / 17.0
        series = series * q + 1.0 / 15.0
        series = series * q + 1.0 / 13.0
        series = series * q + 1.0 / 11.0
        series = series * q + 1.0 / 9.0
        series = series * q + 1.0 / 7.0
        series = series * q + 1.0 / 5.0
        series = series * q + 1.0 / 3.0
        series = series * q + 1.0
        magnitude = 31.0 * LN2 - (p * LN2 + 2.0 * s * series)
        sign = 1.0 - 2.0 * np.float64(np.int64(words[lane] & _BIT))
        out[lane] += np.int64(np.rint(sign * magnitude * scale))


@compiled
def _fill(
    key: Any, fixed: Any, scale: Any, copies: Any, first: Any, draw0: Any, out: Any
) -> None:  # pragma: no cover
    """Noise on the points first, first+1, … for a lane of draws: out[points, lanes]."""
    points, lanes = out.shape
    words = np.empty((4, lanes), dtype=np.uint64)
    work = np.empty((3, lanes), dtype=np.float64)
    out[:, :] = 0
    begin, end = first * copies, (first + points) * copies
    for block in range(begin // 4, (end + 3) // 4):
        _words(key, fixed, np.uint64(block), draw0, words)
        for part in range(4):
            word = 4 * block + part
            if begin <= word < end:
                _add_laplace(words[part], scale, work, out[word // copies - first])


@compiled
def _segments(
    costs: Any, bins: Any, points: Any, key: Any, fixed: Any, scale: Any, copies: Any,
    first_draw: Any, approved: Any,
) -> None:  # fmt: skip  # pragma: no cover
    """approved[draw, person] for the segments that the people are in, and no others."""
    draws, people = approved.shape
    noise = np.empty((bins, LANES), dtype=np.int64)
    total = np.empty(LANES, dtype=np.int64)
    least = np.empty(LANES, dtype=np.int64)
    threshold = np.empty(LANES, dtype=np.int64)
    segments = np.unique(points // bins)
    for start in range(0, draws, LANES):
        lanes = min(LANES, draws - start)
        for segment in segments:
            # Whole lanes always, contiguous, which the compiler vectorises; the rest is not read.
            draw0 = np.uint64(first_draw + start)
            _fill(key, fixed, scale, copies, segment * bins, draw0, noise)
            for lane in range(LANES):
                total[lane] = 0
                least[lane] = 0
                threshold[lane] = bins
            for j in range(bins - 1, -1, -1):
                cost = costs[segment * bins + j]
                for lane in range(LANES):
                    total[lane] += cost + noise[j, lane]
                    better = total[lane] <= least[lane]
                    least[lane] = total[lane] if better else least[lane]
                    threshold[lane] = j if better else threshold[lane]
            for person in range(people):
                if points[person] // bins == segment:
                    for lane in range(lanes):
                        approved[start + lane, person] = points[person] % bins >= threshold[lane]


@compiled
def _noise_rows(
    points: Any, key: Any, fixed: Any, scale: Any, copies: Any, first_draw: Any, draws: Any
) -> Any:  # pragma: no cover
    """Noise on all points, shape (points, draws)."""
    out = np.empty((points, draws), dtype=np.int64)
    lanes = np.empty((points, LANES), dtype=np.int64)
    for start in range(0, draws, LANES):
        end = min(draws, start + LANES)
        _fill(key, fixed, scale, copies, 0, np.uint64(first_draw + start), lanes)
        out[:, start:end] = lanes[:, : end - start]
    return out


def _arguments(noise: Noise) -> tuple[Any, Any, Any, Any]:
    stream = noise.stream
    fixed = (np.uint64(int(stream.purpose)), np.uint64(stream.round))
    return np.uint64(stream.seed), fixed, noise.scale * ONE, noise.copies


def _listed(
    listed: Listed, costs: IntArray, noise: Noise, points: Points, first_draw: int, draws: int
) -> Bits:
    """A matrix product a block of draws: in float64, as long as every sum in it is exact."""
    approved = np.empty((draws, len(points)), dtype=np.uint8)
    by_member = np.ascontiguousarray(points.T)
    block = max(LANES, (1 << 20) // listed.size)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        rows: IntArray = _noise_rows(
            listed.separators, *_arguments(noise), first_draw + start, size
        )
        largest = int(np.abs(rows).sum(axis=0).max(initial=0)) + int(np.abs(costs).max())
        totals: npt.NDArray[Any]
        if largest < EXACT_FLOAT:
            totals = rows.T.astype(np.float64) @ listed.set_table.T
            totals += costs
        else:
            totals = rows.T @ listed.set_table.T.astype(np.int64) + costs
        approved[start : start + size] = by_member[np.argmin(totals, axis=1)]
    return approved


def approvals(
    hypotheses: HypothesisClass,
    costs: IntArray,
    noise: Noise,
    points: Points,
    first_draw: int,
    draws: int,
) -> Bits:
    """The predictions of some draws of h on each point, shape (draws, points)."""
    if isinstance(hypotheses, Segments):
        approved = np.empty((draws, len(points)), dtype=np.uint8)
        cells = np.ascontiguousarray(points, dtype=np.int64)
        _segments(costs, hypotheses.bins, cells, *_arguments(noise), first_draw, approved)
        return approved
    if isinstance(hypotheses, Staircases):
        key, fixed, scale, copies = _arguments(noise)

        def fill(cell: int, draw: int, out: IntArray) -> None:
            _fill(key, fixed, scale, copies, cell, np.uint64(first_draw + draw), out)

        cells = np.ascontiguousarray(points, dtype=np.int64)
        return compiled_staircases.approvals(hypotheses, costs, fill, cells, draws, LANES)
    if isinstance(hypotheses, Listed):
        return _listed(hypotheses, costs, noise, points, first_draw, draws)
    return reference.approvals(hypotheses, costs, noise, points, first_draw, draws)
