"""What a world asked of any policy at all: points, labels and pivot distances, round by round."""

from __future__ import annotations

from collections.abc import Callable

from likewise.evaluation.comparator import Faced
from likewise.hypotheses import HypothesisClass
from likewise.worlds import World

__all__ = ["faced_rounds"]


def faced_rounds(
    world: World,
    hypotheses: HypothesisClass,
    rounds: int,
    progress: Callable[[int], None] = lambda t: None,  # noqa: ARG005
) -> list[Faced]:
    """The first rounds of a world that does not react to the learner."""
    faced = []
    for t in range(1, rounds + 1):
        encounter = world.encounter(t)
        points = hypotheses.locate(encounter.people)
        faced.append(Faced(points, encounter.labels, encounter.pivots.distance))
        progress(t)
    return faced
