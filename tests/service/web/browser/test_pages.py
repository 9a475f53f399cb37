"""Every page in a real browser: readable by everybody, no errors, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service.web.browser.conftest import PATIENCE, serious_violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

    from tests.service.web.browser.conftest import Stage

SIZES = {"phone": (375, 740), "desktop": (1280, 800)}


class Watch:
    """What goes wrong on a page while it is looked at."""

    def __init__(self, page: Page, home: str) -> None:
        self.wrong: list[str] = []
        page.on("console", lambda said: self.wrong.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", lambda asked: self._asked(asked.url, home))
        page.on("requestfailed", lambda asked: self._failed(asked.url, asked.failure))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))

    def _asked(self, url: str, home: str) -> None:
        if not url.startswith((home, "data:")):
            self.wrong.append(f"request: {url}")

    def _failed(self, url: str, why: str | None) -> None:
        # A page that is left takes its open requests with it.
        if why != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {url} {why}")


SCREENS = ["phone-dark", "desktop-light", "phone-light", "desktop-dark"]


@pytest.fixture
def context(screen: str, browser: Browser) -> Iterator[BrowserContext]:
    size, _, scheme = screen.partition("-")
    width, height = SIZES[size]
    made = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


# On a desktop in light colours test_live.py looks at the pages that matter most, in every run.
@pytest.mark.long
@pytest.mark.parametrize("screen", SCREENS)
def test_pages_are_accessible_and_stay_at_home(
    context: BrowserContext, stage: Stage, screen: str
) -> None:
    assert faults(context, stage, list(stage.pages)) == {}


@pytest.mark.long
@pytest.mark.parametrize(("code", "screen"), [("de", "phone-dark"), ("fr", "desktop-light")])
def test_pages_in_other_languages_are_accessible_too(
    context: BrowserContext, stage: Stage, code: str, screen: str
) -> None:
    names = [name for name in stage.spoken if name.startswith(f"{code}-")]
    assert faults(context, stage, names) == {}


def faults(context: BrowserContext, stage: Stage, names: list[str]) -> dict[str, list[str]]:
    """What is wrong with each of some pages."""
    found: dict[str, list[str]] = {}
    page = context.new_page()
    watch = Watch(page, stage.url)
    for name in names:
        watch.wrong.clear()
        page.goto(f"{stage.url}/page/{name}")
        if "dashboard" in name:
            page.wait_for_selector(".u-over")
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
        wrong = watch.wrong + [
            f"{v['impact']}: {v['id']}: {v['nodes'][0]['html'][:160]}"
            for v in serious_violations(page)
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            wrong.append(f"{wide} px wider than the window")
        if wrong:
            found[name] = wrong
    return found


def test_the_policy_is_in_force(browser: Browser, stage: Stage) -> None:
    # Otherwise the test above would pass whatever the pages do.
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    watch = Watch(page, stage.url)
    page.goto(f"{stage.url}/page/queue")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">')")
    assert [text for text in watch.wrong if "Content Security Policy" in text]
    page.close()


def test_the_dashboard_keeps_itself_fresh(browser: Browser, stage: Stage) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE)
    watch = Watch(page, stage.url)
    page.clock.install()
    page.goto(f"{stage.url}/page/dashboard")
    rounds = page.locator('[data-tile="rounds"] .tile-value')
    page.wait_for_selector(".u-over")
    assert rounds.inner_text() == "240"
    assert page.locator(".u-over").count() == 4
    label = page.locator('[data-chart="error"] .plot').get_attribute("aria-label") or ""
    assert label.startswith("Error on known labels: 0.35")
    rows = page.locator('[data-chart="reports"] details tbody tr')
    assert rows.count() == 12
    page.locator('[data-chart="reports"] summary').click()
    assert rows.last.locator("a").inner_text() == "240"

    with page.expect_response(re.compile(r"/dashboard/loans/\?wrong_reports=2$")):
        page.clock.fast_forward(10_500)
    page.wait_for_function(
        "() => document.querySelector('[data-tile=rounds] dd').textContent === '241'"
    )
    page.get_by_role("button", name="Pause updates").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(60_000)
    assert asked == []
    assert page.get_by_role("button", name="Pause updates").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Copy").click()
    page.wait_for_function("() => document.getElementById('copied').textContent !== ''")
    assert rounds.inner_text() == "241"
    assert rows.count() == 12
    assert rows.last.locator("a").inner_text() == "241", "and the table is open as before"
    assert watch.wrong == []
    page.close()


def test_a_dashboard_that_cannot_be_refreshed_keeps_what_it_has(
    browser: Browser, stage: Stage
) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.clock.install()
    page.goto(f"{stage.url}/page/dashboard")
    page.wait_for_selector(".u-over")
    rounds = page.locator('[data-tile="rounds"] .tile-value')
    signed_out = {"content_type": "text/html", "body": stage.pages["sign-in"]}
    page.route(re.compile(r"/dashboard/loans/\?"), lambda route: route.fulfill(**signed_out))
    page.clock.fast_forward(10_500)
    page.get_by_text("The numbers could not be refreshed").wait_for()
    assert rounds.inner_text() == "240"
    page.unroute_all()
    page.clock.fast_forward(10_500)
    page.wait_for_selector("#stale", state="hidden")
    assert rounds.inner_text() == "241"
    page.close()


def test_a_refresh_that_comes_after_a_pause_shows_nothing(browser: Browser, stage: Stage) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.clock.install()
    page.goto(f"{stage.url}/page/dashboard")
    page.wait_for_selector(".u-over")
    board = re.compile(r"/dashboard/loans/\?")
    held: list[Route] = []
    page.route(board, lambda route: held.append(route))  # noqa: PLW0108 - playwright looks at its signature
    with page.expect_request(board):
        page.clock.fast_forward(10_500)
    page.get_by_role("button", name="Pause updates").click()
    with page.expect_response(board):
        held[0].continue_()
    page.evaluate("() => fetch(location.href).then((response) => response.text())")
    rounds = page.locator('[data-tile="rounds"] .tile-value')
    assert rounds.inner_text() == "240"
    page.unroute_all()
    page.get_by_role("button", name="Pause updates").click()
    page.wait_for_function(
        "() => document.querySelector('[data-tile=rounds] .tile-value').textContent === '241'"
    )
    page.close()
