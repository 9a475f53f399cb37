"""All that Likewise registers keeps the contract that ships for others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from likewise.hypotheses import Segments
from likewise.learner import Paper, PaperOneSided, Schedule, SelfTuned
from likewise.learner.attention import (
    Attention,
    Dominance,
    EveryPossiblePair,
    Everything,
    PanelModel,
    Share,
)
from likewise.learner.players import ContextFTPL, ExponentialWeights, NestedFTPL, Player
from likewise.panel import (
    AllPairs,
    FirstPair,
    LargestGap,
    Mahalanobis,
    Masked,
    Metric,
    RandomPair,
    Ratings,
    Selection,
    WeightedL1,
)
from likewise.people import Feature, FeatureSchema
from likewise.registry import (
    ATTENTIONS,
    BASELINES,
    METRICS,
    PLAYERS,
    REGISTRIES,
    SCHEDULES,
    SELECTIONS,
    WORLDS,
    Registry,
)
from likewise.simulate import Loans
from likewise.testing import (
    check_attention,
    check_baseline,
    check_metric,
    check_player,
    check_schedule,
    check_selection,
    check_world,
    people_of,
)
from studies.baselines.gillen import Linear
from tests.files_of_people import HERE

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100, missing="not stated"),
        Feature("debt", "integer", 0, 50),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("owner", "flag"),
    )
)
PEOPLE = people_of(SCHEMA, 15, seed=4)
L1 = WeightedL1({"income": 0.3, "purpose": 0.1, "debt": 0.7}, {"debt": 20.0})
METRIC_EXAMPLES: list[Metric] = [
    L1, Mahalanobis(["debt", "income"], [[2.0, 1.0], [1.0, 2.0]], 70.0),
    Masked(L1, ["income", "owner"]), Masked(Masked(L1, ["debt"]), ["debt", "income"]),
    Ratings("debt", 0, 50), Ratings(dict.fromkeys(PEOPLE.ids, 0.1)),
]  # fmt: skip
PLAYER_EXAMPLES: list[Player] = [
    ContextFTPL(), ContextFTPL("reference"), ExponentialWeights(), NestedFTPL(),
    NestedFTPL("reference"),
]  # fmt: skip
SCHEDULE_EXAMPLES: list[Schedule] = [
    SelfTuned(), SelfTuned(1.0, x=0.3, kappa=0.1, r=0.1, delta=0.1, outstanding=0.0, waiting=0.0),
    SelfTuned(outstanding=0.5, waiting=0.0), SelfTuned(waiting=2.0),
    Paper(50, noise_divisor=1e4, draws_rule="r"), Paper(60, b=0.1, draws_rule="tight"),
    PaperOneSided(40, draws_rule="r"),
]  # fmt: skip
SEGMENTS = Segments(SCHEMA, score="debt", cuts=[10, 20, 40], by=["purpose", "owner"])
SELECTION_EXAMPLES: list[Selection] = [LargestGap(), FirstPair(), RandomPair(3), AllPairs()]


ATTENTION_EXAMPLES: list[Attention] = [
    Everything(), Share(0.3), EveryPossiblePair(), Dominance(), Dominance(0.2, remembered=3),
    PanelModel(), PanelModel(0.2, doubt=0.4, patience=3.0, steps=0),
]  # fmt: skip


@pytest.mark.parametrize("attention", ATTENTION_EXAMPLES, ids=repr)
def test_attentions(attention: Attention) -> None:
    check_attention(attention)


def ours(registry: Registry[Any]) -> set[object]:
    """What is registered by Likewise itself; other tests register classes of their own."""
    things = [registry[name] for name in registry]
    return {t for t in things if getattr(t, "__module__", "").startswith("likewise.")}


def test_nothing_of_ours_is_left_out() -> None:
    for registry, examples in (
        (METRICS, METRIC_EXAMPLES), (PLAYERS, PLAYER_EXAMPLES), (SCHEDULES, SCHEDULE_EXAMPLES),
        (SELECTIONS, SELECTION_EXAMPLES), (ATTENTIONS, ATTENTION_EXAMPLES),
    ):  # fmt: skip
        tried = {type(example) for example in examples}
        assert ours(registry) <= tried, "add an instance to the examples of its kind, at the top"
        assert tried <= ours(registry), "add an entry to its table in likewise/registry.py"
    assert len(REGISTRIES) == 8


@pytest.mark.parametrize("metric", METRIC_EXAMPLES, ids=lambda m: m.spec()["metric"])
def test_metrics(metric: Metric) -> None:
    check_metric(metric, PEOPLE)


@pytest.mark.parametrize("player", PLAYER_EXAMPLES, ids=repr)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_players(player: Player, seed: int) -> None:
    check_player(player, seed=seed)
    check_player(player, Loans(1).hypotheses("pool"), seed=seed)
    check_player(player, SEGMENTS, seed=seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_players_with_a_scale_for_every_part(seed: int) -> None:
    check_player(ContextFTPL(per_part=True), SEGMENTS, seed=seed)
    check_player(ExponentialWeights(per_part=True), SEGMENTS.with_prior("flat"), seed=seed)


@pytest.mark.parametrize("schedule", SCHEDULE_EXAMPLES, ids=repr)
def test_schedules(schedule: Schedule) -> None:
    check_schedule(schedule)


@pytest.mark.parametrize("selection", SELECTION_EXAMPLES, ids=repr)
def test_selections(selection: Selection) -> None:
    check_selection(selection)


@pytest.mark.parametrize("name", HERE)
def test_worlds(name: str) -> None:
    check_world(WORLDS[name].make(5), rounds=6)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines(name: str) -> None:
    if name == "gillen":  # defined in its own world alone
        check_baseline(BASELINES[name], Linear(1).hypotheses())
        return
    check_baseline(BASELINES[name])
    check_baseline(BASELINES[name], Loans(1).hypotheses())


def test_the_checks_need_numpy_alone() -> None:
    """Neither pytest nor any optional library; also not the compiled engine's."""
    program = """
import sys
blocked = ("numba", "scipy", "joblib", "matplotlib", "jinja2", "click", "rich", "pytest")
sys.modules.update(dict.fromkeys(blocked))
import warnings
from likewise.errors import SlowEngine
warnings.simplefilter("ignore", SlowEngine)
from likewise.simulate import untaught
from likewise.testing import *
from likewise.simulate import Loans
from studies.baselines.gillen import Linear
from likewise.panel import LargestGap
from likewise.learner.players import ExponentialWeights
world = Loans(1, k=3)
check_hypotheses(world.hypotheses())
check_world(world, rounds=2)
check_player(ExponentialWeights())
check_baseline(untaught)
check_selection(LargestGap())
check_metric(world.panel.auditors[0].distance, world.encounter(1).people)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
