"""Checks of the fold: an event that does not fit is refused, with the reason and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.errors import EventRefused, shown
from likewise.events import Arrived, Audited, Decision, Overridden, Person
from likewise.fixed_point import ONE
from likewise.learning.learner import Learner
from likewise.learning.primal.exponential_weights import LARGEST_INVERSE
from likewise.learning.states.located import is_located
from likewise.learning.states.state import OpenRound, State
from likewise.validation import instance

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def check_id(name: object, noun: str) -> None:
    """Ids are text that can be written to a file; anything else would come back as another id."""
    if type(name) is str and name and name.isascii():
        return
    if not isinstance(name, str) or not name:
        raise EventRefused(f"{noun} must be text that is not empty; got {shown(name)}. Use str(…).")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise EventRefused(f"{noun} must be text that can be written; got {name!r}.") from None


def open_round(state: State, round_id: str) -> OpenRound:
    """The open round of that id."""
    instance("state", state, State, "State.start(learner) makes one.")
    check_id(round_id, "A round's id")
    return find_round(state, round_id)


def find_round(state: State, round_id: str) -> OpenRound:
    """The open round of an id that has been checked."""
    round_ = state.open.find(round_id)
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


def checked_people(event: Arrived, round_: OpenRound, state: State) -> tuple[Person, ...]:
    """The people as plain numbers, once they have been checked."""
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
    if is_located(state.learner, people):
        # Made of people who have been checked: see deploy.
        return people
    for person in people:
        if len(person.features) != len(schema):
            raise EventRefused(
                f"Person {person.id!r} has {len(person.features)} features; the schema has "
                f"{len(schema)}: {', '.join(schema.names)}."
            )
    encoded = schema.encoded([p.features for p in people], tuple(p.id for p in people))
    if all(type(p.id) is str and set(map(type, p.features)) <= {float} for p in people):
        # Plain already; being the same tuple, it is looked up once.
        return people
    rows = zip(encoded.ids, encoded.x.tolist(), strict=True)
    return tuple(Person(name, tuple(row)) for name, row in rows)


def check_pairs(event: Audited, round_: OpenRound, sensitivity: int) -> None:
    """Reported pairs are of the round, name the favoured first, and could be violations at all."""
    for over, under in event.pairs:
        for person in (over, under):
            check_id(person, "A person's id")
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
    if len({frozenset(pair) for pair in event.pairs}) != len(event.pairs):
        raise EventRefused(f"Round {round_.id!r}: a pair was reported twice.")


def _decimal(units: int) -> str:
    """A score or a gap as people write it: 0.375 for 393216 units."""
    return f"{units / ONE:.6g}"


def same_person(left: Person, right: Person) -> bool:
    """Compare id and features; a value that is missing agrees with one that is missing."""
    try:
        # None is a missing value too.
        a, b = (np.array(p.features, dtype=np.float64) for p in (left, right))
    except (OverflowError, TypeError, ValueError):
        return False
    return left.id == right.id and np.array_equal(a, b, equal_nan=True)


def check_decisions(decisions: Sequence[Decision], round_: OpenRound, learner: Learner) -> None:
    """A score, a decision, and J for those whose label will be weighted by it."""
    plain = learner.primal.experts(learner.hypotheses) == 0
    one_sided = learner.pricing.one_sided
    for d in decisions:
        approved = type(d.approved) is bool and not (one_sided and d.approved)
        scored = type(d.score) is int and 0 <= d.score <= ONE
        if not (plain and approved and scored and d.inverse_chance is None and d.experts is None):
            _check_decision(d, round_, learner)


def _check_decision(decision: Decision, round_: OpenRound, learner: Learner) -> None:
    score, inverse = decision.score, decision.inverse_chance
    if isinstance(score, bool) or not isinstance(score, int) or not 0 <= score <= ONE:
        raise EventRefused(
            f"Person {decision.person!r}: a score must be an integer in [0, 2^20]; got "
            f"{score!r}. likewise.fixed_point.to_units turns a chance into one."
        )
    if not isinstance(decision.approved, bool):
        raise EventRefused(
            f"Person {decision.person!r}: approved must be True or False; got "
            f"{decision.approved!r}."
        )
    _check_experts(decision, learner)
    if not (learner.pricing.one_sided and decision.approved):
        if inverse is not None:
            raise EventRefused(
                f"Person {decision.person!r}: an inverse chance is for those whom a learner with "
                f"one-sided labels approved; got {inverse!r}."
            )
        return
    # Where S rests on the range of an estimate, J is at most M.
    capped = learner.label_square is None
    largest = learner.resamples(round_.number) * ONE if capped else LARGEST_INVERSE
    if isinstance(inverse, bool) or not isinstance(inverse, int) or not ONE <= inverse <= largest:
        raise EventRefused(
            f"Person {decision.person!r} was approved, and labels are one-sided: the decision must "
            f"come with its inverse chance, an integer in [2^20, {largest}]; got {inverse!r}."
        )


def _check_experts(decision: Decision, learner: Learner) -> None:
    """The scores of the player's experts, of as many as it has."""
    count, scores = learner.primal.experts(learner.hypotheses), decision.experts
    plain = scores is None if count == 0 else isinstance(scores, tuple) and len(scores) == count
    if not plain or not all(
        isinstance(s, int) and not isinstance(s, bool) and 0 <= s <= ONE for s in scores or ()
    ):
        rule = f"{count} integers in [0, 2^20]" if count else "none"
        raise EventRefused(
            f"Person {decision.person!r}: the scores of the player's experts must be {rule}; got "
            f"{shown(scores)}. decide(…) has them."
        )


def check_override(event: Overridden, round_: OpenRound, *, one_sided: bool) -> None:
    """An override changes a decision, once, before its outcome is known."""
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


def checked_label(person: str, label: object, round_: OpenRound) -> int:
    """The label as 0 or 1, of somebody in a round that is sealed."""
    if not isinstance(label, _NUMBERS) or label not in (0, 1):
        raise EventRefused(
            f"Round {round_.id!r}, person {person!r}: a label must be 0 or 1; got "
            f"{shown(label)}. Leave out labels that are not known."
        )
    if round_.panel is None:
        raise EventRefused(f"Round {round_.id!r} must be sealed before labels come in.")
    if person not in round_.decisions:
        raise EventRefused(
            f"Round {round_.id!r} has no person {person!r} to label; it has "
            f"{', '.join(map(repr, round_.decisions))}."
        )
    return int(label)


def check_seen(person: str, round_: OpenRound) -> None:
    """With one-sided labels, nobody knows what those who were rejected would have done."""
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
