"""Exponential weights over a list, a block at a time: loops that use vector instructions.

The operations are those of :func:`likewise.hypotheses.weights.gibbs_weights`, to the bit. Its
series divides by 14, 13, …, 1, which would take most of the time; a quotient x/n is here the sum of
two products, RN(x·h + RN(x·l)) with h = RN(1/n) and l = RN(1/n − h), of which the first is not
rounded (a fused multiply-add).

**That is RN(x/n) for every n up to 14.** Before its last rounding the sum is off by less than
2^-105 of the quotient, which is 2^-52 of a unit in its last place. A point half way between two
floats is m·2^e with an odd m of 54 bits; a unit in the last place is 2·2^e there. The quotient
never is such a point: n·m would have more than the 53 bits of x, since n has an odd factor of 3 or
more (where it has none, h = 1/n and l = 0, and there is nothing to show). As |x| is at least the
quotient, x and n·m·2^e are both multiples of 2^e, so the quotient differs from the point by 2^e/n
or more, a 28th of a unit at least: quotient and sum round to the same float. Where x is so small
that RN(x·l) loses bits, 1 + x/n is 1 either way.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from likewise.oracles.engines.compiled.compilation import compiled
from likewise.oracles.engines.compiled.vectors import bits_of_float, float_of_bits, fused
from likewise.portable_math import LN2

# Digests of the files that are built in here: see compilation.py.
BUILT_IN = {"vectors": "abd0799ac6ec5335"}

# Hypotheses whose weights are made at a time: they stay in the nearest cache.
BLOCK = 1024

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# An integer n < 2^32 in the mantissa of 2^52 is the float 2^52 + n, in that of 2^84 2^84 + n·2^32.
_OF_52, _OF_84 = np.uint64(0x4330000000000000), np.uint64(0x4530000000000000)
_TWO_52, _TWO_84_AND_52 = 4503599627370496.0, 19342813118337666422669312.0
_MANTISSA_BITS = np.uint64(52)
# The exponent of 2^40, on top of float64's own 1023.
_EXPONENT = np.uint64(1023 + 40)
# Beyond so many halvings of 2^40 nothing is left.
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
def _far(costs: Any, lowest: Any, temperature: Any, out: Any) -> None:  # pragma: no cover
    """(cost − lowest)/temperature; the difference, of 64 bits, is rounded once, as in numpy."""
    for i in range(len(out)):
        excess = np.uint64(costs[i] - lowest)
        high = float_of_bits((excess >> _HALF) | _OF_84) - _TWO_84_AND_52
        out[i] = (high + float_of_bits((excess & _LOW) | _OF_52)) / temperature


@compiled
def _further(inverse: Any, nearest: Any, out: Any) -> None:  # pragma: no cover
    """The same with ln(1/prior), the least of all being 0."""
    for i in range(len(out)):
        out[i] = (out[i] + inverse[i]) - nearest


@compiled
def _divided(x: Any, high: Any, low: Any) -> Any:  # pragma: no cover
    """RN(x/n) for 1/n = high + low, as above."""
    return fused(x, high, x * low)


@compiled
def weights_of(far: Any, out: Any) -> None:  # pragma: no cover
    """round(2^40·exp(−far)), by the steps of portable_math.exp_negative."""
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
        shift = bits_of_float(halvings + _TWO_52) - _OF_52
        power = float_of_bits((_EXPONENT - shift) << _MANTISSA_BITS)
        # Added to 2^52 it is rounded to an integer, halves to even.
        out[i] = np.int64(bits_of_float(s * power + _TWO_52) - _OF_52)


@compiled
def _total(weights: Any) -> Any:  # pragma: no cover
    total = np.int64(0)
    for i in range(len(weights)):
        total += weights[i]
    return total


@compiled
def _approving(weights: Any, bits: Any) -> Any:  # pragma: no cover
    total = np.int64(0)
    for i in range(len(weights)):
        total += weights[i] if bits[i] != 0 else np.int64(0)
    return total


@compiled
def least_far(policy: Any, start: Any, stop: Any, far: Any) -> Any:  # pragma: no cover
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
def weigh(policy: Any, begin: Any, end: Any, far: Any, out: Any) -> None:  # pragma: no cover
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
) -> None:  # pragma: no cover
    """totals[block] = all weight of a block; parts[i] += the weight that approves point i."""
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        weigh(policy, begin, end, far, weights)
        block = weights[: end - begin]
        totals[begin // BLOCK] = _total(block)
        for i in range(len(points)):
            parts[i] += _approving(block, points[i, begin:end])


@compiled
def weigh_short(costs: Any, inverse: Any, temperature: Any, out: Any) -> None:  # pragma: no cover
    """All weights of a list that is short enough to write them down."""
    far = np.empty(len(out))
    _far(costs, costs.min(), temperature, far)
    if len(inverse) > 0:
        _further(inverse, (far + inverse).min(), far)
    weights_of(far, out)


@compiled
def approve_short(weights: Any, points: Any, parts: Any) -> Any:  # pragma: no cover
    """parts[i] = the weight that approves point i; the sum of all weights is returned."""
    for i in range(len(points)):
        parts[i] = _approving(weights, points[i])
    return _total(weights)


@compiled
def charge(
    costs: Any, points: Any, amounts: Any, start: Any, stop: Any, out: Any
) -> None:  # pragma: no cover
    """out[h] = costs[h] + Σ_i amounts[i]·points[i, h]."""
    for begin in range(start, stop, BLOCK):
        end = min(stop, begin + BLOCK)
        block = out[begin:end]
        block[:] = costs[begin:end]
        for i in range(len(points)):
            bits, amount = points[i, begin:end], amounts[i]
            for j in range(end - begin):
                block[j] += amount if bits[j] != 0 else np.int64(0)
