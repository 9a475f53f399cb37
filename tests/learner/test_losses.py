"""Other base losses than 0-1 (a footnote of the paper): a weight for each kind of error, by person;
fractions as labels, for the absolute and the squared loss of a decision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from likewise import Pool
from likewise.errors import EventRefused, ParameterError
from likewise.learner import Learner, SelfTuned, State, certificate, deploy, learn
from likewise.learner.bounds import bounds
from likewise.learner.costs import FullInformation, Lifted, Loss
from likewise.learner.events import Decision, Person
from likewise.learner.state_files import dump_state, parse_state
from likewise.numerics.fixed_point import ONE
from likewise.people import Feature, FeatureSchema

TABLE = np.array([[0, 0], [0, 1], [1, 1]])


def pool() -> Pool:
    return Pool.from_table(TABLE.tolist())


def learner(loss: Loss, **settings: Any) -> Learner:
    settings = {"schedule": SelfTuned(eta=0.5, x=0.3), "loss": loss, **settings}
    return Learner(pool(), 2, 1.0, 0.5, 3, **settings)


def loss_of(loss: Loss, h: float, y: float) -> float:
    """v·(1 − y)·h + w·y·(1 − h)."""
    v, w = float(loss.approval), float(loss.rejection)
    return v * (1 - y) * h + w * y * (1 - h)


LOSSES = [
    Loss(),
    Loss(0.2, 1.0),
    Loss(1.0, 0.25),
    Loss(0.5, 0.5),
    Loss(fractions=True),
    Loss(0.5, 0.75, fractions=True),
]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("y", [0.0, 0.25, 1.0])
def test_a_cost_is_the_loss_of_approving_less_that_of_rejecting(loss: Loss, y: float) -> None:
    weights = (round(float(loss.approval) * ONE), round(float(loss.rejection) * ONE))
    unit = 1 << 16
    cost = FullInformation(unit).labelled(Decision("ann", True, 0), round(y * ONE), weights)
    assert cost == pytest.approx(unit * (loss_of(loss, 1, y) - loss_of(loss, 0, y)), abs=1)
    # one-sided, on average over a decision of chance q, with the rejected charged at once
    q = 0.25
    seen = Decision("ann", True, 0, round(ONE / q))
    lifted = Lifted(unit)
    mean = q * lifted.labelled(seen, round(y * ONE), weights)
    mean += (1 - q) * lifted.sealed(Decision("ann", False, 0), weights)
    assert mean == pytest.approx(cost, abs=2)
    assert abs(lifted.labelled(seen, round(y * ONE), weights)) <= lifted.largest(round(1 / q))


def test_squared_and_absolute_loss_of_a_decision_have_the_same_cost() -> None:
    for y in np.linspace(0, 1, 9):
        squared = (1 - y) ** 2 - (0 - y) ** 2
        assert squared == pytest.approx(abs(1 - y) - abs(0 - y)) == pytest.approx(1 - 2 * y)


def played(settings: Learner, rounds: int = 150) -> tuple[State, float, np.ndarray[Any, Any]]:
    """The state, what π^t has lost, and what every hypothesis has: the panel is silent."""
    state, rng, paid, totals = State.start(settings), np.random.default_rng(2), 0.0, np.zeros(3)
    for _ in range(rounds):
        state, deployment = deploy(state, settings.hypotheses.schema.people([[0, 0, 1], [0, 1, 1]]))
        labels = (rng.random(2) < [0.3, 0.6]).astype(float)
        if settings.loss.fractions:
            labels = np.round(rng.random(2) * 64) / 64
        for i, (score, y) in enumerate(zip(deployment.scores, labels, strict=True)):
            paid += loss_of(settings.loss, float(score), float(y))
            totals += [loss_of(settings.loss, float(h), float(y)) for h in TABLE[:, i]]
        state = learn(state, deployment, labels=labels.tolist())
    return state, paid, totals


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_certificate_is_of_the_loss(loss: Loss) -> None:
    """Nobody objects, so it is the regret itself; and no bound is below that."""
    settings = learner(loss)
    state, paid, totals = played(settings)
    regret, actual = paid - float(totals.min()), certificate(state)
    assert actual.regret == pytest.approx(regret, abs=2 * 150 * 2**-15)
    assert regret <= actual.regret
    (bound,) = bounds(settings, 150)
    assert regret <= bound.regret
    assert parse_state(dump_state(state)).learner.loss == loss


def test_a_weight_moves_what_is_learnt() -> None:
    """Of people who repay with chance .6 the wrong approvals weigh four times as much, or not."""
    plain, _, totals = played(learner(Loss()), 600)
    careful, _, weighted = played(learner(Loss(1.0, 0.25)), 600)
    assert totals.argmin() == 1
    assert weighted.argmin() == 0
    people = pool().schema.people([[0, 0, 1], [0, 1, 1]])
    assert deploy(plain, people)[1].scores[1] > 0.8
    assert deploy(careful, people)[1].scores[1] < 0.2


def test_a_weight_may_be_a_feature_of_the_person() -> None:
    loss = Loss(rejection="amount")
    schema = FeatureSchema((Feature("amount", low=0, high=200),))
    people = [schema.people([[amount]]) for amount in (0, 50, 200)]
    weights = [loss.weights(schema, Person("ann", tuple(p.x[0].tolist()))) for p in people]
    assert weights == [(ONE, 0), (ONE, ONE // 4), (ONE, ONE)]
    with pytest.raises(EventRefused, match="has no amount, which says what an error costs"):
        loss.weights(schema, Person("ann", (math.nan,)))


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (Loss(approval="income"), "loss must name a feature with a range"),
        ("zero-one", "loss must be of the class Loss"),
    ],
)
def test_a_loss_that_fits_nobody_is_refused(loss: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        learner(loss)
    with pytest.raises(ParameterError, match="loss approval must be in"):
        Loss(approval=1.5)
    with pytest.raises(ParameterError, match="loss rejection must be in"):
        Loss(rejection=math.nan)


def test_fractions_are_for_a_loss_that_has_them() -> None:
    people = pool().schema.people([[0, 0, 1], [0, 1, 1]])
    for loss, said in ((Loss(), "0 or 1"), (Loss(fractions=True), "a number from 0 to 1")):
        state, deployment = deploy(State.start(learner(loss)), people)
        with pytest.raises(EventRefused, match=f"a label must be {said}; got 1.5"):
            learn(state, deployment, labels=[0, 1.5])


def test_a_plain_learner_is_written_as_it_always_was() -> None:
    assert "loss" not in learner(Loss()).settings()
    weighted = learner(Loss(0.5))
    assert Learner.from_spec(weighted.spec()).loss == Loss(0.5)
