"""A member's walk through the queue: by keyboard, without JavaScript, and when things go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service.web.browser.conftest import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.service.web.browser.conftest import Stage

NAMES = ["p1.p7", "p1.p3", "p1.p5", "p6.p3", "p6.p5", "p1.p8", "p4.p5"]  # the riskiest first


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


def opened(context: BrowserContext, stage: Stage, wrong: list[str]) -> Page:
    page = context.new_page()
    page.on("console", lambda said: wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())  # the browser may ask before it leaves
    page.goto(f"{stage.url}/console/")
    page.wait_for_selector("#keys:not([hidden])")
    return page


@pytest.fixture
def page(context: BrowserContext, stage: Stage, wrong: list[str]) -> Iterator[Page]:
    """The queue in a tab of its own; what it stores in the browser goes with it."""
    made = opened(context, stage, wrong)
    yield made
    context.set_offline(False)
    made.evaluate("localStorage.clear()")
    for tab in context.pages:
        tab.close()


def eventually(page: Page, fact: Callable[[], bool]) -> None:
    """Wait for a fact, as long as the test may take."""
    while not fact():
        page.wait_for_timeout(10)


def at(page: Page, place: int, left: int) -> None:
    """Wait until a pair is in focus, by its place in the queue, with so many left."""
    over, under = (f"Person {name[1:]}" for name in NAMES[place].split("."))
    page.wait_for_function(
        "([names, left]) => document.getElementById('pair-heading').textContent === names"
        " && document.getElementById('progress').textContent === left",
        arg=[f"{over} and {under}", f"{left} left"],
    )


def has_focus(page: Page, name: str) -> None:
    page.wait_for_function("name => document.activeElement.id === name", arg=name)


def test_by_keyboard_alone(page: Page, stage: Stage, wrong: list[str]) -> None:
    page.evaluate("window.same = true")
    at(page, 0, 7)
    for keys in ("Control+j", "Alt+j", "Meta+g"):  # with modifiers they belong to others
        page.keyboard.press(keys)
    page.keyboard.press("k")
    page.keyboard.press("j")
    at(page, 1, 7)
    has_focus(page, "pair-heading")
    page.keyboard.press("ArrowRight")
    at(page, 2, 7)
    page.keyboard.press("ArrowLeft")
    at(page, 1, 7)

    page.keyboard.press("f")
    at(page, 2, 6)
    assert "Flagged. 6 left." in page.locator("#said").inner_text()
    page.keyboard.press("u")
    at(page, 1, 7)
    page.keyboard.press("r")
    has_focus(page, "reason")
    page.keyboard.type("just like me: furs, jokes, kudos")  # the letters are text here
    page.keyboard.press("Escape")
    has_focus(page, "pair-heading")
    page.keyboard.press("f")
    at(page, 2, 6)
    eventually(page, lambda: stage.flags == {"p1.p3": "just like me: furs, jokes, kudos"})
    for key in "ggfggg":
        page.keyboard.press(key)
    page.wait_for_selector("#nothing:not([hidden])")
    has_focus(page, "nothing-heading")
    assert page.locator("#nothing-heading").inner_text() == "Nothing more to look at"
    eventually(page, lambda: len(stage.fines) == 4)  # the first came round again, and waits
    assert set(stage.flags) == {"p1.p3", "p6.p5"}
    page.wait_for_selector("#saving[data-state=held]")
    assert page.evaluate("window.same"), "the page was never left"
    assert {(form["csrf"], form["seat"]) for _, form in stage.posts} == {("c5rf", "5ea7")}
    assert [verb for verb, _ in stage.posts[:3]] == ["flag", "undo", "flag"]
    assert len({form["key"] for _, form in stage.posts}) == len(stage.posts)
    assert wrong == []


def test_a_round_is_handed_in_after_a_second_thought(page: Page, stage: Stage) -> None:
    """Its last response may close it, so that one alone waits a moment; leaving sends it."""
    for _ in NAMES:
        page.keyboard.press("g")
    eventually(page, lambda: len(stage.fines) == 6)
    page.wait_for_selector("#saving[data-state=held]")
    page.keyboard.press("u")
    at(page, 6, 1)
    page.wait_for_selector("#saving[data-state=saved]")
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-state=held]")
    page.goto(f"{stage.url}/page/rounds")
    eventually(page, lambda: bool(stage.flags))
    assert (len(stage.fines), stage.flags) == (6, {"p4.p5": ""})
    assert {verb for verb, _ in stage.posts[6:]} == {"flag"}, "what was taken back was not sent"
    page.wait_for_function("() => !Object.keys(localStorage).some(k => k.includes('unsent'))")


def test_keys_can_be_switched_off_and_stay_off(page: Page) -> None:
    page.get_by_label("Use the keyboard").uncheck()
    page.keyboard.press("j")
    page.reload()
    page.wait_for_selector("#keys:not([hidden])")
    assert not page.get_by_label("Use the keyboard").is_checked()
    page.locator("#pair-heading").focus()
    for key in "fjj":
        page.keyboard.press(key)
    # Had they done anything, the next one would lead to the fourth pair, with a flag on the first.
    page.get_by_label("Use the keyboard").check()
    page.locator("#pair-heading").focus()
    page.keyboard.press("j")
    at(page, 1, 7)


def test_a_reason_that_was_not_saved_is_kept(page: Page, stage: Stage) -> None:
    """Across pairs, a reload, and the end of a sign-in: it is there until it is saved."""
    page.keyboard.press("r")
    page.locator("#reason").fill("the same debts")
    page.locator("#later").click()
    at(page, 1, 7)
    assert page.locator("#reason").input_value() == ""
    page.goto(f"{stage.url}/console/")
    at(page, 0, 7)
    assert page.locator("#reason").input_value() == "the same debts"
    page.locator("#pair-heading").focus()
    page.keyboard.press("f")
    eventually(page, lambda: stage.flags == {"p1.p7": "the same debts"})
    page.wait_for_function("() => !/draft|unsent/.test(Object.keys(localStorage))")
    page.keyboard.press("u")
    at(page, 0, 7)
    assert page.locator("#reason").input_value() == "the same debts", "taken back, not thrown away"


def test_a_pair_that_is_written_about_stays(page: Page, stage: Stage) -> None:
    """Its round may close meanwhile: letters of the reason would be keys for the next pair."""
    page.keyboard.press("r")
    page.keyboard.type("hal")
    stage.fines |= {"p1.p7", "p1.p3"}  # they are asked no longer
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    at(page, 0, 6)
    page.keyboard.type("f")
    assert (page.locator("#reason").input_value(), stage.posts) == ("half", [])
    stage.refuse = "closed"
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "Person 1 and Person 7 of review 12" in page.locator("#alarm").inner_text()
    at(page, 2, 5)


def test_a_long_reason_is_sent(page: Page, stage: Stage) -> None:
    """Longer than what a browser sends for a page that is gone: 9 bytes a letter on the way."""
    reason = "公平" * 5_000
    page.evaluate("document.getElementById('reason').removeAttribute('maxlength')")
    page.keyboard.press("r")
    page.locator("#reason").fill(reason)
    page.keyboard.press("Control+Enter")
    eventually(page, lambda: stage.flags == {"p1.p7": reason})


def test_a_refusal_is_said_and_never_called_saved(page: Page, stage: Stage) -> None:
    stage.refuse = "closed"
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    said = page.locator("#alarm").inner_text()
    assert "Person 1 and Person 7 of review 12: Nothing was changed." in said
    page.wait_for_selector("#saving[data-state=lost]")
    stage.refuse = ""
    page.keyboard.press("g")
    eventually(page, lambda: stage.fines == {"p1.p3"})
    page.wait_for_selector("#saving[data-state=lost]")  # not "saved", although the second is


def test_what_was_said_survives_the_end_of_a_sign_in(page: Page, stage: Stage) -> None:
    stage.refuse = "/page/sign-in"
    page.keyboard.press("f")
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "Sign in again" in page.locator("#alarm").inner_text()
    page.goto(f"{stage.url}/page/sign-in")
    page.wait_for_selector("#unsent:not([hidden])")
    waits = page.locator("#unsent").inner_text()
    assert "2 responses given as Ethicist, Car and home loans are kept" in waits
    assert stage.flags == {}
    stage.refuse = ""
    page.goto(f"{stage.url}/page/rounds")  # whichever page comes first
    eventually(page, lambda: stage.flags == {"p1.p7": "", "p1.p3": ""})
    page.wait_for_selector("#unsent", state="hidden")


def test_a_sign_in_in_another_tab_is_enough(page: Page, stage: Stage) -> None:
    stage.refuse = "/page/sign-in"
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-state=out]")
    stage.refuse = ""
    eventually(page, lambda: stage.flags == {"p1.p7": ""})
    page.wait_for_selector("#saving[data-state=saved]")
    page.wait_for_selector("#alarm", state="hidden")


def test_what_another_tab_has_sent_is_no_longer_said_to_wait(page: Page, stage: Stage) -> None:
    stage.refuse = "/page/sign-in"
    page.keyboard.press("f")
    page.wait_for_selector("#alarm:not([hidden])")
    page.evaluate("localStorage.clear()")
    page.wait_for_selector("#saving[data-state=saved]")
    page.wait_for_selector("#alarm", state="hidden")


def test_another_seat_in_another_tab_keeps_what_was_said(page: Page, stage: Stage) -> None:
    stage.seat = "07e2"
    for key in "fff":
        page.keyboard.press(key)
    page.wait_for_selector("#saving[data-state=seat]")
    assert "another seat" in page.locator("#alarm").inner_text()
    stage.seat = "5ea7"
    eventually(page, lambda: len(stage.flags) == 3)
    page.wait_for_selector("#saving[data-state=saved]")


def test_what_was_said_for_another_seat_waits_for_it(page: Page, stage: Stage) -> None:
    item = {"seat": "07e2", "label": "bo, Cars", "review": "0" * 32, "act": "flag",
            "pair": "p1.p7", "reason": "", "limit": -1, "key": "a" * 32, "at": 1}  # fmt: skip
    page.evaluate("text => localStorage.setItem('likewise-unsent:x', text)", json.dumps(item))
    page.reload()
    page.wait_for_selector("#unsent:not([hidden])")
    assert "1 response given as bo, Cars is kept" in page.locator("#unsent").inner_text()
    page.keyboard.press("f")
    eventually(page, lambda: stage.flags == {"p1.p7": ""})
    page.wait_for_selector("#saving[data-state=saved]")
    assert {form["seat"] for _, form in stage.posts} == {"5ea7"}


def test_a_graded_flag_takes_one_key_to_the_slider(page: Page, stage: Stage) -> None:
    stage.graded = True
    page.reload()
    page.wait_for_selector("#keys:not([hidden])")
    page.keyboard.press("l")
    has_focus(page, "limit")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.locator("#limit-words").inner_text() == "3 points"
    page.keyboard.press("Enter")
    at(page, 1, 6)
    page.keyboard.press("f")
    eventually(page, lambda: len(stage.posts) == 2)
    assert [form["limit"] for _, form in stage.posts] == ["3", "-1"], "said, and not said"


def test_two_tabs_agree(
    page: Page, context: BrowserContext, stage: Stage, wrong: list[str]
) -> None:
    other = opened(context, stage, wrong)
    page.keyboard.press("f")
    at(page, 1, 6)
    at(other, 1, 6)
    other.keyboard.press("g")
    at(page, 2, 5)
    for tab, key in ((page, "f"), (other, "f"), (page, "g"), (other, "f")):
        before = int(tab.locator("#progress").inner_text().split()[0])
        tab.keyboard.press(key)
        for one in (page, other):
            one.wait_for_function(
                "left => document.getElementById('progress').textContent === left",
                arg=f"{before - 1} left",
            )
    eventually(page, lambda: (len(stage.flags), len(stage.fines)) == (4, 2))
    # Both may send the same, and the server takes each key once.
    assert len({form["key"] for _, form in stage.posts}) == 6


def test_a_server_that_is_gone_is_said_and_tried_again(page: Page, stage: Stage) -> None:
    page.context.set_offline(True)
    page.keyboard.press("f")
    page.wait_for_selector("#saving[data-state=again]")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "cannot be reached" in page.locator("#alarm").inner_text()
    page.keyboard.press("f")
    page.context.set_offline(False)
    eventually(page, lambda: stage.flags == {"p1.p7": "", "p1.p3": ""})
    page.wait_for_selector("#saving[data-state=saved]")
    page.wait_for_selector("#alarm", state="hidden")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_a_pair_of_nine_features_is_seen_whole(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    rows = page.locator("#pair tbody tr")
    assert rows.count() == 1 + 9
    bar = page.locator(".bar").bounding_box()
    assert bar is not None
    for spot in (page.locator("#progress"), page.locator("#pair-heading"), *rows.all()):
        box = spot.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= bar["y"]
    for name in ("#flag", "#fine", "#later"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 1280, "height": 800})


def test_practice_has_a_word_on_each_pair_and_records_nothing(page: Page, stage: Stage) -> None:
    page.goto(f"{stage.url}/page/practice")
    page.wait_for_selector("#keys:not([hidden])")
    for key, word in (("f", "Look again: Person 3"), ("f", "Yes: Person 5"), ("g", "Yes: ")):
        page.keyboard.press(key)
        assert page.locator("#word").inner_text().startswith(word)
    page.get_by_text("You have practised").wait_for()
    page.goto(f"{stage.url}/console/")
    at(page, 0, 7)
    assert stage.posts == []


def test_back_shows_the_pair_before(page: Page) -> None:
    for place in (1, 2):
        page.keyboard.press("j")
        at(page, place, 7)
    page.go_back()
    at(page, 1, 7)
    kept = page.evaluate("[...Object.keys(sessionStorage), ...Object.keys(localStorage)]")
    assert not any("page" in name or "history" in name for name in kept), "they are about people"


def test_everything_works_without_javascript(browser: Browser, stage: Stage) -> None:
    page = browser.new_page(java_script_enabled=False, viewport={"width": 375, "height": 740})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{stage.url}/console/")
    page.get_by_role("link", name="Later").click()
    page.get_by_text("Why do you find them similar?").click()
    page.get_by_label("Your reason").fill("like twins")
    page.get_by_role("button", name="Flag").click()
    page.get_by_text("6 left").wait_for()
    assert stage.flags == {"p1.p3": "like twins"}
    page.get_by_role("button", name="Fine").click()
    page.get_by_text("5 left").wait_for()
    page.get_by_role("button", name="Undo it").click()
    page.get_by_text("6 left").wait_for()
    assert (stage.flags, stage.fines) == ({"p1.p3": "like twins"}, set())
    page.goto(f"{stage.url}/page/practice")
    later = page.get_by_role("link", name="Later").get_attribute("href")
    assert later == "/console/practice?done=2", "made-up pairs are not in the queue"
    page.close()
