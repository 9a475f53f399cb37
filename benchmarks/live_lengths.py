"""Start, memory, lists of reviews and metrics of a docket, against its length in closed rounds.

    python benchmarks/live_lengths.py --rounds 1000,50000 --folder /var/tmp/lengths

The ledgers are made within the process (about 5 ms of CPU a round) and kept in the folder, if one
is named; those that are there are used again. Times are the least of several.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from live_server import HERE, MEMBERS, Caller, people, served, spec, stand_ahead


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

    path = folder / f"{rounds}.db"
    url = f"sqlite:///{path}"
    if not path.exists():
        closed_rounds(f"{url}.part", rounds)
        Path(f"{path}.part").rename(path)
    store = Store.open(url)
    token = create_token(store, "operator", "olga", None)[0]
    member = create_token(store, "auditor", "ada", "load")[0]
    starts = []
    for _ in range(9):
        began = time.perf_counter()
        Docket(store, "load")
        starts.append(time.perf_counter() - began)
    store.close()

    async def asked(port: int) -> list[float]:
        async with Caller(port, token) as operator, Caller(port, member) as ada:
            await operator.ask("GET", "/v1/dockets/load/metrics")
            found = []
            docket = "/v1/dockets/load"
            for caller, path in (
                (ada, f"{docket}/reviews?status=closed&limit=20"),
                (operator, f"{docket}/metrics"),
                (operator, "/metrics"),
            ):
                times = []
                for _ in range(150):
                    began = time.perf_counter()
                    await caller.ask("GET", path)
                    times.append(time.perf_counter() - began)
                found.append(1000 * min(times))
            return found

    with served(HERE, url) as server:
        reviews_ms, metrics_ms, all_ms = asyncio.run(asked(server.port))
        memory = server.memory()
    return {"start_s": min(starts), "memory_mb": memory, "reviews_ms": reviews_ms,
            "docket_metrics_ms": metrics_ms, "metrics_ms": all_ms}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", default="1000,5000", help="numbers of closed rounds")
    parser.add_argument("--folder", type=Path, help="where ledgers are kept, and found again")
    asked = parser.parse_args()
    stand_ahead(os.getpid())
    with tempfile.TemporaryDirectory(prefix="likewise-benchmark-") as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(one) for one in asked.rounds.split(",")]
        found = {f"{rounds} closed rounds": length(folder, rounds) for rounds in numbers}
    first, *others = found.values()
    ratios = [{key: round(one[key] / first[key], 2) for key in first} for one in others]
    print(json.dumps({**found, "ratios": ratios}, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
