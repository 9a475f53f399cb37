"""Sums of costs at the largest eta, multiplier and weight of a report, and beyond: never wrapped.

Mutants that die here, each tried by hand: the check left out; one cell looked at in place of their
sum; a listed class's costs added up over its hypotheses; 2^62 for 2^60.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.errors import EventRefused
from likewise.hypotheses import HypothesisClass, Pool, Segments, Staircases
from likewise.learner import Learner, SelfTuned, State, apply, decide
from likewise.learner.attention import Asking, Share
from likewise.learner.costs import LARGEST_LAM, Geometric
from likewise.learner.events import Arrived, Audited, Decided, Decision, Labelled, Person, Sealed
from likewise.learner.schedules import LARGEST_ETA
from likewise.learner.state import changed
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.people import Feature, FeatureSchema

SCHEMA = FeatureSchema((Feature("score"), Feature("home", "flag")))
CELLS = Segments(SCHEMA, score="score", cuts=[1.0, 2.0], by=["home"])
GRID = Staircases(FeatureSchema((Feature("x"), Feature("y"))), first="x", first_cuts=[1.0],
                  second="y", second_cuts=[1.0, 2.0])  # fmt: skip
LISTED = Pool.from_table([[0, 0], [0, 1], [1, 1]])
CLASSES: list[HypothesisClass] = [CELLS, CELLS.with_prior("flat"), GRID, LISTED]


def start(hypotheses: HypothesisClass, costs: IntArray | None = None, **options: Any) -> State:
    settings: dict[str, Any] = {"schedule": SelfTuned(eta=LARGEST_ETA, kappa=0.9), **options}
    state = State.start(Learner(hypotheses, k=2, alpha=1.0, eps=1.0, seed=1, **settings))
    return state if costs is None else changed(state, costs=costs)


def somebody(hypotheses: HypothesisClass) -> tuple[Person, ...]:
    rows = np.zeros((2, len(hypotheses.schema)))
    rows[0, :] = 1.0
    return tuple(Person(f"p{i}", tuple(row)) for i, row in enumerate(rows.tolist()))


@pytest.mark.parametrize("hypotheses", CLASSES, ids=repr)
@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl", "nested-ftpl"])
@pytest.mark.parametrize("sign", [1, -1])
def test_costs_just_below_the_limit_are_weighed_as_they_are(
    hypotheses: HypothesisClass, player: str, sign: int
) -> None:
    """All that was charged says the same: everybody is approved, or nobody."""
    n = len(hypotheses.no_costs())
    amount = (1 << 60) // (1 if isinstance(hypotheses, Pool) else n) - (1 << 24)
    costs = np.full(n, sign * amount, dtype=np.int64)
    if isinstance(hypotheses, Pool):
        costs = costs * np.array([0, 0, 1])  # of approving everybody
    state = apply(start(hypotheses, costs, player=player), Arrived("r", somebody(hypotheses)))
    scores = [d.score for d in decide(state, "r").decisions]
    if player == "nested-ftpl":
        # Its weights are by what experts paid, of which this state knows nothing: the constants
        # share a half, and all classes agree.
        assert scores == pytest.approx([ONE / 4 if sign > 0 else 3 * ONE / 4] * 2, abs=ONE / 4)
    elif isinstance(hypotheses, Pool) and sign > 0:
        assert min(scores) < ONE
    else:
        assert scores == [0 if sign > 0 else ONE] * 2


@pytest.mark.parametrize("hypotheses", CLASSES, ids=repr)
@pytest.mark.parametrize("sign", [1, -1])
def test_costs_beyond_the_limit_are_refused_and_never_wrap(
    hypotheses: HypothesisClass, sign: int
) -> None:
    n = len(hypotheses.no_costs())
    amount = (1 << 60) // (1 if isinstance(hypotheses, Pool) else n) + (1 << 24)
    costs = np.full(n, sign * amount, dtype=np.int64)
    with pytest.raises(EventRefused, match="Round 'r' cannot open: costs add up to 2\\^60 units"):
        apply(start(hypotheses, costs), Arrived("r", somebody(hypotheses)))


def test_the_costs_of_a_listed_class_are_not_added_up_over_its_hypotheses() -> None:
    table = np.vstack([np.zeros(64, dtype=int), np.eye(64, dtype=int)])
    hypotheses = Pool.from_table(table)
    costs = np.full(65, 1 << 59, dtype=np.int64)
    assert apply(start(hypotheses, costs), Arrived("r", somebody(hypotheses))).opened == 1


def test_the_dearest_report_and_labels_are_charged_exactly_and_refused_in_time() -> None:
    """lam = 2^20, one in a thousand rounds audited, eta = 64; 10,000 of those would wrap around."""
    dual = Geometric(gamma=LARGEST_LAM, theta=LARGEST_LAM)
    state = start(CELLS.with_prior("flat"), dual=dual, attention=Share(0.001))
    people = (Person("ann", (2.0, 0.0)), Person("bo", (0.0, 1.0)))
    amount = round(LARGEST_LAM / state.learner.audit_share * ONE)
    for t in range(4):
        state = apply(state, Arrived(f"r{t}", people))
        decisions = (Decision("ann", True, ONE), Decision("bo", False, 0))
        state = apply(apply(state, Decided(f"r{t}", decisions)), Sealed(f"r{t}", "panel"))
        # The lottery draws few; as if it had drawn this one.
        round_ = changed(state.open[f"r{t}"], asking=Asking())
        state = state.having(round_)
        state = apply(state, Audited(f"r{t}", "report", (("ann", "bo"),)))
        state = apply(state, Labelled(f"r{t}", "ann", 0))
        if t == 0:
            assert state.costs.tolist() == [0, 0, amount + 32 * ONE, -amount, 0, 0]
            # As if there had been 400 like it.
            state = changed(state, costs=state.costs * 400, open={})
    assert state.costs.tolist()[2] == 403 * (amount + 32 * ONE)
    with pytest.raises(EventRefused, match="cannot open: costs add up"):
        apply(changed(state, costs=state.costs * 2), Arrived("more", people))
