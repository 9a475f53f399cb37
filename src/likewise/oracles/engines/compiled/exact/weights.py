"""Exponential weights over long lists: the reference's integers, made where the costs are read.

A round reads costs and predictions twice, once to decide and once to charge, and writes costs once;
no weight is ever written to memory. All cores share long lists out among them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import FloatArray, IntArray, read_only
from likewise.hypotheses import Bits, GibbsPolicy, Points
from likewise.hypotheses.weights import pick
from likewise.oracles.engines.compiled.exact import weight_kernels as kernels
from likewise.oracles.engines.compiled.exact.picking import member_drawn, noise_of
from likewise.oracles.engines.compiled.exact.weight_kernels import BLOCK
from likewise.oracles.engines.compiled.workers import pieces, share_out
from likewise.randomness import Stream

# Hypotheses that are worth a thread: waking one takes about as long as these.
PIECE = 1 << 15


def _shared(task: Any, size: int) -> None:
    """task(start, stop) over all hypotheses, on as many threads as are worth it."""
    if size <= PIECE:
        task(0, size)
        return
    share_out(lambda start, length: task(start, start + length), pieces(size, 8 * PIECE, BLOCK))


def _bits(points: Points) -> Bits:
    """Predictions as compiled code takes them, of one type, so that it is compiled once."""
    rows = np.ascontiguousarray(points, dtype=np.uint8)
    return rows.view() if rows.flags.writeable else rows.copy()


def policy_of(
    costs: IntArray, temperature: float, inverse: FloatArray | None = None
) -> GibbsPolicy:
    """The policy over a list; ``inverse`` is ln(1/prior(h)), None where the prior is flat."""
    kind = ShortListPolicy if len(costs) <= PIECE else ListPolicy
    return kind(costs, temperature, inverse)


class ListPolicy(GibbsPolicy):
    """π(h) ∝ prior(h)·exp(−cost(h)/temperature) over a list, never written down.

    ``inverse`` is ln(1/prior(h)) of every hypothesis, None where the prior is flat. The fractions
    and draws are those of the list's own :meth:`~likewise.hypotheses.Listed.weigh`.
    """

    def __init__(
        self, costs: IntArray, temperature: float, inverse: FloatArray | None = None
    ) -> None:
        self.size = len(costs)
        flat: FloatArray = np.zeros(0) if inverse is None else inverse
        fields = (read_only(costs), flat.view(), np.int64(costs.min()), float(temperature))
        self._policy: tuple[Any, ...] = (*fields, 0.0)
        if inverse is not None:
            self._policy = (*fields, self._nearest())

    def _nearest(self) -> float:
        distances: list[float] = []

        def task(start: int, stop: int) -> None:
            distances.append(kernels.least_far(self._policy, start, stop, np.empty(BLOCK)))

        _shared(task, self.size)
        return min(distances)

    def _add_up(self, points: Bits) -> tuple[IntArray, IntArray]:
        """The weight of every block, and that of the hypotheses which approve each point."""
        totals = np.empty(-(-self.size // BLOCK), dtype=np.int64)
        sums: list[IntArray] = []

        def task(start: int, stop: int) -> None:
            parts = np.zeros(len(points), dtype=np.int64)
            far, weights = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int64)
            kernels.add_up(self._policy, points, start, stop, far, weights, totals, parts)
            sums.append(parts)

        _shared(task, self.size)
        return totals, np.sum(sums, axis=0, dtype=np.int64)

    @cached_property
    def _totals(self) -> IntArray:
        return self._add_up(np.zeros((0, self.size), dtype=np.uint8))[0]

    def approval(self, points: Points) -> list[tuple[int, int]]:
        """Sum the weights of the hypotheses that approve."""
        self._totals, parts = self._add_up(_bits(points))
        total = int(self._totals.sum())
        return [(part, total) for part in parts.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Pick one hypothesis by weight: its block, and then it."""
        number = stream.below(int(self._totals.sum()), draw)
        block = pick(self._totals, number)
        begin = block * BLOCK
        end = min(self.size, begin + BLOCK)
        weights: npt.NDArray[np.int64] = np.empty(BLOCK, dtype=np.int64)
        kernels.weigh(self._policy, begin, end, np.empty(BLOCK), weights)
        member = begin + pick(weights[: end - begin], number - int(self._totals[:block].sum()))
        return np.asarray(points[:, member], dtype=np.uint8)


class ShortListPolicy(GibbsPolicy):
    """The same over a list of which the nearest caches hold all weights: they are written down."""

    def __init__(
        self, costs: IntArray, temperature: float, inverse: FloatArray | None = None
    ) -> None:
        flat: FloatArray = np.zeros(0) if inverse is None else inverse
        self._weights = np.empty(len(costs), dtype=np.int64)
        kernels.weigh_short(read_only(costs), flat.view(), temperature, self._weights)

    def approval(self, points: Points) -> list[tuple[int, int]]:
        """Sum the weights of the hypotheses that approve."""
        parts = np.empty(len(points), dtype=np.int64)
        total = int(kernels.approve_short(self._weights, _bits(points), parts))
        return [(part, total) for part in parts.tolist()]

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        """Pick one hypothesis by weight."""
        member = member_drawn(self._weights, noise_of(stream, draw))
        return np.asarray(points[:, member], dtype=np.uint8)


def charge(costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
    """The costs with each amount on the hypotheses that predict 1 on its point, as a new array."""
    charged, old, bits = np.empty_like(costs), read_only(costs), _bits(points)
    sizes = np.array(amounts, dtype=np.int64)
    _shared(lambda start, stop: kernels.charge(old, bits, sizes, start, stop, charged), len(costs))
    return charged
