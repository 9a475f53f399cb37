"""How counts grow with the horizon, and how sure one can be of that from a few seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from likewise.errors import ParameterError
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import Interval
from likewise.numerics.randomness import Purpose, Stream
from likewise.validation import reals, within

RESAMPLES = 2000
# The seed of the bootstrap: the same table whoever makes it.
SEED = 20_201


def growth_exponent(rounds: Sequence[int], counts: Sequence[float]) -> float:
    """Return the slope of log count against log rounds, by least squares; NaN where a count is 0.

    A learner whose violations are O(T^a) has an exponent of about a; 1 means no learning.

    >>> round(growth_exponent([500, 2000, 8000], [10, 20, 40]), 3)
    0.5
    """
    horizons = reals("rounds", rounds, "List horizons: [500, 2000].")
    counted = reals("counts", counts, "List a count for each horizon.")
    if len(horizons) != len(counted) or len(set(horizons)) < 2 or not min(horizons) > 0:
        raise ParameterError(
            "rounds", "must be different horizons, at least two, with a count each", rounds,
            "A slope needs two points.",
        )  # fmt: skip
    if not all(math.isfinite(number) for number in (*horizons, *counted)) or min(counted) <= 0:
        return math.nan
    x, y = np.log(np.array(horizons)), np.log(np.array(counted))
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def growth(
    rounds: Sequence[int], counts: Sequence[Sequence[float]], level: float = 0.95
) -> Interval:
    """Return the exponent of the mean over seeds, with a percentile bootstrap over the seeds.

    ``counts`` has a row for each seed, with a count for each horizon. The seeds are drawn again
    with replacement 2,000 times, by numbers that are always the same. Resamples with a count of 0
    have no exponent and are left out; where that is more than a tenth, so is the interval.

    >>> power = growth([100, 400], [[10, 20], [10, 21], [10, 19]])
    >>> round(power.value, 2), power.low < 0.5 < power.high
    (0.5, True)
    """
    table = np.array([reals("counts", row, "A count for each horizon.") for row in counts])
    level = within("level", level, 0, 1, "0.95 is the default.", ends="()")
    exponent = growth_exponent(rounds, table.mean(axis=0).tolist())
    if math.isnan(exponent) or len(table) < 2:
        return Interval(exponent, math.nan, math.nan)
    means = np.stack([table[seeds].mean(axis=0) for seeds in _resamples(len(table))])
    slopes = _slopes(np.array(rounds, dtype=np.float64), means[(means > 0).all(axis=1)])
    if len(slopes) < 0.9 * RESAMPLES:
        return Interval(exponent, math.nan, math.nan)
    tail = 50 * (1 - level)
    return Interval(exponent, *np.percentile(slopes, [tail, 100 - tail]).tolist())


def _resamples(seeds: int) -> IntArray:
    """Draw seeds with replacement, a row for each resample."""
    uniforms = Stream(SEED, Purpose.PROBE, 0).uniforms(0, RESAMPLES, seeds)
    return np.floor(uniforms * seeds).astype(np.int64)


def _slopes(rounds: FloatArray, means: FloatArray) -> FloatArray:
    """By least squares, of the logarithms of each row of means."""
    x = np.log(rounds)
    x = x - x.mean()
    return np.asarray(np.log(means) @ x / (x @ x), dtype=np.float64)
