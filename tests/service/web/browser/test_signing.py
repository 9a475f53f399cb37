"""Members who sign in their browsers, with keys that never leave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from likewise_client.errors import ApiError
from likewise_service.auth.tokens import MemberKey, create_token
from likewise_service.ledger.store import Store
from likewise_service.verify.evidence import Replayed, evidence_of
from likewise_service.verify.governance import Trusted
from likewise_service.verify.replay import replay_evidence
from tests.service.conftest import Start
from tests.service.live import Live, people, until
from tests.service.web.browser.test_typing import (
    WANTED,
    SlowProxy,
    _kept,
    _long_review,
    _opened,
    _press,
    _sign_in,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    yield made
    made.close()


@pytest.fixture
def database(sqlite_url: str) -> str:
    return sqlite_url


def _enrol(page: Page, address: str, device: str = "laptop") -> str:
    """Make a key in the browser; return its public half."""
    page.goto(f"{address}/console/signature")
    page.fill("#device", device)
    page.click("#enrol button")
    page.wait_for_selector("[data-here]:not([hidden])")
    key = page.locator("li:has([data-here]:not([hidden]))").get_attribute("data-public")
    assert key is not None
    return key


def _replayed(live: Live, docket: str, key: str = "") -> Replayed:
    store = Store.open(live.settings.database)
    found = replay_evidence(evidence_of(store, docket), Trusted({"ann": (key,)} if key else {}))
    store.close()
    return found


def test_a_member_signs_in_the_browser(context: BrowserContext, start: Start) -> None:
    """They enrol, flag and hand in; replay holds, and nobody else can speak for them."""
    live: Live = start()
    live.client("client").open_round("loans", people(1, 3))
    page = _opened(context, live.address)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    _sign_in(page, live.tokens["auditor"])
    assert "rests on the word of whoever runs this server" in page.inner_text("#signature")
    key = _enrol(page, live.address)
    page.goto(f"{live.address}/console/")
    assert page.inner_text("#signature").startswith("You sign what you say.")
    page.keyboard.press("r")
    page.fill("#reason", "so “alike” \\ 🙂\n\tné")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#saving[data-state=saved]")
    ann = live.client("auditor")
    review = ann.review("loans", ann.reviews("loans")[0].id)
    assert [o.reason for o in review.objections] == ["so “alike” \\ 🙂\n\tné"]
    page.goto(f"{live.address}/console/rounds/{review.id}")
    page.click("summary:has-text('Hand it in as it is')")
    page.check("#meant")
    page.click("#done")
    page.wait_for_url(f"{live.address}/console/")
    page.goto(f"{live.address}/console/rounds/{review.id}")
    page.fill("#comment", "Both of\nthe “same” debts 🙂")
    page.reload()  # what was typed is still there
    page.click("#comment-form button")
    page.wait_for_selector(".comment")
    assert page.inner_text(".comment") == "Both of\nthe “same” debts 🙂"
    assert page.input_value("#comment") == ""
    verdict = _replayed(live, "loans", key)
    assert verdict.holds, verdict.text()
    assert verdict.shown == 3
    assert "'ann' said what" not in verdict.text(), "nothing of hers rests on the operator's word"
    _forged(live, review.id)
    _private(page, sent)


def _forged(live: Live, review: str) -> None:
    """With a token that the operator makes in her name, by the API and without her key."""
    store = Store.open(live.settings.database)
    mallory = live.client(create_token(store, "auditor", "ann", "loans")[0])
    for key, code in ((None, "signature-needed"), (MemberKey.fresh(), "bad-signature")):
        mallory.member_key = key
        with pytest.raises(ApiError) as refused:
            mallory.reopen("loans", review)
        assert refused.value.code == code
    store.close()


def _private(page: Page, sent: list[str]) -> None:
    """The private half can be used, and not read, by whatever script."""
    exported = page.evaluate(
        """async () => {
        const open = indexedDB.open("likewise");
        await new Promise((done) => { open.onsuccess = done; });
        const all = open.result.transaction("keys").objectStore("keys").getAll();
        await new Promise((done) => { all.onsuccess = done; });
        const tries = all.result.flatMap((key) => ["raw", "pkcs8", "jwk"].map((format) =>
          crypto.subtle.exportKey(format, key.private).then(() => "exported", () => "refused")));
        return Promise.all(tries);
        }"""
    )
    assert exported == ["refused"] * 3
    assert not any("private" in text for text in sent)


@pytest.mark.long
@pytest.mark.parametrize(("latency", "stop"), [(0.0, 0.0), (0.3, 3.0)])
def test_every_signed_flag_is_kept(
    context: BrowserContext, start: Start, latency: float, stop: float
) -> None:
    """Typed fast, behind a slow network and a server that stops: signed when they were said."""
    live: Live = start()
    ann, proxy = _long_review(live), SlowProxy(live.address, latency)
    page = _opened(context, proxy.address)
    _sign_in(page, live.tokens["auditor-many"])
    _enrol(page, proxy.address)
    page.goto(f"{proxy.address}/console/")
    page.wait_for_selector("#keys:not([hidden])")
    with proxy.stopped(stop):
        _press(page, WANTED)
    _kept(live, ann)
    page.wait_for_selector("#saving[data-state=saved]")
    verdict = _replayed(live, "many")
    assert verdict.holds, verdict.text()
    assert verdict.shown == WANTED
    proxy.close()


@pytest.mark.long
def test_signed_flags_of_two_tabs_are_kept_and_handed_in(
    context: BrowserContext, start: Start
) -> None:
    """The last response hands the review in, signed by the tab in which it is given."""
    live: Live = start()
    ann = _long_review(live, people_count=4)
    tabs = [_opened(context, live.address)]
    _sign_in(tabs[0], live.tokens["auditor-many"])
    _enrol(tabs[0], live.address)
    tabs[0].goto(f"{live.address}/console/")
    tabs.append(_opened(context, live.address))
    for tab in tabs:
        tab.wait_for_selector("#keys:not([hidden])")
    total = int(tabs[0].locator("#progress").inner_text().split()[0])
    for place in range(total):
        tabs[place % 2].keyboard.press("f" if place % 3 else "g")
        for tab in tabs:
            tab.wait_for_function(
                "left => document.getElementById('progress').textContent === left",
                arg=f"{total - place - 1} left",
            )
    until(lambda: not ann.reviews("many", status="asked"))
    verdict = _replayed(live, "many")
    assert verdict.holds, verdict.text()
    assert any(f"{verdict.shown} acts were signed" in line for line in verdict.proved)


@pytest.mark.long
def test_a_second_browser_a_lost_one_and_a_refused_one(browser: Browser, start: Start) -> None:
    live: Live = start()
    live.client("client").open_round("loans", people(1, 3))
    contexts = [browser.new_context() for _ in range(3)]
    first, second, third = (_opened(each, live.address) for each in contexts)
    for page in (first, second, third):
        _sign_in(page, live.tokens["auditor"])
    _enrol(first, live.address, "laptop")
    _enrol(second, live.address, "phone")
    assert "which waits" in second.inner_text("#browser-state")
    _says_nothing(second, live)
    first.reload()
    first.click("[data-agree]:not([hidden])")
    first.locator("[data-state=signs]").nth(1).wait_for()
    second.goto(f"{live.address}/console/")
    second.wait_for_selector("#keys:not([hidden])")
    second.locator("#sign-again").click()  # it was kept since it could not sign
    second.wait_for_selector("#saving[data-state=saved]")
    # Both are lost: a third one revokes them, and begins anew; the verdict names that.
    third.goto(f"{live.address}/console/signature")
    third.wait_for_selector("#enrol:not([hidden])")
    for ended in range(2):
        third.locator("[data-state=signs] [data-revoke] button").first.click()
        third.locator("[data-state=revoked]").nth(ended).wait_for()
        third.wait_for_selector("#enrol:not([hidden])")
    _enrol(third, live.address, "tablet")
    verdict = _replayed(live, "loans")
    assert verdict.holds, verdict.text()
    assert sum("no key of theirs signed it" in line for line in verdict.unproved) == 2
    assert sum("none agreed to it" in line for line in verdict.unproved) == 1
    _says_nothing(first, live)
    for each in contexts:
        each.close()


def _says_nothing(page: Page, live: Live) -> None:
    """A browser whose key does not sign: what is typed is kept, and not taken."""
    page.goto(f"{live.address}/console/")
    page.wait_for_selector("#signature.problem")
    before = len(list(live.client("operator").ledger("loans")))
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-state=sign]")
    assert len(list(live.client("operator").ledger("loans"))) == before


@pytest.mark.long
def test_what_changed_since_is_signed_again_by_the_member(
    context: BrowserContext, start: Start
) -> None:
    """New guidelines: nothing is signed for the member, and nothing that they typed is lost."""
    live: Live = start()
    ann = _long_review(live)
    page = _opened(context, live.address)
    _sign_in(page, live.tokens["auditor-many"])
    _enrol(page, live.address)
    page.goto(f"{live.address}/console/")
    page.wait_for_selector("#keys:not([hidden])")
    live.client("operator").set_guidelines("many", "Look at the debts.")
    _press(page, 2)
    page.wait_for_selector("#sign-again")
    assert "guidelines have changed" in page.inner_text("#alarm")
    page.reload()
    page.locator("#sign-again").click()
    [waiting] = ann.reviews("many")
    until(lambda: len(ann.review("many", waiting.id).objections) == 2)
    page.wait_for_selector("#saving[data-state=saved]")
    _press(page, WANTED - 2)
    _kept(live, ann)
    assert _replayed(live, "many").holds


@pytest.mark.long
def test_a_browser_that_cannot_sign_says_so(context: BrowserContext, start: Start) -> None:
    live: Live = start()
    context.add_init_script(
        "SubtleCrypto.prototype.generateKey = () => Promise.reject(new Error('none'));"
    )
    page = _opened(context, live.address)
    page.fill("input[name=token]", live.tokens["auditor"])
    page.press("input[name=token]", "Enter")
    page.wait_for_url("**/console/")
    page.goto(f"{live.address}/console/signature")
    page.wait_for_function(
        "document.getElementById('browser-state').textContent.includes('cannot make')"
    )
    assert "rests on the word of whoever runs this server" in page.inner_text("#browser-state")
    assert page.is_hidden("#enrol")
