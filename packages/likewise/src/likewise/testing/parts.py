"""The contracts of a hypothesis class, a world, a metric and a selection.

Of a class, brute force over all hypotheses is the referee; a world is the same stream for the same
seed and decisions, of people who fit.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses import Bits, ExactWeights, HypothesisClass, Points, class_from_spec
from likewise.learner import Learner
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, read_only
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.panel import Metric, MetricAuditor, Panel, Selection, Sides
from likewise.people import FeatureSchema, People
from likewise.registry import HYPOTHESES, METRICS, SELECTIONS, WORLDS
from likewise.simulate import Encounter, Steady, World, play
from likewise.testing import contract as contracts
from likewise.testing.contract import contract, require

# Classes up to this size are enumerated, and compared with what brute force finds.
SMALL = 1 << 13
DRAWS = 400
TEMPERATURE = 6.5


@contract
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
    fits = isinstance(getattr(hypotheses, "schema", None), FeatureSchema)
    require(fits, hypotheses, "it must have a schema, a FeatureSchema.")
    if people is None:
        people = contracts.people_of(hypotheses.schema, 40, seed)
    trial = _Trial(hypotheses, people, seed)
    for check in (trial.sizes, trial.points, trial.charging, trial.oracle, trial.constant):
        check()
    if trial.small:
        trial.all_different()
    trial.engines()
    trial.json()
    if isinstance(hypotheses, ExactWeights):
        trial.weights(hypotheses)
        trial.draws(hypotheses)


@dataclass(frozen=True, eq=False)
class _Trial:
    """One class under check, with people, and costs on the points of some of them."""

    hypotheses: HypothesisClass
    people: People
    seed: int

    def require(self, holds: object, sentence: str) -> None:
        require(holds, self.hypotheses, sentence)

    @property
    def small(self) -> bool:
        return self.hypotheses.size <= SMALL

    @cached_property
    def rng(self) -> np.random.Generator:
        return contracts.generator(self.seed)

    @cached_property
    def located(self) -> Points:
        return self.hypotheses.locate(self.people)

    @cached_property
    def amounts(self) -> IntArray:
        """Costs on the first points; small integers, so that there are ties."""
        return self.rng.integers(-9, 10, min(7, len(self.people))).astype(np.int64)

    @property
    def charged(self) -> Points:
        return self.located[: len(self.amounts)]

    @cached_property
    def costs(self) -> IntArray:
        """Costs on these points; charged on an array that cannot be written to."""
        nothing = read_only(self.hypotheses.no_costs())
        return read_only(self.hypotheses.charge(nothing, self.charged, self.amounts))

    @cached_property
    def noise(self) -> IntArray:
        return self.rng.integers(-5, 6, (6, self.hypotheses.separators)).astype(np.int64)

    @cached_property
    def codes(self) -> IntArray:
        return self.hypotheses.codes()

    def predictions(self, codes: IntArray, points: Points) -> Bits:
        """Return the predictions of hypotheses, checked to be 0 or 1."""
        bits = self.hypotheses.predict(codes, points)
        fits = bits.shape == (len(codes), len(points)) and np.isin(bits, (0, 1)).all()
        self.require(fits, f"predict must be 0 or 1, one for each code and point; got {bits!r}.")
        return bits

    def totals(self, codes: IntArray, points: Points, amounts: IntArray) -> IntArray:
        return np.asarray(self.predictions(codes, points).astype(np.int64) @ amounts)

    def sizes(self) -> None:
        h = self.hypotheses
        self.require(isinstance(h.size, int) and h.size > 0, f"size must be a count; got {h.size}.")
        listed = len(self.codes) if self.small else h.size
        self.require(listed == h.size, f"size is {h.size}, but codes are {listed}.")
        points, count = len(h.separating_points()), h.separators
        self.require(points == count, f"separators is {count}, but there are {points} points.")
        nothing = h.no_costs()
        fits = nothing.dtype == np.int64 and nothing.ndim == 1 and not nothing.any()
        self.require(fits, "no_costs must be zeros, a flat array of int64.")

    def points(self) -> None:
        """Points do not depend on the other people of a call."""
        self.require(len(self.located) == len(self.people), "locate must have a row a person.")
        for i in range(min(5, len(self.people))):
            same = np.array_equal(self.hypotheses.locate(self.people.take([i]))[0], self.located[i])
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
        by_hand = self.totals(codes, points, self.amounts)
        same = np.array_equal(h.totals(self.costs, codes), by_hand)
        self.require(same, "totals are not what was charged.")

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
        minima = h.minimise(costs, noise)
        self.require(len(minima) == len(noise), "minimise must find a code a row of noise.")
        codes = self.codes if self.small else minima
        separating = h.separating_points()
        charged = self.totals(codes, self.charged, amounts)
        totals = charged[:, None] + self.totals(codes, separating, noise.T)
        reached = self.totals(minima, self.charged, amounts)
        reached = reached + np.diagonal(self.totals(minima, separating, noise.T))
        for row, code in enumerate(minima):
            cost, least = int(reached[row]), int(totals[:, row].min())
            worse = f"minimise finds a hypothesis of cost {cost} where there is one of {least}."
            self.require(cost == least, worse)
            if self.small:
                first = codes[int(np.argmin(totals[:, row]))]
                tie = "minimise must break ties towards the smallest code"
                self.require(np.array_equal(first, code), f"{tie}, {first}; got {code}.")

    def constant(self) -> None:
        """The class must have a constant, or there may be no fair policy at all."""
        h = self.hypotheses
        everywhere = np.full((1, h.separators), 1 << 20, dtype=np.int64)
        nobody = self.predictions(h.minimise(h.no_costs(), everywhere), self.located)
        everybody = self.predictions(h.minimise(h.no_costs(), -everywhere), self.located)
        constant = not nobody.any() or everybody.all()
        self.require(constant, "there must be a constant inside; none of its hypotheses is one.")

    def engines(self) -> None:
        """Every engine makes the same draws, in batches or one by one."""
        noise = Noise(Stream(self.seed, Purpose.ELICIT, 3), 1e-5)

        def draws(engine: str, numbers: range) -> Any:
            module = import_module(f"likewise.learner.{engine}")
            return module.approvals(self.hypotheses, self.costs, noise, self.located, numbers)

        reference = draws("reference", range(10, 40))
        if find_spec("numba"):
            same = np.array_equal(draws("compiled", range(10, 40)), reference)
            self.require(same, "the compiled engine makes other draws than the reference.")
        same = np.array_equal(draws("reference", range(17, 18))[0], reference[7])
        self.require(same, "a draw depends on the others of its batch.")

    def json(self) -> None:
        h = self.hypotheses
        copy = contracts.same_as_json(h, HYPOTHESES.write, class_from_spec)
        before = (h.size, h.separators, h.schema.digest)
        after = (copy.size, copy.separators, copy.schema.digest)
        self.require(before == after, f"read back from its JSON, {before} became {after}.")
        same = np.array_equal(copy.locate(self.people), self.located)
        self.require(same, "read back from its JSON, it puts people elsewhere.")
        minima = h.minimise(self.costs, self.noise)
        same = np.array_equal(copy.minimise(self.costs, self.noise), minima)
        self.require(same, "read back from its JSON, it finds other hypotheses.")

    def all_different(self) -> None:
        """All hypotheses are listed, told apart by the separating set and by their words."""
        h = self.hypotheses
        ordered = [tuple(code) for code in self.codes.tolist()]
        self.require(ordered == sorted(set(ordered)), "codes must be in order, none of them twice.")
        apart = len({r.tobytes() for r in self.predictions(self.codes, h.separating_points())})
        few = f"the separating set tells {apart} of {h.size} hypotheses apart; it must tell all."
        self.require(apart == h.size, few)
        words = [h.describe(code) for code in self.codes]
        self.require(all(isinstance(text, str) for text in words), "describe must be text.")
        self.require(len(set(words)) == h.size, "describe must say different hypotheses apart.")

    def priors(self, exact: ExactWeights) -> None:
        """The prior is one: positive, adding up to 1, and no smaller than the class says."""
        inverse = exact.log_inverse_priors(self.codes)
        fits = inverse.shape == (self.hypotheses.size,) and np.isfinite(inverse).all()
        self.require(fits, "log_inverse_priors must be a finite number for each code.")
        self.require((inverse > -1e-9).all(), "no hypothesis can have a prior above 1.")
        total = float(np.exp(-inverse).sum())
        self.require(abs(total - 1) < 1e-9, f"the priors of all hypotheses add up to {total}.")
        largest, claimed = float(inverse.max()), exact.log_inverse_prior
        beyond = f"log_inverse_prior is {claimed:.9g}, and a hypothesis has {largest:.9g}."
        self.require(largest <= claimed + 1e-9, beyond)

    def weights(self, exact: ExactWeights) -> None:
        """Chances of approval are those of prior(h)·exp(−cost(h)/temperature), over all h."""
        approval = exact.weigh(self.costs, TEMPERATURE).approval(self.located)
        fractions = all(0 <= w <= total and total > 0 for w, total in approval)
        self.require(fractions, "approval must be fractions of a weight that is not 0.")
        if not self.small:
            return
        self.priors(exact)
        expected = self.chances(exact) @ self.predictions(self.codes, self.located)
        off = np.abs(np.array([w / total for w, total in approval]) - expected).max(initial=0.0)
        far = f"approval is off by {off:.3g} from enumerated weights, cut is {exact.cut:g}."
        self.require(off <= 1e-11 + exact.cut, far)

    def chances(self, exact: ExactWeights) -> FloatArray:
        """π of every hypothesis, by enumeration."""
        totals = self.totals(self.codes, self.charged, self.amounts)
        far = (totals - totals.min()) / TEMPERATURE + exact.log_inverse_priors(self.codes)
        weights = np.exp(far.min() - far)
        return np.asarray(weights / weights.sum())

    def draws(self, exact: ExactWeights) -> None:
        """Draws are hypotheses drawn from π, and functions of stream and number."""
        stream = Stream(self.seed, Purpose.DECIDE, 1)
        policy = exact.weigh(self.costs, TEMPERATURE)
        draws = np.array([policy.draw(self.located, stream, number) for number in range(DRAWS)])
        self.require(np.isin(draws, (0, 1)).all(), "draw must be 0 or 1 for every point.")
        again = np.array([policy.draw(self.located, stream, number) for number in range(20)])
        self.require(np.array_equal(again, draws[:20]), "the same draw must come out the same.")
        same = np.array_equal(policy.draw(self.located[1:2], stream, 3), draws[3][1:2])
        self.require(same, "a draw depends on who else is asked about.")
        chances = np.array([w / total for w, total in policy.approval(self.located)])
        spread = 5.0 * np.sqrt(np.maximum(chances * (1 - chances), 1e-3) / DRAWS)
        fits = (np.abs(draws.mean(axis=0) - chances) <= spread).all()
        self.require(fits, "draws do not have the chances that approval says.")
        if self.small:
            self._drawn_together(exact, draws)

    def _drawn_together(self, exact: ExactWeights, draws: Bits) -> None:
        """One h decides on everybody: what is drawn together is as likely as all such h together.

        A chi-square test over the different ways to decide on these people, rare ones put together
        until ten of each are expected; the law of the statistic is bounded by its normal
        approximation (Wilson and Hilferty) at five and a half standard deviations.
        """
        expected: dict[bytes, float] = {}
        bits = self.predictions(self.codes, self.located)
        for row, chance in zip(bits, self.chances(exact), strict=True):
            key = row.astype(np.uint8).tobytes()
            expected[key] = expected.get(key, 0.0) + DRAWS * float(chance)
        counts = Counter(row.astype(np.uint8).tobytes() for row in draws)
        impossible = [key for key in counts if expected.get(key, 0.0) < 1e-9]
        self.require(not impossible, "a draw decides on these people as no likely hypothesis does.")
        groups = [(0.0, 0)]
        for key in sorted(expected, key=lambda key: expected[key]):
            if groups[-1][0] >= 10.0:
                groups.append((0.0, 0))
            mean, count = groups[-1]
            groups[-1] = (mean + expected[key], count + counts[key])
        statistic = sum((count - mean) ** 2 / mean for mean, count in groups)
        freedom = len(groups) - 1
        if freedom:
            third = 2.0 / (9.0 * freedom)
            far = ((statistic / freedom) ** (1 / 3) - (1 - third)) / third**0.5
            self.require(far < 5.5, "people are not decided on together as one hypothesis would.")


class _View:
    """A policy: everybody's chance follows from their position."""

    def chances(self, people: People) -> IntArray:
        return np.linspace(0, ONE, len(people)).astype(np.int64)


@contract
def check_world(world: World, *, rounds: int = 12, seed: int = 1) -> None:
    """Check a world: its rounds, its classes, and that it is known by its name and its settings.

    >>> from likewise.simulate import Loans
    >>> check_world(Loans(seed=1, k=3), rounds=4)
    """
    require(isinstance(world, World), world, "it is no World.")
    contracts.require_text(world, "name", "summary")
    WORLDS.check_name(world.name, type(world))
    type(world).make(seed)  # by its name alone
    first, second = (list(_course(world, rounds, seed)) for _ in range(2))
    for t, (encounter, repeat) in enumerate(zip(first, second, strict=True), start=1):
        _check_encounter(world, encounter, t)
        same = _same(encounter, repeat)
        require(same, world, f"round {t} differs though all was the same before it.")
    if isinstance(world, Steady):
        for t in (rounds, 1):
            same = _same(world.encounter(t), first[t - 1])
            require(same, world, f"round {t} depends on the rounds before.")
    _check_classes(world, first[0].people)
    play(world, Learner(world.hypotheses(), world.k, 0.3, 0.3, seed), min(rounds, 3))


def _course(world: World, rounds: int, seed: int) -> Iterator[Encounter]:
    course, rng = world.course(), contracts.generator(seed)
    for t in range(1, rounds + 1):
        encounter = course.meet(t, _View())
        require(isinstance(encounter, Encounter), world, f"meet must be an Encounter in {t}.")
        course.hear(encounter, rng.random(len(encounter.people)) < 0.5)
        yield encounter


def _check_encounter(world: World, encounter: Encounter, t: int) -> None:
    people, labels = encounter.people, encounter.labels
    require(1 <= len(people) <= world.k, world, f"round {t} has {len(people)} people, k={world.k}.")
    try:
        world.schema.encoded(people)
        world.schema.encoded(people.x, people.ids)
    except LikewiseError as error:
        require(False, world, f"round {t}: the people do not fit its schema: {error}")
    fits = isinstance(labels, np.ndarray) and labels.shape == (len(people),)
    fits = fits and labels.dtype.kind in "iu" and bool(np.isin(labels, (0, 1)).all())
    require(fits, world, f"round {t}: labels must be an array of 0s and 1s, one a person.")
    require(isinstance(encounter.panel, Panel), world, f"round {t}: the panel must be a Panel.")
    pivots = encounter.panel.pivots(people)
    require(pivots.distance.shape == (len(people),) * 2, world, f"round {t}: pivots of the people.")


def _same(left: Encounter, right: Encounter) -> bool:
    return (
        left.people.ids == right.people.ids
        and np.array_equal(left.people.x, right.people.x, equal_nan=True)
        and np.array_equal(left.labels, right.labels)
        and left.panel.name == right.panel.name
        and np.array_equal(left.pivots.distance, right.pivots.distance)
    )


def _check_classes(world: World, people: People) -> None:
    """Every class is over the world's features, the first by default, and others are refused."""
    require(bool(world.classes), world, "classes must name at least one class.")
    for name in (None, *world.classes):
        hypotheses = world.hypotheses(name)
        same = hypotheses.schema.digest == world.schema.digest
        require(same, world, f"the class {name!r} is over other features than the world has.")
        hypotheses.locate(people)
    try:
        world.hypotheses("no such class")
    except LikewiseError:
        return
    require(False, world, "a class that it has not must be refused.")


@contract
def check_metric(metric: Metric, people: People) -> None:
    """Check a metric on people: symmetric, within [0, 1], whoever else is present; and JSON.

    >>> from likewise.panel import WeightedL1
    >>> from likewise.people import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> check_metric(WeightedL1({"income": 0.5}), schema.people([[10], [20], [90]]))
    """
    require(isinstance(metric, Metric), metric, "it is no Metric.")
    require(isinstance(people, People) and len(people) > 1, metric, "it needs at least two people.")
    auditor = MetricAuditor("auditor", metric)
    distances = auditor.distances(people)
    same = np.array_equal(auditor.distances(people), distances)
    require(same, metric, "the same people must have the same distances.")
    reverse = auditor.distances(people.take(range(len(people) - 1, -1, -1)))
    same = np.array_equal(reverse[::-1, ::-1], distances)
    require(same, metric, "people in another order must have the same distances.")
    alone = auditor.distances(people.take([0, 1]))
    require(alone[0, 1] == distances[0, 1], metric, "two people must not be nearer in company.")
    half = len(people) // 2
    first, second = people.take(range(half)), people.take(range(half, 2 * half))
    blocks = auditor.between(Sides(first, second))
    same = np.array_equal(blocks, distances[:half, half : 2 * half])
    require(same, metric, "between must have the distances that a call with everybody has.")
    paired = auditor.between(Sides(first, second, paired=True))
    same = np.array_equal(paired, np.diagonal(blocks))
    require(same, metric, "between differs for single pairs.")
    copy = contracts.same_as_json(metric, METRICS.write, METRICS.read)
    same = np.array_equal(MetricAuditor("auditor", copy).distances(people), distances)
    require(same, metric, "read back from its JSON, it has other distances.")


@contract
def check_selection(selection: Selection, *, seed: int = 1) -> None:
    """Check a selection: it chooses some of the pairs, the same ones again; and JSON.

    >>> from likewise.panel import LargestGap
    >>> check_selection(LargestGap())
    """
    require(isinstance(selection, Selection), selection, "it is no Selection.")
    contracts.require_text(selection, "name", "summary")
    copy = contracts.same_as_json(selection, SELECTIONS.write, SELECTIONS.read)
    same = type(type(selection).make(7)) is type(selection)
    require(same, selection, "make(seed) must make one of its class.")
    rng = contracts.generator(seed)
    for pairs in (1, 1, 2, 3, 5, 8, 30):
        gaps = rng.integers(1, 6, pairs).astype(np.int64)
        before, t = gaps.copy(), int(rng.integers(1, 1000))
        chosen = selection.choose(gaps, t)
        fits = isinstance(chosen, list) and 0 < len(chosen) == len({*chosen})
        fits = fits and all(isinstance(n, int) and 0 <= n < pairs for n in chosen)
        rule = f"choose must be a list of places below {pairs}, at least one and none twice"
        require(fits, selection, f"{rule}; got {chosen!r}.")
        require(np.array_equal(gaps, before), selection, "choose must not change the gaps.")
        same = chosen == selection.choose(gaps, t) == copy.choose(gaps, t)
        rule = "choose must choose the same pairs again, also read back from its JSON."
        require(same, selection, rule)
