"""A member's walk through a round: by keyboard, without JavaScript, and when things go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service.web.browser.conftest import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.service.web.browser.conftest import Stage

ROUND = f"/console/rounds/{'5f2a' * 8}"


@pytest.fixture
def wrong() -> list[str]:
    return []


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for all pages: a new one takes longer than most of the tests."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, stage: Stage, wrong: list[str]) -> Iterator[Page]:
    """The round in a tab of its own; what it stores in the browser goes with it."""
    opened = context.new_page()
    opened.on("console", lambda said: wrong.append(said.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(stage.url + ROUND)
    opened.wait_for_selector("#keys:not([hidden])")
    yield opened
    context.set_offline(False)
    opened.evaluate("localStorage.clear()")
    opened.close()


def eventually(page: Page, fact: Callable[[], bool]) -> None:
    """Wait for a fact, as long as the test may take."""
    while not fact():
        page.wait_for_timeout(10)


def arrive(page: Page, place: int, flagged: int) -> None:
    page.wait_for_function(
        "text => document.querySelector('#pair .progress').textContent === text",
        arg=f"Pair {place} of 7, {flagged} flagged",
    )


def has_focus(page: Page, name: str) -> None:
    page.wait_for_function("name => document.activeElement.id === name", arg=name)


def test_by_keyboard_alone(page: Page, stage: Stage, wrong: list[str]) -> None:
    page.evaluate("window.same = true")
    arrive(page, 1, 0)
    for keys in ("Control+j", "Alt+j", "Meta+j"):  # with modifiers they belong to others
        page.keyboard.press(keys)
    page.keyboard.press("k")
    page.keyboard.press("j")
    arrive(page, 2, 0)
    has_focus(page, "pair-heading")
    page.keyboard.press("ArrowRight")
    arrive(page, 3, 0)
    page.keyboard.press("ArrowLeft")
    arrive(page, 2, 0)

    page.keyboard.press("f")
    arrive(page, 2, 1)
    has_focus(page, "unflag")
    assert "Flagged. Pair 2 of 7, 1 flagged" in page.locator("#said").inner_text()
    page.keyboard.press("u")
    arrive(page, 2, 0)

    page.keyboard.press("r")
    has_focus(page, "reason")
    page.keyboard.type("just like me: furs, jokes, kudos")  # the letters are text here
    arrive(page, 2, 0)
    page.keyboard.press("Escape")
    has_focus(page, "pair-heading")
    page.keyboard.press("f")
    arrive(page, 2, 1)
    eventually(page, lambda: stage.flags == {"p1.p3": "just like me: furs, jokes, kudos"})

    for place in range(3, 8):
        page.keyboard.press("j")
        arrive(page, place, 1)
    has_focus(page, "pair-heading")
    page.keyboard.press("j")
    has_focus(page, "finish")
    assert "looked at every pair" in page.locator("#finish").inner_text()
    assert page.evaluate("window.same"), "the page was never left"
    page.keyboard.press("d")
    has_focus(page, "done")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/")
    assert stage.status == "waiting"
    assert {form["csrf"] for _, form in stage.posts} == {"c5rf"}
    verbs = [verb for verb, _ in stage.posts if verb != "marks"]
    assert verbs == ["flag", "withdraw", "flag", "finish"]
    assert len({form["key"] for _, form in stage.posts}) == len(stage.posts)
    assert len(stage.marks) >= 6
    assert wrong == []


def test_keys_can_be_switched_off_and_stay_off(page: Page) -> None:
    page.get_by_label("Use the keyboard").uncheck()
    page.keyboard.press("j")
    page.reload()
    page.wait_for_selector("#keys:not([hidden])")
    assert not page.get_by_label("Use the keyboard").is_checked()
    page.locator("#pair-heading").focus()
    page.keyboard.press("f")
    page.keyboard.press("j")
    page.keyboard.press("j")
    # Had they done anything, the next one would lead to the fourth pair, with a flag on the first.
    page.get_by_label("Use the keyboard").check()
    page.locator("#pair-heading").focus()
    page.keyboard.press("j")
    arrive(page, 2, 0)
    page.keyboard.press("k")
    arrive(page, 1, 0)


def test_a_reason_that_was_not_saved_is_kept(page: Page, stage: Stage) -> None:
    """Across pairs, a reload, and the end of a sign-in: it is there until it is saved."""
    page.locator("#reason").fill("the same debts")
    page.locator("#next").click()
    arrive(page, 2, 0)
    assert page.locator("#reason").input_value() == ""
    page.reload()
    page.wait_for_selector("#keys:not([hidden])")
    page.keyboard.press("k")
    arrive(page, 1, 0)
    assert page.locator("#reason").input_value() == "the same debts"
    page.keyboard.press("f")
    eventually(page, lambda: stage.flags == {"p1.p7": "the same debts"})
    page.wait_for_function("() => !/draft|queue/.test(Object.keys(localStorage))")


def test_a_refusal_is_said(page: Page, stage: Stage) -> None:
    stage.refuse = "closed"
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "Nothing was changed." in page.locator("#alarm").inner_text()
    arrive(page, 1, 0)


def test_what_was_said_survives_the_end_of_a_sign_in(page: Page, stage: Stage) -> None:
    stage.refuse = "/page/sign-in"
    page.keyboard.press("f")
    page.keyboard.press("j")
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "Sign in again" in page.locator("#alarm").inner_text()
    # The second objection may still be on its way.
    page.wait_for_function(
        "() => document.getElementById('saving').innerText === 'Not saved: sign in again'"
    )
    page.on("dialog", lambda dialog: dialog.accept())  # the browser asks before it leaves
    page.goto(f"{stage.url}/page/sign-in")
    stage.refuse = ""
    page.goto(stage.url + ROUND)
    page.wait_for_selector("#keys:not([hidden])")
    eventually(page, lambda: stage.flags == {"p1.p7": "", "p1.p3": ""})


def test_a_server_that_is_gone_is_said_and_tried_again(page: Page, stage: Stage) -> None:
    page.context.set_offline(True)
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-state=again]")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "cannot be reached" in page.locator("#alarm").inner_text()
    page.keyboard.press("j")
    page.keyboard.press("f")
    page.context.set_offline(False)
    eventually(page, lambda: stage.flags == {"p1.p7": "", "p1.p3": ""})
    page.wait_for_selector("#saving[data-state=saved]")
    page.wait_for_selector("#alarm", state="hidden")


def test_nothing_to_report_is_asked_about_while_pairs_were_not_seen(
    page: Page, stage: Stage
) -> None:
    page.locator("#done").click()
    page.wait_for_selector("#alarm:not([hidden])")
    assert "not looked at 6 of 7 pairs" in page.locator("#alarm").inner_text()
    assert stage.status == "asked"
    page.get_by_role("button", name="I mean it").click()
    page.wait_for_url("**/console/")
    assert stage.status == "waiting"


def test_fine_is_said_outright_and_can_be_taken_back(page: Page, stage: Stage) -> None:
    page.keyboard.press("g")
    page.wait_for_selector("#fine-tag:not([hidden])")
    # The page may say 'saved' of the mark before: wait for the mark itself.
    eventually(page, lambda: stage.marks.get("p1.p7") == "fine")
    assert page.locator(".rail a").first.locator(".rail-mark").inner_text() == "fine"
    page.get_by_role("button", name="Fine").click()
    eventually(page, lambda: stage.marks.get("p1.p7") == "seen")
    assert stage.flags == {}


def test_the_pair_and_its_buttons_are_in_the_first_window(page: Page) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    for name in ("#pair-heading", ".row-chance", "#flag", "#fine", "#next", "#previous", "#saving"):
        box = page.locator(name).first.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900, name


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
    from playwright.sync_api import expect

    page = browser.new_page(java_script_enabled=False, viewport={"width": 375, "height": 740})
    page.set_default_timeout(PATIENCE)
    pair = page.locator("#pair")
    page.goto(stage.url + ROUND)
    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    page.get_by_label("Why do you find them similar?").fill("like twins")
    page.get_by_role("button", name="Flag").click()
    expect(pair).to_contain_text("Pair 3 of 7, 1 flagged", timeout=PATIENCE)
    assert page.url.endswith(f"{ROUND}?pair=3#pair")
    assert stage.flags == {"p1.p5": "like twins"}
    page.get_by_role("button", name="Unflag").click()
    expect(pair).to_contain_text("Pair 3 of 7, 0 flagged", timeout=PATIENCE)
    page.get_by_label("I mean it").check()
    page.get_by_role("button", name="Nothing to report").click()
    page.wait_for_url("**/console/")
    page.goto(stage.url + ROUND)
    page.get_by_role("button", name="Change my mind").click()
    page.get_by_role("button", name="Flag").wait_for()
    assert stage.status == "asked"
    page.close()
