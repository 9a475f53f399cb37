"""A witness of logs (C2SP's tlog-witness): it signs checkpoints of logs that only grew.

Somebody else runs it elsewhere. It keeps the last checkpoint of every log in a SQLite file; the
check against that and its change are one transaction, on disk before the response.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from likewise.errors import LikewiseError
from likewise_client.tree import Tree
from likewise_service.ledger import notes
from likewise_service.ledger.signatures import PrivateKey

_TABLE = "CREATE TABLE IF NOT EXISTS seen (origin TEXT PRIMARY KEY, checkpoint TEXT NOT NULL)"
SIZE = "text/x.tlog.size"


@dataclass(frozen=True)
class Verdict:
    """The response to a checkpoint; a status of 200 comes with a signature."""

    status: int
    text: str
    media_type: str = "text/plain"


class Witness:
    """A witness with a name and a key; ``logs`` are the verifier keys of the logs that it knows.

    A log may have several, after its key has changed.
    """

    def __init__(
        self, name: str, key: PrivateKey, logs: Iterable[notes.Verifier], path: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.name, self._key, self._path, self._clock = name, key, path, clock
        self.verifier = notes.Verifier.parse(
            str(notes.Verifier(name, key.public, notes.COSIGNATURE))
        )
        self._logs: dict[str, list[notes.Verifier]] = {}
        for log in logs:
            if log.kind != notes.ED25519:
                raise LikewiseError(f"{log} is not the key of a log, but that of a witness.")
            self._logs.setdefault(log.name, []).append(log)
        with closing(self._connected()) as connection:
            connection.execute(_TABLE)

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        # Not FULL: after a power cut, a journal that was removed could be back, and with it an
        # older checkpoint than one that was signed.
        connection.execute("PRAGMA synchronous=EXTRA")
        return connection

    def seen(self, origin_hash: str) -> notes.Checkpoint | None:
        """Return the last checkpoint of the log whose name has that hash, with all signatures."""
        with closing(self._connected()) as connection:
            rows = connection.execute("SELECT origin, checkpoint FROM seen").fetchall()
        for origin, text in rows:
            if hashlib.sha256(origin.encode()).hexdigest() == origin_hash:
                return notes.Checkpoint.parse(text)
        return None

    def take(self, text: str) -> Verdict:
        """Sign a checkpoint that extends the last one of its log; refuse all others."""
        try:
            proof = notes.ConsistencyProof.parse(text)
        except LikewiseError as error:
            return Verdict(400, f"{error}\n")
        checkpoint = proof.checkpoint
        if checkpoint.origin not in self._logs:
            return Verdict(404, f"The log {checkpoint.origin} is not known here.\n")
        try:
            # All of them: a signature that is not its key's is refused beside one that is.
            signed = [checkpoint.signed_by(log) for log in self._logs[checkpoint.origin]]
        except LikewiseError as error:
            return Verdict(403, f"{error}\n")
        if not any(signed):
            return Verdict(403, "It is not signed by a key that is known of this log.\n")
        if proof.old > checkpoint.size:
            return Verdict(400, "The old size is larger than the checkpoint's.\n")
        with closing(self._connected()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            verdict = self._judged(connection, proof)
            connection.execute("COMMIT")
        return verdict

    def _judged(self, connection: sqlite3.Connection, proof: notes.ConsistencyProof) -> Verdict:
        checkpoint = proof.checkpoint
        query = "SELECT checkpoint FROM seen WHERE origin = ?"
        row = connection.execute(query, (checkpoint.origin,)).fetchone()
        empty = notes.Checkpoint.of(checkpoint.origin, Tree())
        last = empty if row is None else notes.Checkpoint.parse(row[0])
        if proof.old != last.size:
            return Verdict(409, f"{last.size}\n", SIZE)
        if (checkpoint.size == 0 and checkpoint.root != empty.root) or not proof.extends(last):
            return Verdict(422, "It is not shown that the log only grew.\n")
        signature = checkpoint.cosigned(self.name, self._key, int(self._clock()))
        trusted = {(log.name, log.id) for log in self._logs[checkpoint.origin]}
        own = [item for item in checkpoint.signatures if (item[0], item[1][:4]) in trusted]
        text = str(notes.Checkpoint(checkpoint.body, (*own, signature)))
        insert = "INSERT OR REPLACE INTO seen VALUES (?, ?)"
        connection.execute(insert, (checkpoint.origin, text))
        return Verdict(200, notes.signature_line(signature))


def witness_app(witness: Witness) -> Starlette:
    """Return the HTTP interface: ``add-checkpoint``, and the last checkpoint of each log."""

    async def add_checkpoint(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > notes.LARGEST:
                return Response("It is too long.\n", 413)
        try:
            verdict = await run_in_threadpool(witness.take, body.decode())
        except UnicodeDecodeError:
            verdict = Verdict(400, "It is not UTF-8.\n")
        # As a header: starlette adds a charset to a media type, which the specification lacks.
        return Response(verdict.text, verdict.status, {"Content-Type": verdict.media_type})

    async def last_checkpoint(request: Request) -> Response:
        checkpoint = await run_in_threadpool(witness.seen, request.path_params["origin_hash"])
        if checkpoint is None:
            return Response("No checkpoint of that log was signed here.\n", 404)
        return Response(str(checkpoint), media_type="text/plain")

    return Starlette(
        routes=[
            Route("/add-checkpoint", add_checkpoint, methods=["POST"]),
            Route("/{origin_hash:str}/checkpoint", last_checkpoint),
        ]
    )
