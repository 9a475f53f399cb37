"""What the fold does not let in, and how it says so."""

from __future__ import annotations

from likewise.errors import EventRefused
from likewise.events import Arrived, Audited, Person
from likewise.learning.state import OpenRound, State

__all__ = ["check_id", "check_pairs", "checked_people", "open_round"]


def check_id(name: object, what: str) -> None:
    """Ids are text that can be written to a file; anything else would come back as another id."""
    if not isinstance(name, str) or not name:
        raise EventRefused(f"{what} must be text that is not empty; got {name!r}. Use str(…).")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise EventRefused(f"{what} must be text that can be written; got {name!r}.") from None


def open_round(state: State, round_id: str) -> OpenRound:
    """The open round of that id."""
    if round_id in state.open:
        return state.open[round_id]
    if round_id in state.closed:
        raise EventRefused(
            f"Round {round_id!r} is closed, and a closed round takes no more events. Corrections "
            f"belong in a new round."
        )
    known = ", ".join(map(repr, list(state.open)[:5])) or "none"
    raise EventRefused(
        f"Round {round_id!r} is not open; open rounds are: {known}. It was never opened by an "
        f"Arrived event, or was closed long ago."
    )


def checked_people(event: Arrived, round_: OpenRound, state: State) -> tuple[Person, ...]:
    """The people as plain numbers, once they have been checked."""
    limit = state.learner.k
    if len(round_.people) + len(event.people) > limit:
        raise EventRefused(
            f"Round {round_.id!r} would have {len(round_.people) + len(event.people)} people; this "
            f"learner was made for at most k = {limit}. Split the batch into rounds."
        )
    for person in event.people:
        check_id(person.id, "A person's id")
    ids = [p.id for p in round_.people + event.people]
    if twice := sorted({p for p in ids if ids.count(p) > 1}):
        raise EventRefused(f"Round {round_.id!r}: {', '.join(map(repr, twice))} arrived twice.")
    schema = state.learner.hypotheses.schema
    for person in event.people:
        if len(person.features) != len(schema):
            raise EventRefused(
                f"Person {person.id!r} has {len(person.features)} features; the schema has "
                f"{len(schema)}: {', '.join(schema.names)}."
            )
    found = schema.people([p.features for p in event.people], [p.id for p in event.people])
    rows = zip(found.ids, found.x.tolist(), strict=True)
    return tuple(Person(name, tuple(row)) for name, row in rows)


def check_pairs(event: Audited, round_: OpenRound, sensitivity: int) -> None:
    """Reported pairs are of the round, name the favoured first, and could be violations at all."""
    for over, under in event.pairs:
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
                f"favoured, but the scores are {high} and {low}. Name the favoured person first."
            )
        if high - low <= sensitivity:
            raise EventRefused(
                f"Round {round_.id!r}: the gap of ({over!r}, {under!r}) is {high - low} units, and "
                f"the panel was asked for gaps above {sensitivity} (alpha − kappa). No distance is "
                f"below 0, so such a pair cannot be a violation; leave it out."
            )
    if len({frozenset(pair) for pair in event.pairs}) != len(event.pairs):
        raise EventRefused(f"Round {round_.id!r}: a pair was reported twice.")
