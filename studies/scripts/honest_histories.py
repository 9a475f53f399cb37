"""Play random honest histories, and count those that a verifier condemns: there should be none.

python -m studies.scripts.honest_histories --count 10000
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from likewise_service.ledger.store import Keyring, Store
from tests.service.verification.histories import History

ACTS, PROCESSES = 40, 2


class Player:
    """Plays histories one after another, on two stores of one database that is emptied between."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="histories-"))
        self.file = self.folder / "ledger.db"
        self.stores = [Store.open(f"sqlite:///{self.file}") for _ in range(2)]
        self._close()
        self.fresh = self.file.read_bytes()

    def play(self, seed: int) -> tuple[int, list[str], Counter[str]]:
        """Return the faults of a history, and what was done in it."""
        self.file.write_bytes(self.fresh)
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


@cache
def player() -> Player:
    """The player of this process."""
    logging.disable(logging.CRITICAL)
    return Player()


def judged(seed: int) -> tuple[int, list[str], Counter[str]]:
    return player().play(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    condemned, acts = 0, Counter[str]()
    seeds = range(options.first, options.first + options.count)
    with multiprocessing.Pool(PROCESSES) as pool:
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
