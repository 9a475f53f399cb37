"""The best policy that a panel would let pass, when everybody stands beside everybody.

:mod:`likewise.evaluation.hindsight` holds a policy against the pairs of every round; here all
people are one round, of which no table of pairs is ever made. People at the same point of the
class have the same score under every policy, so a pair of points keeps the smallest distance of
their people, and these are found block by block.
"""

from __future__ import annotations

import time

import numpy as np

from likewise.auditing import Panel, Sides
from likewise.errors import ParameterError, PeopleError
from likewise.evaluation.hindsight import BestFair, form_of
from likewise.evaluation.program import Constraints, solve
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.hypotheses import HypothesisClass
from likewise.schema import People
from likewise.validation import as_array, instance, real

SIDE = 512
MOST_POINTS = 5000


def nearest(people: People, panel: Panel, place: IntArray, points: int) -> IntArray:
    """Return the smallest pivot's distance of the people at each pair of points.

    >>> from likewise.auditing import MetricAuditor, Ratings
    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("r"),)).people([[0.0], [0.5], [0.75]])
    >>> panel = Panel([MetricAuditor("j", Ratings("r"))], "any")
    >>> (nearest(people, panel, np.array([0, 0, 1]), 2) / ONE)[0, 1].item()
    0.25
    """
    order = np.argsort(place, kind="stable")
    distance = np.full((points, points), ONE, dtype=np.int64)
    blocks = [order[start : start + SIDE] for start in range(0, len(order), SIDE)]
    sides = [people.take(block) for block in blocks]
    starts = [np.flatnonzero(np.r_[True, np.diff(place[block]) > 0]) for block in blocks]
    for a in range(len(blocks)):
        for b in range(a, len(blocks)):
            pair = Sides(sides[a], sides[b])
            distances = np.stack([auditor.between(pair) for auditor in panel.auditors])
            pivot, _ = panel.rule.pivot(distances, panel.members)
            least = np.minimum.reduceat(pivot, starts[a], axis=0)
            least = np.minimum.reduceat(least, starts[b], axis=1)
            cells = np.ix_(place[blocks[a]][starts[a]], place[blocks[b]][starts[b]])
            distance[cells] = np.minimum(distance[cells], least)
    return np.minimum(distance, distance.T)


def best_passing_policy(
    hypotheses: HypothesisClass, people: People, labels: IntArray, panel: Panel, alpha: float
) -> BestFair:
    """Find the policy of least error that the panel would let pass, with everybody in one round.

    min Error(π) over π ∈ ΔH with π(x_l) − π(x_r) ≤ d_pivot(l, r) + alpha for every pair.

    >>> from likewise.auditing import MetricAuditor, Ratings
    >>> from likewise.hypotheses import Pool
    >>> from likewise.schema import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("r", low=0, high=1),))
    >>> pool = Pool.from_scores(schema, ["r"], [0.5], np.array([[0.25], [0.75]]))
    >>> people = schema.people([[0.25], [0.5]])
    >>> panel = Panel([MetricAuditor("j", Ratings("r"))], "any")
    >>> best_passing_policy(pool, people, np.array([0, 1]), panel, alpha=0.25).error
    0.5
    """
    start = time.perf_counter()
    instance("people", people, People, "Make them with the class's schema.")
    instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'majority').")
    instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    slack = real("alpha", alpha, "It is the size of a violation.")
    if not 0 <= slack <= 1:
        raise ParameterError("alpha", "must be in [0, 1]", alpha, "It is a difference of scores.")
    labels = as_array(labels)
    fits = labels.dtype.kind in "biu" and labels.shape == (len(people),) and len(people)
    if not fits or not np.isin(labels, (0, 1)).all():
        raise PeopleError(f"labels must be 0 or 1, one for each of the {len(people)} people.")
    form, place = form_of(hypotheses, [hypotheses.locate(people)])
    used, place = np.unique(place, return_inverse=True)
    if len(used) > MOST_POINTS:
        raise PeopleError(
            f"At most {MOST_POINTS} different points can be paired; these people are at "
            f"{len(used)}. Give fewer people."
        )
    left, right = np.triu_indices(len(used), 1)
    bounds = nearest(people, panel, place, len(used))[left, right] / ONE + slack
    left, right, bounds = used[left[bounds < 1]], used[right[bounds < 1]], bounds[bounds < 1]
    costs: FloatArray = np.zeros(form.points)
    np.add.at(costs, used[place], 1.0 - 2.0 * labels)
    solution = solve(form, Constraints(costs, int(labels.sum()), left, right, bounds))
    scores = form.scores(solution.policy)
    violation = float((np.abs(scores[left] - scores[right]) - bounds).max(initial=0.0))
    return BestFair(
        solution.value, solution.bound, len(people), solution.policy, violation, solution.pairs,
        solution.rows, solution.iterations, time.perf_counter() - start,
    )  # fmt: skip
