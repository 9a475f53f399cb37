"""A bound belongs to who has proved it: subclasses and parts of others have none by default."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from likewise import Pool
from likewise.errors import ContractError
from likewise.hypotheses import HypothesisClass
from likewise.learner import Learner, SelfTuned, State, certificate, deploy, learn
from likewise.learner.attention import Memory, Share
from likewise.learner.bounds import bounds, proved
from likewise.learner.costs import GradientAscent
from likewise.learner.players import ExponentialWeights
from likewise.testing import check_schedule


@dataclass(frozen=True)
class Slower(SelfTuned):
    """A thousandth of the step; it says nothing of being proved."""

    def mu(self, audits: int) -> float:
        return super().mu(audits) / 1000


@dataclass(frozen=True)
class Boasting(Slower):
    """It says that theorems are about it."""

    proved = frozenset(("full",))


class Sharper(ExponentialWeights):
    """Weights by another temperature than its constants are for."""

    def default_x(self, hypotheses: HypothesisClass, *, estimated: bool = False) -> float:
        return super().default_x(hypotheses, estimated=estimated) / 100


class InTimeOnly(ExponentialWeights):
    """Full information in time is all that it says to be proved."""

    proved = frozenset(("full",))


class HalfSteps(GradientAscent):
    def step(self, lam: float, *, reported: bool, beta: float, mu: float) -> float:
        return super().step(lam, reported=reported, beta=beta / 2, mu=mu)


@dataclass(frozen=True)
class OftenLess(Share):
    """Draws fewer rounds than it says."""

    def chance(self, memory: Memory) -> int:
        return super().chance(memory) // 2


def only_constants_are_fair(learner: Learner, rounds: int) -> State:
    """Two kinds of people, whom the panel finds alike and whose labels differ."""
    state, people = State.start(learner), learner.hypotheses.schema.people([[0, 1], [0, 0]])
    for _ in range(rounds):
        state, deployment = deploy(state, people)
        wide = int(deployment.units[0] - deployment.units[1]) > learner.sensitivity
        pairs = [(deployment.ids[0], deployment.ids[1])] if wide else []
        state = learn(state, deployment, labels=[1, 0], report=pairs)
    return state


def test_a_bound_belongs_to_who_has_proved_it() -> None:
    """A subclass of the self-tuned schedule with a thousandth of its step had a bound, 'surely', on
    fewer reports than it makes; any player that is registered had the bounds for late feedback.
    """
    pool = Pool.from_table([[0, 0], [0, 1]]).with_prior("flat")
    slower = Learner(pool, 2, 0.3, 0.3, 1, Slower(eta=0.01, x=0.5))
    promised = bounds(replace(slower, schedule=SelfTuned(eta=0.01, x=0.5)), 500)[0].violations
    state = only_constants_are_fair(slower, 500)
    assert state.reports > promised
    assert bounds(slower, 500) == ()
    assert certificate(state, delay=0).from_largest_lam is None
    assert not proved(Slower())
    assert not proved(Sharper())
    plain = Learner(pool, 2, 0.3, 0.3, 1, SelfTuned(eta=0.5))
    assert bounds(plain, 500)
    assert bounds(replace(plain, dual=HalfSteps()), 500) == ()
    assert bounds(replace(plain, attention=Share(0.5)), 500)
    assert bounds(replace(plain, attention=OftenLess(0.5)), 500) == ()
    one_sided = replace(plain, feedback="one-sided")
    assert bounds(one_sided, 500)
    player = InTimeOnly()
    for learner, late in ((plain, 0), (plain, 1), (one_sided, 0)):
        other = replace(learner)
        other.__dict__["primal"] = player
        assert bool(bounds(other, 500, delay=late)) == (learner is plain and not late)


def test_a_schedule_that_boasts_is_caught() -> None:
    rule = r"it says that \['full'\] are proved, and its constants at 1 are others"
    with pytest.raises(ContractError, match=rule):
        check_schedule(Boasting())
