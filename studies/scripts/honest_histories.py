"""Play random honest histories, and count those that a verifier condemns: there should be none.

``--count 10000`` takes an hour. Every tenth is played on PostgreSQL, the others on SQLite.
"""

import argparse
import logging
import multiprocessing
import sys
import tempfile
from collections import Counter
from pathlib import Path

from likewise_service.ledger.store import Keyring, Store
from studies.scripts.http_load import postgresql
from tests.service.live import empty, fresh_database
from tests.service.verification.histories import History

ACTS, PROCESSES = 40, 2


class Player:
    """Plays histories one after another, on two stores of one database that is emptied between."""

    def __init__(self, server: str = "") -> None:
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
        history.play(ACTS)
        faults = history.faults()
        self._close()
        return seed, faults, Counter(name for name, done in history.done if done)

    def _close(self) -> None:
        for store in self.stores:
            store.close()


_PLAYERS: list[Player] = []


def _begin(server: str) -> None:
    """Make the players of a process: of SQLite, and of PostgreSQL."""
    logging.disable(logging.CRITICAL)
    _PLAYERS[:] = [Player(), Player(server)]


def judged(seed: int) -> tuple[int, list[str], Counter[str]]:
    return _PLAYERS[seed % 10 == 0].play(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    condemned, acts = 0, Counter[str]()
    with postgresql() as server, multiprocessing.Pool(PROCESSES, _begin, (server,)) as pool:
        for seed, faults, done in pool.imap_unordered(judged, seeds):
            acts += done
            if faults:
                condemned += 1
                print(f"seed {seed}: {faults[0]}", flush=True)
    print(f"{options.count} histories of {ACTS} acts: {condemned} condemned")
    print(", ".join(f"{name} {count}" for name, count in sorted(acts.items())))
    sys.exit(condemned > 0)


if __name__ == "__main__":
    main()
