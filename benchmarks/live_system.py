"""The live system against an earlier tree, in one run: rates over HTTP, and CPU of the server.

    python benchmarks/live_system.py --base /path/to/earlier/tree --rounds 500 --lives 60
    python benchmarks/live_system.py --lengths 1000,5000      # start, memory, reviews, metrics

Every server is a process of its own, with the sources of its tree; the load is written to sockets
by hand, so that it takes little of the machine. Rates are of rounds a second, CPU in milliseconds
of the server a round. Without ``--url`` SQLite is used, in a folder that is removed.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
MEMBERS = ("ada", "bob", "cyd")
PATIENCE = 120.0
# So many rounds are lived through at once.
LIVES_AT_ONCE = 8
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

    async def ask(self, method: str, path: str, body: Any = None, key: str = "") -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(content)}\r\n"
            + ("Content-Type: application/json\r\n" if content else "")
            + (f"Idempotency-Key: {key}\r\n" if key else "")
            + "\r\n"
        )
        self.writer.write(head.encode() + content)
        status = (await self.reader.readline()).split()[1]
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        text = await self.reader.readexactly(length)
        if not status.startswith(b"2"):
            raise SystemExit(f"{method} {path}: {status.decode()} {text[:300].decode()}")
        return json.loads(text)


def _spread(number: int) -> int:
    return 137 * number % 550


def people(number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"x{number}-{i}",
            "features": {"score": 300 + 137 * (number + 3 * i) % 550, "debt": i},
        }
        for i in range(8)
    ]


async def tokens_of(port: int, operator: str) -> dict[str, str]:
    """A docket, and tokens of a client and of its members."""
    async with Caller(port, operator) as asked:
        await asked.ask("POST", "/v1/dockets", spec())
        wanted = {"bank": "client", **dict.fromkeys(MEMBERS, "auditor")}
        made = {}
        for name, role in wanted.items():
            body = {"role": role, "name": name, "docket": "load"}
            made[name] = (await asked.ask("POST", "/v1/tokens", body))["token"]
        return made


async def open_rounds(port: int, token: str, numbers: range, clients: int = 32) -> float:
    """Open rounds from many clients at once; seconds."""
    waiting = iter(numbers)
    began = time.perf_counter()

    async def client() -> None:
        async with Caller(port, token) as mine:
            for number in waiting:
                body = {"people": people(number)}
                await mine.ask("POST", "/v1/dockets/load/rounds", body, f"k{number}")

    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - began


async def live_rounds(port: int, tokens: dict[str, str], numbers: range) -> float:
    """Whole lives: a round is opened, reviewed by all three, and labelled; seconds.

    A member works at several reviews at once, each the first that nobody has begun.
    """
    waiting = iter(numbers)
    began = time.perf_counter()
    begun: set[str] = set()

    async def review(member: Caller) -> None:
        path = "/v1/dockets/load/reviews"
        listed = await member.ask("GET", f"{path}?limit={LIVES_AT_ONCE + 1}")
        free = [one["id"] for one in listed["reviews"] if one["id"] not in begun]
        begun.add(free[0])
        await member.ask("GET", f"{path}/{free[0]}")
        await member.ask("POST", f"{path}/{free[0]}/done")

    async def client() -> None:
        async with Caller(port, tokens["bank"]) as bank:
            panel = [await Caller(port, tokens[name]).__aenter__() for name in MEMBERS]
            for number in waiting:
                body = {"people": people(number)}
                opened = await bank.ask("POST", "/v1/dockets/load/rounds", body, f"k{number}")
                for member in panel:
                    await review(member)
                labels = [{"round": opened["id"], "person": d["person"], "label": 1}
                          for d in opened["decisions"]]  # fmt: skip
                await bank.ask("POST", "/v1/dockets/load/labels", {"labels": labels})
            for member in panel:
                await member.__aexit__()

    await asyncio.gather(*(client() for _ in range(LIVES_AT_ONCE)))
    return time.perf_counter() - began


@contextmanager
def served(tree: Path, url: str, workers: int = 1) -> Iterator[Server]:
    server = Server(tree, url, workers)
    try:
        yield server
    finally:
        server.stop()


def rates(
    tree: Path, url: str, rounds: int, opened: int, lives: int, workers: int
) -> dict[str, float]:
    """Rounds a second and CPU a round: opening them, and their whole lives over open ones."""
    with served(tree, url, workers) as server:
        tokens = asyncio.run(tokens_of(server.port, server.token()))
        asyncio.run(open_rounds(server.port, tokens["bank"], range(50)))
        before = server.cpu()
        seconds = asyncio.run(open_rounds(server.port, tokens["bank"], range(50, 50 + rounds)))
        found = {
            "open_rate": rounds / seconds,
            "open_cpu_ms": 1000 * (server.cpu() - before) / rounds,
        }
        if lives:
            more = range(50 + rounds, 50 + max(rounds, opened))
            asyncio.run(open_rounds(server.port, tokens["bank"], more))
            before, first = server.cpu(), 10**6
            seconds = asyncio.run(live_rounds(server.port, tokens, range(first, first + lives)))
            found |= {"life_rate": lives / seconds,
                      "life_cpu_ms": 1000 * (server.cpu() - before) / lives}  # fmt: skip
        return found


def closed_rounds(url: str, rounds: int) -> None:
    """A docket with so many closed rounds, made within the process; with this tree alone."""
    from likewise.service.dockets.commands import feedback, reviews
    from likewise.service.dockets.commands.rounds import Applicant, open_docket, open_round
    from likewise.service.dockets.docket import Docket
    from likewise.service.dockets.reviews.targets import Seat
    from likewise.service.dockets.spec import DocketSpec
    from likewise.service.ledger.store import Store

    settings = {key: value for key, value in spec().items() if key != "name"}
    store = Store.open(url)
    open_docket(store, "load", DocketSpec.from_hand({**settings, "repeat_share": 0.05}), seed=5)
    docket = Docket(store, "load")
    for first in range(0, rounds, 100):
        with docket.group():
            for number in range(first, min(first + 100, rounds)):
                listed = [Applicant(one["id"], one["features"]) for one in people(number)]
                round_, _ = open_round(docket, listed)
                for member in MEMBERS:
                    reviews.finish(docket, Seat(round_.id, member))
                feedback.label(docket, [(round_.id, person, 1) for person in round_.people])
    store.close()


def length(folder: Path, rounds: int) -> dict[str, float]:
    """Start, memory, reviews and metrics of a docket with so many closed rounds."""
    from likewise.service.auth.tokens import create_token
    from likewise.service.dockets.docket import Docket
    from likewise.service.ledger.store import Store

    url = f"sqlite:///{folder / f'{rounds}.db'}"
    closed_rounds(url, rounds)
    store = Store.open(url)
    token = create_token(store, "operator", "olga", None)[0]
    member = create_token(store, "auditor", "ada", "load")[0]
    starts = []
    for _ in range(3):
        began = time.perf_counter()
        Docket(store, "load")
        starts.append(time.perf_counter() - began)
    store.close()

    async def asked(port: int) -> tuple[float, float]:
        async with Caller(port, token) as operator, Caller(port, member) as ada:
            await operator.ask("GET", "/v1/dockets/load/metrics")
            found = []
            for caller, path in ((ada, "reviews?status=closed&limit=20"), (operator, "metrics")):
                times = []
                for _ in range(15):
                    began = time.perf_counter()
                    await caller.ask("GET", f"/v1/dockets/load/{path}")
                    times.append(time.perf_counter() - began)
                found.append(1000 * sorted(times)[len(times) // 2])
            return found[0], found[1]

    with served(HERE, url) as server:
        reviews_ms, metrics_ms = asyncio.run(asked(server.port))
        memory = server.memory()
    return {"start_s": min(starts), "memory_mb": memory, "reviews_ms": reviews_ms,
            "metrics_ms": metrics_ms}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="an earlier tree to compare with")
    parser.add_argument("--url", help="a PostgreSQL server; each tree gets a database of its own")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--opened", type=int, default=1000, help="rounds that stay open")
    parser.add_argument("--lives", type=int, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--lengths", help="numbers of closed rounds to compare, with commas")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="likewise-benchmark-") as folder:
        if asked.lengths:
            for rounds in map(int, asked.lengths.split(",")):
                found[f"{rounds} closed rounds"] = length(Path(folder), rounds)
        else:
            for tree in [HERE, *([asked.base] if asked.base else [])]:
                url = f"sqlite:///{folder}/{tree.name}.db"
                if asked.url:
                    sys.path.insert(0, str(HERE))
                    from tests.service.live import fresh_database

                    url = fresh_database(asked.url)
                found[tree.name] = rates(
                    tree, url, asked.rounds, asked.opened, asked.lives, asked.workers
                )
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
