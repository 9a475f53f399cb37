"""The same load as ledger_load.py, over HTTP: `likewise serve` with several processes.

    python studies/scripts/http_load.py              # four processes, 32 clients, 2,000 rounds
    python studies/scripts/http_load.py --rounds 200 --kills 10

With ``--kills`` the whole server is killed (SIGKILL) at random moments and started again; clients
send what was not acknowledged once more, with the same idempotency keys. With ``--turns 1`` members
are asked one after another.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))
from ledger_load import DOCKET, figures_of, main, make_docket

PATIENCE = 180.0


class Server:
    """``likewise serve`` in a process group of its own, so that a kill takes all of it."""

    def __init__(self, url: str, workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable, "-m", "likewise", "serve", "--port", str(self.port),
            "--database", url, "--workers", str(workers),
        ]  # fmt: skip
        generous = {"LIKEWISE_RATE": "1e6", "LIKEWISE_BURST": "1000000"}
        self._environment = {**os.environ, **generous}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=quiet, stderr=quiet, start_new_session=True
        )
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            try:
                if httpx.get(f"{self.address}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise RuntimeError("the server does not start")

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Load:
    """Clients at work: each opens rounds, reviews them as both members, and sends labels."""

    def __init__(self, address: str, tokens: dict[str, str], clients: int, rounds: int) -> None:
        self.address, self.tokens = address, tokens
        self.clients, self.rounds = clients, rounds
        self.took: dict[str, list[float]] = {}
        self.failures: list[str] = []
        self.receipts: list[str] = []
        self.finished = 0
        self._lock = threading.Lock()

    def run(self) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._work, args=(n,)) for n in range(self.clients)]
        for thread in threads:
            thread.start()
        return threads

    def _timed(self, name: str, command: Any) -> Any:
        """Until it is acknowledged; what is asked for again changes nothing."""
        from likewise_client.errors import ApiError
        from likewise_client.responses import ReceiptResponse

        ends = time.monotonic() + PATIENCE
        while True:
            began = time.perf_counter()
            try:
                result = command()
            except ApiError as error:
                passing = ("unreachable", "busy", "store-unavailable", "internal")
                if error.code not in passing or time.monotonic() > ends:
                    raise
                time.sleep(0.1)
                continue
            receipt = getattr(result, "receipt", result)
            with self._lock:
                self.took.setdefault(name, []).append(time.perf_counter() - began)
                if isinstance(receipt, ReceiptResponse):
                    self.receipts.append(receipt.text)
            return result

    def _work(self, number: int) -> None:
        from likewise_client.client import Client

        try:
            with (
                Client(self.address, self.tokens["bank"]) as bank,
                Client(self.address, self.tokens["ada"]) as ada,
                Client(self.address, self.tokens["bob"]) as bob,
            ):
                for turn in range(number, self.rounds, self.clients):
                    self._round(turn, bank, (ada, bob))
                    with self._lock:
                        self.finished += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            self.failures.append(repr(error))

    def _round(self, turn: int, bank: Any, members: tuple[Any, Any]) -> None:
        key = f"h{turn}"
        people = {
            f"{key}-{i}": {"score": score, "debt": 10 * i}
            for i, score in enumerate((790, 310, 510))
        }
        opened = self._timed("open", lambda: bank.open_round(DOCKET, people, key=key))
        # Members know reviews, not rounds: each thread finishes the oldest that there is.
        for member in members:
            for review in self._timed("list", lambda m=member: m.reviews(DOCKET))[:1]:
                self._timed("review", lambda r=review, m=member: _done(m, r.id))
        labels = [(opened.id, person, turn % 2) for person in people]
        self._timed("label", lambda: bank.label(DOCKET, labels))

    def drain(self) -> None:
        """Review what is left for the members, when all rounds are open."""
        from likewise_client.client import Client

        with (
            Client(self.address, self.tokens["ada"]) as ada,
            Client(self.address, self.tokens["bob"]) as bob,
        ):
            while waiting := [(m, r) for m in (ada, bob) for r in m.reviews(DOCKET)]:
                for member, review in waiting:
                    self._timed("review", lambda r=review, m=member: _done(m, r.id))


def _done(member: Any, review_id: str) -> Any:
    """Another thread may have been faster; then the panel has closed."""
    from likewise_client.errors import Conflict

    try:
        return member.finish(DOCKET, review_id)
    except Conflict:
        return member.receipt(DOCKET)


def tokens(url: str) -> dict[str, str]:
    """Tokens for a client and both members."""
    from likewise_service.auth.tokens import create_token
    from likewise_service.ledger.store import Store

    store = Store.open(url)
    roles = {"bank": "client", "ada": "auditor", "bob": "auditor"}
    made = {name: create_token(store, role, name, DOCKET)[0] for name, role in roles.items()}
    store.close()
    return made


def run(
    url: str, processes: int, clients: int, rounds: int, kills: int = 0, turns: int = 0
) -> dict[str, Any]:
    """Serve, load, kill now and then; and check the ledger afterwards."""
    make_docket(url, turns=bool(turns))
    server = Server(url, processes)
    server.start()
    try:
        load = Load(server.address, tokens(url), clients, rounds)
        began = time.monotonic()
        threads = load.run()
        dice = random.Random(5)
        killed = 0
        while any(thread.is_alive() for thread in threads):
            if killed < kills and load.finished * (kills + 1) > killed * rounds:
                # Short beside the rounds between two kills, or the load would end before the last.
                time.sleep(dice.uniform(0.0, 0.1))
                server.kill()
                server.start()
                killed += 1
            time.sleep(0.02)
        load.drain()
        seconds = time.monotonic() - began
    finally:
        server.kill()
    return {
        "processes": processes, "clients": clients, "kills": killed, "failures": load.failures[:5],
        "acknowledged_but_lost": _lost(url, load.receipts),
        **figures_of(url, load.took, rounds, seconds),
    }  # fmt: skip


def _lost(url: str, receipts: list[str]) -> int:
    """Receipts that the ledger does not know: there must be none."""
    from likewise_service.ledger.notes import Checkpoint
    from likewise_service.ledger.store import Store
    from likewise_service.ledger.tiles import Log

    store = Store.open(url)
    log = Log.of(record.entry for record in store.records(DOCKET))
    store.close()
    given = [Checkpoint.parse(text) for text in receipts]
    return sum(r.size > log.size or log.tree(r.size).root != r.root for r in given)


if __name__ == "__main__":
    sys.exit(main(run, kills=0, turns=0))
