"""A pool: a list of predictors to choose among, as a 0/1 table or as score columns with cuts.

A user's own models enter here: each is a column of scores (or of decisions) that the client
computes, and a member of the pool is such a column with a cut.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, MergedHypotheses, ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses.base import Bits, Points
from likewise.hypotheses.listed.base import Listed
from likewise.hypotheses.separating import greedy_separating_set
from likewise.schema import Feature, FeatureSchema, People

__all__ = ["Cut", "Pool"]


@dataclass(frozen=True)
class Cut:
    """Approve whoever has at least ``at`` in a column. At −inf everybody, at +inf nobody."""

    column: str
    at: float

    def __str__(self) -> str:
        if np.isinf(self.at):
            return "approve everybody" if self.at < 0 else "approve nobody"
        return f"approve if {self.column} ≥ {self.at:.6g}"


class Pool(Listed):
    """A finite list of predictors: cuts on columns, told apart on reference data.

    Members that agree on all reference data are merged into the first of them, with a warning
    (:class:`~likewise.errors.MergedHypotheses`): the guarantee is then against the ones that
    remain. One member must be constant: the same for everybody whom the schema admits.

    >>> pool = Pool.from_table([[0, 0, 0], [0, 1, 1], [1, 1, 1]])
    >>> pool.size, pool.separators
    (3, 2)
    >>> costs = pool.charge(pool.no_costs(), np.array([[0, 0, 1]]), np.array([-5]))
    >>> pool.describe(pool.minimise(costs, np.zeros((1, 2), dtype=np.int64))[0])
    'approve everybody'
    """

    def __init__(
        self, schema: FeatureSchema, cuts: Sequence[Cut], reference: npt.NDArray[np.float64]
    ) -> None:
        self.schema = schema
        reference = np.asarray(reference, dtype=np.float64)
        if not cuts:
            raise HypothesisError("A pool must have a member; got none. Add a constant at least.")
        if reference.ndim != 2 or reference.shape[1] != len(schema) or len(reference) == 0:
            raise ParameterError(
                "Pool.reference",
                f"must be rows of the schema's {len(schema)} features, at least one",
                reference.shape,
                "It is the data on which members are told apart.",
            )
        for cut in cuts:
            self._check_cut(cut)
        columns = np.array([schema.place(cut.column) for cut in cuts], dtype=np.int64)
        levels = np.array([cut.at for cut in cuts], dtype=np.float64)
        bits = np.ascontiguousarray((reference[:, columns] >= levels).T.astype(np.uint8))
        constant = np.array([self._is_constant(cut) for cut in cuts])
        kept = _representatives(bits, constant)
        self.merged = len(cuts) - len(kept)
        self.cuts = tuple(cuts[i] for i in kept)
        self._columns, self._levels, bits = columns[kept], levels[kept], bits[kept]
        self._check_constant(constant)
        chosen = greedy_separating_set(bits)
        # A single member needs no point to be told apart, but the JSON needs one to be read back.
        self._reference = reference[chosen] if len(chosen) else reference[:1]
        self._keep(bits[:, chosen])
        if self.merged:
            warnings.warn(
                f"{self.merged} of {len(cuts)} members of the pool agree with another one on all "
                f"{len(reference)} rows of reference data and were merged; "
                f"{len(kept)} remain, and guarantees are against these.",
                MergedHypotheses,
                stacklevel=2,
            )

    def _check_cut(self, cut: Cut) -> None:
        if self.schema[cut.column].missing is not None:
            raise HypothesisError(
                f"A pool cannot cut a column that may be missing; {cut.column!r} may. Fill "
                f"missing scores before they come here."
            )
        if np.isnan(cut.at):
            raise ParameterError("Cut.at", "must be a number", cut.at, "Use ±inf for constants.")

    def _is_constant(self, cut: Cut) -> bool:
        """Test whether the cut is the same for everybody the schema admits."""
        low, high = self.schema[cut.column].limits
        return cut.at <= low or cut.at > high

    @staticmethod
    def _check_constant(constant: npt.NDArray[np.bool_]) -> None:
        if not constant.any():
            raise HypothesisError(
                f"The pool must contain a constant classifier; none of its {len(constant)} members "
                f"is the same for everybody. Without one there may be no fair policy at all. Add "
                f"Cut(column, float('-inf')), which approves everybody."
            )

    @classmethod
    def from_table(cls, table: npt.ArrayLike) -> Pool:
        """A pool from a 0/1 table, a row for every member and a column for every kind of person.

        A person is then the column of the members' decisions, features ``h1``, ``h2``, ….
        """
        bits = np.asarray(table)
        if bits.ndim != 2 or not bits.size or not np.isin(bits, (0, 1)).all():
            raise ParameterError(
                "Pool.from_table.table",
                "must be a table of 0s and 1s, a row for every member",
                bits.shape if bits.ndim != 2 or not bits.size else bits[~np.isin(bits, (0, 1))][0],
                "Turn scores into decisions first, or use Pool.from_scores.",
            )
        names = [f"h{i + 1}" for i in range(len(bits))]
        schema = FeatureSchema(tuple(Feature(name, "flag") for name in names))
        cuts = [
            Cut(name, -np.inf if row.all() else 0.5 if row.any() else np.inf)
            for name, row in zip(names, bits, strict=True)
        ]
        return cls(schema, cuts, bits.T.astype(np.float64))

    @classmethod
    def from_scores(
        cls,
        schema: FeatureSchema,
        columns: Sequence[str],
        cuts: Sequence[float],
        reference: npt.NDArray[np.float64],
    ) -> Pool:
        """Every column with every cut, and both constants."""
        if not columns:
            raise ParameterError("Pool.from_scores.columns", "must not be empty", columns, "")
        members = [Cut(columns[0], -np.inf)]
        members += [Cut(column, float(at)) for column in columns for at in cuts]
        return cls(schema, [*members, Cut(columns[0], np.inf)], reference)

    def locate(self, people: People) -> Points:
        """The predictions of all members, shape (k, N)."""
        return (people.x[:, self._columns] >= self._levels).astype(np.uint8)

    def describe(self, code: IntArray) -> str:
        """The member's cut."""
        return str(self.cuts[int(code[0])])

    def spec(self) -> dict[str, Any]:
        """The cuts and the separating rows, which are all the reference data that is needed."""
        return {
            "class": "pool",
            "schema": self.schema.spec(),
            "cuts": [[c.column, c.at if np.isfinite(c.at) else str(c.at)] for c in self.cuts],
            "reference": self._reference.tolist(),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Pool:
        """Read a pool from its JSON."""
        reference = np.array(spec["reference"], dtype=np.float64)
        schema = FeatureSchema.from_spec(spec["schema"])
        cuts = [Cut(column, float(at)) for column, at in spec["cuts"]]
        return cls(schema, cuts, reference.reshape(-1, len(schema)))


def _representatives(bits: Bits, constant: npt.NDArray[np.bool_]) -> IntArray:
    """Of members that agree on all reference data the first, or a constant if one is among them."""
    _, group = np.unique(bits, axis=0, return_inverse=True)
    places = np.arange(len(bits))
    order = np.lexsort((places, ~constant, group.reshape(-1)))
    ordered = group.reshape(-1)[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    return np.sort(order[first])
