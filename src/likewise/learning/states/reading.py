"""Reading a state back: every field is checked, by itself and against the others.

A hash shows that a file is as it was written, not that it makes sense. A state that could not have
come about by events is refused with the field named, before anybody is decided on with it.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from likewise.errors import LikewiseError, ParameterError
from likewise.events import Audited, Decision, Person
from likewise.fixed_point import FloatArray, IntArray
from likewise.learning.charging import outstanding, waits_for_audit
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
from likewise.learning.states.open_rounds import OpenRounds
from likewise.learning.states.state import REMEMBERED, Account, OpenRound, State
from likewise.learning.states.tuning import Tuning
from likewise.validation import flag, integer, items, members, real

__all__ = ["COUNTS", "ROUND", "modern", "state_from_json"]

COUNTS = ("opened", "audits", "reports", "calls", "missing", "overridden")
ACCOUNT = ("account", "incurred")
STATE = ("learner", "costs", "lam", *COUNTS, *ACCOUNT, "tuning", "open", "closed", "arrays")
ROUND = (
    "id", "number", "policy", "lam", "draws", "people", "batches", "decisions", "panel", "outcome",
    "pairs", "labels", "overrides",
)  # fmt: skip

MOST_ROUNDS = 1 << 32  # they are numbered below that
LARGEST_PENDING, LARGEST_ACCOUNT = 1 << 62, 1 << 100  # no run comes near them
_WRITTEN = "Likewise writes no such value."
V = TypeVar("V")


def modern(body: Any) -> Any:
    """The JSON of a likewise-state/1 in the form of today: one scale, and no account was kept.

    What is not as it should be is left for :func:`state_from_json` to refuse by name.
    """
    given = members("state", body, [name for name in STATE if name not in ACCOUNT])
    tuning = given["tuning"]
    if isinstance(tuning, list):
        given["tuning"] = [[number] for number in tuning]
    for data in given["open"] if isinstance(given["open"], list) else ():
        if isinstance(data, dict):
            policy, decisions = data.get("policy"), data.get("decisions")
            if isinstance(policy, list) and len(policy) == 2:
                data["policy"] = [policy[0], [policy[1]], []]
            if isinstance(decisions, list):
                data["decisions"] = [[*d, None] if isinstance(d, list) else d for d in decisions]
    return {**given, "account": None, "incurred": []}


def state_from_json(body: Any) -> State:
    """The state that a file's JSON describes; raises a LikewiseError that names the field."""
    given = members("state", body, STATE)
    learner = Learner.from_spec(given["learner"])
    shape = learner.hypotheses.no_costs().shape
    listed = items("arrays", given["arrays"], _WRITTEN)
    arrays = [_array(text, shape, f"arrays[{n}]") for n, text in enumerate(listed)]
    listed = items("open", given["open"], _WRITTEN)
    rounds = [_round(data, arrays, learner, f"open[{n}]") for n, data in enumerate(listed)]
    closed = items("closed", given["closed"], _WRITTEN)
    for name in closed:
        check_id(name, "closed: a round's id")
    state = State(
        learner=learner,
        costs=_numbered("costs", given["costs"], arrays),
        lam=_amount("lam", given["lam"]),
        account=None if given["account"] is None else _account(given["account"]),
        incurred=_incurred("incurred", given["incurred"], learner),
        tuning=_tuning(given["tuning"], rounds, learner),
        open=OpenRounds({round_.id: round_ for round_ in rounds}),
        closed=tuple(closed),
        **{name: integer(name, given[name], 0, None, _WRITTEN) for name in COUNTS},
    )
    _check_counts(state, rounds)
    return state


def _tuning(value: Any, rounds: Sequence[OpenRound], learner: Learner) -> Tuning:
    """The squares of every scale; what is outstanding follows from the rounds that are open."""
    scales = learner.primal.scales(learner.hypotheses)
    squares, pending, peak = _several("tuning", value, 3)
    charged = _several("tuning[1]", pending, scales)
    return Tuning(
        _amounts("tuning[0]", squares, scales),
        np.array(
            [integer("tuning[1]", p, 0, LARGEST_PENDING, _WRITTEN) for p in charged], dtype=np.int64
        ),
        _amounts("tuning[2]", peak, scales),
        sum(outstanding(round_, learner) for round_ in rounds),
        sum(waits_for_audit(round_, learner) for round_ in rounds),
    )  # fmt: skip


def _account(value: Any) -> Account:
    paid, reported, largest = _several("account", value, 3)
    return Account(
        _signed("account[0]", paid),
        integer("account[1]", reported, 0, LARGEST_ACCOUNT, _WRITTEN),
        _amount("account[2]", largest),
    )


def _incurred(name: str, value: Any, learner: Learner) -> tuple[int, ...]:
    count = learner.primal.experts(learner.hypotheses)
    return tuple(_signed(name, cost) for cost in _several(name, value, count))


def _signed(name: str, value: Any) -> int:
    return integer(name, value, -LARGEST_ACCOUNT, LARGEST_ACCOUNT, _WRITTEN)


def _amounts(name: str, value: Any, count: int) -> FloatArray:
    listed = _several(name, value, count)
    return np.array([_amount(f"{name}[{n}]", number) for n, number in enumerate(listed)])


def _check_counts(state: State, rounds: Sequence[OpenRound]) -> None:
    """Counts must agree with each other and with the rounds that are open."""
    learner, opened = state.learner, state.opened
    everybody = opened * learner.k
    limits = {
        "opened": MOST_ROUNDS, "missing": everybody, "overridden": everybody,
        "audits": 0 if learner.ignores_reports else opened,
        "reports": opened if learner.ignores_reports else state.audits,
    }  # fmt: skip
    for name, limit in limits.items():
        if getattr(state, name) > limit:
            raise _contradiction(name, f"must be at most {limit} here", getattr(state, name))
    numbers = [round_.number for round_ in rounds]
    if len(state.open) != len(rounds) or len(set(numbers)) != len(numbers):
        raise _contradiction("open", "must have every id and number once", numbers)
    if len(rounds) > learner.open_limit:
        raise _contradiction("open", f"must be at most {learner.open_limit} rounds", len(rounds))
    if numbers and max(numbers) > opened:
        raise _contradiction("opened", f"must be at least {max(numbers)}, an open round", opened)
    ended = opened - len(rounds)
    if len(set(state.closed)) != len(state.closed) or len(state.closed) > min(ended, REMEMBERED):
        rule = f"must be at most {min(ended, REMEMBERED)} different rounds"
        raise _contradiction("closed", rule, len(state.closed))
    if state.account is not None and state.account.largest_lam < state.lam:
        rule = f"must be at least lam, which is {state.lam!r}"
        raise _contradiction("account[2]", rule, state.account.largest_lam)
    if both := set(state.open) & set(state.closed):
        raise _contradiction("closed", "must not name a round that is open", sorted(both)[0])


def _contradiction(name: str, rule: str, value: object) -> ParameterError:
    return ParameterError(name, rule, value, "The file contradicts itself.")


def _round(data: Any, arrays: Sequence[IntArray], learner: Learner, where: str) -> OpenRound:
    given = members(where, data, ROUND)
    try:
        round_ = _plain_round(given, arrays, learner)
        _check_round(round_, learner)
    except LikewiseError as error:
        raise ParameterError(where, "must be an open round", given["id"], str(error)) from error
    return round_


def _plain_round(
    given: Mapping[str, Any], arrays: Sequence[IntArray], learner: Learner
) -> OpenRound:
    """The round field by field, each of its kind."""
    check_id(given["id"], "id")
    number = integer("number", given["number"], 1, MOST_ROUNDS, _WRITTEN)
    people = _people(given["people"], learner)
    frozen = None
    if given["policy"] is not None:
        place, listed, incurred = _several("policy", given["policy"], 3)
        costs = _numbered("policy[0]", place, arrays)
        scales = _amounts("policy[1]", listed, learner.primal.scales(learner.hypotheses))
        costly = _incurred("policy[2]", incurred, learner)
        frozen = Frozen(number, learner.seed, costs, scales, learner.copies, costly)
    if given["panel"] is not None:
        check_id(given["panel"], "panel")
    written = items("decisions", given["decisions"], _WRITTEN)
    decided = [_several("decisions", decision, 5) for decision in written]
    return OpenRound(
        id=given["id"],
        number=number,
        frozen=frozen,
        lam=_amount("lam", given["lam"]),
        draws=integer("draws", given["draws"], 0, None, _WRITTEN),
        people=people,
        batches=integer("batches", given["batches"], 1, len(people) + 1, _WRITTEN),
        decisions=_decisions(decided, people),
        panel=given["panel"],
        outcome=given["outcome"],
        pairs=tuple(
            (over, under)
            for over, under in (
                _several("pairs", p, 2) for p in items("pairs", given["pairs"], _WRITTEN)
            )
        ),
        labels=_by_person("labels", given["labels"], _label),
        overrides=_by_person("overrides", given["overrides"], _overriding),
        drawn=lottery(learner, number),
    )


def _people(listed: Any, learner: Learner) -> tuple[Person, ...]:
    pairs = [_several("people", person, 2) for person in items("people", listed, _WRITTEN)]
    if not 0 < len(pairs) <= learner.k:
        rule = f"must be between 1 and k = {learner.k} people"
        raise ParameterError("people", rule, len(pairs), _WRITTEN)
    for name, features in pairs:
        check_id(name, "people: an id")
        items("people: features", features, _WRITTEN)
    found = learner.hypotheses.schema.encoded([row for _, row in pairs], [p for p, _ in pairs])
    rows = zip(found.ids, found.x.tolist(), strict=True)
    return tuple(Person(name, tuple(row)) for name, row in rows)


def _decisions(listed: Sequence[Sequence[Any]], people: Sequence[Person]) -> Mapping[str, Decision]:
    """Decisions on the first people who arrived, in their order."""
    decided = [d[0] for d in listed]
    if decided != [p.id for p in people[: len(decided)]]:
        raise ParameterError(
            "decisions", "must be on the people, in their order", decided, _WRITTEN
        )
    return MappingProxyType({d[0]: _decision(*d) for d in listed})


def _decision(person: Any, approved: Any, score: Any, inverse: Any, experts: Any) -> Decision:
    scores = tuple(experts) if isinstance(experts, list) else experts
    return Decision(person, approved, score, inverse, scores)


def _check_round(round_: OpenRound, learner: Learner) -> None:
    """The parts of a round must have been able to come about one after the other."""
    check_decisions(tuple(round_.decisions.values()), round_, learner)
    sealed = round_.panel is not None
    if sealed and round_.undecided:
        raise _contradiction("panel", "must be none while people are undecided", round_.panel)
    if sealed != (round_.frozen is None):
        raise _contradiction("policy", "must be kept until the round is sealed", round_.panel)
    if round_.outcome is None:
        if round_.pairs:
            raise _contradiction("pairs", "must be none before the audit", round_.pairs)
    elif not sealed:
        raise _contradiction("outcome", "must be none before the round is sealed", round_.outcome)
    else:
        # The constructor and the check are those of the event that said so.
        event = Audited(round_.id, round_.outcome, round_.pairs)  # type: ignore[arg-type]
        check_pairs(event, round_, learner.sensitivity)
    for person, label in round_.labels.items():
        checked_label(person, label, round_)
        if learner.pricing.one_sided:
            check_seen(person, round_)
    for person, approved in round_.overrides.items():
        if person not in round_.decisions or round_.decisions[person].approved == approved:
            raise _contradiction("overrides", "must change the decision on somebody", person)


def _label(name: str, value: Any) -> int:
    return integer(name, value, 0, 2, _WRITTEN)


def _overriding(name: str, value: Any) -> bool:
    return flag(name, value, _WRITTEN)


def _by_person(name: str, value: Any, read: Callable[[str, Any], V]) -> Mapping[str, V]:
    if not isinstance(value, Mapping):
        raise ParameterError(name, "must be by person", value, _WRITTEN)
    return MappingProxyType({person: read(f"{name}[{person!r}]", v) for person, v in value.items()})


def _several(name: str, value: Any, count: int) -> list[Any]:
    listed = items(name, value, _WRITTEN)
    if len(listed) != count:
        raise ParameterError(name, f"must be {count} values", value, _WRITTEN)
    return listed


def _amount(name: str, value: Any) -> float:
    """A number of at least 0; infinite and NaN are none."""
    number = real(name, value, _WRITTEN)
    if not (math.isfinite(number) and number >= 0):
        raise ParameterError(name, "must be a finite number of at least 0", value, _WRITTEN)
    return number


def _numbered(name: str, value: Any, arrays: Sequence[IntArray]) -> IntArray:
    """An array by its number."""
    return arrays[integer(name, value, 0, len(arrays), _WRITTEN)]


def _array(text: Any, shape: tuple[int, ...], name: str) -> IntArray:
    """An array of int64 from base64."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ParameterError(name, "must be base64", text, _WRITTEN) from None
    count = math.prod(shape)
    if len(content) != 8 * count:
        rule = f"must be {count} integers of 64 bits, as the class needs"
        raise ParameterError(name, rule, f"{len(content)} bytes", _WRITTEN)
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(shape)
