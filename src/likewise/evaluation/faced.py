"""Rounds as every policy faces them, whatever is decided: people, labels, and pivots of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import AuditError, ParameterError, PeopleError
from likewise.fixed_point import IntArray
from likewise.hypotheses import HypothesisClass, Points
from likewise.validation import instance, items
from likewise.worlds import Encounter


@dataclass(frozen=True, eq=False)
class Faced:
    """A round as every policy faces it: people, their labels, and the pivot of every pair.

    ``points`` are the people as the hypothesis class sees them (``hypotheses.locate(people)``),
    ``labels`` is (k,) of 0 and 1, and ``pivots`` is (k, k), symmetric, in units of 2^-20; its
    diagonal means nothing. One round of Ψ in *Definition "Fair-In-Hindsight Policies"*.

    >>> from likewise.fixed_point import ONE
    >>> Faced(np.array([3, 5]), np.array([0, 1]), np.array([[0, ONE], [ONE, 0]])).labels.tolist()
    [0, 1]
    """

    points: Points
    labels: IntArray
    pivots: IntArray

    def __post_init__(self) -> None:
        for name in ("points", "labels", "pivots"):
            if not isinstance(getattr(self, name), np.ndarray) or not getattr(self, name).ndim:
                raise ParameterError(
                    f"Faced.{name}", "must be an array", getattr(self, name), "See faced_rounds."
                )
        k = len(self.points)
        labels, pivots = self.labels, self.pivots
        if labels.shape != (k,) or not ((labels == 0) | (labels == 1)).all():
            raise PeopleError(
                f"Faced.labels must be 0 or 1, one for each of the {k} people; got shape "
                f"{labels.shape} with values from {labels.min(initial=0)} to "
                f"{labels.max(initial=0)}."
            )
        if pivots.shape != (k, k) or pivots.dtype.kind not in "iu":
            raise AuditError(
                f"Faced.pivots must be integers of 2^-20, one for each pair of the {k} "
                f"people; got {pivots.dtype} of shape {pivots.shape}. Panel.pivots(people) has "
                f"them as its distance."
            )
        if pivots.min(initial=0) < 0 or not (pivots == pivots.T).all():
            raise AuditError(
                "Faced.pivots must be symmetric and at least 0, as distances are; they are not."
            )


def faced_rounds(
    encounters: Iterable[Encounter],
    hypotheses: HypothesisClass,
    progress: Callable[[int], None] = lambda t: None,  # noqa: ARG005
) -> list[Faced]:
    """Turn the rounds of a game into those that a policy of the class faces.

    >>> from likewise.worlds import Loans
    >>> world = Loans(seed=1)
    >>> len(faced_rounds([world.encounter(1)], world.hypotheses())[0].labels)
    8
    """
    instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    if not isinstance(encounters, Iterable) or isinstance(encounters, np.ndarray):
        raise ParameterError("encounters", "must be a list", encounters, "List them.")
    rounds = []
    for t, encounter in enumerate(encounters, start=1):
        instance("encounters", encounter, Encounter, "World.course() makes them.")
        points = hypotheses.locate(encounter.people)
        rounds.append(Faced(points, encounter.labels, encounter.pivots.distance))
        progress(t)
    return rounds


def checked_rounds(rounds: Sequence[Faced]) -> list[Faced]:
    """Return rounds with at least one person in them, or refuse them."""
    listed = items("best_fair_policy.rounds", rounds, "List what was faced: faced_rounds(…).")
    for faced in listed:
        instance("rounds", faced, Faced, "faced_rounds(…) makes them.")
    if not any(len(faced.labels) for faced in listed):
        raise ParameterError(
            "best_fair_policy.rounds", "must have somebody in them", len(listed), "Run one first."
        )
    return listed
