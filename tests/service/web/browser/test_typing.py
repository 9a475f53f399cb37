"""Flags typed at any speed, behind a slow proxy and a server that stops: none is lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from likewise_client.client import Client
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger.store import Store
from likewise_service.web.console import AHEAD
from tests.service.conftest import Start
from tests.service.live import Live, people, spec, until
from tests.service.web.browser.conftest import PATIENCE

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet
    from playwright.sync_api import Browser, BrowserContext, Page

WANTED = 8


class SlowProxy:
    """A proxy before a server: everything passes it late, and while it is stopped, nothing does."""

    def __init__(self, address: str, seconds: float) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self.target, self.seconds = (host, int(port)), seconds
        self.flowing = threading.Event()
        self.flowing.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.sockets: list[socket.socket] = []
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            self.sockets += [client, server]
            for ends in ((client, server), (server, client)):
                self.threads.append(threading.Thread(target=self._pass_on, args=ends, daemon=True))
                self.threads[-1].start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                time.sleep(self.seconds / 2)
                self.flowing.wait()
                other.sendall(data)
        except OSError:
            pass
        _shut(one, other)

    @contextmanager
    def stopped(self, seconds: float) -> Iterator[None]:
        """Nothing passes for some seconds, whatever the block does meanwhile."""
        self.flowing.clear()
        timer = threading.Timer(seconds, self.flowing.set)
        timer.start()
        yield
        timer.join()

    def close(self) -> None:
        self.flowing.set()
        _shut(self.listener, *self.sockets)
        for thread in self.threads:
            thread.join(10)
        for one in (self.listener, *self.sockets):
            one.close()


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue


def _sign_in(page: Page, token: str) -> None:
    page.fill("input[name=token]", token)
    page.press("input[name=token]", "Enter")
    page.wait_for_selector("#keys:not([hidden])")


def _opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("dialog", lambda dialog: dialog.accept())  # the browser may ask before it leaves
    page.goto(f"{address}/console/")
    return page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    yield made
    made.close()


@pytest.fixture
def database(sqlite_url: str) -> str:
    return sqlite_url


def _case(interval: int, latency: float, stop: float, *, long: bool = True) -> ParameterSet:
    return pytest.param(interval, latency, stop, marks=[pytest.mark.long] if long else [])


@pytest.mark.parametrize(
    ("interval", "latency", "stop"),
    [
        _case(30, 0.0, 0.0),
        _case(30, 0.15, 3.0, long=False),
        _case(60, 0.4, 0.0),
        _case(120, 1.0, 3.0),
        _case(350, 0.3, 3.0),
    ],
)
def test_every_flag_is_kept(
    context: BrowserContext, start: Start, interval: int, latency: float, stop: float
) -> None:
    """Eight are typed, whatever the network does, and eight are recorded: each of them once.

    Eight keys lead from the list to the ninth pair.
    """
    live: Live = start()
    ann = _long_review(live)
    proxy = SlowProxy(live.address, latency)
    page = _opened(context, proxy.address)
    _sign_in(page, live.tokens["auditor-many"])
    total = len(ann.review("many", ann.reviews("many")[0].id).pairs)
    with proxy.stopped(stop):
        for _ in range(WANTED):
            page.keyboard.press("f")
            page.wait_for_timeout(interval)
        assert page.locator("#progress").inner_text() == f"{total - WANTED} left"
    _kept(live, ann)
    page.wait_for_selector("#saving[data-state=saved]")
    proxy.close()


def _kept(live: Live, ann: Client) -> None:
    """Wait until eight flags are recorded, and find each of them once."""
    [waiting] = ann.reviews("many")
    until(lambda: len(ann.review("many", waiting.id).objections) == WANTED)
    kinds = [record["kind"] for record in live.client("operator").ledger("many")]
    assert kinds.count("flagged") == WANTED, "nothing is recorded twice"


def _press(page: Page, count: int) -> None:
    for _ in range(count):
        page.keyboard.press("f")
        page.wait_for_timeout(30)


def _sign_out(page: Page, address: str) -> None:
    """Sign out from another page, while this one types on."""
    page.goto(f"{address}/console/history")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("input[name=token]")


@pytest.mark.long
@pytest.mark.parametrize("latency", [0.0, 0.6])
def test_flags_are_kept_over_a_sign_out_in_another_tab(
    context: BrowserContext, start: Start, latency: float
) -> None:
    """The 401 and the 403 of the next session lose nothing; the first tab goes on by itself."""
    live: Live = start()
    ann, proxy = _long_review(live), SlowProxy(live.address, latency)
    page = _opened(context, proxy.address)
    _sign_in(page, live.tokens["auditor-many"])
    other = _opened(context, proxy.address)
    _press(page, 2)
    _sign_out(other, proxy.address)
    _press(page, 3)
    page.wait_for_selector("#saving[data-state=out]")
    assert "sign in" in page.locator("#alarm").inner_text().lower()
    _sign_in(other, live.tokens["auditor-many"])
    _press(page, 3)
    _kept(live, ann)
    page.wait_for_selector("#saving[data-state=saved]")
    proxy.close()


@pytest.mark.long
def test_flags_are_kept_when_the_member_signs_out_at_once(
    context: BrowserContext, start: Start
) -> None:
    """Also with a server that is gone meanwhile; the sign-in page says what waits."""
    live: Live = start()
    ann, proxy = _long_review(live), SlowProxy(live.address, 0.6)
    page = _opened(context, proxy.address)
    _sign_in(page, live.tokens["auditor-many"])
    _press(page, 4)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("input[name=token]")
    [waiting] = ann.reviews("many")
    assert len(ann.review("many", waiting.id).objections) == 4, "signing out waits for them"
    _sign_in(page, live.tokens["auditor-many"])
    with proxy.stopped(4.0):
        _press(page, 4)
        page.get_by_role("button", name="Sign out").click()  # it waits for three seconds at most
        page.wait_for_selector("input[name=token]")
    _sign_in(page, live.tokens["auditor-many"])
    _kept(live, ann)
    proxy.close()


@pytest.mark.long
def test_flags_are_kept_when_another_seat_is_chosen(context: BrowserContext, start: Start) -> None:
    """They are sent for the seat that they were said for, and for no other."""
    live: Live = start()
    ann, proxy = _long_review(live), SlowProxy(live.address, 0.6)
    page = _opened(context, proxy.address)
    _sign_in(page, live.tokens["auditor-many"])
    other = _opened(context, proxy.address)
    other.goto(f"{proxy.address}/console/seats")
    other.fill("input[name=token]", live.tokens["auditor-other"])
    other.press("input[name=token]", "Enter")
    other.get_by_role("button", name="Speak for this seat").click()
    other.wait_for_selector("#nothing, #keys:not([hidden])")
    _press(page, 5)
    page.wait_for_selector("#saving[data-state=seat]")
    other.reload()
    assert "5 responses given as ann, Small loans are kept" in other.inner_text("#unsent")
    page.close()  # what was said stays in the browser
    other.goto(f"{proxy.address}/console/seats")
    other.get_by_role("button", name="Speak for this seat").click()
    other.wait_for_selector("#keys:not([hidden])")
    _press(other, 3)
    _kept(live, ann)
    proxy.close()


@pytest.mark.long
def test_flags_of_two_tabs_are_kept(context: BrowserContext, start: Start) -> None:
    """No pair is asked in both, and closing one of them early loses nothing."""
    live: Live = start()
    ann, proxy = _long_review(live), SlowProxy(live.address, 0.15)
    tabs = [_opened(context, proxy.address)]
    _sign_in(tabs[0], live.tokens["auditor-many"])
    tabs.append(_opened(context, proxy.address))
    tabs[1].wait_for_selector("#keys:not([hidden])")
    left = int(tabs[0].locator("#progress").inner_text().split()[0])
    for flags in range(WANTED):
        tabs[flags % 2].keyboard.press("f")
        for tab in tabs:  # it hears of the other's
            tab.wait_for_function(
                "left => document.getElementById('progress').textContent === left",
                arg=f"{left - flags - 1} left",
            )
    tabs[0].close()
    _kept(live, ann)
    proxy.close()


def _long_review(live: Live, people_count: int = 6, rounds: int = 1) -> Client:
    """A member before rounds with many pairs."""
    store = Store.open(live.settings.database)
    open_docket(store, "many", spec(learner={"k": people_count}), seed=7)
    live.tokens["auditor-many"] = create_token(store, "auditor", "ann", "many")[0]
    bank = create_token(store, "client", "bank", "many")[0]
    store.close()
    for number in range(rounds):
        live.client(bank).open_round("many", people(number, people_count))
    return live.client("auditor-many")


@pytest.mark.long
@pytest.mark.parametrize(("latency", "tabs"), [(0.0, 1), (0.3, 2)])
def test_a_queue_longer_than_a_page_is_asked_once_and_handed_in(
    context: BrowserContext, start: Start, latency: float, tabs: int
) -> None:
    """Pairs that come while others are on their way are asked once, however fast the keys are."""
    live: Live = start()
    ann = _long_review(live, people_count=12, rounds=2)
    total = sum(review.pairs for review in ann.reviews("many"))
    assert total > AHEAD
    proxy = SlowProxy(live.address, latency)
    pages = [_opened(context, proxy.address)]
    _sign_in(pages[0], live.tokens["auditor-many"])
    for _ in range(1, tabs):
        pages.append(_opened(context, proxy.address))
        pages[-1].wait_for_selector("#keys:not([hidden])")
    asked: list[tuple[str, str]] = []
    for page in pages:
        page.on("request", lambda request: asked.append((request.url, request.post_data or "")))
    done = (
        "(heading => heading.offsetParent && heading.textContent.startsWith('Nothing'))"
        "(document.getElementById('nothing-heading'))"
    )
    for place in range(10 * total):
        page = pages[place % tabs]
        page.keyboard.press("f" if place % 3 == 0 else "g")
        page.wait_for_timeout(20)
        # Nobody types in two tabs faster than they hear of each other.
        until(lambda: len({tab.locator("#progress").inner_text() for tab in pages}) == 1)
        if page.evaluate(done):
            break
    for page in pages:
        page.wait_for_selector("#saving[data-state=saved]")
    until(lambda: not ann.reviews("many", status="asked"))
    posts = {data.split("key=")[1][:32]: url for url, data in asked if "/console/rounds/" in url}
    assert len(posts) == total, "one response for each pair"
    proxy.close()
