"""Flags typed at any speed, behind a slow proxy and a server that stops: none is lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.service.conftest import Start
from tests.service.live import Live, people

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 60_000


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


@pytest.mark.parametrize(
    ("interval", "latency", "stop"),
    [(30, 0.15, 0.0), (60, 0.4, 0.0), (120, 1.0, 0.0), (350, 0.3, 0.0), (60, 0.3, 3.0)],
)
def test_every_flag_is_kept(
    browser: Browser, start: Start, interval: int, latency: float, stop: float
) -> None:
    live: Live = start()
    live.client("client").open_round("loans", people(1, 4))
    proxy = SlowProxy(live.address, latency)
    page = _signed_in(browser, proxy.address, live.tokens["auditor"])
    ann = live.client("auditor")
    [waiting] = ann.reviews("loans")
    wanted = len(ann.review("loans", waiting.id).pairs)
    assert wanted >= 3
    typed = 0
    with proxy.stopped(stop):
        for _ in range(wanted):
            for key in ("f", "j"):
                page.keyboard.press(key)
                page.wait_for_timeout(interval)
                typed += key == "f"
    page.wait_for_selector("#saving[data-state=saved]", timeout=PATIENCE)
    said = ann.review("loans", waiting.id).objections
    assert len(said) == typed == wanted
    kinds = [record.kind for record in live.client("operator").ledger("loans")]
    assert kinds.count("objected") == wanted, "nothing is recorded twice"
    page.close()
    proxy.close()
