"""Open rounds of a state's JSON: field by field, and as they could have come about by events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.events import Audited, Decision, Person
from likewise.fixed_point import IntArray
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
from likewise.learning.states.state import OpenRound
from likewise.learning.states.stored_values import (
    NOT_WRITTEN,
    amount,
    amounts,
    by_person,
    contradiction,
    incurred_costs,
    numbered,
    several,
)
from likewise.validation import flag, integer, items, members

__all__ = ["MOST_ROUNDS", "ROUND", "round_from_json"]

ROUND = (
    "id", "number", "policy", "lam", "draws", "people", "batches", "decisions", "panel", "outcome",
    "pairs", "labels", "overrides",
)  # fmt: skip
MOST_ROUNDS = 1 << 32  # they are numbered below that


def round_from_json(
    data: Any, arrays: Sequence[IntArray], learner: Learner, where: str
) -> OpenRound:
    """Read an open round back, and check it; ``where`` is what errors call it."""
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
    number = integer("number", given["number"], 1, MOST_ROUNDS, NOT_WRITTEN)
    people = _people(given["people"], learner)
    frozen = None
    if given["policy"] is not None:
        place, listed, incurred = several("policy", given["policy"], 3)
        costs = numbered("policy[0]", place, arrays)
        scales = amounts("policy[1]", listed, learner.primal.scales(learner.hypotheses))
        costly = incurred_costs("policy[2]", incurred, learner)
        frozen = Frozen(number, learner.seed, costs, scales, learner.copies, costly)
    if given["panel"] is not None:
        check_id(given["panel"], "panel")
    written = items("decisions", given["decisions"], NOT_WRITTEN)
    decided = [several("decisions", decision, 5) for decision in written]
    return OpenRound(
        id=given["id"],
        number=number,
        frozen=frozen,
        lam=amount("lam", given["lam"]),
        draws=integer("draws", given["draws"], 0, None, NOT_WRITTEN),
        people=people,
        batches=integer("batches", given["batches"], 1, len(people) + 1, NOT_WRITTEN),
        decisions=_decisions(decided, people),
        panel=given["panel"],
        outcome=given["outcome"],
        pairs=tuple(
            (over, under)
            for over, under in (
                several("pairs", p, 2) for p in items("pairs", given["pairs"], NOT_WRITTEN)
            )
        ),
        labels=by_person("labels", given["labels"], _label),
        overrides=by_person("overrides", given["overrides"], _overriding),
        drawn=lottery(learner, number),
    )


def _people(listed: Any, learner: Learner) -> tuple[Person, ...]:
    pairs = [several("people", person, 2) for person in items("people", listed, NOT_WRITTEN)]
    if not 0 < len(pairs) <= learner.k:
        rule = f"must be between 1 and k = {learner.k} people"
        raise ParameterError("people", rule, len(pairs), NOT_WRITTEN)
    for name, features in pairs:
        check_id(name, "people: an id")
        items("people: features", features, NOT_WRITTEN)
    found = learner.hypotheses.schema.encoded([row for _, row in pairs], [p for p, _ in pairs])
    rows = zip(found.ids, found.x.tolist(), strict=True)
    return tuple(Person(name, tuple(row)) for name, row in rows)


def _decisions(listed: Sequence[Sequence[Any]], people: Sequence[Person]) -> Mapping[str, Decision]:
    """Decisions on the first people who arrived, in their order."""
    decided = [d[0] for d in listed]
    if decided != [p.id for p in people[: len(decided)]]:
        raise ParameterError(
            "decisions", "must be on the people, in their order", decided, NOT_WRITTEN
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
        raise contradiction("panel", "must be none while people are undecided", round_.panel)
    if sealed != (round_.frozen is None):
        raise contradiction("policy", "must be kept until the round is sealed", round_.panel)
    if round_.outcome is None:
        if round_.pairs:
            raise contradiction("pairs", "must be none before the audit", round_.pairs)
    elif not sealed:
        raise contradiction("outcome", "must be none before the round is sealed", round_.outcome)
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
            raise contradiction("overrides", "must change the decision on somebody", person)


def _label(name: str, value: Any) -> int:
    return integer(name, value, 0, 2, NOT_WRITTEN)


def _overriding(name: str, value: Any) -> bool:
    return flag(name, value, NOT_WRITTEN)
