"""The live system against an earlier tree, in one run: rates over HTTP, and CPU of the server.

    python benchmarks/live_system.py --base /path/to/earlier/tree --rounds 500 --lives 60
    python benchmarks/live_system.py --workers 4 --postgres    # against one, four dockets

Every server is a process of its own, with the sources of its tree; the load is written to sockets
by hand, so that it takes little of the machine. Rates are of rounds a second, CPU in milliseconds
of the server a round. On a machine that others use too: ``nice -n -10``, as root.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from live_server import HERE, MEMBERS, Caller, databases, people, served, spec, stand_ahead

# So many rounds are lived through at once.
LIVES_AT_ONCE = 32


async def tokens_of(port: int, operator: str, docket: str = "load") -> dict[str, str]:
    """A docket, and tokens of a client and of its members."""
    async with Caller(port, operator) as asked:
        await asked.ask("POST", "/v1/dockets", {**spec(), "name": docket})
        wanted = {"bank": "client", **dict.fromkeys(MEMBERS, "auditor")}
        made = {}
        for name, role in wanted.items():
            body = {"role": role, "name": name, "docket": docket}
            made[name] = (await asked.ask("POST", "/v1/tokens", body))["token"]
        return made


async def open_rounds(
    port: int, tokens: dict[str, str], numbers: range, clients: int = 32
) -> float:
    """Open rounds from many clients at once, in the dockets of some tokens; seconds."""
    waiting = iter(numbers)
    began = time.perf_counter()

    async def client(docket: str, token: str) -> None:
        async with Caller(port, token) as mine:
            for number in waiting:
                body = {"people": people(number)}
                await mine.ask("POST", f"/v1/dockets/{docket}/rounds", body, f"k{number}")

    shared = list(tokens.items())
    await asyncio.gather(*(client(*shared[one % len(shared)]) for one in range(clients)))
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
        free: list[str] = []
        for limit in (LIVES_AT_ONCE // 4, LIVES_AT_ONCE + 1):
            if not free:  # as a rule the first few are enough
                listed = await member.ask("GET", f"{path}?limit={limit}")
                free = [one["id"] for one in listed["reviews"] if one["id"] not in begun]
        begun.add(free[0])
        await member.ask("GET", f"{path}/{free[0]}")
        await member.ask("POST", f"{path}/{free[0]}/finish")

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


def rates(tree: Path, url: str, rounds: int, opened: int, lives: int) -> dict[str, float]:
    """Rounds a second and CPU a round: opening them, and their whole lives over open ones."""
    with served(tree, url) as server:
        tokens = asyncio.run(tokens_of(server.port, server.token()))
        bank = {"load": tokens["bank"]}
        asyncio.run(open_rounds(server.port, bank, range(100)))
        before = server.cpu()
        seconds = asyncio.run(open_rounds(server.port, bank, range(100, 100 + rounds)))
        found = {
            "open_rate": rounds / seconds,
            "open_cpu_ms": 1000 * (server.cpu() - before) / rounds,
        }
        if lives:
            more = range(100 + rounds, 100 + max(rounds, opened))
            asyncio.run(open_rounds(server.port, bank, more))
            before, first = server.cpu(), 10**6
            seconds = asyncio.run(live_rounds(server.port, tokens, range(first, first + lives)))
            found |= {"life_rate": lives / seconds,
                      "life_cpu_ms": 1000 * (server.cpu() - before) / lives}  # fmt: skip
        return found


def workers_rate(url: str, rounds: int, workers: int) -> dict[str, float]:
    """Rounds a second and CPU a round, opened in four dockets by so many processes."""
    with served(HERE, url, workers) as server:
        operator = server.token()
        names = [f"load-{one}" for one in range(4)]
        banks = {
            name: asyncio.run(tokens_of(server.port, operator, name))["bank"] for name in names
        }
        # Every process has seen every docket before anything is counted.
        asyncio.run(open_rounds(server.port, banks, range(400)))
        before = server.cpu()
        seconds = asyncio.run(open_rounds(server.port, banks, range(400, 400 + rounds)))
        return {"rate": rounds / seconds, "cpu_ms": 1000 * (server.cpu() - before) / rounds}


def compared(
    asked: argparse.Namespace, fresh: Callable[[str], str]
) -> dict[str, list[dict[str, float]]]:
    """Every measurement several times, in turns, so that a busy machine is busy for all."""
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(asked.times):
        if asked.workers:
            for workers in (asked.workers, 1):
                one = workers_rate(fresh(str(workers)), asked.rounds, workers)
                found.setdefault(f"{workers} workers", []).append(one)
            continue
        for tree in [HERE, *([asked.base] if asked.base else [])]:
            one = rates(tree, fresh(tree.name), asked.rounds, asked.opened, asked.lives)
            found.setdefault(tree.name, []).append(one)
    return found


def summed_up(found: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """The median of each figure, and the first's against each other's."""
    medians = {
        name: {key: median(one[key] for one in several) for key in several[0]}
        for name, several in found.items()
    }
    first, *others = medians
    ratios = {
        f"{first} against {other}": {
            key: round(medians[first][key] / medians[other][key], 2) for key in medians[first]
        }
        for other in others
    }
    return {"runs": found, "medians": medians, "ratios": ratios}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="an earlier tree to compare with")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL instead of SQLite")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--opened", type=int, default=1000, help="rounds that stay open")
    parser.add_argument("--lives", type=int, default=60)
    parser.add_argument("--workers", type=int, default=0, help="so many against one, four dockets")
    parser.add_argument("--times", type=int, default=1, help="how often each is measured")
    asked = parser.parse_args()
    stand_ahead(os.getpid())
    with databases(postgres=asked.postgres) as fresh:
        print(json.dumps(summed_up(compared(asked, fresh)), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
