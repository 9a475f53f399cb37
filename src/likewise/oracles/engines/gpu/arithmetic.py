"""Arithmetic of the reference engine on a GPU: Philox, the logarithm, the exponential, to the bit.

No kernel that uses it may contract a product and a sum into one operation: all are launched with
``enable_fp_fusion=False`` (:data:`EXACT`). Divisions and roots of float64 are rounded as IEEE 754
asks for, and constants are float64.
"""

from __future__ import annotations

from likewise.oracles.engines.gpu.libraries import kernel, tl
from likewise.portable_math import LN2
from likewise.randomness import MULTIPLIERS, PHILOX_ROUNDS, WEYL

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
def rint(x: tl.tensor) -> tl.tensor:  # pragma: no cover
    """The nearest integer, halves to even: from 2^52 on, every float64 is an integer."""
    size = tl.abs(x)
    rounded = (size + _TWO_52) - _TWO_52
    rounded = tl.where(size < _TWO_52, rounded, size)
    return tl.where(x < 0, -rounded, rounded)


@kernel()
def laplace_of(word: tl.tensor) -> tl.tensor:  # pragma: no cover
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
    block: tl.tensor,
    draw: tl.tensor,
    round_: tl.tensor,
    purpose: tl.tensor,
    key0: tl.tensor,
    key1: tl.tensor,
    part: tl.tensor,
) -> tl.tensor:  # pragma: no cover
    """Philox 4x32-10: word ``part`` of a block."""
    c0, c1 = block.to(tl.uint32), draw.to(tl.uint32)
    c2 = tl.zeros_like(c0) + round_.to(tl.uint32)
    c3 = purpose.to(tl.uint32)
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


@kernel()
def weight_of(
    cost: tl.tensor, lowest: tl.tensor, temperature: tl.tensor
) -> tl.tensor:  # pragma: no cover
    """An integer weight, as hypotheses.weights.gibbs_weights: round(2^40·exp(−excess/temperature)).

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
    total: tl.tensor,
    round_: tl.tensor,
    draw: tl.tensor,
    purpose: tl.tensor,
    key0: tl.tensor,
    key1: tl.tensor,
) -> tl.tensor:  # pragma: no cover
    """An integer uniformly below the total, as Stream.below."""
    nothing = tl.zeros((1,), tl.int32)
    high = word_of(nothing, nothing + draw, round_, nothing + purpose, key0, key1, nothing)
    low = word_of(nothing, nothing + draw, round_, nothing + purpose, key0, key1, nothing + 1)
    word = (tl.sum(high.to(tl.uint64)) << 32) | tl.sum(low.to(tl.uint64))
    return tl.umulhi(word, total.to(tl.uint64)).to(tl.int64)


@kernel()
def least_of(
    minima: tl.tensor, count: tl.tensor, CHUNK: tl.constexpr
) -> tl.tensor:  # pragma: no cover
    """The least of some integers."""
    place = tl.arange(0, CHUNK)
    least = tl.full((CHUNK,), _NONE, tl.int64)
    for start in range(0, count, CHUNK):
        valid = start + place < count
        least = tl.minimum(least, tl.load(minima + start + place, mask=valid, other=_NONE))
    return tl.min(least)
