"""Two calls for those who have everything at once: ``deploy`` people, then ``learn``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import EventRefused
from likewise.events import Arrived, Audited, Closed, Labelled, Person, Sealed
from likewise.learning.fold import apply, decide
from likewise.learning.state import State
from likewise.schema import People
from likewise.units import ONE, FloatArray, IntArray

__all__ = ["Deployment", "deploy", "learn"]


@dataclass(frozen=True, eq=False)
class Deployment:
    """What was decided about a round's people: scores in units of 2^-20, and decisions."""

    round: str
    ids: tuple[str, ...]
    scores: IntArray
    approved: npt.NDArray[np.bool_]

    @property
    def probabilities(self) -> FloatArray:
        """The scores as chances of approval."""
        return np.asarray(self.scores / ONE)


def deploy(
    state: State, people: People, *, round_id: str | None = None, panel: str = "panel"
) -> tuple[State, Deployment]:
    """People arrive, are decided on with one draw of h, and the round is sealed.

    Without a ``round_id`` rounds are called r1, r2, ….
    """
    name = f"r{state.opened + 1}" if round_id is None else round_id
    rows = (tuple(row) for row in people.x.tolist())
    arrivals = tuple(Person(p, row) for p, row in zip(people.ids, rows, strict=True))
    state = apply(state, Arrived(name, arrivals))
    decided = decide(state, name)
    state = apply(apply(state, decided), Sealed(name, panel))
    scores = np.array([d.score for d in decided.decisions], dtype=np.int64)
    approved = np.array([d.approved for d in decided.decisions])
    return state, Deployment(name, people.ids, scores, approved)


def learn(
    state: State,
    deployment: Deployment,
    *,
    labels: Mapping[str, int] | Sequence[int] | npt.NDArray[np.int64],
    report: Sequence[tuple[str, str]] | None = (),
) -> State:
    """The panel's report and the labels come in, and the round is closed.

    ``report`` lists pairs (over, under) by id; empty if the panel found nothing to report, None
    if nobody audited the round. ``labels`` are by id, or for everybody in order.
    """
    name = deployment.round
    if report is None:
        audited = Audited(name, "unaudited")
    else:
        pairs = tuple((over, under) for over, under in report)
        audited = Audited(name, "report" if pairs else "quiet", pairs)
    state = apply(state, audited)
    if not isinstance(labels, Mapping):
        if len(labels) != len(deployment.ids):
            raise EventRefused(
                f"Round {name!r} has {len(deployment.ids)} people but {len(labels)} labels. Give "
                f"them by id where some are not known."
            )
        labels = dict(zip(deployment.ids, labels, strict=True))
    for person, label in labels.items():
        state = apply(state, Labelled(name, person, label))
    return apply(state, Closed(name))
