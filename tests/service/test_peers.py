"""Several processes of one server: a docket's requests are served where it is at home."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from likewise_service.server import MOST, Config, Peers, listening
from likewise_service.settings import Settings
from tests.service.live import GENEROUS, PATIENCE, free_port, furnished


@contextmanager
def serving(peers: Peers) -> Iterator[str]:
    """A server that says in which place it is, and how much it was sent."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        length, more = 0, True
        while more:
            message = await receive()
            length, more = length + len(message["body"]), message.get("more_body", False)
        told = json.dumps({"place": peers.place, "length": length}).encode()
        headers = [(b"content-length", str(len(told)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told})

    with listening("127.0.0.1", 0) as listener:
        server = uvicorn.Server(Config(app, Settings(), peers, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "it does not end"
            peers.stop()
            if peers._lock is not None:
                peers._lock.close()


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of two processes that know each other."""
    one, other = Peers(tmp_path, 2), Peers(tmp_path, 2)
    assert [one.place, other.place, Peers(tmp_path, 2).place] == [0, 1, None]
    with serving(one) as first, serving(other) as second:
        yield first, second


def docket_at(place: int) -> str:
    """A docket that is at home in that place of two."""
    names = (f"docket-{number}" for number in range(100))
    return next(name for name in names if sha256(name.encode()).digest()[7] % 2 == place)


def test_requests_are_served_where_their_docket_is_at_home(both: tuple[str, str]) -> None:
    for address in both:
        with httpx.Client(base_url=address, timeout=PATIENCE) as http:
            for place in (0, 1, 1, 0, 1):
                path = f"/v1/dockets/{docket_at(place)}/rounds"
                assert http.get(path).json() == {"place": place, "length": 0}
                sent = http.post(path, content=b"x" * 5000)
                assert sent.json() == {"place": place, "length": 5000}


def test_other_requests_are_served_where_they_come(both: tuple[str, str]) -> None:
    for place, address in enumerate(both):
        for path in ("/healthz", "/v1/dockets", "/v1/dockets/", "/v1/dockets/A!/x", "/console/"):
            assert httpx.get(address + path, timeout=60).json()["place"] == place


@pytest.mark.parametrize("size", [10, MOST // 2, 4 * MOST])
def test_a_body_in_pieces_arrives_as_it_was_sent(both: tuple[str, str], size: int) -> None:
    host, _, port = both[0].removeprefix("http://").partition(":")
    head = (
        f"POST /v1/dockets/{docket_at(1)}/x HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
    )
    whole = head.encode() + b"y" * size
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        for cut in (slice(0, len(head) + 3), slice(len(head) + 3, None)):
            connection.sendall(whole[cut])
            time.sleep(0.05)
        answer = b""
        while b"}" not in answer:
            answer += connection.recv(65536)
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"place": 1, "length": size}


def test_where_nobody_takes_it_a_request_is_served_where_it_is(tmp_path: Path) -> None:
    with serving(Peers(tmp_path, 2)) as address:
        found = httpx.get(f"{address}/v1/dockets/{docket_at(1)}/rounds", timeout=60).json()
    assert found["place"] == 0


@pytest.mark.long
def test_a_server_of_two_processes_loses_no_connection(sqlite_url: str) -> None:
    """The real command; one process is killed, and another takes its place."""
    tokens = furnished(sqlite_url)
    port = free_port()
    limits = {f"LIKEWISE_{name.upper()}": str(value) for name, value in GENEROUS.items()}
    server = subprocess.Popen(
        [sys.executable, "-m", "likewise", "serve", "--port", str(port), "--workers", "2",
         "--database", sqlite_url],
        env={**os.environ, **limits}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def asked(docket: str, token: str) -> int:
        headers = {"Authorization": f"Bearer {tokens[token]}"}
        address = f"http://127.0.0.1:{port}/v1/dockets/{docket}"
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                return httpx.get(address, headers=headers, timeout=PATIENCE).status_code
            except httpx.HTTPError:
                assert time.monotonic() < ends
                time.sleep(0.05)

    try:
        for _ in range(2):
            for docket, token in [("loans", "client"), ("other", "client-other")] * 20:
                assert asked(docket, token) == 200
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            served = [
                int(pid) for pid in children
                if re.search(rb"spawn_main", Path(f"/proc/{pid}/cmdline").read_bytes())
            ]  # fmt: skip
            os.kill(served[-1], signal.SIGKILL)
    finally:
        server.terminate()
        server.wait(PATIENCE)
