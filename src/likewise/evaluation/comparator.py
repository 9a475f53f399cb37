"""The comparator: the best fair policy in hindsight, by a linear program whose rows are generated.

A sequence of rounds becomes points that occur, a cost for each and a bound for each pair of them
(:func:`demands`); the program over those is solved with few of the pairs at a time
(:mod:`likewise.evaluation.comparator_rows`); and the policy that comes out is held against every
round as it was, so that a wrong solution is an error and not a figure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import HypothesisError, ParameterError, PeopleError
from likewise.evaluation.comparator_forms import Cells, Form, Grids, Members
from likewise.evaluation.comparator_rows import ComparatorError, Demands, Solution, solve
from likewise.evaluation.faced import Faced, checked_rounds
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import HypothesisClass, Listed, Points, Segments, Staircases
from likewise.validation import real

__all__ = [
    "FAIR_WITHIN",
    "BestFair",
    "best_fair_policy",
    "form_of",
    "policy_scores",
]

FAIR_WITHIN = 1e-8
"""By how much the policy that is returned may break a constraint; by more is an error."""
ERROR_WITHIN = 1e-8
"""By how much an error rate may differ from the program's value, or be above its lower bound."""


@dataclass(frozen=True, eq=False)
class BestFair:
    """The best fair policy in hindsight, and how much work it was to find.

    ``error`` is Σ_t Error^t(π*), the expected number of mistakes over all ``people``. No fair
    policy makes fewer than ``bound`` (Lagrange duality, priced over all of H), which is the same
    number up to rounding. ``probabilities`` is the policy: the probability of approval of every
    cell for :class:`Segments` and :class:`Staircases`, the weight of every member for a
    :class:`Pool`. ``violation`` is the most by which a pair's constraint is broken, at most
    :data:`FAIR_WITHIN`. ``rows`` of the ``pairs`` that ask anything were ever given to the solver,
    in ``iterations`` programs. Where several policies are best, which one it is depends on the
    solver; the error does not.

    >>> half = BestFair(1.0, 1.0, 4, np.array([0.5, 0.5, 1.0]), 0.0, 1, 1, 2, 0.01)
    >>> half.error_rate, half.scores(np.array([2, 0])).tolist()
    (0.25, [1.0, 0.5])
    """

    error: float
    bound: float
    people: int
    probabilities: FloatArray
    violation: float
    pairs: int
    rows: int
    iterations: int
    seconds: float

    @property
    def error_rate(self) -> float:
        """The error of a person."""
        return self.error / self.people

    def scores(self, points: Points) -> FloatArray:
        """π(x), the probability that each person is approved."""
        return policy_scores(self.probabilities, points)


def policy_scores(probabilities: FloatArray, points: Points) -> FloatArray:
    """Look cells up; sum the weights of the members that approve."""
    if points.ndim == 1:
        return probabilities[points]
    return np.asarray(points @ probabilities, dtype=np.float64)


def best_fair_policy(
    hypotheses: HypothesisClass, rounds: Sequence[Faced], slack: float
) -> BestFair:
    """The policy of least error among those that every round's panel would have let pass.

    π* ∈ argmin Σ_t Error^t(π) over π ∈ ΔH with π(x_l) − π(x_r) ≤ d_pivot(l, r) + slack for every
    ordered pair of every round, where slack = alpha − eps ≥ 0. *Definition "Fair-In-Hindsight
    Policies"*, with the pivots of "Characterizing Monotone Individual Fairness Auditing Schemes".

    For a :class:`Pool` the program is over the weights of its members. For :class:`Segments` it is
    over the probabilities of the cells, non-decreasing in the score within a segment: a mixture of
    thresholds makes any such vector, and thresholds of segments can be drawn independently. So it
    is for :class:`Staircases`, where it is non-decreasing in both features.

    Two people, one good and one bad, whom the panel holds 1/4 apart: the good one is approved
    with certainty and the bad one with 3/4, or any two scores as far apart.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> apart = np.array([[0, ONE // 4], [ONE // 4, 0]])
    >>> faced = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), apart)
    >>> best = best_fair_policy(pool, [faced], slack=0.0)
    >>> best.error, np.ptp(best.scores(faced.points)).item()
    (0.75, 0.25)
    """
    start = time.perf_counter()
    rounds = checked_rounds(rounds)
    slack = real("best_fair_policy.slack", slack, "It is alpha − eps.")
    if not (math.isfinite(slack) and slack >= 0):
        raise ParameterError(
            "best_fair_policy.slack",
            "must be at least 0 and finite",
            slack,
            "It is alpha − eps, and eps may be at most alpha.",
        )
    form, place = form_of(hypotheses, [faced.points for faced in rounds])
    found = solve(form, demands(form.points, place, rounds, slack))
    return _checked(found, rounds, slack, start)


def form_of(hypotheses: HypothesisClass, points: Sequence[Points]) -> tuple[Form, IntArray]:
    """The variables that fit the class, and which of its points every person is."""
    if isinstance(hypotheses, Segments):
        _check_points(points, (), hypotheses.separators - 1)
        return Cells(hypotheses.segments, hypotheses.bins), np.concatenate(points)
    if isinstance(hypotheses, Staircases):
        _check_points(points, (), hypotheses.separators - 1)
        grids = Grids(hypotheses.grids, hypotheses.cells, hypotheses.columns)
        return grids, np.concatenate(points)
    if isinstance(hypotheses, Listed):
        _check_points(points, (hypotheses.size,), 1)
        return Members.of(np.concatenate(points))
    raise HypothesisError(
        f"The best fair policy is found for Segments, Staircases and classes that are listed; "
        f"{type(hypotheses).__name__} is neither. For a class that only an oracle can search, "
        f"columns are generated: likewise.evaluation.best_fair_by_columns."
    )


def _check_points(points: Sequence[Points], shape: tuple[int, ...], largest: int) -> None:
    for t, there in enumerate(points):
        fits = (
            there.shape[1:] == shape and there.ndim == 1 + len(shape) and there.dtype.kind in "iu"
        )
        if not fits or there.min(initial=0) < 0 or there.max(initial=0) > largest:
            raise PeopleError(
                f"Faced.points of round {t + 1} are not points of this class: got {there.dtype} "
                f"of shape {there.shape}. hypotheses.locate(people) makes them."
            )


def demands(points: int, place: IntArray, rounds: Sequence[Faced], slack: float) -> Demands:
    """Join the demands of all rounds on the scores of the points that occur.

    A point's cost is the number of its people with label 0 less that with label 1; a pair of
    points keeps the smallest of its bounds; a bound of 1 or more asks nothing and is left out.
    """
    labels = np.concatenate([faced.labels for faced in rounds])
    costs: FloatArray = np.zeros(points)
    np.add.at(costs, place, 1.0 - 2.0 * labels)
    sizes = np.array([len(faced.labels) for faced in rounds])
    starts = np.cumsum(sizes) - sizes
    keys, units = [], []
    for k in sorted({size for size in sizes.tolist() if size > 1}):
        left, right = np.triu_indices(k, 1)
        here = np.flatnonzero(sizes == k)
        people = place[starts[here, None] + np.arange(k)]
        a, b = people[:, left], people[:, right]
        keys.append((np.minimum(a, b) * points + np.maximum(a, b)).ravel())
        units.append(np.stack([rounds[t].pivots for t in here.tolist()])[:, left, right].ravel())
    key = np.concatenate([np.empty(0, dtype=np.int64), *keys])
    unit = np.concatenate([np.empty(0, dtype=np.int64), *units])
    asks = (unit / ONE + slack < 1) & (key // points != key % points)
    key, unit = key[asks], unit[asks]
    order = np.lexsort((unit, key))
    order = order[np.diff(key[order], prepend=-1) > 0]
    return Demands(
        costs=costs,
        ones=int(labels.sum()),
        left=key[order] // points,
        right=key[order] % points,
        bounds=unit[order] / ONE + slack,
    )


def _checked(found: Solution, rounds: Sequence[Faced], slack: float, start: float) -> BestFair:
    """Hold the policy against every round as it was faced, and the error against the program."""
    people = sum(len(faced.labels) for faced in rounds)
    error, violation = 0.0, 0.0
    for faced in rounds:
        scores = policy_scores(found.policy, faced.points)
        error += float(np.abs(scores - faced.labels).sum())
        gaps = scores[:, None] - scores - faced.pivots / ONE - slack
        np.fill_diagonal(gaps, 0.0)
        violation = max(violation, float(gaps.max(initial=0.0)))
    if violation > FAIR_WITHIN:
        raise ComparatorError(
            f"The policy found breaks a constraint by {violation:.3g}; at most {FAIR_WITHIN:g} is "
            f"accepted. The solver's policy is not fair, so there is no comparator."
        )
    for name, value in (("value", found.value), ("lower bound", found.bound)):
        if abs(error - value) > ERROR_WITHIN * people:
            raise ComparatorError(
                f"The policy found makes {error!r} errors over {people} people, but the linear "
                f"program's {name} is {value!r}. They must agree within {ERROR_WITHIN:g} a person."
            )
    return BestFair(
        error=error,
        bound=found.bound,
        people=people,
        probabilities=found.policy,
        violation=violation,
        pairs=found.pairs,
        rows=found.rows,
        iterations=found.iterations,
        seconds=time.perf_counter() - start,
    )
