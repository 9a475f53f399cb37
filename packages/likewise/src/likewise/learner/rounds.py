"""The fold in two calls, for feedback that comes at once: ``deploy``, then ``learn``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from likewise.errors import EventRefused, PeopleError, shown
from likewise.html import table
from likewise.learner.events import PAIRS, Arrived, Audited, Closed, Outcome, Person, Sealed, listed
from likewise.learner.fold import apply, decide, label
from likewise.learner.state import State, located_as
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.people.columns import id_text, is_table
from likewise.people.frames import Origin, make_frame
from likewise.people.schema import People
from likewise.validation import instance


class Reported(Protocol):
    """Anything with pairs (over, under), such as a panel's report."""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs, by id."""


@dataclass(frozen=True, eq=False)
class Deployment:
    """The decisions on a round's people: scores within [0, 1], and decisions.

    ``units`` are the scores as integers of 2^-20, as panels and the learner compare them.
    """

    round: str
    ids: tuple[str, ...]
    units: IntArray
    approved: npt.NDArray[np.bool_]
    origin: Origin | None = field(default=None, repr=False)

    def to_frame(self, backend: str | None = None) -> Any:
        """Everybody's chance and decision, as the kind of frame that the people came as."""
        columns = {"person": self.ids, "score": self.scores, "approved": self.approved}
        return make_frame(columns, backend or (self.origin.backend if self.origin else None))

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{chance:.3f}", "yes" if yes else "no")
            for name, chance, yes in zip(self.ids, self.scores, self.approved, strict=True)
        ]
        return table(f"Round {self.round}", ("person", "score", "approved"), rows)

    @property
    def scores(self) -> FloatArray:
        """Everybody's chance of approval."""
        return np.asarray(self.units / ONE)


def deploy(
    state: State, people: People, *, round_id: str | None = None, panel: str = "panel"
) -> tuple[State, Deployment]:
    """People arrive, are decided on with one draw of h, and the round is sealed.

    Without a ``round_id`` rounds are called r1, r2, ….
    """
    instance("state", state, State, "State.start(learner) makes one.")
    instance("people", people, People, "Make them with the schema: schema.people(rows).")
    schema = state.learner.hypotheses.schema
    if people.schema is not schema and people.schema.digest != schema.digest:
        raise PeopleError(
            f"These people have the features {', '.join(people.schema.names)}, as another schema "
            f"defines them; the learner knows {', '.join(schema.names)}. Make them with its own "
            f"schema: learner.hypotheses.schema.people(…)."
        )
    name = f"r{state.opened + 1}" if round_id is None else round_id
    rows = map(tuple, people.x.tolist())
    arrivals = tuple([Person(p, row) for p, row in zip(people.ids, rows, strict=True)])
    if people.x.dtype == np.float64 and schema.admits(people.x):
        # All checked at once; the fold does not check people again who have been located.
        located_as(state.learner, arrivals, people)
    state = apply(state, Arrived(name, arrivals))
    decided = decide(state, name)
    state = apply(apply(state, decided), Sealed(name, panel))
    units = np.array([d.score for d in decided.decisions], dtype=np.int64)
    approved = np.array([d.approved for d in decided.decisions], dtype=np.bool_)
    return state, Deployment(name, people.ids, units, approved, people.origin)


def learn(
    state: State,
    deployment: Deployment,
    *,
    labels: Mapping[str, float] | Sequence[float] | npt.NDArray[np.int64] | Any,
    report: Sequence[tuple[str, str]] | Reported | None = (),
) -> State:
    """The panel's report and the labels come in, and the round is closed.

    ``report`` is the panel's, or lists pairs (over, under) by id; empty if the panel found nothing
    to report, None if nobody audited the round. ``labels`` are by id, or for everybody in order;
    with one-sided labels, by id for those who were approved. A Series is read in order, or by its
    index where that holds the ids. Feedback that comes bit by bit is for
    :func:`~likewise.learner.apply`.
    """
    instance("deployment", deployment, Deployment, "It is what deploy(…) returned.")
    name = deployment.round
    outcome: Outcome = "unaudited"
    pairs: tuple[Any, ...] = ()
    if report is not None:
        # A generator that has been read already would look like a quiet panel.
        pairs = listed(getattr(report, "pairs", report), "A report", PAIRS)
        outcome = "report" if pairs else "quiet"
    state = apply(state, Audited(name, outcome, pairs))
    values = _from_series(deployment, labels) if is_table(labels) else labels
    by_id = values if isinstance(values, Mapping) else _in_order(state, deployment, values)
    return apply(label(state, name, by_id), Closed(name))


def _in_order(state: State, deployment: Deployment, labels: Any) -> dict[str, Any]:
    name = deployment.round
    if not (isinstance(labels, np.ndarray) and labels.ndim == 1) and (
        isinstance(labels, str | bytes) or not isinstance(labels, Sequence)
    ):
        raise EventRefused(
            f"Round {name!r}: labels must be by id, or a list for everybody in order; got "
            f"{shown(labels)}. Where none is known yet, write labels={{}}."
        )
    if state.learner.pricing.one_sided:
        raise EventRefused(
            f"Round {name!r}: labels are one-sided. Give them by id, for those who were approved."
        )
    if len(labels) != len(deployment.ids):
        raise EventRefused(
            f"Round {name!r} has {len(deployment.ids)} people but {len(labels)} labels. Give "
            f"them by id where some are not known."
        )
    return dict(zip(deployment.ids, labels, strict=True))


def _from_series(deployment: Deployment, series: Any) -> dict[str, Any] | list[Any]:
    """Labels of a Series: by id where its index holds ids; else in order, if that is certain."""
    ids, name = deployment.ids, deployment.round
    if hasattr(series, "columns") or not hasattr(series, "to_numpy"):
        raise EventRefused(
            f"Round {name!r}: labels must be by id, or a list for everybody in order; got a "
            f"{type(series).__name__}. Take one column of it."
        )
    values: list[Any] = series.to_numpy().tolist()
    index = getattr(series, "index", None)
    if index is None or callable(index):  # polars and Arrow have none
        return values
    keys, origin = [id_text(key) for key in index], deployment.origin
    if origin is not None and origin.index is not None:
        certain = index.name is None and bool(origin.index.equals(index))
    else:
        certain = index.name is None and list(index) == list(range(len(keys)))
    if keys and set(keys) <= set(ids) and len(set(keys)) == len(keys):
        if not certain or keys == list(ids):
            return dict(zip(map(str, keys), values, strict=True))
        certain = False  # ids, or the order: two ways to read it
    if not certain:
        raise EventRefused(
            f"Round {name!r}: labels are a Series whose index holds neither the round's ids nor "
            f"its rows, so it may be in another order. Give labels by id, "
            f"dict(zip(ids, series)), or series.to_numpy() if its order is right."
        )
    return values
