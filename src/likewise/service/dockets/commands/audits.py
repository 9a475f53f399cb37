"""The panel at work: objections, their withdrawal, reviews, and the end of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.auditing import Pair, report
from likewise.events import Outcome
from likewise.service.dockets.docket import Bench, Desk
from likewise.service.dockets.projection import Book, Round, instant
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
    desk: Desk, round_id: str, member: str, pair: Iterable[str], reason: str | None = None
) -> Receipt:
    """A member objects to a pair; the direction follows from the scores."""
    with desk.work() as bench:
        round_ = _seated(bench, round_id, member)
        asked = askable(bench, round_, pair)
        mine = round_.objections.get(member, {})
        if asked in mine and not reason and mine[asked] is None:
            return desk.receipt()
        digest = checked_reason(bench, reason)
        drop_reason(bench, mine.get(asked))
        bench.add(
            "objected",
            {"round": round_id, "member": member, "pair": list(asked), "reason": digest},
        )
    return desk.receipt()


def withdraw(desk: Desk, round_id: str, member: str, pair: Iterable[str]) -> Receipt:
    """A member takes an objection back, before the panel closes."""
    with desk.work() as bench:
        round_ = _seated(bench, round_id, member)
        asked = Pair.of(pair)
        if asked in round_.objections.get(member, {}):
            drop_reason(bench, round_.objections[member][asked])
            bench.add("withdrawn", {"round": round_id, "member": member, "pair": list(asked)})
    return desk.receipt()


def review(desk: Desk, round_id: str, member: str) -> Receipt:
    """A member is done with a round; the last one closes the panel."""
    with desk.work() as bench:
        round_ = _seated(bench, round_id, member)
        if round_.seats[member] == "asked":
            bench.add("reviewed", {"round": round_id, "member": member})
            rest = {m: s for m, s in round_.seats.items() if m != member}
            if "asked" not in rest.values():
                _conclude(bench, round_, {**rest, member: "reviewed"})
    return desk.receipt()


def reopen(desk: Desk, round_id: str, member: str) -> Receipt:
    """A member takes a review back, before the panel closes."""
    with desk.work() as bench:
        if _seated(bench, round_id, member).seats[member] == "reviewed":
            bench.add("reopened", {"round": round_id, "member": member})
    return desk.receipt()


def tick(desk: Desk) -> Receipt | None:
    """Close the panels whose deadline has passed; None where there was none."""
    if not _late(desk.refresh(), desk.clock()):
        return None
    with desk.work() as bench:
        for round_ in _late(bench.book, bench.at):
            seats = dict(round_.seats)
            for member, seat in round_.seats.items():
                if seat == "asked":
                    bench.add("absent", {"round": round_.id, "member": member})
                    seats[member] = "absent"
            _conclude(bench, round_, seats)
    return desk.receipt()


def _late(book: Book, at: str) -> list[Round]:
    """The rounds whose panel should have closed by now."""
    moment = instant(at)
    waiting = (r for r in book.open_rounds() if r.outcome is None and r.due is not None)
    return [r for r in waiting if r.due is not None and instant(r.due) <= moment]


def _conclude(bench: Bench, round_: Round, seats: dict[str, str]) -> None:
    """The rule over what those present said; with too few of them, nobody audited the round."""
    outcome, pairs = conclusion(round_, seats, bench.book.settings.quorum)
    bench.add("audited", {"round": round_.id, "outcome": outcome, "pairs": pairs})
    bench.close_if_done(round_.id)


def conclusion(
    round_: Round, seats: Mapping[str, str], quorum: int
) -> tuple[Outcome, list[list[str]]]:
    """How an audit ends, and the pairs that are reported: the Desk says so, replay checks it."""
    present = [member for member, seat in seats.items() if seat == "reviewed"]
    if not seats or len(present) < min(quorum, len(seats)):
        return "unaudited", []
    scores = [decision.score for decision in round_.decisions.values()]
    found = report(round_.rule, round_.spoken(seats), scores).pairs
    return ("report" if found else "quiet"), [list(pair) for pair in found]


def _seated(bench: Bench, round_id: str, member: str) -> Round:
    round_ = bench.book.round(round_id)
    if member not in round_.seats:
        raise ServiceError(
            "not-seated", 403, f"{member!r} does not sit on the panel of round {round_id!r}."
        )
    if round_.outcome is not None or round_.closed is not None:
        raise ServiceError(
            "panel-closed", 409,
            "The panel of this round has closed; nothing can be added or taken back.",
        )  # fmt: skip
    if round_.due is not None and round_.due <= bench.at:
        raise ServiceError(
            "deadline-passed", 409,
            "The time for this round is over; nothing can be added or taken back.",
        )  # fmt: skip
    return round_


def checked_reason(bench: Bench, reason: str | None) -> str | None:
    """Keep a reason beside the ledger; its digest, or None where there is none."""
    if reason is not None and len(reason) > LONGEST_REASON:
        raise ServiceError(
            "too-long", 422, f"A reason may have {LONGEST_REASON} characters; shorten it."
        )
    return bench.keep(Payload.fresh({"text": reason})) if reason else None


def drop_reason(bench: Bench, digest: str | None) -> None:
    """Remove a reason that no objection has any more: nobody would find it to erase it later."""
    if digest is not None:
        bench.writing.erase(digest)


def askable(bench: Bench, round_: Round, pair: Iterable[str]) -> Pair:
    """The pair, if its gap is large enough for a report."""
    asked = Pair.of(pair)
    for person in asked:
        if person not in round_.decisions:
            raise ServiceError(
                "no-person", 404, f"Round {round_.id!r} has nobody of the id {person!r}."
            )
    first, second = (round_.decisions[person].score for person in asked)
    if abs(first - second) <= bench.state.learner.sensitivity:
        raise ServiceError(
            "gap-too-small", 422,
            f"The chances of {asked.first!r} and {asked.second!r} are too close for a report; only "
            f"the pairs that are listed with the round can be objected to.",
        )  # fmt: skip
    return asked
