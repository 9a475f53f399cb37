"""Rules that count: a number of votes, a share of them, or a weighted sum.

Shares and weights are exact fractions. In floating point, 7 % of 100 members would be 8 of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from likewise.auditing.names import checked_names, quoted
from likewise.auditing.rules.base import BoolArray, Rule, Seats
from likewise.auditing.rules.shares import Number, Share, exact, read_share
from likewise.errors import ParameterError
from likewise.fixed_point import IntArray

_FEW = 16
"""Up to this many members, taking minima in turn is faster than sorting."""
_SMALL = 1 << 11
"""Up to this many numbers in all, one partition is faster than minima in turn."""


@dataclass(frozen=True, repr=False)
class AtLeast(Rule):
    """At least c members object, of the full panel or of those named. Pivot: the c-th smallest.

    f(v) = [Σ v_i ≥ c]; with a share p, c = ⌈p·n⌉. :func:`at_least` also reads text. More votes than
    there are members never come together: allowed, as panels change; see :meth:`Rule.can_fire`.

    >>> AtLeast(2).fires([True, False, True], ["a", "b", "c"]).item()
    True
    """

    votes: int | Share
    of: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.votes, Share) and (
            isinstance(self.votes, bool) or not isinstance(self.votes, int)
        ):
            raise ParameterError(
                "AtLeast.votes",
                "must be an integer or a share",
                self.votes,
                'Write a share as text, at_least("80%") or at_least("4/5"): a float is not exact.',
            )
        if isinstance(self.votes, int) and self.votes < 1:
            raise ParameterError(
                "AtLeast.votes",
                "must be at least 1",
                self.votes,
                "With 0 votes a pair nobody objected to would be reported.",
            )
        if self.of is not None:
            object.__setattr__(self, "of", checked_names(self.of, "AtLeast.of"))

    @property
    def names(self) -> tuple[str, ...]:
        """The members named after "of"; none where the full panel counts."""
        return self.of or ()

    def needed(self, n: int) -> int:
        """How many votes of n are needed.

        >>> at_least("80%").needed(5), majority().needed(5)
        (4, 3)
        """
        return self.votes.votes(n) if isinstance(self.votes, Share) else self.votes

    def _places(self, seats: Seats) -> list[int]:
        return [seats[name] for name in self.of] if self.of else list(seats.values())

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        places = self._places(seats)
        needed = min(self.needed(len(places)), len(places) + 1)  # may be beyond an int64
        return np.asarray(np.sum(votes[places], axis=0, dtype=np.int64) >= needed)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        places = self._places(seats)
        needed = self.needed(len(places))
        if needed > len(places):
            return np.full(ranks.shape[1:], top, dtype=ranks.dtype)
        if ranks.size <= _SMALL:
            return np.asarray(np.partition(ranks[places], needed - 1, axis=0)[needed - 1])
        return _nth_smallest([ranks[place] for place in places], needed)

    def _text(self, alone: bool) -> str:  # noqa: ARG002 - counts read the same everywhere
        names = ", ".join(map(quoted, self.of or ()))
        for word, plain in (("any", any_of()), ("all", all_of()), ("majority", majority())):
            if self.votes == plain.votes:
                return f"{word}({names})" if names else word
        word = "more_than" if isinstance(self.votes, Share) and self.votes.strict else "at_least"
        return f"{word}({self.votes} of {names})" if names else f"{word}({self.votes})"


@dataclass(frozen=True, repr=False, init=False)
class Weighted(Rule):
    """The weights of those who object reach a threshold: Σ w_i·v_i ≥ theta, w ≥ 0, theta > 0.

    Pivot: the smallest distance whose cumulative weight reaches theta. A member who is not listed
    has weight 0. Sums are exact.

    >>> rule = Weighted({"j1": 2, "j2": 1, "j3": "0.5"}, 2.5)
    >>> print(rule)
    weighted(j1: 2, j2: 1, j3: 1/2; 5/2)
    >>> rule.fires([True, False, True], ["j1", "j2", "j3"]).item()
    True
    """

    weights: tuple[tuple[str, Fraction], ...]
    threshold: Fraction

    def __init__(self, weights: Mapping[str, Number], threshold: Number) -> None:
        if not isinstance(weights, Mapping):
            raise ParameterError(
                "Weighted.weights", "must be weights by name", weights, "Write {'j1': 2, 'j2': 1}."
            )
        names = checked_names(weights, "Weighted.weights")
        exactly = tuple((n, exact(weights[n], f"Weighted.weights[{n!r}]")) for n in names)
        for name, weight in exactly:
            if weight < 0:
                raise ParameterError(
                    f"Weighted.weights[{name!r}]",
                    "must not be negative",
                    weights[name],
                    "An objection must never speak against a report.",
                )
        object.__setattr__(self, "weights", exactly)
        object.__setattr__(self, "threshold", exact(threshold, "Weighted.threshold"))
        if self.threshold <= 0:
            raise ParameterError(
                "Weighted.threshold",
                "must be above 0",
                threshold,
                "With a threshold of 0 a pair nobody objected to would be reported.",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The members with a weight."""
        return tuple(name for name, _ in self.weights)

    def _integers(self, dimensions: int) -> tuple[npt.NDArray[np.int64], int]:
        """Weights and threshold over a common denominator; beyond int64, Python's integers."""
        fractions = [weight for _, weight in self.weights] + [self.threshold]
        factor = math.lcm(*(f.denominator for f in fractions))
        scaled = [int(f * factor) for f in fractions]
        kind = np.int64 if sum(scaled) < 1 << 62 else object
        return np.array(scaled[:-1], dtype=kind).reshape(-1, *[1] * dimensions), scaled[-1]

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        weights, threshold = self._integers(votes.ndim - 1)
        cast = votes[[seats[name] for name in self.names]]
        return np.asarray(np.sum(weights * cast, axis=0) >= threshold, dtype=np.bool_)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        weights, threshold = self._integers(ranks.ndim - 1)
        weighted = ranks[[seats[name] for name in self.names]]
        order = np.argsort(weighted, axis=0)
        running = np.cumsum(
            np.take_along_axis(np.broadcast_to(weights, weighted.shape), order, axis=0), axis=0
        )
        reached = np.asarray(running >= threshold, dtype=np.bool_)
        first = np.take_along_axis(order, np.argmax(reached, axis=0)[None], axis=0)
        rank = np.take_along_axis(weighted, first, axis=0)[0]
        return np.where(reached[-1], rank, ranks.dtype.type(top))

    def _text(self, alone: bool) -> str:  # noqa: ARG002 - weights read the same everywhere
        listed = ", ".join(f"{quoted(name)}: {weight}" for name, weight in self.weights)
        return f"weighted({listed}; {self.threshold})"


def _nth_smallest(ranks: list[IntArray], n: int) -> IntArray:
    """The n-th smallest of some arrays, elementwise; with few of them faster than sorting.

    >>> _nth_smallest([np.array([3, 1]), np.array([1, 2]), np.array([2, 3])], 2).tolist()
    [2, 2]
    """
    if len(ranks) > _FEW:
        return np.partition(np.stack(ranks), n - 1, axis=0)[n - 1, ...]
    fold, end = (np.minimum, n) if n <= len(ranks) / 2 else (np.maximum, len(ranks) - n + 1)
    reverse = np.maximum if fold is np.minimum else np.minimum
    for first in range(end):
        for place in range(len(ranks) - 1, first, -1):
            below, above = ranks[place - 1], ranks[place]
            ranks[place - 1], ranks[place] = fold(below, above), reverse(below, above)
    return np.asarray(ranks[end - 1])


def at_least(votes: int | str | Fraction, of: Iterable[str] | None = None) -> AtLeast:
    """At least a number of votes (``3``), or a share of them (``"80%"``, ``"4/5"``).

    >>> print(at_least(3), at_least("80%"), at_least(2, of=["a", "b", "c"]), sep=" | ")
    at_least(3) | at_least(80%) | at_least(2 of a, b, c)
    """
    named = None if of is None else checked_names(of, "at_least(of=…)")
    if not isinstance(votes, str | Fraction):
        return AtLeast(votes, named)
    number, share = read_share(votes, "at_least(votes)")
    if share:
        return AtLeast(Share(number), named)
    if number.denominator != 1:
        raise ParameterError(
            "at_least(votes)", "must be an integer or a share", votes, "Write 4 or 80%."
        )
    return AtLeast(int(number), named)


def more_than(share: str | Fraction, of: Iterable[str] | None = None) -> AtLeast:
    """More than a share of the votes.

    >>> print(more_than("2/3"), more_than("50%"), more_than("2/3").needed(3))
    more_than(2/3) majority 3
    """
    number, is_share = read_share(share, "more_than(share)")
    if not is_share:
        raise ParameterError(
            "more_than(share)", "must be a share", share, "For votes write at_least, with one more."
        )
    return AtLeast(
        Share(number, strict=True), None if of is None else checked_names(of, "more_than(of=…)")
    )


def majority(*of: str) -> AtLeast:
    """More than half of the panel, or of the members named.

    >>> print(majority(), majority("a", "b", "c"), majority().needed(4))
    majority majority(a, b, c) 3
    """
    return AtLeast(Share(Fraction(1, 2), strict=True), of or None)


def any_of(*of: str) -> AtLeast:
    """Anybody on the panel, or any of the members named.

    >>> print(any_of(), any_of("a", "b"))
    any any(a, b)
    """
    return AtLeast(1, of or None)


def all_of(*of: str) -> AtLeast:
    """Everybody on the panel, or all of the members named.

    >>> print(all_of(), all_of("a", "b"))
    all all(a, b)
    """
    return AtLeast(Share(Fraction(1)), of or None)
