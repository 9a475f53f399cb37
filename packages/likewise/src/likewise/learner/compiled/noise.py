"""Laplace noise for lanes of draws, as in :mod:`likewise.numerics.randomness`.

The loops run over lanes of draws, without branches and tables, so that the compiler uses vector
instructions. A number takes about 1.5 ns on one core, most of it for the logarithm, whose
operations are fixed: the bits are those of the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.learner.compiled.vectors import REGISTER_BYTES, bits_of_float, compiled, float_of_bits
from likewise.numerics.fixed_point import LN2, ONE
from likewise.numerics.randomness import MULTIPLIERS, PHILOX_ROUNDS, WEYL, Noise, Stream

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {"vectors": "d620405a0e601aa7"}

LANES = 256
# Numbers of 64 bits in a register; and draws at a time: the noise of 20 or 32 points for so many is
# 10 or 16 kB, which the nearest cache holds.
WIDTH = REGISTER_BYTES // 8
AT_ONCE = 64

_M0, _M1 = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])
_W0, _W1 = np.uint64(WEYL[0]), np.uint64(WEYL[1])
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BIT, _SIGN = np.uint64(1), np.uint64(63)
# Bits of a float64. An integer n < 2^52 in the mantissa of 2^52 is the float 2^52 + n.
_MANTISSA_BITS = np.uint64(52)
_MANTISSA = np.uint64((1 << 52) - 1)
_AS_MANTISSA = np.uint64(0x4330000000000000)
_TWO_52_LESS_HALF = 4503599627370495.5
# sqrt(1/2), and the same 64 powers of two below, so that the difference to it is positive.
_SQRT_HALF = np.uint64(0x3FE6A09E667F3BCD)
_LOWEST = np.uint64(0x3FE6A09E667F3BCD - (64 << 52))
_TWO_52_AND_64 = 4503599627370560.0


@compiled
def philox_words(key: Any, fixed: Any, block: Any, draw0: Any, lanes: Any, out: Any) -> None:
    """The four words of one block of positions, for some draws: out[4, lane]."""
    purpose, round_ = fixed
    for lane in range(lanes):
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
def _laplace(words: Any, scale: Any, more: Any, out: Any) -> None:
    """rint(scale·z) for a lane, or one more of them; the logarithm is fixed_point.log_array's.

    Its mantissa is in [sqrt(1/2), sqrt(2)): with x = m·2^e, the bits of x less those of sqrt(1/2)
    have e above the mantissa's place, and the rest belongs to m.
    """
    for lane in range(len(out)):
        word = words[lane]
        number = float_of_bits((word >> _BIT) | _AS_MANTISSA) - _TWO_52_LESS_HALF
        above = bits_of_float(number) - _LOWEST
        power = float_of_bits((above >> _MANTISSA_BITS) | _AS_MANTISSA) - _TWO_52_AND_64
        m = float_of_bits((above & _MANTISSA) + _SQRT_HALF)
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
        magnitude = 31.0 * LN2 - (power * LN2 + 2.0 * s * series)
        signed = float_of_bits(bits_of_float(magnitude * scale) ^ (word << _SIGN))
        unit = np.int64(np.rint(signed))
        out[lane] = out[lane] + unit if more else unit


@compiled
def fill(source: Any, first: Any, draw: Any, words: Any, out: Any) -> None:
    """Noise on the points first, first+1, … for the draws from ``draw`` on: out[point, draw].

    ``words`` is work space, of the shape (4, LANES).
    """
    key, fixed, scale, copies, first_draw = source
    points, draws = out.shape
    begin, end = first * copies, (first + points) * copies
    for start in range(0, draws, LANES):
        stop = min(draws, start + LANES)
        draw0 = np.uint64(first_draw + draw + start)
        for block in range(begin // 4, (end + 3) // 4):
            philox_words(key, fixed, np.uint64(block), draw0, stop - start, words)
            for part in range(4):
                word = 4 * block + part
                if begin <= word < end:
                    row = out[word // copies - first]
                    _laplace(words[part], scale, word % copies > 0, row[start:stop])


def noise_of(stream: Stream, draw: int) -> tuple[Any, ...]:
    """One draw of a stream in the types that compiled code takes."""
    fixed = (np.uint64(int(stream.purpose)), np.uint64(stream.round))
    return np.uint64(stream.seed), fixed, np.uint64(draw)


def source_of(noise: Noise, first_draw: int) -> tuple[Any, ...]:
    """Noise from a draw on, as :func:`fill` takes it: ``Noise.sample`` transposed."""
    key, fixed, _ = noise_of(noise.stream, first_draw)
    return key, fixed, float(noise.scale * ONE), noise.copies, first_draw


@compiled
def below(n: Any, position: Any, noise: Any, words: Any) -> Any:
    """The integer below n at a position: the high half of a 64-bit number times n.

    ``words`` is work space, of the shape (4, 1).
    """
    key, fixed, draw = noise
    philox_words(key, fixed, np.uint64(position) >> _BIT, draw, 1, words)
    first = 2 * (position % 2)
    high, low, limit = words[first, 0], words[first + 1, 0], np.uint64(n)
    above, under = limit >> _HALF, limit & _LOW
    # (high·2^32 + low)·(above·2^32 + under), without its lowest 64 bits.
    middle = ((low * under) >> _HALF) + ((high * under) & _LOW) + ((low * above) & _LOW)
    upper = ((high * under) >> _HALF) + ((low * above) >> _HALF) + (middle >> _HALF)
    return np.int64(high * above + upper)


@compiled
def picked(weights: Any, number: Any) -> Any:
    """The place in which a number below the sum of the weights falls."""
    place, total = 0, weights[0]
    while total <= number:
        place += 1
        total += weights[place]
    return place


@compiled
def member_drawn(weights: Any, noise: Any) -> Any:
    """One place by weight, with the number at position 0."""
    words = np.empty((4, 1), dtype=np.uint64)
    return picked(weights, below(weights.sum(), 0, noise, words))
