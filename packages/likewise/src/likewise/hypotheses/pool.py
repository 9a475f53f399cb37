"""A pool: a list of predictors to choose among, as a 0/1 table or as score columns with cuts.

Users bring their own models as columns of scores or decisions; a member of the pool is a column
with a cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise import errors
from likewise import validation as check
from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import lists
from likewise.hypotheses.base import Bits
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people.columns import column_values
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema, People


@dataclass(frozen=True)
class Cut:
    """Approve people with at least ``at`` in a column: everybody at −inf, nobody at +inf."""

    column: str
    at: float

    def __post_init__(self) -> None:
        check.text("Cut.column", self.column, "Name a column.")
        check.assign(self, at=check.real("Cut.at", self.at, "Use ±inf for constants."))
        is_number = not math.isnan(self.at)
        check.require(is_number, "Cut.at", "must be a number", self.at, "Use ±inf for constants.")

    def __str__(self) -> str:
        if np.isinf(self.at):
            return "approve everybody" if self.at < 0 else "approve nobody"
        return f"approve if {self.column} ≥ {self.at:.6g}"


# Up to this many members or predictions a small separating set is searched for; beyond, any that
# near-linear time finds.
FEW_MEMBERS, FEW_PREDICTIONS = 256, 1 << 22
# Members whose predictions are compared with levels at once, for memory.
_AT_ONCE = 4096


class Pool(lists.Listed):
    """A finite list of predictors: cuts on columns, which differ on reference data.

    Members that agree on all ``reference`` data (people, or an array of their encoded features) are
    merged into the first of them, with a warning (:class:`~likewise.errors.MergedHypotheses`), and
    guarantees are against those that remain. One member must be constant: the same for everybody
    whom the schema admits.

    >>> pool = Pool.from_table([[0, 0, 0], [0, 1, 1], [1, 1, 1]])
    >>> pool.size, pool.separators
    (3, 2)
    >>> costs = pool.charge(pool.no_costs(), np.array([[0, 0, 1]]), np.array([-5]))
    >>> pool.describe(pool.minimise(costs, np.zeros((1, 2), dtype=np.int64))[0])
    'approve everybody'
    """

    name = "pool"
    _scored: Callable[[Any, Any], People] | None = None
    # The rows of the reference data that are the separating set; no prior changes them.
    _chosen: IntArray | None = None

    def __init__(
        self, schema: FeatureSchema, cuts: Sequence[Cut], reference: People | npt.ArrayLike
    ) -> None:
        remedy = "Make one: FeatureSchema((Feature(…), …))."
        self.schema = check.instance("Pool.schema", schema, FeatureSchema, remedy)
        rows = reference_rows("Pool", schema, reference)
        members = check_members(schema, cuts)
        columns = np.array([schema.place(cut.column) for cut in members], dtype=np.int64)
        levels = np.array([cut.at for cut in members], dtype=np.float64)
        constant = self._constants(columns, levels)
        if not constant.any():
            raise HypothesisError(
                f"The pool must contain a constant classifier; none of its {len(constant)} members "
                f"is the same for everybody. Without one there may be no fair policy at all. Add "
                f"Cut(column, float('-inf')), which approves everybody."
            )
        packed = packed_predictions(rows, columns, levels)
        distinct = representatives(packed, constant)
        self.merged = len(members) - len(distinct)
        self.cuts = tuple(members[i] for i in distinct.tolist())
        self._columns, self._levels = columns[distinct], levels[distinct]
        self._rows, self._packed = rows, packed[distinct]
        if self.merged:
            errors.warn(
                f"{self.merged} of {len(members)} members of the pool agree with another one on "
                f"all {len(rows)} rows of reference data and were merged; "
                f"{len(distinct)} remain, and guarantees are against these.",
                errors.MergedHypotheses,
            )

    def _separating(self) -> IntArray:
        """The rows that are the separating set, searched when they are needed first."""
        if self._chosen is None:
            bits = np.unpackbits(self._packed, axis=1, count=len(self._rows))
            small = self.size <= FEW_MEMBERS or bits.size <= FEW_PREDICTIONS
            search = lists.greedy_separating_set if small else lists.trie_separating_set
            self._chosen = search(bits)
        return self._chosen

    @cached_property
    def _on_set(self) -> Bits:  # type: ignore[override]  # searched when it is needed, not before
        chosen = self._separating()
        if len(chosen) * self.size > lists.LARGEST_TABLE:
            raise HypothesisError(
                f"A pool of {self.size} members with a separating set of {len(chosen)} rows is too "
                f"large for draws: at most {lists.LARGEST_TABLE} predictions are kept. Use the "
                f"player 'exponential-weights', which needs no draws, or fewer cuts."
            )
        bits = np.unpackbits(self._packed, axis=1, count=len(self._rows))
        return np.ascontiguousarray(bits[:, chosen])

    @property
    def size(self) -> int:
        return len(self.cuts)

    @property
    def separators(self) -> int:
        return len(self._separating())

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
        bits = check.as_array(table)
        fits = bits.dtype.kind in "biuf" and bits.ndim == 2 and bits.size
        rule = "must be a table of 0s and 1s, a row for every member"
        remedy = "Turn scores into decisions first, or use Pool.from_scores."
        fits = bool(fits and np.isin(bits, (0, 1)).all())
        check.require(fits, "Pool.from_table.table", rule, table, remedy)
        names = [f"h{i + 1}" for i in range(len(bits))]
        schema = FeatureSchema(tuple(Feature(name, "flag") for name in names))
        cuts = [
            Cut(name, -np.inf if row.all() else 0.5 if row.any() else np.inf)
            for name, row in zip(names, bits, strict=True)
        ]
        return cls(schema, cuts, bits.T.astype(np.float64))

    @classmethod
    def from_scores(
        cls, schema: FeatureSchema, columns: Sequence[str], cuts: Sequence[float],
        reference: People | npt.ArrayLike,
    ) -> Pool:  # fmt: skip
        names = check.items("Pool.from_scores.columns", columns, "List columns of scores.")
        levels = check.reals("Pool.from_scores.cuts", cuts, "List them: [0.25, 0.5, 0.75].")
        return cls(schema, all_cuts([(name, levels) for name in names]), reference)

    @classmethod
    def from_frame(
        cls, frame: Any, columns: Sequence[str], cuts: int | Sequence[float] = 20,
        schema: FeatureSchema | None = None, ids: str | None = None,
    ) -> Pool:  # fmt: skip
        """A pool from columns of scores in a data frame, whose rows tell its members apart.

        ``cuts`` are levels, or the number of equal parts into which each column is divided. The
        schema is proposed where none is given; columns that it lacks are left out.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"forest": [0.1, 0.4, 0.6], "income": [20.0, 30.0, 50.0]})
        >>> Pool.from_frame(frame, ["forest"], cuts=[0.5]).size
        3
        """
        schema = FeatureSchema.from_frame(frame, ids) if schema is None else schema
        check.instance("Pool.schema", schema, FeatureSchema, "Make one: FeatureSchema(…).")
        people = schema.people(frame, ids=ids, others="ignore")
        names = check.items("Pool.from_frame.columns", columns, "List columns of scores.")
        return cls(schema, cuts_of_people(people, names, cuts), people)

    @classmethod
    def from_models(
        cls, models: Mapping[str, Any] | Sequence[Any], frame: Any,
        cuts: int | Sequence[float] = 20, schema: FeatureSchema | None = None,
        ids: str | None = None,
        favourable: Any = None,
    ) -> Pool:  # fmt: skip
        """A pool from fitted models: each is a column of scores, computed on a data frame.

        ``models`` have ``predict_proba``, or are functions of a frame; a model that was fitted on
        named columns gets these. A panel sees the features of the schema (proposed where none is
        given), and no scores. ``pool.people(frame)`` scores other people. ``favourable`` is the
        class that means approval, if the classes of a model are not 0 and 1. The JSON holds no
        models: a pool that was read from it takes people with scores.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"income": [20.0, 40.0, 60.0, 90.0]})
        >>> rich = {"rich": lambda frame: frame["income"] / 100}
        >>> pool = Pool.from_models(rich, frame, cuts=[0.5])
        >>> pool.people(frame).x.tolist()[0], pool.size
        ([20.0, 0.2], 3)
        """
        schema = FeatureSchema.from_frame(frame, ids) if schema is None else schema
        check.instance("Pool.schema", schema, FeatureSchema, "Make one: FeatureSchema(…).")
        named = named_models(models)
        rule, remedy = "must not be called as a feature is", "Rename the model."
        for name in named:
            check.require(name not in schema.names, "models", rule, name, remedy)
        hidden = (Feature(name, low=0, high=1, visible=False) for name in named)
        both = FeatureSchema((*schema.features, *hidden))
        scored = partial(scored_people, named, schema, both, favourable)
        people = scored(frame, ids)
        pool = cls(both, cuts_of_people(people, list(named), cuts), people)
        pool._scored = scored
        return pool

    def people(self, frame: Any, ids: str | Sequence[str] | None = None) -> People:
        """People from a data frame, with the scores of the models that the pool was made of."""
        if self._scored is None:
            raise HypothesisError(
                "This pool has no models: it was made of columns, or read from JSON or a state, "
                "which never hold a model. Make it again, Pool.from_models(models, frame, …), and "
                "give its .people to the state; or compute a column of scores for each model, and "
                "use pool.schema.people(frame, others='ignore')."
            )
        return self._scored(frame, ids)

    def predictions(self, people: People) -> Bits:
        columns = self._columns.astype(np.intp, copy=False)  # of 32 bits in a browser
        return (people.x.take(columns, axis=1) >= self._levels).view(np.uint8)

    def describe(self, code: IntArray) -> str:
        return str(self.cuts[int(code[0])])

    def spec(self) -> dict[str, Any]:
        """The cuts and the separating rows, which are all the reference data that is needed."""
        cuts = [[c.column, c.at if np.isfinite(c.at) else str(c.at)] for c in self.cuts]
        # A single member has no separating row, but a pool must have a row of reference data.
        rows = self._rows[self._separating()] if self.separators else self._rows[:1]
        return {
            "class": self.name, "schema": self.schema.spec(), "cuts": cuts,
            "reference": rows_to_json(rows),
        }  # fmt: skip

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Pool:
        """Read a pool. All rows of its reference data are the separating set: write few by hand."""
        values = cls.read_parameters(spec)
        pairs = check.items("Pool.cuts", values["cuts"], "List pairs of a column and a cut.")
        cuts = [Cut(name, float(at) if at in ("inf", "-inf") else at) for name, at in pairs]
        pool = cls(values["schema"], cuts, rows_from_json(values["reference"]))
        if pool.size > 1 and not pool.merged:
            pool._chosen = np.arange(len(pool._rows))  # the rows are the separating set
        return pool


def reference_rows(owner: str, schema: FeatureSchema, reference: Any) -> FloatArray:
    """Rows of the schema's features as numbers, from people or an array whom the schema admits."""
    name = f"{owner}.reference"
    remedy = "It is the data on which members must differ; schema.people(rows) encodes it."
    rule = f"must be rows of the schema's {len(schema)} features, at least one, as numbers"
    rows = reference.x if isinstance(reference, People) else check.as_array(reference)
    table = rows.dtype.kind in "biuf" and rows.ndim == 2 and len(rows) > 0
    if not table or (not isinstance(reference, People) and rows.shape[1] != len(schema)):
        raise ParameterError(name, rule, reference, remedy)
    try:
        return schema.encoded(reference).x
    except errors.PeopleError as error:
        rule = "must be people whom the schema admits"
        raise ParameterError(name, rule, f"{len(rows)} rows", str(error)) from error


def rows_to_json(rows: FloatArray) -> list[list[float | None]]:
    """Rows as JSON: a missing value is null, which equals itself, as NaN does not."""
    return [[None if math.isnan(x) else x for x in row] for row in rows.tolist()]


def rows_from_json(rows: Any) -> Any:
    """The inverse of :func:`rows_to_json`; returns anything else unchanged, to be refused."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return rows
    return [[math.nan if x is None else x for x in row] for row in rows]


def check_members(schema: FeatureSchema, cuts: Any) -> list[Cut]:
    """Check the members of a pool: cuts of columns that are never missing."""
    listed = check.items("Pool.cuts", cuts, "List members: [Cut(column, at), …].")
    if not listed:
        raise HypothesisError("A pool must have a member; got none. Add a constant at least.")
    if len(listed) >= lists.LARGEST_LIST:
        raise HypothesisError(
            f"A pool must have fewer than {lists.LARGEST_LIST} members; got {len(listed)}."
        )
    for cut in listed:
        check.instance("Pool.cuts", cut, Cut, "List members: [Cut(column, at), …].")
    for name in dict.fromkeys(cut.column for cut in listed):
        if schema[name].missing is not None:
            raise HypothesisError(
                f"A pool cannot cut a column that may be missing; {name!r} may. Fill missing "
                f"scores before they come here."
            )
    return listed


def packed_predictions(reference: FloatArray, columns: IntArray, levels: FloatArray) -> Bits:
    """The members' predictions on the rows, a bit each: (members, rows/8)."""
    by_column = np.ascontiguousarray(reference.T)
    blocks = (slice(i, i + _AT_ONCE) for i in range(0, len(columns), _AT_ONCE))
    return np.concatenate(
        [np.packbits(by_column[columns[b]] >= levels[b, None], axis=1) for b in blocks]
    )


def representatives(packed: Bits, constant: npt.NDArray[np.bool_]) -> IntArray:
    """The first member of those that agree on all reference data, or a constant among them."""
    first: dict[bytes, int] = {}
    for member, row in enumerate(packed):
        key = row.tobytes()
        earlier = first.setdefault(key, member)
        if constant[member] and not constant[earlier]:
            first[key] = member
    return np.array(sorted(first.values()), dtype=np.int64)


def all_cuts(levels_of: Sequence[tuple[str, Sequence[float]]]) -> list[Cut]:
    """Every column with its cuts, between both constants."""
    check.require(bool(levels_of), "columns", "must not be empty", [], "List columns of scores.")
    column = levels_of[0][0]
    cuts = [Cut(name, level) for name, levels in levels_of for level in levels]
    return [Cut(column, -np.inf), *cuts, Cut(column, np.inf)]


def cuts_of_people(people: People, columns: Sequence[str], cuts: Any) -> list[Cut]:
    """Cuts at the same levels in every column, or into a number of equal parts of the people."""
    if isinstance(cuts, bool) or not isinstance(cuts, int):
        levels = check.reals("cuts", cuts, "List them, [0.25, 0.5], or give a number of parts.")
        return all_cuts([(name, levels) for name in columns])
    parts = check.integer("cuts", cuts, 2, 1 << 20, "Give at least 2 parts.")
    return all_cuts([(name, quantiles(people.column(name), parts)) for name in columns])


def quantiles(values: FloatArray, parts: int) -> list[float]:
    """The values that divide ``values`` into equal parts, each once.

    The least of all divides nothing, and is left out.

    >>> quantiles(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), 4)
    [0.25, 0.5, 0.75]
    """
    if not len(values):
        return []
    ranks = np.arange(1, parts) * len(values) // parts
    levels = np.unique(np.sort(values)[ranks])
    return [float(level) for level in levels[levels > values.min()]]


def scored_people(
    models: Mapping[str, Any], features: FeatureSchema, schema: FeatureSchema, favourable: Any,
    frame: Any, ids: Any,
) -> People:  # fmt: skip
    """People from a frame, with the models' scores; other columns are for the models.

    ``schema`` has the ``features``, and a column for each model.
    """
    people = features.people(frame, ids=ids, others="ignore")
    scores = [scores_of(name, model, frame, people, favourable) for name, model in models.items()]
    return People(people.ids, np.column_stack([people.x, *scores]), schema, people.origin)


def named_models(models: Any) -> dict[str, Any]:
    """Models by name: a mapping, or a list, whose models are called after their classes.

    >>> list(named_models([len, len]))
    ['builtin_function_or_method', 'builtin_function_or_method_2']
    """
    named: dict[str, Any] = dict(models) if isinstance(models, Mapping) else {}
    if isinstance(models, Sequence) and not isinstance(models, str | bytes):
        for model in models:
            base = type(model).__name__.lower()
            names = (base, *(f"{base}_{number}" for number in range(2, len(models) + 1)))
            named[next(name for name in names if name not in named)] = model
    fits = bool(named) and all(isinstance(name, str) and name for name in named)
    rule = "must be models by name, or a list of them, at least one"
    check.require(fits, "models", rule, models, "Write {'forest': forest, 'logistic': logistic}.")
    rule = "must have predict_proba, or be a function of a frame"
    remedy = "A model without chances can be wrapped: lambda frame: model.predict(frame)."
    for name, model in named.items():
        fits = callable(model) or hasattr(model, "predict_proba")
        check.require(fits, f"models[{name!r}]", rule, model, remedy)
    return named


def scores_of(name: str, model: Any, frame: Any, people: People, favourable: Any) -> FloatArray:
    """A model's chances of the favourable label for people from a frame, in their order, checked.

    A model that was fitted on named columns gets these. A Series is matched by its index.
    """
    place = _favourable_place(name, model, favourable)
    rule = "It is given the frame's rows, with the columns that it was fitted on."
    with errors.foreign_code(HypothesisError, f"The model {name!r} failed", rule):
        if hasattr(model, "predict_proba"):
            names = getattr(model, "feature_names_in_", None)
            if names is not None:
                from likewise.people.frames import nw

                columns = [str(n) for n in names]
                frame = nw.from_native(frame, eager_only=True)[columns].to_native()
            chances = model.predict_proba(frame)
            if getattr(chances, "ndim", 1) == 2 and np.shape(chances)[1] == 2:
                chances = check.as_array(chances)[:, place]
        else:
            chances = model(frame)
    try:
        values = column_values(f"The scores of {name!r}", chances, people)
    except errors.PeopleError as error:
        raise HypothesisError(f"{error} The model must decide between two labels.") from error
    numbers = values.dtype.kind in "biuf"
    odd = values[~((values >= 0) & (values <= 1))] if numbers else values
    if len(odd):
        raise HypothesisError(
            f"The model {name!r} must give scores within [0, 1]; got {errors.shown(odd[0])}."
        )
    return values.astype(np.float64)


def _favourable_place(name: str, model: Any, favourable: Any) -> int:
    """The column of ``predict_proba`` that is approval: of classes 0 and 1 the second."""
    classes = check.as_array(getattr(model, "classes_", [0, 1])).tolist()
    if isinstance(favourable, Hashable) and favourable in classes:
        return int(classes.index(favourable))
    if classes == [0, 1]:
        return 1  # a word would be that of another model
    raise ParameterError(
        "favourable", f"must be one of the classes {classes} of the model {name!r}", favourable,
        "Say which of them is approval.",
    )  # fmt: skip


def cuts_by_column(owner: str, schema: FeatureSchema, cuts: Any) -> dict[str, tuple[float, ...]]:
    """Increasing cuts by column, from a mapping or from pairs as in JSON.

    >>> schema = FeatureSchema((Feature("income"),))
    >>> cuts_by_column("Stumps", schema, [["income", [20, 40]]])
    {'income': (20.0, 40.0)}
    """
    pairs = isinstance(cuts, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in cuts
    )
    fits, rule = pairs or isinstance(cuts, Mapping), "must be lists of cuts by column"
    check.require(fits, f"{owner}.cuts", rule, cuts, "Write {'income': [20, 40]}.")
    by_name, levels_of = dict(cuts), {}
    for name in lists.check_columns(owner, schema, tuple(by_name), lists.NUMERIC):
        parameter = f"{owner}.cuts[{name!r}]"
        levels = levels_of[name] = check.reals(parameter, by_name[name], "List them.")
        fits = bool(levels) and bool(np.isfinite(levels).all() and (np.diff(levels) > 0).all())
        rule = "must be at least one, increase and be finite"
        check.require(fits, parameter, rule, levels, "Sort them.")
    return levels_of


def pairs_of_cuts(columns: Sequence[str], cuts: Sequence[tuple[float, ...]]) -> list[list[Any]]:
    """Lists of cuts as JSON: the pairs that :func:`cuts_by_column` reads."""
    return [[name, list(levels)] for name, levels in zip(columns, cuts, strict=True)]
