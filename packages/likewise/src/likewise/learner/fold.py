"""The fold: ``apply(state, event)``. Every driver of the learner goes through here.

Once a round is sealed, its audit, its labels and the overriding of its decisions come in any order,
any number of rounds later, or never. An event that does not fit, or that contradicts the record, is
refused with :class:`~likewise.errors.EventRefused`; states are values, so the caller's is
unchanged. An event that repeats what is recorded changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from itertools import chain, zip_longest
from operator import mul
from types import MappingProxyType
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from likewise.errors import EventRefused, shown
from likewise.hypotheses.lists import Listed
from likewise.learner import events
from likewise.learner.attention import Asking, Possible, Response, ask, ask_all
from likewise.learner.costs import report_cost
from likewise.learner.events import Decision, Limits, Person
from likewise.learner.oracle import engine_for
from likewise.learner.players import LARGEST_INVERSE, Draws, Frozen
from likewise.learner.settings import Learner
from likewise.learner.state import (
    OpenRound,
    State,
    changed,
    error_weights,
    located,
    located_last,
    points_of,
)
from likewise.numerics.fixed_point import ONE, IntArray, to_units
from likewise.numerics.randomness import Purpose
from likewise.people.schema import People
from likewise.validation import instance


def apply(state: State, event: events.Event) -> State:
    """The state after an event.

    >>> from likewise.learner.events import Arrived, Person
    >>> from likewise.learner.settings import Learner
    >>> from likewise.simulate import Loans
    >>> state = State.start(Learner(Loans(1).hypotheses(), k=1, alpha=0.3, eps=0.3, seed=1))
    >>> ann = Person("ann", (640.0, 52.0, 30.0, 7.0, 0.0, 6.0, 0.0, 2.0, 4.0))
    >>> apply(state, Arrived("monday", (ann,))).opened
    1
    """
    instance("state", state, State, "State.start(learner) makes one.")
    return _fold.dispatch(type(event))(event, state)


@singledispatch
def _fold(event: Any, state: State) -> State:  # noqa: ARG001
    """The state after an event; each kind of event registers its function."""
    raise EventRefused(f"{shown(event)} is not an event.")


def check_id(name: object, noun: str) -> None:
    """Refuse an id that is not text, or that would come back from a file as another one."""
    if type(name) is str and name and name.isascii():
        return
    if not isinstance(name, str) or not name:
        raise EventRefused(f"{noun} must be text that is not empty; got {shown(name)}. Use str(…).")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise EventRefused(f"{noun} must be text that can be written; got {name!r}.") from None


def open_round(state: State, round_id: str) -> OpenRound:
    instance("state", state, State, "State.start(learner) makes one.")
    check_id(round_id, "A round's id")
    round_ = state.open.get(round_id)
    if round_ is not None:
        return round_
    if round_id in state.closed:
        raise EventRefused(
            f"Round {round_id!r} is closed, and a closed round takes no more events. Corrections "
            f"belong in a new round."
        )
    open_rounds = ", ".join(map(repr, list(state.open)[:5])) or "none"
    raise EventRefused(
        f"Round {round_id!r} is not open; open rounds are: {open_rounds}. It was never opened by "
        f"an Arrived event, or was closed long ago."
    )


@_fold.register
def _arrived(event: events.Arrived, state: State) -> State:
    check_id(event.round, "A round's id")
    if not event.people:
        raise EventRefused(
            f"Round {event.round!r}: nobody arrived (k = 0). Leave such rounds out altogether."
        )
    round_ = state.open.get(event.round)
    if round_ is None:
        if event.round in state.closed:
            raise EventRefused(
                f"Round {event.round!r} is closed already. Use a new id for every round."
            )
        state, round_ = _opened(state, event.round)
    for person in event.people:
        check_id(person.id, "A person's id")
    present = {p.id: p for p in round_.people}
    if all(present.get(p.id) == p for p in event.people):
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
    return with_round(state, changed(round_, people=people, batches=batches))


def _opened(state: State, round_id: str) -> tuple[State, OpenRound]:
    """Open an empty round: freeze the policy π^t, of all costs so far and the noise for them."""
    limit = state.learner.open_limit
    if len(state.open) >= limit:
        raise EventRefused(
            f"Round {round_id!r} cannot open: {limit} rounds are open, which is the learner's "
            f"open_limit. Close those of which nothing more will be heard; the oldest is "
            f"{next(iter(state.open))!r}."
        )
    check_sums(state, round_id)
    tuning, learner = state.opening(), state.learner
    frozen = state.frozen(tuning)
    number = frozen.number
    round_ = OpenRound(round_id, number, frozen, state.lam, learner.draws(number))
    return changed(state, tuning=tuning, opened=number), round_


# Sums of costs above 2^60 units leave no room for noise and for rounds that are open. Cells are at
# most 2^24, so a sum of costs without their last 24 bits cannot overflow.
MOST_BITS, LAST_BITS = 60, 24


def check_sums(state: State, round_id: str) -> None:
    """Refuse to open a round where sums of costs may soon overflow integers of 64 bits.

    A listed class keeps a sum for every hypothesis; others add up the costs of some cells.
    """
    sizes = np.abs(state.costs)
    if isinstance(state.learner.hypotheses, Listed):
        most = int(sizes.max()) >> LAST_BITS
    else:
        most = int((sizes >> LAST_BITS).sum())
    if most >> (MOST_BITS - LAST_BITS):
        raise EventRefused(
            f"Round {round_id!r} cannot open: costs add up to 2^{MOST_BITS} units of 2^-20, and "
            f"integers of 64 bits hold little more. Begin a new state; with a smaller eta, a "
            f"larger share of rounds or a multiplier that grows less it lasts longer."
        )


def possible_pairs(round_: OpenRound, learner: Learner, sensitivity: int) -> Possible:
    """The pairs that could be reported, of a round in which everybody is decided on."""
    scores = [round_.decisions[person.id].score for person in round_.people]
    return Possible.of(learner.hypotheses.schema, round_.people, scores, sensitivity)


def asking(state: State, round_id: str, panel: str = "panel") -> Asking:
    """The pairs that the panel is asked about in a round, as the learner's attention decides.

    They are fixed when the round is sealed; before that, they are those of a round sealed now with
    the panel of that name.
    """
    check_id(panel, "A panel's name")
    round_ = open_round(state, round_id)
    if round_.undecided:
        raise EventRefused(
            f"Round {round_.id!r}: {len(round_.undecided)} people are undecided, and what a panel "
            f"is asked depends on their scores. Decide on them first."
        )
    return _ask(_convened(state, panel), round_) if round_.asking is None else round_.asking


def _convened(state: State, panel: str) -> State:
    """The state when a panel is about to be asked; the attention may know another one."""
    memory = state.learner.looking.convene(state.memory, panel)
    return state if memory is state.memory else changed(state, memory=memory)


def _ask(state: State, round_: OpenRound) -> Asking:
    learner = state.learner
    if learner.looking.asks_all:
        scores = [decision.score for decision in round_.decisions.values()]
        return ask_all(learner.looking, scores, state.sensitivity)
    pairs = possible_pairs(round_, learner, state.sensitivity)
    return ask(learner.looking, state.memory, pairs, round_.number, learner.seed)


def checked_people(event: events.Arrived, round_: OpenRound, state: State) -> tuple[Person, ...]:
    """The people of a batch, checked, with plain numbers for features."""
    limit = state.learner.k
    if len(round_.people) + len(event.people) > limit:
        raise EventRefused(
            f"Round {round_.id!r} would have {len(round_.people) + len(event.people)} people; this "
            f"learner was made for at most k = {limit}. Split the batch into rounds."
        )
    ids = [p.id for p in round_.people + event.people]
    if len(set(ids)) != len(ids):
        twice = sorted({p for p in ids if ids.count(p) > 1})
        raise EventRefused(f"Round {round_.id!r}: {', '.join(map(repr, twice))} arrived twice.")
    schema = state.learner.hypotheses.schema
    people = event.people
    if located_last(state.learner, people) is not None:
        # deploy has checked them.
        return people
    for person in people:
        if len(person.features) != len(schema):
            raise EventRefused(
                f"Person {person.id!r} has {len(person.features)} features; the schema has "
                f"{len(schema)}: {', '.join(schema.names)}."
            )
    encoded = schema.encoded([p.features for p in people], tuple(p.id for p in people))
    if all(type(p.id) is str and set(map(type, p.features)) <= {float} for p in people):
        # Plain already; the same tuple is looked up only once.
        return people
    rows = zip(encoded.ids, encoded.x.tolist(), strict=True)
    return tuple(Person(name, tuple(row)) for name, row in rows)


def decide(state: State, round_id: str) -> events.Decided:
    """Decide on the batch that arrived last; the state does not change.

    Each batch has its own draws for its scores, and one more draw that decides.
    """
    round_ = open_round(state, round_id)
    people = round_.undecided
    if not people:
        raise EventRefused(f"Round {round_id!r}: everybody who arrived has been decided on.")
    learner, batch = state.learner, round_.batches - 1
    # The same tuple if everybody arrived at once, so that nobody is looked up twice.
    points = located(learner, round_.people if len(people) == len(round_.people) else people)
    frozen, one_sided = round_.policy, learner.pricing.one_sided
    draws = Draws(round_.draws, batch, cap=learner.resamples(round_.number))
    estimates = learner.primal.estimates(learner.hypotheses, frozen, points, draws)
    bits = learner.primal.decide(learner.hypotheses, frozen, points, batch)
    experts: Sequence[tuple[int, ...] | None] = estimates.experts or [None] * len(people)
    approvals = np.asarray(bits).tolist()
    rows = zip(people, approvals, estimates.scores, estimates.inverses, experts, strict=True)
    decisions = [
        Decision(person.id, bool(bit), score, inverse if one_sided and bit else None, by)
        for person, bit, score, inverse, by in rows
    ]
    return events.Decided(round_id, tuple(decisions))


def upcoming(state: State) -> Frozen:
    """The policy that a round would have if it opened now."""
    return state.frozen(state.opening())


def current_scores(state: State, people: People, draws: int = 1000) -> IntArray:
    """π(x) of people if a round opened now, in units; nothing is decided.

    It is exact if the player knows its policy, else from ``draws`` draws that nothing else uses.
    """
    return scores_under(state.learner, upcoming(state), people, draws, Purpose.VIEW)


def scores_under(
    learner: Learner, frozen: Frozen, people: People, draws: int, purpose: Purpose
) -> IntArray:
    """π^t(x) of people under a frozen policy, in units: exact, or from draws of a purpose."""
    hypotheses, from_draws = learner.hypotheses, Draws(draws, purpose=purpose)
    points = hypotheses.locate(people)
    estimates = learner.primal.estimates(hypotheses, frozen, points, from_draws)
    return np.array(estimates.scores, dtype=np.int64)


@_fold.register
def _decided(event: events.Decided, state: State) -> State:
    round_ = open_round(state, event.round)
    decided = [d.person for d in event.decisions]
    if not decided:
        raise EventRefused(f"Round {round_.id!r}: a Decided event must decide on somebody.")
    for person in decided:
        check_id(person, "A person's id")
    learner, expected = state.learner, [p.id for p in round_.undecided]
    check_decisions(event.decisions, round_, learner)
    if decided != expected:
        if all(round_.decisions.get(d.person) == d for d in event.decisions):
            return state
        raise EventRefused(
            f"Round {round_.id!r}: decisions must be on {expected}, in that order; got {decided}."
        )
    decisions = MappingProxyType({**round_.decisions, **{d.person: d for d in event.decisions}})
    calls = state.calls + learner.primal.calls(learner.hypotheses, round_.draws)
    round_ = changed(round_, decisions=decisions)
    return state.having(round_, calls=calls)


def check_decisions(decisions: Sequence[Decision], round_: OpenRound, learner: Learner) -> None:
    """Refuse decisions without a score, an approval, and J where it will weigh a label."""
    count, one_sided = learner.primal.experts(learner.hypotheses), learner.pricing.one_sided
    # J is at most M where S depends on the range of an estimate.
    capped = learner.label_square is None
    largest = learner.resamples(round_.number) * ONE if capped else LARGEST_INVERSE
    for decision in decisions:
        inverse, experts, approved = decision.inverse_chance, decision.experts, decision.approved
        weighted = one_sided and approved is True
        if not _in_units(decision.score, 0, ONE):
            _refuse(decision, "a score must be an integer in [0, 2^20]", decision.score)
        if approved is not True and approved is not False:
            _refuse(decision, "approved must be True or False", approved)
        if not (experts is None if not count else _complete(experts, count)):
            listed = f"{count} integers in [0, 2^20]" if count else "none"
            _refuse(decision, f"the scores of the player's experts must be {listed}", experts)
        if not weighted and inverse is not None:
            rule = "an inverse chance is for those whom a learner with one-sided labels approved"
            _refuse(decision, rule, inverse)
        if weighted and not _in_units(inverse, ONE, largest):
            rule = "with one-sided labels an approval must come with its inverse chance, an integer"
            _refuse(decision, f"{rule} in [2^20, {largest}]", inverse)


def _in_units(value: object, low: int, high: int) -> bool:
    """Test for an integer in [low, high]; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _complete(experts: object, count: int) -> bool:
    """Test for the scores of every expert."""
    whole = isinstance(experts, tuple) and len(experts) == count
    return whole and all(_in_units(score, 0, ONE) for score in cast(tuple[object, ...], experts))


def _refuse(decision: Decision, rule: str, value: object) -> NoReturn:
    raise EventRefused(
        f"Person {decision.person!r}: {rule}; got {shown(value)}. decide(…) has what fits."
    )


@_fold.register
def _sealed(event: events.Sealed, state: State) -> State:
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
    state = _convened(state, event.panel)
    asked = _ask(state, round_)
    round_ = changed(round_, panel=event.panel, frozen=None, asking=asked)
    state = with_round(state, round_, looks=state.looks.asked(asked))
    if not state.learner.pricing.one_sided:
        return state  # every label is charged when it comes
    counted = [d for d in round_.decisions.values() if d.person not in round_.overrides]
    people, sealed = [d.person for d in counted], state.learner.pricing.sealed
    weights = error_weights(state.learner, round_, people)
    return charge_labels(state, round_, people, list(map(sealed, counted, weights)))


@_fold.register
def _overridden(event: events.Overridden, state: State) -> State:
    """Record somebody else's decision: its propensity is not ours, so its label costs nothing."""
    check_id(event.person, "A person's id")
    round_ = open_round(state, event.round)
    if event.person in round_.overrides and round_.overrides[event.person] is event.approved:
        return state
    check_override(event, round_, one_sided=state.learner.pricing.one_sided)
    decision = round_.decisions[event.person]
    if round_.panel is not None:
        # Take back the charge of the sealing.
        weights = error_weights(state.learner, round_, [event.person])
        amount = -state.learner.pricing.sealed(decision, *weights)
        state = charge_labels(state, round_, [event.person], [amount])
    overrides = MappingProxyType({**round_.overrides, event.person: event.approved})
    return with_round(state, changed(round_, overrides=overrides), overridden=state.overridden + 1)


def check_override(event: events.Overridden, round_: OpenRound, *, one_sided: bool) -> None:
    """Refuse an override unless it changes a decision, once, before its label is known."""
    if event.person not in round_.decisions:
        raise EventRefused(
            f"Round {round_.id!r} has no decision on {event.person!r} to override; it has those on "
            f"{', '.join(map(repr, round_.decisions)) or 'nobody'}."
        )
    if not isinstance(event.approved, bool):
        raise EventRefused(
            f"Round {round_.id!r}, person {event.person!r}: approved must be True or False; got "
            f"{event.approved!r}."
        )
    words = {True: "approved", False: "rejected"}
    if event.person in round_.overrides:
        raise EventRefused(
            f"Round {round_.id!r}, person {event.person!r}: the override is recorded as "
            f"{words[round_.overrides[event.person]]} and cannot become {words[event.approved]}."
        )
    if event.approved == round_.decisions[event.person].approved:
        raise EventRefused(
            f"Round {round_.id!r}, person {event.person!r}: the learner's decision was "
            f"{words[event.approved]} too, so nothing was overridden. Leave the event out."
        )
    if one_sided and event.person in round_.labels:
        raise EventRefused(
            f"Round {round_.id!r}, person {event.person!r}: the label is known, so the decision "
            f"was carried out and cannot be overridden any more."
        )


@_fold.register
def _audited(event: events.Audited, state: State) -> State:
    round_ = open_round(state, event.round)
    _asked(round_)
    for person in chain.from_iterable(event.pairs):
        check_id(person, "A person's id")
    if round_.outcome is not None:
        same = len(event.pairs) == len(round_.pairs) and all(p in round_.pairs for p in event.pairs)
        if round_.outcome == event.outcome and same:
            return state
        raise EventRefused(
            f"Round {round_.id!r} has an audit on record, "
            f"{_outcome_text(round_.outcome, round_.pairs)}, which cannot become "
            f"{_outcome_text(event.outcome, event.pairs)}."
        )
    check_asked(event, round_)
    if event.pairs:
        check_pairs(event, round_)
    round_ = changed(round_, outcome=event.outcome, pairs=event.pairs)
    limits = event.limit_of
    if event.outcome != "unaudited":
        state = _attended(state, round_, limits)
        if state.learner.ignores_reports:
            return with_round(state, round_, reports=state.reports + (event.outcome == "report"))
    elif not _counts_as_quiet(round_, state):
        return with_round(state, round_)
    return _dual_step(with_round(state, round_), round_, limits)


def _counts_as_quiet(round_: OpenRound, state: State) -> bool:
    """Test whether a round that nobody was asked about lowers the multiplier as a quiet one."""
    learner = state.learner
    if learner.ignores_reports or _asked(round_).looked_at:
        return False
    period = learner.looking.period(state.memory)
    return period > 0 and round_.number % period == 0


def _asked(round_: OpenRound) -> Asking:
    """The pairs that the panel of a sealed round is asked about."""
    if round_.asking is None:
        raise EventRefused(f"Round {round_.id!r} must be sealed before it is audited.")
    return round_.asking


def check_asked(event: events.Audited, round_: OpenRound) -> None:
    """Refuse responses to anything that was not asked, which would bias the learner.

    A round in which nothing could be reported is quiet, although nobody looks.
    """
    asked = _asked(round_)
    if event.outcome == "unaudited":
        return
    if not (asked.looked_at or asked.quiet):
        raise EventRefused(
            f"Round {round_.id!r} is not put before the panel. An audit of rounds that were not "
            f"asked about would bias what is learned: say Audited({round_.id!r}, 'unaudited'), or "
            f"learn(…, report=None); asking(state, round) tells which are."
        )
    for pair in event.pairs:
        if not asked.asks(pair):
            raise EventRefused(
                f"Round {round_.id!r}: the panel was not asked about {pair}; it was asked "
                f"about {', '.join(map(str, asked.pairs or ()))}. Leave other pairs out."
            )


def _attended(state: State, round_: OpenRound, limits: Limits) -> State:
    """The state after the attention has learnt from a response, with its surprises counted."""
    learner, asked = state.learner, _asked(round_)
    looks, memory = state.looks, state.memory
    if not asked.looked_at or (asked.chance >= ONE and not learner.looking.learns):
        return state
    if asked.chance < ONE and any(not asked.expected(pair) for pair in round_.pairs):
        looks = looks.surprised(asked.chance)
    if learner.looking.learns:
        everything = possible_pairs(round_, learner, asked.sensitivity)
        shown = everything.only(_places(everything, asked.asks))
        response = Response(
            shown, _places(shown, asked.expected), _places(shown, round_.pairs.__contains__),
            asked.whole, state.opened - round_.number, limits, round_.panel,
        )  # fmt: skip
        memory = learner.looking.learn(memory, response)
    return changed(state, looks=looks, memory=memory)


def _places(pairs: Possible, fits: Callable[[tuple[str, str]], bool]) -> npt.NDArray[np.bool_]:
    return np.array([fits(pair) for pair in pairs.ids()], dtype=np.bool_)


def _outcome_text(outcome: str, pairs: Sequence[tuple[str, str]]) -> str:
    return f"{outcome!r} of {', '.join(map(str, pairs))}" if pairs else repr(outcome)


def check_pairs(event: events.Audited, round_: OpenRound) -> None:
    """Refuse pairs of other rounds, with the favoured last, or that cannot be violations."""
    sensitivity = _asked(round_).sensitivity
    for (over, under), limit in zip_longest(event.pairs, event.limits):
        for person in (over, under):
            if person not in round_.decisions:
                raise EventRefused(
                    f"Round {round_.id!r} has no person {person!r} to report; it has "
                    f"{', '.join(map(repr, round_.decisions))}."
                )
        high, low = round_.decisions[over].score, round_.decisions[under].score
        if high <= low:
            raise EventRefused(
                f"Round {round_.id!r}: the report ({over!r}, {under!r}) says that the first was "
                f"favoured, but the scores are {_decimal(high)} and {_decimal(low)}. Name the "
                f"favoured person first."
            )
        if high - low <= sensitivity:
            raise EventRefused(
                f"Round {round_.id!r}: the gap of ({over!r}, {under!r}) is {_decimal(high - low)}, "
                f"and the panel was asked for gaps above {_decimal(sensitivity)} (alpha − kappa). "
                f"No distance is below 0, so such a pair cannot be a violation; leave it out."
            )
        if limit is not None and limit >= high - low:
            raise EventRefused(
                f"Round {round_.id!r}: the gap of ({over!r}, {under!r}) is {_decimal(high - low)}, "
                f"which its limit of {_decimal(limit)} allows. Give a lower limit, or None."
            )
    if len({frozenset(pair) for pair in event.pairs}) != len(event.pairs):
        raise EventRefused(f"Round {round_.id!r}: a pair was reported twice.")


def _decimal(units: int) -> str:
    """A number of units as a decimal number: 0.375 for 393216."""
    return f"{units / ONE:.6g}"


def _dual_step(state: State, round_: OpenRound, limits: Limits) -> State:
    """Charge the report, at the round's own lam, and let the dual player take its step.

    Where only a share of the rounds is audited, both weigh one over the share, and steps shrink
    with the number of audits rather than of rounds.
    """
    learner, reported = state.learner, round_.outcome == "report"
    if reported:
        pairs = round_.pairs
        amount = report_cost(round_.lam / learner.audit_share, len(pairs))
        people = [person for pair in pairs for person in pair]
        state = _charge(state, round_, people, [amount, -amount] * len(pairs), report=True)
        total = state.account.reported + amount * len(pairs)
        account = changed(state.account, reported=total)
        sensitivity = _asked(round_).sensitivity
        kappa = next_kappa(learner, state.kappa, round_.decisions, limits, sensitivity)
        state = changed(state, account=account, kappa=kappa)
    audits, reports = state.audits + 1, state.reports + reported
    beta, mu = learner.margins.beta / learner.audit_share, learner.schedule.mu(audits)
    lam = learner.multiplier.step(state.lam, reported=reported, beta=beta, mu=mu)
    account = state.account
    if lam > account.largest_lam:
        account = changed(account, largest_lam=lam)
    return changed(state, lam=lam, audits=audits, reports=reports, account=account)


def next_kappa(
    learner: Learner, kappa: float, decisions: Mapping[str, Decision], limits: Limits,
    sensitivity: int,
) -> float:  # fmt: skip
    """kappa after a report, depending on whether one of its pairs may have been a violation.

    The gap of a violation exceeds the distance by more than alpha, and no distance is below 0. It
    exceeds a limit, which is the distance + alpha − kappa, by more than kappa.
    """
    alpha = to_units(learner.margins.alpha)

    def certain(over: str, under: str, limit: int | None) -> bool:
        allowed = alpha if limit is None else max(alpha, limit + alpha - sensitivity)
        return decisions[over].score - decisions[under].score <= allowed

    every = all(certain(*pair, limit) for pair, limit in limits.items())
    return learner.schedule.next_kappa(kappa, learner.margins.kappa, certain=every)


@_fold.register
def _labelled(event: events.Labelled, state: State) -> State:
    check_id(event.person, "A person's id")
    return label(state, event.round, {event.person: event.label})


def label(state: State, round_id: str, labels: Mapping[str, float]) -> State:
    """The state after labels of some people of a round, as if they came one by one."""
    round_, learner = open_round(state, round_id), state.learner
    one_sided, fractions = learner.pricing.one_sided, learner.loss.fractions
    recorded, charged = dict(round_.labels), []
    for person, value in labels.items():
        y = checked_label(person, value, round_, fractions=fractions)
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
    decided, price = [round_.decisions[person] for person in charged], learner.pricing.labelled
    units = [to_units(recorded[person]) for person in charged]
    amounts = list(map(price, decided, units, error_weights(learner, round_, charged)))
    return charge_labels(state, round_, charged, amounts)


_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def checked_label(person: str, label: object, round_: OpenRound, *, fractions: bool) -> float:
    """The label of somebody in a sealed round: 0 or 1, or a fraction."""
    number = isinstance(label, _NUMBERS)
    if not (number and (label in (0, 1) or (fractions and 0 < cast(float, label) < 1))):
        rule = "a number from 0 to 1" if fractions else "0 or 1"
        raise EventRefused(
            f"Round {round_.id!r}, person {person!r}: a label must be {rule}; got "
            f"{shown(label)}. Leave out labels that are not known."
        )
    if round_.panel is None:
        raise EventRefused(f"Round {round_.id!r} must be sealed before labels come in.")
    if person not in round_.decisions:
        raise EventRefused(
            f"Round {round_.id!r} has no person {person!r} to label; it has "
            f"{', '.join(map(repr, round_.decisions))}."
        )
    if type(label) is int:
        return label
    y = float(cast(float, label))
    return int(y) if y in (0, 1) else y


def check_seen(person: str, round_: OpenRound) -> None:
    """Refuse one-sided labels of people who were rejected."""
    if round_.overrides.get(person) is False:
        raise EventRefused(
            f"Round {round_.id!r}, person {person!r}: the override is recorded as rejected, and "
            f"this learner's labels are one-sided: nobody knows this label. Leave it out."
        )
    if person not in round_.overrides and not round_.decisions[person].approved:
        raise EventRefused(
            f"Round {round_.id!r}, person {person!r} was rejected, and this learner's labels are "
            f"one-sided: nobody knows this label. If somebody approved them after all, record that "
            f"first: Overridden({round_.id!r}, {person!r}, True)."
        )


@_fold.register
def _closed(event: events.Closed, state: State) -> State:
    check_id(event.round, "A round's id")
    if event.round not in state.open and event.round in state.closed:
        return state
    round_ = open_round(state, event.round)
    if round_.outcome is None:
        raise EventRefused(
            f"Round {round_.id!r} has no audit yet. If nobody audits it, say so: "
            f"Audited({round_.id!r}, 'unaudited')."
        )
    missing = round_.awaiting_labels(one_sided=state.learner.pricing.one_sided)
    cost, audits = awaited(round_, state.learner)
    left = {name: other for name, other in state.open.items() if name != round_.id}
    return changed(
        state, open=left, tuning=state.tuning.awaiting(-cost, -audits),
        closed=(*state.closed, round_.id)[-State.remembered:], missing=state.missing + missing,
    )  # fmt: skip


def awaited(round_: OpenRound, learner: Learner) -> tuple[int, int]:
    """A bound on what a round may still cost, in units, and how many audits it awaits: 1 or 0.

    Until it is sealed, a round counts with its full bound, k labels and a report. An audit counts
    where a panel looks at the round and the learner does not ignore it.
    """
    labels = learner.k
    if round_.panel is not None:
        labels = round_.awaiting_labels(one_sided=learner.pricing.one_sided)
    cost = labels * learner.label_bound(round_.number) if labels else 0
    if round_.outcome is not None or learner.ignores_reports:
        return cost, 0
    asked = round_.asking
    if asked is None or asked.looked_at or asked.quiet:
        return cost + 2 * report_cost(round_.lam / learner.audit_share, 1), 1
    return cost, 0


def with_round(state: State, round_: OpenRound, **changes: object) -> State:
    """The state with a round added or changed, and its outstanding feedback counted."""
    before, learner = state.open.get(round_.id), state.learner
    cost, audits = awaited(round_, learner)
    if before is not None:
        cost_before, audits_before = awaited(before, learner)
        cost, audits = cost - cost_before, audits - audits_before
    return state.having(round_, tuning=state.tuning.awaiting(cost, audits), **changes)


def charge_labels(
    state: State, round_: OpenRound, people: Sequence[str], amounts: Sequence[int]
) -> State:
    """The state after costs of labels, in units, on people's points."""
    charged = [(p, a) for p, a in zip(people, amounts, strict=True) if a]
    if not charged:
        return state
    return _charge(state, round_, [p for p, _ in charged], [a for _, a in charged], report=False)


def _charge(
    state: State, round_: OpenRound, people: Sequence[str], amounts: Sequence[int], *, report: bool
) -> State:
    """Charge costs on people's points to the class, to S, to the account and to every expert."""
    learner, hypotheses = state.learner, state.learner.hypotheses
    points = points_of(learner, round_.people, people)
    sizes: IntArray = np.array(amounts, dtype=np.int64)
    costs = engine_for(learner.engine, hypotheses).charge(hypotheses, state.costs, points, sizes)
    costs.flags.writeable = False
    places = learner.primal.places(hypotheses, points)
    square = None if report else learner.label_square
    if square is None:
        tuning = state.tuning.charged(places, sizes)
    else:
        tuning = state.tuning.estimated(places, square)
    decisions = [round_.decisions[person] for person in people]
    paid = sum([amount * d.score for amount, d in zip(amounts, decisions, strict=True)])
    incurred = state.incurred
    if incurred:
        scores = zip(*(cast(tuple[int, ...], d.experts) for d in decisions), strict=True)
        experts = zip(incurred, scores, strict=True)
        incurred = tuple([before + sum(map(mul, amounts, row)) for before, row in experts])
    account = changed(state.account, paid=state.account.paid + paid)
    return changed(state, costs=costs, tuning=tuning, account=account, incurred=incurred)
