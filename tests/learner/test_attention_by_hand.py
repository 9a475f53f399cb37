"""What an attention computes, beside its formulas.

Mutants that die here, each run by ``studies/scripts/mutants.py``: surprises left out of c; the edge
without ln(1 − doubt); a step that is not divided by its gain; a variance that a surprise leaves as
it is; an interval of unseen reports above the rounds that were shown in part.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from likewise.learner import Learner, State
from likewise.learner.attention import PanelModel, Possible, Response
from likewise.learner.certificate import unseen_reports
from likewise.learner.events import Person
from likewise.learner.state import Looks, changed
from likewise.numerics.fixed_point import ONE, to_units
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
    assert memory[:3] == (0.0, 1.0, 0.0)
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
