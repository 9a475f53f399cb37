"""The fold: events in order change the state as the algorithm says; others are refused."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.errors import EventRefused, LikewiseError
from likewise.hypotheses import Segments
from likewise.learner import (
    Learner,
    SelfTuned,
    State,
    apply,
    decide,
    dump_state,
    learn,
    parse_state,
)
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Event,
    Labelled,
    Overridden,
    Person,
    Sealed,
    event_from_json,
    event_to_json,
)
from likewise.learner.rounds import deploy
from likewise.learner.state import located
from likewise.numerics.fixed_point import ONE
from likewise.people import Feature, FeatureSchema
from tests.learner.referee import fold

SCHEMA = FeatureSchema(
    (Feature("score", low=0, high=100), Feature("purpose", "category", levels=("car", "home")))
)
LENDER = Segments(SCHEMA, score="score", cuts=[25, 50, 75], by=["purpose"])
ARRAY: Any = np.array([1, 2])
ANN, BO, CY = Person("ann", (80.0, 0.0)), Person("bo", (10.0, 1.0)), Person("cy", (60.0, 0.0))
PLAYERS = pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])


def start(player: str = "auto", **settings: Any) -> State:
    """kappa = beta = 0.15."""
    options = {"k": 2, "alpha": 0.3, "eps": 0.3, "seed": 5, "player": player,
             "schedule": SelfTuned(kappa=0.15), **settings}  # fmt: skip
    return State.start(Learner(LENDER, **options))


def decided(state: State, round_id: str = "r1", people: tuple[Person, ...] = (ANN, BO)) -> State:
    state = apply(state, Arrived(round_id, people))
    return apply(state, decide(state, round_id))


def sealed(state: State, round_id: str = "r1") -> State:
    return apply(decided(state, round_id), Sealed(round_id, "panel"))


def favoured(state: State, round_id: str = "r1") -> tuple[str, str]:
    decisions = sorted(state.open[round_id].decisions.values(), key=lambda d: d.score)
    return decisions[-1].person, decisions[0].person


def uneven(state: State) -> State:
    """A round in which ann has a higher score than bo, whatever the policy."""
    state = apply(state, Arrived("r1", (ANN, BO)))
    scores = (Decision("ann", True, ONE), Decision("bo", False, 0))
    return fold(state, Decided("r1", scores), Sealed("r1", "panel"))


def test_a_label_charges_eta_over_k_on_the_persons_point() -> None:
    state = start(schedule=SelfTuned(eta=0.5))
    after = apply(sealed(state), Labelled("r1", "ann", 1))
    cell = LENDER.locate(SCHEMA.encoded(np.array([ANN.features])))[0]
    expected = np.zeros(8, dtype=np.int64)
    expected[cell] = -ONE // 4
    assert (after.costs == expected).all()


def test_a_report_charges_lam_of_its_round_and_raises_lam() -> None:
    state = start()
    first = fold(uneven(state), Audited("r1", "report", (("ann", "bo"),)))
    assert not first.costs.any(), "lam was 0 when the round opened"
    assert first.lam == pytest.approx(0.15), "beta·mu at the first audit"


def test_a_second_report_is_charged_at_the_lam_its_round_was_opened_with() -> None:
    state = fold(uneven(start()), Audited("r1", "report", (("ann", "bo"),)), Closed("r1"))
    state = apply(state, Arrived("r2", (ANN, BO)))
    state = apply(state, Decided("r2", (Decision("ann", True, ONE), Decision("bo", False, 0))))
    after = fold(state, Sealed("r2", "panel"), Audited("r2", "report", (("ann", "bo"),)))
    assert sorted(after.costs[after.costs != 0].tolist()) == [-157286, 157286]


def test_a_gap_of_exactly_the_sensitivity_is_no_violation() -> None:
    """Dies for the mutant that lets it pass."""
    for gap, fits in ((0, False), (1, True)):
        state = apply(start(k=2), Arrived("r1", (ANN, BO)))
        high = state.learner.sensitivity + gap
        scores = (Decision("ann", True, high), Decision("bo", False, 0))
        state = fold(state, Decided("r1", scores), Sealed("r1", "panel"))
        report = Audited("r1", "report", (("ann", "bo"),))
        if fits:
            assert apply(state, report).reports == 1
        else:
            with pytest.raises(EventRefused, match="asked for gaps above"):
                apply(state, report)


def test_several_pairs_are_averaged() -> None:
    state = start(k=3)
    state = fold(uneven(state), Audited("r1", "report", (("ann", "bo"),)), Closed("r1"))
    state = apply(state, Arrived("r2", (ANN, BO, CY)))
    scores = (Decision("ann", True, ONE), Decision("bo", False, 0), Decision("cy", True, ONE // 2))
    state = fold(state, Decided("r2", scores), Sealed("r2", "p"))
    after = apply(state, Audited("r2", "report", (("ann", "bo"), ("cy", "bo"))))
    assert int(np.abs(after.costs).sum()) == 4 * 78643, "the range is that of a single pair"


def test_a_quiet_round_lowers_lam_and_an_unaudited_one_does_not() -> None:
    state = fold(uneven(start()), Audited("r1", "report", (("ann", "bo"),)), Closed("r1"))
    quiet = apply(sealed(state, "r2"), Audited("r2", "quiet"))
    unaudited = apply(sealed(state, "r2"), Audited("r2", "unaudited"))
    assert quiet.lam < state.lam == unaudited.lam
    assert (quiet.audits, unaudited.audits) == (2, 1)


@PLAYERS
def test_people_who_arrive_one_by_one_are_scored_under_the_same_policy(player: str) -> None:
    together = decided(start(player))
    state = decided(start(player), people=(ANN,))
    state = apply(state, Arrived("r1", (BO,)))
    one_by_one = apply(state, decide(state, "r1"))
    for person in ("ann", "bo"):
        a = together.open["r1"].decisions[person].score
        b = one_by_one.open["r1"].decisions[person].score
        # two independent estimates of the same chance; exact for exponential weights
        assert a == b if player == "exponential-weights" else abs(a - b) < 0.2 * ONE


def test_the_policy_of_a_round_is_frozen_when_it_opens() -> None:
    state = decided(start(), people=(ANN,))
    second = fold(sealed(state, "r2"), Labelled("r2", "ann", 0), Labelled("r2", "bo", 0))
    alone = apply(state, Arrived("r1", (CY,)))
    later = apply(second, Arrived("r1", (CY,)))
    assert decide(alone, "r1") == decide(later, "r1")


@PLAYERS
def test_the_same_events_give_the_same_state(player: str) -> None:
    def once() -> bytes:
        state = sealed(start(player))
        return dump_state(fold(state, Audited("r1", "quiet"), Labelled("r1", "bo", 1)))

    assert once() == once()


@PLAYERS
def test_saving_and_loading_after_every_event_changes_nothing(player: str) -> None:
    straight, detour = start(player), start(player)
    rng = np.random.default_rng(1)
    for number in range(1, 6):
        name = f"r{number}"
        people = tuple(
            Person(f"{name}{i}", (float(rng.integers(0, 101)), float(rng.integers(0, 2))))
            for i in range(2)
        )
        straight = apply(straight, Arrived(name, people))
        verdict = decide(straight, name)
        events: list[Event] = [Arrived(name, people), verdict, Sealed(name, "p")]
        high, low = sorted(verdict.decisions, key=lambda d: -d.score)
        reported = high.score - low.score > straight.learner.sensitivity and number % 2
        pair = ((high.person, low.person),)
        events.append(Audited(name, "report", pair) if reported else Audited(name, "quiet"))
        events += [Labelled(name, p.id, int(rng.integers(0, 2))) for p in people]
        events += [Closed(name)] if number != 3 else []
        for event in events:
            detour = apply(parse_state(dump_state(detour)), event_from_json(event_to_json(event)))
        for event in events[1:]:
            straight = apply(straight, event)
    assert dump_state(straight) == dump_state(detour)


def test_deploy_and_learn_are_the_events_in_one_go() -> None:
    people = SCHEMA.encoded([ANN.features, BO.features], ids=["ann", "bo"])
    state, deployment = deploy(start(), people, round_id="r1")
    state = learn(state, deployment, labels=[1, 0], report=())
    labels = (Labelled("r1", "ann", 1), Labelled("r1", "bo", 0))
    by_hand = fold(sealed(start()), Audited("r1", "quiet"), *labels, Closed("r1"))
    assert dump_state(state) == dump_state(by_hand)


def after(labels: Any, frame: Any = None, **settings: Any) -> bytes:
    rows = pd.DataFrame({"score": [80.0, 10.0], "purpose": ["car", "home"]})
    people = SCHEMA.people(rows if frame is None else frame, ids=["ann", "bo"])
    state, deployment = deploy(start(**settings), people, round_id="r1")
    return dump_state(learn(state, deployment, labels=labels, report=None))


def test_labels_may_be_a_series_where_its_order_is_certain() -> None:
    expected = after([1, 0])
    for series in (
        pd.Series([1, 0]), pl.Series([1, 0]), pa.array([1, 0]),
        pd.Series([1, 0], index=["ann", "bo"]), pd.Series([0, 1], index=["bo", "ann"]),
        pd.Series([True, False], dtype="boolean"),
    ):  # fmt: skip
        assert after(series) == expected
    frame = pd.DataFrame({"score": [80.0, 10.0], "purpose": ["car", "home"]}, index=[7, 3])
    assert after(pd.Series([1, 0], index=[7, 3]), frame) == expected
    assert after(pd.Series([1], index=["ann"])) == after({"ann": 1})


@pytest.mark.parametrize(
    ("series", "says"),
    [
        (pd.Series([1, 0], index=[3, 7]), "another order"),
        (pd.Series([1, 0], index=["cy", "bo"]), "another order"),
        (pd.Series([1, 0, 1]), "another order"),
        (pl.Series([1, 0, 1]), "2 people but 3 labels"),
        (pl.Series([], dtype=pl.Int64), "2 people but 0 labels"),
        (pl.DataFrame({"y": [1, 0]}), "got a DataFrame. Take one column"),
        (pd.Series([1.0, None]), "must be 0 or 1; got nan"),
    ],
)
def test_a_series_of_labels_that_may_be_misread_is_refused(series: Any, says: str) -> None:
    with pytest.raises(EventRefused, match=says) as refused:
        after(series)
    assert "dtype" not in str(refused.value)


def test_a_report_that_cannot_be_is_said_in_scores() -> None:
    scores = (Decision("ann", True, 3 * ONE // 8), Decision("bo", False, ONE // 4))
    state = apply(start(), Arrived("r1", (ANN, BO)))
    state = fold(state, Decided("r1", scores), Sealed("r1", "panel"))
    with pytest.raises(EventRefused, match=r"scores are 0\.25 and 0\.375\. Name the favoured"):
        apply(state, Audited("r1", "report", (("bo", "ann"),)))
    with pytest.raises(EventRefused, match=r"is 0\.125, and the panel was asked .* above 0\.15 "):
        apply(state, Audited("r1", "report", (("ann", "bo"),)))


def test_what_comes_twice_changes_nothing() -> None:
    state = fold(uneven(start()), Audited("r1", "quiet"), Labelled("r1", "ann", 1))
    for again in (
        Arrived("r1", (ANN, BO)),
        Arrived("r1", (BO,)),
        Sealed("r1", "panel"),
        Audited("r1", "quiet"),
        Labelled("r1", "ann", 1),
    ):
        assert apply(state, again) is state
    closed = apply(state, Closed("r1"))
    assert apply(closed, Closed("r1")) is closed


def test_labels_that_never_came_are_counted() -> None:
    state = fold(sealed(start()), Audited("r1", "quiet"), Labelled("r1", "ann", 1), Closed("r1"))
    assert state.missing == 1


def test_state_does_not_grow_with_the_number_of_rounds() -> None:
    people = SCHEMA.encoded([ANN.features, BO.features], ids=["ann", "bo"])
    state, sizes = start(), []
    for number in range(1, 41):
        state, deployment = deploy(state, people, round_id=f"{number:09}")
        state = learn(state, deployment, labels=[1, 0])
        sizes.append(len(dump_state(state)) - 12 * min(number, 1024))
    assert max(sizes[20:]) - min(sizes[20:]) < 40


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([Arrived("r1", ())], "nobody arrived"),
        ([Arrived("r1", (ANN, BO, CY))], "at most k = 2"),
        ([Arrived("r1", (ANN, ANN))], "'ann' arrived twice"),
        ([Arrived("r1", (Person("x", (1.0,)),))], "has 1 features; the schema has 2"),
        ([Arrived("r1", (Person("x", (float("nan"), 0.0)),))], "'score' is missing"),
        ([Arrived("r1", (Person("x", (500.0, 0.0)),))], "must be a finite number in"),
        ([Labelled("r9", "ann", 1)], "'r9' is not open"),
        ([Sealed("r9", "p")], "'r9' is not open"),
        ([Arrived("r1", (ANN,)), Arrived("r1", (BO,))], "undecided"),
        ([Arrived("r1", (ANN,)), Sealed("r1", "p")], "undecided"),
        ([Arrived("r1", (ANN,)), Decided("r1", (Decision("bo", True, 1),))], "must be on"),
        ([Arrived("r1", (ANN,)), Decided("r1", (Decision("ann", True, -1),))], "score must be"),
    ],
)
def test_an_event_that_does_not_fit_an_unsealed_round_is_refused(
    events: list[Event], message: str
) -> None:
    state = fold(start(), *events[:-1])
    before = dump_state(state)
    with pytest.raises(LikewiseError, match=message):
        apply(state, events[-1])
    assert dump_state(state) == before


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Arrived("r1", (CY,)), "is sealed; nobody can join"),
        (Sealed("r1", "other"), "a panel is fixed then"),
        (Labelled("r1", "zoe", 1), "no person 'zoe' to label"),
        (Labelled("r1", "ann", 2), "a label must be 0 or 1; got 2"),
        (Labelled("r1", "ann", float("nan")), "a label must be 0 or 1"),
        (Audited("r1", "report", (("ann", "zoe"),)), "no person 'zoe' to report"),
        (Audited("r1", "report", (("bo", "ann"),)), "Name the favoured person first"),
        (Audited("r1", "report", (("ann", "bo"), ("ann", "bo"))), "reported twice"),
        (Closed("r1"), "no audit yet"),
    ],
)
def test_an_event_that_does_not_fit_a_sealed_round_is_refused(event: Event, message: str) -> None:
    state = uneven(start())
    before = dump_state(state)
    with pytest.raises(EventRefused, match=message):
        apply(state, event)
    assert dump_state(state) == before


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Labelled("r1", "ann", 0), "recorded as 1 and cannot become 0"),
        (Audited("r1", "unaudited"), "has an audit on record"),
        (Audited("r1", "report", ((ARRAY, "bo"),)), "id must be text"),
        (Decided("r1", (Decision("ann", True, ARRAY), Decision("bo", True, 0))), "score must be"),
        (Decided("r1", (Decision("ann", ARRAY, ONE), Decision("bo", True, 0))), "must be True or"),
    ],
)
def test_what_contradicts_the_record_is_refused(event: Event, message: str) -> None:
    """Arrays cannot be compared with what is recorded."""
    report = Audited("r1", "report", (("ann", "bo"),))
    state = fold(uneven(start()), report, Labelled("r1", "ann", 1))
    with pytest.raises(EventRefused, match=message):
        apply(state, event)


@pytest.mark.parametrize("event", [Arrived("r1", (ANN,)), Labelled("r1", "ann", 1)])
def test_a_closed_round_takes_no_more_events(event: Event) -> None:
    state = fold(sealed(start()), Audited("r1", "quiet"), Closed("r1"))
    with pytest.raises(EventRefused, match="'r1' is closed"):
        apply(state, event)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"event": "born"}, "must be one of arrived"),
        ({"event": "closed"}, "not a complete 'closed' event"),
        ({"event": "arrived", "round": "r", "people": ARRAY}, "not a complete 'arrived' event"),
        ({"event": "audited", "round": "r", "outcome": "maybe"}, "must be 'report'"),
        ({"event": "audited", "round": "r", "outcome": "report"}, "must be given for a report"),
    ],
)
def test_json_that_is_no_event_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(EventRefused, match=message):
        event_from_json(data)


def test_something_else_is_not_an_event() -> None:
    with pytest.raises(EventRefused, match="is not an event"):
        apply(start(), "hello")  # type: ignore[arg-type]


def test_a_round_of_one_person_needs_no_pair() -> None:
    people = SCHEMA.encoded([ANN.features], ids=["ann"])
    state, deployment = deploy(start(k=1), people)
    assert learn(state, deployment, labels=[1]).audits == 1


def test_as_many_labels_as_people_are_needed_without_ids() -> None:
    state, deployment = deploy(start(), SCHEMA.encoded([ANN.features, BO.features]))
    with pytest.raises(EventRefused, match="2 people but 1 labels"):
        learn(state, deployment, labels=[1])


def test_a_missing_value_comes_back_from_a_file_as_the_same_person() -> None:
    income = Feature("income", low=0, high=9, missing="not stated")
    schema = FeatureSchema((Feature("score", low=0, high=100), income))
    learner = Learner(Segments(schema, score="score", cuts=[50]), k=1, alpha=0.3, eps=0.3, seed=1)
    state = apply(State.start(learner), Arrived("r1", (Person("ann", (7.0, float("nan"))),)))
    assert parse_state(dump_state(state)) == state


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Decided("r1", ()), "must decide on somebody"),
        (Overridden("r1", "ann", 0), "must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_an_event_that_says_nothing_is_refused(event: Event, message: str) -> None:
    state = apply(uneven(start()), Overridden("r1", "ann", False))
    with pytest.raises(EventRefused, match=message):
        apply(state, event)


def test_pairs_may_be_listed_in_any_container() -> None:
    pair = favoured(uneven(start()))
    listed = Audited("r1", "report", [list(pair)])  # type: ignore[arg-type]
    state = apply(uneven(start()), listed)
    assert apply(state, Audited("r1", "report", (pair,))) is state


def test_an_eta_that_could_overflow_is_refused() -> None:
    with pytest.raises(ValueError, match="eta must be at most 64"):
        SelfTuned(eta=1e6)


@pytest.mark.parametrize("line", range(10))
def test_threads_may_look_people_up_at_the_same_time(line: int) -> None:
    """The learner notes whom it has looked up; another thread does so before one of the lines."""
    learner, people, others = start().learner, (ANN, BO), (CY, BO)
    points, expected = located(learner, others), located(learner, people)
    assert expected.tolist() != points.tolist()
    left = iter(range(line))

    def note_others(frame: Any, event: str, argument: Any) -> Any:
        del event, argument
        if frame.f_code.co_filename == located.__code__.co_filename and next(left, None) is None:
            learner.__dict__["_located"] = (others, points)
        return note_others

    before = sys.gettrace()
    sys.settrace(note_others)
    try:
        actual = located(learner, people)
    finally:
        sys.settrace(before)
    assert actual.tolist() == expected.tolist()
