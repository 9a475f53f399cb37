"""The fold: ``apply(state, event)``. Every driver of the learner goes through here.

Once a round is sealed, its audit, its labels and the overriding of its decisions come in any order,
any number of rounds later, or never. An event that does not fit, or that contradicts the record, is
refused with :class:`~likewise.errors.EventRefused`; since states are values, the one the caller
holds is then unchanged. An event that says again what is already known changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from types import MappingProxyType

import numpy as np

from likewise.errors import EventRefused, shown
from likewise.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Event,
    Labelled,
    Overridden,
    Sealed,
)
from likewise.learning.costs import report_cost
from likewise.learning.decisions import drawn_for_audit, located, upcoming
from likewise.learning.dual import dual_step
from likewise.learning.event_checks import (
    check_decision,
    check_id,
    check_override,
    check_pairs,
    check_seen,
    checked_label,
    checked_people,
    open_round,
    same_person,
)
from likewise.learning.state import REMEMBERED, OpenRound, State
from likewise.validation import instance

__all__ = ["apply"]


def apply(state: State, event: Event) -> State:
    """The state after an event.

    >>> from likewise.events import Person
    >>> from likewise.learning.learner import Learner
    >>> from likewise.worlds import Loans
    >>> state = State.start(Learner(Loans(1).hypotheses(), k=1, alpha=0.3, eps=0.3, seed=1))
    >>> ann = Person("ann", (640.0, 52.0, 30.0, 7.0, 0.0, 6.0, 0.0, 2.0, 4.0))
    >>> apply(state, Arrived("monday", (ann,))).opened
    1
    """
    instance("state", state, State, "State.start(learner) makes one.")
    for field, what in (("round", "A round's id"), ("person", "A person's id")):
        if hasattr(event, field):
            check_id(getattr(event, field), what)
    return _apply(event, state)


@singledispatch
def _apply(event: object, state: State) -> State:  # noqa: ARG001
    raise EventRefused(f"{shown(event)} is not an event.")


def _with_round(state: State, round_: OpenRound, **changes: object) -> State:
    open_rounds = MappingProxyType({**state.open, round_.id: round_})
    return replace(state, open=open_rounds, **changes)  # type: ignore[arg-type]


@_apply.register
def _arrived(event: Arrived, state: State) -> State:
    if not event.people:
        raise EventRefused(
            f"Round {event.round!r}: nobody arrived (k = 0). Leave such rounds out altogether."
        )
    if event.round in state.closed:
        raise EventRefused(
            f"Round {event.round!r} is closed already. Use a new id for every round."
        )
    new = event.round not in state.open
    state = _opened(state, event.round) if new else state
    round_ = state.open[event.round]
    for person in event.people:
        check_id(person.id, "A person's id")
    known = {p.id: p for p in round_.people}
    if all(p.id in known and same_person(p, known[p.id]) for p in event.people):
        return state
    if round_.panel is not None:
        raise EventRefused(
            f"Round {round_.id!r} is sealed; nobody can join it. Let them arrive in the next one."
        )
    if round_.undecided:
        raise EventRefused(
            f"Round {round_.id!r}: {len(round_.undecided)} people of the last batch are undecided. "
            f"Apply their Decided event first."
        )
    people, batches = round_.people + checked_people(event, round_, state), round_.batches + 1
    return _with_round(state, replace(round_, people=people, batches=batches))


def _opened(state: State, round_id: str) -> State:
    """Freeze the policy π^t: all costs so far, and the noise for them."""
    limit = state.learner.open_limit
    if len(state.open) >= limit:
        raise EventRefused(
            f"Round {round_id!r} cannot open: {limit} rounds are open, which is the learner's "
            f"open_limit. Close those of which nothing more will be heard; the oldest is "
            f"{next(iter(state.open))!r}."
        )
    frozen = upcoming(state)
    draws = state.learner.draws(frozen.number)
    round_ = OpenRound(round_id, frozen.number, frozen, state.lam, draws)
    tuning = state.tuning.opened(state.largest_square)
    return _with_round(state, round_, tuning=tuning, opened=frozen.number)


@_apply.register
def _decided(event: Decided, state: State) -> State:
    round_ = open_round(state, event.round)
    decided = [d.person for d in event.decisions]
    if not decided:
        raise EventRefused(f"Round {round_.id!r}: a Decided event must decide on somebody.")
    for person in decided:
        check_id(person, "A person's id")
    if all(round_.decisions.get(d.person) == d for d in event.decisions):
        return state
    expected = [p.id for p in round_.undecided]
    if decided != expected:
        raise EventRefused(
            f"Round {round_.id!r}: decisions must be on {expected}, in that order; got {decided}."
        )
    for decision in event.decisions:
        check_decision(decision, round_, state.learner)
    decisions = MappingProxyType({**round_.decisions, **{d.person: d for d in event.decisions}})
    calls = state.calls + state.learner.primal.calls(round_.draws)
    return _with_round(state, replace(round_, decisions=decisions), calls=calls)


@_apply.register
def _sealed(event: Sealed, state: State) -> State:
    round_ = open_round(state, event.round)
    check_id(event.panel, "A panel's name")
    if round_.panel == event.panel:
        return state
    if round_.panel is not None:
        raise EventRefused(
            f"Round {round_.id!r} is sealed with the panel {round_.panel!r}; a panel is fixed then "
            f"and cannot become {event.panel!r}."
        )
    if round_.undecided:
        raise EventRefused(
            f"Round {round_.id!r}: {len(round_.undecided)} people are undecided. Decide on them, "
            f"then seal."
        )
    state = _with_round(state, replace(round_, panel=event.panel, frozen=None))
    for decision in round_.decisions.values():
        if decision.person not in round_.overrides:
            amount = state.learner.pricing.sealed(decision)
            state = _charge_person(state, round_, decision.person, amount)
    return state


def _charge_person(state: State, round_: OpenRound, person: str, amount: int) -> State:
    """One person's part of the error, in units, on their point."""
    if amount == 0:
        return state
    people = tuple(p for p in round_.people if p.id == person)
    points = located(state, people)
    costs = state.learner.hypotheses.charge(state.costs, points, np.array([amount]))
    tuning, square = state.tuning, state.learner.label_square
    tuning = tuning.charged(abs(amount)) if square is None else tuning.estimated(square)
    return replace(state, costs=costs, tuning=tuning)


@_apply.register
def _overridden(event: Overridden, state: State) -> State:
    """The decision of somebody else: its propensity is not ours, so it carries no label cost."""
    round_ = open_round(state, event.round)
    if event.person in round_.overrides and round_.overrides[event.person] is event.approved:
        return state
    check_override(event, round_, one_sided=state.learner.pricing.one_sided)
    decision = round_.decisions[event.person]
    if round_.panel is not None:
        # What was charged at sealing is taken back.
        amount = -state.learner.pricing.sealed(decision)
        state = _charge_person(state, round_, event.person, amount)
    overrides = MappingProxyType({**round_.overrides, event.person: event.approved})
    return _with_round(state, replace(round_, overrides=overrides), overridden=state.overridden + 1)


@_apply.register
def _audited(event: Audited, state: State) -> State:
    round_ = open_round(state, event.round)
    if round_.panel is None:
        raise EventRefused(f"Round {round_.id!r} must be sealed before it is audited.")
    same = len(event.pairs) == len(round_.pairs) and all(p in round_.pairs for p in event.pairs)
    if round_.outcome == event.outcome and same:
        return state
    if round_.outcome is not None:
        raise EventRefused(
            f"Round {round_.id!r} has an audit on record, {_said(round_.outcome, round_.pairs)}, "
            f"which cannot become {_said(event.outcome, event.pairs)}."
        )
    if event.outcome != "unaudited" and not drawn_for_audit(state, round_.id):
        raise EventRefused(
            f"Round {round_.id!r} was not drawn for audit; the lottery draws a share of "
            f"{state.learner.audit_share:g}. An audit of other rounds would bias what is learned: "
            f"say Audited({round_.id!r}, 'unaudited'), or learn(…, report=None)."
        )
    check_pairs(event, round_, state.learner.sensitivity)
    round_ = replace(round_, outcome=event.outcome, pairs=event.pairs)
    if event.outcome == "unaudited" or state.learner.ignores_reports:
        return _with_round(state, round_, reports=state.reports + (event.outcome == "report"))
    return _charge_report(state, round_)


def _said(outcome: str, pairs: Sequence[tuple[str, str]]) -> str:
    return f"{outcome!r} of {', '.join(map(str, pairs))}" if pairs else repr(outcome)


def _charge_report(state: State, round_: OpenRound) -> State:
    """The report's cost, at the round's own lam, and the dual player's step.

    Where only a share of the rounds is audited, both weigh one over the share, and steps become
    smaller with audits rather than rounds.
    """
    learner, reported = state.learner, round_.outcome == "report"
    costs, tuning = state.costs, state.tuning
    if reported:
        amount = report_cost(round_.lam / learner.audit_share, len(round_.pairs))
        named = {p.id: p for p in round_.people}
        people = [named[person] for pair in round_.pairs for person in pair]
        for start in range(0, len(people), 2):
            points = located(state, tuple(people[start : start + 2]))
            costs = learner.hypotheses.charge(costs, points, np.array([amount, -amount]))
        tuning = tuning.charged(amount * len(people))
    audits = state.audits + 1
    mu = learner.schedule.mu(audits)
    share, beta = learner.audit_share, learner.margins.beta
    lam = dual_step(state.lam, reported=reported, beta=beta, mu=mu, share=share)
    return _with_round(
        state, round_, costs=costs, tuning=tuning, lam=lam, audits=audits,
        reports=state.reports + reported,
    )  # fmt: skip


@_apply.register
def _labelled(event: Labelled, state: State) -> State:
    round_ = open_round(state, event.round)
    label = checked_label(event, round_)
    if event.person in round_.labels:
        if round_.labels[event.person] == label:
            return state
        raise EventRefused(
            f"Round {round_.id!r}, person {event.person!r}: the label is recorded as "
            f"{round_.labels[event.person]} and cannot become {label}."
        )
    one_sided = state.learner.pricing.one_sided
    check_seen(event, round_, one_sided=one_sided)
    labels = MappingProxyType({**round_.labels, event.person: label})
    state = _with_round(state, replace(round_, labels=labels))
    if one_sided and event.person in round_.overrides:
        return state
    amount = state.learner.pricing.labelled(round_.decisions[event.person], label)
    return _charge_person(state, round_, event.person, amount)


@_apply.register
def _closed(event: Closed, state: State) -> State:
    if event.round in state.closed:
        return state
    round_ = open_round(state, event.round)
    if round_.outcome is None:
        raise EventRefused(
            f"Round {round_.id!r} has no audit yet. If nobody audits it, say so: "
            f"Audited({round_.id!r}, 'unaudited')."
        )
    rest = MappingProxyType({key: value for key, value in state.open.items() if key != round_.id})
    awaited = round_.awaited(one_sided=state.learner.pricing.one_sided)
    missing = state.missing + len(awaited)
    closed = (*state.closed, round_.id)[-REMEMBERED:]
    return replace(state, open=rest, closed=closed, missing=missing)
