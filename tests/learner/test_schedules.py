"""Schedules: the paper's constants, ours, and what is out of range."""

from __future__ import annotations

import math
from typing import Any

import pytest

from likewise.errors import ParameterError
from likewise.hypotheses import Pool
from likewise.learner import Learner, Margins, Paper, SelfTuned
from likewise.learner.bounds import bounds
from likewise.registry import SCHEDULES
from likewise.simulate import Loans

POOL = Pool.from_table([[0, 0], [0, 1], [1, 1]])


def test_the_papers_constants() -> None:
    schedule = Paper(horizon=10_000)
    assert schedule.mu(17) == 0.01
    assert schedule.scale(0.0, 10, 10, 1.0) == pytest.approx(3.2e5)  # 1/omega = 32ks/mu
    draws = schedule.draws(schedule.margins(0.3, 0.3, exact=False), 10, 1)
    assert draws == math.ceil(64 * math.log(2 * 10 * 10_000 / 0.05) / 0.09)


def test_tight_draws_are_half_of_the_papers() -> None:
    audit = Margins(0.3, 0.3, 0.15, 0.075)
    paper, tight = (Paper(1000, draws_rule=rule).draws(audit, 4, 1) for rule in ("paper", "tight"))
    assert tight == math.ceil(32 * math.log(2 * 4 * 1000 / 0.05) / 0.09)
    assert abs(paper - 2 * tight) <= 1


def test_the_frontier_parameter_lowers_the_weight_of_the_error() -> None:
    assert Paper(10_000, b=0.25).error_weight() == pytest.approx(0.01)
    assert Paper(10_000, b=0.0).error_weight() == 1.0


def test_the_default_needs_fewer_draws_than_the_tight_preset() -> None:
    default = Paper(8000, draws_rule="r").draws(Margins(0.3, 0.3, 0.15, 0.12), 4, 1)
    tight = Paper(8000, draws_rule="tight").draws(Margins(0.3, 0.3, 0.15, 0.075), 4, 1)
    assert tight / default > 2.3


def test_an_exact_player_has_no_sampling_error() -> None:
    learner = Learner(POOL, 2, 0.3, 0.3, 1, player="exponential-weights")
    assert learner.margins.r == 0.0


@pytest.mark.parametrize("schedule", [SelfTuned(eta=0.3, x=2.0), Paper(50, b=0.1)])
def test_a_schedule_can_be_written_as_json_and_read_back(schedule: Any) -> None:
    assert SCHEDULES.read(schedule.spec()) == schedule


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Learner(POOL, 2, 0.0, 0.1, 1), r"alpha must be in \(0, 1\]; got 0.0"),
        (lambda: Learner(POOL, 2, 1.5, 0.1, 1), "alpha must be in"),
        (lambda: Learner(POOL, 2, math.nan, 0.1, 1), "alpha must be in"),
        (lambda: Learner(POOL, 2, 0.3, 0.0, 1), r"eps must be in \(0, alpha\]"),
        (lambda: Learner(POOL, 2, 0.3, 0.4, 1), r"eps must be in \(0, alpha\] = \(0, 0.3\]"),
        (lambda: Learner(POOL, 0, 0.3, 0.3, 1), "k must be an integer of at least 1; got 0"),
        (lambda: Learner(POOL, 2, 0.3, 0.3, -1), "seed must be"),
        (lambda: Learner(POOL, 2, 0.3, 0.3, 1, player="best"), "player must be one of"),
        (lambda: Learner(POOL, 2, 0.3, 0.3, 1, SelfTuned(kappa=0.3)), r"kappa must be in \[0, eps"),
        (lambda: Learner(POOL, 2, 0.3, 0.3, 1, SelfTuned(kappa=-0.1)), "kappa must be in"),
        (
            lambda: Learner(POOL, 2, 0.3, 0.3, 1, SelfTuned(r=0.21), "context-ftpl"),
            r"r must be in \[0, eps − kappa\)",
        ),
        (
            lambda: Learner(POOL, 2, 0.3, 0.3, 1, SelfTuned(r=0.0), "context-ftpl"),
            "r must be above 0",
        ),
        (
            lambda: Learner(POOL, 2, 0.3, 0.3, 1, SelfTuned(kappa=0.0), "context-ftpl"),
            "kappa must be above 0",
        ),
        (lambda: Learner(POOL, 2, 0.3, 0.3, 1, Paper(100)), "must be context-ftpl"),
        (lambda: SelfTuned(eta=0.0), "eta must be a positive number"),
        (lambda: SelfTuned(x=-1.0), r"x must be in \[1e-09, 1e\+09\]; got -1.0"),
        (lambda: SelfTuned(x=1e10), r"x must be in \[1e-09, 1e\+09\]; got 10000000000"),
        (lambda: SelfTuned(delta=1.0), "delta must be in"),
        (lambda: SelfTuned(outstanding=-0.5), r"outstanding must be in \[0, 1024\]; got -0.5"),
        (lambda: SelfTuned(waiting=2000.0), r"waiting must be in \[0, 1024\]; got 2000.0"),
        (lambda: Paper(1), "horizon must be"),
        (lambda: Paper(100, b=0.3), "b must be in"),
        (lambda: Paper(100, noise_divisor=0), r"noise_divisor must be in \[1e-50, 1e\+50\]"),
        (lambda: Paper(100, draws_rule="many"), "draws_rule must be"),  # type: ignore[arg-type]
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ParameterError, match="engine must be one of"):
        Learner(POOL, 2, 0.3, 0.3, 1, player="context-ftpl", engine="steam")


def test_the_papers_bound_is_worse_than_none_at_any_horizon_one_can_run() -> None:
    world = Loans(1)
    learner = Learner(world.hypotheses(), 8, 0.3, 0.3, 1, Paper(8000), "context-ftpl")
    (bound,) = bounds(learner, 8000)
    assert bound.informative == {"regret": False, "violations": False}


def test_noise_that_the_regulariser_cannot_pay_for_bounds_nothing() -> None:
    schedule = Paper(8000, noise_divisor=1e4)
    learner = Learner(POOL, 2, 0.3, 0.3, 1, schedule, "context-ftpl")
    assert not bounds(learner, 8000)[0].informative["regret"]


def test_the_papers_bound_is_what_its_inequalities_say() -> None:
    """T = 100, k = 2, s = 2, eps = 0.4: mu = 0.1, beta = 0.2, r = 0.1, c = 1/2.

    W = mu·T/4 + (320/mu)·(sk)^{3/2}·log 3 + (c·mu/2)·beta²·T + (mu³/4)·T·beta²/mu².
    """
    learner = Learner(POOL, 2, 0.4, 0.4, 1, Paper(100), "context-ftpl")
    w = 2.5 + 3200 * 4**1.5 * math.log(3) + 0.025 * 0.04 * 100 + 0.00025 * 100 * 0.04 / 0.01
    (bound,) = bounds(learner, 100)
    assert bound.regret == pytest.approx(2 * w, rel=1e-9)
    assert bound.violations == pytest.approx(math.sqrt(2 * 20 * (w + 100) / 0.02), rel=1e-9)


def test_theorem_b_becomes_informative_for_the_exact_player_on_a_small_class() -> None:
    learner = Learner(POOL, 2, 0.5, 0.5, 1, player="exponential-weights")
    (bound,) = bounds(learner, 10**9)
    assert bound.informative == {"regret": True, "violations": True}


def test_a_learner_that_ignores_its_panel_has_no_bound() -> None:
    assert bounds(Learner(POOL, 2, 0.3, 0.3, 1, ignores_reports=True), 100) == ()
