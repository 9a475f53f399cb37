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

__all__ = ["close_late_panels", "finish", "object_to", "reopen", "set_done", "withdraw"]


def object_to(
    docket: Docket,
    seat: Seat,
    pair: Iterable[str],
    reason: str | None = None,
    signed: SignedAct | None = None,
    *,
    key: str | None = None,
) -> Receipt:
    """A member objects to a pair; the direction follows from the scores.

    Here as below, what is sent again with the same ``key`` is done once, and ``signed`` is the
    member's own signature, if they sign.
    """
    with docket.unit_of_work() as work:
        if _known(work, seat, key):
            return docket.receipt()
        target, asked = _open(docket, work, seat), Pair.of(pair)
        _check_pair(target.round, asked)
        if asked in target.said and not reason and target.said[asked] is None:
            return docket.receipt()
        words = _reason(reason, docket.reason_limit, signed)
        sign_act(work, seat.member, signed, "object", words)
        digest = None if words is None else work.keep(words)
        _drop_reason(work, target.said.get(asked))
        work.add(target.objecting(asked, digest))
    return docket.receipt()


def withdraw(
    docket: Docket, seat: Seat, pair: Iterable[str], signed: SignedAct | None = None, *,
    key: str | None = None,
) -> Receipt:  # fmt: skip
    """A member takes an objection back, before the panel closes."""
    with docket.unit_of_work() as work:
        if _known(work, seat, key):
            return docket.receipt()
        target, asked = _open(docket, work, seat), Pair.of(pair)
        if asked in target.said:
            sign_act(work, seat.member, signed, "withdraw")
            _drop_reason(work, target.said[asked])
            work.add(target.withdrawing(asked))
    return docket.receipt()


def set_done(
    docket: Docket, seat: Seat, signed: SignedAct | None = None, *, done: bool,
    key: str | None = None,
) -> Receipt:  # fmt: skip
    """A member is done with a round, or takes that back before the panel closes.

    The last one who is done closes the panel.
    """
    with docket.unit_of_work() as work:
        if _known(work, seat, key):
            return docket.receipt()
        target = _open(docket, work, seat)
        if target.done != done:
            sign_act(work, seat.member, signed, "done" if done else "reopen")
            for body in target.finishing() if done else [target.reopening()]:
                work.add(body)
            if done:
                work.close_if_done(seat.round)
    return docket.receipt()


# A member is done with a round, and takes that back.
finish = partial(set_done, done=True)
reopen = partial(set_done, done=False)


def close_late_panels(docket: Docket) -> Receipt | None:
    """Close the panels whose deadline has passed; None where there was none."""
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


def _known(work: UnitOfWork, seat: Seat, key: str | None) -> bool:
    """Tell if a request came before; one that did not is remembered from now on."""
    if key is None:
        return False
    named = f"{seat.member}:{key}"
    if work.transaction.request(named) is not None:
        return True
    work.transaction.keep_request(named, "said", seat.round)
    return False


def _late(projection: Projection, at: str) -> list[Round]:
    """The rounds whose panel should have closed by now."""
    return [r for r in projection.open_rounds() if r.outcome is None and passed(r.due, at)]


def _open(docket: Docket, work: UnitOfWork, seat: Seat) -> ReviewTarget:
    """The review that a seat is about, as long as something can be said there."""
    target = seat.target(work.projection)
    if passed(target.due, work.at):
        raise ServiceError(
            "deadline-passed", 409,
            "The time for this round is over and the panel has closed; nothing can be added or "
            "taken back.",
        )  # fmt: skip
    first = seat.again is None
    if (first and target.round.outcome is not None) or (
        not first and not docket.seating.drawn(seat)
    ):
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
        # Without their names: an auditor knows these people by others.
        raise ServiceError(
            "gap-too-small", 422,
            "The chances of these two are too close for a report; only the pairs that are listed "
            "can be objected to.",
        )  # fmt: skip


def _reason(reason: str | None, limit: int, signed: SignedAct | None) -> Payload | None:
    """The words of a reason, with the salt that was signed or a new one; None without any."""
    if reason is not None and len(reason) > limit:
        raise ServiceError("too-long", 422, f"A reason may have {limit} characters; shorten it.")
    if not reason:
        return None
    content = {"text": reason}
    return Payload.fresh(content) if signed is None else Payload(signed.salt, content)


def _drop_reason(work: UnitOfWork, digest: str | None) -> None:
    """Remove a reason that no objection has any more: nobody would find it to erase it later."""
    if digest is not None:
        work.transaction.erase(digest)
