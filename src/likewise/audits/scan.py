"""All pairs of many people, block by block: what a panel would say, counted in integers.

A pair's *excess* is its gap less the pivot's distance. It is reported at alpha exactly if the
excess is above alpha, so that one number a pair says what happens at every alpha at once; the
largest excess of a person says from which alpha on nobody would report a pair with them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing import Panel, Rule, Sides
from likewise.fixed_point import ONE, IntArray
from likewise.schema import People

__all__ = ["NEVER", "Block", "Question", "Tally", "scan"]

# Pairs of a block fit into the caches of a processor; 2 cores see 20,000 people in half a minute.
SIDE = 384
NEVER = -2 * ONE
"""The excess of a pair that is not there."""


@dataclass(frozen=True, eq=False)
class Question:
    """The questions that every pair is asked: who objects, and what each rule makes of it."""

    people: People
    scores: IntArray
    panel: Panel
    sensitivity: int
    alphas: IntArray
    rules: tuple[Rule, ...] = ()
    worst: int = 20

    @property
    def place_bits(self) -> int:
        """Bits of a key that hold the member's place; the others hold the distance."""
        return max(1, (len(self.panel.members) - 1).bit_length())


@dataclass(frozen=True, eq=False)
class Block:
    """People on the left and on the right by their places; ``ordered`` keeps left before right."""

    left: IntArray
    right: IntArray
    paired: bool = False
    ordered: bool = False

    @property
    def size(self) -> int:
        """How many pairs there are, those of people with themselves included."""
        return len(self.left) if self.paired else len(self.left) * len(self.right)

    def absent(self) -> Any:
        """The pairs that are not there: of people with themselves, or counted elsewhere."""
        left, right = (
            (self.left, self.right) if self.paired else (self.left[:, None], self.right[None, :])
        )
        return left >= right if self.ordered else left == right


class Tally:
    """Counts over pairs; those of several blocks are added, in any order to the same result."""

    def __init__(self, question: Question) -> None:
        self.question = question
        m, everybody = len(question.panel.members), len(question.people)
        self.pairs = 0
        self.above = np.zeros(len(question.alphas), dtype=np.int64)
        self.highest = np.full(everybody, NEVER, dtype=np.int64)
        self.reports_of = np.zeros(everybody, dtype=np.int64)
        self.pivots = np.zeros(m, dtype=np.int64)
        self.decisive = np.zeros(m, dtype=np.int64)
        self.objections = np.zeros(m, dtype=np.int64)
        self.objectors = np.zeros(m + 1, dtype=np.int64)
        self.by_rule = np.zeros(len(question.rules), dtype=np.int64)
        self.highest_by_rule = np.full((len(question.rules), everybody), NEVER, dtype=np.int64)
        self.worst: list[tuple[int, int, int]] = []

    def add(self, block: Block) -> None:
        """Look at the pairs of a block."""
        q = self.question
        left, right = (q.people.take(s, repeated=True) for s in (block.left, block.right))
        sides = Sides(left, right, block.paired)
        s, t = sides.spread(q.scores[block.left], q.scores[block.right])
        gap = np.abs(s - t).astype(np.int32)
        absent = block.absent()
        gone = int(absent.sum())
        if gone:
            gap[absent] = -1
        self.pairs += block.size - gone
        keys = self._keys(sides)
        votes = np.stack([gap > (key >> q.place_bits) + q.sensitivity for key in keys])
        self._count_votes(votes, gone)
        pivot = self._pivots(q.panel.rule, keys)
        excess = gap - (pivot >> q.place_bits)
        excess[absent] = NEVER
        self._count(block, excess, pivot, votes)
        for place, rule in enumerate(q.rules):
            other = gap - (self._pivots(rule, keys) >> q.place_bits)
            self.by_rule[place] += int((other > q.sensitivity).sum())
            _raise(self.highest_by_rule[place], block, other)

    def _keys(self, sides: Sides) -> npt.NDArray[np.int32]:
        """Distances with the members' places in their low bits, an array a member."""
        auditors, bits = self.question.panel.auditors, self.question.place_bits
        keys = np.empty((len(auditors), *sides.shape), dtype=np.int32)
        for place, auditor in enumerate(auditors):
            keys[place] = auditor.between(sides)
            keys[place] <<= bits
            keys[place] |= place
        return keys

    def _pivots(self, rule: Rule, keys: npt.NDArray[np.int32]) -> Any:
        # Where a rule cannot fire, the distance is above every gap.
        top = (ONE + 1) << self.question.place_bits
        return rule.pivot_keys(keys, self.question.panel.members, top)

    def _count_votes(self, votes: npt.NDArray[np.bool_], gone: int) -> None:
        self.objections += votes.reshape(len(votes), -1).sum(axis=1)
        together = votes.sum(axis=0, dtype=np.int16)
        self.objectors += np.bincount(together.ravel(), minlength=len(votes) + 1)
        self.objectors[0] -= gone

    def _count(self, block: Block, excess: Any, pivot: Any, votes: npt.NDArray[np.bool_]) -> None:
        q = self.question
        _raise(self.highest, block, excess)
        some = excess[excess > int(q.alphas[0])]
        passed = np.searchsorted(q.alphas, some, side="left")  # how many alphas are below each
        counts = np.bincount(passed, minlength=len(q.alphas) + 1)
        self.above += np.cumsum(counts[::-1])[::-1][1:]
        reported = excess > q.sensitivity
        if reported.any():
            places = pivot[reported] & ((1 << q.place_bits) - 1)
            self.pivots += np.bincount(places, minlength=len(self.pivots))
            self._count_decisive(votes[:, reported])
            _count_people(self.reports_of, block, reported)
        self._keep_worst(block, excess)

    def _count_decisive(self, votes: npt.NDArray[np.bool_]) -> None:
        """Members without whom a pair would not be reported."""
        rule, members = self.question.panel.rule, self.question.panel.members
        for member in range(len(votes)):
            without = votes.copy()
            without[member] = False
            self.decisive[member] += int((~rule.fires(without, members)).sum())

    def _keep_worst(self, block: Block, excess: Any) -> None:
        wanted = self.question.worst
        if not wanted:
            return
        enough = self.worst[-1][0] if len(self.worst) == wanted else NEVER + 1
        if excess.size == 0 or excess.max() < enough:
            return
        flat = excess.ravel()
        if flat.size > wanted:
            enough = max(enough, int(np.partition(flat, flat.size - wanted)[flat.size - wanted]))
        found = np.flatnonzero(flat >= enough)
        found = found[np.argsort(-flat[found], kind="stable")[: 4 * wanted]]
        rows, columns = (found, found) if block.paired else np.divmod(found, len(block.right))
        for e, i, j in zip(flat[found], block.left[rows], block.right[columns], strict=True):
            self.worst.append((int(e), min(int(i), int(j)), max(int(i), int(j))))
        self.sort_worst()

    def sort_worst(self) -> None:
        """Keep the worst pairs, in order, each once."""
        ordered = sorted(set(self.worst), key=lambda pair: (-pair[0], pair[1], pair[2]))
        self.worst = ordered[: self.question.worst]

    def merge(self, other: Tally) -> None:
        """Add the counts of other blocks."""
        self.pairs += other.pairs
        for name in ("above", "reports_of", "pivots", "decisive", "objections", "objectors"):
            getattr(self, name)[...] += getattr(other, name)
        self.by_rule += other.by_rule
        np.maximum(self.highest, other.highest, out=self.highest)
        np.maximum(self.highest_by_rule, other.highest_by_rule, out=self.highest_by_rule)
        self.worst += other.worst
        self.sort_worst()


def _raise(highest: IntArray, block: Block, excess: Any) -> None:
    """Remember the largest excess of everybody in the block."""
    if block.paired:
        np.maximum.at(highest, block.left, excess)
        np.maximum.at(highest, block.right, excess)
        return
    highest[block.left] = np.maximum(highest[block.left], excess.max(axis=1))
    highest[block.right] = np.maximum(highest[block.right], excess.max(axis=0))


def _count_people(counts: IntArray, block: Block, reported: Any) -> None:
    if block.paired:
        np.add.at(counts, block.left, reported)
        np.add.at(counts, block.right, reported)
        return
    counts[block.left] += reported.sum(axis=1)
    counts[block.right] += reported.sum(axis=0)


def all_pairs(people: int) -> list[Block]:
    """Blocks that have every pair of so many people once.

    >>> sum(int((~block.absent()).sum()) for block in all_pairs(1000))
    499500
    """
    parts = [np.arange(start, min(start + SIDE, people)) for start in range(0, people, SIDE)]
    return [
        Block(left, right, ordered=True)
        for place, left in enumerate(parts)
        for right in parts[place:]
    ]


def scan(
    question: Question,
    blocks: Sequence[Block],
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005
) -> Tally:
    """The counts over all blocks, on all cores; numpy lets threads run beside each other."""
    workers = max(1, jobs or os.cpu_count() or 1)
    total, done = len(blocks), 0

    def work(mine: Iterable[Block]) -> Tally:
        nonlocal done
        tally = Tally(question)
        for block in mine:
            tally.add(block)
            done += 1
            progress(done, total)
        return tally

    if workers == 1 or total <= 1:
        return work(blocks)
    with ThreadPoolExecutor(workers) as pool:
        tallies = list(pool.map(work, [blocks[place::workers] for place in range(workers)]))
    for other in tallies[1:]:
        tallies[0].merge(other)
    return tallies[0]
