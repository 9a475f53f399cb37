"""The server's sockets: those who never finish a request, who go away, and who come in crowds."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import ExitStack, closing, suppress
from typing import Any

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise_client.client import Client
from likewise_client.errors import ApiError
from likewise_service.app import running
from likewise_service.auth.tokens import create_token, revoke_token
from likewise_service.ledger.store import Store
from likewise_service.server import JOINED, JoinedLines, JoinedWrites, listening
from likewise_service.settings import Settings
from tests.service.conftest import Start
from tests.service.live import GENEROUS, PATIENCE, Live, furnished, people, until


@pytest.fixture
def database(sqlite_url: str) -> str:
    return sqlite_url


def connect(live: Live) -> socket.socket:
    host, _, port = live.address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def closed(one: socket.socket) -> bool:
    """Wait until the other side has closed."""
    try:
        while one.recv(4096):
            continue
    except ConnectionError:
        return True
    return True


def test_what_is_written_is_sent_at_once() -> None:
    with closing(listening("127.0.0.1", 0)) as listener:
        listener.listen()
        with (
            closing(socket.create_connection(listener.getsockname())) as _,
            closing(listener.accept()[0]) as accepted,
        ):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_an_address_that_another_has_is_a_sentence() -> None:
    with closing(listening("127.0.0.1", 0)) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(LikewiseError, match=f"port {port}, .*Address already in use.*--port"):
            listening("127.0.0.1", port)


class Written:
    """A transport, or a stream, that keeps what is written to it, write by write."""

    def __init__(self) -> None:
        self.writes: list[Any] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.writes.append(data)

    def flush(self) -> None:
        """Do nothing: all has been written."""

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_a_response_is_written_at_once_unless_it_is_large() -> None:
    async def write(transport: Any, *parts: bytes) -> list[bytes]:
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        for part in parts:
            joined.write(part)
        before = list(transport.writes)
        await asyncio.sleep(0)
        return before

    transport = Written()
    assert asyncio.run(write(transport, b"head", b"body")) == []
    assert transport.writes == [b"headbody"]
    transport = Written()
    large = bytes(JOINED)
    assert asyncio.run(write(transport, b"head", large, b"tail")) == [b"head" + large]
    assert transport.writes == [b"head" + large, b"tail"]


def test_what_was_written_is_sent_before_a_connection_closes() -> None:
    async def write(transport: Any) -> None:
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"all")
        joined.close()
        joined.write(b"too late")
        await asyncio.sleep(0)

    transport = Written()
    asyncio.run(write(transport))
    assert transport.closed
    assert transport.writes == [b"all"]


def test_lines_of_a_turn_are_written_together_and_warnings_at_once() -> None:
    stream: Any = Written()
    handler = JoinedLines(stream)
    log = logging.Logger("turns")
    log.addHandler(handler)

    async def turn() -> None:
        log.info("one")
        log.info("two")
        assert stream.writes == []
        await asyncio.sleep(0)
        assert stream.writes == ["one\ntwo\n"]
        log.info("three")
        log.warning("four")
        assert stream.writes[1:] == ["three\nfour\n"]

    asyncio.run(turn())
    log.info("five")
    assert stream.writes[2:] == ["five\n"], "without an event loop there are no turns"


def healthy(live: Live) -> bool:
    try:
        return live.http.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def test_half_open_connections_do_not_stop_the_server(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    live = start(connection_limit=20, header_seconds=3.0)
    caplog.set_level(logging.INFO)
    with ExitStack() as stack:
        idle = [stack.enter_context(closing(connect(live))) for _ in range(60)]
        for one in idle[:10]:
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert all(closed(one) for one in idle)
    until(lambda: healthy(live))
    told = [record for record in caplog.records if "too many connections" in record.getMessage()]
    assert len(told) == 1, "one line, however many were refused"


def begun(live: Live) -> bytes:
    """A request of which most never comes."""
    head = (
        f"POST /v1/dockets/loans/rounds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        f"{live.tokens['client']}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"
    )
    return head.encode()


def test_a_body_that_never_comes_is_not_waited_for(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    live = start(body_seconds=1.0)
    caplog.set_level(logging.INFO)
    with closing(connect(live)) as slow, closing(connect(live)) as gone:
        slow.sendall(begun(live))
        gone.sendall(begun(live))
        gone.shutdown(socket.SHUT_RDWR)
        assert closed(slow)
    until(lambda: len(_requests(caplog)) == 2)
    assert set(_requests(caplog)) <= {400, 499}, "nobody failed here"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_slow_bodies_do_not_hold_all_others_off(start: Start) -> None:
    """Who comes when all connections are taken gets the place of the slowest."""
    live = start(connection_limit=8, body_seconds=600.0)
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(connect(live))) for _ in range(8)]
        for one in slow:
            one.sendall(begun(live))
        until(lambda: healthy(live))
        assert any(_open(one) for one in slow), "they were not waited for"


def _open(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        one.recv(1)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def _requests(caplog: pytest.LogCaptureFixture) -> list[int]:
    said = [getattr(record, "said", {}) for record in caplog.records]
    return [one["status"] for one in said if one.get("event") == "request"]


def flooded(one: socket.socket, part: bytes, size: int) -> tuple[int, bytes]:
    """Send the same until so many bytes are sent, or the other side closes; what it responded."""
    sent, response = 0, b""
    try:
        while sent < size:
            sent += one.send(part)
            one.setblocking(False)
            with suppress(BlockingIOError):
                response += one.recv(1 << 16)
            one.settimeout(PATIENCE)
        while received := one.recv(1 << 16):
            response += received
    except ConnectionError:
        pass
    return sent, response


CHUNKED = b"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"


@pytest.mark.parametrize(
    "part", [b"a" * 10_000, b"a\r\nX: " * 2_000], ids=["one header", "many headers"]
)
@pytest.mark.parametrize(
    "begun", [b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", CHUNKED + b"0\r\nX: "],
    ids=["a head", "headers behind a body"],
)  # fmt: skip
def test_headers_without_end_are_not_kept(start: Start, begun: bytes, part: bytes) -> None:
    live = start()
    with closing(connect(live)) as one:
        one.sendall(begun)
        sent, response = flooded(one, part, 50_000_000)
    assert sent < 50_000_000, "it was read to the end"
    assert response[:13] in (b"", b"HTTP/1.1 431 ", b"HTTP/1.1 405 "), "the last is to its body"
    # One as long as browsers send is read, and a body of any length.
    assert live.http.get("/healthz", headers={"X-Long": "a" * 32_000}).status_code == 200
    with closing(connect(live)) as one:
        one.sendall(CHUNKED + b"1\r\na\r\n" * 100_000 + b"0\r\nX: a\r\n\r\n")
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 405 ")


def test_requests_that_wait_behind_others_are_not_kept_without_end(start: Start) -> None:
    """Whoever sends faster than they are responded to would fill the memory."""
    live, request = start(), b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with closing(connect(live)) as one:
        one.sendall(request * 20)
        response = b""
        while response.count(b"200 OK") < 20:
            response += one.recv(1 << 16)
        sent, _ = flooded(one, request * 2_000, 20_000_000)
    assert sent < 20_000_000, "it was read to the end"


def test_forwarded_addresses_are_believed_of_named_proxies_alone(start: Start) -> None:
    """Otherwise whoever guesses tokens would have as many guesses as there are addresses."""
    few = {"anonymous_rate": 0.001, "anonymous_burst": 5}
    for named, limited in (("", True), ("127.0.0.1", False)):
        live = start(**few, trusted_proxies=named) if named else start(**few)
        found = {
            live.http.get("/v1/me", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code
            for n in range(12)
        }
        assert (429 in found) is limited
        if not named:
            break


def refused(client: Client) -> bool:
    try:
        client.me()
    except ApiError as error:
        return error.status == 401
    return False


def test_a_revoked_token_opens_nothing_any_more(start: Start) -> None:
    live = start()
    store = Store.open(live.settings.database)
    token, identity = create_token(store, "client", "bank", "loans")
    operator = live.client("operator")
    with Client(live.address, token) as bank:
        assert bank.me().name == "bank"
        operator.revoke_token(identity.id)
        with pytest.raises(ApiError):
            bank.me()
        token, identity = create_token(store, "client", "bank", "loans")
    with Client(live.address, token) as bank:
        assert bank.me().name == "bank"
        revoke_token(store, identity.id)  # by another process
        until(lambda: refused(bank))
    store.close()


def test_a_postgresql_that_takes_no_writes_is_not_our_failure(postgres_url: str) -> None:
    tokens = furnished(postgres_url)
    settings = Settings(database=postgres_url, **GENEROUS)
    name = sa.make_url(postgres_url).database

    def turn(words: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {words}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with running(settings) as address, httpx.Client(base_url=address, timeout=60) as http:
        bank = {"Authorization": f"Bearer {tokens['client']}"}
        listed = [{"id": key, "features": values} for key, values in people().items()]

        def send() -> httpx.Response:
            return http.post("/v1/dockets/loans/rounds", json={"people": listed}, headers=bank)

        assert send().status_code == 201
        assert http.get("/readyz").status_code == 200
        turn("on")
        statuses = {send().status_code for _ in range(3)}
        assert statuses == {503}
        assert http.get("/readyz").status_code == 503
        turn("off")
        assert 201 in [send().status_code for _ in range(3)]
        assert http.get("/readyz").status_code == 200
