"""The fold: ``apply(state, event)``. Every driver of the learner goes through here.

Once a round is sealed, its audit, its labels and the overriding of its decisions come in any order,
any number of rounds later, or never. An event that does not fit, or that contradicts the record, is
refused with :class:`~likewise.errors.EventRefused`; since states are values, the one the caller
holds is then unchanged. An event that says again what is already known changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from types import MappingProxyType
from typing import Any

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
from likewise.learning.charging import (
    charge_labels,
    charge_report,
    check_sums,
    with_round,
    without_round,
)
from likewise.learning.decisions import lottery
from likewise.learning.event_checks import (
    check_decisions,
    check_id,
    check_override,
    check_pairs,
    check_seen,
    checked_label,
    checked_people,
    find_round,
    open_round,
    same_person,
)
from likewise.learning.states.open_rounds import changed
from likewise.learning.states.state import REMEMBERED, OpenRound, State
from likewise.validation import instance


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
    if not isinstance(event, Event):
        raise EventRefused(f"{shown(event)} is not an event.")
    check_id(event.round, "A round's id")
    return _fold.dispatch(type(event))(event, state)


@singledispatch
def _fold(event: Any, state: State) -> State:
    """The state after an event of one kind; a kind of event is registered with its function."""
    raise NotImplementedError


@_fold.register
def _arrived(event: Arrived, state: State) -> State:
    if not event.people:
        raise EventRefused(
            f"Round {event.round!r}: nobody arrived (k = 0). Leave such rounds out altogether."
        )
    round_ = state.open.find(event.round)
    if round_ is None:
        if event.round in state.closed:
            raise EventRefused(
                f"Round {event.round!r} is closed already. Use a new id for every round."
            )
        state, round_ = _opened(state, event.round)
    for person in event.people:
        check_id(person.id, "A person's id")
    present = {p.id: p for p in round_.people}
    if present and all(p.id in present and same_person(p, present[p.id]) for p in event.people):
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
    # Until it is sealed, a round is counted at its full bound, whoever arrives.
    round_ = changed(round_, people=people, batches=batches)
    return changed(state, open=state.open.having(round_))


def _opened(state: State, round_id: str) -> tuple[State, OpenRound]:
    """Freeze the policy π^t: all costs so far, and the noise for them."""
    limit = state.learner.open_limit
    if len(state.open) >= limit:
        raise EventRefused(
            f"Round {round_id!r} cannot open: {limit} rounds are open, which is the learner's "
            f"open_limit. Close those of which nothing more will be heard; the oldest is "
            f"{next(iter(state.open))!r}."
        )
    check_sums(state, round_id)
    tuning = state.opening()
    frozen = state.frozen(tuning)
    learner, number = state.learner, frozen.number
    round_ = OpenRound(
        round_id, number, frozen, state.lam, learner.draws(number), drawn=lottery(learner, number)
    )
    return with_round(state, round_, tuning=tuning, opened=number), round_


@_fold.register
def _decided(event: Decided, state: State) -> State:
    round_ = find_round(state, event.round)
    decided = [d.person for d in event.decisions]
    if not decided:
        raise EventRefused(f"Round {round_.id!r}: a Decided event must decide on somebody.")
    expected = [p.id for p in round_.undecided]
    plain = all(isinstance(person, str) for person in decided)  # an array cannot be compared
    if not plain or decided != expected:
        for person in decided:
            check_id(person, "A person's id")
        if all(round_.decisions.get(d.person) == d for d in event.decisions):
            return state
        raise EventRefused(
            f"Round {round_.id!r}: decisions must be on {expected}, in that order; got {decided}."
        )
    learner = state.learner
    check_decisions(event.decisions, round_, learner)
    decisions = MappingProxyType({**round_.decisions, **{d.person: d for d in event.decisions}})
    calls = state.calls + learner.primal.calls(learner.hypotheses, round_.draws)
    round_ = changed(round_, decisions=decisions)
    return changed(state, open=state.open.having(round_), calls=calls)


@_fold.register
def _sealed(event: Sealed, state: State) -> State:
    round_ = find_round(state, event.round)
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
    state = with_round(state, changed(round_, panel=event.panel, frozen=None))
    if not state.learner.pricing.one_sided:
        return state  # every label will come, and nothing is charged before it does
    counted = [d for d in round_.decisions.values() if d.person not in round_.overrides]
    amounts = [state.learner.pricing.sealed(decision) for decision in counted]
    return charge_labels(state, round_, [d.person for d in counted], amounts)


@_fold.register
def _overridden(event: Overridden, state: State) -> State:
    """The decision of somebody else: its propensity is not ours, so it carries no label cost."""
    check_id(event.person, "A person's id")
    round_ = find_round(state, event.round)
    if event.person in round_.overrides and round_.overrides[event.person] is event.approved:
        return state
    check_override(event, round_, one_sided=state.learner.pricing.one_sided)
    decision = round_.decisions[event.person]
    if round_.panel is not None:
        # What was charged at sealing is taken back.
        amount = -state.learner.pricing.sealed(decision)
        state = charge_labels(state, round_, [event.person], [amount])
    overrides = MappingProxyType({**round_.overrides, event.person: event.approved})
    return with_round(state, changed(round_, overrides=overrides), overridden=state.overridden + 1)


@_fold.register
def _audited(event: Audited, state: State) -> State:
    round_ = find_round(state, event.round)
    if round_.panel is None:
        raise EventRefused(f"Round {round_.id!r} must be sealed before it is audited.")
    same = len(event.pairs) == len(round_.pairs) and all(p in round_.pairs for p in event.pairs)
    if round_.outcome == event.outcome and same:
        return state
    if round_.outcome is not None:
        raise EventRefused(
            f"Round {round_.id!r} has an audit on record, "
            f"{_outcome_text(round_.outcome, round_.pairs)}, which cannot become "
            f"{_outcome_text(event.outcome, event.pairs)}."
        )
    if event.outcome != "unaudited" and not round_.drawn:
        raise EventRefused(
            f"Round {round_.id!r} was not drawn for audit; the lottery draws a share of "
            f"{state.learner.audit_share:g}. An audit of other rounds would bias what is learned: "
            f"say Audited({round_.id!r}, 'unaudited'), or learn(…, report=None)."
        )
    check_pairs(event, round_, state.learner.sensitivity)
    round_ = changed(round_, outcome=event.outcome, pairs=event.pairs)
    if event.outcome == "unaudited" or state.learner.ignores_reports:
        return with_round(state, round_, reports=state.reports + (event.outcome == "report"))
    return _dual_step(with_round(state, round_), round_)


def _outcome_text(outcome: str, pairs: Sequence[tuple[str, str]]) -> str:
    return f"{outcome!r} of {', '.join(map(str, pairs))}" if pairs else repr(outcome)


def _dual_step(state: State, round_: OpenRound) -> State:
    """The report's cost, at the round's own lam, and the dual player's step.

    Where only a share of the rounds is audited, both weigh one over the share, and steps become
    smaller with audits rather than rounds.
    """
    learner, reported = state.learner, round_.outcome == "report"
    if reported:
        state = charge_report(state, round_)
    audits, reports = state.audits + 1, state.reports + reported
    beta, mu = learner.margins.beta / learner.audit_share, learner.schedule.mu(audits)
    lam = learner.multiplier.step(state.lam, reported=reported, beta=beta, mu=mu)
    account = state.account
    if lam > account.largest_lam:
        account = changed(account, largest_lam=lam)
    return changed(state, lam=lam, audits=audits, reports=reports, account=account)


@_fold.register
def _labelled(event: Labelled, state: State) -> State:
    check_id(event.person, "A person's id")
    return label(state, event.round, {event.person: event.label})


def label(state: State, round_id: str, labels: Mapping[str, int]) -> State:
    """Labels of some people of a round, as if their events came one after the other."""
    round_, learner = open_round(state, round_id), state.learner
    one_sided = learner.pricing.one_sided
    recorded, charged = dict(round_.labels), []
    for person, value in labels.items():
        y = checked_label(person, value, round_)
        if person in recorded:
            if recorded[person] == y:
                continue
            raise EventRefused(
                f"Round {round_.id!r}, person {person!r}: the label is recorded as "
                f"{recorded[person]} and cannot become {y}."
            )
        if one_sided:
            check_seen(person, round_)
        recorded[person] = y
        if not (one_sided and person in round_.overrides):
            charged.append(person)
    if len(recorded) == len(round_.labels):
        return state
    state = with_round(state, changed(round_, labels=MappingProxyType(recorded)))
    amounts = [learner.pricing.labelled(round_.decisions[p], recorded[p]) for p in charged]
    return charge_labels(state, round_, charged, amounts)


@_fold.register
def _closed(event: Closed, state: State) -> State:
    if event.round not in state.open and event.round in state.closed:
        return state
    round_ = find_round(state, event.round)
    if round_.outcome is None:
        raise EventRefused(
            f"Round {round_.id!r} has no audit yet. If nobody audits it, say so: "
            f"Audited({round_.id!r}, 'unaudited')."
        )
    missing = round_.awaiting_labels(one_sided=state.learner.pricing.one_sided)
    closed = (*state.closed, round_.id)[-REMEMBERED:]
    return without_round(state, round_, closed=closed, missing=state.missing + missing)
