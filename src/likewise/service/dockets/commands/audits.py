"""The panel at work: objections, their withdrawal, reviews, and the end of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.auditing import Pair, report
from likewise.events import Outcome
from likewise.service.dockets.docket import Docket, UnitOfWork
from likewise.service.dockets.projection import Projection, Round, instant
from likewise.service.errors import ServiceError
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt

__all__ = [
    "askable",
    "checked_reason",
    "conclusion",
    "drop_reason",
    "object_to",
    "reopen",
    "review",
    "tick",
    "withdraw",
]

LONGEST_REASON = 2000


def object_to(
    docket: Docket, round_id: str, member: str, pair: Iterable[str], reason: str | None = None
) -> Receipt:
    """A member objects to a pair; the direction follows from the scores."""
    with docket.unit_of_work() as work:
        round_ = _seated(work, round_id, member)
        asked = askable(work, round_, pair)
        mine = round_.objections.get(member, {})
        if asked in mine and not reason and mine[asked] is None:
            return docket.receipt()
        digest = checked_reason(work, reason)
        drop_reason(work, mine.get(asked))
        work.add(
            "objected",
            {"round": round_id, "member": member, "pair": list(asked), "reason": digest},
        )
    return docket.receipt()


def withdraw(docket: Docket, round_id: str, member: str, pair: Iterable[str]) -> Receipt:
    """A member takes an objection back, before the panel closes."""
    with docket.unit_of_work() as work:
        round_ = _seated(work, round_id, member)
        asked = Pair.of(pair)
        if asked in round_.objections.get(member, {}):
            drop_reason(work, round_.objections[member][asked])
            work.add("withdrawn", {"round": round_id, "member": member, "pair": list(asked)})
    return docket.receipt()


def review(docket: Docket, round_id: str, member: str) -> Receipt:
    """A member is done with a round; the last one closes the panel."""
    with docket.unit_of_work() as work:
        round_ = _seated(work, round_id, member)
        if round_.seats[member] == "asked":
            work.add("reviewed", {"round": round_id, "member": member})
            rest = {m: s for m, s in round_.seats.items() if m != member}
            if "asked" not in rest.values():
                _conclude(work, round_, {**rest, member: "reviewed"})
    return docket.receipt()


def reopen(docket: Docket, round_id: str, member: str) -> Receipt:
    """A member takes a review back, before the panel closes."""
    with docket.unit_of_work() as work:
        if _seated(work, round_id, member).seats[member] == "reviewed":
            work.add("reopened", {"round": round_id, "member": member})
    return docket.receipt()


def tick(docket: Docket) -> Receipt | None:
    """Close the panels whose deadline has passed; None where there was none."""
    if not _late(docket.refresh(), docket.clock()):
        return None
    with docket.unit_of_work() as work:
        for round_ in _late(work.projection, work.at):
            seats = dict(round_.seats)
            for member, seat in round_.seats.items():
                if seat == "asked":
                    work.add("absent", {"round": round_.id, "member": member})
                    seats[member] = "absent"
            _conclude(work, round_, seats)
    return docket.receipt()


def _late(projection: Projection, at: str) -> list[Round]:
    """The rounds whose panel should have closed by now."""
    moment = instant(at)
    waiting = (r for r in projection.open_rounds() if r.outcome is None and r.due is not None)
    return [r for r in waiting if r.due is not None and instant(r.due) <= moment]


def _conclude(work: UnitOfWork, round_: Round, seats: dict[str, str]) -> None:
    """The rule over what those present said; with too few of them, nobody audited the round."""
    outcome, pairs = conclusion(round_, seats, work.projection.settings.quorum)
    work.add("audited", {"round": round_.id, "outcome": outcome, "pairs": pairs})
    work.close_if_done(round_.id)


def conclusion(
    round_: Round, seats: Mapping[str, str], quorum: int
) -> tuple[Outcome, list[list[str]]]:
    """How an audit ends, and the pairs that are reported: the Docket says so, replay checks it."""
    present = [member for member, seat in seats.items() if seat == "reviewed"]
    if not seats or len(present) < min(quorum, len(seats)):
        return "unaudited", []
    scores = [decision.score for decision in round_.decisions.values()]
    found = report(round_.rule, round_.spoken(seats), scores).pairs
    return ("report" if found else "quiet"), [list(pair) for pair in found]


def _seated(work: UnitOfWork, round_id: str, member: str) -> Round:
    round_ = work.projection.round(round_id)
    if member not in round_.seats:
        raise ServiceError(
            "not-seated", 403, f"{member!r} does not sit on the panel of round {round_id!r}."
        )
    if round_.outcome is not None or round_.closed is not None:
        raise ServiceError(
            "panel-closed", 409,
            "The panel of this round has closed; nothing can be added or taken back.",
        )  # fmt: skip
    if round_.due is not None and round_.due <= work.at:
        raise ServiceError(
            "deadline-passed", 409,
            "The time for this round is over; nothing can be added or taken back.",
        )  # fmt: skip
    return round_


def checked_reason(work: UnitOfWork, reason: str | None) -> str | None:
    """Keep a reason beside the ledger; its digest, or None where there is none."""
    if reason is not None and len(reason) > LONGEST_REASON:
        raise ServiceError(
            "too-long", 422, f"A reason may have {LONGEST_REASON} characters; shorten it."
        )
    return work.keep(Payload.fresh({"text": reason})) if reason else None


def drop_reason(work: UnitOfWork, digest: str | None) -> None:
    """Remove a reason that no objection has any more: nobody would find it to erase it later."""
    if digest is not None:
        work.transaction.erase(digest)


def askable(work: UnitOfWork, round_: Round, pair: Iterable[str]) -> Pair:
    """The pair, if its gap is large enough for a report."""
    asked = Pair.of(pair)
    for person in asked:
        if person not in round_.decisions:
            raise ServiceError(
                "no-person", 404, f"Round {round_.id!r} has nobody of the id {person!r}."
            )
    first, second = (round_.decisions[person].score for person in asked)
    if abs(first - second) <= work.state.learner.sensitivity:
        raise ServiceError(
            "gap-too-small", 422,
            f"The chances of {asked.first!r} and {asked.second!r} are too close for a report; only "
            f"the pairs that are listed with the round can be objected to.",
        )  # fmt: skip
    return asked
