"""Exponential weights of a class on trial: prior, chances, draws; enumeration is the referee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.hypotheses import (
    ExactWeights,
)
from likewise.randomness import Purpose, Stream
from likewise.testing.class_trial import ClassTrial
from likewise.testing.people import called

__all__ = ["WeighingTrial"]

DRAWS = 400
TEMPERATURE = 6.5


@dataclass(frozen=True, eq=False)
class WeighingTrial(ClassTrial):
    """The same, with the weights that it has over its hypotheses."""

    def priors(self, exact: ExactWeights) -> None:
        """The prior is one: positive, adding up to 1, and no smaller than the class says."""
        inverse = called(
            self.hypotheses, "log_inverse_priors", exact.log_inverse_priors, self.codes
        )
        fits = inverse.shape == (self.hypotheses.size,) and np.isfinite(inverse).all()
        self.require(fits, "log_inverse_priors must be a finite number for each code.")
        self.require((inverse > -1e-9).all(), "no hypothesis can have a prior above 1.")
        total = float(np.exp(-inverse).sum())
        self.require(abs(total - 1) < 1e-9, f"the priors of all hypotheses add up to {total}.")
        most, said = float(inverse.max()), exact.log_inverse_prior
        self.require(
            most <= said + 1e-9,
            f"log_inverse_prior is {said:.9g}, and a hypothesis has {most:.9g}.",
        )

    def weights(self, exact: ExactWeights) -> None:
        """Chances of approval are those of prior(h)·exp(−cost(h)/temperature), over all h."""
        policy = called(self.hypotheses, "weigh", exact.weigh, self.costs, TEMPERATURE)
        found = called(self.hypotheses, "approval", policy.approval, self.asked)
        fractions = all(0 <= w <= total and total > 0 for w, total in found)
        self.require(fractions, "approval must be fractions of a weight that is not 0.")
        if not self.small:
            return
        self.priors(exact)
        expected = self.chances(exact) @ self.predictions(self.codes, self.asked)
        off = np.abs(np.array([w / total for w, total in found]) - expected).max(initial=0.0)
        bound = 1e-11 + exact.cut
        self.require(
            off <= bound,
            f"approval is off by {off:.3g} from enumerated weights, cut is {exact.cut:g}.",
        )

    def chances(self, exact: ExactWeights) -> npt.NDArray[np.float64]:
        """π of every hypothesis, by enumeration."""
        totals = self.predictions(self.codes, self.charged).astype(np.int64) @ self.amounts
        far = (totals - totals.min()) / TEMPERATURE + exact.log_inverse_priors(self.codes)
        weights = np.exp(far.min() - far)
        return np.asarray(weights / weights.sum())

    def draws(self, exact: ExactWeights) -> None:
        """Draws are hypotheses drawn from π, and functions of stream and number."""
        stream = Stream(self.seed, Purpose.DECIDE, 1)
        policy = exact.weigh(self.costs, TEMPERATURE)

        def draw(number: int) -> npt.NDArray[Any]:
            return np.asarray(policy.draw(self.asked, stream, number))

        made = np.array([called(self.hypotheses, "draw", draw, n) for n in range(DRAWS)])
        self.require(np.isin(made, (0, 1)).all(), "draw must be 0 or 1 for every point.")
        again = np.array([draw(number) for number in range(20)])
        self.require(np.array_equal(again, made[:20]), "the same draw must come out the same.")
        alone = np.asarray(policy.draw(self.asked[1:2], stream, 3))
        same = np.array_equal(alone, made[3][1:2])
        self.require(same, "a draw depends on who else is asked about.")
        chances = np.array([w / total for w, total in policy.approval(self.asked)])
        spread = 5.0 * np.sqrt(np.maximum(chances * (1 - chances), 1e-3) / DRAWS)
        off = np.abs(made.mean(axis=0) - chances) - spread
        self.require((off <= 0).all(), "draws do not have the chances that approval says.")
        if self.small:
            self._drawn_together(exact, made)

    def _drawn_together(self, exact: ExactWeights, made: npt.NDArray[Any]) -> None:
        """One h decides on everybody: what is drawn together is as likely as all such h together.

        A chi-square test over the different ways to decide on these people, rare ones put together
        until ten of each are expected; the law of the statistic is bounded by its normal
        approximation (Wilson and Hilferty) at five and a half standard deviations.
        """
        said = self.predictions(self.codes, self.asked)
        expected: dict[bytes, float] = {}
        for row, chance in zip(said, self.chances(exact), strict=True):
            key = row.astype(np.uint8).tobytes()
            expected[key] = expected.get(key, 0.0) + DRAWS * float(chance)
        seen: dict[bytes, int] = {}
        for row in made:
            key = row.astype(np.uint8).tobytes()
            seen[key] = seen.get(key, 0) + 1
        impossible = [key for key in seen if expected.get(key, 0.0) < 1e-9]
        self.require(not impossible, "a draw decides on these people as no likely hypothesis does.")
        groups = [(0.0, 0)]
        for key in sorted(expected, key=lambda key: expected[key]):
            if groups[-1][0] >= 10.0:
                groups.append((0.0, 0))
            mean, count = groups[-1]
            groups[-1] = (mean + expected[key], count + seen.get(key, 0))
        statistic = sum((count - mean) ** 2 / mean for mean, count in groups)
        freedom = len(groups) - 1
        if freedom:
            third = 2.0 / (9.0 * freedom)
            far = ((statistic / freedom) ** (1 / 3) - (1 - third)) / third**0.5
            self.require(far < 5.5, "people are not decided on together as one hypothesis would.")
