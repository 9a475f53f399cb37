"""Linear classifiers by their intercepts, each from a short list of values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from likewise.errors import MergedHypotheses, ParameterError
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.columns import (
    NUMERIC,
    OverColumns,
    check_columns,
    check_size,
    constant_in_words,
    shortest,
)
from likewise.schema import FeatureSchema
from likewise.validation import flag, reals


class LinearByIntercepts(OverColumns):
    """Approve if Σ_i x_i/a_i ≥ 1, where each a_i is one of V or none; with ``flips`` also if < 1.

    a_i is where the boundary meets axis i, and none is a column that is not used; values of V may
    have either sign. No column at all is the constant 0. |H| = 2·(|V| + 1)^n with flips; without
    them the constant 1 is added and |H| = (|V| + 1)^n + 1.

    Q = the origin, and v on each axis for each v in V: n·|V| + 1 points. *Proof:* at the origin
    the sum is 0, which tells flips (and the constant 1) from the rest. At v on axis i the sum is
    v/a_i, which is at least 1 if and only if a_i has the sign of v and |a_i| ≤ |v|. So the
    predictions on axis i are 1 from a_i on, away from 0, on its side, and 0 if a_i is none: that
    tells a_i. (In floating point too: v/v is 1, and v/a is below 1 for every float a beyond v.) So
    no two hypotheses are the same function. For one column no smaller set exists, as each point is
    the only place where some two differ; nor for |V| = 1, by counting. Elsewhere points off the
    axes may save a little: 6 points do where this set has 7 at n = 2, V = {−1, 1, 2}.

    The class is listed, so |H| is at most 2^17: 16 columns with one intercept, 10 with 2, 5 with
    8. Values of V that are given twice are merged, with a warning
    (:class:`~likewise.errors.MergedHypotheses`). The sum is taken column after column, so that
    it rounds the same way on every machine; scale columns so that V suits them all.

    *Remark "Classes for which small separating sets are known" (discretised linear classifiers).*

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("income"), Feature("debt")))
    >>> linear = LinearByIntercepts(schema, ["income", "debt"], [40, -10])
    >>> linear.size, linear.separators
    (18, 5)
    >>> linear.describe(np.array([5])), linear.describe(np.array([9]))
    ('approve if income/40 − debt/10 ≥ 1', 'approve everybody')
    >>> people = schema.people([{"income": 60, "debt": 5}, {"income": 60, "debt": 6}])
    >>> linear.locate(people)[:, 5].tolist()
    [1, 0]
    """

    kind, parameters = "linear-by-intercepts", ("columns", "intercepts", "flips")

    def __init__(
        self,
        schema: FeatureSchema,
        columns: Sequence[str],
        intercepts: Sequence[float],
        *,
        flips: bool = True,
    ) -> None:
        self.columns = check_columns("LinearByIntercepts", schema, columns, NUMERIC)
        parameter = "LinearByIntercepts.intercepts"
        values = np.array(reals(parameter, intercepts, "List them."), dtype=np.float64)
        if not len(values) or not np.all(np.isfinite(values) & (values != 0)):
            raise ParameterError(
                parameter,
                "must be at least one, finite and not 0",
                values.tolist(),
                "A boundary through the origin has none; shift the column instead.",
            )
        self.intercepts = tuple(np.unique(values).tolist())
        self.flips = flag("LinearByIntercepts.flips", flips, "Say which.")
        n, per_column = len(self.columns), len(self.intercepts) + 1
        self._half = per_column**n
        size = 2 * self._half if flips else self._half + 1
        remedy = "Use fewer columns or intercepts."
        check_size("LinearByIntercepts", size, n * len(self.intercepts) + 1, remedy)
        self._size = size
        axes = np.eye(n)[:, None, :] * np.array(self.intercepts)[:, None]
        super().__init__(schema, np.concatenate([np.zeros((1, n)), axes.reshape(-1, n)]))
        if len(self.intercepts) < len(values):
            doubled = 2 * (len(values) + 1) ** n if flips else (len(values) + 1) ** n + 1
            warnings.warn(
                f"{len(values) - len(self.intercepts)} of {len(values)} intercepts are given twice "
                f"and were merged; {size} of {doubled} hypotheses remain.",
                MergedHypotheses,
                stacklevel=2,
            )

    def evaluate(self, values: FloatArray) -> Bits:
        """Each column multiplies the list: without it, then with it at each intercept."""
        people = len(values)
        sums = np.zeros((people, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(len(self.columns)):
                terms = np.zeros((people, len(self.intercepts) + 1, 1))
                terms[:, 1:, 0] = values[:, i, None] / np.array(self.intercepts)
                sums = (sums[:, None, :] + terms).reshape(people, terms.shape[1] * sums.shape[1])
        bits = np.ones((people, self._size), dtype=np.uint8)
        bits[:, : self._half] = sums >= 1.0
        if self.flips:
            bits[:, self._half :] -= bits[:, : self._half]
        return bits

    def grades(self) -> IntArray:
        """The number of columns in the inequality."""
        place = np.arange(self.size) % self._half
        grades = np.zeros(self.size, dtype=np.int64)
        for _ in self.columns:
            place, digit = np.divmod(place, len(self.intercepts) + 1)
            grades += digit > 0
        return grades

    def describe(self, code: IntArray) -> str:
        """The inequality."""
        flip, place = divmod(int(code[0]), self._half)
        if place == 0:
            return constant_in_words(flip)
        text = ""
        for name in self.columns:
            place, digit = divmod(place, len(self.intercepts) + 1)
            if digit:
                value = self.intercepts[digit - 1]
                plus, minus = (" + ", " − ") if text else ("", "−")
                text += f"{plus if value > 0 else minus}{name}/{shortest(abs(value))}"
        return f"approve if {text} {'<' if flip else '≥'} 1"
