"""Comments on rounds: blind until the panel has closed, a discussion afterwards, never a vote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from likewise_client.errors import NotFound, Refused
from likewise_service.clock import later
from likewise_service.dockets import panel
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase, erase_expired, set_retention
from likewise_service.dockets.reviews import Review, find
from likewise_service.dockets.rounds import Applicant, close, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from likewise_service.verify.packets import packet_words
from tests.service.conftest import Start
from tests.service.live import Clock, every_review, people, replay_store, shown_again

Begin = Callable[..., Docket]
People = Callable[..., list[Applicant]]


def words(docket: Docket, review: Review) -> list[str]:
    payloads = docket.payloads(comment.digest for comment in review.comments)
    return [str(payloads[comment.digest].content["text"]) for comment in review.comments]


def of(docket: Docket, member: str, number: int = 1) -> Review:
    return every_review(docket, member)[number - 1]


@pytest.mark.parametrize("turns", [False, True])
def test_nobody_reads_anothers_comment_before_the_panel_has_closed(
    begin: Begin, applicants: People, store: Store, turns: bool
) -> None:
    docket = begin(rule="all", turns=turns)
    open_round(docket, applicants())
    first = next(m for m in ("ada", "bob") if docket.projection.round("r1").seats[m] == "asked")
    second = {"ada": "bob", "bob": "ada"}[first]
    panel.comment(docket, Seat("r1", first), "first")
    over, under, _ = docket.projection.round("r1").reportable[0]
    panel.flag(docket, Seat("r1", first), (over, under))
    panel.finish(docket, Seat("r1", first))
    panel.comment(docket, Seat("r1", second), " second ")
    assert [words(docket, of(docket, name)) for name in (first, second)] == [["first"], ["second"]]
    panel.finish(docket, Seat("r1", second))
    panel.comment(docket, Seat("r1", first), "third")
    for name in (first, second):
        assert words(docket, of(docket, name)) == ["first", "second", "third"]
    assert docket.projection.round("r1").outcome == "quiet", "a comment is no vote"
    assert replay_store(store, "loans").holds


def test_a_round_that_is_shown_again_tells_nothing_by_its_comments(
    begin: Begin, applicants: People, store: Store
) -> None:
    docket = begin(members=("ada",), rule="any", repeat_share=0.5)
    for number in range(1, 30):
        open_round(docket, applicants(f"p{number}-"))
        panel.comment(docket, Seat(f"r{number}", "ada"), "before")
        panel.finish(docket, Seat(f"r{number}", "ada"))
        if shown_again(docket, "ada"):
            break
    [seat] = shown_again(docket, "ada")
    again = find(docket, "ada", docket.seating.key.review_id(seat))
    assert not again.comments, "what was said the first time would tell"
    panel.comment(docket, seat, "now")
    assert words(docket, find(docket, "ada", again.id)) == ["now"]
    first = find(docket, "ada", docket.seating.key.review_id(Seat(seat.round, "ada")))
    assert words(docket, first) == ["before"], "the other review would tell"
    assert replay_store(store, "loans").holds


def test_comments_are_refused_to_strangers_without_words_and_beyond_limits(
    begin: Begin, applicants: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    docket = begin()
    open_round(docket, applicants())
    seat = Seat("r1", "ada")
    with pytest.raises(ServiceError, match="not asked"):
        panel.comment(docket, Seat("r1", "eve"), "hello")
    for text, message in (("  ", "Write some"), ("x" * 10**5, "shorten it")):
        with pytest.raises(ServiceError, match=message):
            panel.comment(docket, seat, text)
    monkeypatch.setattr(panel, "COMMENTS", 2)
    for _ in range(2):
        panel.comment(docket, seat, "once", key="k1")
    with pytest.raises(ServiceError, match="came with another request before"):
        panel.comment(docket, seat, "twice", key="k1")
    kim = Applicant("kim", {"score": 400, "debt": 3, "purpose": "car"})
    open_round(docket, [kim], key="ada:k2")
    panel.comment(docket, seat, "twice", key="k2")  # a client's key is none of hers
    with pytest.raises(ServiceError, match="no more are taken"):
        panel.comment(docket, seat, "thrice")
    assert words(docket, of(docket, "ada")) == ["once", "twice"], "a key acts once"


@pytest.mark.parametrize("how", ["person", "period"])
def test_comments_are_erased_with_anybody_of_the_round_and_after_their_time(
    begin: Begin, applicants: People, store: Store, clock: Clock, how: str
) -> None:
    docket = begin(rule="any")
    open_round(docket, applicants())
    panel.comment(docket, Seat("r1", "ada"), "p0 looks odd")
    for member in ("ada", "bob"):
        panel.finish(docket, Seat("r1", member))
    if how == "person":
        erase(docket, "r1", "p0")
    else:
        close(docket, "r1")
        set_retention(docket, None, 1.0)
        clock.at = later(clock.at, 2 * 86_400)
        assert erase_expired(docket).reasons == 1
    assert not docket.payloads(c.digest for c in of(docket, "bob").comments)
    assert replay_store(store, "loans").holds
    panel.comment(docket, Seat("r1", "bob"), "since then")
    assert replay_store(store, "loans").holds


def test_a_comment_whose_words_are_gone_or_of_a_stranger_does_not_hold(
    begin: Begin, applicants: People, store: Store
) -> None:
    docket = begin(rule="any", turns=True, together_share=0.0)
    open_round(docket, applicants())
    asked = next(m for m in ("ada", "bob") if docket.projection.round("r1").seats[m] == "asked")
    panel.comment(docket, Seat("r1", asked), "mine")
    [comment] = docket.projection.round("r1").comments
    with store.transaction("loans") as transaction:
        transaction.erase(comment.digest)
    assert not replay_store(store, "loans").holds
    unasked = {"ada": "bob", "bob": "ada"}[asked]
    with docket.unit_of_work() as work:
        work.add(kinds.Commented("r1", unasked, comment.digest, again=False))
    reasons = [difference.recorded for difference in replay_store(store, "loans").differences]
    assert any(f"{unasked!r} comments" in reason for reason in reasons)


def test_only_supervisors_find_comments_in_rounds_and_packets(start: Start) -> None:
    live = start()
    bank, ann, bob = (live.client(who) for who in ("client", "auditor", "auditor-bob"))
    round_ = bank.open_round("loans", people(1, 2))
    review = ann.reviews("loans")[0].id
    ann.comment("loans", review, "the same <b>debts</b>")
    with pytest.raises(NotFound):
        bob.comment("loans", review, "not mine")
    with pytest.raises(Refused):
        ann.comment("loans", review, " ")
    assert bob.review("loans", bob.reviews("loans")[0].id).comments == []
    person = round_.decisions[0].person
    for who, sees in (("operator", True), ("regulator", True), ("client", False)):
        reader = live.client(who)
        packet = reader.packet("loans", round_.id, person)
        assert ("debts" in packet_words(packet.packet)) == sees
        assert ("debts" in str(packet.packet)) == sees
        assert ("debts" in str(reader.round("loans", round_.id))) == sees
    for member in (ann, bob):
        member.finish("loans", member.reviews("loans")[0].id)
    [closed] = bob.reviews("loans", status="closed")
    [comment] = bob.review("loans", closed.id).comments
    assert (comment.member, comment.text) == ("ann", "the same <b>debts</b>")


def test_signed_words_need_a_salt_of_their_own(begin: Begin) -> None:
    """The same words under the same salt would be one row, and end everybody's transaction."""
    docket = begin()
    with docket.unit_of_work() as work:
        payload = work.reason("Why?", b"0123456789abcdef")
        assert payload is not None
        work.keep(payload)
        for salt in (b"0123456789abcdef", bytes(16)):
            with pytest.raises(ServiceError, match="a salt of their own"):
                work.reason("Why?", salt)
    with docket.unit_of_work() as work, pytest.raises(ServiceError, match="a salt of their own"):
        work.reason("Why?", b"0123456789abcdef")
