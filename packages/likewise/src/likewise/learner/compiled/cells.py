"""The compiled engine's classes over cells: draws of segments and staircases, weights of segments.

Draws are made a register at a time. A draw of segments is the best threshold of each; one of
staircases is a dynamic program over the rows of a grid, with the noise of all its cells. Weights
over segments are exponential, with the prior from coarse to fine.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from likewise.hypotheses.base import WEIGHT_BITS, Bits, GibbsPolicy, Points
from likewise.hypotheses.grids import ContextTree
from likewise.hypotheses.segments import Segments
from likewise.hypotheses.staircases import Staircases
from likewise.learner.compiled import vectors
from likewise.learner.compiled.noise import (
    AT_ONCE,
    LANES,
    WIDTH,
    below,
    fill,
    noise_of,
    picked,
)
from likewise.learner.compiled.vectors import compiled
from likewise.learner.compiled.weights import weights_of
from likewise.numerics.fixed_point import LN2, IntArray, log, read_only
from likewise.numerics.randomness import Stream

# Digests of the files that are built in here: see tests/engines/test_compilation.py.
BUILT_IN = {
    "noise": "aa58adf3dc1917cf", "vectors": "d620405a0e601aa7", "weights": "3fd7a91f9047559a",
}  # fmt: skip

# How many draws of a grid's program a thread makes at a time; of thresholds twice as many.
A_PIECE = 512


@compiled
def _best_thresholds(costs: Any, noise: Any, threshold: Any) -> None:
    """The lowest threshold of least cost, for costs[bin] and noise[bin, draw]."""
    bins, draws = noise.shape
    registers = draws // WIDTH
    for r in range(registers):
        total = vectors.everywhere(np.int64(0))
        least, best = total, vectors.everywhere(np.int64(bins))
        for j in range(bins - 1, -1, -1):
            number = vectors.load(noise, j * registers + r)
            total = vectors.plus(total, vectors.plus(vectors.everywhere(costs[j]), number))
            best = vectors.if_less(least, total, best, vectors.everywhere(np.int64(j)))
            least = vectors.if_less(least, total, least, total)
        vectors.store(threshold, r, best)


@compiled
def _draw_segments(
    costs: Any, bins: Any, points: Any, people: Any, source: Any, start: Any, approved: Any
) -> None:
    """approved[person, draw] for the draws from ``start`` on; ``people`` are sorted by segment."""
    draws = approved.shape[1]
    lanes = min(AT_ONCE, (draws + WIDTH - 1) // WIDTH * WIDTH)
    noise = np.empty((bins, lanes), dtype=np.int64)
    threshold = np.empty(lanes, dtype=np.int64)
    words = np.empty((4, LANES), dtype=np.uint64)
    for first in range(0, draws, lanes):
        segment = -1
        for person in people:
            if points[person] // bins != segment:
                segment = points[person] // bins
                fill(source, segment * bins, start + first, words, noise)
                _best_thresholds(costs[segment * bins : (segment + 1) * bins], noise, threshold)
            place = points[person] % bins
            row = approved[person, first : min(first + lanes, draws)]
            for lane in range(len(row)):
                row[lane] = place >= threshold[lane]


def segment_approvals(
    hypotheses: Segments, costs: IntArray, source: tuple[Any, ...], points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], from the noise of only those segments that the people are in."""
    approved = np.empty((len(points), draws), dtype=np.uint8)
    people = np.argsort(points // hypotheses.bins, kind="stable")

    def make(start: int, size: int) -> None:
        block = np.empty((len(points), size), dtype=np.uint8)
        _draw_segments(costs, hypotheses.bins, points, people, source, start, block)
        approved[:, start : start + size] = block

    vectors.share_out(make, vectors.pieces(draws, 2 * A_PIECE, AT_ONCE))
    return approved.T


@compiled
def _row(costs: Any, noise: Any, least: Any, choice: Any) -> None:
    """One row of the program, after those below it: least[m, draw] and choice[m, draw].

    ``least[m]`` belongs to the row below on entry, and to this row on return; ``choice[m]`` is the
    lowest threshold of least cost among 0 … m. Thresholds are compared by −Σ_{b < j} cost_b, their
    cost less that of the whole row.
    """
    registers = noise.shape[1] // WIDTH
    for r in range(registers):
        total = vectors.everywhere(np.int64(0))
        lowest, best = vectors.load(least, r), total
        vectors.store_short(choice, r, best)
        for b in range(len(costs)):
            number = vectors.load(noise, b * registers + r)
            total = vectors.plus(total, vectors.plus(vectors.everywhere(costs[b]), number))
            place = (b + 1) * registers + r
            stop = vectors.minus(vectors.load(least, place), total)
            best = vectors.if_less(stop, lowest, vectors.everywhere(np.int64(b + 1)), best)
            lowest = vectors.if_less(stop, lowest, stop, lowest)
            vectors.store(least, place, lowest)
            vectors.store_short(choice, place, best)


@compiled
def _read(choice: Any, cells: Any, threshold: Any, first: Any, approved: Any) -> None:
    """Follow the choices from the first row on, and note who is approved: [cell, draw]."""
    columns = choice.shape[1] - 1
    threshold[:] = columns
    for a in range(cells.max() // columns + 1):
        for lane in range(len(threshold)):
            threshold[lane] = choice[a, threshold[lane], lane]
        for i in range(len(cells)):
            if cells[i] // columns == a:
                column = cells[i] % columns
                row = approved[i, first : min(first + len(threshold), approved.shape[1])]
                for lane in range(len(row)):
                    row[lane] = column >= threshold[lane]


@compiled
def _draw_grid(
    costs: Any, first_cell: Any, cells: Any, source: Any, start: Any, approved: Any
) -> None:
    """approved[cell, draw] for the draws from ``start`` on, on some cells of one grid."""
    rows, columns = costs.shape
    draws = approved.shape[1]
    lanes = min(AT_ONCE, (draws + WIDTH - 1) // WIDTH * WIDTH)
    noise = np.empty((columns, lanes), dtype=np.int64)
    least = np.empty((columns + 1, lanes), dtype=np.int64)
    choice = np.empty((rows, columns + 1, lanes), dtype=np.int16)
    threshold = np.empty(lanes, dtype=np.int64)
    words = np.empty((4, LANES), dtype=np.uint64)
    for first in range(0, draws, lanes):
        least[:, :] = 0
        for a in range(rows - 1, -1, -1):
            fill(source, first_cell + a * columns, start + first, words, noise)
            _row(costs[a], noise, least, choice[a])
        _read(choice, cells, threshold, first, approved)


def staircase_approvals(
    hypotheses: Staircases, costs: IntArray, source: tuple[Any, ...], points: IntArray, draws: int
) -> Bits:
    """approved[draw, person], from the noise of only those grids that the people are in."""
    rows, columns = hypotheses.rows, hypotheses.columns
    tables = np.ascontiguousarray(costs).reshape(hypotheses.grids, rows, columns)
    grids, cells = points // hypotheses.cells, points % hypotheses.cells
    approved = np.empty((len(points), draws), dtype=np.uint8)

    def make(start: int, size: int) -> None:
        for grid in np.unique(grids).tolist():
            inside = np.flatnonzero(grids == grid)
            block = np.empty((len(inside), size), dtype=np.uint8)
            first_cell = grid * hypotheses.cells
            _draw_grid(tables[grid], first_cell, cells[inside], source, start, block)
            approved[inside, start : start + size] = block

    vectors.share_out(make, vectors.pieces(draws, A_PIECE, AT_ONCE))
    return approved.T


_SQRT_HALF = 0.7071067811865476
_LOG_WEIGHT = WEIGHT_BITS * LN2
_WEIGHT = float(1 << WEIGHT_BITS)


@compiled
def _log(x: Any) -> Any:
    """The steps of fixed_point.log."""
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    q = s * s
    series = 1.0 / 17.0
    for odd in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * q + 1.0 / odd
    return np.float64(exponent) * LN2 + 2.0 * s * series


@compiled
def _is_open(node: Any, f: Any, levels: Any, strides: Any) -> Any:
    return node // strides[f] % (levels[f] + 1) == levels[f]


@compiled
def _gather(levels: Any, strides: Any, inner: Any, table: Any) -> None:
    """Rows of nodes that leave a feature open: those of its levels, added up."""
    for node in inner:
        f = 0
        while not _is_open(node, f, levels, strides):
            f += 1
        row = table[node]
        row[:] = 0
        for level in range(levels[f]):
            below = table[node - (levels[f] - level) * strides[f]]
            for j in range(len(row)):
                row[j] += below[j]


@compiled
def _thresholds(
    table: Any, temperature: Any, log_count: Any, least: Any, log_stop: Any, summed: Any
) -> None:
    """Turn costs of bins into those of thresholds, and these into weights, summed along a row."""
    nodes, count = table.shape
    far = np.empty(nodes * count)
    for node in range(nodes):
        tails, lowest = table[node], np.int64(0)
        tails[count - 1] = 0
        for j in range(count - 2, -1, -1):
            tails[j] += tails[j + 1]
            lowest = min(lowest, tails[j])
        least[node] = lowest
        for j in range(count):
            far[node * count + j] = np.float64(tails[j] - lowest) / temperature
    weights_of(far, summed.reshape(-1))
    for node in range(nodes):
        row = summed[node]
        for j in range(1, count):
            row[j] += row[j - 1]
        log_stop[node] = (_log(np.float64(row[count - 1])) - _LOG_WEIGHT) - log_count


@compiled
def _split(node: Any, levels: Any, strides: Any, log_splits: Any, log_z: Any, choices: Any) -> None:
    """Weigh stopping at a node against each of its splits: Z, and choices[node]."""
    terms, features = np.empty(len(levels) + 1), np.empty(len(levels), dtype=np.int64)
    terms[0], count = log_z[node] - LN2, 0
    for f in range(len(levels)):
        if _is_open(node, f, levels, strides):
            total = log_z[node - levels[f] * strides[f]]
            for level in range(1, levels[f]):
                total = total + log_z[node - (levels[f] - level) * strides[f]]
            features[count] = f
            count += 1
            terms[count] = total
    top = terms[0]
    for i in range(1, count + 1):
        terms[i] = terms[i] - log_splits[count]
        top = max(top, terms[i])
    for i in range(count + 1):
        terms[i] = top - terms[i]
    weights = np.empty(count + 1, dtype=np.int64)
    weights_of(terms[: count + 1], weights)
    choices[node, 0] = weights[0]
    for i in range(count):
        choices[node, 1 + features[i]] = weights[1 + i]
    log_z[node] = top + (_log(np.float64(weights.sum())) - _LOG_WEIGHT)


@compiled
def weigh(costs: Any, temperature: Any, plan: Any, summed: Any, choices: Any, top: Any) -> None:
    """Weights of every node's thresholds, of stopping and splitting, and of the constants.

    ``summed`` is (nodes, bins + 1), ``choices`` (nodes, 1 + features), and ``top`` has the weights
    of approving everybody, of approving nobody, and of the tree.
    """
    levels, strides, leaves, inner, log_splits, log_count = plan
    nodes, bins = len(summed), summed.shape[1] - 1
    table, best = np.empty(summed.shape, dtype=np.int64), np.empty((nodes, 1), dtype=np.int64)
    least, log_z = np.empty(nodes, dtype=np.int64), np.empty(nodes)
    for group in range(len(leaves)):
        table[leaves[group], :bins] = costs[group * bins : (group + 1) * bins]
    _gather(levels, strides, inner, table[:, :bins])
    _thresholds(table, temperature, log_count, least, log_z, summed)
    best[:, 0] = least
    _gather(levels, strides, inner, best)
    for node in range(nodes):
        log_z[node] = log_z[node] - np.float64(least[node] - best[node, 0]) / temperature
    choices[:, :] = 0
    choices[:, 0] = 1 << WEIGHT_BITS
    for node in inner:
        _split(node, levels, strides, log_splits, log_z, choices)
    lowest, total, terms = best[nodes - 1, 0], table[nodes - 1, 0], np.empty(3)
    terms[0] = -np.float64(total - lowest) / temperature - LN2
    terms[1] = np.float64(lowest) / temperature - LN2
    terms[2] = log_z[nodes - 1]
    weights_of(terms.max() - terms, top)


@compiled
def approve(
    points: Any, paths: Any, splits: Any, summed: Any, choices: Any, top: Any, out: Any
) -> None:
    """The chance of approval of each point, in units of 2^-40."""
    bins, sets = summed.shape[1] - 1, paths.shape[1]
    everybody, nobody, tree = np.float64(top[0]), np.float64(top[1]), np.float64(top[2])
    reach = np.empty(sets)
    for i in range(len(points)):
        path, cell = paths[points[i] // bins], points[i] % bins
        reach[:] = 0.0
        reach[0] = 1.0
        for n in range(len(splits)):
            column, f, below = splits[n, 0], splits[n, 1], splits[n, 2]
            weights = choices[path[column]]
            share = np.float64(weights[1 + f]) / np.float64(weights.sum())
            reach[below] += reach[column] * share
        chance_of_tree = 0.0
        for column in range(sets):
            weights, row = choices[path[column]], summed[path[column]]
            stops = reach[column] * (np.float64(weights[0]) / np.float64(weights.sum()))
            chance_of_tree = chance_of_tree + stops * (
                np.float64(row[cell]) / np.float64(row[bins])
            )
        chance = (everybody + tree * chance_of_tree) / (everybody + nobody + tree)
        out[i] = np.int64(np.rint(min(chance, 1.0) * _WEIGHT))


@compiled
def draw_tree(
    points: Any, plan: Any, noise: Any, summed: Any, choices: Any, top: Any, out: Any
) -> None:
    """One draw on the points: position 0 chooses the tree, then every node has two of its own."""
    levels, strides, leaves = plan[0], plan[1], plan[2]
    nodes, bins = len(summed), summed.shape[1] - 1
    words = np.empty((4, 1), dtype=np.uint64)
    branch = picked(top, below(top.sum(), 0, noise, words))
    if branch < 2:
        out[:] = 1 - branch
        return
    chosen, threshold = np.full(nodes, -1), np.full(nodes, -1)
    for i in range(len(points)):
        leaf, node = leaves[points[i] // bins], nodes - 1
        while True:
            if chosen[node] < 0:
                weights = choices[node]
                chosen[node] = picked(weights, below(weights.sum(), 1 + node, noise, words))
            if chosen[node] == 0:
                break
            f = chosen[node] - 1
            level = leaf // strides[f] % (levels[f] + 1)
            node -= (levels[f] - level) * strides[f]
        if threshold[node] < 0:
            row = summed[node]
            number = below(row[bins], 1 + nodes + node, noise, words)
            threshold[node] = np.searchsorted(row, number, side="right")
        out[i] = points[i] % bins >= threshold[node]


CERTAIN = 1 << WEIGHT_BITS


class _Plan(NamedTuple):
    """A tree for compiled code: nodes for weights, and paths for chances."""

    nodes: tuple[Any, ...]
    paths: IntArray
    splits: IntArray


@lru_cache(maxsize=16)
def _plan(tree: ContextTree, bins: int) -> _Plan:
    features = len(tree.levels)
    # Nodes that leave fewer features open come first, since others are sums of them.
    nothing = np.empty(0, dtype=np.int64)
    inner = np.concatenate([nothing, *(depth.nodes for depth in tree.depths)])
    log_splits = np.array([0.0, *(LN2 + log(count) for count in range(1, features + 1))])
    nodes = (
        np.array(tree.levels, dtype=np.int64), np.array(tree.strides, dtype=np.int64),
        np.ascontiguousarray(tree.leaves), inner, log_splits, log(bins + 1),
    )  # fmt: skip
    splits = np.array(tree.splits, dtype=np.int64).reshape(-1, 3)
    return _Plan(nodes, tree.paths(np.arange(len(tree.leaves))), splits)


class SegmentTreePolicy(GibbsPolicy):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature) over thresholds by segment.

    The fractions and draws are those of the class's own policy,
    :class:`~likewise.hypotheses.grids.CoarseToFine`.
    """

    def __init__(self, hypotheses: Segments, costs: IntArray, temperature: float) -> None:
        tree, bins = hypotheses.tree, hypotheses.bins
        self._plan = _plan(tree, bins)
        self._weights = (
            np.empty((tree.nodes, bins + 1), dtype=np.int64),
            np.empty((tree.nodes, 1 + len(tree.levels)), dtype=np.int64),
            np.empty(3, dtype=np.int64),
        )
        weigh(read_only(costs), temperature, self._plan.nodes, *self._weights)

    def approval(self, points: Points) -> list[tuple[int, int]]:
        cells, units = np.ascontiguousarray(points, dtype=np.int64), np.empty(len(points), np.int64)
        approve(cells, self._plan.paths, self._plan.splits, *self._weights, units)
        return [(unit, CERTAIN) for unit in units.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        cells, bits = np.ascontiguousarray(points, dtype=np.int64), np.empty(len(points), np.uint8)
        draw_tree(cells, self._plan.nodes, noise_of(stream, draw), *self._weights, bits)
        return bits
