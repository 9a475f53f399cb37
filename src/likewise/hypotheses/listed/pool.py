"""A pool: a list of predictors to choose among, as a 0/1 table or as score columns with cuts.

Users bring their own models as columns of scores (or of decisions) that the client computes; a
member of the pool is such a column with a cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, MergedHypotheses, warn
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.base import Listed
from likewise.hypotheses.listed.columns import LARGEST_TABLE
from likewise.hypotheses.listed.cuts import (
    Cut,
    all_cuts,
    check_constant,
    check_members,
    cuts_of_people,
)
from likewise.hypotheses.listed.models import ScoredFrames
from likewise.hypotheses.listed.reference import (
    admitted,
    packed_predictions,
    reference_rows,
    representatives,
    rows_from_json,
    rows_to_json,
    zeros_and_ones,
)
from likewise.hypotheses.separating import greedy_separating_set, trie_separating_set
from likewise.schema import Feature, FeatureSchema, People
from likewise.validation import instance, items, reals

_INFINITE = ("inf", "-inf")
# A small separating set is searched for up to this many members, or predictions; beyond, one that
# takes near-linear time.
FEW_MEMBERS, FEW_PREDICTIONS = 256, 1 << 22


class Pool(Listed):
    """A finite list of predictors: cuts on columns, which differ on reference data.

    Members that agree on all reference data are merged into the first of them, with a warning
    (:class:`~likewise.errors.MergedHypotheses`): the guarantee is then against the ones that
    remain. One member must be constant: the same for everybody whom the schema admits.

    Parameters
    ----------
    schema: the features of people; each column of scores is one.
    cuts: the members.
    reference: people, or an array of their encoded features, on whom members must differ.

    >>> pool = Pool.from_table([[0, 0, 0], [0, 1, 1], [1, 1, 1]])
    >>> pool.size, pool.separators
    (3, 2)
    >>> costs = pool.charge(pool.no_costs(), np.array([[0, 0, 1]]), np.array([-5]))
    >>> pool.describe(pool.minimise(costs, np.zeros((1, 2), dtype=np.int64))[0])
    'approve everybody'
    """

    kind, parameters = "pool", ("cuts", "reference")
    _scored: ScoredFrames | None = None

    def __init__(
        self, schema: FeatureSchema, cuts: Sequence[Cut], reference: People | npt.ArrayLike
    ) -> None:
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        self.schema = instance("Pool.schema", schema, FeatureSchema, remedy)
        rows = admitted("Pool.reference", schema, reference_rows(schema, reference)).x
        members = check_members(schema, cuts)
        columns = np.array([schema.place(cut.column) for cut in members], dtype=np.int64)
        levels = np.array([cut.at for cut in members], dtype=np.float64)
        constant = self._constants(columns, levels)
        check_constant(constant)
        packed = packed_predictions(rows, columns, levels)
        distinct = representatives(packed, constant)
        self.merged = len(members) - len(distinct)
        self.cuts = tuple(members[i] for i in distinct.tolist())
        self._columns, self._levels = columns[distinct], levels[distinct]
        self._rows, self._packed = rows, packed[distinct]
        if self.merged:
            warn(
                f"{self.merged} of {len(members)} members of the pool agree with another one on "
                f"all {len(rows)} rows of reference data and were merged; "
                f"{len(distinct)} remain, and guarantees are against these.",
                MergedHypotheses,
            )

    @cached_property
    def _chosen(self) -> IntArray:
        """The rows of the reference data that are the separating set; searched when needed."""
        bits = np.unpackbits(self._packed, axis=1, count=len(self._rows))
        small = self.size <= FEW_MEMBERS or bits.size <= FEW_PREDICTIONS
        return greedy_separating_set(bits) if small else trie_separating_set(bits)

    @cached_property
    def _on_set(self) -> Bits:  # type: ignore[override]  # searched when it is needed, not before
        chosen = self._chosen
        if len(chosen) * self.size > LARGEST_TABLE:
            raise HypothesisError(
                f"A pool of {self.size} members with a separating set of {len(chosen)} rows is too "
                f"large for draws: at most {LARGEST_TABLE} predictions are kept. Use the player "
                f"'exponential-weights', which needs no draws, or fewer cuts."
            )
        bits = np.unpackbits(self._packed, axis=1, count=len(self._rows))
        return np.ascontiguousarray(bits[:, chosen])

    @property
    def size(self) -> int:
        """The number of members that differ."""
        return len(self.cuts)

    @property
    def separators(self) -> int:
        """The size of the separating set."""
        return len(self._chosen)

    def _constants(self, columns: IntArray, levels: FloatArray) -> npt.NDArray[np.bool_]:
        """Test whether a cut is the same for everybody whom the schema admits."""
        limits = np.array([feature.limits for feature in self.schema.features])
        below, above = levels <= limits[columns, 0], levels > limits[columns, 1]
        return np.asarray(below | above)

    def constant_members(self) -> npt.NDArray[np.bool_]:
        """Cuts that are the same for everybody; this needs no separating set."""
        return self._constants(self._columns, self._levels)

    def grades(self) -> IntArray:
        """Columns are alike, however many cuts each has."""
        return self._columns

    @classmethod
    def from_table(cls, table: npt.ArrayLike) -> Pool:
        """A pool from a 0/1 table, a row for every member and a column for every kind of person.

        A person is then the column of the members' decisions, features ``h1``, ``h2``, ….
        """
        bits = zeros_and_ones("Pool.from_table.table", table)
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
        names = items("Pool.from_scores.columns", columns, "List columns of scores.")
        levels = reals("Pool.from_scores.cuts", cuts, "List them: [0.25, 0.5, 0.75].")
        return cls(schema, all_cuts([(name, levels) for name in names]), reference)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        columns: Sequence[str],
        cuts: int | Sequence[float] = 20,
        schema: FeatureSchema | None = None,
        ids: str | None = None,
    ) -> Pool:
        """A pool from columns of scores in a data frame, whose rows tell its members apart.

        ``cuts`` are levels, or the number of equal parts into which each column is divided. The
        schema is proposed where none is given; columns that it lacks are left out.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"forest": [0.1, 0.4, 0.6], "income": [20.0, 30.0, 50.0]})
        >>> Pool.from_frame(frame, ["forest"], cuts=[0.5]).size
        3
        """
        schema = FeatureSchema.from_frame(frame, ids) if schema is None else schema
        instance("Pool.from_frame.schema", schema, FeatureSchema, "Make one: FeatureSchema(…).")
        people = schema.people(frame, ids=ids, others="ignore")
        names = items("Pool.from_frame.columns", columns, "List columns of scores.")
        return cls(schema, cuts_of_people(people, names, cuts), people)

    @classmethod
    def from_models(
        cls,
        models: Mapping[str, Any] | Sequence[Any],
        frame: Any,
        cuts: int | Sequence[float] = 20,
        schema: FeatureSchema | None = None,
        ids: str | None = None,
    ) -> Pool:
        """A pool from fitted models: each is a column of scores, computed on a data frame.

        ``models`` have ``predict_proba``, or are functions of a frame; a model that was fitted on
        named columns is given these. The features of the schema (proposed where none is given) are
        what a panel sees; scores are hidden from it. ``pool.people(frame)`` scores other people.
        Models are not part of the JSON: a pool that was read from it takes people with scores.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"income": [20.0, 40.0, 60.0, 90.0]})
        >>> rich = {"rich": lambda frame: frame["income"] / 100}
        >>> pool = Pool.from_models(rich, frame, cuts=[0.5])
        >>> pool.people(frame).x.tolist()[0], pool.size
        ([20.0, 0.2], 3)
        """
        schema = FeatureSchema.from_frame(frame, ids) if schema is None else schema
        instance("Pool.from_models.schema", schema, FeatureSchema, "Make one: FeatureSchema(…).")
        scored = ScoredFrames.of(models, schema)
        people = scored.people(frame, ids)
        pool = cls(scored.schema, cuts_of_people(people, list(scored.models), cuts), people)
        pool._scored = scored
        return pool

    def people(self, frame: Any, ids: str | Sequence[str] | None = None) -> People:
        """People from a data frame, with the scores of the models that the pool was made of."""
        if self._scored is None:
            raise HypothesisError(
                "This pool has no models: it was made of columns, or read from JSON or a state, "
                "which never hold a model. Make it again with the models, "
                "Pool.from_models(models, frame, …), and give its .people to the state; or compute "
                "a column of scores for each model, and use "
                "pool.schema.people(frame, others='ignore')."
            )
        return self._scored.people(frame, ids)

    def predictions(self, people: People) -> Bits:
        """The predictions of all members, shape (k, N)."""
        return (people.x.take(self._columns, axis=1) >= self._levels).view(np.uint8)

    def describe(self, code: IntArray) -> str:
        """The member's cut."""
        return str(self.cuts[int(code[0])])

    def spec(self) -> dict[str, Any]:
        """The cuts and the separating rows, which are all the reference data that is needed."""
        cuts = [[c.column, c.at if np.isfinite(c.at) else str(c.at)] for c in self.cuts]
        # A single member has no separating row, but a pool must have a row of reference data.
        rows = self._rows[self._chosen] if len(self._chosen) else self._rows[:1]
        return {
            "class": self.kind, "schema": self.schema.spec(), "cuts": cuts,
            "reference": rows_to_json(rows),
        }  # fmt: skip

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Pool:
        """Read a pool from its JSON."""
        schema, values = cls.read_parameters(spec)
        pairs = items("Pool.cuts", values["cuts"], "List pairs of a column and a cut.")
        cuts = [Cut(column, float(at) if at in _INFINITE else at) for column, at in pairs]
        pool = cls(schema, cuts, rows_from_json(values["reference"]))
        if pool.size > 1 and not pool.merged:
            pool._chosen = np.arange(len(pool._rows))  # the rows are the separating set
        return pool
