"""What an attention computes, beside its formulas.

Mutants that die here, each run by ``studies/scripts/mutants.py``: surprises left out of c; the edge
without ln(1 − doubt); a step that is not divided by its gain; a variance that a surprise leaves as
it is; an interval of unseen reports above the rounds that were shown in part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
import pytest

from likewise import Pool
from likewise.learner import Learner, State, asking, deploy, learn
from likewise.learner.attention import (
    Asking,
    Attention,
    BoolArray,
    Memory,
    PanelModel,
    Possible,
    Response,
    ask,
)
from likewise.learner.certificate import unseen_reports
from likewise.learner.events import Person
from likewise.learner.state import Looks, changed
from likewise.numerics.fixed_point import ONE, to_units
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from tests.paper.test_audit_share import HYPOTHESES

SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
ROW = np.array([4 * 0.5, 4 * 0.25, 1.0])  # 4·gap, 4·difference, 1
YES, NO = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)


def one_pair() -> Possible:
    people = (Person("a", (50.0,)), Person("b", (25.0,)))
    return Possible.of(SCHEMA, people, [ONE // 2, 0], 0)


def test_the_chance_of_a_whole_round() -> None:
    """c/(c + n) with c = patience·(1 + s); at least the least."""
    model = PanelModel(least=0.05, patience=10.0)
    for quiet, surprises, followed, expected in (
        (5.0, 2.0, 0.0, 30 / 35), (5.0, 0.0, 0.0, 10 / 15), (1e6, 0.0, 0.0, 0.05),
        (1e6, 0.0, 0.5, 0.5),
    ):  # fmt: skip
        assert model.chance((quiet, surprises, followed)) == to_units(expected)


@pytest.mark.parametrize("reported", [True, False])
def test_a_newton_step(reported: bool) -> None:
    """From mean 0 and covariance 1: chance ½, gain 1 + |x|²/4, x·(y − ½)/gain."""
    model = PanelModel()
    response = Response(one_pair(), YES, YES if reported else NO, True)
    memory = model.learn(model.start(SCHEMA), response)
    gain = 1 + 0.25 * float(ROW @ ROW)
    assert memory[:3] == (1.0, 0.0, 0.0)
    assert np.array(memory[3:6]) == pytest.approx(ROW * ((1.0 if reported else 0.0) - 0.5) / gain)
    covariance = np.eye(3) - np.outer(ROW, ROW) * 0.25 / gain
    assert np.array(memory[6:]).reshape(3, 3) == pytest.approx(covariance)


def test_a_surprise_doubles_the_variance() -> None:
    model = PanelModel()
    start = (7.0, 0.0, 0.0, *model.start(SCHEMA)[3:])
    memory = model.learn(start, Response(one_pair(), NO, YES, True))
    gain = 1 + 0.25 * 2 * float(ROW @ ROW)
    covariance = 2 * np.eye(3) - np.outer(2 * ROW, 2 * ROW) * 0.25 / gain
    # Trust is halved by the first surprise, and the round after the report is shown whole.
    assert memory[:3] == (3.5, 1.0, 1.0)
    assert np.array(memory[6:]).reshape(3, 3) == pytest.approx(covariance)


def test_a_pair_is_unknown_above_the_edge() -> None:
    """mean + sd > ln(doubt/(1 − doubt)), a hair on either side."""
    sd = sqrt(float(ROW @ ROW))
    for doubt in (0.2, 0.6):
        edge = log(doubt / (1 - doubt))
        for beyond in (True, False):
            constant = edge - sd + (1e-6 if beyond else -1e-6)
            memory = (0.0, 0.0, 0.0, 0.0, 0.0, constant, *np.eye(3).ravel().tolist())
            assert PanelModel(doubt=doubt).unknown(memory, one_pair()).tolist() == [beyond]


def test_unseen_reports_are_at_most_the_rounds_that_were_shown_in_part() -> None:
    learner = Learner(HYPOTHESES, 2, 0.3, 0.3, 1, attention="model:0.1")
    start = State.start(learner)
    many = unseen_reports(changed(start, looks=Looks(rounds=900, pairs=900, in_part=800))).high
    assert 2 < many < 800
    assert unseen_reports(changed(start, looks=Looks(rounds=3, pairs=3, in_part=2))).high == 2


def test_possible_pairs_exceed_the_threshold() -> None:
    """By one unit, and not by none."""
    people = (Person("a", (50.0,)), Person("b", (25.0,)))
    assert [len(Possible.of(SCHEMA, people, [gap, 0], 100)) for gap in (100, 101)] == [0, 1]


def test_where_a_share_is_audited_a_report_moves_the_multiplier_as_much_more() -> None:
    """From lam = 0 to mu·beta/share; half of the rounds are audited."""
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    learner = Learner(pool, 2, 0.3, 0.3, 1, attention="share:0.5")
    people, state = pool.schema.people([[0, 0, 1], [0, 1, 1]]), State.start(learner)
    while not state.reports:
        state, deployment = deploy(state, people)
        looked_at = asking(state, deployment.round).looked_at
        report = [(people.ids[1], people.ids[0])] if looked_at else None
        state = learn(state, deployment, labels=[0, 1], report=report)
    assert state.lam == pytest.approx(learner.schedule.mu(1) * learner.margins.beta / 0.5)


@dataclass(frozen=True)
class Coin(Attention):
    """Asks about nothing, and shows a round whole with a chance in units."""

    units: int
    name, summary = "coin", "a coin"

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:
        return np.zeros(len(pairs), dtype=np.bool_)

    def chance(self, memory: Memory) -> int:
        return self.units


def test_the_coin_is_below_its_chance() -> None:
    """By one unit, and not by none."""
    for number in range(1, 6):
        thrown = Stream(3, Purpose.LOTTERY, number).below(ONE)
        wholes = [ask(Coin(thrown + more), (), one_pair(), number, 3).whole for more in (0, 1)]
        assert wholes == [False, True]


def test_rounds_shown_in_part_are_those_of_which_some_pairs_were_not() -> None:
    whole = Asking(pairs=(("a", "b"),), possible=3, whole=True)
    part, unasked = replace(whole, whole=False), replace(whole, whole=False, looked_at=False)
    counts = [Looks().asked(asked) for asked in (whole, part, unasked)]
    assert [(c.rounds, c.pairs, c.in_part) for c in counts] == [(1, 3, 0), (1, 1, 1), (0, 0, 1)]
