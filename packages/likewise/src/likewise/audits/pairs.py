"""Counts over many pairs in integers: what a panel would report, by numpy.

A pair's *excess* is its gap less the pivot's distance. The pair is reported at alpha exactly if its
excess is above alpha by more than rounding can account for (:data:`ROUNDING`), so one number a pair
suffices for every alpha at once, and the largest excess of a person says from which alpha on nobody
would report a pair with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from likewise.audits.groups import MOST_GROUPS
from likewise.numerics.fixed_point import ONE, IntArray, to_units
from likewise.panel import Panel, Rule, Sides, exceeds
from likewise.panel.rules import BoolArray
from likewise.people import People
from likewise.validation import assign

# Pairs of a block fit into the caches of a processor; 2 cores scan 20,000 people in half a minute.
SIDE = 384
ROUNDING = 2
"""The units by which an excess must be above alpha: what rounding can add to that of a tie.

Two scores are off by half a unit each, the distance and alpha by another half. A pair whose gap is
exactly alpha more than its distance is never reported, however the four are rounded; one that
exceeds alpha by four units, 0.000004, always is.
"""
NEVER = -2 * ONE
"""The excess of a pair that is not counted."""
MOST_CANDIDATES = 2000
NO_GROUPS = np.zeros((0, 0), dtype=np.int64)


def threshold(alpha: float) -> int:
    """The units that an excess must be above for a pair to be reported at alpha.

    >>> gap = to_units(0.6) - to_units(0.4)  # a tie at 0.2, and a unit more by rounding
    >>> gap > to_units(0.2), gap > threshold(0.2)
    (True, False)
    """
    return to_units(alpha) + ROUNDING


@dataclass(frozen=True, eq=False)
class Question:
    """The people, scores, panel and thresholds of a scan, all in units of 2^-20.

    A row of ``people`` stands for as many people as ``counts`` says, one each unless it is given.
    """

    people: People
    scores: IntArray
    panel: Panel
    sensitivity: int
    alphas: IntArray
    rules: tuple[Rule, ...] = ()
    worst: int = 20
    counts: IntArray = field(default_factory=lambda: np.ones(0, dtype=np.int64))
    each: int | None = None
    """At most this many of the worst pairs are of one person, if it is given."""
    groups: IntArray = field(default_factory=lambda: NO_GROUPS)
    """Everybody's group, from 0 on, by each of some traits: an array (traits, people)."""
    floor: int = NEVER
    """Pairs of no larger excess are not among the worst; see :func:`floor_of`."""

    def __post_init__(self) -> None:
        if not len(self.counts):
            assign(self, counts=np.ones(len(self.people), dtype=np.int64))

    @property
    def place_bits(self) -> int:
        """The bits of a key that hold the member's place; the others hold the distance."""
        return max(1, (len(self.panel.members) - 1).bit_length())

    @property
    def candidates(self) -> int:
        """How many of the worst pairs to keep, for :func:`few_of_each` to choose among.

        Of the pairs that it passes over, each has somebody who is in enough others. There are at
        most ``worst`` such people, each in at most ``most_of_one`` candidates: so these suffice up
        to 42 pairs; beyond, it may find fewer than it was asked for.
        """
        more = 0 if self.each is None else min(self.worst * self.most_of_one, MOST_CANDIDATES)
        return self.worst + more

    @property
    def most_of_one(self) -> int:
        """The number of a person's worst pairs that matter: others come after ``each`` of them."""
        return self.worst + (self.each or self.worst)

    def among(self, people: People, scores: IntArray) -> Question:
        """The same about other people; scores so far stay those of the first of them."""
        before = self.scores[: len(people) - len(scores)]
        scores = np.concatenate([before, scores])
        counts = np.ones(len(people), dtype=np.int64)
        return replace(self, people=people, scores=scores, counts=counts, groups=NO_GROUPS)

    def sides(self, block: Block) -> Sides:
        return Sides.at(self.people, block.left, block.right, block.paired)

    def pairs_of(self, block: Block) -> int:
        left, right = self.counts[block.left], self.counts[block.right]
        if block.paired:
            return int((left * right)[block.left != block.right].sum())
        if not block.ordered:
            both = (block.left >= block.right[0]) & (block.left <= block.right[-1])
            return int(left.sum()) * int(right.sum()) - int((left * left)[both].sum())
        before = np.concatenate([[0], np.cumsum(right)])
        later = np.searchsorted(block.right, block.left, side="right")
        return int((left * (before[-1] - before[later])).sum())


@dataclass(frozen=True, eq=False)
class Block:
    """People on the left and on the right by their places; ``ordered`` keeps left before right.

    Unless single people are ``paired``, those on the right are next to each other, and nobody is
    on the left twice. By person only pairs of blocks that are not paired are counted.
    """

    left: IntArray
    right: IntArray
    paired: bool = False
    ordered: bool = False

    @property
    def size(self) -> int:
        """The number of pairs of rows, those of a row with itself included."""
        return len(self.left) if self.paired else len(self.left) * len(self.right)

    def spread(self, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
        """A value for everybody on the left and on the right, as arrays that broadcast."""
        return (left, right) if self.paired else (left[:, None], right[None, :])

    def absent(self) -> Any:
        """The pairs not to count: of people with themselves, or counted in another block."""
        left, right = self.spread(self.left, self.right)
        return left >= right if self.ordered else left == right


Worst = tuple[int, Any, Any]
"""A pair: its excess, and two people in order, by their places or by their rows."""
COUNTS = (
    "above", "pivots", "decisive", "objections", "objectors", "by_rule", "between_groups",
)  # fmt: skip


class Tally:
    """Counts over pairs; those of several blocks are added, in any order to the same result."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.alone = bool((question.counts == 1).all())  # which is faster
        m, k = len(question.panel.members), len(question.people)
        self.pairs = 0
        self.above = np.zeros(len(question.alphas), dtype=np.int64)
        self.highest = np.full(k, NEVER, dtype=np.int64)
        self.pivots = np.zeros(m, dtype=np.int64)
        self.decisive = np.zeros(m, dtype=np.int64)
        self.objections = np.zeros(m, dtype=np.int64)
        self.objectors = np.zeros(m + 1, dtype=np.int64)
        self.by_rule = np.zeros(len(question.rules), dtype=np.int64)
        self.touched_by_rule = np.zeros((len(question.rules), k), dtype=np.bool_)
        self.worst: list[Worst] = []
        self.partner = np.full(k, k, dtype=np.int64)  # with whom the largest excess is
        self.over, self.under = np.zeros((2, k), dtype=np.int64)
        shape = len(question.groups), MOST_GROUPS, MOST_GROUPS
        self.between_groups = np.zeros(shape, dtype=np.int64)

    def add(self, block: Block) -> None:
        q = self.question
        sides, absent = q.sides(block), block.absent()
        s, t = block.spread(q.scores[block.left], q.scores[block.right])
        gap = np.abs(s - t).astype(np.int32)
        gap[absent] = -1
        keys = self._keys(sides)
        votes = np.stack([exceeds(gap, key >> q.place_bits, q.sensitivity) for key in keys])
        pairs = q.pairs_of(block)
        self.pairs += pairs
        self._count_votes(block, votes, pairs)
        # Where the rule cannot fire, the distance is above every gap.
        pivots = q.panel.rule.pivot_keys(keys, q.panel.members, (ONE + 1) << q.place_bits)
        distance = pivots >> q.place_bits
        reported = exceeds(gap, distance, q.sensitivity)
        self._count_reports(block, reported, pivots, votes)
        self._count_sides(block, reported & (s > t), reported & (s < t))
        excess = gap - distance
        excess[absent] = NEVER
        self._count_excess(block, excess)
        for place, rule in enumerate(q.rules):
            reported, touched = rule.fires(votes, q.panel.members), self.touched_by_rule[place]
            self.by_rule[place] += self._count(block, reported)
            if not block.paired:
                touched[block.left] |= reported.any(axis=1)
                touched[block.right] |= reported.any(axis=0)

    def _keys(self, sides: Sides) -> Any:
        """Distances with the members' places in their low bits, an array a member."""
        auditors, bits = self.question.panel.auditors, self.question.place_bits
        keys = np.empty((len(auditors), *sides.shape), dtype=np.int32)
        for place, auditor in enumerate(auditors):
            keys[place] = auditor.between(sides)
            keys[place] <<= bits
            keys[place] |= place
        return keys

    def _sums(self, block: Block, flags: Any, places: Any, size: int) -> IntArray:
        """The numbers of pairs that are flagged, by place."""
        if self.alone:
            return np.bincount(places, minlength=size)
        left, right = block.spread(*(self.question.counts[s] for s in (block.left, block.right)))
        sums = np.zeros(size, dtype=np.int64)
        np.add.at(sums, places, (left * right)[flags])
        return sums

    def _count(self, block: Block, flags: Any) -> int:
        if self.alone:
            return int(flags.sum())
        left, right = (self.question.counts[side] for side in (block.left, block.right))
        return int((left * right)[flags].sum() if block.paired else left @ (flags @ right))

    def _count_votes(self, block: Block, votes: BoolArray, pairs: int) -> None:
        self.objections += [self._count(block, votes_of_one) for votes_of_one in votes]
        together = votes.sum(axis=0, dtype=np.int16)
        counts = [self._count(block, together == count) for count in range(1, len(votes) + 1)]
        self.objectors += [pairs - sum(counts), *counts]

    def _count_reports(self, block: Block, reported: Any, pivots: Any, votes: BoolArray) -> None:
        """Count, of the pairs that are reported, who is their pivot and who decides."""
        if not reported.any():
            return
        panel, bits = self.question.panel, self.question.place_bits
        places = pivots[reported] & ((1 << bits) - 1)
        self.pivots += self._sums(block, reported, places, len(self.pivots))
        decisive = panel.rule.decisive(votes[:, reported], panel.members)
        self.decisive += [self._sums(block, reported, flags * 1, 2)[1] for flags in decisive]

    def _count_sides(self, block: Block, left_over: Any, right_over: Any) -> None:
        """Count reported pairs by person and group: who has the higher score, who the lower.

        People who are paired with everybody are on the left; only they are counted then.
        """
        if not (left_over.any() or right_over.any()):
            return
        ours, others = (self.question.counts[side] for side in (block.left, block.right))
        for counts, left, right in (
            (self.over, left_over, right_over),
            (self.under, right_over, left_over),
        ):
            if not block.paired:
                counts[block.left] += (left * others).sum(axis=1)
            if block.ordered:
                counts[block.right] += (right * ours[:, None]).sum(axis=0)
        for pairs, higher, lower in (
            (left_over, block.left, block.right),
            (right_over.T, block.right, block.left),
        ):
            places = np.nonzero(pairs)
            over, under = higher[places[0]], lower[places[-1]]
            many = self.question.counts[over] * self.question.counts[under]
            for counts, group in zip(self.between_groups, self.question.groups, strict=True):
                np.add.at(counts, (group[over], group[under]), many)

    def _count_excess(self, block: Block, excess: Any) -> None:
        """Count the pairs above every alpha of the curve, and keep the worst."""
        alphas = self.question.alphas
        if not block.paired:
            self._raise_partners(block, excess)
        relevant = excess > int(alphas[0])
        passed = np.searchsorted(alphas, excess[relevant], side="left")  # alphas below each
        counts = self._sums(block, relevant, passed, len(alphas) + 1)
        self.above += np.cumsum(counts[::-1])[::-1][1:]
        least = self.last_kept[0]
        if excess.size and excess.max() >= max(least, NEVER + 1):
            places = np.nonzero(excess >= max(least, NEVER + 1))
            left, right = block.left[places[0]], block.right[places[-1]]
            self.keep(excess[places], np.minimum(left, right), np.maximum(left, right))

    def _raise_partners(self, block: Block, excess: Any) -> None:
        """Raise everybody's largest excess to that of the block, and say who it is with."""
        for people, others, table in (
            (block.left, block.right, excess),
            (block.right, block.left, excess.T),
        ):
            largest = table.max(axis=1)
            rows = np.flatnonzero((largest >= self.highest[people]) & (largest > NEVER))
            if len(rows):
                self.meet(people[rows], largest[rows], others[table[rows].argmax(axis=1)])

    def meet(self, people: Any, excess: Any, partner: Any) -> None:
        """Keep the larger excess of each, and of equal ones the first partner."""
        better = excess > self.highest[people]
        better |= (excess == self.highest[people]) & (partner < self.partner[people])
        self.highest[people] = np.where(better, excess, self.highest[people])
        self.partner[people] = np.where(better, partner, self.partner[people])

    @property
    def last_kept(self) -> Worst:
        """The last of the worst pairs: others are kept if they come before it."""
        most = self.question.candidates
        if not most:
            return 2 * ONE, 0, 0
        return self.worst[-1] if len(self.worst) == most else (self.question.floor, 0, 0)

    def keep(self, excess: IntArray, first: IntArray, second: IntArray) -> None:
        """Keep the worst of some pairs, each of which is among them twice at most."""
        if not len(excess):
            return
        order = self.order(excess, first, second)
        self.add_worst(zip(*(a[order].tolist() for a in (excess, first, second)), strict=True))

    def order(self, excess: IntArray, first: IntArray, second: IntArray) -> IntArray:
        """The places of as many of the worst of some pairs as matter, the worst first."""
        order = np.lexsort((second, first, -excess))
        if self.question.each is not None:
            both = np.column_stack([first[order], second[order]]).ravel()
            few = (_rank(both) < self.question.most_of_one).reshape(-1, 2).all(axis=1)
            order = order[few]
        return order[: 2 * self.question.candidates]

    def add_worst(self, pairs: Iterable[Worst]) -> None:
        """Keep the worst pairs of these and those so far, in order."""
        ordered = sorted({*self.worst, *pairs}, key=lambda pair: (-pair[0], pair[1], pair[2]))
        q = self.question
        self.worst = few_of_each(ordered, q.candidates, q.each and q.most_of_one)

    def __getstate__(self) -> dict[str, Any]:
        """The counts without the people, to send from a cluster; they can only be merged then."""
        return {name: value for name, value in vars(self).items() if name != "question"}

    def merge(self, other: Tally) -> None:
        self.add_counts(other)
        for name in ("over", "under"):
            getattr(self, name)[...] += getattr(other, name)
        self.touched_by_rule |= other.touched_by_rule
        self.meet(slice(None), other.highest, other.partner)
        self.add_worst(other.worst)

    def add_counts(self, other: Tally) -> None:
        """Add the counts of other pairs, which may be of other people."""
        self.pairs += other.pairs
        for name in COUNTS:
            getattr(self, name)[...] += getattr(other, name)

    def narrow(self, places: Any) -> None:
        """Keep what was counted by person for the people at some places alone."""
        for name in ("highest", "partner", "over", "under"):
            setattr(self, name, getattr(self, name)[places])
        self.touched_by_rule = self.touched_by_rule[:, places]


def _rank(values: IntArray) -> IntArray:
    """How many of the same value come before each.

    >>> _rank(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return rank


def few_of_each(pairs: Iterable[Worst], most: int, each: int | None) -> list[Worst]:
    """The first pairs, without those of anybody who is in ``each`` that come before.

    >>> few_of_each([(9, 0, 1), (8, 0, 2), (7, 0, 3), (6, 2, 3)], 3, each=2)
    [(9, 0, 1), (8, 0, 2), (6, 2, 3)]
    """
    chosen: list[Worst] = []
    uses: dict[Any, int] = defaultdict(int)
    for pair in pairs:
        if len(chosen) == most:
            break
        if each is None or max(uses[pair[1]], uses[pair[2]]) < each:
            chosen.append(pair)
            for person in pair[1:]:
                uses[person] += 1
    return chosen


def floor_of(question: Question, pairs: Iterable[Worst]) -> int:
    """An excess that all of the worst pairs are above, by some pairs in the order of theirs.

    Let n pairs be wanted, and 3n be there of which no two share a person. If fewer than n of that
    excess were chosen, at most 2n − 2 people would be in as many as they may be, and at most n − 1
    of the 3n would be chosen: one would be left whom nothing keeps out.
    """
    apart = few_of_each(pairs, 3 * question.worst, 1)
    return apart[-1][0] - 1 if 0 < len(apart) == 3 * question.worst else NEVER
