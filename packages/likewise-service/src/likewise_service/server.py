"""The server's sockets and processes: where it listens, and its limits on connections."""

from __future__ import annotations

import array
import asyncio
import fcntl
import hashlib
import json
import logging
import math
import re
import resource
import socket
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, TextIO

import uvicorn
import uvloop
from uvicorn.importer import import_from_string
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from likewise.errors import LikewiseError
from likewise_service.clock import write
from likewise_service.errors import LOG
from likewise_service.settings import Settings

# The most bytes that are passed on with a connection.
MOST = 100_000
_DOCKET = re.compile(rb"[A-Z]{1,10} /v1/dockets/([a-z0-9-]{1,64})[/? ]")

Serve = Callable[[socket.socket, bytes], None]


class Peers:
    """One process among its peers, which share a folder."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self._lock: IO[str] | None = None
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @cached_property
    def place(self) -> int | None:
        """This process's number, locked until the process ends; None if all are taken."""
        for place in range(self.count):
            lock = (self.folder / f"{place}.lock").open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self._lock = lock
            return place
        return None

    def elsewhere(self, data: bytes) -> int | None:
        """Return the process that should serve a request; None if it is this one, or any."""
        match = _DOCKET.match(data)
        if match is None or len(data) > MOST:
            return None
        home = int.from_bytes(hashlib.sha256(match[1]).digest()[:8], "big") % self.count
        return None if home == self.place else home

    def pass_on(self, place: int, connection: int, data: bytes) -> bool:
        """Pass a connection on; return False if the other process does not take it."""
        # socket.send_fds would ignore the address.
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection]))
        address = str(self.folder / f"{place}.sock")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendmsg([data], [rights], 0, address)
        except OSError:
            return False
        return True

    def take(self, loop: asyncio.AbstractEventLoop, serve: Serve) -> None:
        """Serve the connections that other processes pass on from now on."""
        if self.place is None or self._socket is not None:
            return
        address = self.folder / f"{self.place}.sock"
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            address.unlink(missing_ok=True)
            receiver.bind(str(address))
        except OSError as error:
            receiver.close()
            LOG.warning("No connections can be taken from other processes: %s", error)
            return
        receiver.setblocking(False)
        self._socket, self._loop = receiver, loop
        loop.add_reader(receiver.fileno(), lambda: self._receive(receiver, serve))

    def _receive(self, receiver: socket.socket, serve: Serve) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(receiver, MOST, 1)
        except BlockingIOError:
            return
        for descriptor in descriptors:
            serve(socket.socket(fileno=descriptor), data)

    def stop(self) -> None:
        if self._socket is not None and self._loop is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            (self.folder / f"{self.place}.sock").unlink(missing_ok=True)
        self._socket = None


# Seconds after which a request that is still incomplete makes room for others, if there is none.
SLOW = 1.0
# Descriptors that are left for databases, files and logs.
SPARE = 64
# The event loop of each process where there are several.
LOOP = f"{__name__}:PeeredLoop"
# The most bytes that wait for the end of a turn.
JOINED = 1 << 16
# The most bytes of the head of a request, or of the headers behind its body, as far as they come in
# parts; and the most requests that wait on a connection until those before them are responded to.
HEAD, PIPELINED = 1 << 16, 100


def _last_response(status: bytes, sentence: bytes) -> bytes:
    return (
        b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
        b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(sentence), sentence)
    )


LATE = _last_response(b"408 Request Timeout", b"The request did not come in time. Send it again.")
LONG = _last_response(
    b"431 Request Header Fields Too Large", b"The headers of a request may have %d bytes." % HEAD
)


class JoinedWrites:
    """A transport that sends all that is written in one turn of the event loop together.

    uvicorn writes the head of a response and then its body: two system calls, two packets.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts, self._size = list[bytes](), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > JOINED:  # the transport has to say when it is too much
            self._send()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class GuardedProtocol(HttpToolsProtocol):
    """HTTP with limits on connections, and on the seconds for the head and body of a request.

    One connection too many takes the place of the slowest request; if none is slow, it is closed
    at once and not logged: somebody who opens thousands must neither use up the descriptors nor
    fill the disk. Their number is logged once a minute.
    """

    _timer: asyncio.TimerHandle | None = None
    _since: float | None = None  # when the connection or the request began that is incomplete
    _rejected = False
    _seconds: float | None = None  # how long to wait for the rest of a request that has begun
    _moved = False  # and if that is new
    _received = b""  # what another process has read from the connection
    _head: int | None = None  # the bytes since a head's first or a body's last part, till the end

    config: Config

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        full = len(self.connections) >= most_connections(self.config.settings)
        if full and not self._end_slowest():
            self._rejected = True
            REJECTED.count()
            transport.abort()
            return
        super().connection_made(transport)
        self.transport = JoinedWrites(transport, self.loop)  # type: ignore[assignment] # like one
        self._wait(self.config.settings.header_seconds)
        if self._received:
            self.data_received(self._received)

    def data_received(self, data: bytes) -> None:
        if self._passed_on(data):
            return
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > HEAD:
            self._end(LONG)
        # Afterwards: a request that comes whole needs no timer.
        if self._moved:
            self._moved = False
            self._wait(self._seconds)

    def shutdown(self) -> None:
        if self.config.peers is not None:
            self.config.peers.stop()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        if not self._rejected:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many requests wait")  # a response, and nothing more is read
        self._head = 0
        self._seconds, self._moved = self.config.settings.header_seconds, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head = 0
        self._seconds, self._moved = self.config.settings.body_seconds, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0  # what follows the last part are headers again
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head, self._since, self._seconds, self._moved = None, None, None, True
        super().on_message_complete()

    def _passed_on(self, data: bytes) -> bool:
        """Pass the connection on if a request for another process begins."""
        responding = self.cycle is not None and not self.cycle.response_complete
        peers = self.config.peers
        if peers is None or responding or self._seconds is not None:
            return False
        place = peers.elsewhere(data)
        connection = self.transport.get_extra_info("socket")
        if place is None or not peers.pass_on(place, connection.fileno(), data):
            return False
        self.transport.abort()  # only this process closes it
        return True

    def join_peers(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take connections from other processes, and serve each by a protocol like this one."""
        if self.config.peers is not None:
            self.loop = loop
            self.config.peers.take(loop, self._take)

    def _take(self, connection: socket.socket, data: bytes) -> None:
        connection.setblocking(False)

        def protocol() -> GuardedProtocol:
            protocol = type(self)(self.config, self.server_state, self.app_state)
            protocol._received = data
            return protocol

        async def connect() -> None:
            await self.loop.connect_accepted_socket(protocol, connection)

        task = self.loop.create_task(connect())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _end_slowest(self) -> bool:
        """End the request that began first and is incomplete; False if none is slow."""
        protocols = [p for p in self.connections if isinstance(p, GuardedProtocol)]
        waiting = [(p._since, p) for p in protocols if p._since is not None]
        since, slowest = min(waiting, key=lambda item: item[0], default=(math.inf, self))
        if self.loop.time() - since < SLOW:
            return False
        slowest._end(LATE)
        slowest.connections.discard(slowest)
        return True

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if seconds is None:
            self._since = None
        elif self._since is None:
            self._since = self.loop.time()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._end, LATE)

    def _end(self, response: bytes) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(response)
            self.transport.close()


class PeeredLoop(uvloop.Loop):
    """An event loop whose servers take connections from other processes too."""

    async def create_server(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:
        server = await super().create_server(protocol_factory, *args, **options)
        protocol_factory().join_peers(self)
        return server


class Rejections:
    """Counts rejected connections, and logs their number once a minute."""

    def __init__(self) -> None:
        self.number, self._logged = 0, 0.0

    def count(self) -> None:
        self.number += 1
        if time.monotonic() - self._logged > 60:
            self._logged = time.monotonic()
            LOG.warning(
                "There are too many connections; some were closed at once.",
                extra={"said": {"event": "connections", "refused": self.number}},
            )


REJECTED = Rejections()


def most_connections(settings: Settings) -> int:
    """Return how many connections a process takes: the setting, or what descriptors allow."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(settings.connection_limit, descriptors - SPARE))


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket without Nagle's delay, which its connections inherit."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise LikewiseError(
            f"{host}, port {port}, is not to be had: {error.strerror}. Name others with --host and "
            f"--port."
        ) from error
    listener.set_inheritable(True)
    return listener


class Config(uvicorn.Config):
    """uvicorn's settings and ours, and a process's peers.

    Only proxies that are named are believed.
    """

    def __init__(
        self, app: Any, settings: Settings, peers: Peers | None = None, **options: Any
    ) -> None:
        super().__init__(
            app, http=GuardedProtocol, loop="auto" if peers is None else LOOP, log_config=None,
            access_log=False, server_header=False, ws="none",
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None, **options,
        )  # fmt: skip
        self.settings, self.peers = settings, peers

    def load(self) -> None:
        """Load the app; pass the settings to a function that makes one."""
        if self.factory:
            self.app = partial(import_from_string(self.app), self.settings)
        super().load()


def serve(settings: Settings, host: str, port: int, workers: int, folder: str) -> None:
    """Serve until told to stop; several processes share a folder."""
    peers = Peers(Path(folder), workers) if workers > 1 else None
    with listening(host, port) as listener:
        # By name: a process that imports the app before it begins would seem to be dead.
        app = "likewise_service.app:serving_app"
        config = Config(app, settings, peers, factory=True, workers=workers)
        if workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            uvicorn.Server(config).run([listener])


_JSON = json.JSONEncoder(ensure_ascii=True, default=str)


class JsonLines(logging.Formatter):
    """One JSON object a line: the time, the level, the message, and the fields in ``said``."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": write(datetime.fromtimestamp(record.created, UTC), "milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "said", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _JSON.encode(line)


class JoinedLines(logging.StreamHandler):  # type: ignore[type-arg] # which it takes for types alone
    """Writes the lines of one turn of the event loop together, warnings and errors at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line; a thread without an event loop writes it."""
        try:
            self._lines.append(self.format(record) + self.terminator)
            loop = asyncio._get_running_loop()  # the public one raises if there is none
            if loop is None or record.levelno > logging.INFO:
                self.flush()
            elif len(self._lines) == 1:
                loop.call_soon(self.flush)
        except Exception:  # noqa: BLE001 - as every handler: a full log stops nobody
            self.handleError(record)

    def flush(self) -> None:
        with self.lock or nullcontext():
            lines, self._lines = self._lines, []
            if lines:
                self.stream.write("".join(lines))
                self.stream.flush()


def log_as_json() -> None:
    # No line contains these, so none needs to look them up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as Python's documentation has it
    handler = JoinedLines(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
