"""The whole of it in a real browser: reviews by keyboard and mouse, a dashboard that moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise_service.app import running
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import Live, until
from tests.service.web.browser.conftest import PATIENCE, serious_violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A docket whose features are named in markup; ann is a person, bob a program."""
    database = f"sqlite:///{tmp_path_factory.mktemp('server') / 'likewise.db'}"
    schema = FeatureSchema(
        (
            Feature("score", "integer", 300, 850, label=f"Score {MARKUP}"),
            Feature("purpose", "category", levels=("car", f"home {MARKUP}")),
        )
    )
    lender = Segments(schema, score="score", cuts=range(350, 800, 50), by=["purpose"])
    learner = Learner(lender, k=4, alpha=0.3, eps=0.3, seed=7)
    spec = DocketSpec.of(f"Loans {MARKUP}", learner, ("ann", "bob"), rule="any", repeat_share=0.0)
    store = Store.open(database)
    open_docket(store, "loans", spec, seed=7)
    tokens = {
        "operator": create_token(store, "operator", "olga", None)[0],
        "client": create_token(store, "client", "bank", "loans")[0],
        "auditor": create_token(store, "auditor", "ann", "loans")[0],
        "bob": create_token(store, "auditor", "bob", "loans")[0],
    }
    store.close()
    settings = Settings(database=database, rate=1e6, burst=10**6, tick_seconds=0.05)
    with running(settings) as address:
        live = Live(address, settings, tokens)
        yield live
        live.close()


def applicants(number: int) -> dict[str, dict[str, Any]]:
    rows = ((840, "car"), (320, "car"), (500, f"home {MARKUP}"))
    return {
        f"{number}-{i} {MARKUP}"[:40]: {"score": score, "purpose": purpose}
        for i, (score, purpose) in enumerate(rows)
    }


def sign_in(
    browser: Browser, server: Live, who: str, wrong: list[str], *, clock: bool = False
) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    if clock:
        page.clock.install()
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on(
        "request",
        lambda asked: (
            wrong.append(asked.url) if not asked.url.startswith((server.address, "data:")) else None
        ),
    )
    page.goto(server.address)
    page.wait_for_selector("#token:focus")  # by itself; what is typed before is lost
    page.keyboard.type(server.tokens[who])
    page.keyboard.press("Enter")
    page.wait_for_selector(".who")
    return page


def accessible(page: Page) -> None:
    assert [violation["id"] for violation in serious_violations(page)] == []


def tile(page: Page, key: str) -> str:
    return page.locator(f'[data-tile="{key}"] .tile-value').inner_text()


def test_a_person_reviews_rounds_and_the_dashboard_moves(
    browser: Browser, server: Live, tmp_path: Path
) -> None:
    wrong: list[str] = []
    bank, ann, bob = (server.client(who) for who in ("client", "auditor", "bob"))
    first = bank.open_round("loans", applicants(1))

    # With the keyboard alone: flag the first pair with a reason, the others are fine.
    page = sign_in(browser, server, "auditor", wrong)
    page.wait_for_selector("#keys:not([hidden])")
    assert MARKUP in page.inner_text("body"), "markup in names is shown as text"
    assert page.locator("img").count() == 0
    assert f"Score {MARKUP}" in page.inner_text("main")
    accessible(page)
    page.keyboard.press("r")
    page.keyboard.type("Same purpose.")
    page.keyboard.press("Control+Enter")
    while page.locator("#pair").is_visible():
        page.keyboard.press("g")
    assert page.locator("#nothing-heading").inner_text() == "Nothing more to look at"
    page.click("text=go through the open rounds")  # leaving sends what waits
    page.click("text=See the round")
    page.get_by_text("Same purpose.").wait_for()
    assert f"home {MARKUP}" in page.inner_text("main")
    page.wait_for_selector("#unsent", state="hidden")
    until(lambda: bool(ann.reviews("loans", status="waiting")))
    accessible(page)
    assert bank.round("loans", first.id).outcome is None, "the panel waits for bob"
    bob.finish("loans", bob.reviews("loans")[0].id)
    assert bank.round("loans", first.id).outcome == "report"

    # The operator watches; the page keeps itself fresh by a clock that the test sets.
    watch = sign_in(browser, server, "operator", wrong, clock=True)
    watch.wait_for_selector(".uplot")
    accessible(watch)
    before = {key: tile(watch, key) for key in ("rounds", "reports", "error")}
    assert (before["rounds"], before["reports"]) == ("1", "1")

    # With the mouse: a second round, nothing to report.
    second = bank.open_round("loans", applicants(2))
    page.goto(f"{server.address}/console/rounds")
    page.click(".rounds >> nth=0 >> text=See the round")
    page.click("text=Hand it in as it is")
    page.get_by_label("Pairs without a response are fine").check()
    page.get_by_role("button", name="Nothing to report").click()
    page.wait_for_url("**/console/")
    bob.finish("loans", bob.reviews("loans")[0].id)
    assert bank.round("loans", second.id).outcome == "quiet"
    for name in (first.id, second.id):
        people = [d.person for d in bank.round("loans", name).decisions]
        bank.label("loans", [(name, person, 1) for person in people])

    watch.clock.fast_forward(10_500)
    watch.wait_for_function(  # labels are known now
        "text => document.querySelector('[data-tile=error] .tile-value').innerText !== text",
        arg=before["error"],
    )
    assert tile(watch, "rounds") == "2"
    with watch.expect_download() as download:
        watch.click("a[href$='ledger.jsonl']")
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == bank.receipt("loans").seq

    # What became of my objections.
    page.goto(f"{server.address}/console/history")
    assert "Reported" in page.inner_text("main")
    accessible(page)
    for opened in (page, watch):
        opened.close()
    assert wrong == []
