"""Reading a state back: every field is checked, by itself and against the others.

A hash shows that a file is as it was written, not that it makes sense. A state that could not have
come about by events is refused with the field named, before anybody is decided on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.learning.charging import outstanding, waits_for_audit
from likewise.learning.event_checks import (
    check_id,
)
from likewise.learning.learner import Learner
from likewise.learning.states.open_rounds import OpenRounds
from likewise.learning.states.state import REMEMBERED, Account, OpenRound, State
from likewise.learning.states.stored_rounds import MOST_ROUNDS, ROUND, round_from_json
from likewise.learning.states.stored_values import (
    LARGEST_ACCOUNT,
    NOT_WRITTEN,
    amount,
    amounts,
    array_of,
    contradiction,
    incurred_costs,
    numbered,
    several,
    signed,
)
from likewise.learning.states.tuning import Tuning
from likewise.validation import integer, items, members

__all__ = ["COUNTS", "ROUND", "modern", "state_from_json"]

COUNTS = ("opened", "audits", "reports", "calls", "missing", "overridden")
ACCOUNT = ("account", "incurred")
STATE = ("learner", "costs", "lam", *COUNTS, *ACCOUNT, "tuning", "open", "closed", "arrays")
LARGEST_PENDING = 1 << 62  # no run comes near it


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
    listed = items("arrays", given["arrays"], NOT_WRITTEN)
    arrays = [array_of(text, shape, f"arrays[{n}]") for n, text in enumerate(listed)]
    listed = items("open", given["open"], NOT_WRITTEN)
    rounds = [round_from_json(data, arrays, learner, f"open[{n}]") for n, data in enumerate(listed)]
    closed = items("closed", given["closed"], NOT_WRITTEN)
    for name in closed:
        check_id(name, "closed: a round's id")
    state = State(
        learner=learner,
        costs=numbered("costs", given["costs"], arrays),
        lam=amount("lam", given["lam"]),
        account=None if given["account"] is None else _account(given["account"]),
        incurred=incurred_costs("incurred", given["incurred"], learner),
        tuning=_tuning(given["tuning"], rounds, learner),
        open=OpenRounds({round_.id: round_ for round_ in rounds}),
        closed=tuple(closed),
        **{name: integer(name, given[name], 0, None, NOT_WRITTEN) for name in COUNTS},
    )
    _check_counts(state, rounds)
    return state


def _tuning(value: Any, rounds: Sequence[OpenRound], learner: Learner) -> Tuning:
    """The squares of every scale; what is outstanding follows from the rounds that are open."""
    scales = learner.primal.scales(learner.hypotheses)
    squares, pending, peak = several("tuning", value, 3)
    charged = several("tuning[1]", pending, scales)
    whole = [integer("tuning[1]", one, 0, LARGEST_PENDING, NOT_WRITTEN) for one in charged]
    return Tuning(
        amounts("tuning[0]", squares, scales),
        np.array(whole, dtype=np.int64),
        amounts("tuning[2]", peak, scales),
        sum(outstanding(round_, learner) for round_ in rounds),
        sum(waits_for_audit(round_, learner) for round_ in rounds),
    )  # fmt: skip


def _account(value: Any) -> Account:
    paid, reported, largest = several("account", value, 3)
    return Account(
        signed("account[0]", paid),
        integer("account[1]", reported, 0, LARGEST_ACCOUNT, NOT_WRITTEN),
        amount("account[2]", largest),
    )


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
            raise contradiction(name, f"must be at most {limit} here", getattr(state, name))
    numbers = [round_.number for round_ in rounds]
    if len(state.open) != len(rounds) or len(set(numbers)) != len(numbers):
        raise contradiction("open", "must have every id and number once", numbers)
    if len(rounds) > learner.open_limit:
        raise contradiction("open", f"must be at most {learner.open_limit} rounds", len(rounds))
    if numbers and max(numbers) > opened:
        raise contradiction("opened", f"must be at least {max(numbers)}, an open round", opened)
    ended = opened - len(rounds)
    if len(set(state.closed)) != len(state.closed) or len(state.closed) > min(ended, REMEMBERED):
        rule = f"must be at most {min(ended, REMEMBERED)} different rounds"
        raise contradiction("closed", rule, len(state.closed))
    if state.account is not None and state.account.largest_lam < state.lam:
        rule = f"must be at least lam, which is {state.lam!r}"
        raise contradiction("account[2]", rule, state.account.largest_lam)
    if both := set(state.open) & set(state.closed):
        raise contradiction("closed", "must not name a round that is open", sorted(both)[0])
