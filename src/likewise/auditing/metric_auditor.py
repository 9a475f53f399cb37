"""Auditors with a distance, as in simulations and audits of a model; people need none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.auditing.metrics.base import Distance, Metric, metric_from_spec, metric_to_spec
from likewise.auditing.metrics.sides import Sides, joined
from likewise.auditing.names import checked_name
from likewise.errors import AuditError, LikewiseError, ParameterError
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.schema import People
from likewise.validation import as_array, instance, members

_ROUNDING = 1e-9


def distance_units(d: FloatArray) -> IntArray:
    """Distances on the grid, in units of 2^-20: rint(d·2^20).

    >>> distance_units(np.array([0.0, 0.5, 1.0])).tolist()
    [0, 524288, 1048576]
    """
    distances = as_array(d)
    if distances.dtype.kind not in "fiu" or not np.isfinite(distances).all():
        raise AuditError(
            f"Distances must be finite numbers; got {distances.dtype} of {distances.shape}."
        )
    return np.rint(distances * float(ONE)).astype(np.int64)


def _remedy(distance: float, *people: People) -> str:
    """Advice on a distance outside [0, 1]; NaN mostly comes from missing values."""
    gaps = np.isnan(np.concatenate([group.x for group in people])).any(axis=0)
    names = [name for name, gap in zip(people[0].schema.names, gaps.tolist(), strict=True) if gap]
    if math.isnan(distance) and names:
        return (
            f"Values are missing in {', '.join(map(repr, names))}, and are NaN for the distance. "
            f"Let it say what that means, such as np.nan_to_num(…, nan=1.0) for a full difference."
        )
    return "Scale it, or cut it off at 1."


@dataclass(frozen=True)
class MetricAuditor:
    """An auditor who objects to a pair when π(x_l) − π(x_r) > d(x_l, x_r) + alpha.

    Definition "Auditor".

    >>> from likewise.auditing import Ratings
    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("r"),)).people([[0.25], [0.75]])
    >>> MetricAuditor("j1", Ratings("r")).distances(people).tolist()
    [[0, 524288], [524288, 0]]
    """

    name: str
    distance: Distance

    def __post_init__(self) -> None:
        checked_name(self.name, "MetricAuditor.name")
        if not callable(self.distance):
            raise ParameterError(
                f"MetricAuditor({self.name!r}).distance",
                "must be callable",
                self.distance,
                "Use WeightedL1, Mahalanobis, Ratings, FromFunction for a function of two, or "
                "FromColumns for one of two sets of columns.",
            )

    def between(self, sides: Sides) -> IntArray:
        """The distances of some people to others, as integers of 2^-20, checked.

        The same as :meth:`distances` has for these pairs; nobody is compared with themselves.
        """
        instance("sides", sides, Sides, "Write Sides(left, right).")
        measure = getattr(self.distance, "between", None)
        if measure is None:
            return np.asarray(joined(self.distances, sides))
        d = self._measured(measure, sides)
        if d.shape != sides.shape:
            raise AuditError(
                f"Auditor {self.name!r}: distances between must be an array of shape "
                f"{sides.shape}; got shape {d.shape}."
            )
        if d.size and not (d.min() >= 0.0 and d.max() <= 1.0):
            odd = float(d.flat[np.flatnonzero(~((d >= 0.0) & (d <= 1.0)))[0]])
            raise AuditError(
                f"Auditor {self.name!r}: a distance must be within [0, 1]; got {odd!r}. "
                f"{_remedy(odd, sides.left, sides.right)}"
            )
        return np.rint(np.multiply(d, float(ONE), out=d), out=d).astype(np.int64)

    def distances(self, people: People) -> IntArray:
        """The distances of all pairs as integers of 2^-20, checked; 0 on the diagonal."""
        instance("people", people, People, "Make them with a schema: schema.people(rows).")
        return self._checked(people, self.measured(Sides.of(people)))

    def measured(self, sides: Sides) -> FloatArray:
        """The distances of people among each other, both sides being the same, unchecked."""
        if isinstance(self.distance, Metric):
            return self._measured(self.distance.among, sides)
        return self._measured(self.distance, sides.left)

    def _checked(self, people: People, d: FloatArray) -> IntArray:
        k = len(people)
        if d.shape != (k, k):
            raise AuditError(
                f"Auditor {self.name!r}: the distances of {k} people must be an array of shape "
                f"({k}, {k}); got shape {d.shape}. A function of two people goes into FromFunction."
            )
        np.fill_diagonal(d, 0.0)
        for wrong, rule, remedy in (
            (~((d >= 0.0) & (d <= 1.0)), "within [0, 1]", ""),
            (np.abs(d - d.T) > _ROUNDING, "symmetric", "Take their mean, or the larger."),
        ):
            if wrong.any():
                left, right = np.argwhere(wrong)[0]
                raise AuditError(
                    f"Auditor {self.name!r}: a distance must be {rule}; got "
                    f"{float(d[left, right])!r} for ({people.ids[left]!r}, {people.ids[right]!r}) "
                    f"and {float(d[right, left])!r} the other way round. "
                    f"{remedy or _remedy(float(d[left, right]), people)}"
                )
        return distance_units(np.maximum(d, d.T))

    def _measured(self, distance: Callable[..., Any], whom: People | Sides) -> FloatArray:
        """Call the distance; whatever it raises, the error names the auditor."""
        try:
            measured = np.array(distance(whom))
        except LikewiseError as error:
            raise AuditError(f"Auditor {self.name!r}: {error}") from error
        except Exception as error:  # the user's own code
            raise AuditError(
                f"Auditor {self.name!r}: the distance failed with {type(error).__name__}: {error}. "
                f"Repair it, or take another one."
            ) from error
        if measured.dtype.kind not in "fiub":
            raise AuditError(
                f"Auditor {self.name!r}: distances must be an array of numbers; got "
                f"{measured.dtype} of shape {measured.shape}."
            )
        return measured.astype(np.float64, copy=False)

    def spec(self) -> dict[str, Any]:
        """The auditor as JSON; a distance that is a plain function cannot be written down.

        >>> from likewise.auditing import Ratings
        >>> MetricAuditor("j1", Ratings("r")).spec()["distance"]["metric"]
        'ratings'
        """
        return {"name": self.name, "distance": metric_to_spec(self.distance)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> MetricAuditor:
        """Read an auditor from their JSON."""
        fields = members("auditor", spec, ("name", "distance"))
        return cls(fields["name"], metric_from_spec(fields["distance"]))


def distances_of(auditors: Sequence[MetricAuditor], people: People) -> IntArray:
    """Every auditor's distances, (m, k, k): those of each, checked all at once.

    The differences of a feature that several auditors use are computed once.
    """
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    k, sides = len(people), Sides.of(people)
    measured = [auditor.measured(sides) for auditor in auditors]
    if all(d.shape == (k, k) for d in measured):
        d = np.stack(measured)
        d[:, np.arange(k), np.arange(k)] = 0.0
        turned = d.transpose(0, 2, 1)
        within = d.size == 0 or (d.min() >= 0.0 and d.max() <= 1.0)
        if within and not (np.abs(d - turned) > _ROUNDING).any():
            return np.rint(np.maximum(d, turned) * float(ONE)).astype(np.int64)
    # Something is wrong: find out what, and with whom.
    pairs = zip(auditors, measured, strict=True)
    return np.stack([auditor._checked(people, d) for auditor, d in pairs])
