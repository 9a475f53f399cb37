"""Erasing a person, and publishing the seed."""

from __future__ import annotations

from likewise.service.dockets.docket import Docket
from likewise.service.errors import ServiceError
from likewise.service.ledger.payloads import features_of, person_payload, surrogate
from likewise.service.ledger.records import Receipt

__all__ = ["erase", "reveal_seed"]


def erase(docket: Docket, round_id: str, person: str) -> Receipt:
    """Erase what is personal about somebody.

    Features, reasons that name them (also those taken back), and what requests are recognised
    by are removed; :meth:`Store.scrub` then empties the database's own files of them. What remains
    is a coarse surrogate whom the class cannot tell from them, so that every decision can still be
    recomputed.
    """
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        if person not in round_.people:
            raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
        if person not in round_.erased:
            digest = round_.people[person]
            content = work.transaction.payloads([digest])[digest].content
            plain = surrogate(work.state.learner.hypotheses, features_of(content))
            remains = work.keep(person_payload(plain))
            work.add("erased", {"round": round_id, "person": person, "digest": remains})
            work.transaction.erase(digest)
            work.transaction.forget_fingerprints(round_id)
        # Reasons may have been given since; erasing again removes those.
        again = [r.reasons for r in work.projection.repeats.values() if r.round == round_id]
        said = [*round_.reasons.items(), *((d, p) for r in again for p, d in r.items())]
        for reason, pair in said:
            if reason is not None and person in pair:
                work.transaction.erase(reason)
    docket.store.scrub_soon()
    return docket.receipt()


def reveal_seed(docket: Docket) -> Receipt:
    """Publish the seed, once nothing is to be decided any more."""
    with docket.unit_of_work() as work:
        if work.projection.revealed is None:
            work.add("seed-revealed", {"seed": str(docket.seed), "salt": docket.salt.hex()})
    return docket.receipt()
