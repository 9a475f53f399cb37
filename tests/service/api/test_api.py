"""The API on a real server: rounds, reviews, feedback, the ledger, and what nobody may see."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from likewise_client.client import Client
from likewise_client.errors import ApiError, Conflict, NotAllowed, NotFound, Refused
from likewise_service.app import running
from likewise_service.ledger.tiles import Log
from tests.service.conftest import Start
from tests.service.live import Live, people, spec, until


def raw(live: Live, who: str, method: str, path: str, **content: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {live.tokens[who]}", **content.pop("headers", {})}
    return live.http.request(method, path, headers=headers, **content)


def reviewed(client: Client, *, flag: bool = False) -> str:
    """Review what has waited longest; object to the largest gap, or to nothing."""
    review = client.reviews("loans")[0].id
    shown = client.review("loans", review)
    if flag:
        pair = shown.pairs[0]
        client.flag("loans", review, (pair.over, pair.under), "much alike")
    client.finish("loans", review)
    return review


def test_a_round_from_people_to_labels(live: Live) -> None:
    bank, ann, bob = live.client("client"), live.client("auditor"), live.client("auditor-bob")
    opened = bank.open_round("loans", people())
    assert opened.status == "in audit"
    assert [d.person for d in opened.decisions] == ["x1-0", "x1-1"]
    assert opened.seats is None
    assert opened.objections is None

    [waiting] = ann.reviews("loans")
    review = ann.review("loans", waiting.id)
    assert {p.id for p in review.people} == {"p1", "p2"}
    [pair] = review.pairs
    assert set(pair.differences) == {"score", "debt", "purpose"}
    facts = {fact.title: fact.value for fact in review.people[0].features}
    assert facts.keys() == {"Bureau score", "Debt", "Purpose"}
    assert facts["Debt"].endswith("% of income")

    before = ann.receipt("loans")
    after = ann.flag("loans", review.id, (pair.under, pair.over), "same debts")
    assert after.seq == before.seq + 1
    ann.withdraw("loans", review.id, (pair.over, pair.under))
    assert ann.review("loans", review.id).objections == []
    ann.flag("loans", review.id, (pair.over, pair.under), "same debts")
    [mine] = ann.review("loans", review.id).objections
    assert (mine.over, mine.under, mine.reason) == (pair.over, pair.under, "same debts")
    ann.finish("loans", review.id)
    assert [r.id for r in ann.reviews("loans", status="waiting")] == [review.id]
    ann.reopen("loans", review.id)
    ann.finish("loans", review.id)

    # Bob sees nothing of Ann's, until the panel has closed.
    [waiting] = bob.reviews("loans")
    assert waiting.id != review.id
    seen = bob.review("loans", waiting.id)
    assert (seen.objections, seen.reported, seen.outcome) == ([], [], None)
    with pytest.raises(NotFound):
        bob.review("loans", review.id)
    bob.finish("loans", waiting.id)
    [told] = bob.review("loans", waiting.id).reported
    assert (told.mine, told.decisive) == (False, False)
    [told] = ann.review("loans", review.id).reported
    assert (told.mine, told.decisive) == (True, True)
    with pytest.raises(Conflict) as refused:
        ann.withdraw("loans", review.id, (pair.over, pair.under))
    assert refused.value.code == "panel-closed"

    current = bank.round("loans", opened.id)
    assert (current.status, current.outcome) == ("awaiting labels", "report")
    assert current.missing == ["x1-0", "x1-1"]
    otherwise = not opened.decisions[0].approved
    bank.override("loans", opened.id, "x1-0", otherwise)
    bank.label("loans", [(opened.id, "x1-0", 1), (opened.id, "x1-1", 1)])
    ended = bank.round("loans", opened.id)
    assert (ended.status, ended.labels) == ("closed", {"x1-0": 1, "x1-1": 1})
    assert ended.overrides == {"x1-0": otherwise}
    with pytest.raises(Refused) as late:
        bank.label("loans", [(opened.id, "x1-0", 0)])
    assert late.value.code == "refused"

    state = live.client("regulator").round("loans", opened.id)
    assert state.seats == {"ann": "finished", "bob": "finished"}
    assert state.objections is not None
    assert [(o.member, o.reason) for o in state.objections] == [("ann", "same debts")]


def test_the_same_key_gets_the_same_answer(live: Live) -> None:
    bank = live.client("client")
    first = bank.open_round("loans", people(), key="monday", seal=False)
    assert bank.open_round("loans", people(), key="monday", seal=False).decisions == first.decisions
    with pytest.raises(Conflict) as reused:
        bank.open_round("loans", people(2), key="monday")
    assert reused.value.code == "key-reused"
    more = bank.add_people("loans", first.id, people(2, 1), key="more")
    assert bank.add_people("loans", first.id, people(2, 1), key="more").decisions == more.decisions
    assert len(bank.seal("loans", first.id).decisions) == 3
    assert len(bank.rounds("loans").rounds) == 1


def test_a_key_of_a_member_acts_once_and_for_one_act(live: Live) -> None:
    """What comes with a key that was used is not acknowledged and dropped, whoever used it."""
    bank, ann, operator = (live.client(who) for who in ("client", "auditor", "operator"))
    bank.open_round("loans", people(1, 4))
    review = ann.review("loans", ann.reviews("loans")[0].id)
    first, second = ([pair.over, pair.under] for pair in review.pairs[:2])

    def act(what: str, **body: Any) -> httpx.Response:
        path, headers = f"/v1/dockets/loans/reviews/{review.id}/{what}", {"Idempotency-Key": "k"}
        return raw(live, "auditor", "POST", path, json=body or None, headers=headers)

    bank.open_round("loans", people(2), key="ann:k")  # the institution silences nobody by it
    for _ in range(2):
        assert act("objections", pair=first, reason="alike").status_code == 200
    seq = operator.receipt("loans").seq
    other = [
        act("objections", pair=second, reason="alike"), act("objections", pair=first, reason="no"),
        act("withdrawals", pair=first), act("comments", text="alike"), act("finish"),
    ]  # fmt: skip
    assert {(r.status_code, r.json()["error"]["code"]) for r in other} == {(409, "key-reused")}
    assert "'k'" in other[0].json()["error"]["message"]
    assert operator.receipt("loans").seq == seq
    operator.erase("loans", "r1", "x1-0")
    assert act("objections", pair=second).status_code == 200, "of what came before nothing is known"
    assert operator.receipt("loans").seq == seq + 1


def test_a_reason_for_an_override_is_recorded_or_refused(live: Live) -> None:
    bank = live.client("client")
    first, second = bank.open_round("loans", people()).decisions
    bank.override("loans", "r1", first.person, not first.approved, "known to us")
    seq = bank.receipt("loans").seq
    for again in ("known to us", None):
        assert bank.override("loans", "r1", first.person, not first.approved, again).seq == seq
    bank.override("loans", "r1", second.person, not second.approved)
    for person, reason in ((first, "a clerk's mistake"), (second, "known to us")):
        with pytest.raises(Conflict, match="on record already, without this reason"):
            bank.override("loans", "r1", person.person, not person.approved, reason)


def test_a_round_is_not_closed_before_its_audit(live: Live) -> None:
    bank, operator = live.client("client"), live.client("operator")
    bank.open_round("loans", people(), seal=False)
    for sealed in (False, True):
        for client in (bank, operator):
            with pytest.raises(Conflict, match=r"has not been audited\. Seal it") as early:
                client.close_round("loans", "r1")
            assert early.value.code == "not-audited"
        if not sealed:
            with pytest.raises(Conflict, match="once it is sealed"):
                operator.close_round("loans", "r1", unaudited=True)
            bank.seal("loans", "r1")
    operator.close_round("loans", "r1", unaudited=True)
    assert bank.round("loans", "r1").outcome == "unaudited"


def test_one_docket_many_hands(live: Live) -> None:
    """Whatever comes at once is taken one by one, and the ledger stays a chain."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with Client(live.address, live.tokens["client"]) as bank:
                for turn in range(3):
                    bank.open_round("loans", people(10 * number + turn))
        except ApiError as error:
            failed.append(error)

    hands = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join(60)
    assert failed == []
    records = list(live.client("operator").ledger("loans"))
    assert sum(record["kind"] == "sealed" for record in records) == 12
    assert len(live.client("client").rounds("loans").rounds) == 12


def test_two_servers_take_turns_at_a_docket(live: Live) -> None:
    with running(live.settings) as address:
        failed: list[BaseException] = []

        def work(place: int, to: str) -> None:
            try:
                with Client(to, live.tokens["client"]) as bank:
                    for turn in range(4):
                        opened = bank.open_round("loans", people(10 * place + turn))
                        one = opened.decisions[0]
                        bank.override("loans", opened.id, one.person, not one.approved)
            except ApiError as error:
                failed.append(error)

        hands = [
            threading.Thread(target=work, args=(place, to))
            for place, to in enumerate([live.address, address, address])
        ]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join(60)
        assert failed == []
        records = list(live.client("operator").ledger("loans"))
        assert sum(record["kind"] == "decided" for record in records) == 12
        with Client(address, live.tokens["operator"]) as other:
            here, there = live.client("operator").metrics("loans"), other.metrics("loans")
        assert here["rounds"] == 12
        assert here["lam"] == there["lam"]
        # Not the signatures: each is of the second in which it was asked for.
        for name in ("docket", "seq", "hash"):
            assert here["receipt"][name] == there["receipt"][name]


def test_pages_of_rounds(live: Live) -> None:
    bank = live.client("client")
    for number in range(3):
        bank.open_round("loans", people(number), seal=number > 0)
    page = bank.rounds("loans", limit=2)
    assert ([r.number for r in page.rounds], page.next) == ([1, 2], 2)
    page = bank.rounds("loans", after=2)
    assert ([r.number for r in page.rounds], page.next) == ([3], None)
    assert [r.number for r in bank.rounds("loans", status="arriving").rounds] == [1]


def test_a_panel_closes_at_its_deadline(live: Live) -> None:
    operator = live.client("operator")
    operator.create_docket("quick", spec(deadline=0.2, quorum=1).to_json())
    opened = operator.open_round("quick", people())
    until(lambda: operator.round("quick", opened.id).outcome is not None)
    current = operator.round("quick", opened.id)
    assert (current.outcome, current.seats) == ("unaudited", {"ann": "absent", "bob": "absent"})


def test_members_and_rules_change_for_later_rounds(live: Live) -> None:
    operator = live.client("operator")
    first = operator.open_round("loans", people())
    operator.add_member("loans", "cy")
    operator.set_rule("loans", "at_least(2)")
    operator.remove_member("loans", "bob")
    second = operator.open_round("loans", people(2))
    assert operator.round("loans", first.id).seats == {"ann": "asked", "bob": "asked"}
    assert second.seats == {"ann": "asked", "cy": "asked"}
    assert second.rule == "at_least(2)"
    with pytest.raises(NotFound):
        operator.remove_member("loans", "bob")
    with pytest.raises(Refused):
        operator.set_rule("loans", "at_least(9)")


def test_shadow_says_so(live: Live) -> None:
    operator = live.client("operator")
    made = operator.create_docket("shade", spec(shadow=True).to_json())
    assert made.notice is not None
    opened = operator.open_round("shade", people())
    assert opened.shadow
    assert opened.notice is not None
    assert "do not use" in opened.notice


def test_a_docket_from_few_words(live: Live) -> None:
    operator = live.client("operator")
    whole = spec().to_json()
    learner = {"hypotheses": whole["learner"]["hypotheses"], "k": 2, "alpha": 0.3, "eps": 0.3}
    few = {"title": "Few words", "learner": learner, "members": ["ann"]}
    assert operator.create_docket("few", few).rule == "majority"
    with pytest.raises(Conflict) as twice:
        operator.create_docket("few", few)
    assert twice.value.code == "docket-exists"
    for broken in ({}, {"hypotheses": {"class": "segments"}}, {**learner, "k": "many"}):
        with pytest.raises(Refused):
            operator.create_docket("broken", {**few, "learner": broken})


def test_the_ledger_is_exported_and_receipts_hold(live: Live) -> None:
    operator, bank = live.client("operator"), live.client("client")
    receipt = bank.open_round("loans", people()).receipt
    bank.open_round("loans", people(2))
    records = list(operator.ledger("loans"))
    log = Log.of(bytes.fromhex(record["hash"]) for record in records)
    assert log.tree(receipt.seq).root.hex() == receipt.hash
    assert bank.check_receipt("loans", receipt.text).holds
    origin, size, root, *rest = receipt.text.split("\n")
    other = "A" * 43 + "="
    for forged in ((origin, size, other), ("likewise/0/loans", size, root)):
        assert not bank.check_receipt("loans", "\n".join((*forged, *rest))).holds
    future = bank.check_receipt("loans", "\n".join((origin, "9999", root, *rest)))
    assert (future.holds, "has lost records" in future.message) == (False, True)
    with pytest.raises(Refused):
        bank.check_receipt("loans", "rubbish")

    response = raw(live, "regulator", "GET", "/v1/dockets/loans/ledger.csv")
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [int(row["seq"]) for row in rows] == [record["seq"] for record in records]
    assert json.loads(rows[0]["body"]) == records[0]["body"]
    lines = raw(live, "regulator", "GET", "/v1/dockets/loans/ledger.jsonl?after=2").text
    assert json.loads(lines.splitlines()[0])["seq"] == 3


def test_erasing_somebody(live: Live) -> None:
    operator, ann = live.client("operator"), live.client("auditor")
    opened = operator.open_round("loans", people())
    operator.erase("loans", opened.id, "x1-0")
    review = ann.review("loans", ann.reviews("loans")[0].id)
    [gone] = [p for p in review.people if p.erased]
    assert gone.features == []
    with pytest.raises(NotFound):
        operator.erase("loans", opened.id, "nobody")


def test_a_round_that_nobody_waits_for(live: Live) -> None:
    bank, ann = live.client("client"), live.client("auditor")
    opened = bank.open_round("loans", people())
    with pytest.raises(Conflict, match="let the operator close it"):
        bank.close_round("loans", opened.id)
    with pytest.raises(NotAllowed, match="Only the operator may end an audit"):
        bank.close_round("loans", opened.id, unaudited=True)
    live.client("operator").close_round("loans", opened.id, unaudited=True)
    assert bank.round("loans", opened.id).outcome == "unaudited"
    [missed] = ann.reviews("loans", status="missed")
    with pytest.raises(Conflict):
        ann.finish("loans", missed.id)
    assert bank.metrics("loans")["missing"] == 2


def test_the_seed_is_published_once_it_is_confirmed(live: Live) -> None:
    path = "/v1/dockets/loans/seed"
    response = raw(live, "operator", "POST", path, json={"docket": "other"})
    assert response.json()["error"]["code"] == "not-confirmed"
    assert raw(live, "operator", "POST", path, json={"docket": "loans"}).status_code == 200
    *_, last = live.client("regulator").ledger("loans")
    assert (last["kind"], last["body"]["seed"]) == ("seed-revealed", "7")


def test_metrics(live: Live) -> None:
    operator, bank = live.client("operator"), live.client("client")
    ann, bob = live.client("auditor"), live.client("auditor-bob")
    for number in range(3):
        opened = bank.open_round("loans", people(number))
        reviewed(ann, flag=number == 1)
        reviewed(bob)
        bank.label("loans", [(opened.id, f"x{number}-0", 0), (opened.id, f"x{number}-1", 1)])
    bank.open_round("loans", people(9))
    metrics = operator.metrics("loans")
    counts = [metrics[name] for name in ("rounds", "open", "reports", "quiet", "labels")]
    assert counts == [4, 1, 1, 2, 6]
    assert metrics["error"] is not None
    decisive = {member["member"]: member["decisive"] for member in metrics["members"]}
    assert (decisive["ann"], decisive["bob"]) == (1, 0)
    series = metrics["series"]
    assert (series["number"], series["reports"]) == ([1, 2, 3, 4], [0, 1, 1, 1])
    assert series["lam"][0] == 0.0
    assert series["lam"][3] == metrics["lam"] > 0
    assert metrics["largest_gaps"][0]["gap"] >= metrics["sensitivity"]
    public = bank.metrics("loans")
    assert (public["members"], public["agreement"]) == (None, None)

    text = raw(live, "operator", "GET", "/metrics").text
    assert 'likewise_rounds{docket="loans"} 4' in text
    assert 'route="/v1/dockets/{docket}/rounds"' in text


def test_health_and_headers(live: Live) -> None:
    for path in ("/healthz", "/readyz", "/v1/openapi.json", "/v1/nothing", "/nothing"):
        response = live.http.get(path)
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.status_code == (401 if "v1/n" in path else 404 if "/n" in path else 200)
        head = live.http.head(path)
        assert (head.status_code, head.content) == (response.status_code, b"")
        assert head.headers["content-length"] == response.headers["content-length"]
    for page in ("/console/sign-in", "/static/console.js"):
        assert live.http.head(page).status_code == 200


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        ({"content": b"{"}, 422, "invalid"),
        ({"content": b"\xff\xfe\x00"}, 400, "bad-request"),
        ({"json": {"people": []}}, 422, "invalid"),
        ({"json": {"people": [{"id": "a", "features": {}, "extra": 1}]}}, 422, "invalid"),
        ({"json": {"people": [{"id": "a\u0000", "features": {}}]}}, 422, "invalid"),
        ({"content": b'{"people": [{"id": "\\ud800", "features": {}}]}'}, 422, "invalid"),
        ({"json": {"people": [{"id": "a", "features": {"score": 10**60}}]}}, 422, "refused"),
        ({"json": {"people": [{"id": "a", "features": {"score": 10**400}}]}}, 422, "invalid"),
        ({"content": b'{"people": [{"id": "a", "features": {"score": NaN}}]}'}, 422, "invalid"),
        ({"json": {"people": [{"id": "a", "features": {"score": "\u2028"}}]}}, 422, "refused"),
        ({"json": {"people": [{"id": "a", "features": {"none": 1}}]}}, 422, "refused"),
    ],
)
def test_what_is_not_let_in(shared: Live, content: Any, status: int, code: str) -> None:
    response = raw(
        shared, "client", "POST", "/v1/dockets/loans/rounds", **content,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert response.json()["error"]["message"].endswith((".", "!", "?"))


def test_other_answers(shared: Live) -> None:
    for method, path, status, code in [
        ("GET", "/v1/nothing", 404, "not-found"),
        ("PATCH", "/v1/dockets", 405, "wrong-method"),
        ("GET", "/v1/dockets/none", 404, "no-docket"),
        ("GET", "/v1/dockets/loans/rounds/none", 404, "no-round"),
        ("GET", "/v1/dockets/lo%00ans", 422, "invalid"),
    ]:
        response = raw(shared, "operator", method, path)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code), path


def every_page(live: Live, path: str, field: str, limit: int) -> list[list[Any]]:
    """The pages of a list, each from the place that the one before it names."""
    pages: list[list[Any]] = []
    after: dict[str, str] = {}
    while True:
        page = raw(live, "operator", "GET", path, params={"limit": limit, **after}).json()
        pages.append(page[field])
        if page["next"] is None:
            return pages
        after = {"after": page["next"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_lists_come_in_pages_that_are_the_whole_list(shared: Live, limit: int) -> None:
    operator = shared.client("operator")
    lists: list[tuple[str, str, Sequence[Any]]] = [
        ("/v1/dockets", "dockets", operator.dockets()),
        ("/v1/tokens", "tokens", operator.tokens()),
        ("/v1/dockets/loans/members", "members", operator.members("loans")),
    ]
    for path, field, whole in lists:
        pages = every_page(shared, path, field, limit)
        assert [item for page in pages for item in page] == [vars(item) for item in whole], path
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert 0 < len(pages[-1]) <= limit


def test_lists_are_narrowed_and_places_that_are_none_are_refused(shared: Live) -> None:
    operator = shared.client("operator")
    assert [d.name for d in operator.dockets(contains="the")] == ["other"]
    assert not operator.dockets(contains="zebra")
    mine = {token.docket for token in operator.tokens("loans")}
    assert mine == {None, "loans"}
    for path in ("/v1/tokens?after=none", "/v1/tokens?after=LIKE%25"):
        assert raw(shared, "operator", "GET", path).status_code in (404, 422)


def test_a_member_reads_their_reviews_page_by_page(start: Start) -> None:
    live = start()
    bank, ann, bob = (live.client(who) for who in ("client", "auditor", "auditor-bob"))
    for number in range(5):
        bank.open_round("loans", people(number))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("likewise_client.client.PAGE", 2)
        assert [review.number for review in ann.reviews("loans")] == [1, 2, 3, 4, 5]
        for member in (ann, bob):
            for review in member.reviews("loans"):
                member.finish("loans", review.id)
        closed = ann.reviews("loans", status="closed")
        assert [review.number for review in closed] == [5, 4, 3, 2, 1]
    first = bank.rounds("loans", outcome="quiet", limit=3)
    assert [round_.number for round_ in first.rounds] == [1, 2, 3]
    second = bank.rounds("loans", outcome="quiet", after=first.next or 0, limit=3)
    assert [round_.number for round_ in second.rounds] == [4, 5]
    assert second.next is None
    assert not bank.rounds("loans", outcome="report").rounds


def test_tokens_are_shown_once_and_revoked(start: Start) -> None:
    live = start()
    operator = live.client("operator")
    with pytest.raises(Refused) as nobody:
        operator.create_token("auditor", "zoe", "loans")
    assert nobody.value.code == "no-member"
    made = operator.create_token("auditor", "ann", "loans")
    listed = operator.tokens()
    assert made.identity in listed
    assert made.token not in json.dumps([vars(one) for one in listed])
    mine = live.client(made.token)
    assert mine.me().name == "ann"
    operator.revoke_token(made.identity.id)
    with pytest.raises(NotAllowed):
        mine.me()
