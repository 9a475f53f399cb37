"""Every page and list of an installation with many dockets, and how long each takes.

    python -m studies.scripts.many_dockets                              # 10,000 dockets in SQLite
    python -m studies.scripts.many_dockets --database postgresql://…    # in a database of yours

Each docket has a panel and a token of one member; one docket has a panel of a hundred, and rounds.
Every page is asked for several times, and the first time opens the docket.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise_client.client import Client
from likewise_service.app import running
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

GENEROUS: dict[str, Any] = {
    "rate": 1e6, "burst": 10**6, "anonymous_rate": 1e6, "anonymous_burst": 10**6,
}  # fmt: skip
BUSY = "docket-00000"


class Timed(NamedTuple):
    """How long a page or a list takes, in milliseconds: by the clock, and of a processor.

    The latter, in which server and reader share, is what neighbours on the machine do not change.
    """

    who: str
    path: str
    first: float
    median: float
    longest: float
    processor: float


def furnish(url: str, dockets: int, members: int, rounds: int) -> dict[str, str]:
    """Open the dockets; return a token of each role."""
    features = (Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100))
    lender = Segments(FeatureSchema(features), score="score", cuts=range(400, 800, 100))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1, attention="everything")
    store = Store.open(url)
    tokens = {"operator": create_token(store, "operator", "olga", None)[0]}
    for number in range(dockets):
        name = f"docket-{number:05}"
        panel = ("ada", "bob", *(f"member {i:03}" for i in range(0 if number else members - 2)))
        open_docket(store, name, DocketSpec.of(f"Loans of branch {number}", learner, panel))
        token, _ = create_token(store, "auditor", "ada", name)
        tokens.setdefault("auditor", token)
    tokens["client"] = create_token(store, "client", "bank", BUSY)[0]
    store.close()
    with running(_settings(url)) as address, Client(address, tokens["client"]) as bank:
        for number in range(rounds):
            scores = enumerate((790, 310, 510))
            people = {f"x{number}-{i}": {"score": s, "debt": 10 * i} for i, s in scores}
            bank.open_round(BUSY, people)
    return tokens


def _settings(url: str) -> Settings:
    return Settings(database=url, **GENEROUS)


def _signed_in(address: str, token: str) -> httpx.Client:
    """Return a browser in which somebody is signed in."""
    browser = httpx.Client(base_url=address, timeout=60)
    page = browser.get("/console/sign-in").text
    csrf = dict(re.findall('name="(csrf)" value="([^"]+)"', page))
    signed_in = browser.post("/console/sign-in", data={**csrf, "token": token})
    if signed_in.status_code != httpx.codes.SEE_OTHER:
        raise RuntimeError(f"nobody can sign in: {signed_in.text}")
    return browser


def paths(dockets: int) -> dict[str, list[str]]:
    """Return the pages and lists, by who reads them."""
    middle = f"docket-{dockets // 2:05}"
    own, docket = f"/dashboard/{BUSY}", f"/v1/dockets/{BUSY}"
    return {
        "operator's page": [
            "/dashboard/", f"/dashboard/?after={middle}", "/dashboard/?contains=99", f"{own}/",
            f"{own}/rounds", f"{own}/rounds?having=report", f"{own}/members", f"{own}/tokens",
            f"{own}/holds", f"/dashboard/{middle}/",
        ],
        "member's page": ["/console/", "/console/rounds", "/console/history", "/console/practice"],
        "operator": [
            "/v1/dockets", f"/v1/dockets?after={middle}", "/v1/dockets?limit=500&contains=9",
            "/v1/tokens", "/v1/tokens?limit=500", f"/v1/tokens?docket={BUSY}", docket,
            f"{docket}/rounds", f"{docket}/members", f"{docket}/holds", f"{docket}/metrics",
            "/metrics",
        ],
        "member": ["/v1/dockets", f"{docket}/reviews"],
    }  # fmt: skip


def measure(url: str, tokens: dict[str, str], dockets: int, times: int) -> list[Timed]:
    """Ask for every page and list."""
    with running(_settings(url)) as address:
        readers = {
            "operator's page": _signed_in(address, tokens["operator"]),
            "member's page": _signed_in(address, tokens["auditor"]),
        }
        for who, role in (("operator", "operator"), ("member", "auditor")):
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            readers[who] = httpx.Client(base_url=address, timeout=60, headers=headers)
        try:
            return [
                _timed(who, readers[who], path, times)
                for who, listed in paths(dockets).items()
                for path in listed
            ]
        finally:
            for reader in readers.values():
                reader.close()


def _timed(who: str, reader: httpx.Client, path: str, times: int) -> Timed:
    took, worked = [], []
    for _ in range(times + 1):
        began, processor = time.perf_counter(), time.process_time()
        reader.get(path).raise_for_status()
        took.append(1000 * (time.perf_counter() - began))
        worked.append(1000 * (time.process_time() - processor))
    median = statistics.median(took[1:])
    return Timed(who, path, took[0], median, max(took[1:]), statistics.median(worked[1:]))


def table(rows: Iterable[Timed]) -> str:
    """Return the figures as a table."""
    heads = "| reader | page or list | first | median | longest | processor |"
    return "\n".join([
        heads, "|---|---|---|---|---|---|",
        *(f"| {r.who} | `{r.path}` | {r.first:.0f} | {r.median:.0f} | {r.longest:.0f} "
          f"| {r.processor:.0f} |" for r in rows),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dockets", type=int, default=10_000)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--database", help="an empty database; by default a file that goes again")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{Path(folder) / 'many.db'}"
        tokens = furnish(url, options.dockets, options.members, options.rounds)
        rows = measure(url, tokens, options.dockets, options.times)
    print(table(rows))
    print(f"\nThe longest of all: {max(row.longest for row in rows):.0f} ms.")


if __name__ == "__main__":
    main()
