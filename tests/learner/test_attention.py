"""What the panel is asked: every attention, its responses, what it learns, and what is refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import EventRefused, ParameterError, StateFileError
from likewise.learner import Learner, State, apply, asking, decide, deploy, learn
from likewise.learner.attention import (
    Dominance,
    EveryPossiblePair,
    Everything,
    PanelModel,
    Possible,
    Response,
    ask,
    ask_all,
    attention_named,
)
from likewise.learner.events import Arrived, Audited, Person, Sealed
from likewise.learner.fold import possible_pairs
from likewise.learner.rounds import Deployment
from likewise.learner.state_files import VERSION, dump_state, parse_state
from likewise.numerics.fixed_point import ONE, to_units
from likewise.numerics.logistic import Logistic
from likewise.panel.reports import FirstPair
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema
from likewise.registry import ATTENTIONS
from likewise.simulate.loans import Loans
from likewise.simulate.rounds import Transcript, parse_delay, play
from likewise.simulate.world import Encounter

WORLD = Loans(seed=4)
LEARNER = Learner(WORLD.hypotheses(), 8, 0.3, 0.3, 4)
EVERY = ["everything", "possible", "share:0.25", "dominance", "model", "model:personal=1"]


def played(attention: str, rounds: int = 200, **settings: Any) -> Transcript:
    delay = parse_delay(settings.pop("delay", "0"))
    learner = replace(LEARNER, attention=attention, **settings)
    return play(WORLD, learner, rounds, delay=delay, keep=lambda _t: True)


@pytest.mark.parametrize("settings", [{}, {"feedback": "one-sided"}, {"delay": "7"}], ids=str)
def test_possible_is_the_same_game_as_everything_bit_for_bit(settings: dict[str, Any]) -> None:
    everything, possible = played("everything", **settings), played("possible", **settings)
    for name in ("error", "violation", "reported", "lam", "largest_gap"):
        assert getattr(everything, name).tolist() == getattr(possible, name).tolist()
    assert everything.state.costs.tolist() == possible.state.costs.tolist()
    assert possible.audited.sum() < everything.audited.sum() == 200
    gaps = [np.ptp(moment.deployment.units) for moment in possible.moments]
    assert possible.audited.tolist() == [gap > LEARNER.sensitivity for gap in gaps]


@pytest.mark.parametrize("attention", EVERY)
def test_a_state_is_saved_with_what_was_learnt_and_goes_on_bit_for_bit(attention: str) -> None:
    learner = replace(LEARNER, attention=attention)
    state = State.start(learner)
    for t in range(1, 61):
        if t == 31:
            other = parse_state(dump_state(state), learner=learner)
            assert other == state
            state = other
        encounter = WORLD.encounter(t)
        state, deployment = deploy(state, encounter.people)
        if t == 30:
            assert parse_state(dump_state(state)) == state, "with an open round"
        report = response(state, encounter, deployment)
        state = learn(state, deployment, labels=encounter.labels, report=report)
    straight = play(WORLD, learner, 60, selection=FirstPair()).state
    assert (state.costs.tolist(), state.looks) == (straight.costs.tolist(), straight.looks)
    assert (state.memory != ()) == (attention.split(":", maxsplit=1)[0] in ("dominance", "model"))


def test_a_model_looks_at_less_and_counts_what_it_looked_at() -> None:
    full, model = played("possible", 600), played("model", 600)
    state = model.state
    assert model.audited.sum() == state.looks.rounds < 0.6 * full.audited.sum()
    assert model.pairs_shown.sum() == state.looks.pairs < 0.5 * full.pairs_shown.sum()
    assert abs(model.error.mean() - full.error.mean()) < 0.15
    assert state.looks.surprises <= model.reported.sum()


def test_the_round_says_what_was_asked_and_with_which_memory() -> None:
    game = played("model", 150)
    shown = {"nothing": 0, "part": 0, "whole": 0}
    for moment in game.moments:
        asked = moment.asking
        kind = "whole" if asked.whole else "part" if asked.pairs else "nothing"
        shown[kind] += 1
        assert asked.looked_at == bool(asked.shown)
        assert len(asked.memory) == 32
        for pair in moment.report:
            assert asked.asks(pair)
        if asked.pairs is not None and not asked.whole:
            assert 0 < asked.chance < ONE
    assert min(shown.values()) > 0
    assert len({moment.asking.memory for moment in game.moments}) > 20


@given(scores=st.lists(st.integers(0, 60), min_size=1, max_size=9), least=st.integers(0, 70))
def test_asking_about_all_is_asking_about_each(scores: list[int], least: int) -> None:
    """Only the number of possible pairs is computed: that of the pairs that could be listed."""
    people = tuple(Person(f"p{i}", (1.0, 0.0, 1.0, 0.0)) for i in range(len(scores)))
    pairs = Possible.of(SCHEMA, people, scores, least)
    for attention in (Everything(), EveryPossiblePair()):
        assert ask_all(attention, scores, least) == ask(attention, (), pairs, 1, 1)


def test_the_coin_depends_on_seed_and_round_alone() -> None:
    """Whether a round is shown whole is one comparison with the chance, thrown after all else."""
    first = played("share:0.3", 100)
    again = played("share:0.3", 100, player="context-ftpl")
    assert first.audited.tolist() == again.audited.tolist()


def response(state: State, encounter: Encounter, deployment: Deployment) -> list[Any] | None:
    """The panel's report of one of the pairs that it was asked about; None if it was not asked."""
    asked, ids = asking(state, deployment.round), encounter.people.ids
    exceeded = encounter.pivots.exceeded(deployment.units, state.learner.sensitivity)
    pairs = [(ids[i], ids[j]) for i, j in np.argwhere(exceeded)]
    shown = [pair for pair in pairs if asked.asks(pair)][:1]
    return shown if asked.looked_at or asked.quiet else None


def test_answers_to_what_was_not_asked_are_refused() -> None:
    state, refused = State.start(replace(LEARNER, attention="model")), set[str]()
    for t in range(1, 400):
        encounter = WORLD.encounter(t)
        state, deployment = deploy(state, encounter.people)
        asked, name = asking(state, deployment.round), deployment.round
        others = possible_pairs(state.open[name], state.learner, asked.sensitivity).ids()
        others = [pair for pair in others if not asked.asks(pair)]
        if not asked.looked_at and not asked.quiet:
            with pytest.raises(EventRefused, match="not put before the panel"):
                apply(state, Audited(name, "quiet"))
            refused.add("round")
        elif others:
            with pytest.raises(EventRefused, match="was not asked about"):
                apply(state, Audited(name, "report", (others[0],)))
            refused.add("pair")
        report = response(state, encounter, deployment)
        state = learn(state, deployment, labels=encounter.labels, report=report)
        if refused == {"round", "pair"}:
            return
    raise AssertionError(f"only {refused} came up")


def test_what_is_asked_depends_on_the_scores_of_everybody() -> None:
    ann = Person("ann", (640.0, 52.0, 30.0, 7.0, 0.0, 6.0, 0.0, 2.0, 4.0))
    state = apply(State.start(LEARNER), Arrived("r1", (ann,)))
    with pytest.raises(EventRefused, match="1 people are undecided, and what a panel is asked"):
        asking(state, "r1")
    decided = apply(state, decide(state, "r1"))
    assert asking(decided, "r1") == asking(apply(decided, Sealed("r1", "panel")), "r1")


@pytest.mark.parametrize(
    ("attention", "message"),
    [
        ("model:0", r"least must be in \[0.001, 1\]; got 0.*have no bound on what nobody saw"),
        ("share:0", r"share must be in \[0.001, 1\]"),
        ("share:2", r"share must be in \[0.001, 1\]"),
        ("possible:1", "attention must be a name, or a name and numbers; got 'possible:1'"),
        ("model:much", "attention must be a name, or a name and numbers"),
        ("nothing", "attention must be one of everything, share, possible"),
        (None, "attention must be"),
    ],
)
def test_a_wrong_attention_is_refused_with_the_reason(attention: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        replace(LEARNER, attention=attention)


def test_a_memory_of_other_features_is_refused() -> None:
    state = played("model", 20).state
    body = json.loads(dump_state(state).split(b"\n", 1)[1])
    body["memory"] = body["memory"][:-1]
    content = json.dumps(body).encode()
    header = f"{VERSION} {len(content)} {hashlib.sha256(content).hexdigest()}\n".encode()
    with pytest.raises(StateFileError, match="memory must be that of the learner"):
        parse_state(header + content)
    other = replace(LEARNER, attention="possible")
    with pytest.raises(StateFileError, match="attention differs in its"):
        parse_state(dump_state(state), learner=other)


@pytest.mark.parametrize("text", EVERY)
def test_an_attention_is_known_by_its_json(text: str) -> None:
    attention = attention_named(text)
    assert ATTENTIONS.read(attention.spec()) == attention
    assert ATTENTIONS[attention.name] is type(attention)


SCHEMA = FeatureSchema((
    Feature("income", low=0, high=100),
    Feature("job", "category", levels=("a", "b")),
    Feature("years", missing="unknown"),
    Feature("rating", low=0, high=1, visible=False),
))  # fmt: skip


def pairs_of(*rows: tuple[float, ...], scores: list[int]) -> Possible:
    people = tuple(Person(f"p{i}", row) for i, row in enumerate(rows))
    return Possible.of(SCHEMA, people, scores, 100)


def test_differences_by_hand() -> None:
    """Shares of the range, levels equal or not, of the sizes without a range; what is missing."""
    nan = float("nan")
    pairs = pairs_of((20, 0, 3, 0), (70, 1, 1, 1), (70, 1, nan, 1), scores=[0, 500, 700])
    assert pairs.ids() == [("p1", "p0"), ("p2", "p0"), ("p2", "p1")]
    assert pairs.differences.tolist() == [[0.5, 1, 0.5], [0.5, 1, 1], [0, 0, 1]]
    assert len(pairs_of((20, 0, 3, 0), scores=[5])) == 0


def test_dominance_knows_what_is_farther_apart_and_has_a_smaller_gap() -> None:
    attention = Dominance()
    accepted = pairs_of((20, 0, 1, 0), (60, 0, 1, 0), scores=[0, 500])
    quiet = np.zeros(1, dtype=np.bool_)
    memory = attention.learn(attention.start(SCHEMA), Response(accepted, ~quiet, quiet, True))

    def unknown(income: float, job: int, score: int) -> bool:
        pairs = pairs_of((20, 0, 1, 0), (income, job, 1, 0), scores=[0, score])
        return bool(attention.unknown(memory, pairs)[0])

    assert not unknown(60, 0, 500)
    assert not unknown(80, 1, 400)
    assert unknown(50, 1, 400)
    assert unknown(80, 1, 501)
    surprise = Response(accepted, quiet, ~quiet, True)
    assert attention.learn(memory, surprise) == attention.start(SCHEMA)


def test_the_model_learns_a_threshold_and_is_put_on_probation_by_a_surprise() -> None:
    """The panel reports a gap above the difference of incomes; a hundred responses suffice."""
    model, rng = PanelModel(), np.random.default_rng(5)
    memory = model.start(SCHEMA)
    assert model.chance(memory) == ONE
    for _ in range(150):
        income, score = rng.uniform(0, 100), int(rng.uniform(200, ONE))
        pairs = pairs_of((0, 0, 1, 0), (income, 0, 1, 0), scores=[0, score])
        reported = np.array([score / ONE > income / 100])
        memory = model.learn(memory, Response(pairs, ~np.zeros(1, np.bool_), reported, True))
    near = pairs_of((0, 0, 1, 0), (90, 0, 1, 0), scores=[0, ONE // 10])
    far = pairs_of((0, 0, 1, 0), (10, 0, 1, 0), scores=[0, 9 * ONE // 10])
    assert not model.unknown(memory, near)[0]
    assert model.unknown(memory, far)[0]
    assert model.chance(memory) < ONE // 4
    asked = np.zeros(1, dtype=np.bool_)
    after, chances = memory, [model.chance(memory)]
    for _ in range(4):
        after = model.learn(after, Response(near, asked, ~asked, True))
        assert model.chance(after) > 0.8 * ONE, "a surprise is followed by a whole round"
        rested = (*after[:2], 0.0, *after[3:])
        chances.append(model.chance(rested))
    # The first costs half of the trust; the fourth in a row nearly all that is left.
    n, s = memory[0], memory[1] + 1.0
    assert chances[1] == to_units(3 * (1 + s) / (3 * (1 + s) + n / (1 + s)))
    assert chances == sorted(chances)
    assert chances[-1] > 0.85 * ONE
    assert model.fits(after, SCHEMA)


def test_surprises_widen_what_no_pair_differs_in_to_2_to_the_40th_at_most() -> None:
    model, no = PanelModel(), np.zeros(1, dtype=np.bool_)
    pairs = pairs_of((0, 0, 1, 0), (90, 0, 1, 0), scores=[0, ONE // 10])
    memory = model.start(SCHEMA)
    for _ in range(60):
        memory = model.learn(memory, Response(pairs, no, ~no, True))
    assert Logistic.of(memory[5:]).covariance.max() == 2.0**40


def test_a_model_that_was_surprised_vouches_for_fewer_rounds() -> None:
    """Every sixth round that nobody is asked about steps; after s surprises every 6 + 5·s-th."""
    pairs = pairs_of((0, 0, 1, 0), (90, 0, 1, 0), scores=[0, ONE // 10])
    no = np.zeros(1, dtype=np.bool_)
    for steps, expected in ((6, [6, 11, 16]), (1, [1, 1, 1]), (0, [0, 0, 0])):
        model = PanelModel(steps=steps)
        memory, periods = model.start(SCHEMA), list[int]()
        for _ in range(3):
            periods.append(model.period(memory))
            memory = model.learn(memory, Response(pairs, no, ~no, True))
        assert periods == expected


@pytest.mark.parametrize(
    "text", ["model:x", "model:least=", "possible:3", "model:least=0.1,least=0.2", "model:0.1,0.2",
             "model:steps=2.5", "model:steps=nan", "dominance:remembered=inf", "model:shoe=1"],
)  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        attention_named(text)


def test_parameters_are_read_by_name() -> None:
    expected = PanelModel(least=0.1, patience=5.0, steps=2)
    assert attention_named("model:least=0.1,patience=5,steps=2") == expected
    assert attention_named("model:0.1,steps=2") == PanelModel(least=0.1, steps=2)


@pytest.mark.parametrize("late", [0, 3])
def test_a_report_is_followed_by_a_whole_round(late: int) -> None:
    """Once: until a round has been shown whole; and not where nothing was reported."""
    model = PanelModel(patience=0.01)
    pairs = pairs_of((20, 0, 1, 0), (60, 0, 1, 0), scores=[0, ONE])
    yes, no = np.ones(len(pairs), np.bool_), np.zeros(len(pairs), np.bool_)
    sure = model.learn(model.start(SCHEMA), Response(pairs, yes, no, True))
    assert model.chance(sure) == to_units(model.least)
    reported = model.learn(sure, Response(pairs, yes, yes, False, late))
    assert model.chance(reported) == ONE // (1 + late)
    quiet = model.learn(reported, Response(pairs, yes, no, False))
    assert model.chance(quiet) == ONE // (1 + late)
    assert model.chance(model.learn(quiet, Response(pairs, yes, no, True))) < ONE // (1 + late)
    expected = model.learn(sure, Response(pairs, yes, yes, True))
    assert model.chance(expected) < ONE // 4, "what was shown whole tells all"
