"""From records to the learner: the only place in the service where the fold is called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from likewise.errors import LikewiseError
from likewise.learner import events, fold, players
from likewise.learner.settings import Learner
from likewise.learner.state import State, located
from likewise.panel.panels import panel_name
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger import kinds, records

# Payloads by digest, and the digest of the surrogate of everybody who was erased, if there is one.
Contents = Mapping[str, Mapping[str, object]]
Surrogates = Mapping[tuple[str, str], str | None]


def start(spec: DocketSpec, seed: int) -> State:
    """Return the learner before the first round."""
    return State.start(spec.make_learner(seed))


def advance(
    state: State,
    body: kinds.Body,
    contents: Contents | None = None,
    surrogates: Surrogates | None = None,
) -> State:
    """Return the learner after a record."""
    if isinstance(body, kinds.LearnerGiven):
        return State.start(Learner.from_spec({**body.learner, "seed": state.learner.seed}))
    if isinstance(body, kinds.Erased):
        return _forgetting(state, body, contents or {})
    event = _event(body, contents or {}, surrogates or {})
    return state if event is None else fold.apply(state, event)


def chances(state: State, round_id: str, rows: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the scores that people with these features would have had in the last batch.

    They come from the same draws as those of the batch itself, so that only features differ.
    """
    round_, learner = state.open[round_id], state.learner
    people = tuple(events.Person(f"row {number}", row) for number, row in enumerate(rows))
    points, draws = located(learner, people), players.Draws(round_.draws, round_.batches - 1)
    return learner.primal.estimates(learner.hypotheses, round_.policy, points, draws).scores


def features_known(state: State, round_id: str) -> dict[str, tuple[float, ...]]:
    """Return features by person for a round that is open; an empty one otherwise."""
    round_ = state.open.get(round_id)
    return {} if round_ is None else {person.id: person.features for person in round_.people}


def awaited(state: State, round_id: str) -> tuple[str, ...]:
    """Return the people of a round whose labels may still come; none once it has closed."""
    open_round = state.open.get(round_id)
    if open_round is None:
        return ()
    return open_round.awaited(one_sided=state.learner.pricing.one_sided)


# A docket has few panels, and naming one parses its rule.
_panel = lru_cache(maxsize=256)(panel_name)


def _event(body: kinds.Body, contents: Contents, surrogates: Surrogates) -> events.Event | None:
    """Return the event that a record stands for; None for one that does not concern the fold."""
    if isinstance(
        body, (events.Decided, events.Overridden, events.Audited, events.Labelled, events.Closed)
    ):
        return body
    if isinstance(body, kinds.RoundSealed):
        return events.Sealed(
            body.round, _panel(body.members, body.rule) if body.members else "nobody"
        )
    if isinstance(body, kinds.PeopleArrived):
        people = []
        for person in body.people:
            digest = surrogates.get((body.round, person.id), person.digest)
            if digest is None or digest not in contents:
                raise LikewiseError(
                    f"The features of {person.id!r} in round {body.round!r} are not in the store."
                )
            people.append(events.Person(person.id, records.features_of(contents[digest])))
        return events.Arrived(body.round, tuple(people))
    return None


def _forgetting(state: State, body: kinds.Erased, contents: Contents) -> State:
    """Replace an erased person by a surrogate at the same point, so that every cost stays."""
    round_ = state.open.get(body.round)
    if round_ is None or body.digest is None or body.digest not in contents:
        return state
    surrogate = events.Person(body.person, records.features_of(contents[body.digest]))
    people = tuple(surrogate if person.id == body.person else person for person in round_.people)
    return replace(state, open=state.open.having(replace(round_, people=people)))


def surrogates_in(bodies: Iterable[kinds.Body]) -> dict[tuple[str, str], str | None]:
    """Return the digests of surrogates by (round, person), for everybody who was erased."""
    return {(b.round, b.person): b.digest for b in bodies if isinstance(b, kinds.Erased)}


def digests_needed(bodies: Iterable[kinds.Body], surrogates: Surrogates) -> list[str]:
    """Return the digests of the payloads without which the records cannot be folded."""
    digests: list[str | None] = []
    for body in bodies:
        if isinstance(body, kinds.PeopleArrived):
            digests += [surrogates.get((body.round, p.id), p.digest) for p in body.people]
        elif isinstance(body, kinds.Erased):
            digests.append(body.digest)
    return [digest for digest in digests if digest is not None]
