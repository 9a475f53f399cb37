"""The schedule's memory: S is its formula written out, and nothing is outstanding in the end.

Mutants that die here, each tried by hand: WAITING = 1/2; OUTSTANDING = 2; weights of the schedule
not handed on; the factor (1 + waiting/4) left out, or not on what is outstanding; outstanding added
without B̄; what is pending not squared, or kept when a round opens; of costs that come together the
largest alone; a peak that is the last S; ``awaiting`` that sets in place of adding; a square that
replaces those before; amounts charged with their signs; a round's audit not counted in
``outstanding``, or at lam in place of 2·lam; labels that came counted as outstanding;
``waits_for_audit`` of rounds that were not drawn, or where reports are ignored; ``without_round``
that keeps the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import EventRefused
from likewise.learner import SelfTuned, State, apply, decide, dump_state
from likewise.learner.attention import Share
from likewise.learner.events import Arrived, Audited, Closed, Labelled, Person, Sealed
from likewise.learner.fold import label
from likewise.learner.state import Tuning
from likewise.numerics.fixed_point import ONE
from tests.learner.test_late_feedback import ANN, BO, COARSE, EVERYBODY, Chaos, start

SCALES = 3
# The weights of late costs in the theorems.
LATE = 1.0, 0.25
PLACES = st.lists(st.integers(0, SCALES - 1), min_size=1, max_size=2, unique=True)
CHARGE = st.tuples(st.just("charge"), st.lists(st.tuples(PLACES, st.integers(-(2**24), 2**24)),
                                               min_size=1, max_size=3))  # fmt: skip
SQUARE = st.tuples(st.just("square"), st.tuples(PLACES, st.floats(0, 100)))
AWAIT = st.tuples(st.just("await"), st.tuples(st.integers(0, 2**30), st.integers(0, 5)))
OPEN = st.tuples(st.just("open"), st.floats(0.01, 100))


@given(happens=st.lists(st.one_of(CHARGE, SQUARE, AWAIT, OPEN), max_size=25), counts=st.booleans())
def test_s_is_its_formula_written_out(happens: list[tuple[str, Any]], counts: bool) -> None:
    tuning = Tuning.start(SCALES)
    between, past = [0] * SCALES, [0.0] * SCALES  # of units since the last opening; Σ B²
    outstanding = waiting = 0
    every: list[list[float]] = [[0.0] for _ in range(SCALES)]
    for kind, detail in happens:
        if kind == "charge":
            for places, amount in detail:
                tuning = tuning.charged(np.array([places]), np.array([amount]))
                for place in places:
                    between[place] += abs(amount)
        elif kind == "square":
            tuning = tuning.estimated(np.array([detail[0]]), detail[1])
            for place in detail[0]:
                past[place] += detail[1]
        elif kind == "await":
            tuning = tuning.awaiting(*detail)
            outstanding, waiting = outstanding + detail[0], waiting + detail[1]
        else:
            tuning = tuning.opened(detail, detail * detail, *(LATE if counts else ()))
            for place in range(SCALES):
                past[place] += (between[place] / 2**20) ** 2
                s = detail**2 + past[place]
                if counts:
                    s = (detail**2 + past[place] + detail * outstanding / 2**20) * (1 + waiting / 4)
                every[place].append(s)
            between = [0] * SCALES
    assert tuning.peak.tolist() == pytest.approx([max(s) for s in every], rel=1e-12)
    assert tuning.pending.tolist() == between
    assert (tuning.outstanding, tuning.waiting) == (outstanding, waiting)


def test_costs_that_come_together_are_one_b_and_their_signs_do_not_matter() -> None:
    """(2 + 1)² on the first scale, 1² on the second; then 2² of the opening's own."""
    tuning = Tuning.start(2).charged(np.array([[0], [0], [1]]), np.array([-2, 1, 1]) * ONE)
    actual = tuning.opened(2.0, 4.0, *LATE)
    assert actual.peak.tolist() == [13.0, 5.0]
    assert actual.opened(1.0, 1.0, *LATE).peak.tolist() == [13.0, 5.0]


def test_each_round_that_waits_adds_a_quarter() -> None:
    """(2² + 2·3)·(1 + 2/4) = 15."""
    waits = Tuning.start(1).awaiting(3 * ONE, 2)
    assert waits.opened(2.0, 4.0, *LATE).peak.tolist() == [15.0]
    assert waits.opened(2.0, 4.0).peak.tolist() == [4.0]


def test_late_costs_have_the_weights_of_the_schedule() -> None:
    """(2² + ½·2·3)·(1 + 2·2) = 35."""
    waits = Tuning.start(1).awaiting(3 * ONE, 2)
    actual = waits.opened(2.0, 4.0, outstanding=0.5, waiting=2.0)
    assert actual.peak.tolist() == [35.0]


@pytest.mark.parametrize(("outstanding", "waiting"), [(1.0, 0.25), (0.0, 0.25), (1.0, 0.0), (2, 1)])
def test_a_round_opens_with_the_weights_of_its_schedule(outstanding: float, waiting: float) -> None:
    schedule = SelfTuned(eta=0.5, x=1.0, outstanding=outstanding, waiting=waiting)
    state = replace(start(schedule=schedule), lam=0.5)
    late = replace(state, tuning=state.tuning.awaiting(3 * ONE, 2))
    largest = 0.5 + 2 * 0.5  # B̄ = eta + 2·lam
    s = (largest**2 + outstanding * largest * 3) * (1 + 2 * waiting)
    assert late.opening().peak.tolist() == pytest.approx([s], rel=1e-5)


# ── What is outstanding, in any order of events ─────────────────────────────────────────────────


def bound(state: State) -> tuple[int, int]:
    """Outstanding and waiting, from the open rounds one by one."""
    learner, units, waiting = state.learner, 0, 0
    one_sided, unit = learner.feedback == "one-sided", learner.pricing.unit
    for round_ in state.open.values():
        labels = learner.k
        if round_.panel is not None:
            labels = sum(
                person not in round_.labels
                and not (one_sided and (person in round_.overrides or not decision.approved))
                for person, decision in round_.decisions.items()
            )
        cap = next(m for m in range(1, 1000) if m**3 >= round_.number)
        amount = unit
        if one_sided and learner.primal.exact:
            amount = round(20**0.5 * unit)  # the root of a square of 20·(eta/k)²
        elif one_sided:
            amount = (2 * cap - 1) * unit
        units += labels * amount
        asked = round_.asking is None or round_.asking.looked_at
        if asked and round_.outcome is None:
            waiting += 1
            units += 2 * round(round_.lam / learner.audit_share * 2**20)
    return units, waiting


@pytest.mark.parametrize("player", ["exponential weights", "nested", "geometric"])
@pytest.mark.parametrize("feedback", ["full", "one-sided"])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_what_is_outstanding_is_what_open_rounds_may_cost_and_in_the_end_nothing(
    player: str, feedback: str, share: float
) -> None:
    schedule = SelfTuned(eta=0.5, kappa=0.3, r=0.29, delta=0.9)
    state = start(**EVERYBODY[player], k=4, feedback=feedback, attention=Share(share),
                  schedule=schedule)  # fmt: skip
    chaos = Chaos(state, 11)
    for _ in range(120):
        chaos.happen(chaos.event())
        tuning = chaos.state.tuning
        assert (tuning.outstanding, tuning.waiting) == bound(chaos.state)
    while chaos.state.open:
        name = next(iter(chaos.state.open))
        # Whatever it takes to close the oldest; labels may be missing.
        events = [e for e in chaos._possible(name) if not isinstance(e, Arrived)]
        chaos.happen(events[int(chaos.rng.integers(len(events)))])
    assert (chaos.state.tuning.outstanding, chaos.state.tuning.waiting) == (0, 0)


def test_a_learner_that_ignores_its_panel_waits_for_no_audit() -> None:
    state = apply(start(ignores_reports=True), Arrived("r1", (ANN, BO)))
    assert (state.tuning.outstanding, state.tuning.waiting) == (2 * (ONE // 8), 0)


# ── Labels, all at once or one by one ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("player", EVERYBODY)
@pytest.mark.parametrize("feedback", ["full", "one-sided"])
def test_labels_in_batches_are_labels_one_by_one(player: str, feedback: str) -> None:
    """To the last bit of the state: costs, scales, the account and what experts have cost."""
    schedule = SelfTuned(eta=0.5, kappa=0.3, r=0.29, delta=0.9)
    settings: dict[str, Any] = {"k": 4, "feedback": feedback}
    chaos = Chaos(start(**EVERYBODY[player], **settings, schedule=schedule), 21)
    for _ in range(40):
        chaos.happen(chaos.event())
    for n in range(6):
        people = tuple(Person(f"n{n}p{i}", (float(i % 3), float(n % 2))) for i in range(4))
        chaos.happen(Arrived(f"new{n}", people))
        chaos.happen(decide(chaos.state, f"new{n}"))
        chaos.happen(Sealed(f"new{n}", "panel"))
    tried = 0
    for name, round_ in chaos.state.open.items():
        if round_.panel is None:
            continue
        events = [e for e in chaos._labels(name) if isinstance(e, Labelled)]
        subset = {e.person: e.label for e in events}
        together = label(chaos.state, name, subset)
        for order in (events, events[::-1]):
            single = chaos.state
            for event in order:
                single = apply(single, event)
            assert single == together
            assert _sorted(single, name) == _sorted(together, name)
        tried += len(events) > 1
    assert tried > 0


def _sorted(state: State, name: str) -> bytes:
    """The state as a file; with the labels of a round in the order of the people."""
    round_ = state.open[name]
    labels = {p.id: round_.labels[p.id] for p in round_.people if p.id in round_.labels}
    instance = object.__new__(type(round_))
    instance.__dict__.update({**round_.__dict__, "labels": labels})
    changed = object.__new__(State)
    changed.__dict__.update({**state.__dict__, "open": {**state.open, name: instance}})
    return dump_state(changed)


def test_a_batch_with_a_label_that_is_refused_changes_nothing() -> None:
    state = apply(start(hypotheses=COARSE), Arrived("r1", (ANN, BO)))
    state = apply(apply(state, decide(state, "r1")), Sealed("r1", "panel"))
    before = dump_state(state)
    with pytest.raises(EventRefused):
        label(state, "r1", {"ann": 1, "nobody": 0})
    assert dump_state(state) == before
    closed = apply(apply(state, Audited("r1", "quiet")), Closed("r1"))
    assert (closed.tuning.outstanding, closed.missing) == (0, 2)
