"""Settings of worlds: checked when a world is made, known by name, and each does what it says."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.numerics.fixed_point import ONE
from likewise.registry import BASELINES
from likewise.simulate import WORLDS, Adversarial, Drift, Loans, baseline, settings_of, untaught
from likewise.simulate.game import Game
from likewise.simulate.learners import learner_settings
from likewise.simulate.world import check_settings, known_setting, setting, settings_of_function
from tests.files_of_people import HERE

EACH = pytest.mark.parametrize("name", WORLDS)
JUNK: list[Any] = [
    None, "", "3", "junk", float("nan"), float("inf"), 2.5, -1, 10**400, [], [0.1], object(), True,
    np.float32(0.5), np.int8(-3), iter(()),
]  # fmt: skip


@EACH
def test_every_setting_says_what_it_is_and_has_a_default(name: str) -> None:
    for known in settings_of(WORLDS[name]).values():
        assert known.about
        assert not known.required


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
def test_junk_is_refused_in_a_sentence_and_never_with_another_error(name: str, junk: Any) -> None:
    """Whatever is made can be played; 0.5 is a share, and True is no number of people."""
    world = WORLDS[name]
    for setting_name in settings_of(world):
        try:
            made = world.make(1, **{setting_name: junk})
        except LikewiseError:
            continue
        assert type(made.k) is int
        assert setting_name in (
            "luck",
            "harshness",
            "leniency",
            "depth",
            "price",
            "fading",
            "spite",
            "noise",
            "file",  # none, so that it is looked for
            "folder",
        )


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("seed", [None, "1", 1.5, -1, 1 << 64, True])
def test_a_seed_that_is_none_is_refused(name: str, seed: Any) -> None:
    with pytest.raises(ParameterError, match=r"^seed must be"):
        WORLDS[name].make(seed)


@pytest.mark.parametrize("world", [name for name in HERE if name != "adversarial"])
@pytest.mark.parametrize("rule", ["magority", "veto(nobody)", 3, ""])
def test_a_rule_that_cannot_be_used_is_refused_when_the_world_is_made(
    world: str, rule: Any
) -> None:
    with pytest.raises(LikewiseError):
        WORLDS[world].make(1, rule=rule)


@pytest.mark.parametrize("k", [2.5, "8", 0, None, [3]])
def test_k_counts_people(k: Any) -> None:
    with pytest.raises(ParameterError, match=r"^k must be an integer in \[1, 10001\)"):
        Loans(1, k=k)


def test_numbers_of_numpy_are_taken_as_numbers() -> None:
    world = Loans(np.int64(1), k=np.int32(3), luck=np.float64(0.25))  # type: ignore[arg-type]
    assert world == Loans(1, k=3, luck=0.25)
    assert type(world.luck) is float


def test_a_setting_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        ParameterError, match=r"world drift must be one of its own \(k=8, .*spell=1"
    ):
        Drift.make(1, spel=200)


def test_the_adversary_takes_no_rule() -> None:
    assert "rule" not in settings_of(Adversarial)
    with pytest.raises(ParameterError, match="got 'rule'"):
        Adversarial.make(1, rule="any")


@pytest.mark.parametrize(
    ("name", "text", "value"), [("spell", "200", 200), ("depth", ".5", 0.5), ("rule", "any", "any")]
)
def test_settings_are_read_from_text(name: str, text: str, value: Any) -> None:
    assert known_setting(Drift, name).parse(text) == value


@pytest.mark.parametrize(("name", "text"), [("spell", "2.5"), ("depth", "deep"), ("depth", "inf")])
def test_text_that_is_no_value_is_refused_with_an_example(name: str, text: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{name} must be .* Such as {name}="):
        known_setting(Drift, name).parse(text)


@dataclass(frozen=True)
class Plain:
    """A world of a package that declares nothing: its fields are its settings."""

    seed: int
    size: int
    wet: bool = False
    where: str = "here"


def test_a_world_that_declares_nothing_has_settings_all_the_same() -> None:
    known = settings_of(Plain)
    assert [one.text for one in known.values()] == ["size", "wet=False", "where=here"]
    assert known["size"].required
    assert known_setting(Plain, "size").parse("3") == 3
    assert known_setting(Plain, "wet").parse("yes") is True
    with pytest.raises(ParameterError, match="wet must be yes or no"):
        known_setting(Plain, "wet").parse("damp")


def annotated(
    size: Annotated[int, 1, "how large it is", 7] = 3, wet: Annotated[float | None, 2.5] = None
) -> None:
    """A function whose parameters other tools have annotated, too."""


def test_the_sentence_of_a_parameter_stands_among_whatever_else_annotates_it() -> None:
    known = settings_of_function(annotated)
    assert [(one.kind, one.about) for one in known.values()] == [
        (int, "how large it is"),
        (float, ""),
    ]


@pytest.mark.parametrize(
    "settings", [{"theta": 3.0}, {"dual": "additive", "largest": 1.0}], ids=lambda s: [*s][-1]
)
def test_a_parameter_of_another_dual_is_refused_by_its_name(settings: dict[str, Any]) -> None:
    name, value = list(settings.items())[-1]
    dual = settings.get("dual", "gradient")
    with pytest.raises(
        ParameterError, match=rf"^{name} must be left out for the dual {dual}; got {value}"
    ):
        Game("loans", "exact", rounds=5, learner_settings=settings).prepare()


def test_a_baseline_may_have_feedback_as_a_setting_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told of no feedback, as our own learners are."""

    def make(*game: Any, rounds: int | None = None, feedback: str = "full") -> Any:
        assert feedback == "one-sided"
        return untaught(*game, rounds=rounds)

    picky = baseline("picky", "says itself which labels it hears")(make)
    monkeypatch.setitem(BASELINES._targets, "picky", picky)
    assert list(learner_settings("picky")) == ["feedback"]
    Game("loans", "picky", 5, learner_settings={"feedback": "one-sided"}).prepare()


@dataclass(frozen=True)
class Tank:
    seed: int
    level: float = setting(0.5, "how full it is", low=0, high=1, beyond=True)

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.mark.parametrize("level", [0, -0.1, 1.01, float("nan")])
def test_bounds_that_are_open_below_are_open_below(level: float) -> None:
    with pytest.raises(ParameterError, match=r"level must be in \(0, 1\]"):
        Tank(1, level=level)


def test_leniency_scales_the_four_auditors_who_weigh_features_and_not_the_neighbour() -> None:
    """d′ = min(1, leniency·d) wherever the sum was not cut off at 1; the neighbour's stays."""
    people = Loans(3).encounter(1).people
    plain, lenient = (Loans(3, leniency=factor).panel.distances(people) for factor in (1.0, 0.5))
    names = Loans(3).panel.members
    for name, before, after in zip(names, plain, lenient, strict=True):
        if name == "neighbour":
            assert (after == before).all()
        else:
            below = before < ONE
            assert (np.abs(after[below] - before[below] / 2) <= 1).all()
            assert (after[~below] >= ONE // 2).all()
            assert (after < before).any()


@pytest.mark.parametrize(("rounds", "says"), [(1000, True), (1001, False)])
def test_drift_says_when_no_recession_comes(rounds: int, says: bool) -> None:
    assert bool(Drift(1).caveat(rounds)) == says
    assert Loans(1).caveat(rounds) is None
    same = Drift(1).encounter(rounds).labels == Loans(1).encounter(rounds).labels
    assert same.all() or not says
