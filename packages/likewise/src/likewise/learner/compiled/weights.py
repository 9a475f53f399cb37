"""Exponential weights over lists: the reference engine's integers, computed as costs are read.

For a long list, a round reads costs and predictions twice, to decide and to charge, and writes
costs once; no weight is written to memory. All cores share the work.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.hypotheses.base import Bits, GibbsPolicy, Points, pick
from likewise.learner.compiled import vectors
from likewise.learner.compiled.noise import member_drawn, noise_of
from likewise.learner.compiled.vectors import compiled
from likewise.numerics.fixed_point import LN2, FloatArray, IntArray, read_only
from likewise.numerics.randomness import Stream

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {"vectors": "d620405a0e601aa7"}

# How many weights are computed at a time: they stay in the nearest cache.
BLOCK = 1024

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# An integer n < 2^32 in the mantissa of 2^52 is the float 2^52 + n, in that of 2^84 2^84 + n·2^32.
_OF_52, _OF_84 = np.uint64(0x4330000000000000), np.uint64(0x4530000000000000)
_TWO_52, _TWO_84_AND_52 = 4503599627370496.0, 19342813118337666422669312.0
_MANTISSA_BITS = np.uint64(52)
# The exponent of 2^40, on top of float64's own 1023.
_EXPONENT = np.uint64(1023 + 40)
# After this many halvings nothing is left of 2^40.
_MOST_HALVINGS = 60.0
_NOTHING = 1000.0


def _reciprocal(n: int) -> tuple[float, float]:
    """1/n as the sum of two floats."""
    high = 1.0 / n
    return high, float(Fraction(1, n) - Fraction(high))


_H14, _L14 = _reciprocal(14)
_H13, _L13 = _reciprocal(13)
_H12, _L12 = _reciprocal(12)
_H11, _L11 = _reciprocal(11)
_H10, _L10 = _reciprocal(10)
_H9, _L9 = _reciprocal(9)
_H7, _L7 = _reciprocal(7)
_H6, _L6 = _reciprocal(6)
_H5, _L5 = _reciprocal(5)
_H3, _L3 = _reciprocal(3)


@compiled
def _far(costs: Any, lowest: Any, temperature: Any, out: Any) -> None:
    """(cost − lowest)/temperature; the difference, of 64 bits, is rounded once, as in numpy."""
    for i in range(len(out)):
        excess = np.uint64(costs[i] - lowest)
        high = vectors.float_of_bits((excess >> _HALF) | _OF_84) - _TWO_84_AND_52
        out[i] = (high + vectors.float_of_bits((excess & _LOW) | _OF_52)) / temperature


@compiled
def _further(inverse: Any, nearest: Any, out: Any) -> None:
    """Add ln(1/prior) to the distances, and subtract the least sum."""
    for i in range(len(out)):
        out[i] = (out[i] + inverse[i]) - nearest


@compiled
def _divided(x: Any, high: Any, low: Any) -> Any:
    """RN(x/n) for 1/n = high + low, as above."""
    return vectors.fused(x, high, x * low)


@compiled
def weights_of(far: Any, out: Any) -> None:
    """round(2^40·exp(−far)), by the steps of fixed_point.exp_negative."""
    for i in range(len(out)):
        x = far[i] if far[i] < _NOTHING else _NOTHING
        halvings = np.rint(x / LN2)
        rest = halvings * LN2 - x
        s = 1.0 + _divided(rest, _H14, _L14)
        s = 1.0 + _divided(s * rest, _H13, _L13)
        s = 1.0 + _divided(s * rest, _H12, _L12)
        s = 1.0 + _divided(s * rest, _H11, _L11)
        s = 1.0 + _divided(s * rest, _H10, _L10)
        s = 1.0 + _divided(s * rest, _H9, _L9)
        s = 1.0 + s * rest * 0.125
        s = 1.0 + _divided(s * rest, _H7, _L7)
        s = 1.0 + _divided(s * rest, _H6, _L6)
        s = 1.0 + _divided(s * rest, _H5, _L5)
        s = 1.0 + s * rest * 0.25
        s = 1.0 + _divided(s * rest, _H3, _L3)
        s = 1.0 + s * rest * 0.5
        s = 1.0 + s * rest
        halvings = halvings if halvings < _MOST_HALVINGS else _MOST_HALVINGS
        shift = vectors.bits_of_float(halvings + _TWO_52) - _OF_52
        power = vectors.float_of_bits((_EXPONENT - shift) << _MANTISSA_BITS)
        # Added to 2^52 it is rounded to an integer, halves to even.
        out[i] = np.int64(vectors.bits_of_float(s * power + _TWO_52) - _OF_52)


@compiled
def _total(weights: Any) -> Any:
    total = np.int64(0)
    for i in range(len(weights)):
        total += weights[i]
    return total


@compiled
def _approving(weights: Any, bits: Any) -> Any:
    total = np.int64(0)
    for i in range(len(weights)):
        total += weights[i] if bits[i] != 0 else np.int64(0)
    return total


@compiled
def least_far(policy: Any, start: Any, stop: Any, far: Any) -> Any:
    """The least of (cost − lowest)/temperature + ln(1/prior) of some hypotheses."""
    costs, inverse, lowest, temperature, _ = policy
    least = np.inf
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        block = far[: end - begin]
        _far(costs[begin:end], lowest, temperature, block)
        for i in range(end - begin):
            distance = block[i] + inverse[begin + i]
            least = distance if distance < least else least
    return least


@compiled
def weigh(policy: Any, begin: Any, end: Any, far: Any, out: Any) -> None:
    """The weights of one block of hypotheses."""
    costs, inverse, lowest, temperature, nearest = policy
    block = far[: end - begin]
    _far(costs[begin:end], lowest, temperature, block)
    if len(inverse) > 0:
        _further(inverse[begin:end], nearest, block)
    weights_of(block, out[: end - begin])


@compiled
def add_up(
    policy: Any, points: Any, start: Any, stop: Any, far: Any, weights: Any, totals: Any, parts: Any
) -> None:
    """totals[block] = all weight of a block; parts[i] += the weight that approves point i."""
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        weigh(policy, begin, end, far, weights)
        block = weights[: end - begin]
        totals[begin // BLOCK] = _total(block)
        for i in range(len(points)):
            parts[i] += _approving(block, points[i, begin:end])


@compiled
def weigh_short(costs: Any, inverse: Any, temperature: Any, out: Any) -> None:
    """All weights of a short list."""
    far = np.empty(len(out))
    _far(costs, costs.min(), temperature, far)
    if len(inverse) > 0:
        _further(inverse, (far + inverse).min(), far)
    weights_of(far, out)


@compiled
def approve_short(weights: Any, points: Any, parts: Any) -> Any:
    """Set parts[i] to the weight that approves point i, and return the sum of all weights."""
    for i in range(len(points)):
        parts[i] = _approving(weights, points[i])
    return _total(weights)


@compiled
def charge_kernel(costs: Any, points: Any, amounts: Any, start: Any, stop: Any, out: Any) -> None:
    """out[h] = costs[h] + Σ_i amounts[i]·points[i, h]."""
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        block = out[begin:end]
        block[:] = costs[begin:end]
        for i in range(len(points)):
            bits, amount = points[i, begin:end], amounts[i]
            for j in range(end - begin):
                block[j] += amount if bits[j] != 0 else np.int64(0)


# The number of hypotheses that take about as long as waking a thread.
PIECE = 1 << 15


def _shared(task: Any, size: int) -> None:
    """Run task(start, stop) over all hypotheses, on several threads if there are many."""
    if size <= PIECE:
        task(0, size)
        return
    vectors.share_out(
        lambda start, length: task(start, start + length), vectors.pieces(size, 8 * PIECE, BLOCK)
    )


def _bits(points: Points) -> Bits:
    """Predictions in one type, so that kernels are compiled once."""
    rows = np.ascontiguousarray(points, dtype=np.uint8)
    return rows.view() if rows.flags.writeable else rows.copy()


class ListPolicy(GibbsPolicy):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature) over a list, without stored weights.

    ``inverse`` is ln(1/prior(h)) of every hypothesis, None for a flat prior. The fractions and
    draws are those of :meth:`likewise.hypotheses.Listed.weigh`.
    """

    def __init__(self, costs: IntArray, temperature: float, inverse: FloatArray | None) -> None:
        self.size = len(costs)
        priors: FloatArray = np.zeros(0) if inverse is None else inverse
        fields = (read_only(costs), priors.view(), np.int64(costs.min()), float(temperature))
        self._policy: tuple[Any, ...] = (*fields, 0.0)
        if inverse is not None:
            self._policy = (*fields, self._nearest())

    def _nearest(self) -> float:
        distances: list[float] = []

        def task(start: int, stop: int) -> None:
            distances.append(least_far(self._policy, start, stop, np.empty(BLOCK)))

        _shared(task, self.size)
        return min(distances)

    def _add_up(self, points: Bits) -> tuple[IntArray, IntArray]:
        """The weight of every block, and that of the hypotheses which approve each point."""
        totals = np.empty(-(-self.size // BLOCK), dtype=np.int64)
        sums: list[IntArray] = []

        def task(start: int, stop: int) -> None:
            parts = np.zeros(len(points), dtype=np.int64)
            far, weights = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int64)
            add_up(self._policy, points, start, stop, far, weights, totals, parts)
            sums.append(parts)

        _shared(task, self.size)
        return totals, np.sum(sums, axis=0, dtype=np.int64)

    @cached_property
    def _totals(self) -> IntArray:
        return self._add_up(np.zeros((0, self.size), dtype=np.uint8))[0]

    def approval(self, points: Points) -> list[tuple[int, int]]:
        self._totals, parts = self._add_up(_bits(points))
        total = int(self._totals.sum())
        return [(part, total) for part in parts.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Pick one hypothesis by weight: its block, and then it."""
        number = stream.below(int(self._totals.sum()), draw)
        block = pick(self._totals, number)
        begin = block * BLOCK
        end = min(self.size, begin + BLOCK)
        weights: npt.NDArray[np.int64] = np.empty(BLOCK, dtype=np.int64)
        weigh(self._policy, begin, end, np.empty(BLOCK), weights)
        member = begin + pick(weights[: end - begin], number - int(self._totals[:block].sum()))
        return np.asarray(points[:, member], dtype=np.uint8)


class ShortListPolicy(GibbsPolicy):
    """The same over a list that is short enough to store all weights."""

    def __init__(self, costs: IntArray, temperature: float, inverse: FloatArray | None) -> None:
        priors: FloatArray = np.zeros(0) if inverse is None else inverse
        self._weights = np.empty(len(costs), dtype=np.int64)
        weigh_short(read_only(costs), priors.view(), temperature, self._weights)

    def approval(self, points: Points) -> list[tuple[int, int]]:
        parts = np.empty(len(points), dtype=np.int64)
        total = int(approve_short(self._weights, _bits(points), parts))
        return [(part, total) for part in parts.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        member = member_drawn(self._weights, noise_of(stream, draw))
        return np.asarray(points[:, member], dtype=np.uint8)


def charge(costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
    """A new array of costs, with each amount added where a hypothesis predicts 1 on its point."""
    charged, old, bits = np.empty_like(costs), read_only(costs), _bits(points)
    sizes = np.array(amounts, dtype=np.int64)
    _shared(lambda start, stop: charge_kernel(old, bits, sizes, start, stop, charged), len(costs))
    return charged
