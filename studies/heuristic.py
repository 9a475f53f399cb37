"""Any scikit-learn classifier as an oracle: heuristic, for classes that are too large to list.

The guarantees of this library need an oracle that finds the hypothesis of least cost. Fitting a
classifier on signed costs does not: it minimises a surrogate. The result may be good, but no bound
holds for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses.base import Bits
from likewise.numerics.fixed_point import FloatArray
from likewise.validation import as_array, integer

# Rows drawn by weight for classifiers that take no weights.
RESAMPLED = 4096


@dataclass(frozen=True, eq=False)
class FittedHypothesis:
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

    A classifier that takes ``sample_weight`` gets the weights; another is fitted on rows that are
    drawn by weight. The constants are always tried, so that the result is never worse than the
    better of them. The constructor tests the classifier, and refuses one that ignores weights.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> oracle = HeuristicOracle(DecisionTreeClassifier(max_depth=1))
    >>> stump = oracle.minimise([[0.0], [1.0], [2.0]], [1.0, -2.0, -0.5])
    >>> stump.predict([[0.0], [1.0], [2.0]]).tolist(), stump.cost, oracle.exact
    ([0, 1, 1], -2.5, False)
    """

    estimator: Any
    seed: int = 0
    calls: int = field(default=0, compare=False)
    exact = False

    def __post_init__(self) -> None:
        is_instance = hasattr(self.estimator, "fit") and not isinstance(self.estimator, type)
        if not (is_instance and is_classifier(self.estimator)):
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
            label = 0 if heavy > 0 else 1
            if (model.predict(rows) != label).any():
                raise HypothesisError(
                    f"{type(self.estimator).__name__} does not respond to weights: with most of "
                    f"the weight on the label {label} it predicts the other one. It would ignore "
                    f"costs; take another classifier."
                )

    def _fitted(self, rows: npt.NDArray[Any], costs: FloatArray) -> Any:
        labels, weights = (costs < 0).astype(np.int64), np.abs(costs)
        model = clone(self.estimator)
        try:
            if self.weighted:
                return model.fit(rows, labels, sample_weight=weights)
            rng = np.random.Generator(np.random.Philox(self.seed))
            sample = rng.choice(len(rows), RESAMPLED, p=weights / weights.sum())
            return model.fit(rows[sample], labels[sample])
        except Exception as error:  # a user's classifier may raise anything
            raise HypothesisError(
                f"{type(self.estimator).__name__} could not be fitted ({type(error).__name__}: "
                f"{error})."
            ) from error

    def minimise(self, x: npt.ArrayLike, costs: npt.ArrayLike) -> FittedHypothesis:
        """A hypothesis of small cost, not always the least."""
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
        best = FittedHypothesis(None, int(everybody < 0), min(everybody, 0.0))
        nonzero = signed != 0
        if (signed < 0).any() and (signed > 0).any():
            model = self._fitted(rows[nonzero], signed[nonzero])
            cost = float(signed @ (model.predict(rows) == 1))
            if cost < best.cost:
                best = FittedHypothesis(model, None, cost)
        return best

    def candidates(
        self, x: npt.ArrayLike, labels: npt.ArrayLike, count: int = 64
    ) -> list[FittedHypothesis]:
        """Hypotheses for a pool, among which a learner can choose.

        Each minimises the labels' costs 1 − 2y under more Laplace noise than the one before, from
        none to four times a label's weight. Those that predict the same on ``x`` are listed once,
        and the constants, which every pool has, not at all. The guarantees of a learner on such a
        pool are against the best mixture of the pool only.

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> oracle = HeuristicOracle(DecisionTreeClassifier(max_depth=1))
        >>> x = np.arange(10.0)[:, None]
        >>> candidates = oracle.candidates(x, x[:, 0] >= 5, count=20)
        >>> candidates[0].predict(x).tolist(), 1 < len(candidates) <= 20
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
        distinct: dict[bytes, FittedHypothesis] = {}
        for scale in np.linspace(0.0, 4.0, count):
            candidate = self.minimise(rows, 1.0 - 2.0 * signs + scale * rng.laplace(size=len(rows)))
            if candidate.constant is None:
                distinct.setdefault(candidate.predict(rows).tobytes(), candidate)
        return list(distinct.values())
