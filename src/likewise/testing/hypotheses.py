"""The contract of a hypothesis class; brute force over all hypotheses is the referee."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.fixed_point import IntArray, read_only
from likewise.hypotheses import (
    Bits,
    ExactWeights,
    HypothesisClass,
    Points,
    class_from_spec,
    class_to_spec,
)
from likewise.randomness import Noise, Purpose, Stream
from likewise.schema import FeatureSchema, People
from likewise.testing.people import called, generator, people_of, require, same_as_json, trial

__all__ = ["check_hypotheses"]

# Classes up to this size are enumerated, and compared with what brute force finds.
SMALL = 1 << 13
DRAWS = 400
TEMPERATURE = 6.5


def check_hypotheses(
    hypotheses: HypothesisClass, people: People | None = None, *, seed: int = 1
) -> None:
    """Check a hypothesis class: points, costs, oracle, engines, weights, words and JSON.

    Without ``people``, some are made up from the schema. Up to 2^13 hypotheses, all of them are
    listed and tried; of larger classes the oracle is only held against the hypotheses that it finds
    itself. Draws are compared with chances at five standard deviations, and decisions on several
    people with those of all hypotheses by a chi-square test: a correct class is accused with a
    probability of less than 1e-6 a point.
    """
    require(isinstance(hypotheses, HypothesisClass), hypotheses, "it is no HypothesisClass.")
    require(
        isinstance(getattr(hypotheses, "schema", None), FeatureSchema), hypotheses,
        "it must have a schema, a FeatureSchema.",
    )  # fmt: skip
    given = people_of(hypotheses.schema, 40, seed) if people is None else people
    with trial(hypotheses):
        on_trial = _Trial(hypotheses, given, seed)
        on_trial.sizes()
        on_trial.points()
        on_trial.charging()
        on_trial.oracle()
        on_trial.constant()
        if on_trial.small:
            on_trial.all_different()
        on_trial.engines()
        on_trial.json()
        if isinstance(hypotheses, ExactWeights):
            on_trial.weights(hypotheses)
            on_trial.draws(hypotheses)


@dataclass(frozen=True, eq=False)
class _Trial:
    """One class on trial, with people, and costs on the points of some of them."""

    hypotheses: HypothesisClass
    people: People
    seed: int

    def require(self, holds: object, sentence: str) -> None:
        require(holds, self.hypotheses, sentence)

    def locate(self, people: People) -> Points:
        return called(self.hypotheses, "locate", self.hypotheses.locate, people)

    @property
    def small(self) -> bool:
        return self.hypotheses.size <= SMALL

    @cached_property
    def rng(self) -> np.random.Generator:
        return generator(self.seed)

    @cached_property
    def asked(self) -> Points:
        return self.locate(self.people)

    @cached_property
    def amounts(self) -> IntArray:
        """Costs on the first points; small integers, so that there are ties."""
        return self.rng.integers(-9, 10, min(7, len(self.people))).astype(np.int64)

    @property
    def charged(self) -> Points:
        return self.asked[: len(self.amounts)]

    @cached_property
    def costs(self) -> IntArray:
        nothing = read_only(self.hypotheses.no_costs())
        doing, charge = "charge on costs that are read-only", self.hypotheses.charge
        return read_only(
            called(self.hypotheses, doing, charge, nothing, self.charged, self.amounts)
        )

    @cached_property
    def noise(self) -> IntArray:
        return self.rng.integers(-5, 6, (6, self.hypotheses.separators)).astype(np.int64)

    @cached_property
    def codes(self) -> IntArray:
        return called(self.hypotheses, "codes", self.hypotheses.codes)

    def predictions(self, codes: IntArray, points: Points) -> Bits:
        found = called(self.hypotheses, "predict", self.hypotheses.predict, codes, points)
        fits = found.shape == (len(codes), len(points)) and np.isin(found, (0, 1)).all()
        self.require(fits, f"predict must be 0 or 1, one for each code and point; got {found!r}.")
        return found

    def sizes(self) -> None:
        h = self.hypotheses
        self.require(isinstance(h.size, int) and h.size > 0, f"size must be a count; got {h.size}.")
        listed = len(self.codes) if self.small else h.size
        self.require(listed == h.size, f"size is {h.size}, but codes are {listed}.")
        self.require(
            len(h.separating_points()) == h.separators,
            f"separators is {h.separators}, but there are {len(h.separating_points())} points.",
        )
        nothing = h.no_costs()
        right = nothing.dtype == np.int64 and nothing.ndim == 1 and not nothing.any()
        self.require(right, "no_costs must be zeros, a flat array of int64.")

    def points(self) -> None:
        """Points do not depend on who else is asked about."""
        self.require(len(self.asked) == len(self.people), "locate must have a row a person.")
        alone = [self.locate(_some(self.people, [i])) for i in range(min(5, len(self.people)))]
        for i, point in enumerate(alone):
            same = np.array_equal(point[0], self.asked[i])
            self.require(same, f"locate puts person {i} elsewhere when asked alone.")

    def charging(self) -> None:
        """Costs add up in any order, and can be taken back; old costs stay as they were."""
        h, points = self.hypotheses, self.charged
        one_by_one = h.no_costs()
        for i in self.rng.permutation(len(points)):
            one_by_one = h.charge(one_by_one, points[i : i + 1], self.amounts[i : i + 1])
        together = np.array_equal(one_by_one, self.costs)
        self.require(together, "charging one by one is not charging at once.")
        self.require(not h.no_costs().any(), "charge changed the costs that it was given.")
        back = h.charge(self.costs, points, -self.amounts)
        self.require(not back.any(), "charging the opposite does not take costs back.")
        codes = self.codes if self.small else h.minimise(self.costs, self.noise)
        by_hand = self.predictions(codes, points).astype(np.int64) @ self.amounts
        found = called(h, "totals", h.totals, self.costs, codes)
        self.require(np.array_equal(found, by_hand), "totals are not what was charged.")

    def oracle(self) -> None:
        """minimise must be an argmin, with ties towards the smallest code.

        With costs and noise of one size; and without costs, on noise of −1, 0 and 1, where nearly
        everything is a tie.
        """
        tiny = self.rng.integers(-1, 2, (12, self.hypotheses.separators)).astype(np.int64)
        self._argmin(self.costs, self.amounts, self.noise)
        self._argmin(self.hypotheses.no_costs(), 0 * self.amounts, tiny)

    def _argmin(self, costs: IntArray, amounts: IntArray, noise: IntArray) -> None:
        h = self.hypotheses
        found = called(h, "minimise", h.minimise, costs, noise)
        self.require(len(found) == len(noise), "minimise must find a code a row of noise.")
        codes = self.codes if self.small else found
        on_points = self.predictions(codes, self.charged).astype(np.int64) @ amounts
        on_set = self.predictions(codes, h.separating_points()).astype(np.int64)
        of_found = self.predictions(found, self.charged).astype(np.int64) @ amounts
        found_on_set = self.predictions(found, h.separating_points()).astype(np.int64)
        for place, (row, code) in enumerate(zip(noise, found, strict=True)):
            totals = on_points + on_set @ row
            mine, least = int(of_found[place] + found_on_set[place] @ row), int(totals.min())
            self.require(
                mine == least,
                f"minimise finds a hypothesis of cost {mine} where there is one of {least}.",
            )
            if self.small:
                first = codes[int(np.argmin(totals))]
                tie = "minimise must break ties towards the smallest code"
                self.require(np.array_equal(first, code), f"{tie}, {first}; got {code}.")

    def constant(self) -> None:
        """A constant must be inside, or there may be no fair policy at all."""
        h = self.hypotheses
        everywhere = np.full((1, h.separators), 1 << 20, dtype=np.int64)
        nobody = h.minimise(h.no_costs(), everywhere)
        everybody = h.minimise(h.no_costs(), -everywhere)
        same = (not self.predictions(nobody, self.asked).any()) or (
            self.predictions(everybody, self.asked).all()
        )
        self.require(same, "there must be a constant inside; none of its hypotheses is one.")

    def engines(self) -> None:
        """Every engine makes the same draws, in batches or one by one."""
        noise = Noise(Stream(self.seed, Purpose.ELICIT, 3), 1e-5)
        made = {
            name: _engine(name)(self.hypotheses, self.costs, noise, self.asked, range(10, 40))
            for name in ("reference", *(("compiled",) if find_spec("numba") else ()))
        }
        for name, draws in made.items():
            same = np.array_equal(draws, made["reference"])
            self.require(same, f"the {name} engine makes other draws than the reference.")
        single = _engine("reference")(self.hypotheses, self.costs, noise, self.asked, range(17, 18))
        same = np.array_equal(single[0], made["reference"][7])
        self.require(same, "a draw depends on the others of its batch.")

    def json(self) -> None:
        """The class that is read back from its JSON is the same."""
        again = same_as_json(self.hypotheses, class_to_spec, class_from_spec)
        mine = (self.hypotheses.size, self.hypotheses.separators, self.hypotheses.schema.digest)
        theirs = (again.size, again.separators, again.schema.digest)
        self.require(mine == theirs, f"read back from its JSON, {mine} became {theirs}.")
        located = np.array_equal(again.locate(self.people), self.asked)
        self.require(located, "read back from its JSON, it puts people elsewhere.")
        found = np.array_equal(
            again.minimise(self.costs, self.noise), self.hypotheses.minimise(self.costs, self.noise)
        )
        self.require(found, "read back from its JSON, it finds other hypotheses.")

    def all_different(self) -> None:
        """All hypotheses are listed, told apart by the separating set and by their words."""
        h = self.hypotheses
        ordered = [tuple(code) for code in self.codes.tolist()]
        self.require(ordered == sorted(set(ordered)), "codes must be in order, none of them twice.")
        on_set = self.predictions(self.codes, h.separating_points())
        apart = len({row.tobytes() for row in on_set})
        self.require(
            apart == h.size,
            f"the separating set tells {apart} of {h.size} hypotheses apart; it must tell all.",
        )
        said = [called(h, "describe", h.describe, code) for code in self.codes]
        self.require(all(isinstance(text, str) for text in said), "describe must be text.")
        self.require(len(set(said)) == h.size, "describe must say different hypotheses apart.")

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


def _some(people: People, places: list[int]) -> People:
    return People(tuple(people.ids[i] for i in places), people.x[places], people.schema)


def _engine(name: str) -> Any:
    return import_module(f"likewise.oracles.engines.{name}").approvals
