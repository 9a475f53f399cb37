"""Reading a state back: every field is checked, by itself and against the others.

A hash shows that a file is as it was written, not that it makes sense. A state that could not have
come about by events is refused with the field named, before anybody is decided on with it.
"""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from likewise.errors import LikewiseError, ParameterError
from likewise.events import Audited
from likewise.learning.charging import awaited
from likewise.learning.decisions import lottery
from likewise.learning.event_checks import (
    check_decisions,
    check_id,
    check_pairs,
    check_seen,
    checked_label,
)
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.learning.states.codec import read_arrays, reader
from likewise.learning.states.open_rounds import OpenRounds, changed
from likewise.learning.states.state import REMEMBERED, OpenRound, State
from likewise.validation import members

MOST_ROUNDS = 1 << 32  # they are numbered below that
LARGEST_PENDING = 1 << 62  # no run comes near it


def state_from_json(body: Any) -> State:
    """The state that a file's JSON describes; raises a LikewiseError that names the field."""
    values = members("state", body, [*(f.name for f in fields(State)), "arrays"])
    arrays = read_arrays(values.pop("arrays"))
    state: State = reader(State, "state")(values, arrays)
    _check_counts(state)
    rounds = {name: _checked_round(name, state) for name in state.open}
    state = changed(state, open=OpenRounds(rounds))
    _check_sums(state)
    return state


def _require(fits: bool, name: str, rule: str, value: object) -> None:
    if not fits:
        raise ParameterError(name, rule, value, "The file contradicts itself.")


def _checked_round(name: str, state: State) -> OpenRound:
    """An open round, if its parts can have come about one after the other."""
    round_, learner = state.open[name], state.learner
    try:
        check_id(round_.id, "id")
        _require(round_.number >= 1, "number", "must be at least 1", round_.number)
        _check_policy(round_, learner)
        _check_people(round_, learner)
        _check_outcome(round_, learner)
    except LikewiseError as error:
        raise ParameterError(
            f"open[{name!r}]", "must be an open round", round_.id, str(error)
        ) from error
    decisions = {p.id: round_.decisions[p.id] for p in round_.people if p.id in round_.decisions}
    return changed(round_, decisions=MappingProxyType(decisions))


def _check_policy(round_: OpenRound, learner: Learner) -> None:
    """The policy and what was fixed with it when the round opened."""
    number, frozen = round_.number, round_.frozen
    _require(round_.lam >= 0, "lam", "must be at least 0", round_.lam)
    draws = learner.draws(number)
    _require(round_.draws == draws, "draws", f"must be {draws} in round {number}", round_.draws)
    drawn, rule = lottery(learner, number), "must be what the lottery drew"
    _require(round_.drawn == drawn, "drawn", rule, round_.drawn)
    sealed, rule = round_.panel is not None, "must be kept until the round is sealed"
    _require(sealed == (frozen is None), "frozen", rule, round_.panel)
    if frozen is not None:
        _check_shape("frozen.costs", frozen.costs, learner)
        _check_amounts("frozen.scales", frozen.scales, learner)
        _check_experts("frozen.incurred", frozen.incurred, learner)
        expected = Frozen(
            number, learner.seed, frozen.costs, frozen.scales, learner.copies, frozen.incurred
        )
        _require(frozen == expected, "frozen", f"must be the policy of round {number}", frozen)


def _check_people(round_: OpenRound, learner: Learner) -> None:
    """The people, and the decisions on those who came first."""
    people, limit = round_.people, learner.k
    _require(0 < len(people) <= limit, "people", f"must be between 1 and k = {limit}", len(people))
    for person in people:
        check_id(person.id, "people: an id")
    learner.hypotheses.schema.encoded([p.features for p in people], [p.id for p in people])
    batches, rule = round_.batches, f"must be between 1 and {len(people)}, the people"
    _require(1 <= batches <= len(people), "batches", rule, batches)
    decided = sorted(p.id for p in people[: len(round_.decisions)])
    keys = [(key, decision.person) for key, decision in sorted(round_.decisions.items())]
    rule = "must be on the people who arrived first"
    _require(keys == [(p, p) for p in decided], "decisions", rule, list(round_.decisions))
    check_decisions(tuple(round_.decisions.values()), round_, learner)


def _check_outcome(round_: OpenRound, learner: Learner) -> None:
    """Panel, audit, labels and overrides."""
    if round_.panel is not None:
        check_id(round_.panel, "panel")
        rule = "must be none while people are undecided"
        _require(not round_.undecided, "panel", rule, round_.panel)
    if round_.outcome is None:
        _require(not round_.pairs, "pairs", "must be none before the audit", round_.pairs)
    else:
        rule = "must be none before the round is sealed"
        _require(round_.panel is not None, "outcome", rule, round_.outcome)
        # The constructor and the check are those of the event that said so.
        check_pairs(Audited(round_.id, round_.outcome, round_.pairs), round_, learner.sensitivity)
    for person, label in round_.labels.items():
        checked_label(person, label, round_)
        if learner.pricing.one_sided:
            check_seen(person, round_)
    for person, approved in round_.overrides.items():
        decision = round_.decisions.get(person)
        changes = decision is not None and decision.approved != approved
        _require(changes, "overrides", "must change the decision on somebody", person)


def _check_counts(state: State) -> None:
    """Counts must agree with each other and with the rounds that are open."""
    learner, opened = state.learner, state.opened
    everybody = opened * learner.k
    limits = {
        "opened": MOST_ROUNDS, "missing": everybody, "overridden": everybody,
        "audits": 0 if learner.ignores_reports else opened,
        "reports": opened if learner.ignores_reports else state.audits, "calls": None,
    }  # fmt: skip
    for name, limit in limits.items():
        value = getattr(state, name)
        _require(value >= 0, name, "must be at least 0", value)
        if limit is not None:
            _require(value <= limit, name, f"must be at most {limit} here", value)
    numbers = [round_.number for round_ in state.open.values()]
    _require(len(set(numbers)) == len(numbers), "open", "must have every number once", numbers)
    last, limit = max(numbers, default=0), learner.open_limit
    _require(last <= opened, "opened", f"must be at least {last}, an open round", opened)
    _require(len(numbers) <= limit, "open", f"must be at most {limit} rounds", len(numbers))
    closed, limit = state.closed, min(opened - len(numbers), REMEMBERED)
    for name in closed:
        check_id(name, "closed: a round's id")
    distinct = len(set(closed)) == len(closed) <= limit
    _require(distinct, "closed", f"must be at most {limit} different rounds", len(closed))
    overlap = sorted(set(state.open) & set(closed))
    _require(not overlap, "closed", "must not name a round that is open", overlap)


def _check_sums(state: State) -> None:
    """Costs, multipliers and what tunes the scales."""
    learner, account, tuning = state.learner, state.account, state.tuning
    _require(state.lam >= 0, "lam", "must be at least 0", state.lam)
    _require(account.reported >= 0, "account.reported", "must be at least 0", account.reported)
    rule = f"must be at least lam, which is {state.lam!r}"
    _require(account.largest_lam >= state.lam, "account.largest_lam", rule, account.largest_lam)
    _check_shape("costs", state.costs, learner)
    _check_experts("incurred", state.incurred, learner)
    _check_amounts("tuning.squares", tuning.squares, learner)
    _check_amounts("tuning.peak", tuning.peak, learner)
    _check_amounts("tuning.pending", tuning.pending, learner)
    small = bool((tuning.pending < LARGEST_PENDING).all())
    _require(small, "tuning.pending", "must be below 2^62", tuning.pending)
    rounds = state.open.values()
    awaits = [awaited(round_, learner) for round_ in rounds]
    for name, total in (
        ("outstanding", sum(cost for cost, _ in awaits)),
        ("waiting", sum(audits for _, audits in awaits)),
    ):
        value = getattr(tuning, name)
        _require(value == total, f"tuning.{name}", f"must be {total}", value)


def _check_shape(name: str, costs: Any, learner: Learner) -> None:
    shape = learner.hypotheses.no_costs().shape
    _require(costs.shape == shape, name, f"must have the shape {shape}", costs.shape)


def _check_amounts(name: str, amounts: Any, learner: Learner) -> None:
    count = learner.primal.scales(learner.hypotheses)
    fits = amounts.shape == (count,) and bool(np.all(amounts >= 0))
    _require(fits, name, f"must be {count} numbers of at least 0", amounts.tolist())


def _check_experts(name: str, costs: tuple[int, ...], learner: Learner) -> None:
    count = learner.primal.experts(learner.hypotheses)
    _require(len(costs) == count, name, f"must be {count} values", costs)
