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
from tests.service.conftest import Start
from tests.service.live import Live, people, spec, until
from tests.service.web.browser.conftest import PATIENCE

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet
    from playwright.sync_api import Browser, Page

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


def _signed_in(browser: Browser, address: str, token: str) -> Page:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/console/sign-in")
    page.fill("input[name=token]", token)
    page.press("input[name=token]", "Enter")
    page.wait_for_url("**/console/")
    page.click("a[href^='/console/rounds/'] >> nth=0")
    page.wait_for_selector("#keys:not([hidden])")
    return page


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
        _case(60, 0.3, 3.0),
        _case(30, 1.0, 0.0),
        _case(120, 1.0, 3.0),
        _case(200, 0.4, 0.0),
        _case(350, 0.3, 3.0),
        _case(350, 1.0, 0.0),
    ],
)
def test_every_flag_is_kept(
    browser: Browser, start: Start, interval: int, latency: float, stop: float
) -> None:
    """Eight are typed, whatever the network does, and eight are recorded: each of them once."""
    live: Live = start()
    ann = _long_review(live)
    [waiting] = ann.reviews("many")
    assert len(ann.review("many", waiting.id).pairs) >= WANTED
    proxy = SlowProxy(live.address, latency)
    page = _signed_in(browser, proxy.address, live.tokens["auditor-many"])
    with proxy.stopped(stop):
        for _ in range(WANTED):
            for key in ("f", "j"):
                page.keyboard.press(key)
                page.wait_for_timeout(interval)
    until(lambda: len(ann.review("many", waiting.id).objections) == WANTED)
    page.wait_for_selector("#saving[data-state=saved]")
    kinds = [record["kind"] for record in live.client("operator").ledger("many")]
    assert kinds.count("flagged") == WANTED, "nothing is recorded twice"
    page.close()
    proxy.close()


def _long_review(live: Live) -> Client:
    """A member before a round with many pairs."""
    store = Store.open(live.settings.database)
    open_docket(store, "many", spec(learner={"k": 6}), seed=7)
    live.tokens["auditor-many"] = create_token(store, "auditor", "ann", "many")[0]
    bank = create_token(store, "client", "bank", "many")[0]
    store.close()
    live.client(bank).open_round("many", people(1, 6))
    return live.client("auditor-many")
