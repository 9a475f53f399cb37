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

from likewise.errors import HypothesisError, MergedHypotheses, ParameterError, PeopleError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.base import Listed
from likewise.hypotheses.listed.columns import people_at
from likewise.hypotheses.separating import greedy_separating_set
from likewise.schema import Feature, FeatureSchema, People
from likewise.validation import as_array, instance, items, members, real, reals, text

__all__ = ["Cut", "Pool"]

_INFINITE = ("inf", "-inf")


@dataclass(frozen=True)
class Cut:
    """Approve whoever has at least ``at`` in a column. At −inf everybody, at +inf nobody."""

    column: str
    at: float

    def __post_init__(self) -> None:
        text("Cut.column", self.column, "Name a column.")
        object.__setattr__(self, "at", real("Cut.at", self.at, "Use ±inf for constants."))
        if np.isnan(self.at):
            raise ParameterError("Cut.at", "must be a number", self.at, "Use ±inf for constants.")

    def __str__(self) -> str:
        if np.isinf(self.at):
            return "approve everybody" if self.at < 0 else "approve nobody"
        return f"approve if {self.column} ≥ {self.at:.6g}"


class Pool(Listed):
    """A finite list of predictors: cuts on columns, told apart on reference data.

    Members that agree on all reference data are merged into the first of them, with a warning
    (:class:`~likewise.errors.MergedHypotheses`): the guarantee is then against the ones that
    remain. One member must be constant: the same for everybody whom the schema admits.

    Parameters
    ----------
    schema: the features of people; each column of scores is one.
    cuts: the members.
    reference: people, or an array of their encoded features, on whom members are told apart.

    >>> pool = Pool.from_table([[0, 0, 0], [0, 1, 1], [1, 1, 1]])
    >>> pool.size, pool.separators
    (3, 2)
    >>> costs = pool.charge(pool.no_costs(), np.array([[0, 0, 1]]), np.array([-5]))
    >>> pool.describe(pool.minimise(costs, np.zeros((1, 2), dtype=np.int64))[0])
    'approve everybody'
    """

    def __init__(
        self, schema: FeatureSchema, cuts: Sequence[Cut], reference: People | npt.ArrayLike
    ) -> None:
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        instance("Pool.schema", schema, FeatureSchema, remedy)
        rows = _rows(schema, reference)
        try:
            people = schema.encoded(rows)
        except PeopleError as error:
            raise ParameterError(
                "Pool.reference", "must be people whom the schema admits", f"{len(rows)} rows",
                str(error),
            ) from error  # fmt: skip
        self._tell_apart(schema, cuts, people.x)

    def _tell_apart(
        self, schema: FeatureSchema, cuts: Sequence[Cut], reference: FloatArray
    ) -> None:
        """Merge the members that agree on all rows, and find rows on which the others differ."""
        self.schema = schema
        listed = items("Pool.cuts", cuts, "List members: [Cut(column, at), …].")
        if not listed:
            raise HypothesisError("A pool must have a member; got none. Add a constant at least.")
        for cut in listed:
            self._check_cut(cut)
        columns = np.array([schema.place(cut.column) for cut in listed], dtype=np.int64)
        levels = np.array([cut.at for cut in listed], dtype=np.float64)
        bits = np.ascontiguousarray((reference[:, columns] >= levels).T.astype(np.uint8))
        constant = np.array([self._is_constant(cut) for cut in listed])
        kept = _representatives(bits, constant)
        self.merged = len(listed) - len(kept)
        self.cuts = tuple(listed[i] for i in kept)
        self._columns, self._levels = columns[kept], levels[kept]
        self._check_constant(constant)
        chosen = greedy_separating_set(bits[kept])
        # A single member needs no point to be told apart, but the JSON needs one to be read back.
        self._reference = reference[chosen] if len(chosen) else reference[:1]
        super().__init__(schema, separating=people_at(schema, schema.names, reference[chosen]))
        if self.merged:
            warnings.warn(
                f"{self.merged} of {len(listed)} members of the pool agree with another one on all "
                f"{len(reference)} rows of reference data and were merged; "
                f"{len(kept)} remain, and guarantees are against these.",
                MergedHypotheses,
                stacklevel=3,
            )

    def _check_cut(self, cut: Cut) -> None:
        instance("Pool.cuts", cut, Cut, "List members: [Cut(column, at), …].")
        if self.schema[cut.column].missing is not None:
            raise HypothesisError(
                f"A pool cannot cut a column that may be missing; {cut.column!r} may. Fill "
                f"missing scores before they come here."
            )

    def grades(self) -> IntArray:
        """Columns are alike, however many cuts each has."""
        return self._columns

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
        name, rule = "Pool.from_table.table", "must be a table of 0s and 1s, a row for every member"
        remedy = "Turn scores into decisions first, or use Pool.from_scores."
        bits = _array(name, table, rule, remedy)
        if bits.ndim != 2 or not bits.size:
            raise ParameterError(name, rule, bits.shape, remedy)
        if not np.isin(bits, (0, 1)).all():
            raise ParameterError(name, rule, bits[~np.isin(bits, (0, 1))][0], remedy)
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
        reference: People | npt.ArrayLike,
    ) -> Pool:
        """Every column with every cut, and both constants."""
        named = items("Pool.from_scores.columns", columns, "List columns of scores.")
        levels = reals("Pool.from_scores.cuts", cuts, "List them: [0.25, 0.5, 0.75].")
        if not named:
            raise ParameterError(
                "Pool.from_scores.columns", "must not be empty", columns, "List columns of scores."
            )
        listed = [Cut(named[0], -np.inf)]
        listed += [Cut(column, at) for column in named for at in levels]
        return cls(schema, [*listed, Cut(named[0], np.inf)], reference)

    def predictions(self, people: People) -> Bits:
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
        given = members("pool", spec, ("class", "schema", "cuts", "reference"))
        schema = FeatureSchema.from_spec(given["schema"])
        listed = items("Pool.cuts", given["cuts"], "List pairs of a column and a cut.")
        cuts = [Cut(column, float(at) if at in _INFINITE else at) for column, at in listed]
        rows = _rows(schema, given["reference"])
        pool = cls.__new__(cls)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MergedHypotheses)
            pool._tell_apart(schema, cuts, rows)
        # Pools could once be told apart on rows that nobody can be. Exactly what such a pool wrote
        # is read back; anything else has to be people.
        written = not pool.merged and len(pool._reference) == len(rows)
        return pool if written else cls(schema, cuts, rows)


def _array(name: str, value: Any, rule: str, remedy: str) -> npt.NDArray[Any]:
    """Numbers as an array; text, and lists of different lengths, are none."""
    array = as_array(value)
    if array.dtype.kind not in "biuf":
        raise ParameterError(name, rule, value, remedy)
    return array


def _rows(schema: FeatureSchema, reference: Any) -> FloatArray:
    """Rows of the schema's features as numbers, from people or an array."""
    if isinstance(reference, People):
        return schema.encoded(reference).x
    remedy = "It is the data on which members are told apart; schema.people(rows) encodes it."
    rule = f"must be rows of the schema's {len(schema)} features, at least one, as numbers"
    rows = _array("Pool.reference", reference, rule, remedy).astype(np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(schema) or len(rows) == 0:
        raise ParameterError("Pool.reference", rule, rows.shape, remedy)
    return rows


def _representatives(bits: Bits, constant: npt.NDArray[np.bool_]) -> IntArray:
    """Of members that agree on all reference data the first, or a constant if one is among them."""
    _, group = np.unique(bits, axis=0, return_inverse=True)
    places = np.arange(len(bits))
    order = np.lexsort((places, ~constant, group.reshape(-1)))
    ordered = group.reshape(-1)[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    return np.sort(order[first])
