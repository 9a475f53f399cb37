"""Noise as a function: of the seed, the purpose, the round and the draw, and of nothing else.

The generator is Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"):
a keyed permutation of a 128-bit counter. The key is the seed; the counter's four words are

    (position // 4, draw, round, purpose)

and the four words of the result are the positions 4i … 4i+3. So any block of draws can be made
anywhere, in any order, by any engine, and two purposes never share a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from likewise.numerics.fixed_point import LN2, ONE, FloatArray, IntArray, log_array
from likewise.validation import assign, instance, integer, real, require

Words = npt.NDArray[np.uint32]

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10
_MULTIPLIERS = np.array(MULTIPLIERS, dtype=np.uint64)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
# Up to this many words plain integers are faster than arrays.
FEW_WORDS = 32


class Purpose(IntEnum):
    """The purpose of a random number. The values are part of the file format: never reuse one."""

    ELICIT = 1
    DECIDE = 2
    EVALUATE = 3
    REPORT = 4
    WORLD = 5
    PROBE = 6
    VIEW = 7
    LOTTERY = 8
    DELAY = 9
    MIX = 10
    MIX_DECIDE = 11


@lru_cache(maxsize=1024)
def _keys(seed: int) -> tuple[tuple[int, int], ...]:
    """The two words of the key in every round."""
    return tuple(
        ((seed + i * WEYL[0]) & 0xFFFFFFFF, ((seed >> 32) + i * WEYL[1]) & 0xFFFFFFFF)
        for i in range(PHILOX_ROUNDS)
    )


def philox(counter: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Philox 4x32-10 on counters of shape (4, …), each word below 2^32.

    Words 0 and 2 are multiplied, words 1 and 3 are mixed in: two arrays of two words each.
    Known result of the generator's authors, for counter and key of all zeros:

    >>> [f"{int(word):08x}" for word in philox(np.zeros((4, 1), np.uint64), 0)[:, 0]]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    each = (2, *[1] * (counter.ndim - 1))
    multipliers = _MULTIPLIERS.reshape(each)
    keys = np.array(_keys(seed), dtype=np.uint64).reshape(PHILOX_ROUNDS, *each)
    multiplied, mixed_in = counter[0::2], counter[1::2]
    for key in keys:
        product = multiplied * multipliers
        multiplied = (product >> _SHIFT)[::-1] ^ mixed_in
        multiplied ^= key
        product &= _LOW
        mixed_in = product[::-1]
    words = np.empty(counter.shape, dtype=np.uint64)
    words[0::2], words[1::2] = multiplied, mixed_in
    return words


def philox_once(counter: tuple[int, int, int, int], seed: int) -> tuple[int, int, int, int]:
    """Philox 4x32-10 on one counter, in plain integers: the words of :func:`philox`."""
    c0, c1, c2, c3 = counter
    multiplier0, multiplier1 = MULTIPLIERS
    for k0, k1 in _keys(seed):
        p0, p1 = c0 * multiplier0 & 0xFFFFFFFFFFFFFFFF, c2 * multiplier1 & 0xFFFFFFFFFFFFFFFF
        c0, c1 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF
        c2, c3 = (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
    return c0, c1, c2, c3


def laplace(words: Words) -> FloatArray:
    """Unit Laplace variables from raw words: the last bit is the sign, the others are U.

    Density exp(−|z|)/2. With n the first 31 bits, U = (n + ½)/2^31 and |z| = −ln U, so |z| < 22.2;
    the tail that is cut off has probability 2^-32.

    >>> laplace(np.array([0xFFFFFFFF, 0xFFFFFFFE, 0], dtype=np.uint32)).round(6).tolist()
    [-0.0, 0.0, 22.18071]
    """
    magnitude = 31.0 * LN2 - log_array((words >> np.uint32(1)).astype(np.float64) + 0.5)
    return np.where(words & np.uint32(1), -magnitude, magnitude)


@dataclass(frozen=True)
class Stream:
    """All random numbers of one purpose in one round.

    >>> stream = Stream(seed=7, purpose=Purpose.ELICIT, round=1)
    >>> bool((stream.words(0, 5, 8)[3:] == stream.words(3, 2, 8)).all())
    True
    """

    seed: int
    purpose: Purpose
    round: int

    def __post_init__(self) -> None:
        seed = integer("seed", self.seed, 0, 1 << 64, "Take any such number.")
        round_ = integer("round", self.round, 0, 1 << 32, "Start a new seed.")
        instance("purpose", self.purpose, Purpose, "Take one of Purpose.")
        assign(self, seed=seed, round=round_)

    def words(self, first_draw: int, draws: int, positions: int) -> Words:
        """Raw words of some draws, shape (draws, positions)."""
        return self.words_at(first_draw, draws, np.arange(positions))

    def words_at(self, first_draw: int, draws: int, positions: IntArray) -> Words:
        """Raw words at some positions only, shape (draws, len(positions))."""
        if draws * len(positions) <= FEW_WORDS:
            places = positions.tolist()
            rows = [self.words_of(first_draw + i, places) for i in range(draws)]
            return np.array(rows, dtype=np.uint32).reshape(draws, len(places))
        blocks, block_of = np.unique(positions // 4, return_inverse=True)
        counter = np.empty((4, draws, len(blocks)), dtype=np.uint64)
        counter[0] = blocks.astype(np.uint64)
        counter[1] = np.arange(first_draw, first_draw + draws, dtype=np.uint64)[:, None]
        counter[2] = np.uint64(self.round)
        counter[3] = np.uint64(int(self.purpose))
        words = philox(counter, self.seed)
        return words[positions % 4, :, block_of].T.astype(np.uint32)

    def uniforms_of_rounds(self, rounds: int, draws: int, positions: int) -> FloatArray:
        """The :meth:`uniforms` of this round and the next ones, faster.

        >>> stream, after = (Stream(7, Purpose.WORLD, t) for t in (1, 2))
        >>> uniforms = stream.uniforms_of_rounds(2, draws=3, positions=5)
        >>> uniforms[1].tolist() == after.uniforms(0, 3, 5).tolist()
        True
        """
        counter = np.empty((4, rounds, draws, -(-positions // 4)), dtype=np.uint64)
        counter[0] = np.arange(counter.shape[-1], dtype=np.uint64)
        counter[1] = np.arange(draws, dtype=np.uint64)[:, None]
        counter[2] = np.arange(self.round, self.round + rounds, dtype=np.uint64)[:, None, None]
        counter[3] = np.uint64(int(self.purpose))
        words = np.moveaxis(philox(counter, self.seed), 0, -1).reshape(rounds, draws, -1)
        return (words[..., :positions].astype(np.float64) + 0.5) / 4294967296.0

    def words_of(self, draw: int, positions: Sequence[int]) -> list[int]:
        """Raw words of one draw at some positions, as plain integers, which is faster for a few.

        >>> stream = Stream(7, Purpose.ELICIT, 1)
        >>> stream.words_of(3, [5, 0]) == stream.words(3, 1, 6)[0, [5, 0]].tolist()
        True
        """
        blocks = {
            block: philox_once((block, int(draw), self.round, int(self.purpose)), self.seed)
            for block in {position // 4 for position in positions}
        }
        return [blocks[position // 4][position % 4] for position in positions]

    def below(self, n: int, draw: int = 0) -> int:
        """One integer uniformly below n ≤ 2^64."""
        n = integer("n", n, 1, (1 << 64) + 1, "There must be something to draw.")
        high, low = self.words_of(draw, (0, 1))
        return (((high << 32) | low) * n) >> 64

    def numbers_below(self, limits: Sequence[int], draw: int, positions: IntArray) -> list[int]:
        """Integers uniformly below the limits: the high half of a 64-bit number times n.

        The 64 bits at a position are the words 2·position and 2·position + 1 of the draw.
        """
        if 2 * len(positions) <= FEW_WORDS:
            words = self.words_of(draw, [2 * p + i for p in positions.tolist() for i in (0, 1)])
        else:
            places = np.stack([2 * positions, 2 * positions + 1], axis=1).reshape(-1)
            words = self.words_at(draw, 1, places)[0].tolist()
        numbers = zip(limits, words[0::2], words[1::2], strict=True)
        return [(((high << 32) | low) * n) >> 64 for n, high, low in numbers]

    def uniforms(self, first_draw: int, draws: int, positions: int) -> FloatArray:
        """Uniform numbers in (0, 1): (word + ½)/2^32."""
        return (self.words(first_draw, draws, positions).astype(np.float64) + 0.5) / 4294967296.0


@dataclass(frozen=True)
class Noise:
    """Laplace noise on the points of a separating set, in units.

    On every point the sum of ``copies`` Laplace variables of scale ``scale``: one in the
    per-point embedding, k in the repeated one. Copy c of point q is made from word q·copies + c.
    """

    stream: Stream
    scale: float
    copies: int = 1

    def __post_init__(self) -> None:
        instance("stream", self.stream, Stream, "Noise is made from a stream.")
        integer("copies", self.copies, 1, 1 << 32, "One in the per-point embedding.")
        real("scale", self.scale, "It is in units of 1.")
        # A sum over all points must stay an integer that int64 and the engines can hold.
        size, rule = self.scale * self.copies, "must be at least 0 and below 2^34"
        remedy = "Noise that large drowns any data; take another schedule."
        require(0 <= size < 2.0**34, "noise scale times copies", rule, size, remedy)

    def sample(self, first_draw: int, draws: int, positions: IntArray) -> IntArray:
        """Noise of some draws on some points, shape (draws, len(positions))."""
        total = np.zeros((draws, len(positions)), dtype=np.int64)
        for first in range(0, self.copies, 4):  # a counter of Philox gives four words
            copies = np.arange(first, min(first + 4, self.copies))
            places = (positions[:, None] * self.copies + copies).reshape(-1)
            noise = laplace(self.stream.words_at(first_draw, draws, places)) * (self.scale * ONE)
            units = np.rint(noise).astype(np.int64)
            total += units.reshape(draws, len(positions), -1).sum(axis=2)
        return total
