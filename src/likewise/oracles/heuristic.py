"""Any scikit-learn classifier as an oracle: heuristic, for classes that are too large to list.

The guarantees of this library need an oracle that finds the hypothesis of least cost. Fitting a
classifier on signed costs does not: it minimises a surrogate, greedily or up to a tolerance. What
comes out may be good, and how far it is off can be measured where an exact oracle is at hand; but
no bound holds for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.extras import missing
from likewise.fixed_point import FloatArray
from likewise.hypotheses import Bits
from likewise.validation import as_array, integer

try:
    from sklearn.base import clone, is_classifier
    from sklearn.utils.validation import has_fit_parameter
except ImportError as error:
    raise missing("A heuristic oracle", "scikit-learn", "models", error) from error

__all__ = ["Found", "HeuristicOracle"]

RESAMPLED = 4096
"""Rows drawn by weight for classifiers that take no weights."""


@dataclass(frozen=True, eq=False)
class Found:
    """A hypothesis: a fitted classifier, or a constant where that costs less."""

    model: Any
    constant: int | None
    cost: float

    def predict(self, x: npt.ArrayLike) -> Bits:
        """h(x) for every row."""
        rows = np.asarray(x)
        if self.constant is not None:
            return np.full(len(rows), self.constant, dtype=np.uint8)
        return np.asarray(self.model.predict(rows) == 1, dtype=np.uint8)


@dataclass
class HeuristicOracle:
    """argmin_h Σ_j c_j·h(x_j), by fitting 1[c_j < 0] with the weights |c_j|; no guarantee.

    A classifier that takes ``sample_weight`` is given the weights; another is fitted on rows that
    are drawn by weight. The constants are always tried, so that the result is never worse than the
    better of them. When it is made, the oracle tests itself: a classifier that does not respond to
    weights is refused.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> oracle = HeuristicOracle(DecisionTreeClassifier(max_depth=1))
    >>> found = oracle.minimise([[0.0], [1.0], [2.0]], [1.0, -2.0, -0.5])
    >>> found.predict([[0.0], [1.0], [2.0]]).tolist(), found.cost, oracle.exact
    ([0, 1, 1], -2.5, False)
    """

    estimator: Any
    seed: int = 0
    calls: int = field(default=0, compare=False)
    exact = False

    def __post_init__(self) -> None:
        made = hasattr(self.estimator, "fit") and not isinstance(self.estimator, type)
        if not (made and is_classifier(self.estimator)):
            raise ParameterError(
                "HeuristicOracle.estimator", "must be a scikit-learn classifier", self.estimator,
                "Such as DecisionTreeClassifier(max_depth=3).",
            )  # fmt: skip
        self.seed = integer("HeuristicOracle.seed", self.seed, 0, 1 << 32, "Take any.")
        self.weighted = bool(has_fit_parameter(self.estimator, "sample_weight"))
        self._self_test()
        self.calls = 0

    def _self_test(self) -> None:
        """The same rows with weights on either label must be predicted as the heavier one."""
        rows = np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0)
        signs = np.tile([1.0, -1.0], 10)
        for heavy in (1.0, -1.0):
            costs = np.where(signs == heavy, 3.0, 1.0) * signs
            model = self._fitted(rows, costs)
            wanted = 0 if heavy > 0 else 1
            if (model.predict(rows) != wanted).any():
                raise HypothesisError(
                    f"{type(self.estimator).__name__} does not respond to weights: with most of "
                    f"the weight on the label {wanted} it predicts the other one. Costs would not "
                    f"be heard; take another classifier."
                )

    def _fitted(self, rows: npt.NDArray[Any], costs: FloatArray) -> Any:
        labels, weights = (costs < 0).astype(np.int64), np.abs(costs)
        model = clone(self.estimator)
        try:
            if self.weighted:
                return model.fit(rows, labels, sample_weight=weights)
            rng = np.random.Generator(np.random.Philox(self.seed))
            drawn = rng.choice(len(rows), RESAMPLED, p=weights / weights.sum())
            return model.fit(rows[drawn], labels[drawn])
        except Exception as error:  # whatever a classifier of somebody else's does
            raise HypothesisError(
                f"{type(self.estimator).__name__} could not be fitted ({type(error).__name__}: "
                f"{error})."
            ) from error

    def minimise(self, x: npt.ArrayLike, costs: npt.ArrayLike) -> Found:
        """A hypothesis of small cost; of least cost only by luck."""
        rows, signed = as_array(x), as_array(costs)
        fits = rows.ndim == 2 and rows.dtype.kind in "biuf" and signed.dtype.kind in "iuf"
        if not fits or signed.shape != (len(rows),) or not np.isfinite(signed).all():
            raise ParameterError(
                "HeuristicOracle.minimise", "must be given rows of numbers and a cost for each",
                f"shapes {rows.shape} and {signed.shape}", "Costs may be of either sign.",
            )  # fmt: skip
        self.calls += 1
        signed = signed.astype(np.float64)
        everybody = float(signed.sum())
        best = Found(None, 1, everybody) if everybody < 0 else Found(None, 0, 0.0)
        kept = signed != 0
        if kept.any() and (signed[kept] < 0).any() and (signed[kept] > 0).any():
            model = self._fitted(rows[kept], signed[kept])
            cost = float(signed @ (model.predict(rows) == 1))
            if cost < best.cost:
                best = Found(model, None, cost)
        return best

    def candidates(self, x: npt.ArrayLike, labels: npt.ArrayLike, count: int = 64) -> list[Found]:
        """Hypotheses for a pool, so that a learner can choose among what this oracle can find.

        Each is what the oracle finds for the labels' costs 1 − 2y under more Laplace noise than the
        one before, from none to four times a label's weight; those that predict the same on ``x``
        come once, and the constants, which every pool has, not at all. What a learner on such a
        pool is promised is promised against the best mixture of the pool, and of nothing else.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> oracle = HeuristicOracle(DecisionTreeClassifier(max_depth=1))
        >>> x = np.arange(10.0)[:, None]
        >>> found = oracle.candidates(x, x[:, 0] >= 5, count=20)
        >>> found[0].predict(x).tolist(), 1 < len(found) <= 20
        ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], True)
        """
        rows, signs = as_array(x), as_array(labels)
        count = integer("HeuristicOracle.candidates.count", count, 1, 10_000, "Try 64.")
        if signs.shape != (len(rows),) or not np.isin(signs, (0, 1)).all():
            raise ParameterError(
                "HeuristicOracle.candidates.labels", "must be a 0 or 1 for every row",
                f"shape {signs.shape}", "Give the labels of the rows, in their order.",
            )  # fmt: skip
        rng = np.random.Generator(np.random.Philox(self.seed))
        distinct: dict[bytes, Found] = {}
        for scale in np.linspace(0.0, 4.0, count):
            found = self.minimise(rows, 1.0 - 2.0 * signs + scale * rng.laplace(size=len(rows)))
            if found.constant is None:
                distinct.setdefault(found.predict(rows).tobytes(), found)
        return list(distinct.values())
