"""Erasing a person, and publishing the seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from likewise.features import Feature
from likewise.fixed_point import FloatArray
from likewise.hypotheses import HypothesisClass
from likewise.schema import People
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import Erased, SeedRevealed
from likewise.service.ledger.payloads import features_of, person_payload
from likewise.service.ledger.records import Receipt


def erase(docket: Docket, round_id: str, person: str) -> Receipt:
    """Erase what is personal about somebody.

    Features, reasons that name them (also those withdrawn), and the fingerprints of requests are
    removed; :meth:`Store.scrub` then empties the database's own files of them. A coarse surrogate
    remains whom the class cannot tell from them, so that every decision can still be recomputed.
    """
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        if person not in round_.people:
            raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
        hold = work.projection.governance.held(round_id, person)
        if hold is not None:
            raise ServiceError(
                "on-hold", 409,
                f"Nothing about {person!r} can be erased while the hold {hold!r} lasts. Lift it "
                f"first, if nobody needs it any more.",
            )  # fmt: skip
        digest = round_.people[person]
        if person not in round_.erased and digest is not None:
            content = work.transaction.payloads([digest])[digest].content
            features = surrogate(work.state.learner.hypotheses, features_of(content))
            work.add(Erased(round_id, person, work.keep(person_payload(features))))
            work.transaction.erase(digest)
            work.transaction.forget_fingerprints(round_id)
        # Reasons may have been given since; erasing again removes those.
        for reason in _reasons(round_, person):
            work.transaction.erase(reason)
    if not docket.grouped:  # otherwise the end of the group does it: nothing is committed yet
        docket.store.scrub_soon()
    return docket.receipt()


def _reasons(round_: Round, person: str) -> list[str]:
    """Return the digests of all reasons that name a person."""
    reasons = [reason for reason, pair in round_.reasons.items() if person in pair]
    for repeat in round_.repeats.values():
        reasons += [d for pair, d in repeat.objections.items() if d is not None and person in pair]
    if person in round_.explanations:
        reasons.append(round_.explanations[person])
    return reasons


def reveal_seed(docket: Docket) -> Receipt:
    """Publish the seed, once nothing is to be decided any more."""
    with docket.unit_of_work() as work:
        if work.projection.revealed is None:
            work.add(SeedRevealed(str(docket.seed), docket.salt.hex()))
    return docket.receipt()


def surrogate(hypotheses: HypothesisClass, features: Sequence[float]) -> tuple[float, ...]:
    """Return a coarse person whom the class cannot tell from this one.

    Every feature becomes the plainest value that does not move the person's point: the lowest
    one, or the lowest end of a range as long as possible. So all decisions and costs stay what
    they were, and features that the class ignores are gone.

    >>> from likewise.worlds import Loans
    >>> world = Loans(1)
    >>> before = world.encounter(1).people.x[0].tolist()
    >>> after = surrogate(world.hypotheses(), before)
    >>> sum(a != b for a, b in zip(after, before)) >= 6
    True
    """
    schema = hypotheses.schema
    coarse = np.array(features, dtype=np.float64)
    point = _point(hypotheses, coarse)
    for column, name in enumerate(schema.names):
        for value in _plainer(schema[name], float(coarse[column])):
            changed = coarse.copy()
            changed[column] = value
            if _point(hypotheses, changed) == point:
                coarse = changed
                break
    return tuple(coarse.tolist())


def _plainer(feature: Feature, value: float) -> list[float]:
    """Return values to try, the plainest first: the lowest, ends of halves, quarters, …, itself."""
    low, high = feature.limits
    if math.isnan(value):
        return [value]
    if feature.kind in ("category", "flag"):
        return [low, value]
    if not math.isfinite(high - low):
        return [min(max(0.0, low), high), value]
    values = [low]
    for depth in range(1, 11):
        step = (high - low) / 2**depth
        end = low + math.floor((value - low) / step) * step
        values.append(max(low, float(math.floor(end))) if feature.kind == "integer" else end)
    return [*values, value]


def _point(hypotheses: HypothesisClass, x: FloatArray) -> bytes:
    points = hypotheses.locate(People(("someone",), x[None, :], hypotheses.schema))
    return np.ascontiguousarray(points).tobytes()
