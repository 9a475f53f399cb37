"""Peers: the processes of one server, each of which is home to some of the dockets.

Whichever process accepts a connection, a request about a docket is served in the docket's home, so
that one process folds it and not all. The open connection is passed on, with the bytes that were
read. If that fails, it is served where it is: every process can.
"""

from __future__ import annotations

import array
import fcntl
import hashlib
import logging
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Protocol

# The number of processes, and the folder that they share.
PEERS = "LIKEWISE_PEERS"
# The most bytes that are passed on with a connection.
MOST = 100_000
LOG = logging.getLogger("likewise.service")
_DOCKET = re.compile(rb"[A-Z]{1,10} /v1/dockets/([a-z0-9-]{1,64})[/? ]")

Serve = Callable[[socket.socket, bytes], None]


class Loop(Protocol):
    """The part of an event loop that is used here."""

    def add_reader(self, fd: int, callback: Callable[[], None]) -> object:
        """Call back whenever there is something to read."""

    def remove_reader(self, fd: int) -> object:
        """Stop calling back."""


class Peers:
    """One process among its peers; ``place`` is its number, or None if all are taken."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self._lock: IO[str] | None = None
        self._socket: socket.socket | None = None
        self._loop: Loop | None = None
        self.place = self._claim()

    def _claim(self) -> int | None:
        """Lock a free number; a process that dies releases its own."""
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

    def home(self, docket: bytes) -> int:
        """Return the number of the process that is home to a docket."""
        return int.from_bytes(hashlib.sha256(docket).digest()[:8], "big") % self.count

    def elsewhere(self, data: bytes) -> int | None:
        """Return the process that should serve a request; None if this one may as well."""
        match = _DOCKET.match(data)
        if match is None or len(data) > MOST:
            return None
        place = self.home(match[1])
        return None if place == self.place else place

    def pass_on(self, place: int, connection: int, data: bytes) -> bool:
        """Pass a connection on; return False if that process does not take it."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection]))
        address = str(self.folder / f"{place}.sock")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendmsg([data], [rights], 0, address)
        except OSError:
            return False
        return True

    # ── Taking ───────────────────────────────────────────────────────────────────────────────────

    @property
    def taking(self) -> bool:
        """Tell whether this process takes connections of others."""
        return self._socket is not None

    def take(self, loop: Loop, serve: Serve) -> None:
        """Serve what the others pass on from now on."""
        if self.place is None or self.taking:
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
        """Stop taking connections."""
        if self._socket is not None and self._loop is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            (self.folder / f"{self.place}.sock").unlink(missing_ok=True)
        self._socket = None

    def close(self) -> None:
        """Stop taking connections, and release the number."""
        self.stop()
        if self._lock is not None:
            self._lock.close()
        self.place = None


@cache
def peers_from_environment() -> Peers | None:
    """Return this process among its peers; None if it is alone."""
    count, _, folder = os.environ.get(PEERS, "").partition(":")
    return Peers(Path(folder), int(count)) if folder else None


@contextmanager
def gathered(count: int) -> Iterator[None]:
    """Create a folder for the processes to share, and name it in the environment."""
    if count == 1:
        yield
        return
    with TemporaryDirectory(prefix="likewise-peers-") as folder:
        os.environ[PEERS] = f"{count}:{folder}"
        try:
            yield
        finally:
            del os.environ[PEERS]
