"""What an auditor does with a review, whichever kind it is."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.dockets.commands import audits, repeats
from likewise.service.dockets.reviews import Review, ReviewBoard
from likewise.service.errors import ServiceError
from likewise.service.ledger.records import Receipt

__all__ = ["finish", "objection", "take_back", "withdrawal"]


def objection(
    board: ReviewBoard, member: str, review_id: str, pair: Sequence[str], reason: str | None
) -> Receipt:
    """The member objects to a pair, by the names of the review."""
    review = _open(board, member, review_id)
    asked = _people(board, review, pair)
    # Said here, by the names that the member knows; the docket would say it by others.
    scores = [review.round.decisions[person].score for person in asked]
    if abs(scores[0] - scores[1]) <= board.docket.state.learner.sensitivity:
        raise ServiceError(
            "gap-too-small", 422,
            f"The chances of {pair[0]!r} and {pair[1]!r} are too close for a report; only the "
            f"pairs that are listed with the review can be objected to.",
        )  # fmt: skip
    act = repeats.object_again if review.repeat else audits.object_to
    return act(board.docket, review.round.id, member, asked, reason)


def withdrawal(board: ReviewBoard, member: str, review_id: str, pair: Sequence[str]) -> Receipt:
    """The member takes an objection back."""
    review = _open(board, member, review_id)
    act = repeats.withdraw_again if review.repeat else audits.withdraw
    return act(board.docket, review.round.id, member, _people(board, review, pair))


def finish(board: ReviewBoard, member: str, review_id: str) -> Receipt:
    """The member is done."""
    review = _open(board, member, review_id)
    act = repeats.finish_again if review.repeat else audits.review
    return act(board.docket, review.round.id, member)


def take_back(board: ReviewBoard, member: str, review_id: str) -> Receipt:
    """The member is not done after all."""
    review = _open(board, member, review_id)
    act = repeats.reopen_again if review.repeat else audits.reopen
    return act(board.docket, review.round.id, member)


def _open(board: ReviewBoard, member: str, review_id: str) -> Review:
    review = board.one(member, review_id)
    if review.status not in ("asked", "waiting"):
        raise ServiceError(
            "panel-closed", 409,
            "The panel has closed; nothing can be added or taken back. See what became of it.",
        )  # fmt: skip
    return review


def _people(board: ReviewBoard, review: Review, pair: Sequence[str]) -> tuple[str, str]:
    """Who is meant by two names of a review."""
    people = {alias: person for person, alias in review.aliases(board.key).items()}
    for alias in pair:
        if alias not in people:
            raise ServiceError(
                "no-person", 404,
                f"This review has nobody called {alias!r}. Its people are p1 to p{len(people)}.",
            )  # fmt: skip
    if pair[0] == pair[1]:
        raise ServiceError("no-pair", 422, "A pair must be two different people; name another.")
    return people[pair[0]], people[pair[1]]
