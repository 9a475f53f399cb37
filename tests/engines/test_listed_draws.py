"""Draws from a list are the reference engine's, at every size of costs and noise, ties included."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.learner.compiled import lists
from likewise.learner.compiled import lists as list_kernels
from likewise.learner.compiled.lists import Layout, Plan, in_groups, in_steps
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from tests.engines.listed import Table, different_rows, reference

INT16 = np.iinfo(np.int16)


def stream(seed: int = 1) -> Stream:
    return Stream(seed, Purpose.ELICIT, 5)


@settings(max_examples=300)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 80),
    points=st.integers(1, 40),
    cost_bits=st.integers(0, 62),
    scale_bits=st.integers(-24, 33),
    copies=st.integers(1, 3),
)
def test_choices_are_the_reference_engines(
    seed: int, size: int, points: int, cost_bits: int, scale_bits: int, copies: int
) -> None:
    rng = np.random.default_rng(seed)
    table = Table(different_rows(rng, size, points))
    costs = rng.integers(-(1 << cost_bits), 1 << cost_bits, table.size)
    noise = Noise(stream(seed), rng.uniform(0.5, 1.0) * 2.0**scale_bits / copies, copies)
    choices = lists.choices(table, costs, noise, range(seed, seed + 150))
    assert (choices == reference(table, costs, noise, seed, 150)).all()


@pytest.mark.parametrize("points", [1, 7, 8, 9, 33, 300])
@pytest.mark.parametrize("scale", [0.0, 1e-7, 1e-6, 1.0])
@pytest.mark.parametrize("equal", [True, False])
def test_the_first_of_equals_is_chosen(points: int, scale: float, equal: bool) -> None:
    """Costs that are all equal, or 0 and 1 units; noise of no unit, of some, of a million."""
    rng = np.random.default_rng(points)
    table = Table(different_rows(rng, 200, points))
    costs = np.full(table.size, 7) if equal else rng.integers(0, 2, table.size)
    noise = Noise(stream(), scale)
    choices = lists.choices(table, costs, noise, range(300))
    assert (choices == reference(table, costs, noise, 0, 300)).all()
    if scale == 0:
        assert (choices == np.argmin(costs)).all()


@pytest.mark.parametrize("value", [np.iinfo(np.int64).min, -(1 << 62), 1 << 62, (1 << 63) - 1])
def test_sums_beyond_63_bits_wrap_around_as_the_reference_engines_do(value: int) -> None:
    rng = np.random.default_rng(1)
    table = Table(different_rows(rng, 50, 20))
    costs = rng.integers(-1000, 1000, table.size)
    costs[::3] = value
    for scale in (0.0, 1.0, 2.0**33.9):
        noise = Noise(stream(), scale)
        choices = lists.choices(table, costs, noise, range(200))
        assert (choices == reference(table, costs, noise, 0, 200)).all()


@pytest.mark.parametrize("size", [32767, 32768, 70000])
@pytest.mark.parametrize("points", [17, 20])
def test_lists_longer_than_16_bits_can_count(size: int, points: int) -> None:
    """The best of one block of the list may be the second best of all, and the other way round."""
    rng = np.random.default_rng(size)
    table = Table(different_rows(rng, size, points))
    costs = rng.integers(0, 1 << 20, table.size)
    noise = Noise(stream(), 1.0)
    choices = lists.choices(table, costs, noise, range(3, 73))
    assert (choices == reference(table, costs, noise, 3, 70)).all()
    assert np.count_nonzero(choices > 32767) > 5 or size < 70000


# Near ties, at the limit of the bound. With one draw of much noise in the block, the factor f is
# that draw's; the other draws are made so that every rounding errs in the same direction.


def worst_case(points: int, side: float) -> tuple[Table, IntArray, IntArray]:
    """Two hypotheses on two halves of the points, and draws that mislead short integers.

    In short units (1/f) a point of the first half is worth 10.49 and counts as 10, one of the other
    half 10.51 and counts as 11. So the first hypothesis seems better by half of the points. The
    costs make up for what it is truly better by, plus ``side`` units: it is worse if that is more
    than 0, and equal if it is 0.
    """
    half = points // 2
    on_set = np.zeros((2, points), dtype=np.uint8)
    on_set[0, :half] = 1
    on_set[1, half:] = 1
    largest = 1 << 40
    spread = largest * points * (1.0 + 1e-6)
    unit = spread / (2.0 * (INT16.max - points // 2 - 4))
    low, high = round(10.49 * unit), round(10.51 * unit)
    noise = np.zeros((points, 64), dtype=np.int64)
    noise[:half], noise[half:] = low, high
    noise[:, 0] = largest
    costs = np.array([half * (high - low) + int(side), 0])
    return Table(on_set), costs, noise


@pytest.mark.parametrize("points", [2, 8, 32, 46])
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_near_ties_at_the_limit_of_the_bound(points: int, side: int) -> None:
    """Mutants that fail: a lead of half as much, or of 2, is enough; int32 is not asked again."""
    table, costs, noise = worst_case(points, side)
    expected = table.minimise(costs, np.ascontiguousarray(noise.T))[:, 0]
    assert (lists._search(Plan(table), costs, noise) == expected).all()
    assert (expected[1:] == (1 if side > 0 else 0)).all()


def test_the_worst_case_misleads_short_integers() -> None:
    """Or the test above would show nothing: 16 bits prefer the wrong one, by half of the points."""
    table, costs, noise = worst_case(46, 1)
    groups = in_groups(Plan(table).on_set, np.arange(2))
    short = lists._Short.of(np.int16, costs, list_kernels.spread(noise), 46)
    place, gap = np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int64)
    groups.search(short.costs, noise, (0, 64), short.factor, place, gap)
    assert (place[1:] == 0).all()
    assert (gap[1:] >= 46 // 2 - 1).all()
    assert (gap[1:] < short.lead).all()


@given(seed=st.integers(0, 10**6), points=st.integers(1, 60), kind=st.sampled_from(lists.SHORT))
def test_short_scores_keep_to_their_bound(seed: int, points: int, kind: type) -> None:
    """The lead of the best, in exact arithmetic, is off by at most s/2 + 1 (and a little)."""
    rng = np.random.default_rng(seed)
    table = Table(different_rows(rng, 30, points))
    costs = rng.integers(0, 1 << int(rng.integers(1, 30)), table.size)
    noise = rng.integers(-(1 << 24), 1 << 24, (points, 64))
    spread = float(np.abs(noise).sum(axis=0).max())
    cut = np.minimum(costs - costs.min(), int(spread) + 1)
    short = lists._Short.of(kind, cut, spread, points)
    place, gap = np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int64)
    layout = in_groups(Plan(table).on_set, np.arange(table.size))
    layout.search(short.costs, noise, (0, 64), short.factor, place, gap)
    scores = cut + noise.T @ table.separating_points().astype(np.int64)
    chosen = np.take_along_axis(scores, place[:, None], axis=1)[:, 0]
    rest = scores.copy()
    np.put_along_axis(rest, place[:, None], np.iinfo(np.int64).max, axis=1)
    if table.size > 1:
        lead = (rest.min(axis=1) - chosen) * short.factor
        assert (np.abs(gap - lead) <= points / 2 + 1 + 1e-3).all()


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64])
@pytest.mark.parametrize("size", [500, 70_000])
def test_every_layout_finds_the_best_and_its_lead(kind: type, size: int) -> None:
    """Brute force on short integers; 70,000 are more than 16 bits can count."""
    rng = np.random.default_rng(4)
    on_set = different_rows(rng, size, 21)
    noise = rng.integers(-200, 200, (21, 100))
    costs = rng.integers(-400, 400, size)
    factor = 0.0 if kind is np.int64 else 1.75
    numbers = np.rint(noise * (factor or 1.0)).astype(np.int64)
    scores = costs + numbers.T @ on_set.T.astype(np.int64)
    least, second = np.partition(scores, 1, axis=1)[:, :2].T
    order = rng.permutation(size)
    layouts: list[Layout] = [
        in_groups(on_set, np.arange(size)),
        in_steps(on_set, np.arange(size)),
        in_groups(on_set[order], order),
        in_steps(on_set[order], order),
    ]
    for layout in layouts:
        place, gap = np.zeros(100, dtype=np.int64), np.zeros(100, dtype=np.int64)
        short: npt.NDArray[Any] = costs[layout.members].astype(kind)
        layout.search(short, noise, (0, 100), factor, place, gap)
        chosen = np.take_along_axis(scores, layout.members[place][:, None], axis=1)[:, 0]
        assert (gap == second - least).all()
        assert (chosen == least).all()


def test_hypotheses_that_cannot_be_chosen_are_left_out() -> None:
    rng = np.random.default_rng(5)
    table = Table(different_rows(rng, 2000, 24))
    costs = rng.integers(0, 1 << 40, table.size)
    noise = Noise(stream(), 100.0)
    sample = np.ascontiguousarray(noise.sample(0, 64, np.arange(24)).T)
    within = np.flatnonzero(costs - costs.min() <= list_kernels.spread(sample))
    layout = Plan(table).of(within)
    assert layout is not None
    assert 1 <= len(layout.members) < 100
    choices = lists.choices(table, costs, noise, range(500))
    assert (choices == reference(table, costs, noise, 0, 500)).all()
    assert set(choices.tolist()) <= set(within.tolist())


def test_few_draws_of_a_random_pool_are_in_doubt() -> None:
    """Or the first search would be in vain: 32 points, 4,096 hypotheses, 16 bits."""
    rng = np.random.default_rng(6)
    plan = Plan(Table(different_rows(rng, 4096, 32)))
    noise = np.ascontiguousarray(Noise(stream(), 1.0).sample(0, 2048, np.arange(32)).T)
    short = lists._Short.of(
        np.int16, rng.integers(0, 1 << 21, 4096), list_kernels.spread(noise), 32
    )
    place, gap = np.zeros(2048, dtype=np.int64), np.zeros(2048, dtype=np.int64)
    plan.best.search(short.costs, noise, (0, 2048), short.factor, place, gap)
    assert (gap < short.lead).mean() < 0.05


PEAK = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from tests.engines.listed import Table, different_rows
from likewise.learner.compiled import lists
from likewise.numerics.randomness import Noise, Purpose, Stream

table = Table(different_rows(np.random.default_rng(1), 4096, 32))
costs, noise = np.zeros(4096, dtype=np.int64), Noise(Stream(1, Purpose.ELICIT, 1), 1.0)
lists.choices(table, costs, noise, range(1000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lists.choices(table, costs, noise, range(200_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_SELF"), reason="asks the kernel")
def test_memory_does_not_grow_with_the_draws() -> None:
    """200,000 draws from 4,096 hypotheses: a matrix of them has 3,200 MB in float32."""
    root = str(Path(__file__).parents[2])
    process = subprocess.run(
        [sys.executable, "-c", PEAK, root], capture_output=True, text=True, timeout=120, check=True
    )
    megabytes = int(process.stdout) / 1024
    assert megabytes < 40
