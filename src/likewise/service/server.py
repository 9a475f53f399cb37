"""The server's sockets: where it listens, how long it waits for requests, how many it takes."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from functools import cache
from typing import Any

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from likewise.service.peers import Peers, gathered, peers_from_environment
from likewise.service.settings import Settings

# Descriptors that are left for databases, files and logs.
SPARE = 64
# The event loop where there are several processes.
LOOP = f"{__name__}:PeeredLoop"
LOG = logging.getLogger("likewise.service")
_SENTENCE = b"The request did not come in time. Send it again."
LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_SENTENCE), _SENTENCE)
)


class GuardedProtocol(HttpToolsProtocol):
    """HTTP with limits on connections, and on the seconds for the head and body of a request.

    A connection too many is closed at once and not logged: somebody who opens thousands must
    neither use up the descriptors nor fill the disk. Their number is logged once a minute.
    """

    _timer: asyncio.TimerHandle | None = None
    _rejected = False
    _receiving = False  # a request has begun, and is not complete
    _received = b""  # what another process has read of the connection

    @property
    def limits(self) -> Settings:
        """Return the settings of the server."""
        return _from_environment()

    @property
    def peers(self) -> Peers | None:
        """Return the other processes of the server, if there are any."""
        return peers_from_environment()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Accept a connection, or close it if there are too many."""
        if len(self.connections) >= most_connections(self.limits):
            self._rejected = True
            REJECTED.count()
            transport.abort()
            return
        super().connection_made(transport)
        self._wait(self.limits.header_seconds)
        if self._received:
            self.data_received(self._received)

    def data_received(self, data: bytes) -> None:
        """Receive data, unless it begins a request for another process."""
        if not self._passed_on(data):
            super().data_received(data)

    def shutdown(self) -> None:
        """Stop the server."""
        if self.peers is not None:
            self.peers.stop()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after a connection."""
        self._wait(None)
        if not self._rejected:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._receiving = True
        self._wait(self.limits.header_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the body of a request."""
        self._wait(self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Complete a request."""
        self._receiving = False
        self._wait(None)
        super().on_message_complete()

    # ── Between processes ────────────────────────────────────────────────────────────────────────

    def _passed_on(self, data: bytes) -> bool:
        """Pass the connection on if a request for another process begins."""
        busy = self._receiving or (self.cycle is not None and not self.cycle.response_complete)
        if self.peers is None or busy:
            return False
        place = self.peers.elsewhere(data)
        connection = self.transport.get_extra_info("socket")
        if place is None or not self.peers.pass_on(place, connection.fileno(), data):
            return False
        self.transport.abort()  # only this process closes it
        return True

    def join_peers(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take connections from other processes, and serve them by protocols like this one."""
        if self.peers is not None:
            self.loop = loop
            self.peers.take(loop, self._take)

    def _take(self, connection: socket.socket, data: bytes) -> None:
        """Continue a connection that another process accepted."""
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

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(LATE)
            self.transport.close()


class PeeredLoop(uvloop.Loop):
    """An event loop whose servers take connections from other processes too."""

    async def create_server(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:
        """Create a server, and join the other processes."""
        server = await super().create_server(protocol_factory, *args, **options)
        protocol_factory().join_peers(self)
        return server


class Rejections:
    """Counts connections that were closed at once, and logs their number once a minute."""

    def __init__(self) -> None:
        self.number, self._logged = 0, 0.0

    def count(self) -> None:
        """Count one more."""
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


@cache
def _from_environment() -> Settings:
    return Settings()


def guarded(settings: Settings, peers: Peers | None = None) -> type[GuardedProtocol]:
    """Return the protocol with the limits of these settings, and with these peers."""
    attributes = {"limits": property(lambda _: settings), "peers": property(lambda _: peers)}
    return type("GuardedProtocol", (GuardedProtocol,), attributes)


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket without Nagle's delay, which its connections inherit."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind((host, port))
    listener.set_inheritable(True)
    return listener


def configured(settings: Settings) -> dict[str, object]:
    """Return the settings of uvicorn; only proxies that are named are believed."""
    return {
        "log_config": None, "access_log": False, "server_header": False, "ws": "none",
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": settings.trusted_proxies or None,
    }  # fmt: skip


def serve(settings: Settings, host: str, port: int, workers: int) -> None:
    """Serve until told to stop; all processes read the settings from the environment."""
    with listening(host, port) as listener, gathered(workers):
        config = uvicorn.Config(
            "likewise.service.app:from_environment", factory=True, workers=workers,
            http=GuardedProtocol, loop=LOOP if workers > 1 else "auto",
            **configured(settings),  # type: ignore[arg-type] # by name
        )  # fmt: skip
        if workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            config.load_app()
            uvicorn.Server(config).run([listener])
