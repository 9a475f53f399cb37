"""Keep a server busy for a while, and watch its memory: it should stay what it was.

    python -m studies.scripts.soak

Every docket gets rounds, its members review some of them and miss others, labels come, applicants
appeal and are given notices. The first part of the time is for warming up; then the memory of the
server is compared with what it was at the end of that.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from itertools import cycle

from likewise_client.client import Client
from likewise_client.errors import ApiError
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger.store import Store
from studies.scripts.http_load import Server
from tests.service.live import small_spec

DOCKETS, MEMBERS, PEOPLE, THREADS = 100, 50, 4, 4
MINUTES, WARM = 32, 0.25


def furnish(store: Store) -> dict[str, list[str]]:
    """Open the dockets; return the tokens of each, the client's first."""
    tokens = {}
    names = tuple(f"m{number}" for number in range(MEMBERS))
    for number in range(DOCKETS):
        name = f"docket-{number}"
        open_docket(store, name, small_spec(names, rule="majority", deadline=20.0, k=PEOPLE))
        owners = [("client", "bank"), *(("auditor", member) for member in names)]
        tokens[name] = [create_token(store, role, who, name)[0] for role, who in owners]  # type: ignore[arg-type]
    return tokens


class Load:
    """Somebody who does one thing after another in one docket after another."""

    def __init__(self, address: str, tokens: dict[str, list[str]], seed: int) -> None:
        self.address, self.tokens = address, tokens
        self.random, self.number, self.done = random.Random(seed), 0, Counter[str]()
        self.seed = seed
        # All of them, from another one on: so that none is opened late.
        names = list(tokens)
        self.dockets = cycle([*names[seed * 25 % len(names) :], *names[: seed * 25 % len(names)]])

    def go(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._live(next(self.dockets))
            except ApiError as error:
                self.done[f"refused: {error.code}"] += 1

    def _live(self, docket: str) -> None:
        """The life of a round: decided, told, reviewed by some, appealed, labelled."""
        self.number += 1
        features = lambda: {"score": self.random.randint(300, 850), "debt": 30, "purpose": "car"}  # noqa: E731
        people = {f"{self.seed}-{self.number}-{i}": features() for i in range(PEOPLE)}
        bank, *members = self.tokens[docket]
        with Client(self.address, bank) as client:
            round_ = client.open_round(docket, people)
            rejected = [d.person for d in round_.decisions if not d.approved]
            for person in rejected[:1]:
                client.give_notice(docket, round_.id, person)
                appeal = client.appeal(docket, round_.id, person, "why?", {"score": 700})
                client.assign_appeal(docket, appeal.id, "mia")
                client.decide_appeal(docket, appeal.id, True, "seen", reviewer="mia")
            client.label(docket, [(round_.id, person, 1) for person in people])
            self.done["rounds"] += 1
        for token in self.random.sample(members, min(3, len(members))):
            with Client(self.address, token) as member:
                for review in member.reviews(docket)[:3]:
                    shown = member.review(docket, review.id)
                    if shown.pairs:
                        pair = shown.pairs[0]
                        member.flag(docket, review.id, (pair.over, pair.under), "alike")
                    member.finish(docket, review.id)
                    self.done["reviews"] += 1


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        database = f"sqlite:///{folder}/likewise.db"
        store = Store.open(database)
        tokens = furnish(store)
        store.close()
        server = Server(database, 1, {"LIKEWISE_ANONYMOUS_RATE": "1e6"})
        server.start()
        try:
            measured, loads = watch(server, tokens)
        finally:
            server.kill()
    begin = int(WARM * len(measured))
    base, top, last = measured[begin - 1], max(measured[begin:]), measured[-1]
    print(
        f"{DOCKETS} dockets of {MEMBERS} members, {MINUTES} minutes, of which {WARM:.0%} to warm "
        f"up: {base:.0f} MB then, {top:.0f} MB at most and {last:.0f} MB at the end "
        f"({last / base - 1:+.1%})"
    )
    done = sum((load.done for load in loads), Counter[str]())
    print(", ".join(f"{name} {count:,}" for name, count in sorted(done.items())))


def watch(server: Server, tokens: dict[str, list[str]]) -> tuple[list[float], list[Load]]:
    """Let the load run; return the memory of the server every five seconds."""
    stop, measured = threading.Event(), []
    loads = [Load(server.address, tokens, seed) for seed in range(THREADS)]
    threads = [threading.Thread(target=load.go, args=(stop,)) for load in loads]
    for thread in threads:
        thread.start()
    for _ in range(12 * MINUTES):
        time.sleep(5)
        measured.append(server.megabytes())
    stop.set()
    for thread in threads:
        thread.join()
    return measured, loads


if __name__ == "__main__":
    main()
