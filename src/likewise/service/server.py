"""The server's sockets: what it listens at, how long it waits for a request, and for how many."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from functools import cache

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from likewise.service.settings import Settings

__all__ = ["configured", "guarded", "listening", "serve"]

# Descriptors that are left for databases, files and logs.
SPARE = 64
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

    @property
    def limits(self) -> Settings:
        """The settings of the server."""
        return _from_environment()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Somebody connects."""
        if len(self.connections) >= most_connections(self.limits):
            self._shut_out = True
            REFUSED.count()
            transport.abort()
            return
        super().connection_made(transport)
        self._wait(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody has gone."""
        self._wait(None)
        if not self._shut_out:
            super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._wait(self.limits.header_seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._wait(self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._wait(None)
        super().on_message_complete()

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(LATE)
            self.transport.close()


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


def guarded(settings: Settings) -> type[GuardedProtocol]:
    """The protocol with the limits of these settings."""
    limits = property(lambda _: settings)
    return type("GuardedProtocol", (GuardedProtocol,), {"limits": limits})


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
    with listening(host, port) as listener:
        config = uvicorn.Config(
            "likewise.service.app:from_environment", factory=True, workers=workers,
            http=GuardedProtocol, **configured(settings),  # type: ignore[arg-type] # by name
        )  # fmt: skip
        if workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            config.load_app()
            uvicorn.Server(config).run([listener])
