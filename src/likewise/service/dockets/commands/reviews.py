"""The panel at work: objections, their withdrawal, reviews, and the end of an audit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from likewise.auditing import Pair
from likewise.service.clock import passed
from likewise.service.dockets.commands.signing import SignedAct, sign_act
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews.targets import ReviewTarget, Seat
from likewise.service.dockets.unit_of_work import UnitOfWork
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import Absent
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Receipt


def flag(
    docket: Docket,
    seat: Seat,
    pair: Iterable[str],
    reason: str | None = None,
    signed: SignedAct | None = None,
    *,
    key: str | None = None,
) -> Receipt:
    """Flag a pair for a member; the direction follows from the scores.

    Here as below, a request that is sent again with the same ``key`` is recorded once, and
    ``signed`` is the member's own signature, if they sign.
    """
    with docket.unit_of_work() as work:
        target, flagged = _target(docket, work, seat, key), Pair.of(pair)
        if target is None:
            return docket.receipt()
        _check_pair(target.round, flagged)
        before = target.objections.get(flagged)
        if flagged in target.objections and not reason and before is None:
            return docket.receipt()
        payload = reason_payload(reason, docket.reason_limit, signed)
        sign_act(work, seat.member, signed, "flag", payload)
        digest = None if payload is None else work.keep(payload)
        _drop_reason(work, before)
        work.add(target.flagging(flagged, digest))
    return docket.receipt()


def withdraw(
    docket: Docket, seat: Seat, pair: Iterable[str], signed: SignedAct | None = None, *,
    key: str | None = None,
) -> Receipt:  # fmt: skip
    """Withdraw a member's objection, before the panel closes."""
    with docket.unit_of_work() as work:
        target, flagged = _target(docket, work, seat, key), Pair.of(pair)
        if target is not None and flagged in target.objections:
            sign_act(work, seat.member, signed, "withdraw")
            _drop_reason(work, target.objections[flagged])
            work.add(target.withdrawing(flagged))
    return docket.receipt()


def set_finished(
    docket: Docket, seat: Seat, signed: SignedAct | None = None, *, finished: bool,
    key: str | None = None,
) -> Receipt:  # fmt: skip
    """Finish a member's review, or reopen it before the panel closes.

    The last member to finish closes the panel.
    """
    with docket.unit_of_work() as work:
        target = _target(docket, work, seat, key)
        if target is not None and target.finished != finished:
            sign_act(work, seat.member, signed, "finish" if finished else "reopen")
            for body in target.finishing() if finished else [target.reopening()]:
                work.add(body)
            if finished:
                work.close_if_done(seat.round)
    return docket.receipt()


finish = partial(set_finished, finished=True)
reopen = partial(set_finished, finished=False)


def close_late_panels(docket: Docket) -> Receipt | None:
    """Close the panels whose deadline has passed; return None if there are none."""
    if not _late(docket.refresh(), docket.moment()):
        return None
    with docket.unit_of_work() as work:
        for round_ in _late(work.projection, work.at):
            seats = dict(round_.seats)
            for member in [member for member, seat in seats.items() if seat == "asked"]:
                work.add(Absent(round_.id, member))
                seats[member] = "absent"
            work.add(round_.conclusion(work.projection.settings.quorum, seats))
            work.close_if_done(round_.id)
    return docket.receipt()


def _late(projection: Projection, at: str) -> list[Round]:
    """Return the rounds whose panel should have closed by now."""
    return [r for r in projection.open_rounds() if r.outcome is None and passed(r.due, at)]


def _target(docket: Docket, work: UnitOfWork, seat: Seat, key: str | None) -> ReviewTarget | None:
    """Return the open review of a seat; None if a request with that key came before."""
    if key is not None:
        request = f"{seat.member}:{key}"
        if work.transaction.request(request) is not None:
            return None
        work.transaction.keep_request(request, "said", seat.round)
    target = seat.target(work.projection)
    if passed(target.due, work.at):
        raise ServiceError(
            "deadline-passed", 409,
            "The time for this round is over and the panel has closed; nothing can be added or "
            "taken back.",
        )  # fmt: skip
    if seat.again is None:
        closed = target.round.outcome is not None
    else:
        closed = not docket.seating.drawn(seat)
    if closed:
        raise ServiceError(
            "panel-closed", 409,
            "The panel has closed; nothing can be added or taken back. See what became of it.",
        )  # fmt: skip
    return target


def _check_pair(round_: Round, pair: Pair) -> None:
    """Refuse a pair that no panel may report."""
    for person in pair:
        if person not in round_.decisions:
            raise ServiceError(
                "no-person", 404, f"Round {round_.id!r} has nobody of the id {person!r}."
            )
    if not round_.can_report(pair):
        # Without their names: an auditor knows these people by aliases.
        raise ServiceError(
            "gap-too-small", 422,
            "The chances of these two are too close for a report; only the pairs that are listed "
            "can be flagged.",
        )  # fmt: skip


def reason_payload(
    reason: str | None, limit: int, signed: SignedAct | None = None
) -> Payload | None:
    """Return the words of a reason, with the salt that was signed or a new one, if any."""
    if reason is not None and len(reason) > limit:
        raise ServiceError("too-long", 422, f"A reason may have {limit} characters; shorten it.")
    if not reason:
        return None
    content = {"text": reason}
    return Payload.fresh(content) if signed is None else Payload(signed.salt, content)


def _drop_reason(work: UnitOfWork, digest: str | None) -> None:
    """Remove a reason that no objection has any more: nobody could find it to erase it later."""
    if digest is not None:
        work.transaction.erase(digest)
