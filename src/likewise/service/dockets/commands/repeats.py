"""Rounds that are shown again: what a member says of them is recorded, and changes nothing.

Each of these commands writes one record wherever its counterpart in :mod:`panels` writes one, so
that not even the numbers of receipts tell a round that is shown again from any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.auditing import Pair
from likewise.service.dockets.commands.audits import askable, checked_reason, drop_reason
from likewise.service.dockets.docket import Docket, UnitOfWork
from likewise.service.dockets.projection import Projection, Repeat, Round
from likewise.service.errors import ServiceError
from likewise.service.ledger.records import Receipt

__all__ = ["closed_again", "finish_again", "object_again", "reopen_again", "withdraw_again"]


def object_again(
    docket: Docket, round_id: str, member: str, pair: Iterable[str], reason: str | None = None
) -> Receipt:
    """A member objects to a pair of an earlier round."""
    with docket.unit_of_work() as work:
        round_, said = _begun(work, round_id, member)
        asked = askable(work, round_, pair)
        if asked in said.reasons and not reason and said.reasons[asked] is None:
            return docket.receipt()
        drop_reason(work, said.reasons.get(asked))
        digest = checked_reason(work, reason)
        _record(work, said, {**said.reasons, asked: digest}, done=said.done)
    return docket.receipt()


def withdraw_again(docket: Docket, round_id: str, member: str, pair: Iterable[str]) -> Receipt:
    """A member takes such an objection back."""
    with docket.unit_of_work() as work:
        _, said = _begun(work, round_id, member)
        asked = Pair.of(pair)
        if asked in said.reasons:
            drop_reason(work, said.reasons[asked])
            rest = {pair: reason for pair, reason in said.reasons.items() if pair != asked}
            _record(work, said, rest, done=said.done)
    return docket.receipt()


def finish_again(docket: Docket, round_id: str, member: str) -> Receipt:
    """A member is done with an earlier round."""
    with docket.unit_of_work() as work:
        round_, said = _begun(work, round_id, member)
        if not said.done:
            _record(work, said, said.reasons, done=True)
            if len(round_.seats) == 1:
                # Whoever sits alone closes the panel, which is a second record.
                _record(work, said, said.reasons, done=True)
    return docket.receipt()


def reopen_again(docket: Docket, round_id: str, member: str) -> Receipt:
    """A member takes that back."""
    with docket.unit_of_work() as work:
        _, said = _begun(work, round_id, member)
        if said.done:
            _record(work, said, said.reasons, done=False)
    return docket.receipt()


def closed_again(projection: Projection, said: Repeat) -> bool:
    """Whether it is too late to change one's mind: as if the panel had closed.

    For somebody who sits alone it closes at once, and otherwise with the next audit that ends
    after they are done.
    """
    alone = len(projection.round(said.round).seats) == 1
    return said.done and (alone or len(projection.audits) > said.audits)


def _begun(work: UnitOfWork, round_id: str, member: str) -> tuple[Round, Repeat]:
    """The earlier round, and what the member has said of it this time."""
    round_ = work.projection.round(round_id)
    if round_.seats.get(member) != "reviewed" or round_.outcome is None:
        raise ServiceError(
            "not-repeatable", 409, f"{member!r} has not reviewed the round {round_id!r} before."
        )
    said = work.projection.repeats.get((member, round_id))
    if said is None:
        return round_, Repeat(member, round_id, {}, False, len(work.projection.audits))
    if closed_again(work.projection, said):
        raise ServiceError(
            "panel-closed", 409, "The panel has closed; nothing can be added or taken back."
        )
    return round_, said


def _record(
    work: UnitOfWork, said: Repeat, reasons: Mapping[Pair, str | None], *, done: bool
) -> None:
    listed = [{"pair": list(pair), "reason": reasons[pair]} for pair in sorted(reasons)]
    work.add("repeated", {"member": said.member, "round": said.round, "said": listed, "done": done})
