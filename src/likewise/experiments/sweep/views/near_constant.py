"""Points of a sweep whose policy is near constant: what each costs, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from likewise.evaluation.near_constant import NEAR_CONSTANT, more, remedies
from likewise.experiments.sweep.points import Point
from likewise.experiments.sweep.spec import IGNORING


def is_near_constant(point: Point) -> bool:
    """True for a learner driven to a policy that treats all people nearly alike."""
    if not point.plays or point.learner in IGNORING:
        return False
    return point.mean_of("largest_gap_last_quarter") < NEAR_CONSTANT


def near_constant_line(near: Sequence[Point], *, with_scenario: bool = False) -> str:
    """A sentence about points that are near constant, with their costs, and one about remedies."""
    tuned = any(point.ours for point in near)
    return (
        f"Near constant over the last quarter (the largest gap of a round below "
        f"{NEAR_CONSTANT:g} in the mean), with the error beside that of the best fixed policy at "
        f"alpha: {'; '.join(_cost(point, with_scenario) for point in near)}. What would change "
        f"it: {'; '.join(remedies(tuned=tuned))}."
    )


def _cost(point: Point, with_scenario: bool) -> str:
    title = f"{point.scenario}: {point.title}" if with_scenario else point.title
    cost = point.at().error - point.mean_of("at_alpha")
    return title if math.isnan(cost) else f"{title} ({more(cost)})"
