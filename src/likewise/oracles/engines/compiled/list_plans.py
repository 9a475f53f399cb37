"""How the noise of a hypothesis is added up with few additions: by groups of points, or by steps.

By **groups** (the method of the four Russians): the points of the separating set are divided into
groups of b; the sums over all 2^b subsets of each group are made once for a draw, and a hypothesis
adds up one of them for every group: s/b additions where a matrix product has s.

By **steps**: hypotheses are visited in an order in which neighbours differ on few points, and each
sum is the one before it with these put in or taken out. All conjunctions, disjunctions or parities
in the order of a Gray code differ by one point: one addition each, fewer than any transform over
them has. The cuts of a score differ by a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Listed
from likewise.oracles.engines.compiled import list_kernels as kernels

Indices = npt.NDArray[Any]

LARGEST_GROUP = 8
# Rows of the table of sums: half a megabyte, which the second cache of a core holds.
MOST_ROWS = 4096
# In additions: the rest of a hypothesis (the best, the second best, the place); and what is lost
# where the number of steps changes and the processor guesses wrong.
THE_REST = 5.0
WRONG_GUESS = 3.0
# Fewer hypotheses are worth a layout of their own if they save this share of the additions.
WORTH_IT = 0.8


class Layout(Protocol):
    """Some hypotheses of a list, in an order of their own, and how their noise is added up."""

    @property
    def members(self) -> IntArray:
        """Which hypothesis stands in each place."""

    @property
    def work(self) -> float:
        """Additions for one draw."""

    def search(
        self, costs: Indices, noise: IntArray, draws: tuple[int, int], factor: float,
        choice: IntArray, gap: IntArray,
    ) -> None:  # fmt: skip
        """The best one's place for the draws from one to another, and its lead on the second.

        ``costs``, a number for every place, says how short the integers are. The noise is
        multiplied by the factor and rounded; with a factor of 0 it is taken as it is.
        """


def _indices(numbers: npt.NDArray[Any], largest: int) -> Indices:
    """As short as can be: they are read once for every draw."""
    return numbers.astype(np.uint16 if largest < 1 << 16 else np.int32)


@dataclass(frozen=True, eq=False)
class Groups:
    """A row of sums for every group of points: codes[place, group]."""

    members: IntArray
    codes: Indices
    bits: int
    work: float

    @classmethod
    def of(cls, on_set: Bits, members: IntArray) -> Groups:
        """With the predictions of the members on the separating set, shape (members, s)."""
        size, points = on_set.shape
        bits = _group_size(size, points)
        count = -(-points // bits)
        padded = np.zeros((size, count * bits), dtype=np.int32)
        padded[:, :points] = on_set
        rows = (padded.reshape(size, count, bits) << np.arange(bits)).sum(axis=2)
        codes = _indices(rows + (np.arange(count) << bits), count << bits)
        return cls(members, codes, bits, _work_of_groups(size, points, bits))

    def search(
        self, costs: Indices, noise: IntArray, draws: tuple[int, int], factor: float,
        choice: IntArray, gap: IntArray,
    ) -> None:  # fmt: skip
        """See :class:`Layout`."""
        kernels.search_by_groups(
            noise, draws, factor, costs, (self.codes, self.bits), (choice, gap)
        )


def _work_of_groups(size: int, points: int, bits: int) -> float:
    """Additions for one draw: the groups of every hypothesis, and the rows of the table."""
    count = -(-points // bits)
    return size * (count + THE_REST) + (count << bits)


def _group_size(size: int, points: int) -> int:
    """The size of a group with the fewest additions, the table no larger than the cache."""
    fitting = [b for b in range(1, LARGEST_GROUP + 1) if -(-points // b) << b <= MOST_ROWS]
    return min(fitting or [2], key=lambda bits: _work_of_groups(size, points, bits))


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps ends[place] … ends[place + 1] lead to a place: q puts point q in, s + q out."""

    members: IntArray
    ends: IntArray
    steps: Indices
    work: float

    @classmethod
    def of(cls, on_set: Bits, members: IntArray) -> Steps:
        """Through the members in this order, with their predictions, shape (members, s)."""
        points = on_set.shape[1]
        place, point = np.nonzero(_changes(on_set))
        counts = np.bincount(place, minlength=len(on_set))
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        out = on_set[place, point] == 0
        steps = _indices(point + points * out, 2 * points)
        guesses = int(np.count_nonzero(np.diff(counts)))
        work = len(counts) * THE_REST + len(steps) + WRONG_GUESS * guesses
        return cls(members, ends, steps, work)

    def search(
        self, costs: Indices, noise: IntArray, draws: tuple[int, int], factor: float,
        choice: IntArray, gap: IntArray,
    ) -> None:  # fmt: skip
        """See :class:`Layout`."""
        kernels.search_by_steps(noise, draws, factor, costs, (self.ends, self.steps), (choice, gap))


def _changes(on_set: Bits) -> npt.NDArray[np.bool_]:
    """Where each row differs from the one before it; before the first there are only zeros."""
    before = np.concatenate([np.zeros((1, on_set.shape[1]), dtype=np.uint8), on_set[:-1]])
    return np.asarray(on_set != before)


class Plan:
    """The ways through one class, made once and kept as long as the class.

    ``in_order`` has all hypotheses as they are listed, so that the first of equals is the first
    that is found; ``best`` has all of them with the fewest additions.
    """

    def __init__(self, listed: Listed) -> None:
        self.on_set: Bits = np.ascontiguousarray(listed.separating_points().T)
        self.size, self.separators = self.on_set.shape
        places = np.arange(self.size)
        as_listed: Layout = Steps.of(self.on_set, places)
        bits = _group_size(self.size, self.separators)
        if _work_of_groups(self.size, self.separators, bits) < as_listed.work:
            as_listed = Groups.of(self.on_set, places)
        self.in_order = as_listed
        gray = np.bitwise_xor.accumulate(self.on_set, axis=1)
        order = np.lexsort(np.packbits(gray, axis=1).T[::-1])
        along = Steps.of(np.ascontiguousarray(self.on_set[order]), order)
        self.best: Layout = along if along.work < as_listed.work else as_listed

    def of(self, members: IntArray) -> Layout | None:
        """Those members alone, in order, if that is worth it."""
        bits = _group_size(len(members), self.separators)
        work = _work_of_groups(len(members), self.separators, bits)
        if work > WORTH_IT * self.best.work:
            return None
        return Groups.of(self.on_set[members], members)


_PLANS: WeakKeyDictionary[Listed, Plan] = WeakKeyDictionary()


def plan_of(listed: Listed) -> Plan:
    """The plan of a class."""
    plan = _PLANS.get(listed)
    if plan is None:
        plan = _PLANS[listed] = Plan(listed)
    return plan
