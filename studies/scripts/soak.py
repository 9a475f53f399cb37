"""Keep a server busy for a while, and watch its memory: it should stay what it was.

    python -m studies.scripts.soak

The memory at the end is compared with what it was after a first part, to warm up.
"""

import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from likewise_client.client import Client
from likewise_client.errors import ApiError
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.ledger.store import Store
from studies.scripts.http_load import Server
from tests.service.live import small_spec

DOCKETS, MEMBERS, PEOPLE, THREADS = 100, 50, 4, 4
MINUTES, WARM = 32, 0.25


def furnish(database: str) -> dict[str, list[str]]:
    """Open the dockets; return the tokens of each, the client's first."""
    store, tokens = Store.open(database), {}
    names = tuple(f"m{number}" for number in range(MEMBERS))
    for number in range(DOCKETS):
        name = f"docket-{number}"
        open_docket(store, name, small_spec(names, rule="majority", deadline=20.0, k=PEOPLE))
        bank = create_token(store, "client", "bank", name)[0]
        tokens[name] = [bank, *(create_token(store, "auditor", who, name)[0] for who in names)]
    store.close()
    return tokens


def live(address: str, docket: str, tokens: list[str], number: int) -> Counter[str]:
    """The life of a round: decided, told, appealed, labelled, reviewed by some."""
    dice, done = random.Random(number), Counter(rounds=1)
    people = {
        f"{number}-{i}": {"score": dice.randint(300, 850), "debt": 30, "purpose": "car"}
        for i in range(PEOPLE)
    }
    with Client(address, tokens[0]) as bank:
        round_ = bank.open_round(docket, people)
        rejected = [d.person for d in round_.decisions if not d.approved]
        for person in rejected[:1]:
            bank.give_notice(docket, round_.id, person)
            appeal = bank.appeal(docket, round_.id, person, "why?", {"score": 700})
            bank.assign_appeal(docket, appeal.id, "mia")
            bank.decide_appeal(docket, appeal.id, True, "seen", reviewer="mia")
        bank.label(docket, [(round_.id, person, 1) for person in people])
    for token in dice.sample(tokens[1:], 3):
        with Client(address, token) as member:
            for review in member.reviews(docket)[:3]:
                for pair in member.review(docket, review.id).pairs[:1]:
                    member.flag(docket, review.id, (pair.over, pair.under), "alike")
                member.finish(docket, review.id)
                done["reviews"] += 1
    return done


def watch(server: Server, tokens: dict[str, list[str]]) -> tuple[list[float], Counter[str]]:
    """The memory of the server every five seconds, and what was done meanwhile."""
    stop = threading.Event()

    def work(first: int) -> Counter[str]:
        done = Counter[str]()
        for number in count(first, THREADS):
            if stop.is_set():
                break
            docket = f"docket-{number % DOCKETS}"
            try:
                done += live(server.address, docket, tokens[docket], number)
            except ApiError as error:
                done[f"refused: {error.code}"] += 1
        return done

    with ThreadPoolExecutor(THREADS) as pool:
        working, measured = [pool.submit(work, first) for first in range(THREADS)], []
        for _ in range(12 * MINUTES):
            time.sleep(5)
            measured.append(server.megabytes())
        stop.set()
    return measured, sum((future.result() for future in working), Counter[str]())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        database = f"sqlite:///{folder}/likewise.db"
        tokens = furnish(database)
        with Server(database, 1, {"LIKEWISE_ANONYMOUS_RATE": "1e6"}) as server:
            measured, done = watch(server, tokens)
    begin = int(WARM * len(measured))
    base, top, last = measured[begin - 1], max(measured[begin:]), measured[-1]
    print(
        f"{DOCKETS} dockets of {MEMBERS} members, {MINUTES} minutes, of which {WARM:.0%} to warm "
        f"up: {base:.0f} MB then, {top:.0f} MB at most and {last:.0f} MB at the end "
        f"({last / base - 1:+.1%})"
    )
    print(", ".join(f"{name} {number:,}" for name, number in sorted(done.items())))


if __name__ == "__main__":
    main()
