"""From records to the learner: the only place in the service where the fold is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from likewise.auditing.panel import panel_name
from likewise.errors import LikewiseError
from likewise.events import Arrived, Decided, Event, Person, Sealed
from likewise.learning import Learner, State, apply, decide, drawn_for_audit
from likewise.learning.decisions import lottery
from likewise.learning.learner import ALGORITHM
from likewise.learning.primal import Draws
from likewise.learning.states.files import dump_state, parse_state
from likewise.learning.states.located import located
from likewise.service.dockets.spec import DocketSpec
from likewise.service.ledger.bodies import (
    Audited,
    Body,
    Closed,
    Erased,
    Labelled,
    LearnerGiven,
    Overridden,
    PeopleArrived,
    RoundSealed,
)
from likewise.service.ledger.payloads import features_of

__all__ = [
    "ALGORITHM",
    "Contents",
    "Learner",
    "State",
    "Surrogates",
    "advance",
    "awaited",
    "chances",
    "decisions",
    "digests_needed",
    "drawn",
    "dumped",
    "features_known",
    "lottery",
    "parsed",
    "start",
    "surrogates_in",
]

# Payloads by digest; and by whose features, if any, somebody who was erased is replaced.
Contents = Mapping[str, Mapping[str, object]]
Surrogates = Mapping[tuple[str, str], str | None]


def start(spec: DocketSpec, seed: int) -> State:
    """The learner before the first round."""
    return State.start(spec.make_learner(seed))


def advance(
    state: State, body: Body, contents: Contents | None = None, surrogates: Surrogates | None = None
) -> State:
    """The learner after a record; whoever was erased is forgotten by it too."""
    if isinstance(body, LearnerGiven):
        seeded = {**body.learner, "seed": state.learner.seed}
        return State.start(Learner.from_spec(seeded))
    if isinstance(body, Erased):
        return _forgetting(state, body, contents or {})
    event = _event(body, contents or {}, surrogates or {})
    return state if event is None else apply(state, event)


def dumped(state: State) -> str:
    """A state as text."""
    return dump_state(state).decode()


def parsed(text: str) -> State:
    """The state that a text holds."""
    return parse_state(text.encode(), "a snapshot")


def decisions(state: State, round_id: str) -> Decided:
    """The decisions on the batch that arrived last."""
    return decide(state, round_id)


def chances(state: State, round_id: str, rows: Sequence[tuple[float, ...]]) -> list[int]:
    """The scores that people with these features would have had in the batch that arrived last.

    They come from the same draws as those of the batch itself, so that only features differ.
    """
    round_, learner = state.open[round_id], state.learner
    people = tuple(Person(f"row {number}", row) for number, row in enumerate(rows))
    points, draws = located(learner, people), Draws(round_.draws, round_.batches - 1)
    return learner.primal.estimates(learner.hypotheses, round_.policy, points, draws).scores


def features_known(state: State, round_id: str) -> dict[str, tuple[float, ...]]:
    """Features by person, of a round that the learner holds as open; of others nothing."""
    round_ = state.open.get(round_id)
    return {} if round_ is None else {person.id: person.features for person in round_.people}


def drawn(state: State, round_id: str) -> bool:
    """Tell if the lottery drew an open round for audit."""
    return drawn_for_audit(state, round_id)


def awaited(state: State, round_id: str) -> tuple[str, ...]:
    """Those in a round whose labels may still come; nobody in one that has closed."""
    open_round = state.open.get(round_id)
    if open_round is None:
        return ()
    return open_round.awaited(one_sided=state.learner.pricing.one_sided)


# A docket asks for the same few again and again, and a name needs its rule to be read.
_panel = lru_cache(maxsize=256)(panel_name)


def _event(body: Body, contents: Contents, surrogates: Surrogates) -> Event | None:
    """The event of the fold that a record stands for; None for records that do not concern it."""
    if isinstance(body, (Decided, Overridden, Audited, Labelled, Closed)):
        return body
    if isinstance(body, RoundSealed):
        panel = _panel(body.members, body.rule) if body.members else "nobody"
        return Sealed(body.round, panel)
    if isinstance(body, PeopleArrived):
        people = []
        for person in body.people:
            digest = surrogates.get((body.round, person.id), person.digest)
            if digest is None or digest not in contents:
                raise LikewiseError(
                    f"The features of {person.id!r} in round {body.round!r} are not in the store."
                )
            people.append(Person(person.id, features_of(contents[digest])))
        return Arrived(body.round, tuple(people))
    return None


def _forgetting(state: State, body: Erased, contents: Contents) -> State:
    """The same state, with a surrogate for somebody; their point, and so every cost, stays."""
    round_ = state.open.get(body.round)
    if round_ is None or body.digest is None or body.digest not in contents:
        return state
    plain = Person(body.person, features_of(contents[body.digest]))
    people = tuple(plain if person.id == body.person else person for person in round_.people)
    changed = replace(round_, people=people)
    return replace(state, open=state.open.having(changed))


def surrogates_in(bodies: Iterable[Body]) -> dict[tuple[str, str], str | None]:
    """Those who were erased: (round, person) and the digest of the surrogate, if there is one."""
    return {(b.round, b.person): b.digest for b in bodies if isinstance(b, Erased)}


def digests_needed(bodies: Iterable[Body], surrogates: Surrogates) -> list[str]:
    """The payloads without which the records cannot be folded."""
    needed: list[str | None] = []
    for body in bodies:
        if isinstance(body, PeopleArrived):
            needed += [surrogates.get((body.round, p.id), p.digest) for p in body.people]
        elif isinstance(body, Erased):
            needed.append(body.digest)
    return [digest for digest in needed if digest is not None]
