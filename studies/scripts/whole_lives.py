"""Whole lives of rounds over HTTP, this tree against an earlier one in one run, in turns.

    python -m studies.scripts.whole_lives                       # this tree alone, PostgreSQL
    python -m studies.scripts.whole_lives --base ../earlier     # a checkout of an earlier commit

``docs/research/performance.md`` says what is measured. Requests are written to sockets by hand, so
that they take little of the machine. Processor time is what neighbours change least.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from studies.pages import Study, table
from studies.scripts.http_load import Server, postgresql

HERE = Path(__file__).parents[2]
MEMBERS = ("ada", "bob", "cyd")
AT_ONCE = 32
# Rounds that stay open, lives of a turn, and how often each tree has its turn.
OPENED, LIVES, TURNS = 1000, 96, 24
Row = dict[str, Any]


def sources(tree: Path) -> str:
    """Return where a tree has its packages: in three, or in one as they once were."""
    names = ("likewise", "likewise-service", "likewise-client")
    packages = [tree / "packages" / name / "src" for name in names]
    return os.pathsep.join(map(str, packages if packages[0].exists() else [tree / "src"]))


class Caller:
    """Somebody's connection, which is kept open."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def _status(self, request: bytes) -> bytes:
        """Send a request; return the status of the response, or nothing if it was closed."""
        try:
            self.writer.write(request)
            return ((await self.reader.readline()).split()[1:2] or [b""])[0]
        except ConnectionError:
            return b""

    async def ask(self, method: str, path: str, body: Any = None, key: str = "") -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.token}",
            f"Content-Length: {len(content)}",
            *(["Content-Type: application/json"] if content else []),
            *([f"Idempotency-Key: {key}"] if key else []),
        ]  # fmt: skip
        request = "\r\n".join([*lines, "", ""]).encode() + content
        while (status := await self._status(request)) in (b"", b"408"):
            # A server closes connections that were silent for a while: again, on a new one.
            self.writer.close()
            await self.__aenter__()
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        text = await self.reader.readexactly(length)
        if not status.startswith(b"2"):
            raise RuntimeError(f"{method} {path}: {status.decode()} {text[:300].decode()}")
        return json.loads(text)


class Docket:
    """A docket with a panel of three, and who uses it; ``end`` is what ends a review."""

    at = "/v1/dockets/load"

    def __init__(self, server: Server) -> None:
        self.port, self.end, self.tokens = server.port, "", dict[str, str]()
        printed = re.search(rb"lw_operator_[A-Za-z0-9_-]{43}", server.output())
        if printed is None:
            raise RuntimeError("no token was printed")
        self.operator = printed[0].decode()
        self.begun: set[str] = set()

    async def furnish(self) -> None:
        async with Caller(self.port, self.operator) as operator:
            paths = (await operator.ask("GET", "/v1/openapi.json"))["paths"]
            self.end = "finish" if any(path.endswith("/finish") for path in paths) else "done"
            await operator.ask("POST", "/v1/dockets", _spec(attention=self.end == "finish"))
            for name, role in {"bank": "client", **dict.fromkeys(MEMBERS, "auditor")}.items():
                body = {"role": role, "name": name, "docket": "load"}
                self.tokens[name] = (await operator.ask("POST", "/v1/tokens", body))["token"]

    async def open(self, bank: Caller, number: int) -> Any:
        people = [
            {"id": f"x{number}-{i}",
             "features": {"score": 300 + 137 * (number + 3 * i) % 550, "debt": i}}
            for i in range(8)
        ]  # fmt: skip
        return await bank.ask("POST", f"{self.at}/rounds", {"people": people}, f"k{number}")

    async def life(self, bank: Caller, panel: list[Caller], number: int) -> None:
        """A member works at several reviews at once, each the first that nobody has begun."""
        opened = await self.open(bank, number)
        for member in panel:
            free: list[str] = []
            for limit in (AT_ONCE // 4, AT_ONCE + 1):
                if not free:  # as a rule the first few are enough
                    listed = await member.ask("GET", f"{self.at}/reviews?limit={limit}")
                    ids = [review["id"] for review in listed["reviews"]]
                    free = [name for name in ids if name not in self.begun]
            self.begun.add(free[0])
            await member.ask("GET", f"{self.at}/reviews/{free[0]}")
            await member.ask("POST", f"{self.at}/reviews/{free[0]}/{self.end}")
        people = [decision["person"] for decision in opened["decisions"]]
        labels = [{"round": opened["id"], "person": person, "label": 1} for person in people]
        await bank.ask("POST", f"{self.at}/labels", {"labels": labels})

    async def run(self, numbers: range, *, whole: bool) -> float:
        """Open rounds, or live through them, from many clients at once; return the seconds."""
        waiting, began = iter(numbers), time.perf_counter()

        async def client() -> None:
            async with Caller(self.port, self.tokens["bank"]) as bank:
                panel = [await Caller(self.port, self.tokens[m]).__aenter__() for m in MEMBERS]
                for number in waiting:
                    await (self.life(bank, panel, number) if whole else self.open(bank, number))
                for member in panel:
                    await member.__aexit__()

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))
        return time.perf_counter() - began


def _spec(*, attention: bool) -> Row:
    """Return a docket of k = 8; one that asks about everything, where there is a choice."""
    from likewise import Feature, FeatureSchema, Learner, Segments

    features = (Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100))
    schema = FeatureSchema(features)
    lender = Segments(schema, score="score", cuts=range(350, 800, 50))
    spec = Learner(lender, k=8, alpha=0.3, eps=0.3, seed=0).spec()
    learner = {name: spec[name] for name in ("hypotheses", "k", "alpha", "eps")}
    if attention:
        learner["attention"] = "everything"
    return {
        "name": "load", "title": "Under load", "learner": learner, "members": list(MEMBERS),
        "rule": "any", "repeat_share": 0.0,
    }  # fmt: skip


class Measured:
    """A tree's server with many open rounds, which sleeps while it is another's turn."""

    def __init__(self, server: Server) -> None:
        self.server, self.docket = server, Docket(server)
        asyncio.run(self.docket.furnish())
        asyncio.run(self.docket.run(range(OPENED), whole=False))
        self._next = 10**6
        server.signal(signal.SIGSTOP)

    def turn(self) -> Row:
        """Return lives a second, and the server's processor milliseconds a life."""
        self.server.signal(signal.SIGCONT)
        before, numbers = self.server.processor_seconds(), range(self._next, self._next + LIVES)
        seconds = asyncio.run(self.docket.run(numbers, whole=True))
        worked = self.server.processor_seconds() - before
        self.server.signal(signal.SIGSTOP)
        self._next += LIVES
        return {"lives_a_second": LIVES / seconds, "processor_ms": 1000 * worked / LIVES}


def markdown(rows: list[Row]) -> str:
    """Return the medians of each tree, and the first against the others."""
    medians = {
        name: [statistics.median(row[key] for row in rows if row["tree"] == name) for key in KEYS]
        for name in dict.fromkeys(row["tree"] for row in rows)
    }
    cells = ((name, f"{rate:.1f}", f"{cpu:.1f} ms") for name, (rate, cpu) in medians.items())
    lines = [table(("server", "lives a second", "processor, a life"), cells)]
    (rate, cpu), *others = medians.values()
    lines += [
        f"\n{rate / base_rate:.2f} times as many a second, with {cpu / base_cpu:.2f} of the "
        f"processor time, over {rows[0]['opened']:,} open rounds; each was measured "
        f"{len(rows) // len(medians)} times."
        for base_rate, base_cpu in others
    ]
    return "\n".join(lines)


KEYS = ("lives_a_second", "processor_ms")
STUDY = Study("lives", "lives.json", "performance.md", markdown)


def main() -> None:
    from tests.service.live import fresh_database

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", type=Path, help="an earlier tree to compare with")
    parser.add_argument("--write", action="store_true", help="keep the figures, and show them")
    asked, rows = parser.parse_args(), list[Row]()
    trees = {"this tree": HERE}
    if asked.base is not None:
        command = ["git", "-C", str(asked.base), "rev-parse", "--short=7", "HEAD"]
        commit = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        trees[f"commit `{commit}`"] = asked.base.resolve()
    with ExitStack() as stack:
        databases = stack.enter_context(postgresql())
        measured = {}
        for name, tree in trees.items():
            server = Server(fresh_database(databases), 1, {"PYTHONPATH": sources(tree)})
            measured[name] = Measured(stack.enter_context(server))
        for turn in range(TURNS):
            for name in list(trees)[:: -1 if turn % 2 else 1]:
                rows.append({"tree": name, "opened": OPENED, **measured[name].turn()})
                print(json.dumps(rows[-1]), flush=True)
    print(markdown(rows))
    if asked.write:
        STUDY.keep(rows)


if __name__ == "__main__":
    main()
