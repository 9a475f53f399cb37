"""A member's walk through a round: by keyboard, without JavaScript, and when things go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from tests.service.web.browser.conftest import Stage

ROUND = f"/console/rounds/{'5f2a' * 8}"


@pytest.fixture
def wrong() -> list[str]:
    return []


@pytest.fixture
def page(browser: Browser, stage: Stage, wrong: list[str]) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.on("console", lambda said: wrong.append(said.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(stage.url + ROUND)
    opened.wait_for_selector("#keys:not([hidden])")
    yield opened
    opened.close()


def arrive(page: Page, place: int, flagged: int) -> None:
    page.wait_for_function(
        "text => document.querySelector('#pair .progress').textContent === text",
        arg=f"Pair {place} of 7, {flagged} flagged",
    )


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_by_keyboard_alone(page: Page, stage: Stage, wrong: list[str]) -> None:
    page.evaluate("window.same = true")
    arrive(page, 1, 0)
    page.keyboard.press("k")
    page.keyboard.press("j")
    arrive(page, 2, 0)
    page.wait_for_function("() => document.activeElement.id === 'pair-heading'")
    page.keyboard.press("ArrowRight")
    arrive(page, 3, 0)
    page.keyboard.press("ArrowLeft")
    arrive(page, 2, 0)

    page.keyboard.press("f")
    arrive(page, 2, 1)
    page.wait_for_function("() => document.activeElement.id === 'unflag'")
    assert "Flagged. Pair 2 of 7, 1 flagged" in page.locator("#said").inner_text()
    page.keyboard.press("u")
    arrive(page, 2, 0)

    page.keyboard.press("r")
    assert focused(page) == "reason"
    page.keyboard.type("just like me: furs, jokes, kudos")  # the letters are text here
    arrive(page, 2, 0)
    page.keyboard.press("Escape")
    assert focused(page) == "pair-heading"
    page.keyboard.press("f")
    arrive(page, 2, 1)
    assert stage.flags == {"p1.p3": "just like me: furs, jokes, kudos"}

    for place in range(3, 8):
        page.keyboard.press("j")
        arrive(page, place, 1)
    page.wait_for_function("() => document.activeElement.id === 'pair-heading'")
    page.keyboard.press("j")
    assert focused(page) == "finish"
    assert page.evaluate("window.same"), "the page was never left"
    page.keyboard.press("d")
    assert focused(page) == "done"
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/")
    assert stage.status == "waiting"
    assert {form["csrf"] for _, form in stage.posts} == {"c5rf"}
    assert [verb for verb, _ in stage.posts] == ["flag", "unflag", "flag", "done"]
    assert wrong == []


def test_keys_can_be_switched_off_and_stay_off(page: Page) -> None:
    page.get_by_label("Use the keyboard").uncheck()
    page.keyboard.press("j")
    page.reload()
    page.wait_for_selector("#keys:not([hidden])")
    assert not page.get_by_label("Use the keyboard").is_checked()
    page.locator("#pair-heading").focus()
    page.keyboard.press("j")
    page.keyboard.press("f")
    page.wait_for_timeout(200)
    arrive(page, 1, 0)


def test_keys_with_modifiers_belong_to_others(page: Page) -> None:
    for keys in ("Control+j", "Alt+j", "Meta+j"):
        page.keyboard.press(keys)
    page.wait_for_timeout(200)
    arrive(page, 1, 0)


def test_an_unsaved_reason_is_not_lost_silently(page: Page) -> None:
    page.locator("#reason").fill("the same debts")
    page.locator("#next").click()
    page.wait_for_selector("#alarm:not([hidden])")
    assert "not saved yet" in page.locator("#alarm").inner_text()
    arrive(page, 1, 0)
    page.locator("#next").click()
    arrive(page, 2, 0)
    assert page.locator("#alarm").is_hidden()


def test_a_refusal_is_said(page: Page, stage: Stage) -> None:
    stage.refuse = "closed"
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "Nothing was changed." in page.locator("#alarm").inner_text()
    arrive(page, 1, 0)


def test_a_session_that_has_ended_leads_to_the_sign_in_page(page: Page, stage: Stage) -> None:
    stage.refuse = "/page/sign-in"
    page.keyboard.press("f")
    page.wait_for_url("**/page/sign-in")


def test_a_server_that_is_gone_is_said(page: Page) -> None:
    page.context.set_offline(True)
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "cannot be reached" in page.locator("#alarm").inner_text()


def test_back_shows_the_pair_before(page: Page) -> None:
    page.keyboard.press("j")
    arrive(page, 2, 0)
    page.keyboard.press("j")
    arrive(page, 3, 0)
    page.go_back()
    arrive(page, 2, 0)
    kept = page.evaluate("[...Object.keys(sessionStorage), ...Object.keys(localStorage)]")
    assert "htmx-history-cache" not in kept, "pages about people are kept in no storage"


def test_everything_works_without_javascript(browser: Browser, stage: Stage) -> None:
    page = browser.new_page(java_script_enabled=False, viewport={"width": 375, "height": 740})
    page.goto(stage.url + ROUND)
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    page.get_by_label("Why do you find them similar?").fill("like twins")
    page.get_by_role("button", name="Flag").click()
    assert page.url.endswith(f"{ROUND}?pair=3#pair")
    assert "Pair 3 of 7, 1 flagged" in page.locator("#pair").inner_text()
    assert stage.flags == {"p1.p5": "like twins"}
    page.get_by_role("button", name="Unflag").click()
    assert "Pair 3 of 7, 0 flagged" in page.locator("#pair").inner_text()
    page.get_by_role("button", name="Nothing to report").click()
    assert page.url.endswith("/console/")
    page.goto(stage.url + ROUND)
    page.get_by_role("button", name="Change my mind").click()
    assert stage.status == "asked"
    assert page.get_by_role("button", name="Flag").is_visible()
    page.close()
