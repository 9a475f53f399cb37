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

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.portable_math import LN2, log_array
from likewise.validation import instance, integer, real

__all__ = ["Noise", "Purpose", "Stream", "Words", "laplace", "philox"]

Words = npt.NDArray[np.uint32]

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10
# Up to so many numbers, blocks made one by one are quicker than arrays.
FEW = 16
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


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


def philox(counter: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Philox 4x32-10 on counters of shape (4, …), each word below 2^32.

    Known result of the generator's authors, for counter and key of all zeros:

    >>> [f"{int(word):08x}" for word in philox(np.zeros((4, 1), np.uint64), 0)[:, 0]]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    key0, key1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(PHILOX_ROUNDS):
        product0 = c0 * np.uint64(MULTIPLIERS[0])
        product1 = c2 * np.uint64(MULTIPLIERS[1])
        c0 = (product1 >> _SHIFT) ^ c1 ^ np.uint64(key0)
        c2 = (product0 >> _SHIFT) ^ c3 ^ np.uint64(key1)
        c1 = product1 & _LOW
        c3 = product0 & _LOW
        key0 = (key0 + WEYL[0]) & 0xFFFFFFFF
        key1 = (key1 + WEYL[1]) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3])


def _philox_block(counter: tuple[int, int, int, int], seed: int) -> tuple[int, int, int, int]:
    """The same permutation of one counter, in Python's integers: of a few it is quicker.

    >>> [f"{word:08x}" for word in _philox_block((0, 0, 0, 0), 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    key0, key1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(PHILOX_ROUNDS):
        product0, product1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1 = (product1 >> 32) ^ c1 ^ key0, product1 & 0xFFFFFFFF
        c2, c3 = (product0 >> 32) ^ c3 ^ key1, product0 & 0xFFFFFFFF
        key0, key1 = (key0 + WEYL[0]) & 0xFFFFFFFF, (key1 + WEYL[1]) & 0xFFFFFFFF
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
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "round", round_)

    def words(self, first_draw: int, draws: int, positions: int) -> Words:
        """Raw words of some draws, shape (draws, positions)."""
        return self.words_at(first_draw, draws, np.arange(positions))

    def words_at(self, first_draw: int, draws: int, positions: IntArray) -> Words:
        """Raw words at some positions only, shape (draws, len(positions))."""
        blocks, place = np.unique(positions // 4, return_inverse=True)
        counter = np.empty((4, draws, len(blocks)), dtype=np.uint64)
        counter[0] = blocks.astype(np.uint64)
        counter[1] = np.arange(first_draw, first_draw + draws, dtype=np.uint64)[:, None]
        counter[2] = np.uint64(self.round)
        counter[3] = np.uint64(int(self.purpose))
        words = philox(counter, self.seed)
        return words[positions % 4, :, place].T.astype(np.uint32)

    def below(self, n: int, draw: int = 0) -> int:
        """One integer uniformly below n ≤ 2^64.

        >>> 0 <= Stream(1, Purpose.REPORT, 4).below(6) < 6
        True
        """
        n = integer("n", n, 1, (1 << 64) + 1, "There must be something to draw.")
        return self.numbers_below([n], draw, np.zeros(1, dtype=np.int64))[0]

    def numbers_below(self, limits: Sequence[int], draw: int, positions: IntArray) -> list[int]:
        """Integers uniformly below the limits: the high half of a 64-bit number times n.

        The 64 bits at a position are the words 2·position and 2·position + 1 of the draw.
        """
        if len(limits) <= FEW:
            return [
                (self._bits(draw, place) * n) >> 64
                for n, place in zip(limits, positions.tolist(), strict=True)
            ]
        places = np.stack([2 * positions, 2 * positions + 1], axis=1).reshape(-1)
        words = self.words_at(draw, 1, places)[0].reshape(-1, 2).tolist()
        pairs = zip(limits, words, strict=True)
        return [(((high << 32) | low) * n) >> 64 for n, (high, low) in pairs]

    def _bits(self, draw: int, position: int) -> int:
        """64 bits of one draw, at one position; both words are of one block."""
        counter = (position // 2, int(draw), self.round, int(self.purpose))
        words = _philox_block(counter, self.seed)
        high, low = words[2:] if position % 2 else words[:2]
        return high << 32 | low

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
        if not 0 <= self.scale * self.copies < 2.0**34:
            raise ParameterError(
                "noise scale times copies",
                "must be at least 0 and below 2^34",
                self.scale * self.copies,
                "Noise that large drowns any data; take another schedule.",
            )

    def sample(self, first_draw: int, draws: int, positions: IntArray) -> IntArray:
        """Noise of some draws on some points, shape (draws, len(positions))."""
        total = np.zeros((draws, len(positions)), dtype=np.int64)
        for copy in range(self.copies):
            words = self.stream.words_at(first_draw, draws, positions * self.copies + copy)
            total += np.rint(laplace(words) * (self.scale * ONE)).astype(np.int64)
        return total
