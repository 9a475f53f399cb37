"""What a world asked of any policy at all: points, labels and pivot distances, round by round."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from likewise.evaluation.comparator import Faced
from likewise.hypotheses import HypothesisClass
from likewise.worlds import Encounter

__all__ = ["faced_rounds"]


def faced_rounds(
    encounters: Iterable[Encounter],
    hypotheses: HypothesisClass,
    progress: Callable[[int], None] = lambda t: None,  # noqa: ARG005
) -> list[Faced]:
    """The rounds as they were played, as the comparator needs them."""
    faced = []
    for t, encounter in enumerate(encounters, start=1):
        points = hypotheses.locate(encounter.people)
        faced.append(Faced(points, encounter.labels, encounter.pivots.distance))
        progress(t)
    return faced
