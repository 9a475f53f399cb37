"""Erasing a person, and publishing the seed."""

from __future__ import annotations

from likewise.service.dockets.docket import Desk
from likewise.service.errors import ServiceError
from likewise.service.ledger.payloads import features_of, person_payload, stand_in
from likewise.service.ledger.records import Receipt

__all__ = ["erase", "reveal_seed"]


def erase(desk: Desk, round_id: str, person: str) -> Receipt:
    """Erase what is personal about somebody.

    Features, reasons that name them (also those taken back), and what requests are recognised
    by are removed; :meth:`Store.scrub` then empties the database's own files of them. What remains
    is a coarse stand-in whom the class cannot tell from them, so that every decision can still be
    recomputed.
    """
    with desk.work() as bench:
        round_ = bench.book.round(round_id)
        if person not in round_.people:
            raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
        if person not in round_.erased:
            digest = round_.people[person]
            content = bench.writing.payloads([digest])[digest].content
            plain = stand_in(bench.state.learner.hypotheses, features_of(content))
            remains = bench.keep(person_payload(plain))
            bench.add("erased", {"round": round_id, "person": person, "digest": remains})
            bench.writing.erase(digest)
            bench.writing.forget_fingerprints(round_id)
        # Reasons may have been given since; erasing again removes those.
        again = [r.reasons for r in bench.book.repeats.values() if r.round == round_id]
        said = [*round_.reasons.items(), *((d, p) for r in again for p, d in r.items())]
        for reason, pair in said:
            if reason is not None and person in pair:
                bench.writing.erase(reason)
    desk.store.scrub_soon()
    return desk.receipt()


def reveal_seed(desk: Desk) -> Receipt:
    """Publish the seed, once nothing is to be decided any more."""
    with desk.work() as bench:
        if bench.book.revealed is None:
            bench.add("seed-revealed", {"seed": str(desk.seed), "salt": desk.salt.hex()})
    return desk.receipt()
