"""A hypothesis class on trial: points, costs, oracle, engines, words and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from likewise.fixed_point import IntArray, read_only
from likewise.hypotheses import (
    Bits,
    HypothesisClass,
    Points,
    class_from_spec,
    class_to_spec,
)
from likewise.randomness import Noise, Purpose, Stream
from likewise.schema import People
from likewise.testing.people import called, generator, require, same_as_json

__all__ = ["ClassTrial"]

# Classes up to this size are enumerated, and compared with what brute force finds.
SMALL = 1 << 13


@dataclass(frozen=True, eq=False)
class ClassTrial:
    """One class on trial, with people, and costs on the points of some of them."""

    hypotheses: HypothesisClass
    people: People
    seed: int

    def require(self, holds: object, sentence: str) -> None:
        """Accuse the class in a sentence, unless something holds."""
        require(holds, self.hypotheses, sentence)

    def locate(self, people: People) -> Points:
        """The points of some people."""
        return called(self.hypotheses, "locate", self.hypotheses.locate, people)

    @property
    def small(self) -> bool:
        """Tell if all hypotheses can be tried."""
        return self.hypotheses.size <= SMALL

    @cached_property
    def rng(self) -> np.random.Generator:
        """Numbers for the trial."""
        return generator(self.seed)

    @cached_property
    def asked(self) -> Points:
        """The points of all people."""
        return self.locate(self.people)

    @cached_property
    def amounts(self) -> IntArray:
        """Costs on the first points; small integers, so that there are ties."""
        return self.rng.integers(-9, 10, min(7, len(self.people))).astype(np.int64)

    @property
    def charged(self) -> Points:
        """The points that costs are on."""
        return self.asked[: len(self.amounts)]

    @cached_property
    def costs(self) -> IntArray:
        """Costs on these points."""
        nothing = read_only(self.hypotheses.no_costs())
        doing, charge = "charge on costs that are read-only", self.hypotheses.charge
        return read_only(
            called(self.hypotheses, doing, charge, nothing, self.charged, self.amounts)
        )

    @cached_property
    def noise(self) -> IntArray:
        """Noise on the separating set."""
        return self.rng.integers(-5, 6, (6, self.hypotheses.separators)).astype(np.int64)

    @cached_property
    def codes(self) -> IntArray:
        """All hypotheses."""
        return called(self.hypotheses, "codes", self.hypotheses.codes)

    def predictions(self, codes: IntArray, points: Points) -> Bits:
        """Predictions of some hypotheses, checked to be 0 or 1."""
        found = called(self.hypotheses, "predict", self.hypotheses.predict, codes, points)
        fits = found.shape == (len(codes), len(points)) and np.isin(found, (0, 1)).all()
        self.require(fits, f"predict must be 0 or 1, one for each code and point; got {found!r}.")
        return found

    def sizes(self) -> None:
        """Its sizes are counts, and its costs integers."""
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


def _some(people: People, places: list[int]) -> People:
    return People(tuple(people.ids[i] for i in places), people.x[places], people.schema)


def _engine(name: str) -> Any:
    return import_module(f"likewise.oracles.engines.{name}").approvals
