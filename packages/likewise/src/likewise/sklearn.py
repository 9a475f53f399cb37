"""The scikit-learn face: an estimator that learns in rounds, and hears of reported pairs.

``predict_proba`` is π(x), the chance of the favourable label under the policy of the moment;
``predict`` is one draw h ~ π, the same for everybody and for every call until something new is
learnt. Both are functions of the seed and of what was learnt, on every machine.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from likewise import errors
from likewise.hypotheses import HypothesisClass
from likewise.hypotheses.pool import quantiles
from likewise.hypotheses.trees import Stumps
from likewise.learner import Learner, SelfTuned, State, dump_state, parse_state
from likewise.learner.fold import current_scores, upcoming
from likewise.learner.rounds import deploy, learn
from likewise.numerics.fixed_point import ONE
from likewise.panel.panels import Panel
from likewise.people import Feature, FeatureSchema, People
from likewise.people.columns import checked_ids, id_text, is_missing, is_table
from likewise.people.frames import as_frame, check_frame, frame_columns, only_flags, origin_of
from likewise.people.proposals import NOT_STATED
from likewise.validation import choice, instance, integer, require

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise errors.missing("The estimator", "scikit-learn", "models", error) from error


UNSEEN = ("missing", "refuse")


@dataclass(eq=False, repr=False)
class LikewiseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # untyped there
    """Learn decisions under a panel's reports, with the conventions of scikit-learn.

    Rows are met in their order, ``k`` at a time: a round each. In :meth:`fit` a ``panel`` of
    metric auditors may look at every round; reports of people come with :meth:`partial_fit`.

    Args:
        hypotheses: a function from the schema and the people of the first call to a hypothesis
            class; by default stumps with ``cuts`` cuts a column, texts of categories being flags.
            Where a frame has missing values, the median of the first rows is used, and a flag says
            so.
        panel: a panel of metric auditors on the columns, or None.
        alpha, eps: the size of a violation; the learner competes with policies fair at alpha − eps.
        eta: the weight of the error against reports.
        k: the most people in a round.
        cuts: cuts a column.
        seed: of everything random.
        schema: the features of a frame, whose other columns are left out; proposed from the first
            rows where none is given.
        unseen: what to do with a level that the first rows did not have, or a missing value where
            they had none: ``missing`` counts the level as a missing value and a missing value as
            the median, with a warning; ``refuse`` refuses them.
        favourable: the class that is a favourable decision; needed where classes are not 0 and 1,
            and a panel or reports say who is favoured.

    >>> x = np.arange(100.0)[:, None]
    >>> model = LikewiseClassifier(k=10).fit(x, x[:, 0] >= 50)
    >>> low, high = model.predict_proba([[10.0], [90.0]])[:, 1]
    >>> bool(low < 0.5 < high), model.classes_.tolist()
    (True, [False, True])
    """

    hypotheses: Callable[[FeatureSchema, People], HypothesisClass] | None = None
    panel: Panel | None = None
    alpha: float = 0.3
    eps: float | None = None
    eta: float = 0.25
    k: int = 16
    cuts: int = 16
    seed: int = 0
    schema: FeatureSchema | None = None
    unseen: str = "missing"
    favourable: Any = None

    def __getstate__(self) -> Any:
        """The learner's state as the bytes of a state file."""
        state = dict(super().__getstate__())
        if "state_" in state:
            state["state_"] = dump_state(state["state_"])
        return state

    def __setstate__(self, state: Any) -> None:
        if isinstance(state.get("state_"), bytes):
            state = {**state, "state_": parse_state(state["state_"], "a pickled estimator")}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        """Two labels, and no promise of accuracy, which the panel may not allow."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn from rows in their order, k a round."""
        for name in ("state_", "schema_", "classes_"):
            self.__dict__.pop(name, None)
        return self._learn(X, y, None, None, first=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        reports: Iterable[tuple[int, int]] | None = None,
    ) -> Self:
        """Learn from one more round, or several, decided by the policy so far.

        ``reports`` are pairs (over, under) of rows of this round, which a panel reported after it
        saw ``predict_proba(X)``; an empty list says that it had nothing to report, None that
        nobody looked, unless the estimator has a panel of its own. It is metadata that can be
        routed.
        """
        return self._learn(X, y, classes, reports, first=not hasattr(self, "state_"))

    def _learn(self, X: Any, y: Any, classes: Any, reports: Any, *, first: bool) -> Self:
        rows = self._rows(X, first=first)
        _refuse_another_order(X, y)
        labels = self._labels(y, len(rows), classes, first=first)
        if self.panel is not None:
            instance("panel", self.panel, Panel, "Write Panel([MetricAuditor(…)], 'any').")
        self._check_favourable(needed=reports is not None or self.panel is not None)
        people = self._start(rows) if first else self._preparation.people(rows)
        k = integer("k", self.k, 1, None, "It is the most people in a round.")
        if reports is not None and len(people) > k:
            rule = f"must be about one round, of at most k = {k} rows"
            remedy = "Give a round at a time, or a larger k."
            raise errors.ParameterError("reports", rule, f"{len(people)} rows", remedy)
        state = self.state_
        for start in range(0, len(people), k):
            places = np.arange(start, min(start + k, len(people)))
            batch = people.take(places)
            state, deployed = deploy(state, batch)
            report: Any = None
            if reports is not None:
                report = [tuple(_ids(batch, pair)) for pair in reports]
            elif self.panel is not None:
                sensitivity = state.sensitivity
                report = self.panel.audit(batch, deployed.units, sensitivity).pairs
            state = learn(state, deployed, labels=labels[places].tolist(), report=report)
        self.state_: State = state  # only now: a round that was refused leaves everything as it was
        return self

    def _rows(self, X: Any, *, first: bool) -> Any:
        """The frame, or an array of numbers, with the names and the number of its columns noted."""
        if _is_named_frame(X):
            if as_frame(X) is None or len(X) == 0:  # a lazy frame is refused
                raise errors.PeopleError(
                    "Found array with 0 sample(s); a minimum of 1 is required."
                )
            validate_data(self, X, reset=first, skip_check_array=True)
            return X.reset_index(drop=True) if hasattr(X, "reset_index") else X
        return validate_data(self, X, reset=first, dtype=np.float64, ensure_all_finite=True)

    def _labels(self, y: Any, count: int, classes: Any, *, first: bool) -> Any:
        if y is None:
            raise errors.PeopleError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if len(labels) != count:
            raise errors.PeopleError(
                f"Found input variables with inconsistent numbers of samples: {count} and "
                f"{len(labels)}."
            )
        if first:
            values = np.unique(labels if classes is None else np.asarray(classes))
            if len(values) != 2:
                more = (
                    "Only binary classification is supported. The type of the target is "
                    "multiclass" if len(values) > 2 else "a single class cannot be learnt"
                )  # fmt: skip
                raise errors.PeopleError(
                    f"y must have two classes; got {len(values)} class(es): {more}. In "
                    f"partial_fit, name both: classes=[0, 1]."
                )
            self.classes_ = values
            # The second, unless another is named; one that is named later is for the next fit.
            same = [place for place, c in enumerate(values.tolist()) if c == self.favourable]
            self._favourable_place = same[0] if same else 1
        if not np.isin(labels, self.classes_).all():
            raise errors.PeopleError(
                f"y must be one of the classes {self.classes_.tolist()}; something else is in it."
            )
        return (labels == self.classes_[self._favourable_place]).astype(np.int64)

    def _check_favourable(self, *, needed: bool) -> None:
        classes = self.classes_.tolist()
        usual = classes == [0, 1] or not needed
        if self.favourable not in classes and not (self.favourable is None and usual):
            raise errors.ParameterError(
                "favourable", f"must be one of the classes {classes}", self.favourable,
                "Say which of them is a favourable decision.",
            )  # fmt: skip

    def _start(self, rows: Any) -> People:
        """Set the schema of the first rows, the class, and a learner; and read the people."""
        names = getattr(self, "feature_names_in_", None)
        self._preparation = Preparation.of(rows, self.schema, self.unseen, names)
        self.schema_ = self._preparation.schema
        self.encoded_schema_ = self._preparation.encoded
        people = self._preparation.people(rows)
        build = self._stumps if self.hypotheses is None else self.hypotheses
        rule = "must be a function of a schema and people"
        require(callable(build), "hypotheses", rule, build, "Write lambda schema, people: ….")
        eps = self.alpha if self.eps is None else self.eps
        learner = Learner(
            build(self.encoded_schema_, people), k=self.k, alpha=self.alpha, eps=eps,
            seed=self.seed, schedule=SelfTuned(eta=self.eta),
        )  # fmt: skip
        self.state_ = State.start(learner)
        return people

    def _stumps(self, schema: FeatureSchema, people: People) -> HypothesisClass:
        """Stumps at quantiles of the first rows, on every level, and on what is missing."""
        cuts: dict[str, list[float]] = {}
        for feature in schema.features:
            if feature.kind == "category" or feature.missing is not None:
                continue
            values = people.column(feature.name)
            parts = integer("cuts", self.cuts, 1, 4000, "It is a number of cuts a column.") + 1
            levels = quantiles(values, parts)
            if levels or values.min() < values.max():
                cuts[feature.name] = levels or [float(values.max())]
        if not cuts:
            name = next((f.name for f in schema.features if f.kind == "number"), None)
            if name is None:
                raise errors.PeopleError("Every column has one value only; nothing can be learnt.")
            cuts[name] = [float(people.column(name)[0])]
        return Stumps(schema, cuts)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """1 − π(x) and π(x), the chances of both classes under the policy of the moment."""
        people = self._people(X)
        chances = current_scores(self.state_, people) / ONE
        columns = [1 - chances, chances]
        return np.column_stack(columns if self._favourable_place else columns[::-1])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The decisions of one draw h ~ π, a function of the seed and of the rounds seen."""
        people, place = self._people(X), self._favourable_place
        learner = self.state_.learner
        points = learner.hypotheses.locate(people)
        decided = learner.primal.decide(learner.hypotheses, upcoming(self.state_), points, 0)
        favourable = np.asarray(decided, dtype=np.bool_)
        return np.asarray(self.classes_[np.where(favourable, place, 1 - place)])

    def _people(self, X: Any) -> People:
        check_is_fitted(self, "state_")
        return self._preparation.people(self._rows(X, first=False))


def _is_named_frame(rows: Any) -> bool:
    """Test for a frame with named columns; one with numbered columns is read as an array."""
    if not is_table(rows):
        return False
    lazy = not hasattr(type(rows), "__len__")  # asked for its columns, it would compute them
    names = "column_names" if hasattr(type(rows), "column_names") else "columns"  # as Arrow has it
    return lazy or all(isinstance(name, str) for name in getattr(rows, names, (0,)))


def _refuse_another_order(rows: Any, y: Any) -> None:
    """Refuse a Series with the index of the rows in another order; any other is read in order."""
    left: Any = getattr(rows, "index", None)
    right: Any = getattr(y, "index", None)
    if not (hasattr(left, "equals") and hasattr(right, "equals")) or left.equals(right):
        return
    if len(left) == len(right) and set(left) == set(right):
        raise errors.PeopleError(
            "y is a Series with the index of the rows in another order. Give it in theirs: "
            "y.loc[X.index], or y.to_numpy() if its order is right."
        )


@dataclass(frozen=True)
class Preparation:
    """How rows become people: by the features of the first rows, and by what these had.

    ``schema`` has the columns; ``encoded`` adds a flag for every level, and for what is missing a
    column with the median and a flag. ``typical`` are medians by name (of flags, what most have),
    ``gaps`` the features that lack values in the first rows.
    """

    schema: FeatureSchema
    unseen: str
    others: str
    typical: Mapping[str, float] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Any, schema: FeatureSchema | None, unseen: str, names: Any) -> Self:
        """The preparation that the first rows ask for; an array's columns have ``names``."""
        choice("unseen", unseen, UNSEEN, "It is the rule for levels that fit has not seen.")
        if schema is not None:
            instance("schema", schema, FeatureSchema, "Make one: FeatureSchema.from_frame(frame).")
            chosen = list(schema.features)
        elif _is_named_frame(rows):
            chosen = _proposed(rows)
        else:
            listed = [f"x{i}" for i in range(rows.shape[1])] if names is None else list(names)
            chosen = [Feature(str(name)) for name in listed]
        if unseen == "missing":
            chosen = [
                replace(f, missing=f.missing or NOT_STATED) if f.kind == "category" else f
                for f in chosen
            ]
        first = cls(FeatureSchema(tuple(chosen)), unseen, "refuse" if schema is None else "ignore")
        with warnings.catch_warnings():  # given when the rows are read to learn
            warnings.simplefilter("ignore", errors.LikewiseWarning)
            people = first._read(rows)
        columns = {f.name: (f, people.column(f.name)) for f in chosen}
        gaps = [
            name for name, (f, x) in columns.items()
            if np.isnan(x).any() or (f.missing is not None and f.kind != "category")
        ]  # fmt: skip
        typical = {n: _typical(f, x) for n, (f, x) in columns.items() if f.kind != "category"}
        return replace(first, typical=typical, gaps=tuple(gaps))

    @cached_property
    def levels(self) -> list[tuple[str, int, str]]:
        """Every level of a category: the feature, the level's place, and its name."""
        categories = [f for f in self.schema.features if f.kind == "category"]
        return [(f.name, place, level) for f in categories for place, level in enumerate(f.levels)]

    @cached_property
    def encoded(self) -> FeatureSchema:
        """The schema with flags for levels, and with medians and flags for what is missing."""
        added = [Feature(f"{n}={level}", "flag", visible=False) for n, _, level in self.levels]
        for name in self.gaps:
            if name in self.typical:
                median = self.typical[name]
                added.append(Feature(f"{name}, {median:g} if missing", visible=False))
            added.append(Feature(f"{name} is missing", "flag", visible=False))
        return FeatureSchema((*self.schema.features, *added))

    def people(self, rows: Any) -> People:
        """The rows as people, with flags for levels and medians for missing values added."""
        people = self._read(rows)
        added = [people.column(name) == place for name, place, _ in self.levels]
        for name in self.gaps:
            column = people.column(name)
            if name in self.typical:
                added.append(np.where(np.isnan(column), self.typical[name], column))
            added.append(np.isnan(column))
        x = np.column_stack([people.x, *added]) if added else people.x
        return People(people.ids, x, self.encoded, people.origin)

    def _read(self, rows: Any) -> People:
        """The rows as people of the schema, by the rule for what is unseen."""
        if not _is_named_frame(rows) or (frame := as_frame(rows)) is None:
            return self.schema.people(rows)
        check_frame(frame)
        columns = frame_columns(frame, self.schema.features, self.others, None)
        if self.unseen == "missing":
            columns = list(map(self._without_unseen, self.schema.features, columns))
        try:
            return self.schema.from_columns(
                columns, checked_ids(len(frame), None), origin_of(frame)
            )
        except errors.PeopleError as error:
            if self.unseen == "missing":
                raise
            raise errors.PeopleError(f"{error} Or let unseen='missing'.") from error

    def _without_unseen(self, feature: Feature, column: Any) -> Any:
        """The column with what the first rows did not have replaced, and said."""
        name, median = feature.name, self.typical.get(feature.name)
        gaps = 0 if name in self.gaps else int(sum(map(is_missing, column)))
        if feature.kind == "category":
            # Text, or an integer that reads so, which is no level.
            new = [id_text(value) not in (None, *feature.levels) for value in column]
            if unseen := [value for value, is_new in zip(column, new, strict=True) if is_new]:
                texts = ", ".join(map(repr, sorted({str(value) for value in unseen})[:5]))
                number = f"{len(unseen):,} unseen by fit"
                errors.warn(
                    f"Column {name!r}: {number} ({texts}), counted as missing.", errors.UnseenValues
                )
            column = [None if is_new else v for v, is_new in zip(column, new, strict=True)]
        elif feature.missing is not None or median is None:
            return column
        if not gaps:
            return column
        read = "of no level" if median is None else f"replaced by the median, {median:g}"
        errors.warn(
            f"Column {name!r}: {gaps:,} missing where fit saw none, {read}.", errors.UnseenValues
        )
        return [median if is_missing(value) else value for value in column]


def _proposed(rows: Any) -> list[Feature]:
    """Features of a frame that fit later rows, too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.SchemaAdvice)  # the caller chose the columns
        proposed = FeatureSchema.from_frame(rows)
    frame: Any = as_frame(rows)
    lacking = [name for name in frame.columns if name not in proposed.names]
    empty = [name for name in lacking if all(map(is_missing, frame[name].to_list()))]
    if lacking := [name for name in lacking if name not in empty]:
        start = f"Column {lacking[0]!r} "
        reasons = [str(w.message) for w in caught if str(w.message).startswith(start)]
        raise errors.PeopleError(
            f"Column {lacking[0]!r} can be no feature. {' '.join(reasons)} Here, leave it out, or "
            f"name the features with a schema."
        )
    features = [Feature(name, missing=NOT_STATED) for name in empty]
    features += [
        feature
        if feature.kind == "category" or only_flags(frame[feature.name])
        # Without bounds; and integers that are 0 and 1 may be the first of many.
        else Feature(feature.name, missing=feature.missing)
        for feature in proposed.features
    ]
    return sorted(features, key=lambda feature: frame.columns.index(feature.name))


def _typical(feature: Feature, column: npt.NDArray[np.float64]) -> float:
    """The median of what is not missing; of a flag the value that most people have."""
    present = column[~np.isnan(column)]
    if not len(present):
        return 0.0
    return float(
        np.median(present) if feature.kind == "number" else np.sort(present)[len(present) // 2]
    )


def _ids(people: People, pair: Any) -> Iterable[str]:
    for row in pair:
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise errors.EventRefused(
                f"A report is a pair of rows of the round, such as (0, 3); got {pair!r}."
            )
        if not 0 <= row < len(people):
            raise errors.EventRefused(
                f"The round has {len(people)} rows; a report names row {row}."
            )
        yield people.ids[int(row)]
