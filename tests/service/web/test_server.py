"""The pages of a running server: who may see which, whose form it is, cookies and headers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from likewise_client.errors import Refused
from likewise_service.auth.tokens import create_token
from likewise_service.clock import later, now
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger.store import Store
from likewise_service.settings import REASON_LIMIT
from tests.service.conftest import Start
from tests.service.live import PATIENCE, Live, people, replay_store, spec

POLICY = "default-src 'none'; script-src 'self'"
REVIEW = "0" * 32

# Page, and the roles that may see it; others are refused, anonymous callers sent to sign in.
PAGES = {
    "/console/": {"auditor"},
    "/console/history": {"auditor"},
    "/console/guidelines": {"auditor"},
    "/console/practice": {"auditor"},
    "/console/queue.json": {"auditor"},
    "/console/rounds": {"auditor"},
    "/console/seats": {"auditor"},
    f"/console/rounds/{REVIEW}": {"auditor"},
    "/dashboard/": {"operator", "regulator"},
    "/dashboard/loans/": {"operator", "regulator"},
    "/dashboard/loans/rounds": {"operator", "regulator"},
    "/dashboard/loans/round?id=r1": {"operator", "regulator"},
    "/dashboard/loans/person?round=r1&id=x": {"operator", "regulator"},
    "/dashboard/loans/members": {"operator", "regulator"},
    "/dashboard/loans/tokens": {"operator"},
    "/dashboard/loans/holds": {"operator", "regulator"},
    "/dashboard/loans/practice": {"operator", "regulator"},
    "/dashboard/loans/ledger.jsonl": {"operator", "regulator"},
    "/dashboard/loans/ledger.csv": {"operator", "regulator"},
    "/dashboard/loans/agreement.csv": {"operator", "regulator"},
    "/dashboard/loans/certificate.json": {"operator", "regulator"},
}
FORMS = {
    **{
        f"/console/rounds/{REVIEW}/{act}": {"auditor"} for act in ("flag", "fine", "undo", "finish")
    },
    f"/console/rounds/{REVIEW}/comment": {"auditor"},
    "/console/hand-in": {"auditor"},
    "/console/sign-out": {"auditor"},
    "/console/seats/add": {"auditor"},
    "/console/seats/choose": {"auditor"},
    "/dashboard/loans/sign-out": {"operator", "regulator"},
    "/dashboard/loans/person": {"operator", "regulator"},
    **{
        f"/dashboard/loans/{act}": {"operator"}
        for act in (
            "members/join", "members/leave", "tokens/create", "tokens/revoke", "holds/place",
            "holds/lift", "practice/add", "practice/remove",
        )
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def kind() -> str:
    return "sqlite"


@pytest.fixture
def database(sqlite_url: str) -> str:
    """Pages show what the API says, which is tested on both kinds of databases."""
    return sqlite_url


@contextmanager
def browse(live: Live, who: str | None = None) -> Iterator[httpx.Client]:
    """A browser without JavaScript, signed in or not."""
    with httpx.Client(base_url=live.address, timeout=PATIENCE) as made:
        if who is not None:
            form = {"csrf": field(made.get("/console/sign-in").text), "token": live.tokens[who]}
            assert made.post("/console/sign-in", data=form).status_code == 303
        yield made


def field(html: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', html)
    assert found is not None
    return found[1]


@pytest.fixture(params=[None, "auditor", "operator", "regulator"], ids=str)
def reader(
    request: pytest.FixtureRequest, shared: Live
) -> Iterator[tuple[str | None, httpx.Client]]:
    with browse(shared, request.param) as made:
        yield request.param, made


def test_every_page_against_everybody(reader: tuple[str | None, httpx.Client]) -> None:
    who, browser = reader
    for path, allowed in PAGES.items():
        response = browser.get(path)
        if who is None:
            assert (response.status_code, response.headers["location"]) == (303, "/console/sign-in")
        elif who not in allowed:
            assert response.status_code == 403, path
            assert "Sign in with another token" in response.text
        else:
            assert response.status_code in (200, 303, 404), path
        if "text/html" in response.headers.get("content-type", ""):
            assert response.headers["content-security-policy"].startswith(POLICY)
            assert response.headers["cache-control"] == "no-store"


def test_every_form_against_everybody(reader: tuple[str | None, httpx.Client]) -> None:
    """Without its csrf field no form is taken, whoever sends it."""
    who, browser = reader
    for path, allowed in FORMS.items():
        response = browser.post(path, data={"csrf": "guessed"})
        if who is None:
            assert (response.status_code, response.headers["location"]) == (303, "/console/sign-in")
        else:
            assert response.status_code == 403, path
            said = "not of your session" if who in allowed else "Sign in with another token"
            assert said in response.text


def test_an_auditor_of_another_docket_sees_nothing_of_this_one(shared: Live) -> None:
    with browse(shared, "regulator-other") as browser:
        assert browser.get("/dashboard/loans/").status_code == 403
        assert browser.get("/dashboard/").headers["location"] == "/dashboard/other/"


def test_a_programs_token_opens_no_page(shared: Live) -> None:
    with httpx.Client(base_url=shared.address, timeout=PATIENCE) as browser:
        form = {"csrf": field(browser.get("/console/sign-in").text)}
        response = browser.post("/console/sign-in", data={**form, "token": shared.tokens["client"]})
        assert response.status_code == 403
        assert "a program" in response.text


@pytest.mark.parametrize("token", ["", "lw_auditor_" + "A" * 43, "<script>alert(1)</script>"])
def test_an_unknown_token_is_told_so_and_not_repeated(shared: Live, token: str) -> None:
    with httpx.Client(base_url=shared.address, timeout=PATIENCE) as browser:
        form = {"csrf": field(browser.get("/console/sign-in").text), "token": token}
        response = browser.post("/console/sign-in", data=form)
        assert response.status_code == 401
        assert "not known" in response.text
        assert token == "" or token not in response.text


def test_a_form_from_another_site_is_refused(shared: Live) -> None:
    with browse(shared, "auditor") as browser:
        form = {"csrf": field(browser.get("/console/").text)}
        response = browser.post(
            "/console/sign-out", data=form, headers={"Origin": "https://elsewhere.example"}
        )
        assert response.status_code == 403
        assert browser.get("/console/").status_code == 200, "nobody was signed out"


@pytest.mark.parametrize("origin", ["null", "", "file://", "https://"])
def test_a_form_from_nowhere_is_refused(shared: Live, origin: str) -> None:
    """Without a public address too: a page that hides where it is must not act for anybody."""
    with browse(shared, "auditor") as browser:
        form = {"csrf": field(browser.get("/console/").text)}
        response = browser.post("/console/sign-out", data=form, headers={"Origin": origin})
        assert response.status_code == 403


def test_errors_in_a_browser_are_pages(shared: Live) -> None:
    accept = {"Accept": "text/html,application/xhtml+xml"}
    for path in ("/nowhere", "/metrics", "/static/none.js"):
        response = shared.http.get(path, headers=accept)
        assert response.headers["content-type"].startswith("text/html"), path
        assert "<h1" in response.text
    assert shared.http.get("/nowhere").json()["error"]["code"] == "not-found"
    page = shared.http.get("/nowhere", headers={"accept": "text/html"}).text
    assert "There is nothing at this address" in page
    assert "openapi" not in page, "that is for programs"
    said = shared.http.get("/v1/dockets", headers=accept)
    assert said.json()["error"]["code"] == "unauthorised", "the API stays as it is"


def shown(html: str) -> tuple[str, dict[str, str]]:
    """The review and the form of the pair that a page shows."""
    review = re.search(r'action="(/console/rounds/[0-9a-f]{32})/flag"', html)
    names = dict(re.findall(r'name="(csrf|seat|pair)" value="([^"]+)"', html))
    assert review is not None
    return review[1], names


def test_a_request_of_the_page_that_comes_twice_is_done_once(live: Live) -> None:
    """Also if the first comes late, after what was said since."""
    live.client("client").open_round("loans", people(1, 3))
    with browse(live, "auditor") as browser:
        where, form = shown(browser.get("/console/").text)
        accept = {"Accept": "application/json"}
        acts = (("flag", "a"), ("flag", "a"), ("undo", "b"), ("flag", "a"), ("fine", "c"),
                ("undo", "d"), ("fine", "c"))  # fmt: skip
        for act, key in acts:
            said = browser.post(f"{where}/{act}", data={**form, "key": key * 32}, headers=accept)
            assert said.json() == {"saved": True, "handed_in": False}
        kinds = [record["kind"] for record in live.client("operator").ledger("loans")]
        assert (kinds.count("flagged"), kinds.count("withdrawn")) == (1, 1)
        data = browser.get("/console/queue.json").json()
        assert data["pairs"][0]["name"] == form["pair"], "taken back last, so it is asked again"
        refused = browser.post(f"{where}/flag", data={**form, "pair": "p1"}, headers=accept)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no-pair")
        other = browser.post(f"{where}/flag", data={**form, "seat": "other"}, headers=accept)
        assert (other.status_code, other.json()["error"]["code"]) == (403, "other-seat")
    with browse(live) as nobody:
        out = nobody.post(f"{where}/flag", data=form, headers=accept)
        assert (out.status_code, out.json()["error"]["code"]) == (401, "signed-out")


def test_pairs_of_several_rounds_come_riskiest_first_and_rounds_go_by_themselves(
    live: Live,
) -> None:
    """A round is handed in with its last response; one taken back asks again."""
    bank = live.client("client")
    opened = [bank.open_round("loans", people(number, 3)).id for number in range(3)]
    bob = live.client("auditor-bob")
    for review in bob.reviews("loans"):
        bob.finish("loans", review.id)
    with browse(live, "auditor") as browser:
        data = browser.get("/console/queue.json").json()
        gaps = [abs(a["rounded"] - b["rounded"]) for a, b in (p["people"] for p in data["pairs"])]
        assert gaps == sorted(gaps, reverse=True)
        assert len({pair["review"] for pair in data["pairs"]}) == 3
        assert sum(data["left"].values()) == len(data["pairs"])
        form, accept = {"csrf": data["csrf"]}, {"Accept": "application/json"}
        left = dict(data["left"])
        for pair in data["pairs"]:
            url = f"/console/rounds/{pair['review']}"
            response = browser.post(
                f"{url}/fine", data={**form, "pair": pair["name"]}, headers=accept
            )
            left[pair["review"]] -= 1
            assert response.json()["handed_in"] == (left[pair["review"]] == 0)
        late = browser.post(f"{url}/undo", data={**form, "pair": pair["name"]}, headers=accept)
        assert late.json()["error"]["code"] == "panel-closed", "the last member closed it"
        assert "Nothing more to look at" in browser.get("/console/").text
    assert [bank.round("loans", name).outcome for name in opened] == ["quiet"] * 3


def test_a_response_can_be_taken_back_until_the_round_closes(live: Live) -> None:
    bank = live.client("client")
    opened = bank.open_round("loans", people(1, 2))  # a single pair
    with browse(live, "auditor") as browser:
        where, form = shown(browser.get("/console/").text)
        response = browser.post(f"{where}/fine", data=form)
        assert response.headers["location"] == f"/console/?last={where[-32:]}.{form['pair']}"
        assert "Undo it" in browser.get(response.headers["location"]).text
        assert "Handed in" in browser.get(where).text
        again = browser.post(f"{where}/undo", data=form).headers["location"]
        assert shown(browser.get(again).text)[1]["pair"] == form["pair"]
        assert "1 pair without a response" in browser.get(where).text
        assert browser.post(f"{where}/flag", data=form).is_redirect
        live.client("auditor-bob").finish(
            "loans", live.client("auditor-bob").reviews("loans")[0].id
        )
        assert bank.round("loans", opened.id).outcome == "report"
        closed = browser.get(f"/console/?pair={where[-32:]}.{form['pair']}")
        assert closed.headers["location"] == where, "of a closed round the whole is shown"


def test_where_members_are_asked_in_turn_nothing_is_taken_back(start: Start) -> None:
    live = start()
    store = Store.open(live.settings.database)
    open_docket(store, "turns", spec(turns=True, together_share=0.0, rule="all"), seed=7)
    for name in ("ann", "bob"):
        live.tokens[f"{name}-turns"] = create_token(store, "auditor", name, "turns")[0]
    bank = create_token(store, "client", "bank", "turns")[0]
    store.close()
    live.client(bank).open_round("turns", people(1, 2))  # a single pair
    first = next(who for who in ("ann-turns", "bob-turns") if live.client(who).reviews("turns"))
    with browse(live, first) as browser:
        page = browser.get("/console/").text
        assert "After that nothing can be taken back" in page
        where, form = shown(page)
        assert browser.post(f"{where}/flag", data=form).is_redirect
        late = browser.post(f"{where}/undo", data=form, headers={"Accept": "application/json"})
        assert late.json()["error"]["code"] == "turn-over"
        whole = browser.get(where).text
        assert "another member is asked next" in whole
        assert "/console/?pair=" not in whole
        assert "change your mind" not in browser.get("/console/rounds").text
    [other] = {"ann-turns", "bob-turns"} - {first}
    assert len(live.client(other).reviews("turns")) == 1


def test_a_flag_may_say_how_far_apart_two_may_be(start: Start) -> None:
    live = start()
    store = Store.open(live.settings.database)
    open_docket(store, "graded", spec(graded=True), seed=7)
    live.tokens["auditor-graded"] = create_token(store, "auditor", "ann", "graded")[0]
    bank = create_token(store, "client", "bank", "graded")[0]
    store.close()
    live.client(bank).open_round("graded", people(1, 3))
    ann = live.client("auditor-graded")
    with browse(live, "auditor-graded") as browser:
        page = browser.get("/console/").text
        where, form = shown(page)
        assert 'type="range" min="-1"' in page
        for limit in ("100", "x", "-2"):
            assert browser.post(f"{where}/flag", data={**form, "limit": limit}).status_code == 422
        for limit, recorded in (("-1", None), ("7", 0.07)):
            assert browser.post(f"{where}/flag", data={**form, "limit": limit}).is_redirect
            [objection] = ann.review("graded", where[-32:]).objections
            assert objection.limit == pytest.approx(recorded, abs=1e-6)
        assert 'value="7"' in browser.get(f"/console/?pair={where[-32:]}.{form['pair']}").text


def test_whoever_signs_in_comes_back_to_the_page(shared: Live) -> None:
    for page in ("/console/rounds", f"/console/rounds/{REVIEW}?x=1"):
        with browse(shared) as browser:
            assert browser.get(page).headers["location"] == "/console/sign-in"
            form = {"csrf": field(browser.get("/console/sign-in").text)}
            token = {"token": shared.tokens["auditor"]}
            response = browser.post("/console/sign-in", data={**form, **token})
            assert response.headers["location"] == page
    for page in ("/dashboard/", "/console/receipts.json"):  # not an auditor's; a file
        with browse(shared) as browser:
            browser.get(page)
            form = {"csrf": field(browser.get("/console/sign-in").text)}
            response = browser.post("/console/sign-in", data={**form, **token})
            assert response.headers["location"] == "/console/"


def test_the_panel_is_told_what_to_look_for_and_may_practise(live: Live) -> None:
    operator = live.client("operator")
    operator.set_guidelines("loans", "Look at debts <b>first</b>.\n\nThen at the purpose.")
    with browse(live, "auditor") as browser:
        page = browser.get("/console/guidelines").text
        head = operator.receipt("loans").hash  # with the sign-in, which is on record
        assert "Look at debts &lt;b&gt;first&lt;/b&gt;." in page
        practice = browser.get("/console/practice").text
        assert "nothing is recorded" in practice
        where, form = shown(practice)
        assert where == f"/console/rounds/{'0' * 32}"
        assert "Bureau score" in practice, "with the docket's own features"
        assert "Secret" not in practice, "and none that members do not see"
        for act, word in (("flag", "Look again: Person 1"), ("fine", "Yes: Person 1")):
            response = browser.post(f"{where}/{act}", data=form)
            assert response.headers["location"] == f"/console/practice?done=1&said={act}"
            assert word in browser.get(response.headers["location"]).text
        assert browser.post(f"{where}/undo", data=form).is_redirect
        assert "You have practised" in browser.get("/console/practice?done=4&said=fine").text
    assert operator.receipt("loans").hash == head, "nothing of it is on record"


def test_members_practise_with_the_pairs_that_the_operator_set(live: Live) -> None:
    operator, same = live.client("operator"), {"score": 640, "debt": 30, "purpose": "car"}
    other = {**same, "score": 845, "debt": 2}
    gold: list[dict[str, Any]] = [
        {"pair": [{"features": other, "chance": 0.91}, {"features": same, "chance": 0.4}],
         "response": "fine", "why": "100 % of the difference is in <the> score."},
        {"pair": [{"features": same, "chance": 0.8}, {"features": same, "chance": 0.2}],
         "response": "flag", "why": "Nothing tells them apart."},
    ]  # fmt: skip
    operator.set_practice("loans", gold)
    with browse(live, "auditor") as browser:
        page = browser.get("/console/practice").text
        assert "91\u202f%" in page
        form = {"csrf": field(page), "pair": "p1.p2"}
        wrong = browser.post(f"/console/rounds/{'0' * 32}/flag", data=form)
        assert wrong.headers["location"] == "/console/practice?done=1&said=flag"
        second = browser.get(wrong.headers["location"]).text
        assert "Look again: 100 % of the difference is in &lt;the&gt; score." in second
        assert "p3.p4" in second
    faults: list[dict[str, Any]] = [
        {"why": " "}, {"response": "maybe"}, {"pair": gold[0]["pair"][::-1]}, {"pair": [{}, {}]},
    ]  # fmt: skip
    for fault in faults:
        with pytest.raises(Refused):
            operator.set_practice("loans", [{**gold[0], **fault}])
    operator.set_practice("loans", [])
    with browse(live, "auditor") as browser:
        assert "91\u202f%" not in browser.get("/console/practice").text


def test_the_operator_sets_pairs_to_practise_with_by_a_form(live: Live) -> None:
    pair = {
        "chance-1": "40", "chance-2": "91", "response": "flag", "why": " So <alike>. ",
        "value-1-0": "640", "value-1-1": "30", "value-1-2": "car",
        "value-2-0": "641", "value-2-1": "31", "value-2-2": "home",
    }  # fmt: skip
    with browse(live, "operator") as browser:
        page = browser.get("/dashboard/loans/practice").text
        assert "You have set none yet" in page
        assert "Secret" not in page, "nobody sees it, so nobody has to say it"
        csrf = {"csrf": field(page)}
        for fault in (
            {"value-1-0": "1200"}, {"value-1-0": ""}, {"value-2-1": "much"}, {"value-1-2": "boat"},
            {"chance-1": "91"}, {"chance-2": "nan"}, {"response": "maybe"}, {"why": " "},
        ):  # fmt: skip
            refused = browser.post("/dashboard/loans/practice/add", data=csrf | pair | fault)
            assert (refused.status_code, 'role="alert"' in refused.text) == (422, True), fault
            assert "So &lt;alike&gt;." in refused.text or fault == {"why": " "}, "nothing is lost"
            assert "Swap the two" not in refused.text, "they are, whoever is favoured"
        for _ in range(2):  # the same twice is one more
            added = browser.post("/dashboard/loans/practice/add", data=csrf | pair)
            assert added.headers["location"] == "/dashboard/loans/practice"
        page = browser.get("/dashboard/loans/practice").text
        assert page.index("91\u202f%") < page.index("40\u202f%"), "the favoured comes first"
    with browse(live, "auditor") as member:
        practice = member.get("/console/practice").text
        assert "51 percentage points apart" in practice
        said = member.get("/console/practice?done=1&said=fine").text
        assert "Look again: So &lt;alike&gt;." in said
        refused = member.post("/dashboard/loans/practice/add", data={**pair, "csrf": field(said)})
        assert refused.status_code == 403
    with browse(live, "operator") as browser:
        page = browser.get("/dashboard/loans/practice").text
        name = re.findall('name="pair" value="([0-9a-f]{12})"', page)[0]
        form = {"csrf": field(page), "pair": name}
        assert browser.post("/dashboard/loans/practice/remove", data=form).is_redirect
        again = browser.post("/dashboard/loans/practice/remove", data=form)
        assert (again.status_code, 'role="alert"' in again.text) == (404, True)
        assert "You have set none yet" in browser.get("/dashboard/loans/practice").text


def test_one_person_with_several_seats(live: Live) -> None:
    """They are added by their tokens, chosen on a page, and forgotten at the end."""
    live.client("client-other").open_round("other", people())
    with browse(live, "auditor") as browser:
        form = {"csrf": field(browser.get("/console/seats").text)}
        for token in (live.tokens["operator"], "lw_auditor_" + "A" * 43):
            wrong = browser.post("/console/seats/add", data={**form, "token": token})
            assert wrong.status_code == 401
        token = live.tokens["auditor-other"]
        added = browser.post("/console/seats/add", data={**form, "token": token})
        assert added.status_code == 303
        page = browser.get("/console/seats").text
        assert "Docket <bdi>other</bdi>" in page
        seat = re.search(r'name="seat" value="([^"]+)"', page)
        assert seat is not None
        assert "Nothing more to look at" in browser.get("/console/").text
        assert browser.post("/console/seats/choose", data={**form, "seat": "x"}).status_code == 404
        chosen = browser.post("/console/seats/choose", data={**form, "seat": seat[1]})
        assert chosen.status_code == 303
        assert shown(browser.get("/console/").text), "the other docket's round"
        assert browser.post("/console/sign-out", data=form).status_code == 303
    with browse(live, "auditor") as browser:
        assert "Docket <bdi>other</bdi>" not in browser.get("/console/seats").text


def test_the_operator_goes_from_a_figure_to_a_round_to_a_person(live: Live) -> None:
    bank, ann, bob = (live.client(who) for who in ("client", "auditor", "auditor-bob"))
    names = [bank.open_round("loans", people(number, 2)).id for number in range(2)]
    for member in (ann, bob):
        for review in member.reviews("loans"):
            pair = member.review("loans", review.id).pairs[0]
            if member is ann and review.number == 1:
                member.flag("loans", review.id, (pair.over, pair.under), "the same <b>debts</b>")
            member.finish("loans", review.id)
    with browse(live, "operator") as browser:
        page = browser.get("/dashboard/loans/").text
        assert "A pair is reported if <bdi>one member objects</bdi>" in page
        assert "Lam" not in page
        figure = re.search(r'href="([^"]+)">Reports</a>', page)
        assert figure is not None
        listed = browser.get(figure[1]).text
        assert [f"/dashboard/loans/round?id={name}" in listed for name in names] == [True, False]
        round_page = browser.get(f"/dashboard/loans/round?id={names[0]}").text
        assert "the same &lt;b&gt;debts&lt;/b&gt;" in round_page
        links = re.findall(r'href="(/dashboard/loans/person[^"]+)"', round_page)
        person = browser.get(links[0].replace("&amp;", "&")).text
        assert "Reported with" in person
        form = dict(re.findall(r'name="(csrf|round|person)" value="([^"]+)"', person))
        packet = browser.post("/dashboard/loans/person", data=form).text
        assert f"The decision on {form['person']}" in packet
        for wrong in ({"person": "nobody"}, {"round": "none"}, {"round": ""}):
            response = browser.post("/dashboard/loans/person", data={**form, **wrong})
            assert response.status_code == 404
    kinds = [record["kind"] for record in live.client("operator").ledger("loans")]
    assert kinds.count("packet-given") == 1, "the ledger says who was given it"


def test_the_operator_manages_members_tokens_and_holds_by_forms(live: Live) -> None:
    operator = live.client("operator")
    round_id = live.client("client").open_round("loans", people(1, 2)).id
    with browse(live, "operator") as browser:

        def send(path: str, **form: str) -> httpx.Response:
            page = browser.get(f"/dashboard/loans/{path.partition('/')[0]}").text
            return browser.post(f"/dashboard/loans/{path}", data={"csrf": field(page), **form})

        assert send("members/join", member="eve").status_code == 303
        assert "eve" in operator.docket("loans").members
        assert ">eve<" in browser.get("/dashboard/loans/members").text
        made = send("tokens/create", role="auditor", name="eve").text
        token = re.search(r"lw_auditor_[A-Za-z0-9_-]{43}", made)
        assert token is not None
        assert live.client(token[0]).me().name == "eve"
        assert token[0] not in browser.get("/dashboard/loans/tokens").text
        refused = send("tokens/create", role="auditor", name="zoe")
        assert (refused.status_code, "zoe" in refused.text) == (422, True)
        [eve] = [t for t in operator.tokens() if t.name == "eve"]
        assert send("tokens/revoke", token=eve.id).status_code == 303
        assert operator.tokens()[-1].revoked
        assert send("members/leave", member="eve").status_code == 303
        assert send("members/leave", member="eve").status_code == 404
        assert send("holds/place", why="A complaint", round=round_id).status_code == 303
        assert send("holds/place", why="", round=round_id).status_code == 422
        assert "no such round in this docket" in send("holds/place", why="x", person="x1-0").text
        unseen = send("members/join", member="e\u200bve")
        assert (unseen.status_code, "a character that nobody sees" in unseen.text) == (422, True)
        [hold] = operator.holds("loans")
        assert (hold.why, hold.round, hold.person) == ("A complaint", round_id, None)
        assert round_id in browser.get("/dashboard/loans/holds").text
        assert send("holds/lift", hold=hold.hold).status_code == 303
        assert not operator.holds("loans")
    store = Store.read_only(live.settings.database)
    assert not replay_store(store, "loans").differences
    signed_in = {
        r.actor for r in store.records("loans") if r.kind in ("member-joined", "token-ended")
    }
    store.close()
    assert all(actor.startswith("sign-in:") for actor in signed_in)


def test_agreement_is_a_table_by_member_and_month(start: Start) -> None:
    live = start()
    bank = live.client("client")
    live.client("operator").set_rule("loans", "all")
    for number in range(2):
        bank.open_round("loans", people(number, 3))
        for who in ("auditor", "auditor-bob"):
            member = live.client(who)
            [review] = member.reviews("loans")
            pair = member.review("loans", review.id).pairs[0]
            if who == "auditor" or number:
                member.flag("loans", review.id, (pair.over, pair.under))
            member.finish("loans", review.id)
    with browse(live, "regulator") as browser:
        response = browser.get("/dashboard/loans/agreement.csv")
    assert response.headers["content-type"].startswith("text/csv")
    whole, ann, bob = csv.DictReader(io.StringIO(response.text))
    assert (ann["member"], ann["objections"], bob["objections"]) == ("ann", "2", "1")
    assert (whole["reports"], whole["rounds"]) == ("1", "2")
    compared, same = int(ann["compared"]), int(ann["same"])
    assert (compared - same, ann["share"]) == (1, f"{same / compared:.6f}")
    assert -1 < float(whole["alpha"]) < 1


def test_a_sign_in_form_of_another_browser_is_refused(shared: Live) -> None:
    with (
        httpx.Client(base_url=shared.address, timeout=PATIENCE) as one,
        httpx.Client(base_url=shared.address, timeout=PATIENCE) as other,
    ):
        form = {"csrf": field(one.get("/console/sign-in").text), "token": shared.tokens["auditor"]}
        other.get("/console/sign-in")
        assert other.post("/console/sign-in", data=form).status_code == 403


def test_cookies_are_hidden_from_scripts_and_other_sites(shared: Live) -> None:
    with httpx.Client(base_url=shared.address, timeout=PATIENCE) as browser:
        page = browser.get("/console/sign-in")
        form = {"csrf": field(page.text), "token": shared.tokens["auditor"]}
        response = browser.post("/console/sign-in", data=form)
        plain = response.headers.get_list("set-cookie")
        said = browser.get("/console/sign-in", headers={"X-Forwarded-Proto": "https"})
        assert "Secure" not in said.headers["set-cookie"], "no proxy is named, so none is believed"
    for cookie in (*page.headers.get_list("set-cookie"), plain[0]):
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie


def test_behind_a_proxy_with_tls_cookies_are_encrypted_and_forms_are_taken(start: Start) -> None:
    live = start(public_url="https://likewise.example")
    with httpx.Client(base_url=live.address, timeout=PATIENCE) as browser:
        page = browser.get("/console/sign-in")
        assert "Secure" in page.headers["set-cookie"]
        kept = {"Cookie": page.headers["set-cookie"].split(";")[0]}
        form = {"csrf": field(page.text), "token": live.tokens["auditor"]}
        ours = {**kept, "Origin": "https://likewise.example"}
        assert browser.post("/console/sign-in", data=form, headers=ours).status_code == 303


def test_signing_out_ends_the_session_everywhere(shared: Live) -> None:
    with browse(shared, "auditor") as browser:
        cookie = browser.cookies["likewise_session"]
        form = {"csrf": field(browser.get("/console/").text)}
        assert browser.post("/console/sign-out", data=form).status_code == 303
        kept = {"Cookie": f"likewise_session={cookie}"}
        assert shared.http.get("/console/", headers=kept).status_code == 303


def test_a_review_without_javascript(live: Live) -> None:
    """Flag, save a reason, take it back, be done, and see what became of it."""
    bank, bob = live.client("client"), live.client("auditor-bob")
    opened = bank.open_round("loans", people(1, 3))
    with browse(live, "auditor") as browser:
        where, form = shown(browser.get("/console/").text)
        for reason in ("", "similar <b>debts</b>"):
            assert browser.post(f"{where}/flag", data={**form, "reason": reason}).is_redirect
        assert "similar &lt;b&gt;debts&lt;/b&gt;" in browser.get(where).text
        assert browser.post(f"{where}/undo", data=form).is_redirect
        assert browser.post(f"{where}/flag", data={**form, "reason": "similar"}).is_redirect
        csrf = {"csrf": form["csrf"]}
        hasty = browser.post(f"{where}/finish", data=csrf)
        assert (hasty.status_code, "Tick that you mean it" in hasty.text) == (422, True)
        assert browser.post(f"{where}/finish", data={**csrf, "meant": "yes"}).is_redirect
        assert bank.round("loans", opened.id).outcome is None
        bob.finish("loans", bob.reviews("loans")[0].id)
        assert bank.round("loans", opened.id).outcome == "report"
        past = browser.get("/console/history").text
        assert "Reported" in past
        late = browser.post(f"{where}/flag", data={**form, "reason": ""})
        assert late.status_code == 409
        assert "closed" in late.text


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds by which the clocks of dockets that are opened from now on go ahead."""
    seconds = [0.0]
    defaults = (lambda: later(now(), seconds[0]), REASON_LIMIT)
    monkeypatch.setattr(Docket.__init__, "__defaults__", defaults)
    return seconds


def test_the_dashboard_grows_older_without_a_record(start: Start, ahead: list[float]) -> None:
    live = start()
    live.client("client").open_round("loans", people())
    with browse(live, "operator") as browser:
        assert "oldest open for less than a minute" in browser.get("/dashboard/loans/").text
        ahead[0] = 7200.0
        assert "oldest open for 2 hours" in browser.get("/dashboard/loans/").text


def test_history_says_when_a_round_closed(start: Start, ahead: list[float]) -> None:
    live = start()
    live.client("client").open_round("loans", people())
    ahead[0] = 3600.0
    for member in (live.client("auditor"), live.client("auditor-bob")):
        member.finish("loans", member.reviews("loans")[0].id)
    audited = next(r for r in live.client("operator").ledger("loans") if r["kind"] == "audited")
    [review] = live.client("auditor").reviews("loans", status="closed")
    assert (review.ended, review.asked < audited["at"]) == (audited["at"], True)
    with browse(live, "auditor") as browser:
        assert f'Closed <time datetime="{audited["at"]}">' in browser.get("/console/history").text


def test_a_reason_may_be_as_long_as_the_setting_says(start: Start) -> None:
    live = start(reason_limit=5_000)
    live.client("client").open_round("loans", people())
    ann = live.client("auditor")
    [review] = ann.reviews("loans")
    pair = ann.review("loans", review.id).pairs[0]
    ann.flag("loans", review.id, (pair.over, pair.under), "x" * 5_000)
    assert ann.review("loans", review.id).reason_limit == 5_000
    for length in (5_001, 20_000):
        with pytest.raises(Refused, match="5000 characters"):
            ann.flag("loans", review.id, (pair.over, pair.under), "x" * length)
    with browse(live, "auditor-bob") as browser:
        page = browser.get("/console/").text
        assert 'maxlength="5000"' in page
        where, form = shown(page)
        assert browser.post(f"{where}/flag", data={**form, "reason": "y" * 4_999}).is_redirect
        long = browser.post(f"{where}/flag", data={**form, "reason": "y" * 5_001})
        assert (long.status_code, "5000 characters" in long.text) == (422, True)


@pytest.mark.parametrize("path", ["/console", "/dashboard", "/dashboard/loans"])
def test_an_address_without_its_slash_leads_to_the_page(shared: Live, path: str) -> None:
    response = shared.http.get(path)
    assert (response.status_code, response.headers["location"]) == (308, f"{path}/")


def test_signing_in_again_ends_the_session_before(shared: Live) -> None:
    with browse(shared, "auditor") as browser:
        old = browser.cookies["likewise_session"]
        form = {"csrf": field(browser.get("/console/sign-in").text)}
        token = shared.tokens["operator"]
        assert browser.post("/console/sign-in", data={**form, "token": token}).status_code == 303
        kept = {"Cookie": f"likewise_session={old}"}
        assert shared.http.get("/console/", headers=kept).status_code == 303


def test_static_files_are_served_and_nothing_else(shared: Live) -> None:
    assert shared.http.get("/static/likewise.css").status_code == 200
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/none.js", "/nowhere"):
        assert shared.http.get(path).status_code == 404
