"""A contract that nothing breaks checks nothing: each of these breaks one, and is caught."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

from likewise.errors import ContractError, LikewiseError, ParameterError
from likewise.hypotheses import Bits, GibbsPolicy, HypothesisClass, Points, Pool, Segments, Stumps
from likewise.learner import Learner, Schedule, SelfTuned
from likewise.learner.players import Draws, Estimates, ExponentialWeights, Frozen
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Metric, MetricAuditor, Panel, Ratings, Selection
from likewise.people import Feature, FeatureSchema, People
from likewise.registry import (
    BASELINES,
    HYPOTHESES,
    METRICS,
    PLAYERS,
    SCHEDULES,
    SELECTIONS,
    WORLDS,
    Registry,
)
from likewise.simulate import Baseline, Encounter, Steady
from likewise.testing import (
    check_baseline,
    check_hypotheses,
    check_metric,
    check_player,
    check_schedule,
    check_selection,
    check_world,
    people_of,
)

SCHEMA = FeatureSchema((Feature("score", "integer", 0, 9), Feature("owner", "flag")))
PEOPLE = people_of(SCHEMA, 9, seed=2)


def caught(check: Callable[..., None], *things: Any, match: str) -> None:
    with pytest.raises(ContractError, match=match):
        check(*things)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Registry[Any], Any], Any]:
    """Register a thing as ``broken`` for one test."""

    def add(registry: Registry[Any], thing: Any) -> Any:
        monkeypatch.setitem(registry._targets, "broken", thing)
        return thing

    return add


Register = Callable[[Registry[Any], Any], Any]


class Sound(Stumps):
    """Four stumps and both constants on one column; nothing is wrong yet."""

    def __init__(self) -> None:
        super().__init__(SCHEMA, {"score": [3, 7]})

    def spec(self) -> dict[str, Any]:
        return {"class": "broken", "schema": self.schema.spec()}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        assert spec
        return cls()


class OneNotListed(Sound):
    def codes(self) -> IntArray:
        return super().codes()[:-1]


class SetTooSmall(Sound):
    @property
    def separators(self) -> int:
        return super().separators - 1

    def separating_points(self) -> Points:
        return super().separating_points()[:-1]

    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        return super().minimise(costs, np.pad(noise, ((0, 0), (0, 1))))


class WrongOracle(Sound):
    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        return super().minimise(-costs, -noise)


class NoiseForgotten(Sound):
    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        return super().minimise(costs, 0 * noise)


class LastOfTies(Sound):
    def minimise(self, costs: IntArray, noise: IntArray) -> IntArray:
        totals = costs + noise @ self._on_set.T.astype(np.int64)
        last: IntArray = self.size - 1 - np.argmin(totals[:, ::-1], axis=1)
        return last.reshape(-1, 1)


class ChargesInPlace(Sound):
    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        costs += super().charge(0 * costs, points, amounts)
        return costs


class ChargesTheFirst(Sound):
    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        return super().charge(costs, points[:1], amounts[:1])


class ChargesSizes(Sound):
    def charge(self, costs: IntArray, points: Points, amounts: IntArray) -> IntArray:
        return super().charge(costs, points, np.abs(amounts))


class LocatesByRank(Sound):
    def locate(self, people: People) -> Points:
        points = super().locate(people)
        return np.roll(points, 1, axis=0) if len(people) > 5 else points


class SaysTheSame(Sound):
    def describe(self, code: IntArray) -> str:
        return "approve somebody"


class Hotter(Sound):
    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        return super().weigh(costs, temperature * 1.05)


class PriorForgotten(Sound):
    """Says that it has one, and weighs without it."""

    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        return Stumps(SCHEMA, {"score": [3, 7]}).with_prior("flat").weigh(costs, temperature)


class PriorTooSmall(Sound):
    def log_inverse_priors(self, codes: IntArray) -> FloatArray:
        return super().log_inverse_priors(codes) + 1e-6


class PriorOfOneForgotten(Sound):
    @property
    def log_inverse_prior(self) -> float:
        return super().log_inverse_prior - 1e-6


class TotalsForgotten(Sound):
    def totals(self, costs: IntArray, codes: IntArray) -> IntArray:
        return 0 * super().totals(costs, codes)


@dataclass(frozen=True)
class Drawn(GibbsPolicy):
    """Weighs as another policy does, and draws otherwise."""

    other: GibbsPolicy
    way: str
    best: int

    def approval(self, points: Points) -> list[tuple[int, int]]:
        return self.other.approval(points)

    def draw(self, points: Points, stream: Stream, draw: int) -> Bits:
        if self.way == "the best":
            return np.asarray(points[:, self.best])
        if self.way == "by chance":
            stranger = Stream(int(np.random.default_rng().integers(1 << 30)), stream.purpose, draw)
            return self.other.draw(points, stranger, 0)
        # One hypothesis for every point: every chance is right, and people are torn apart.
        each = [self.other.draw(points, Stream(stream.seed, stream.purpose, 7 + i), draw)[i]
                for i in range(len(points))]  # fmt: skip
        return np.array(each, dtype=np.uint8)


class DrawsTheBest(Sound):
    way = "the best"

    def weigh(self, costs: IntArray, temperature: float | FloatArray) -> GibbsPolicy:
        return Drawn(super().weigh(costs, temperature), self.way, int(np.argmin(costs)))


class DrawsByChance(DrawsTheBest):
    way = "by chance"


class DrawsForEachPoint(DrawsTheBest):
    way = "one by one"


class Forgets(Sound):
    """Read back from its JSON it is another class."""

    def __init__(self, cut: int = 3) -> None:
        Stumps.__init__(self, SCHEMA, {"score": [cut, 7]})


class NoJson(Sound):
    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "cuts": np.array([3, 7])}


class OtherName(Sound):
    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "class": "stumps"}


def test_the_sound_one_is_sound(register: Register) -> None:
    check_hypotheses(register(HYPOTHESES, Sound)())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (OneNotListed, "size is 6, but codes are 5"),
        (SetTooSmall, "separating set tells|minimise"),
        (WrongOracle, "minimise finds a hypothesis of cost"),
        (NoiseForgotten, "minimise finds a hypothesis of cost"),
        (LastOfTies, "break ties towards the smallest code"),
        (ChargesInPlace, "charge failed with ValueError"),
        (ChargesTheFirst, "charging one by one"),
        (ChargesSizes, "does not take costs back"),
        (LocatesByRank, "elsewhere when asked alone"),
        (SaysTheSame, "describe must say different hypotheses apart"),
        (Hotter, "approval is off by"),
        (PriorForgotten, "approval is off by"),
        (PriorTooSmall, "add up to 0.99999"),
        (PriorOfOneForgotten, "log_inverse_prior is .*, and a hypothesis has"),
        (TotalsForgotten, "totals are not what was charged"),
        (DrawsTheBest, "do not have the chances"),
        (DrawsByChance, "the same draw must come out the same"),
        (DrawsForEachPoint, "depends on who else|no likely hypothesis|decided on together"),
        (NoJson, "is not JSON"),
        (OtherName, "is not registered as the hypothesis class 'stumps'"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_classes(register: Register, kind: type[Sound], said: str, seed: int) -> None:
    with pytest.raises(ContractError, match=said):
        check_hypotheses(register(HYPOTHESES, kind)(), seed=seed)


def test_a_class_that_is_read_back_as_another_is_caught(register: Register) -> None:
    register(HYPOTHESES, Forgets)
    caught(check_hypotheses, Forgets(5), match="read back from its JSON, it puts people elsewhere")


def test_a_class_without_a_constant_is_caught(register: Register) -> None:
    class NoConstant(Segments):
        """Somebody with a good score is always approved, and somebody with a bad one never."""

        def predict(self, codes: IntArray, points: Points) -> Bits:
            bits = super().predict(codes, points)
            bits[:, points == 0], bits[:, points == self.bins - 1] = 0, 1
            return bits

    made = NoConstant(SCHEMA, score="score", cuts=[3, 5, 7])
    caught(check_hypotheses, made, match="constant inside|minimise")


def test_what_is_no_class_is_caught() -> None:
    caught(check_hypotheses, "pool", match="no HypothesisClass")


@dataclass(frozen=True)
class SoundPlayer(ExponentialWeights):
    """Exponential weights under another name."""

    name = "broken"


class NoNoise(SoundPlayer):
    """Follows the leader: no noise at all, so that its constants are not true."""

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        colder = replace(frozen, scales=1e-9 * frozen.scales)
        return super().estimates(hypotheses, colder, points, draws)

    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        return super().decide(
            hypotheses, replace(frozen, scales=1e-9 * frozen.scales), points, batch
        )


class Boasts(SoundPlayer):
    def gain(self, hypotheses: HypothesisClass) -> float:
        return 1e-6 * super().gain(hypotheses)

    def stability(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        return 1e-6 * super().stability(hypotheses, estimated=estimated)


class DecidesOtherwise(SoundPlayer):
    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        return np.asarray(1 - super().decide(hypotheses, frozen, points, batch))


class DecidesOnce(SoundPlayer):
    def decide(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, batch: int
    ) -> Bits:
        return super().decide(hypotheses, frozen, points, 0)


class ByPlace(SoundPlayer):
    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        found = super().estimates(hypotheses, frozen, points, draws)
        return replace(found, scores=[s + (i < 1 and s < ONE) for i, s in enumerate(found.scores)])


class Remembers(SoundPlayer):
    asked = itertools.count()

    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        found = super().estimates(hypotheses, frozen, points, draws)
        return replace(found, scores=[min(ONE, s + next(self.asked)) for s in found.scores])


class Floats(SoundPlayer):
    def estimates(
        self, hypotheses: HypothesisClass, frozen: Frozen, points: Points, draws: Draws
    ) -> Estimates:
        found = super().estimates(hypotheses, frozen, points, draws)
        return replace(found, scores=[s / ONE for s in found.scores])  # type: ignore[misc]


def test_the_sound_player_is_sound(register: Register) -> None:
    check_player(register(PLAYERS, SoundPlayer)())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (NoNoise, "its regret is .*, and its own constants allow"),
        (Boasts, "its regret is .*, and its own constants allow"),
        (DecidesOtherwise, "do not have the chances"),
        (DecidesOnce, "do not have the chances"),
        (ByPlace, "in another order"),
        (Remembers, "asked again"),
        (Floats, "scores must be integers"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_players(register: Register, kind: type[SoundPlayer], said: str, seed: int) -> None:
    with pytest.raises(ContractError, match=said):
        check_player(register(PLAYERS, kind)(), seed=seed)


def test_a_player_that_nobody_registered_is_caught() -> None:
    caught(check_player, SoundPlayer(), match="is not registered as the player 'broken'")


@dataclass(frozen=True)
class SoundSchedule(SelfTuned):
    """The self-tuned one under another name."""

    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "schedule": "broken"}


class Rising(SoundSchedule):
    def mu(self, audits: int) -> float:
        return 1.0 - 1.0 / (1 + audits)


class NoDraws(SoundSchedule):
    def draws(self, margins: Any, k: int, t: int) -> int:
        return 0


class Cooling(SoundSchedule):
    def scale(self, peak: float, k: int, separators: int, x: float) -> float:
        return 1.0 / (1.0 + peak)


class Lossy(SoundSchedule):
    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "eta": 1.0}


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Rising, "mu must never rise"), (NoDraws, "draws must be a count"), (Cooling, "scale must be"),
     (Lossy, "read back from its JSON")],
)  # fmt: skip
def test_schedules(register: Register, kind: type[SoundSchedule], said: str) -> None:
    check_schedule(register(SCHEDULES, SoundSchedule)(0.5))
    made: Schedule = register(SCHEDULES, kind)(0.5)
    caught(check_schedule, made, match=said)


class SoundMetric(Metric):
    """The difference of scores."""

    def __call__(self, people: People) -> FloatArray:
        x = people.column("score")
        return np.abs(x[:, None] - x[None, :]) / 9

    def spec(self) -> dict[str, Any]:
        return {"metric": "broken"}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        assert spec
        return cls()


class OneWay(SoundMetric):
    def __call__(self, people: People) -> FloatArray:
        return np.triu(super().__call__(people))


class TooFar(SoundMetric):
    def __call__(self, people: People) -> FloatArray:
        return 2 * super().__call__(people)


class ByCompany(SoundMetric):
    def __call__(self, people: People) -> FloatArray:
        return super().__call__(people) / len(people)


class ByPlaceInList(SoundMetric):
    def __call__(self, people: People) -> FloatArray:
        order = np.arange(len(people)) / len(people)
        return np.abs(order[:, None] - order[None, :])


class Raises(SoundMetric):
    def __call__(self, people: People) -> FloatArray:
        raise KeyError("score")


class Halves(SoundMetric):
    """Read back from its JSON it is another metric."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def __call__(self, people: People) -> FloatArray:
        return self.factor * super().__call__(people)


@pytest.mark.parametrize(
    ("kind", "said"),
    [(OneWay, "must be symmetric"), (TooFar, r"within \[0, 1\]"), (ByCompany, "in company"),
     (ByPlaceInList, "in company|in another order"), (Raises, "KeyError")],
)  # fmt: skip
def test_metrics(register: Register, kind: type[SoundMetric], said: str) -> None:
    check_metric(register(METRICS, SoundMetric)(), PEOPLE)
    caught(check_metric, register(METRICS, kind)(), PEOPLE, match=said)


def test_a_metric_that_is_read_back_as_another_is_caught(register: Register) -> None:
    register(METRICS, Halves)
    caught(check_metric, Halves(0.5), PEOPLE, match="has other distances")
    caught(check_metric, Ratings("owner"), PEOPLE.x, match="at least two people")


@dataclass(frozen=True)
class Kind(Metric):
    """A metric with a parameter whose name ours might need for themselves."""

    name, summary = "broken", "of a kind"
    kind: str = "gentle"

    def __call__(self, people: People) -> FloatArray:
        return np.zeros((len(people), len(people)))


def test_a_parameter_may_have_any_name(register: Register) -> None:
    register(METRICS, Kind)
    assert METRICS.read(METRICS.write(Kind("strict"))) == Kind("strict")


def test_a_part_that_forgot_its_name_is_caught() -> None:
    class Nameless(Metric):
        def __call__(self, people: People) -> FloatArray:
            return np.zeros((len(people), len(people)))

    with pytest.raises(LikewiseError, match="Nameless is not registered as the metric ''"):
        METRICS.write(Nameless())


class SoundSelection(Selection):
    """The second largest gap, if there is one."""

    name, summary = "broken", "the second"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        return [int(np.argsort(-gaps, kind="stable")[:2][-1])]


class NoneOfThem(SoundSelection):
    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        return []


class Beyond(SoundSelection):
    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        return [len(gaps)]


class ByTheClock(SoundSelection):
    asked = itertools.count()

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        return [next(self.asked) % len(gaps)]


class SortsThem(SoundSelection):
    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        gaps.sort()
        return [0]


@pytest.mark.parametrize(
    ("kind", "said"),
    [(NoneOfThem, "at least one"), (Beyond, "places below"), (ByTheClock, "same pairs again"),
     (SortsThem, "must not change the gaps")],
)  # fmt: skip
def test_selections(register: Register, kind: type[SoundSelection], said: str) -> None:
    check_selection(register(SELECTIONS, SoundSelection)())
    caught(check_selection, register(SELECTIONS, kind)(), match=said)


@dataclass(frozen=True)
class SoundWorld(Steady):
    """Scores at random."""

    seed: int
    k: int = 3
    name = "broken"
    summary = "scores at random"
    classes = ("stumps",)

    @property
    def schema(self) -> FeatureSchema:
        return SCHEMA

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        if name not in (None, "stumps"):
            raise ParameterError("hypotheses", "must be stumps", name, "")
        return Stumps(SCHEMA, {"score": [3, 7]})

    def _words(self, t: int) -> FloatArray:
        return Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k, 3)

    def encounter(self, t: int) -> Encounter:
        u = self._words(t)
        x = np.floor(u[:, :2] * [10, 2])
        panel = Panel([MetricAuditor("one", Ratings("score", 0, 9))], "any")
        labels = (u[:, 2] < 0.5).astype(np.int64)
        return Encounter(People(tuple("abcd"[: len(x)]), x, SCHEMA), labels, panel)


@dataclass(frozen=True)
class Chance(SoundWorld):
    def _words(self, t: int) -> FloatArray:
        return np.random.default_rng().random((self.k, 3))


@dataclass(frozen=True)
class Crowd(SoundWorld):
    def _words(self, t: int) -> FloatArray:
        return Stream(self.seed, Purpose.WORLD, t).uniforms(0, self.k + 1, 3)


@dataclass(frozen=True)
class Strange(SoundWorld):
    def _words(self, t: int) -> FloatArray:
        return super()._words(t) + (t == 5)


@dataclass(frozen=True)
class Graded(SoundWorld):
    def encounter(self, t: int) -> Encounter:
        met = super().encounter(t)
        return Encounter(met.people, met.labels + 1, met.panel)


@dataclass(frozen=True)
class AnyClass(SoundWorld):
    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        return super().hypotheses()


@dataclass(frozen=True)
class OtherFeatures(SoundWorld):
    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        return Pool.from_table([[0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Chance, "differs though all was the same"), (Crowd, "4 people, k=3"),
     (Strange, "round 5: the people do not fit its schema"), (Graded, "labels must be"),
     (AnyClass, "must be refused"), (OtherFeatures, "over other features")],
)  # fmt: skip
def test_worlds(register: Register, kind: type[SoundWorld], said: str) -> None:
    check_world(register(WORLDS, SoundWorld)(1))
    caught(check_world, register(WORLDS, kind)(1), match=said)


def a_baseline(summary: str = "much noise", shift: int = 0, other: bool = False) -> Baseline:
    """A learner with much noise."""

    def make(
        hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None,
    ) -> Learner:  # fmt: skip
        chosen = Pool.from_table([[1, 1, 1, 1, 1]]) if other else hypotheses
        return Learner(chosen, k, alpha, eps, seed + shift, SelfTuned(x=9.0))

    return Baseline("broken", summary, make)


@pytest.mark.parametrize(
    ("baseline", "said"),
    [(a_baseline(shift=1), "k, alpha, eps and seed must be"),
     (a_baseline(summary=""), "must have a summary"),
     (a_baseline(other=True), "over the features of the class")],
)  # fmt: skip
def test_baselines(register: Register, baseline: Baseline, said: str) -> None:
    check_baseline(register(BASELINES, a_baseline()))
    caught(check_baseline, register(BASELINES, baseline), match=said)
    caught(check_baseline, a_baseline(), match="another baseline is registered")
