"""Which studies stand on which page of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from likewise.experiments.environments import CHOOSING, JUDGING
from likewise.experiments.study.spec import StudySpec

__all__ = ["PARTS"]

Parts = Iterator[tuple[str, StudySpec]]


def _spec(longest: int, seeds: int) -> StudySpec:
    numbers = tuple(range(101, 101 + seeds))
    return StudySpec(seeds=numbers, horizons=(longest // 16, longest // 4, longest))


def _readme(longest: int, seeds: int | None) -> Parts:
    """`loans`, and the same on a class too large for anything but an oracle or a factorisation."""
    spec = _spec(longest, seeds or 5)
    yield "study", spec
    large = _spec(max(32, longest // 4), min(2, seeds or 2))
    yield "study", replace(large, hypotheses="segments-large", eps=(0.3,), noise_divisors=())


def _worlds(longest: int, seeds: int | None) -> Parts:
    """The other worlds; of the paper's schedule, the two scales of noise at which it learns."""
    judged = replace(_spec(longest, seeds or 2), noise_divisors=(1e5, 1e6))
    for world in JUDGING:
        if world != "loans":
            yield "judging", replace(judged, world=world)
    short = _spec(max(32, longest // 16), min(2, seeds or 2))
    chosen_on = replace(short, eps=(0.3,), noise_divisors=(1e5, 1e6))
    for world in CHOOSING:
        yield "choosing", replace(chosen_on, world=world)


HEARD = (
    ("full", "0", 1.0),
    ("one-sided", "0", 1.0),
    ("full", "50", 0.5),
    ("one-sided", "50", 0.5),
    ("one-sided", "geometric:0.02", 1.0),
)


def _feedback(longest: int, seeds: int | None) -> Parts:
    """Labels that are one-sided, feedback that is late, rounds that nobody audits."""
    spec = _spec(longest, seeds or 5)
    yield "feedback", replace(spec, eps=(0.3,), etas=(0.25,), noise_divisors=(), heard=HEARD)


# By page: the mark under which each study's table stands, and the study. Without a number of
# seeds, as many as the page shows.
PARTS: dict[str, Callable[[int, int | None], Parts]] = {
    "readme": _readme,
    "worlds": _worlds,
    "feedback": _feedback,
}
