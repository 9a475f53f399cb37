"""The client: what it sends again and what it does not, and what it makes of responses."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import httpx
import numpy as np
import pytest

from likewise_client.client import Client, canonical
from likewise_client.errors import (
    ApiError,
    Conflict,
    Failed,
    LedgerBroken,
    NotAllowed,
    NotFound,
    Refused,
    TooMuch,
    Unreachable,
)
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import Applicant, open_round
from likewise_service.ledger.store import Store
from tests.service.live import Live, people

RECEIPT = {"docket": "loans", "seq": 1, "hash": "0" * 64, "text": "…"}


class Flaky:
    """A server that fails some times before it responses."""

    def __init__(self, *responses: httpx.Response | Exception) -> None:
        self.responses = list(responses)
        self.seen: list[httpx.Request] = []
        self.slept: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        response = self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    def client(self, retries: int = 3) -> Client:
        transport = httpx.MockTransport(self)
        return Client(
            "http://nowhere", "lw_x", retries=retries, transport=transport, sleep=self.slept.append
        )


def busy(wait: str = "7") -> httpx.Response:
    error = {"error": {"code": "busy", "message": "Wait."}}
    return httpx.Response(503, json=error, headers={"Retry-After": wait})


def ok() -> httpx.Response:
    return httpx.Response(200, json={"receipt": RECEIPT})


def test_a_round_is_sent_again_with_the_same_key(shared: Live) -> None:
    """The response gets lost, the round does not happen twice."""
    lost: list[httpx.Request] = []

    class Losing(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            if request.method == "POST" and len(lost) < 2:
                lost.append(request)
                response.close()
                raise httpx.ReadError("the line broke")
            return response

    token = shared.tokens["client"]
    with Client(shared.address, token, transport=Losing(), sleep=lambda _: None) as bank:
        opened = bank.open_round("loans", people(77))
        assert [r.id for r in bank.rounds("loans").rounds] == [opened.id]
    assert len({request.headers["idempotency-key"] for request in lost}) == 1
    assert bank.retries == 3


def test_it_waits_as_it_is_told() -> None:
    server = Flaky(busy(), httpx.ConnectError("no"), busy("Sun, 06 Nov 1994 08:49:37 GMT"), ok())
    with server.client() as client:
        assert client.label("loans", [("r1", "a", 1)]).seq == 1
    assert server.slept[0] == 7
    assert all(0 < wait < 7 for wait in server.slept[1:])
    assert len({request.content for request in server.seen}) == 1


def test_it_gives_up() -> None:
    server = Flaky(*[httpx.ConnectError("no")] * 2)
    with server.client(retries=1) as client, pytest.raises(Unreachable, match="Is it running"):
        client.me()
    server = Flaky(busy(), busy())
    with server.client(retries=1) as client, pytest.raises(Failed) as failed:
        client.me()
    assert failed.value.code == "busy"


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.create_docket("a", {}),
        lambda client: client.create_token("operator", "a"),
        lambda client: client.remove_member("a", "b"),
    ],
)
def test_what_would_do_harm_is_sent_once(call: Callable[[Client], Any]) -> None:
    server = Flaky(httpx.ReadError("no"))
    with server.client() as client, pytest.raises(Unreachable):
        call(client)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused), (401, NotAllowed), (403, NotAllowed), (404, NotFound), (409, Conflict),
        (413, TooMuch), (422, Refused), (500, Failed),
    ],
)  # fmt: skip
def test_every_error_has_its_kind(status: int, kind: type[ApiError]) -> None:
    body = {"error": {"code": "some-code", "message": "Do this."}}
    server = Flaky(httpx.Response(status, json=body))
    with server.client() as client, pytest.raises(kind, match=r"Do this\.") as error:
        client.me()
    assert (error.value.code, error.value.status) == ("some-code", status)
    server = Flaky(httpx.Response(status, text="<html>"))
    with server.client() as client, pytest.raises(kind) as error:
        client.me()
    assert error.value.code == "unknown"


@pytest.mark.parametrize("data", [[], {}, {"id": 1, "role": "a", "name": "b", "docket": None}])
def test_answers_are_checked(data: Any) -> None:
    server = Flaky(httpx.Response(200, json=data))
    with server.client() as client, pytest.raises(ApiError, match="this version"):
        client.me()


def rehashed(record: dict[str, Any]) -> dict[str, Any]:
    content = {name: value for name, value in record.items() if name != "hash"}
    return {**content, "hash": hashlib.sha256(canonical(content)).hexdigest()}


def test_a_docket_is_sent_with_all_its_settings() -> None:
    """The server says which it does not know, whatever they are called."""
    server = Flaky(busy())
    with pytest.raises(ApiError):
        server.client(retries=0).create_docket("a", {"field": "x", "kind": 1, "name": "b"})
    assert json.loads(server.seen[0].content) == {"field": "x", "kind": 1, "name": "a"}


def test_a_ledger_is_checked_as_it_comes(shared: Live) -> None:
    operator = shared.client("operator")
    strange = "line\u2028break"
    # The API refuses such an id by now; a ledger of before may have one.
    store = Store.open(shared.settings.database)
    features = {"score": 500, "debt": 1, "purpose": "car"}
    open_round(Docket(store, "other"), [Applicant(strange, features)])
    store.close()
    records = list(operator.ledger("other"))
    lines = [canonical(record) for record in records]
    assert any(strange.encode() in line for line in lines)
    receipt = asdict(operator.receipt("other"))
    other = canonical(rehashed({**records[2], "at": "2020-01-01T00:00:00.000000Z"}))
    for number, forged in (
        (1, [line.replace(b"docket-opened", b"docket-closed") for line in lines]),
        (2, [line.replace(b'"seq":2', b'"seq":3') for line in lines]),
        (len(lines), [*lines[:2], other, *lines[3:]]),
        (len(lines), lines[:-1]),
    ):
        content = b"".join(line + b"\n" for line in forged)
        server = Flaky(httpx.Response(200, json=receipt), httpx.Response(200, content=content))
        with server.client() as client, pytest.raises(LedgerBroken, match=rf"record {number}\."):
            list(client.ledger("other"))
    with pytest.raises(NotAllowed):
        list(shared.client("client-other").ledger("other"))


@pytest.mark.parametrize("content", [b"<html>sign in</html>", b"", b"\xff", b"[" * 100_000])
def test_a_page_of_a_proxy_is_no_response(content: bytes) -> None:
    server = Flaky(
        *[httpx.Response(200, content=content)] * 2, httpx.Response(500, content=content)
    )
    with server.client() as client:
        for call in (client.me, client.dockets):
            with pytest.raises(ApiError, match="the server's address") as error:
                call()
            assert error.value.code == "unreadable"
        with pytest.raises(Failed):
            client.me()


def test_a_token_from_a_file_may_end_with_a_line_feed(shared: Live) -> None:
    with Client(shared.address, shared.tokens["client"] + "\n") as bank:
        assert bank.me().name == "bank"
    for token in ("", "lw_\nclient", "lw_clïent"):
        with pytest.raises(Refused, match="token must be printable ASCII") as error:
            Client(shared.address, token)
        assert "lw_" not in str(error.value), "messages are logged, and tokens must not be"


@pytest.mark.parametrize("key", ["monday\n", "Müller"])
def test_a_key_that_no_header_can_hold_is_refused_at_once(key: str) -> None:
    with Flaky().client() as bank, pytest.raises(Refused, match="idempotency key must be"):
        bank.open_round("loans", people(), key=key)


@pytest.mark.parametrize("value", [math.nan, math.inf, np.int64(3), np.bool_(True), {1, 2}])
def test_what_is_no_json_is_refused_as_all_else_is(value: Any) -> None:
    with Flaky().client() as bank, pytest.raises(Refused, match="no JSON"):
        bank.open_round("loans", {"ann": {"score": value}})
