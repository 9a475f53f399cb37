"""The scikit-learn face: an estimator that learns in rounds, and hears of reported pairs.

``predict_proba`` is π(x), the chance of the favourable label under the policy of the moment;
``predict`` is one draw h ~ π, the same for everybody and for every call until something new is
learnt. Both are functions of the seed and of what was learnt, on every machine.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from likewise.errors import EventRefused, ParameterError, PeopleError, SchemaAdvice, missing
from likewise.hypotheses.base import HypothesisClass
from likewise.hypotheses.trees import Stumps
from likewise.learner.fold import current_scores, upcoming
from likewise.learner.rounds import deploy, learn
from likewise.learner.schedules import SelfTuned
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.learner.state_files import dump_state, parse_state
from likewise.numerics.fixed_point import ONE
from likewise.panel.panels import Panel
from likewise.people.features import Feature, is_table
from likewise.people.schema import FeatureSchema, People
from likewise.validation import integer

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise missing("The estimator", "scikit-learn", "models", error) from error


class LikewiseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # untyped there
    """Learn decisions under a panel's reports, with the conventions of scikit-learn.

    Rows are met in their order, ``k`` at a time: a round each. In :meth:`fit` a ``panel`` of
    metric auditors may look at every round; reports of people come with :meth:`partial_fit`.

    Parameters
    ----------
    hypotheses: a function from the schema and the people of the first call to a hypothesis class;
        by default stumps with ``cuts`` cuts a column, texts of categories being flags. Where a
        frame has missing values, the median of the first rows stands in, and a flag says so.
    panel: a panel of metric auditors on the columns, or None.
    alpha, eps: the size of a violation; the learner competes with policies fair at alpha − eps.
    eta: the weight of the error against reports.
    k: the most people in a round.
    cuts: cuts a column.
    seed: of everything random.

    >>> x = np.arange(100.0)[:, None]
    >>> model = LikewiseClassifier(k=10).fit(x, x[:, 0] >= 50)
    >>> low, high = model.predict_proba([[10.0], [90.0]])[:, 1]
    >>> bool(low < 0.5 < high), model.classes_.tolist()
    (True, [False, True])
    """

    def __init__(
        self,
        hypotheses: Callable[[FeatureSchema, People], HypothesisClass] | None = None,
        panel: Panel | None = None,
        alpha: float = 0.3,
        eps: float | None = None,
        eta: float = 0.25,
        k: int = 16,
        cuts: int = 16,
        seed: int = 0,
    ) -> None:
        self.hypotheses = hypotheses
        self.panel = panel
        self.alpha = alpha
        self.eps = eps
        self.eta = eta
        self.k = k
        self.cuts = cuts
        self.seed = seed

    state_: State
    schema_: FeatureSchema
    encoded_schema_: FeatureSchema
    classes_: npt.NDArray[Any]

    def __getstate__(self) -> Any:
        """The learner's state as the bytes of a state file."""
        state = dict(super().__getstate__())
        if "state_" in state:
            state["state_"] = dump_state(state["state_"])
        return state

    def __setstate__(self, state: Any) -> None:
        """Read the learner's state back."""
        if isinstance(state.get("state_"), bytes):
            state = {**state, "state_": parse_state(state["state_"], "a pickled estimator")}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        """Two labels; and no promise to be accurate, which the panel may not allow."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, and learn from rows in their order, k a round."""
        for name in ("state_", "schema_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
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
        labels = self._labels(y, len(rows), classes, first=first)
        if first:
            self._start(rows)
        people = self._people(rows)
        k = integer("k", self.k, 1, None, "It is the most people in a round.")
        if reports is not None and len(people) > k:
            rule = f"must be about one round, of at most k = {k} rows"
            remedy = "Give a round at a time, or a larger k."
            raise ParameterError("reports", rule, f"{len(people)} rows", remedy)
        state = self.state_
        for start in range(0, len(people), k):
            places = np.arange(start, min(start + k, len(people)))
            batch = people.take(places)
            state, deployed = deploy(state, batch)
            report: Any = None
            if reports is not None:
                report = [tuple(_ids(batch, pair)) for pair in reports]
            elif self.panel is not None:
                sensitivity = state.learner.sensitivity
                report = self.panel.audit(batch, deployed.scores, sensitivity).pairs
            state = learn(state, deployed, labels=labels[places].tolist(), report=report)
        self.state_ = state  # only now: a round that was refused leaves everything as it was
        return self

    def _rows(self, X: Any, *, first: bool) -> Any:
        """The frame, or an array of numbers, with the names and the number of its columns noted."""
        if _is_named_frame(X):
            validate_data(self, X, reset=first, skip_check_array=True)
            if len(X) == 0:
                raise PeopleError("Found array with 0 sample(s); a minimum of 1 is required.")
            return X
        return validate_data(self, X, reset=first, dtype=np.float64, ensure_all_finite=True)

    def _labels(self, y: Any, count: int, classes: Any, *, first: bool) -> Any:
        if y is None:
            raise PeopleError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if len(labels) != count:
            raise PeopleError(
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
                raise PeopleError(
                    f"y must have two classes; got {len(values)} class(es): {more}. In "
                    f"partial_fit, name both: classes=[0, 1]."
                )
            self.classes_ = values
        if not np.isin(labels, self.classes_).all():
            raise PeopleError(
                f"y must be one of the classes {self.classes_.tolist()}; something else is in it."
            )
        return (labels == self.classes_[1]).astype(np.int64)

    def _start(self, rows: Any) -> None:
        """Set the schema of the first rows, the class, and a learner that knows nothing."""
        self.schema_ = self._schema(rows)
        self._flags = tuple(
            (f.name, level)
            for f in self.schema_.features
            if f.kind == "category"
            for level in f.levels
        )
        self._filled = _medians(self.schema_, self.schema_.people(rows))
        added = [Feature(f"{n}={v}", "flag", visible=False) for n, v in self._flags]
        for name, median in self._filled:
            if median is not None:
                added.append(Feature(f"{name}, {median:g} if missing", visible=False))
            added.append(Feature(f"{name} is missing", "flag", visible=False))
        self.encoded_schema_ = FeatureSchema((*self.schema_.features, *added))
        people = self._people(rows)
        build = self._stumps if self.hypotheses is None else self.hypotheses
        eps = self.alpha if self.eps is None else self.eps
        learner = Learner(
            build(self.encoded_schema_, people), k=self.k, alpha=self.alpha, eps=eps,
            seed=self.seed, schedule=SelfTuned(eta=self.eta),
        )  # fmt: skip
        self.state_ = State.start(learner)

    def _schema(self, rows: Any) -> FeatureSchema:
        """The columns of the first rows; without bounds, since later rows may be beyond them."""
        if not _is_named_frame(rows):
            names = getattr(self, "feature_names_in_", None)
            listed = [f"x{i}" for i in range(rows.shape[1])] if names is None else list(names)
            return FeatureSchema(tuple(Feature(str(name)) for name in listed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaAdvice)  # the caller chose the columns
            proposed = FeatureSchema.from_frame(rows)
        if lacking := [name for name in rows.columns if name not in proposed.names]:
            raise PeopleError(
                f"Column {lacking[0]!r} can be no feature: it holds dates, identities, or more "
                f"texts than a category may have. Leave it out."
            )
        return FeatureSchema(
            tuple(replace(f, low=-math.inf, high=math.inf) for f in proposed.features)
        )

    def _people(self, rows: Any) -> People:
        """The rows as people, with flags for levels and medians for missing values added."""
        people = self.schema_.people(rows)
        added = [
            people.column(name) == self.schema_[name].levels.index(level)
            for name, level in self._flags
        ]
        for name, median in self._filled:
            column = people.column(name)
            if median is not None:
                added.append(np.where(np.isnan(column), median, column))
            added.append(np.isnan(column))
        x = np.column_stack([people.x, *added]) if added else people.x
        return People(people.ids, x, self.encoded_schema_, people.origin)

    def _stumps(self, schema: FeatureSchema, people: People) -> HypothesisClass:
        """Stumps at quantiles of the first rows, on every level, and on what is missing."""
        cuts: dict[str, list[float]] = {}
        for feature in schema.features:
            if feature.kind == "category" or feature.missing is not None:
                continue
            values = np.sort(people.column(feature.name))
            parts = integer("cuts", self.cuts, 1, 4000, "It is a number of cuts a column.") + 1
            chosen = np.unique(values[[len(values) * i // parts for i in range(1, parts)]])
            levels = chosen[chosen > values[0]].tolist()
            if levels or len(np.unique(values)) > 1:
                cuts[feature.name] = levels or [float(values[-1])]
        if not cuts:
            name = next((f.name for f in schema.features if f.kind == "number"), None)
            if name is None:
                raise PeopleError("Every column has one value only; nothing can be learnt.")
            cuts[name] = [float(people.column(name)[0])]
        return Stumps(schema, cuts)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """1 − π(x) and π(x), the chances of both classes under the policy of the moment."""
        check_is_fitted(self, "state_")
        people = self._people(self._rows(X, first=False))
        chances = current_scores(self.state_, people) / ONE
        return np.column_stack([1 - chances, chances])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The decisions of one draw h ~ π, a function of the seed and of the rounds seen."""
        check_is_fitted(self, "state_")
        people = self._people(self._rows(X, first=False))
        learner = self.state_.learner
        points = learner.hypotheses.locate(people)
        decided = learner.primal.decide(learner.hypotheses, upcoming(self.state_), points, 0)
        return np.asarray(self.classes_[np.asarray(decided, dtype=np.int64)])


def _is_named_frame(rows: Any) -> bool:
    """Test for a frame with named columns; one with numbered columns is read as an array."""
    return is_table(rows) and all(isinstance(name, str) for name in getattr(rows, "columns", (0,)))


def _medians(schema: FeatureSchema, people: People) -> tuple[tuple[str, float | None], ...]:
    """Surrogates of missing values, by feature: the median; None for levels.

    >>> schema = FeatureSchema((Feature("years", missing="not stated"), Feature("age")))
    >>> _medians(schema, schema.people([[1, 30], [None, 31], [5, 32]]))
    (('years', 3.0),)
    """
    medians: list[tuple[str, float | None]] = []
    for feature in schema.features:
        if feature.missing is None:
            continue
        column = people.column(feature.name)
        present = column[~np.isnan(column)]
        median = float(np.median(present)) if len(present) else 0.0
        medians.append((feature.name, None if feature.kind == "category" else median))
    return tuple(medians)


def _ids(people: People, pair: Any) -> Iterable[str]:
    for row in pair:
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise EventRefused(
                f"A report is a pair of rows of the round, such as (0, 3); got {pair!r}."
            )
        if not 0 <= row < len(people):
            raise EventRefused(f"The round has {len(people)} rows; a report names row {row}.")
        yield people.ids[int(row)]
