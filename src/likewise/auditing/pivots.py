"""The predicate of a violation, and the pivots of pairs.

A gap s_l − s_r exceeds a distance d at the sensitivity alpha if s_l − s_r > d + alpha. All of them
are integers of 2^-20, so that the comparison is exact; in floating point, 0.65 − 0.5 > 0.15.
Auditors, panels, audits, the game, the service and counts of violations all call :func:`exceeds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing.rules.base import BoolArray
from likewise.errors import AuditError, shown
from likewise.fixed_point import IntArray
from likewise.validation import as_array, integer

# Beyond that sums would not be integers of 64 bits.
_FAR = 1 << 60


def exceeds(gap: npt.ArrayLike, distance: npt.ArrayLike, sensitivity: int) -> BoolArray:
    """Compare gaps with distances, elementwise: gap > distance + sensitivity.

    Definition "Fairness violation", with the pivot's distance; an auditor objects with their own.
    With distance 0 these are the pairs that anybody could object to.

    >>> exceeds([300, 301], 100, 200).tolist()
    [False, True]
    """
    gaps, allowed = _integers("gap", gap), _integers("distance", distance)
    remedy = "It is an integer of 2^-20: likewise.fixed_point.to_units(alpha)."
    units = integer("sensitivity", sensitivity, -_FAR, _FAR, remedy)
    try:
        return np.asarray(gaps > allowed + units)
    except ValueError:
        raise AuditError(
            f"Gaps of shape {gaps.shape} cannot be compared with distances of shape "
            f"{allowed.shape}. Give a distance for every pair."
        ) from None


def _integers(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    array = as_array(value)
    if array.dtype.kind not in "iu":
        raise AuditError(
            f"A {name} must be an integer of 2^-20; got {shown(value)}. Use "
            f"likewise.fixed_point.to_units(…)."
        )
    return array


def exceeding_pairs(scores: npt.ArrayLike, distances: IntArray, sensitivity: int) -> BoolArray:
    """Find the ordered pairs that exceed: [l, r] is s_l − s_r > d(l, r) + sensitivity.

    ``scores`` are (k,), ``distances`` (k, k), or (m, k, k) for several auditors; so is the result.

    >>> apart = np.array([[0, 100], [100, 0]])
    >>> exceeding_pairs([500, 100], apart, 200).tolist()
    [[False, True], [False, False]]
    """
    s = _integers("score", scores)
    if s.ndim != 1:
        raise AuditError(f"Scores must be a list, one for each person; got shape {s.shape}.")
    return exceeds(s[:, None] - s[None, :], distances, sensitivity)


@dataclass(frozen=True, eq=False)
class Pivots:
    """The one auditor each pair is judged by: their distance in units of 2^-20, and their place.

    The lemma in "Characterizing Monotone Individual Fairness Auditing Schemes". Both arrays are
    (k, k) and symmetric. The place −1 is the dummy who never objects, of distance 1.

    >>> distance, auditor = np.array([[0, 100], [100, 0]]), np.array([[-1, 1], [1, -1]])
    >>> pivots = Pivots(distance, auditor, ("j1", "j2"))
    >>> pivots.member(0, 1), pivots.exceeded([500, 100], 200).any().item()
    ('j2', True)
    """

    distance: IntArray
    auditor: IntArray
    members: tuple[str, ...]

    def member(self, left: int, right: int) -> str | None:
        """The name of a pair's pivot; None where the panel can never report."""
        place = int(self.auditor[left, right])
        return None if place < 0 else self.members[place]

    def exceeded(self, scores: npt.ArrayLike, sensitivity: int) -> BoolArray:
        """Find the ordered pairs whose gap exceeds the pivot's distance: what the panel reports."""
        return exceeding_pairs(scores, self.distance, sensitivity)
