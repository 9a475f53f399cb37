"""The memory of a self-tuned schedule: how large the costs were so far, and what is outstanding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.fixed_point import ONE, FloatArray, HoldsArrays, IntArray, read_only
from likewise.learning.schedules.self_tuned import OUTSTANDING, WAITING
from likewise.learning.states.open_rounds import changed


@dataclass(frozen=True, eq=False)
class Tuning(HoldsArrays):
    """For every scale of the player: S, and its largest value so far.

    ``squares`` is Σ_{tau<t} B_tau², ``pending`` what was charged since the last round opened (in
    units), and ``peak`` is max_{tau≤t} S_tau. Late costs enter when they are charged; until then
    ``outstanding`` bounds what open rounds may still cost in all (in units), and ``waiting`` counts
    the rounds that wait for their audit.
    """

    squares: FloatArray
    pending: IntArray
    peak: FloatArray
    outstanding: int = 0
    waiting: int = 0

    def __post_init__(self) -> None:
        for name in ("squares", "pending", "peak"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def start(cls, scales: int) -> Tuning:
        """Before the first round."""
        return cls(np.zeros(scales), np.zeros(scales, dtype=np.int64), np.zeros(scales))

    def charged(self, places: IntArray, amounts: IntArray) -> Tuning:
        """Add the cost of every point to the scales at its places."""
        if len(self.pending) == 1 and places.shape[1] == 1:
            pending = self.pending + sum(map(abs, amounts.tolist()))
        else:
            pending = self.pending.copy()
            np.add.at(pending, places, np.abs(amounts)[:, None])
        pending.flags.writeable = False
        return changed(self, pending=pending)

    def estimated(self, places: IntArray, square: float) -> Tuning:
        """Add costs whose ranges have no bound, but whose squares are at most ``square``."""
        squares = self.squares.copy()
        np.add.at(squares, places, square)
        return Tuning(squares, self.pending, self.peak, self.outstanding, self.waiting)

    def awaiting(self, outstanding: int, waiting: int) -> Tuning:
        """More, or less, that has not come yet."""
        if not outstanding and not waiting:
            return self
        return changed(
            self, outstanding=self.outstanding + outstanding, waiting=self.waiting + waiting
        )

    def opened(
        self,
        largest: float,
        largest_square: float,
        *,
        counts_outstanding: bool,
        outstanding: float = OUTSTANDING,
        waiting: float = WAITING,
    ) -> Tuning:
        """A round opens, whose costs have at most the range ``largest`` = eta + 2·lam.

        S_t = B̄_t² + Σ B_tau², or, counting what is outstanding,
        S_t = (B̄_t² + Σ B_tau² + F·B̄_t·outstanding)·(1 + G·waiting); the parameters ``outstanding``
        and ``waiting`` are F = 1 and G = 1/4 of the schedule.
        """
        squares, pending, peak = self._numbers()
        charged = pending / ONE
        squares = squares + charged * charged
        s = largest_square + squares
        if counts_outstanding:
            late = outstanding * (largest * (self.outstanding / ONE))
            s = (s + late) * (1.0 + waiting * self.waiting)
        peak = max(peak, s) if isinstance(peak, float) else np.maximum(peak, s)
        # New arrays, of one number or of several.
        arrays = {
            "squares": np.array(squares, ndmin=1),
            "peak": np.array(peak, ndmin=1),
            "pending": np.zeros(len(self.pending), dtype=np.int64),
        }
        for array in arrays.values():
            array.flags.writeable = False
        return changed(self, **arrays)

    def _numbers(self) -> tuple[Any, Any, Any]:
        """Squares, what is pending and peaks; of a player with one scale, as plain numbers.

        The operations on them are the same, and quicker.
        """
        if len(self.peak) > 1:
            return self.squares, self.pending, self.peak
        return self.squares.item(), self.pending.item(), self.peak.item()
