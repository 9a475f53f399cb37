"""Draws: pools, staircases, segments and Boolean classes, each beside plain numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.hypotheses import Conjunctions, HypothesisClass, Listed, Parities
from likewise.learner.oracle import Oracle
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema
from studies.benchmark.items import Asked, Item, grid, race, random_table, seconds_of, segments

NOISE = Noise(Stream(7, Purpose.ELICIT, 1), 1.0)
FloatTable = npt.NDArray[np.float32]
Transform = Callable[[FloatTable], FloatTable]


def _draws(hypotheses: HypothesisClass, costs: IntArray, points: Any, draws: int) -> Any:
    return Oracle(hypotheses).approvals(costs, NOISE, points, draws=draws)


def choices(table: Listed, costs: IntArray, draws: int, engine: str = "compiled") -> IntArray:
    """Which hypothesis each draw is, read off its predictions: bits of every place in the list."""
    bits = max(1, (table.size - 1).bit_length())
    places = (np.arange(table.size) >> np.arange(bits)[:, None] & 1).astype(np.uint8)
    oracle = Oracle(table, engine)
    approvals = oracle.approvals(costs, NOISE, places, draws=draws).astype(np.int64)
    return np.asarray((approvals << np.arange(bits)).sum(axis=1))


def exact_choices(table: Listed, costs: IntArray, draws: int) -> IntArray:
    """The same from sums in float64, which are exact here, a block at a time."""
    on_set, places = table.separating_points().astype(np.float64), np.arange(table.separators)
    blocks = []
    for start in range(0, draws, 256):
        noise = NOISE.sample(start, min(256, draws - start), places).astype(np.float64)
        blocks.append((noise @ on_set + costs).argmin(axis=1))
    return np.concatenate(blocks)


def sgemm_rate(size: int) -> float:
    """Floating-point operations a second of numpy's product of two square float32 matrices."""
    square = np.random.default_rng(1).random((size, size)).astype(np.float32)
    return 2.0 * size * size * size / seconds_of(lambda: square @ square, 5)


def pool_draws(quick: bool) -> Item:
    """Draws from a pool against (G @ P + c).argmin(1) in float32, both with their noise."""
    draws, points, size = (2000, 16, 512) if quick else (20_000, 32, 4096)
    table = random_table(size, points)
    rng = np.random.default_rng(2)
    costs = rng.integers(0, 4 * ONE, size)
    points_ = np.zeros((1, size), dtype=np.uint8)
    transposed: FloatTable = table.separating_points().astype(np.float32)
    c: FloatTable = (costs / ONE).astype(np.float32)

    def plain() -> object:
        noise: FloatTable = rng.laplace(size=(draws, points)).astype(np.float32)
        return (noise @ transposed + c).argmin(1)

    seconds, reference = race(lambda: _draws(table, costs, points_, draws), plain, 7)
    wrong = np.count_nonzero(choices(table, costs, draws) != exact_choices(table, costs, draws))
    limit = 2.0 * draws * points * size / sgemm_rate(512 if quick else 2048)
    return Item(
        "pool-draws", "draws from a pool, noise included",
        f"R = {draws:,}, s = {points}, |H| = {size:,}", seconds,
        "numpy float32: (G @ P + c).argmin(1), its noise included", reference,
        Asked("times faster", 2.5),
        {"limit": "the product alone, at the speed of numpy's sgemm", "limit_seconds": limit,
         "choices_checked": draws, "choices_wrong": int(wrong)},
        holds=wrong == 0,
    )  # fmt: skip


def _one_staircase(cells: npt.NDArray[np.float64]) -> list[int]:
    """One draw: the dynamic program over the rows, each row at once."""
    rows, columns = cells.shape
    stop = np.zeros((rows, columns + 1))
    stop[:, :-1] = np.cumsum(cells[:, ::-1], axis=1)[:, ::-1]
    for a in range(rows - 2, -1, -1):
        stop[a] += np.minimum.accumulate(stop[a + 1])
    above, code = columns, []
    for a in range(rows):
        above = int(np.argmin(stop[a, : above + 1]))
        code.append(above)
    return code


def staircase_draws(quick: bool) -> Item:
    """Staircases: all draws at once against one vectorised program a draw."""
    side, draws = (8, 500) if quick else (32, 5000)
    stairs = grid(side, side)
    rng = np.random.default_rng(3)
    costs = rng.integers(-ONE, ONE, stairs.separators)
    points = rng.integers(0, stairs.separators, 8)
    sample_draws = min(draws, 500)

    def plain() -> None:
        for _ in range(sample_draws):
            _one_staircase((costs / ONE + rng.laplace(size=stairs.separators)).reshape(side, side))

    seconds, reference = race(lambda: _draws(stairs, costs, points, draws), plain, 15)
    sample = NOISE.sample(0, 200, np.arange(stairs.separators)) + costs
    codes = np.array([_one_staircase(row.reshape(side, side).astype(float)) for row in sample])
    expected = points % side >= codes[:, points // side]
    wrong = np.count_nonzero(_draws(stairs, costs, points, 200) != expected)
    return Item(
        "staircase-draws", "draws of staircases, noise included", f"{side}×{side}, R = {draws:,}",
        seconds, "numpy: one vectorised dynamic program a draw, its noise included",
        reference * draws / sample_draws, Asked("times faster", 100.0),
        {"choices_checked": 200, "choices_wrong": int(wrong)}, holds=wrong == 0,
    )  # fmt: skip


def segment_draws(quick: bool) -> Item:
    """Segments: draws for everybody against the noise alone, both by the compiled engine."""
    from likewise.learner.compiled.noise import LANES, fill, source_of
    from likewise.learner.compiled.vectors import pieces, share_out

    count, bins, draws = (6, 8, 1000) if quick else (50, 20, 5000)
    lender = segments(count, bins)
    costs = np.random.default_rng(4).integers(-ONE, ONE, lender.separators)
    points = np.arange(count) * bins + bins // 2
    source = source_of(NOISE, 0)

    def noise(start: int, size: int) -> None:
        numbers = np.empty((bins, size), dtype=np.int64)
        words = np.empty((4, LANES), dtype=np.uint64)
        for segment in range(count):
            fill(source, segment * bins, start, words, numbers)

    parts = pieces(draws, 1536, 256)
    seconds, alone = race(
        lambda: _draws(lender, costs, points, draws), lambda: share_out(noise, parts), 9
    )
    return Item(
        "segment-draws", "draws of thresholds in all segments, noise included",
        f"{count} segments × {bins} bins, R = {draws:,}", seconds,
        "the noise of all cells alone, by the same engine", alone, Asked("times its time", 3.0),
    )  # fmt: skip


def boolean_draws(quick: bool) -> list[Item]:
    """Boolean classes: by steps through a Gray code, against a transform for every draw."""
    n, draws = (8, 200) if quick else (15, 2000)
    names = [f"f{i}" for i in range(n)]
    schema = FeatureSchema(tuple(Feature(name, "flag") for name in names))
    all_sets, signs = Conjunctions(schema, names), Parities(schema, names, complements=False)
    sums, transform = "all subset sums, by doubling,", "a Walsh-Hadamard transform"
    return [
        _boolean(all_sets, "conjunction-draws", sums, _subset_sums, n, draws),
        _boolean(signs, "parity-draws", transform, _walsh_hadamard, n, draws),
    ]


def _boolean(
    classes: Listed, name: str, how: str, transform: Transform, n: int, draws: int
) -> Item:
    rng = np.random.default_rng(5)
    costs = rng.integers(0, ONE, classes.size)
    c = (costs[: 1 << n] / ONE).astype(np.float32)
    points_ = np.zeros((1, classes.size), dtype=np.uint8)
    sample_draws = min(draws, 50)

    def plain() -> None:
        for noise in rng.laplace(size=(sample_draws, n + 1)).astype(np.float32):
            (transform(noise[:n]) + c).argmin()

    seconds, reference = race(lambda: _draws(classes, costs, points_, draws), plain, 5)
    wrong = np.count_nonzero(choices(classes, costs, 100) != exact_choices(classes, costs, 100))
    return Item(
        name, "draws, noise included", f"n = {n}, |H| = {classes.size:,}, R = {draws:,}", seconds,
        f"numpy float32: {how} a draw, its noise included", reference * draws / sample_draws, None,
        {"choices_checked": 100, "choices_wrong": int(wrong)},
    )  # fmt: skip


def _subset_sums(noise: FloatTable) -> FloatTable:
    """Σ_{i in S} noise_i for all S: each number doubles the list."""
    sums = np.zeros(1 << len(noise), dtype=np.float32)
    for i, number in enumerate(noise):
        np.add(sums[: 1 << i], number, out=sums[1 << i : 2 << i])
    return sums


def _walsh_hadamard(noise: FloatTable) -> FloatTable:
    """The same from Σ_i noise_i·(−1)^{[i in S]}, by a transform over all 2^n sets."""
    values = np.zeros(1 << len(noise), dtype=np.float32)
    values[1 << np.arange(len(noise))] = noise
    for i in range(len(noise)):
        pairs = values.reshape(-1, 2, 1 << i)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
    return np.asarray((noise.sum() - values) / 2)
