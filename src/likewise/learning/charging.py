"""Charging: signed costs on people's points, and everything that keeps account of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.errors import EventRefused
from likewise.events import Decision
from likewise.fixed_point import IntArray
from likewise.hypotheses import Listed
from likewise.learning.costs import report_cost
from likewise.learning.learner import Learner
from likewise.learning.states.located import points_of
from likewise.learning.states.open_rounds import changed
from likewise.learning.states.state import Account, OpenRound, State
from likewise.learning.states.tuning import Tuning
from likewise.oracles.oracle import engine_for

# Costs that add up to more units than that leave no room for noise, and for rounds that are open.
MOST_BITS = 60
# Cells are at most 2^24, so that a sum of costs without their last 24 bits cannot overflow.
LAST_BITS = 24


def check_sums(state: State, round_id: str) -> None:
    """Refuse to open a round where sums of costs may soon be beyond integers of 64 bits.

    A class that is listed has a sum for every hypothesis; others add up the costs of some cells.
    """
    sizes = np.abs(state.costs)
    if isinstance(state.learner.hypotheses, Listed):
        most = int(sizes.max(initial=0)) >> LAST_BITS
    else:
        most = int((sizes >> LAST_BITS).sum())
    if most >> (MOST_BITS - LAST_BITS):
        raise EventRefused(
            f"Round {round_id!r} cannot open: costs add up to 2^{MOST_BITS} units of 2^-20, and "
            f"integers of 64 bits hold little more. Begin a new state; with a smaller eta, a "
            f"larger audit_share or a multiplier that grows less it lasts longer."
        )


def awaited(round_: OpenRound, learner: Learner) -> tuple[int, int]:
    """A bound on what a round may still cost, in units, and how many audits it awaits: 1 or 0.

    Until it is sealed a round is counted at its full bound, k labels and a report, whoever may
    still arrive. An audit counts where a panel looks at the round and the learner listens to it.
    """
    labels = learner.k
    if round_.panel is not None:
        labels = round_.awaiting_labels(one_sided=learner.pricing.one_sided)
    audits = int(round_.drawn and round_.outcome is None and not learner.ignores_reports)
    cost = labels * learner.label_bound(round_.number) if labels else 0
    if audits:
        cost += 2 * report_cost(round_.lam / learner.audit_share, 1)
    return cost, audits


def with_round(
    state: State, round_: OpenRound, tuning: Tuning | None = None, **changes: object
) -> State:
    """The state with a round added or changed, and what is outstanding with it.

    ``tuning`` replaces the state's own.
    """
    before = state.open.find(round_.id)
    cost, audits = awaited(round_, state.learner)
    if before is not None:
        cost_before, audits_before = awaited(before, state.learner)
        cost, audits = cost - cost_before, audits - audits_before
    tuning = (state.tuning if tuning is None else tuning).awaiting(cost, audits)
    return changed(state, open=state.open.having(round_), tuning=tuning, **changes)


def without_round(state: State, round_: OpenRound, **changes: object) -> State:
    """The state without a round; nothing of it is outstanding any more."""
    cost, audits = awaited(round_, state.learner)
    tuning = state.tuning.awaiting(-cost, -audits)
    return changed(state, open=state.open.without(round_.id), tuning=tuning, **changes)


def charge_labels(
    state: State, round_: OpenRound, people: Sequence[str], amounts: Sequence[int]
) -> State:
    """Parts of the error, in units: one cost on each person's point."""
    charged = [(p, a) for p, a in zip(people, amounts, strict=True) if a]
    if not charged:
        return state
    return _charge(state, round_, [p for p, _ in charged], [a for _, a in charged], report=False)


def charge_report(state: State, round_: OpenRound) -> State:
    """The report's cost, at the round's own lam; one over the share of rounds that is audited.

    Several pairs are averaged: each costs its favoured person as much as it takes off the other.
    """
    amount = report_cost(round_.lam / state.learner.audit_share, len(round_.pairs))
    people = [person for pair in round_.pairs for person in pair]
    state = _charge(state, round_, people, [amount, -amount] * len(round_.pairs), report=True)
    reported = state.account.reported + amount * len(round_.pairs)
    return changed(state, account=changed(state.account, reported=reported))


def _charge(
    state: State, round_: OpenRound, people: Sequence[str], amounts: Sequence[int], *, report: bool
) -> State:
    learner = state.learner
    points = points_of(learner, round_.people, people)
    sizes: IntArray = np.array(amounts, dtype=np.int64)
    engine = engine_for(learner.engine, learner.hypotheses)
    costs = engine.charge(learner.hypotheses, state.costs, points, sizes)
    costs.flags.writeable = False
    places = learner.primal.places(learner.hypotheses, points)
    square = None if report else learner.label_square
    if square is None:
        tuning = state.tuning.charged(places, sizes)
    else:
        tuning = state.tuning.estimated(places, square)
    decisions = [round_.decisions[person] for person in people]
    return changed(
        state, costs=costs, tuning=tuning, account=_paid(state.account, decisions, amounts),
        incurred=_incurred(state.incurred, decisions, amounts),
    )  # fmt: skip


def _paid(account: Account, decisions: Sequence[Decision], amounts: Sequence[int]) -> Account:
    """Add Σ c·π̃(x), which is what the deployed policy has cost by these."""
    cost = sum(a * d.score for a, d in zip(amounts, decisions, strict=True))
    return changed(account, paid=account.paid + cost)


def _incurred(
    incurred: tuple[int, ...], decisions: Sequence[Decision], amounts: Sequence[int]
) -> tuple[int, ...]:
    """Add what every expert has cost by these, according to its scores."""
    if not incurred:
        return ()
    sums = list(incurred)
    for amount, decision in zip(amounts, decisions, strict=True):
        for expert, score in enumerate(decision.experts or ()):
            sums[expert] += amount * score
    return tuple(sums)
