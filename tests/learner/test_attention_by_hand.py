"""What an attention computes, beside its formulas.

Mutants that die here, each run by ``studies/scripts/mutants.py``: surprises left out of c; the edge
without ln(1 − doubt); a step that is not divided by its gain; a variance that a surprise leaves as
it is; an edge that does not move, or moves after rounds that were shown in part; the place of the
favoured; an interval of unseen reports above the rounds that were shown in part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
import pytest

from likewise import Pool
from likewise.learner import Learner, State, apply, asking, decide, deploy, learn
from likewise.learner.attention import (
    Asking,
    Attention,
    BoolArray,
    Dominance,
    Memory,
    PanelModel,
    Possible,
    Response,
    ask,
    panel_number,
)
from likewise.learner.certificate import unseen_reports
from likewise.learner.events import Arrived, Person, Sealed
from likewise.learner.state import Looks, changed
from likewise.numerics.fixed_point import ONE, to_units
from likewise.numerics.logistic import Logistic
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from tests.paper.test_audit_share import HYPOTHESES

SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
LEAST = ONE // 8
ROW = np.array([4 * 0.375, 4 * 0.25, 1.0])  # 4·(gap − least), 4·difference, 1
YES, NO = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)


def one_pair() -> Possible:
    people = (Person("a", (50.0,)), Person("b", (25.0,)))
    return Possible.of(SCHEMA, people, [ONE // 2, 0], LEAST)


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
    assert memory[:5] == (1.0, 0.0, 0.0, 0.0, 1.0)
    assert np.array(memory[5:8]) == pytest.approx(ROW * ((1.0 if reported else 0.0) - 0.5) / gain)
    covariance = np.eye(3) - np.outer(ROW, ROW) * 0.25 / gain
    assert np.array(memory[8:]).reshape(3, 3) == pytest.approx(covariance)


@pytest.mark.parametrize(
    ("limit", "excess", "reported"),
    [(LEAST + ONE // 4, 0.25, 0.0), (LEAST, 0.0, 0.0), (LEAST // 2, 0.0, 1.0)],
)
def test_a_limit_is_a_second_lesson(limit: int, excess: float, reported: float) -> None:
    """At its limit a pair is accepted; below alpha − kappa, where nothing is, it is reported."""
    model = PanelModel(graded=True)
    response = Response(one_pair(), YES, YES, True, limits={("a", "b"): limit})
    memory = model.learn(model.start(SCHEMA), response)
    first = Logistic.start(3, 1.0).after(ROW.tolist(), 1.0)
    expected = first.after([4 * excess, 4 * 0.25, 1.0], reported)
    assert np.array(memory[5:]) == pytest.approx(np.array(expected.numbers))


def test_a_surprise_doubles_the_variance() -> None:
    model = PanelModel()
    start = (7.0, 0.0, 0.0, *model.start(SCHEMA)[3:])
    memory = model.learn(start, Response(one_pair(), NO, YES, True))
    gain = 1 + 0.25 * 2 * float(ROW @ ROW)
    covariance = 2 * np.eye(3) - np.outer(2 * ROW, 2 * ROW) * 0.25 / gain
    # Trust is halved by the first surprise, and the round after the report is shown whole.
    assert memory[:3] == (3.5, 1.0, 1.0)
    assert np.array(memory[8:]).reshape(3, 3) == pytest.approx(covariance)


def test_a_pair_is_unknown_above_the_edge() -> None:
    """mean + sd > ln(doubt/(1 − doubt)), a hair on either side."""
    sd = sqrt(float(ROW @ ROW))
    for doubt in (0.2, 0.6):
        edge = log(doubt / (1 - doubt))
        for beyond in (True, False):
            constant = edge - sd + (1e-6 if beyond else -1e-6)
            memory = (*NOBODY, 0.0, 0.0, constant, *np.eye(3).ravel().tolist())
            assert PanelModel(doubt=doubt).unknown(memory, one_pair()).tolist() == [beyond]


def test_of_another_panel_as_much_is_in_doubt_as_was_known_of_the_one_before() -> None:
    """After m responses w = (m/(m + 10))²: n and s lose w, the variances gain w/10."""
    model = PanelModel()
    ada, bob = panel_number("ada: any"), panel_number("bob: any")
    for responses, doubted in ((0.0, 0.0), (10.0, 0.25), (30.0, 0.5625)):
        before = (8.0, 2.0, 0.0, ada, responses, *model.start(SCHEMA)[5:])
        assert model.convene(before, "ada: any") is before
        memory = model.convene(before, "bob: any")
        kept = 1 - doubted
        assert memory[:5] == pytest.approx((8 * kept, 2 * kept, doubted, bob, 0.0))
        assert memory[5:8] == before[5:8]
        assert np.array(memory[8:]).reshape(3, 3) == pytest.approx((1 + doubted / 10) * np.eye(3))
    # Of the first panel nothing was known; a round that follows a report stays due.
    first = model.convene(model.start(SCHEMA), "ada: any")
    assert first == (0.0, 0.0, 0.0, ada, *model.start(SCHEMA)[4:])
    followed = model.convene((8.0, 0.0, 1.0, ada, 10.0, *first[5:]), "bob: any")
    assert followed[2] == 1.0


def test_panels_that_rotate_are_learnt_as_one() -> None:
    """Two panels in turn are soon asked as little as one; each after a hundred rounds is not."""
    quiet = Response(one_pair(), YES, NO, True)
    chances = {}
    for term in (1, 100):
        model, memory = PanelModel(), PanelModel().start(SCHEMA)
        for t in range(200):
            memory = model.convene(memory, "ada: any" if t // term % 2 else "bob: any")
            memory = model.learn(memory, quiet)
        chances[term] = model.chance(model.convene(memory, "bob: any")) / ONE
    assert chances[1] < 0.05
    assert chances[100] > 0.8


def test_another_panel_has_accepted_nothing_yet() -> None:
    dominance = Dominance()
    memory = dominance.convene(dominance.start(SCHEMA), "ada: any")
    assert dominance.unknown(memory, one_pair()).tolist() == [True]
    memory = dominance.learn(memory, Response(one_pair(), YES, NO, True))
    assert dominance.unknown(memory, one_pair()).tolist() == [False]
    assert dominance.convene(memory, "ada: any") is memory
    after = dominance.convene(memory, "bob: any")
    assert dominance.unknown(after, one_pair()).tolist() == [True]
    # What the panel of before says late is not said by the one that sits.
    late = Response(one_pair(), YES, NO, True, panel="ada: any")
    assert dominance.learn(after, late) == after
    model = PanelModel()
    started = model.convene(model.start(SCHEMA), "bob: any")
    assert model.learn(started, late)[4] == 0.0
    assert model.learn(started, replace(late, panel="bob: any"))[4] == 1.0


def test_what_is_asked_depends_on_who_will_sit() -> None:
    """Before a round is sealed, and as soon as it is, for the same panel."""
    learner = Learner(HYPOTHESES, 2, 0.3, 0.3, 1, attention="model")
    state = State.start(learner)
    people = HYPOTHESES.schema.people([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    while state.memory[4] < 5:
        state, deployment = deploy(state, people, panel="ada: any")
        looked_at = asking(state, deployment.round).looked_at
        state = learn(state, deployment, labels=[1, 0], report=() if looked_at else None)
    newcomers = tuple(
        Person(name, tuple(row)) for name, row in zip(people.ids, people.x.tolist(), strict=True)
    )
    opened = apply(state, Arrived("next", newcomers))
    decided = apply(opened, decide(opened, "next"))
    asked = {panel: asking(decided, "next", panel) for panel in ("ada: any", "bob: any")}
    assert asked["ada: any"].memory != asked["bob: any"].memory
    for panel, expected in asked.items():
        assert asking(apply(decided, Sealed("next", panel)), "next") == expected


NOBODY = (0.0,) * 5
PERSONAL = PanelModel(personal=True)


@pytest.mark.parametrize("reported", [True, False])
def test_a_personal_model_is_told_where_the_less_favoured_is(reported: bool) -> None:
    """A Newton step with one input more, 2·the place of b."""
    row = np.array([*ROW, 2 * 0.25])
    response = Response(one_pair(), YES, YES if reported else NO, True)
    memory = PERSONAL.learn(PERSONAL.start(SCHEMA), response)
    gain = 1 + 0.25 * float(row @ row)
    assert np.array(memory[6:10]) == pytest.approx(row * ((1.0 if reported else 0.0) - 0.5) / gain)
    covariance = np.eye(4) - np.outer(row, row) * 0.25 / gain
    assert np.array(memory[10:]).reshape(4, 4) == pytest.approx(covariance)


def test_a_personal_model_asks_above_an_edge_that_moves() -> None:
    """mean + sd > ln(doubt/(1 − doubt)) + how far it has moved, a hair on either side."""
    sd = sqrt(float(ROW @ ROW) + 0.25)
    for moved in (0.0, -0.7):
        for beyond in (True, False):
            constant = log(0.2 / 0.8) + moved - sd + (1e-6 if beyond else -1e-6)
            mean = (0.0, 0.0, constant, 0.0)
            memory = (*NOBODY, moved, *mean, *np.eye(4).ravel().tolist())
            assert PERSONAL.unknown(memory, one_pair()).tolist() == [beyond]


def test_surprises_lower_the_edge_and_expected_reports_raise_it() -> None:
    """By .07 and .03; what was shown in part tells nothing of surprises."""
    start = (*NOBODY, 0.5, *PERSONAL.start(SCHEMA)[6:])
    for asked, reported, whole, moved in (
        (NO, YES, True, -0.07), (YES, YES, True, 0.03), (YES, YES, False, 0.0), (YES, NO, True, 0.0)
    ):  # fmt: skip
        memory = PERSONAL.learn(start, Response(one_pair(), asked, reported, whole))
        assert memory[5] == pytest.approx(0.5 + moved)


@pytest.mark.parametrize(
    ("feature", "value", "place"),
    [
        (Feature("age", low=20, high=70), 30.0, 0.2),
        (Feature("job", "category", levels=("a", "b", "c")), 1.0, 0.5),
        (Feature("country", "category", levels=("here",)), 0.0, 0.0),
        (Feature("balance"), -3.0, -0.75),
        (Feature("years", missing="unknown"), float("nan"), 0.0),
    ],
)
def test_where_the_less_favoured_lies_in_a_range(
    feature: Feature, value: float, place: float
) -> None:
    people = (Person("a", (value,)), Person("b", (0.0,)))
    pairs = Possible.of(FeatureSchema((feature,)), people, [0, ONE], 0)
    assert pairs.less_favoured == pytest.approx(np.array([[place]]))


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
