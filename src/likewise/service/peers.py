"""Peers: the processes of one server, in each of which some dockets are at home.

Whichever process accepts a connection, a request about a docket is served where the docket is at
home, so that one process folds it and not all. The open connection itself is passed on, with what
was read of it. Where that does not succeed it is served where it is: every process can.
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

__all__ = ["PEERS", "Peers", "gathered", "peers_from_environment"]

# The number of processes, and the folder that they share.
PEERS = "LIKEWISE_PEERS"
# So many bytes at most are passed on with a connection.
MOST = 100_000
LOG = logging.getLogger("likewise.service")
_DOCKET = re.compile(rb"[A-Z]{1,10} /v1/dockets/([a-z0-9-]{1,64})[/? ]")

Taken = Callable[[socket.socket, bytes], None]


class Watching(Protocol):
    """The part of an event loop that is needed here."""

    def add_reader(self, fd: int, callback: Callable[[], None]) -> object:
        """Call back whenever something can be read."""

    def remove_reader(self, fd: int) -> object:
        """Do not any more."""


class Peers:
    """One process among its peers: ``place`` is its own, or None where all are taken."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self._lock: IO[str] | None = None
        self._socket: socket.socket | None = None
        self._loop: Watching | None = None
        self.place = self._claimed()

    def _claimed(self) -> int | None:
        """A place that nobody holds; whoever dies lets go of theirs."""
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
        """The place where a docket is at home."""
        return int.from_bytes(hashlib.sha256(docket).digest()[:8], "big") % self.count

    def elsewhere(self, data: bytes) -> int | None:
        """The place where a request should go; None if it can as well be served here."""
        found = _DOCKET.match(data)
        if found is None or len(data) > MOST:
            return None
        place = self.home(found[1])
        return None if place == self.place else place

    def pass_on(self, place: int, connection: int, data: bytes) -> bool:
        """Pass a connection on; False if nobody takes it there."""
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
        """Tell if connections of others are taken."""
        return self._socket is not None

    def take(self, loop: Watching, taken: Taken) -> None:
        """From now on take what the others pass on."""
        if self.place is None or self.taking:
            return
        address = self.folder / f"{self.place}.sock"
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            address.unlink(missing_ok=True)
            made.bind(str(address))
        except OSError as error:
            made.close()
            LOG.warning("No connections can be taken from other processes: %s", error)
            return
        made.setblocking(False)
        self._socket, self._loop = made, loop
        loop.add_reader(made.fileno(), lambda: self._receive(made, taken))

    def _receive(self, mine: socket.socket, taken: Taken) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(mine, MOST, 1)
        except BlockingIOError:
            return
        for descriptor in descriptors:
            taken(socket.socket(fileno=descriptor), data)

    def stop(self) -> None:
        """Take nothing any more."""
        if self._socket is not None and self._loop is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            (self.folder / f"{self.place}.sock").unlink(missing_ok=True)
        self._socket = None

    def close(self) -> None:
        """Take nothing, and let go of the place."""
        self.stop()
        if self._lock is not None:
            self._lock.close()
        self.place = None


@cache
def peers_from_environment() -> Peers | None:
    """This process among its peers; None where it is alone."""
    count, _, folder = os.environ.get(PEERS, "").partition(":")
    return Peers(Path(folder), int(count)) if folder else None


@contextmanager
def gathered(count: int) -> Iterator[None]:
    """A folder for so many processes, which they find in the environment."""
    if count == 1:
        yield
        return
    with TemporaryDirectory(prefix="likewise-peers-") as folder:
        os.environ[PEERS] = f"{count}:{folder}"
        try:
            yield
        finally:
            del os.environ[PEERS]
