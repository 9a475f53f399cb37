"""Questions to a docket's learner."""

from collections.abc import Iterable, Sequence

from likewise.learner import events, players
from likewise.learner.state import State, located
from likewise_service.ledger import kinds


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


def surrogates_in(bodies: Iterable[kinds.Body]) -> dict[tuple[str, str], str | None]:
    """Return the digests of surrogates by (round, person), for everybody who was erased."""
    return {(b.round, b.person): b.digest for b in bodies if isinstance(b, kinds.Erased)}
