"""Retention: how long features and reasons are kept, legal holds, and erasure afterwards."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.service.clock import later
from likewise.service.dockets.commands.erasure import erase
from likewise.service.dockets.docket import Docket
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies.evidence import (
    HoldLifted,
    HoldPlaced,
    ReasonsErased,
    RetentionSet,
)
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store

DAY = 86_400.0
# The longest period, in days: a hundred years.
LONGEST = 36_525.0
# The most characters of a hold's reason.
LONGEST_WHY = 200


def set_retention(docket: Docket, features: float | None, reasons: float | None) -> Receipt:
    """Keep features and reasons some days after a round has closed; None keeps them always.

    Regulation B asks for 25 months, which are 761 days at least.
    """
    for name, days in (("features", features), ("reasons", reasons)):
        if days is not None and not (math.isfinite(days) and 0 < days <= LONGEST):
            raise ParameterError(
                name, f"must be days above 0, and at most {LONGEST:g}", days,
                "Say null, or `always` at the command line, to keep them always.",
            )  # fmt: skip
    with docket.unit_of_work() as work:
        governance = work.projection.governance
        if (governance.features_days, governance.reasons_days) != (features, reasons):
            work.add(RetentionSet(features, reasons))
    return docket.receipt()


def place_hold(
    docket: Docket, why: str, round_id: str | None = None, person: str | None = None
) -> tuple[str, Receipt]:
    """Place a legal hold on all rounds, one round or one person; return its id and a receipt."""
    if not why.isprintable() or not 0 < len(why.strip()) == len(why) <= LONGEST_WHY:
        raise ParameterError(
            "why", f"must be 1 to {LONGEST_WHY} characters in one line", why,
            "Name the complaint or the order; it stays in the ledger.",
        )  # fmt: skip
    hold = secrets.token_hex(6)
    with docket.unit_of_work() as work:
        if round_id is not None:
            people = work.projection.round(round_id).people
            if person is not None and person not in people:
                words = f"Round {round_id!r} has nobody named {person!r}."
                raise ServiceError("no-person", 404, words)
        elif person is not None:
            raise ParameterError("round", "must be given with a person", None, "Name their round.")
        work.add(HoldPlaced(hold, round_id, person, why))
    return hold, docket.receipt()


def lift_hold(docket: Docket, hold: str) -> Receipt:
    """Lift a legal hold."""
    with docket.unit_of_work() as work:
        if hold not in work.projection.governance.holds:
            raise ServiceError("no-hold", 404, f"There is no hold {hold!r}. It may be over.")
        work.add(HoldLifted(hold))
    return docket.receipt()


@dataclass
class Expired:
    """How many people and rounds' reasons were erased, and how many a hold kept."""

    people: int = 0
    reasons: int = 0
    held: int = 0


def erase_expired(docket: Docket, limit: int = 100) -> Expired:
    """Erase what has been kept for its time, unless held; at most ``limit`` of each kind."""
    expired, governance, at = Expired(), docket.refresh().governance, docket.clock()
    if governance.reasons_days is not None:
        for round_id in _closed_by(docket, later(at, -DAY * governance.reasons_days)):
            if expired.reasons < limit:
                _erase_reasons(docket, round_id, expired)
    if governance.features_days is not None:
        for round_id in _closed_by(docket, later(at, -DAY * governance.features_days)):
            _erase_people(docket, round_id, expired, limit)
            if expired.people >= limit:
                break
    return expired


def _closed_by(docket: Docket, moment: str) -> list[str]:
    """Return the rounds that had closed by a moment, the oldest first."""
    with docket.store.view(docket.name) as view:
        closed = view.records_of_kind("closed")
    return [str(record.body["round"]) for record in closed if record.at <= moment]


def has_periods(store: Store, docket: str) -> bool:
    """Tell if a docket has a period, without opening it."""
    with store.view(docket) as view:
        records = view.records_of_kind("retention-set")
    return bool(records) and records[-1].body != {"features": None, "reasons": None}


def _erase_people(docket: Docket, round_id: str, expired: Expired, limit: int) -> None:
    round_ = docket.projection.round(round_id)
    for person in round_.people:
        if person in round_.erased or expired.people >= limit:
            continue
        if docket.projection.governance.held(round_id, person) is not None:
            expired.held += 1
            continue
        erase(docket, round_id, person)
        expired.people += 1


def _erase_reasons(docket: Docket, round_id: str, expired: Expired) -> None:
    """Remove the words of a round's reasons; their digests stay on record."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        payloads = work.transaction.payloads([*round_.reasons, *round_.explanations.values()])
        if not payloads:
            return
        if work.projection.governance.held(round_id) is not None:
            expired.held += 1
            return
        for digest in payloads:
            work.transaction.erase(digest)
        work.add(ReasonsErased(round_id))
        expired.reasons += 1
    if not docket.grouped:  # otherwise the end of the group does it
        docket.store.scrub_soon()
