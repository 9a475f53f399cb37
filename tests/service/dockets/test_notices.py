"""Notices: a member is told once for a while, by webhook and by e-mail; a failure stops nothing."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from likewise_service.clock import DAY, later, now
from likewise_service.dockets import contacts, panel
from likewise_service.dockets.contacts import Notice, awaiting, keep_contact, tell
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_round
from likewise_service.dockets.seating import Seat
from likewise_service.errors import ServiceError
from likewise_service.settings import Settings
from tests.service.conftest import Start
from tests.service.live import people, some_people, until

Begin = Callable[..., Docket]


@contextmanager
def webhook(status: int = 200, failures: int = 0) -> Iterator[tuple[str, list[dict[str, object]]]]:
    bodies: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status if len(bodies) > failures else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", bodies
    server.shutdown()
    server.server_close()
    thread.join()


@contextmanager
def mail_server() -> Iterator[tuple[str, list[str]]]:
    """A mail server that keeps what it is sent, one message at a time."""
    messages: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, client.makefile("rw", newline="\r\n") as talk:

                def say(line: str, talk: object = talk) -> None:
                    talk.write(line + "\n")  # type: ignore[attr-defined] # a file
                    talk.flush()  # type: ignore[attr-defined]

                say("220 here")
                for line in talk:
                    verb = line.strip().upper()
                    if verb == "DATA":
                        say("354 go on")
                        lines = []
                        for text in talk:
                            if text.strip() == ".":
                                break
                            lines.append(text.strip())
                        messages.append("\n".join(lines))
                        say("250 kept")
                    else:
                        say("221 bye" if verb == "QUIT" else "250 fine")
                        if verb == "QUIT":
                            break

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}", messages
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


def test_whom_something_awaits_is_told_once_for_a_while(begin: Begin) -> None:
    docket = begin()
    open_round(docket, some_people("a"))
    open_round(docket, some_people("b"))
    panel.finish(docket, Seat("r1", "ada"))
    assert awaiting(docket) == {"ada": 1, "bob": 2}
    keep_contact(docket.store, "loans", "ada", "ada@panel.example")
    with webhook() as (url, bodies), mail_server() as (smtp, messages):
        settings = Settings(webhook=url, smtp=smtp, public_url="https://likewise.example")
        notices, _ = tell(docket.store, settings, "loans", awaiting(docket))
        assert notices == [
            Notice("loans", "ada", 1, "ada@panel.example"), Notice("loans", "bob", 2),
        ]  # fmt: skip
        assert tell(docket.store, settings, "loans", awaiting(docket)) == ([], []), (
            "not again so soon"
        )
        soon = settings.model_copy(update={"notice_seconds": 1e-6})
        assert len(tell(docket.store, soon, "loans", awaiting(docket))[0]) == 2
    assert bodies[0] == {
        "docket": "loans", "member": "ada", "awaiting": 1, "address": "https://likewise.example",
    }  # fmt: skip
    assert len(messages) == 2
    assert "1 round awaits you in loans" in messages[0]
    assert "https://likewise.example" in messages[0]


def test_a_clock_that_was_ahead_keeps_no_notice_away(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    docket = begin()
    open_round(docket, some_people("a"))
    with webhook() as (url, _):
        settings = Settings(webhook=url)
        with monkeypatch.context() as wrong:
            wrong.setattr(contacts, "now", lambda: later(now(), DAY))
            assert len(tell(docket.store, settings, "loans", awaiting(docket))[0]) == 2
        assert len(tell(docket.store, settings, "loans", awaiting(docket))[0]) == 2
        assert tell(docket.store, settings, "loans", awaiting(docket)) == ([], [])


def test_a_notice_that_fails_stops_nothing(begin: Begin) -> None:
    docket = begin()
    open_round(docket, some_people("a"))
    with webhook(500) as (url, bodies):
        sent, failed = tell(docket.store, Settings(webhook=url), "loans", awaiting(docket))
        assert (len(sent), len(failed)) == (0, 2)
    assert len(bodies) == 2
    nobody = Settings(webhook="http://127.0.0.1:9/", notice_seconds=1e-6)
    assert tell(docket.store, nobody, "loans", awaiting(docket))[0] == []


def test_a_notice_that_failed_is_sent_again_soon_and_not_at_once(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    docket = begin()
    open_round(docket, some_people("a"))
    with webhook(failures=2) as (url, _):
        settings = Settings(webhook=url)
        again = contacts.AGAIN
        for after, number in ((0.0, 0), (again / 2, 0), (again + 1, 2), (120.0, 0)):
            monkeypatch.setattr(contacts, "now", lambda after=after: later(now(), after))
            sent, _ = tell(docket.store, settings, "loans", awaiting(docket))
            assert len(sent) == number, after


def test_a_way_that_fails_keeps_another_neither_away_nor_busy(begin: Begin) -> None:
    docket = begin(members=("ada",))
    open_round(docket, some_people("a"))
    keep_contact(docket.store, "loans", "ada", "ada@panel.example")
    with mail_server() as (smtp, messages):
        settings = Settings(webhook="http://127.0.0.1:9/", smtp=smtp)
        sent, failed = tell(docket.store, settings, "loans", awaiting(docket))
        assert (len(sent), len(failed), len(messages)) == (1, 0, 1)


def test_processes_that_tell_at_once_tell_each_member_once(begin: Begin) -> None:
    docket = begin(members=tuple(f"m{number}" for number in range(20)))
    waiting = dict.fromkeys(docket.projection.members, 1)
    with webhook() as (url, bodies), ThreadPoolExecutor(4) as processes:
        settings = Settings(webhook=url)
        tries = [processes.submit(tell, docket.store, settings, "loans", waiting) for _ in range(4)]
        assert sum(len(done.result()[0]) for done in tries) == 20
    assert len(bodies) == 20


@pytest.mark.parametrize(
    "email",
    ["nobody", "a b@c.d", "a@b\nBcc: c@d", "x" * 260 + "@a.b"],
    ids=["no", "gap", "line", "long"],
)
def test_an_address_that_is_none_is_refused(begin: Begin, email: str) -> None:
    with pytest.raises(ServiceError, match="not an e-mail address"):
        keep_contact(begin().store, "loans", "ada", email)


def test_a_server_tells_by_itself(start: Start) -> None:
    with webhook() as (url, bodies):
        live = start(webhook=url)
        live.client("client").open_round("loans", people())
        until(lambda: len(bodies) >= 2)
        assert {body["member"] for body in bodies} == {"ann", "bob"}


def test_a_server_tells_again_by_itself(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing is recorded meanwhile: its webhook was away."""
    monkeypatch.setattr(contacts, "AGAIN", 0.01)
    with webhook(failures=2) as (url, bodies):
        live = start(webhook=url)
        live.client("client").open_round("loans", people())
        until(lambda: len(bodies) >= 4)
        assert [body["member"] for body in bodies] == ["ann", "bob"] * 2
