"""Draws from a list of hypotheses: integers of 16 bits first, longer ones where in doubt.

A draw is argmin_h c_h + Σ_q n_q·h(q). All of its scores are computed from *short* integers, and
the best is kept with its lead on the second best:

    N_q = rint(f·n_q),   C_h = rint(f·c_h),   V_h = C_h + Σ_q N_q·h(q)

with a factor f that makes every V_h fit. Sums of integers are exact, so the difference of two V is
off from f times that of the scores only by the roundings in it: one for each point on which the two
hypotheses differ, and one for each of their costs, s + 2 at most. Each is off by a half (and by
less than 2^-18, since float64 rounds the product first). Where the best has a lead of s/2 + 3/2 or
more on the second best, it is therefore the draw, and the only one. The others are searched again
with 32 bits, and those still in doubt, which are ties or nearly so, with the costs and the noise as
they are.

**They fit.** Σ_q |n_q| ≤ M for all draws of a block. Two hypotheses' noise differs by at most M,
so whoever costs M more than the cheapest is never chosen: costs above that are cut off, or their
hypotheses left out. From all V_h of a draw half of Σ_q N_q is taken away, and from all costs half
of their range C: |V_h| ≤ f·(M + C)/2 + s/4 + 2.

The choices are those of the reference engine for any costs and noise: where its sums could leave 63
bits, all is done with costs and noise as they are, and int64 wraps around the same way in any order
of addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, Listed, Points
from likewise.oracles.engines.compiled import list_kernels as kernels
from likewise.oracles.engines.compiled.list_plans import Layout, Plan, plan_of
from likewise.oracles.engines.compiled.noise import NoiseOfDraws
from likewise.oracles.engines.compiled.vectors import REGISTER_BYTES
from likewise.oracles.engines.compiled.workers import pieces, share_out
from likewise.randomness import Noise

# Noise of about so many numbers is kept at a time, by each thread.
NUMBERS_AT_ONCE = 1 << 17
# Draws are made in multiples of the most that a register holds.
DRAWS_AT_ONCE = REGISTER_BYTES // 2
# Up to here sums do not leave int64, and s + 2 roundings stay below s/2 + 3/2.
LARGEST_SUM = 2.0**62
MOST_SEPARATORS = 1 << 14
# Integers that leave more than this share of draws in doubt are not worth their time.
DOUBTFUL = 0.5

SHORT: tuple[type[Any], ...] = (np.int16, np.int32)


@dataclass(frozen=True, eq=False)
class _Short:
    """Costs in units that are as small as short integers allow, and the noise's factor."""

    costs: Any
    factor: float
    lead: int

    @classmethod
    def of(cls, kind: type[Any], costs: IntArray, spread: float, separators: int) -> _Short:
        """For costs from 0 up and Σ_q |n_q| up to the spread, which is not 0."""
        span = float(costs.max())
        factor = 2.0 * (np.iinfo(kind).max - separators // 2 - 4) / (spread + span)
        centred = np.rint(costs * factor) - np.rint(span * factor / 2.0)
        return cls(centred.astype(kind), factor, separators // 2 + 2)


@dataclass(frozen=True, eq=False)
class _Search:
    """Draws from hypotheses that are laid out, with costs in the order of the layout."""

    layout: Layout
    exact: Layout
    costs: IntArray
    exact_costs: IntArray
    spread: float
    separators: int

    def places(self, noise: IntArray, kinds: tuple[type[Any], ...]) -> IntArray:
        """The chosen hypothesis for every column of noise."""
        draws = noise.shape[1]
        place, gap = np.empty(draws, dtype=np.int64), np.empty(draws, dtype=np.int64)
        if not kinds:
            self.exact.search(self.exact_costs, noise, (0, draws), 0.0, place, gap)
            return self.exact.members[place]
        short = _Short.of(kinds[0], self.costs, self.spread, self.separators)
        first = min(draws, DRAWS_AT_ONCE)
        self.layout.search(short.costs, noise, (0, first), short.factor, place, gap)
        if np.count_nonzero(gap[:first] < short.lead) > DOUBTFUL * first:
            return self.places(noise, kinds[1:])
        self.layout.search(short.costs, noise, (first, draws), short.factor, place, gap)
        chosen = self.layout.members[place]
        doubtful = np.flatnonzero(gap < short.lead)
        if len(doubtful):
            chosen[doubtful] = self.places(np.take(noise, doubtful, axis=1), kinds[1:])
        return chosen


def _search(plan: Plan, costs: IntArray, noise: IntArray) -> IntArray:
    """The chosen hypothesis for every column of noise[q, draw]."""
    spread, cheapest = float(kernels.spread(noise)), int(costs.min())
    largest = spread + max(abs(cheapest), abs(int(costs.max())))
    if largest >= LARGEST_SUM or plan.separators > MOST_SEPARATORS:
        as_listed = _Search(plan.in_order, plan.in_order, costs, costs, spread, plan.separators)
        return as_listed.places(noise, ())
    above = costs - cheapest
    near = np.flatnonzero(above <= spread)
    if len(near) == 1 or spread == 0:
        return np.full(noise.shape[1], near[0])
    few = plan.of(near)
    layout, exact = (plan.best, plan.in_order) if few is None else (few, few)
    cut = np.minimum(above, int(spread) + 1)
    search = _Search(
        layout, exact, cut[layout.members], cut[exact.members], spread, plan.separators
    )
    return search.places(noise, SHORT)


def choices(listed: Listed, costs: IntArray, noise: Noise, draws: range) -> IntArray:
    """The place in the list of every draw."""
    chosen = np.zeros(len(draws), dtype=np.int64)
    if listed.size == 1:
        return chosen
    plan, source = plan_of(listed), NoiseOfDraws.of(noise, draws.start)

    def make(start: int, size: int) -> None:
        numbers = np.empty((plan.separators, size), dtype=np.int64)
        source.fill(0, start, numbers)
        chosen[start : start + size] = _search(plan, costs, numbers)

    most = max(DRAWS_AT_ONCE, NUMBERS_AT_ONCE // plan.separators)
    share_out(make, pieces(len(draws), most, DRAWS_AT_ONCE))
    return chosen


def approvals(listed: Listed, costs: IntArray, noise: Noise, points: Points, draws: range) -> Bits:
    """Predictions of some draws on each point, shape (draws, points)."""
    chosen = choices(listed, costs, noise, draws)
    return np.ascontiguousarray(points.T, dtype=np.uint8)[chosen]
