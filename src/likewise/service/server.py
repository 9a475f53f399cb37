"""The server's sockets: what it listens at, how long it waits for a request, and for how many."""

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

__all__ = ["configured", "guarded", "listening", "serve"]

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
    """HTTP with limits: so many connections, so many seconds for the head and body of a request.

    A connection too many is closed at once and not logged: somebody who opens thousands must
    neither use up the descriptors nor fill the disk. They are counted, and told of now and then.
    """

    _timer: asyncio.TimerHandle | None = None
    _shut_out = False
    _receiving = False  # a request has begun, and is not complete
    _taken = b""  # what another process has read of the connection

    @property
    def limits(self) -> Settings:
        """The settings of the server."""
        return _from_environment()

    @property
    def peers(self) -> Peers | None:
        """The other processes of the server, if there are any."""
        return peers_from_environment()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Somebody connects."""
        if len(self.connections) >= most_connections(self.limits):
            self._shut_out = True
            REFUSED.count()
            transport.abort()
            return
        super().connection_made(transport)
        self._wait(self.limits.header_seconds)
        if self._taken:
            self.data_received(self._taken)

    def data_received(self, data: bytes) -> None:
        """Something comes; a request that begins may be for another process."""
        if not self._passed_on(data):
            super().data_received(data)

    def shutdown(self) -> None:
        """The server ends."""
        if self.peers is not None:
            self.peers.stop()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody has gone."""
        self._wait(None)
        if not self._shut_out:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._receiving = True
        self._wait(self.limits.header_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._wait(self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._receiving = False
        self._wait(None)
        super().on_message_complete()

    # ── Between processes ────────────────────────────────────────────────────────────────────────

    def _passed_on(self, data: bytes) -> bool:
        """Pass the connection on, if a request begins that is for another process."""
        busy = self._receiving or (self.cycle is not None and not self.cycle.response_complete)
        if self.peers is None or busy:
            return False
        place = self.peers.elsewhere(data)
        connection = self.transport.get_extra_info("socket")
        if place is None or not self.peers.pass_on(place, connection.fileno(), data):
            return False
        self.transport.abort()  # only this process lets go of it
        return True

    def join_peers(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take connections from other processes, and make protocols like this one for them."""
        if self.peers is not None:
            self.loop = loop
            self.peers.take(loop, self._take)

    def _take(self, connection: socket.socket, data: bytes) -> None:
        """Go on with a connection that another process has accepted."""
        connection.setblocking(False)

        def made() -> GuardedProtocol:
            same = type(self)(self.config, self.server_state, self.app_state)
            same._taken = data
            return same

        async def go_on() -> None:
            await self.loop.connect_accepted_socket(made, connection)

        task = self.loop.create_task(go_on())
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
    """An event loop whose servers also take connections from other processes."""

    async def create_server(self, protocol_factory: Any, *args: Any, **more: Any) -> Any:
        """A server; a protocol of it knows the other processes."""
        made = await super().create_server(protocol_factory, *args, **more)
        protocol_factory().join_peers(self)
        return made


class Refused:
    """Connections that were closed at once, told of once a minute at most."""

    def __init__(self) -> None:
        self.number, self._told = 0, 0.0

    def count(self) -> None:
        """One more."""
        self.number += 1
        if time.monotonic() - self._told > 60:
            self._told = time.monotonic()
            LOG.warning(
                "There are too many connections; some were closed at once.",
                extra={"said": {"event": "connections", "refused": self.number}},
            )


REFUSED = Refused()


def most_connections(settings: Settings) -> int:
    """How many connections a process takes: the setting, or what its descriptors allow."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(settings.connection_limit, descriptors - SPARE))


@cache
def _from_environment() -> Settings:
    return Settings()


def guarded(settings: Settings, peers: Peers | None = None) -> type[GuardedProtocol]:
    """The protocol with the limits of these settings, and with these peers."""
    given = {"limits": property(lambda _: settings), "peers": property(lambda _: peers)}
    return type("GuardedProtocol", (GuardedProtocol,), given)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. What is written is sent at once: small responses do not wait.

    Connections inherit that from it, in every process that accepts them.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.bind((host, port))
    made.set_inheritable(True)
    return made


def configured(settings: Settings, **more: object) -> dict[str, object]:
    """The settings of uvicorn in every case; proxies are believed only where they are named."""
    return {
        "log_config": None, "access_log": False, "server_header": False, "ws": "none",
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": settings.trusted_proxies or None,
        **more,
    }  # fmt: skip


def serve(settings: Settings, host: str, port: int, workers: int) -> None:
    """Serve until told to stop; the settings are in the environment, for all processes."""
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
