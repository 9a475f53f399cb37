"""Limits: how far apart a panel would let two people be whom it reports, and who learns from it."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import EventRefused
from likewise.learner import Learner, SelfTuned, State, apply, asking, deploy
from likewise.learner.attention import PanelModel, Possible, Response
from likewise.learner.events import Audited, Person, event_from_json, event_to_json
from likewise.numerics.fixed_point import ONE, to_units
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema
from likewise.simulate.loans import Loans
from likewise.simulate.rounds import play

WORLD = Loans(seed=4)
ALPHA = to_units(0.3)
SCHEDULE = SelfTuned(kappa=0.15, shrink=0.2)
LEARNER = Learner(WORLD.hypotheses(), 8, 0.3, 0.3, 4, SCHEDULE, attention="model:graded=1")
SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))


@pytest.mark.parametrize("limits", [(), (5,), (None,)])
def test_an_audit_is_written_with_its_limits_and_read_back(limits: tuple[Any, ...]) -> None:
    audit = Audited("r1", "report", (("ann", "bo"),), limits)
    assert event_from_json(event_to_json(audit)) == audit
    assert ("limits" in event_to_json(audit)) == bool(limits)


@pytest.mark.parametrize("limits", [(1, 2), (-1,), (ONE + 1,), (0.5,), (True,), "5", 5])
def test_limits_that_are_none_are_refused(limits: Any) -> None:
    with pytest.raises(EventRefused, match=r"Audited\.limits must be"):
        Audited("r1", "report", (("ann", "bo"),), limits)
    with pytest.raises(EventRefused, match=r"Audited\.limits must be"):
        Audited("r1", "quiet", (), (5,))


@lru_cache
def first_report(shrink: float = 0.2) -> tuple[State, str, tuple[str, str], int]:
    """A state with an open round, the pair of it with the largest gap, which exceeds alpha."""
    learner = replace(LEARNER, schedule=SelfTuned(kappa=0.15, shrink=shrink))
    state, deployment = deploy(State.start(learner), WORLD.encounter(1).people)
    for t in range(2, 60):
        gap = int(np.ptp(deployment.units))
        pair = tuple(
            deployment.ids[int(place(deployment.units))] for place in (np.argmax, np.argmin)
        )
        if gap > ALPHA:
            return state, deployment.round, (pair[0], pair[1]), gap
        state, deployment = deploy(state, WORLD.encounter(t).people)
    raise AssertionError("no gap was large enough")


@settings(max_examples=15)
@given(share=st.floats(0, 1), shrink=st.sampled_from([0.0, 0.2]))
def test_whatever_is_typed_changes_attention_and_kappa_alone(share: float, shrink: float) -> None:
    """Theorems B and F hold for any attention and any kappa up to the largest, so they still do."""
    state, name, pair, gap = first_report(shrink)
    plain = apply(state, Audited(name, "report", (pair,)))
    graded = apply(state, Audited(name, "report", (pair,), (int(share * (gap - 1)),)))
    for field in fields(State):
        if field.name not in ("memory", "kappa"):
            assert np.all(getattr(plain, field.name) == getattr(graded, field.name)), field.name
    assert plain.memory != graded.memory
    assert 0 < graded.kappa <= LEARNER.margins.kappa
    assert graded.kappa <= plain.kappa


def test_a_limit_that_allows_the_gap_is_refused() -> None:
    state, name, pair, gap = first_report()
    with pytest.raises(EventRefused, match=r"which its limit of .* allows"):
        apply(state, Audited(name, "report", (pair,), (gap,)))


@pytest.mark.parametrize(("excess", "shrinks"), [(0, True), (1, False)])
def test_a_limit_tells_a_violation_from_a_report(excess: int, shrinks: bool) -> None:
    """A violation exceeds its limit by more than kappa; without a limit, nobody could tell."""
    state, name, pair, gap = first_report()
    limit = gap - (ALPHA - asking(state, name).sensitivity) - excess
    graded = apply(state, Audited(name, "report", (pair,), (limit,)))
    assert (graded.kappa < state.kappa) == shrinks
    assert apply(state, Audited(name, "report", (pair,))).kappa == state.kappa


def possible(income: float, gap: int) -> Possible:
    people = (Person("p0", (0.0,)), Person("p1", (income,)))
    return Possible.of(SCHEMA, people, [0, gap], 100)


def test_the_model_learns_the_distance_from_a_limit() -> None:
    """The panel accepts gaps up to the difference of incomes, and reports a gap of 1 each time.

    Without limits no report says where it would have ended, so the model asks about everything.
    """
    rng, yes = np.random.default_rng(5), np.ones(1, dtype=np.bool_)
    unknown = dict[bool, int]()
    for graded in (True, False):
        model = PanelModel(graded=graded)
        memory = model.start(SCHEMA)
        for _ in range(60):
            income = rng.uniform(5, 95)
            limits = {("p1", "p0"): int(income / 100 * ONE)} if graded else {}
            memory = model.learn(memory, Response(possible(income, ONE), yes, yes, True, 0, limits))
        small = [possible(income, int((income / 100 - 0.3) * ONE)) for income in range(40, 100, 5)]
        large = [possible(income, int((income / 100 + 0.2) * ONE)) for income in range(5, 80, 5)]
        unknown[graded] = sum(bool(model.unknown(memory, pairs)[0]) for pairs in small)
        assert all(model.unknown(memory, pairs)[0] for pairs in large)
    assert unknown == {True: 0, False: 12}


def test_members_of_a_game_say_where_they_would_have_ended() -> None:
    """The limit of a reported pair is the pivot's distance + alpha − kappa: below, all is quiet."""
    heard = list[Audited]()

    class Listening(PanelModel):
        name = "listening"

        def learn(self, memory: Any, response: Response) -> Any:
            heard.append(response.limits)  # type: ignore[arg-type]
            return super().learn(memory, response)

    game = play(WORLD, replace(LEARNER, attention=Listening(graded=True)), 60, keep=lambda _t: True)
    reports = [moment for moment in game.moments if moment.report]
    limits = [limit for response in heard for limit in response.items()]  # type: ignore[attr-defined]
    assert len(limits) == len(reports) > 3
    for moment, (pair, limit) in zip(reports, limits, strict=True):
        over, under = (moment.encounter.people.ids.index(person) for person in pair)
        units, pivots = moment.deployment.units.copy(), moment.encounter.pivots
        for gap, reported in ((limit, False), (limit + 1, True)):
            units[over], units[under] = gap, 0
            exceeded = pivots.exceeded(units, moment.asking.sensitivity)
            assert bool(exceeded[over, under]) == reported
