"""Random integers below a limit, and what they fall on: one draw of a policy with integer weights.

The numbers are those of :meth:`likewise.randomness.Stream.numbers_below`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.oracles.engines.compiled.compilation import compiled
from likewise.oracles.engines.compiled.noise import philox_words
from likewise.randomness import Stream

# Digests of the files that are built in here: see compilation.py.

_TWO = np.uint64(2)


def noise_of(stream: Stream, draw: int) -> tuple[Any, ...]:
    """One draw of a stream in the types that compiled code takes."""
    fixed = (np.uint64(int(stream.purpose)), np.uint64(stream.round))
    return np.uint64(stream.seed), fixed, np.uint64(draw)


@compiled
def below(n: Any, position: Any, noise: Any, words: Any) -> Any:  # pragma: no cover
    """The integer below n at a position: the high half of a 64-bit number times n.

    ``words`` is work space, of the shape (4, 1).
    """
    key, fixed, draw = noise
    philox_words(key, fixed, np.uint64(position) // _TWO, draw, 1, words)
    first = 2 * (position % 2)
    high, low, limit = words[first, 0], words[first + 1, 0], np.uint64(n)
    above, under = limit >> _HALF, limit & _LOW
    # (high·2^32 + low)·(above·2^32 + under), without its lowest 64 bits.
    middle = ((low * under) >> _HALF) + ((high * under) & _LOW) + ((low * above) & _LOW)
    upper = ((high * under) >> _HALF) + ((low * above) >> _HALF) + (middle >> _HALF)
    return np.int64(high * above + upper)


@compiled
def picked(weights: Any, number: Any) -> Any:  # pragma: no cover
    """The place that a number below the sum of the weights falls on."""
    place, total = 0, weights[0]
    while total <= number:
        place += 1
        total += weights[place]
    return place


@compiled
def member_drawn(weights: Any, noise: Any) -> Any:  # pragma: no cover
    """One place by weight, with the number at position 0."""
    words = np.empty((4, 1), dtype=np.uint64)
    return picked(weights, below(weights.sum(), 0, noise, words))
