"""The panel: what members say, the end of an audit; who sits, by which rule and guidelines."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel.objections import Pair
from likewise.people.schema import FeatureSchema
from likewise.validation import within
from likewise_service.clock import passed
from likewise_service.dockets import spec
from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.dockets.reviews import Review
from likewise_service.dockets.round import Round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.signing import Signature, sign_act
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, records, signatures


@command
def flag(
    work: UnitOfWork, seat: Seat, pair: Iterable[str], reason: str | None = None,
    signed: Signature | None = None, *, limit: float | None = None, key: str | None = None,
) -> None:  # fmt: skip
    """Flag a pair for a member; the direction follows from the scores.

    ``limit`` is the largest gap that they would accept, where the docket asks for it. Here as in
    the members' other acts, a request that is sent again with the same ``key`` is recorded once,
    and ``signed`` is the member's own signature, if they sign.
    """
    flagged = Pair.of(pair)
    review = _open_review(work, seat, key, "flag", *flagged, reason, limit)
    if review is None:
        return
    _check_pair(review, flagged)
    units = None if limit is None else _checked_limit(work, review.round.gap(flagged), limit)
    before = review.objections.get(flagged)
    if before == kinds.Objection(None, units) and not reason:
        return
    payload = work.reason(reason, None if signed is None else signed.salt)
    objection = kinds.Objection(None if payload is None else payload.digest, units)
    sign_act(work, review, "flag", signed, flagged, objection)
    if payload is not None:
        work.keep(payload)
    _drop_reason(work, before)
    work.add(*review.bodies("flag", flagged, objection))


def _checked_limit(work: UnitOfWork, gap: int, limit: float) -> int:
    """Return a limit in units; it must be one that the two exceed."""
    if not work.projection.settings.graded:
        sentence = N_("This docket takes flags without a limit. Leave the limit out.")
        raise ServiceError("not-graded", 422, sentence)
    units = to_units(within("limit", limit, 0, 1, "It is the largest gap that you would accept."))
    if units >= gap:
        fault = f"The two are {gap / ONE:.3f} apart, which a limit of {limit:g} allows."
        raise ServiceError("limit-kept", 422, f"{fault} Give a lower limit, or do not flag them.")
    return units


@command
def withdraw(
    work: UnitOfWork, seat: Seat, pair: Iterable[str], signed: Signature | None = None, *,
    key: str | None = None,
) -> None:  # fmt: skip
    flagged = Pair.of(pair)
    review = _open_review(work, seat, key, "withdraw", *flagged)
    if review is not None and flagged in review.objections:
        sign_act(work, review, "withdraw", signed, flagged)
        _drop_reason(work, review.objections[flagged])
        work.add(*review.bodies("withdraw", flagged))


# The most comments of one member on one round.
COMMENTS = 100


@command
def comment(
    work: UnitOfWork, seat: Seat, text: str, signed: Signature | None = None, *,
    key: str | None = None,
) -> None:  # fmt: skip
    """Record a member's comment on a round: others see it once the panel has closed."""
    if _came_before(work, seat, key, "comment", text):
        return
    review = Review(work.docket, seat, work.at)
    round_ = review.round
    if sum(comment.member == seat.member for comment in round_.comments) >= COMMENTS:
        sentence = f"You have made {COMMENTS} comments on this round, and no more are taken."
        raise ServiceError("too-many", 409, sentence)
    payload = work.reason(text.strip(), None if signed is None else signed.salt)
    if payload is None:
        raise ServiceError("no-words", 422, N_("A comment has words. Write some."))
    sign_act(work, review, "comment", signed, objection=kinds.Objection(payload.digest))
    again = seat.again is not None and work.docket.seating.drawn(seat)
    work.add(kinds.Commented(round_.id, seat.member, work.keep(payload), again))


@command
def set_finished(
    work: UnitOfWork, seat: Seat, signed: Signature | None = None, *, finished: bool,
    key: str | None = None,
) -> None:  # fmt: skip
    """Finish a member's review, or reopen it before the panel closes.

    The last member to finish closes the panel; where members are asked in turn, the next is asked.
    """
    act: signatures.Act = "finish" if finished else "reopen"
    review = _open_review(work, seat, key, act)
    if review is not None and review.finished != finished:
        sign_act(work, review, act, signed)
        work.add(*review.bodies(act))
        if finished and seat.again is None:
            _go_on(work, review.round.id)


finish = partial(set_finished, finished=True)
reopen = partial(set_finished, finished=False)


def close_late_panels(docket: Docket) -> int:
    """Close the panels whose deadline has passed; return how many."""
    with docket.unit_of_work() as work:
        in_audit = [r for r in work.projection.opened.values() if r.outcome is None]
        late = [round_ for round_ in in_audit if passed(round_.due, work.at)]
        for round_ in late:
            _miss(work, round_, [m for m, seat in round_.seats.items() if seat == "asked"])
    return len(late)


def _miss(
    work: UnitOfWork, round_: Round, members: Iterable[str], sitting: Sequence[str] | None = None
) -> None:
    """Members do not respond: the next is asked, or the audit ends."""
    work.add(*(kinds.Absent(round_.id, member) for member in members))
    _go_on(work, round_.id, sitting)


def _go_on(work: UnitOfWork, round_id: str, sitting: Sequence[str] | None = None) -> None:
    """Ask the next member who is ``sitting``, or end the audit, once nobody is asked any more."""
    round_ = work.round(round_id)
    if "asked" not in round_.seats.values() and not work.ask_next(round_id, sitting):
        work.add(round_.conclusion(work.projection.settings.quorum))
        work.close_if_done(round_id)


def _came_before(work: UnitOfWork, seat: Seat, key: str | None, *said: object) -> bool:
    """Tell if a member has sent a request with that key before, and remember it."""
    if key is None:
        return False
    content = [seat.round, seat.again, *said]
    return work.earlier(key, seat.round, content, seat.member) is not None


def _open_review(
    work: UnitOfWork, seat: Seat, key: str | None, act: signatures.Act, *said: object
) -> Review | None:
    """Return the open review of a seat; None if a request with that key came before."""
    if _came_before(work, seat, key, act, *said):
        return None
    review = Review(work.docket, seat, work.at)
    if passed(review.due, work.at):
        sentence = N_("The time for this round is over; nothing can be added or taken back.")
        raise ServiceError("deadline-passed", 409, sentence)
    if work.projection.settings.turns and review.finished and act != "finish":
        sentence = N_("You have handed this in, and another member may be asked by now.")
        raise ServiceError("turn-over", 409, sentence)
    if seat.again is None:
        closed = review.round.outcome is not None or review.round.seats[seat.member] == "absent"
    else:
        closed = not work.docket.seating.drawn(seat)
    if closed:
        sentence = N_("The panel has closed; nothing can be added or taken back.")
        raise ServiceError("panel-closed", 409, sentence)
    return review


def _check_pair(review: Review, pair: Pair) -> None:
    for person in pair:
        review.round.check_person(person)
    if not review.round.can_report(pair, review.seat.member):
        # Without their names: an auditor knows these people by aliases.
        raise ServiceError("not-asked", 422, N_("You are not asked about these two people."))


def _drop_reason(work: UnitOfWork, objection: kinds.Objection | None) -> None:
    """Remove a reason that no objection has any more: nobody could find and erase it later."""
    if objection is not None and objection.reason is not None:
        work.transaction.erase(objection.reason)


# The most characters of guidelines.
GUIDELINES = 20_000


@command
def join(work: UnitOfWork, member: str) -> None:
    if member not in work.projection.members:
        spec.checked_panel((*work.projection.members, member), work.projection.rule)
        work.add(kinds.MemberJoined(member))


@command
def leave(work: UnitOfWork, member: str) -> None:
    """Remove a member from the panel; the rule must still be able to fire.

    Rounds under way keep them, but where it is their turn the next member is asked.
    """
    if member not in work.projection.members:
        raise ServiceError("no-member", 404, f"{member!r} does not sit on the panel.")
    rest = tuple(name for name in work.projection.members if name != member)
    spec.checked_panel(rest, work.projection.rule)
    work.add(kinds.MemberLeft(member))
    for round_ in work.projection.opened.values():
        if round_.in_turn and round_.outcome is None and round_.seats.get(member) == "asked":
            _miss(work, round_, [member], rest)


@command
def set_guidelines(work: UnitOfWork, text: str) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= GUIDELINES:
        sentence = f"Guidelines must be text of 1 to {GUIDELINES} characters."
        raise ServiceError("bad-guidelines", 422, sentence)
    if text != work.projection.guidelines:
        work.add(kinds.GuidelinesSet(text))


# The most pairs to practise with, and characters of the word on each.
GOLD, GOLD_WHY = 20, 400


def gold_pair(
    schema: FeatureSchema, people: Sequence[tuple[Mapping[str, Any], float]],
    response: Literal["flag", "fine"], why: str,
) -> kinds.GoldPair:  # fmt: skip
    """Return a pair to practise with: features and chances of two people, the favoured first."""
    if not 0 < len(why.strip()) <= GOLD_WHY:
        sentence = f"Say in 1 to {GOLD_WHY} characters why a response is right."
        raise ServiceError("bad-practice", 422, sentence)
    over, under = (to_units(within("chance", c, 0, 1, "It is a share.")) for _, c in people)
    if over <= under:
        sentence = "The first of a pair must have the higher chance. Swap the two."
        raise ServiceError("bad-practice", 422, sentence)
    rows = schema.people([dict(features) for features, _ in people], ["first", "second"])
    first, second = (records.person_payload(row).content["features"] for row in rows.x.tolist())
    return kinds.GoldPair((tuple(first), tuple(second)), (over, under), response, why.strip())


@command
def set_practice(work: UnitOfWork, pairs: Sequence[kinds.GoldPair]) -> None:
    """Record the pairs that members practise with; an empty list brings back the service's own."""
    _practise(work, tuple(pairs))


@command
def add_gold(work: UnitOfWork, pair: kinds.GoldPair) -> None:
    before = work.projection.practice
    _practise(work, before if pair in before else (*before, pair))


@command
def remove_gold(work: UnitOfWork, pair_id: str) -> None:
    rest = tuple(pair for pair in work.projection.practice if pair.id != pair_id)
    if rest == work.projection.practice:
        raise ServiceError("no-gold", 404, f"Members practise with no pair {pair_id!r}.")
    _practise(work, rest)


def _practise(work: UnitOfWork, pairs: tuple[kinds.GoldPair, ...]) -> None:
    if len(pairs) > GOLD:
        raise ServiceError("too-many", 422, f"Members practise with {GOLD} pairs at most.")
    if pairs != work.projection.practice:
        work.add(kinds.PracticeSet(pairs))


@command
def change_rule(work: UnitOfWork, rule: str) -> None:
    text = spec.checked_panel(tuple(work.projection.members), rule)
    if text != work.projection.rule:
        work.add(kinds.RuleChanged(text))
