"""Anchoring: receipts of every docket that has grown are fixed outside, and its ledger says so.

Nothing waits for a target: one thread of a process calls them all, and records their responses. A
failure is recorded once, and retried at every look until it succeeds.
"""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from likewise.errors import LikewiseError, ParameterError
from likewise_service.clock import later, moment_of, now, seconds_between
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.projection import Governance
from likewise_service.errors import LOG
from likewise_service.ledger import kinds, notes, signatures
from likewise_service.ledger.store import Store

# Seconds that a target may take, and by which an authority's clock may differ from ours. Together
# with those by which a ledger may be ahead of our clock, they are fewer than a verifier allows.
PATIENCE = 10.0
CLOCKS = 200.0
LARGEST = 100_000


@dataclass(frozen=True)
class Fixed:
    """The time of an anchor outside, and the proof of it if there is one."""

    at: str
    proof: str | None = None


# Returns the proof that a receipt's log only grew since it had some number of records.
Prove = Callable[[int], notes.ConsistencyProof]


@dataclass(frozen=True)
class AnchorTarget:
    """A place outside that keeps receipts: a file, a webhook, an authority or a witness.

    A ``file`` gets lines appended, and may be on another machine's disk. A ``webhook`` gets them
    posted; a status of 200 to 299 means that it keeps them. ``rfc3161`` is a time-stamp authority,
    and ``witness`` (C2SP's tlog-witness), at URL#KEY, signs receipts that extend its last one.
    """

    kind: str
    where: str

    @property
    def name(self) -> str:
        """The target's name in the ledger: the setting, without secrets in an address."""
        where = self.where if self.kind == "file" else _without_secrets(self.where)
        return f"{self.kind}:{where}"

    def fix(self, receipt: notes.Checkpoint, old: int, prove: Prove) -> Fixed:
        """Anchor a receipt there, or raise an error that says why not.

        ``old`` is the size of the last receipt there; ``prove`` proves consistency with a size.
        """
        if self.kind == "witness":
            return _cosigned(self.where, receipt, old, prove)
        if self.kind == "rfc3161":
            return _time_stamped(self.where, receipt)
        at = now()
        line = json.dumps({"at": at, "receipt": str(receipt)})
        if self.kind == "file":
            _append(self.where, line)
        else:
            _post(self.where, line.encode(), "application/json")
        return Fixed(at)


def _append(path: str, line: str) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LikewiseError(f"{path} cannot be written: {error.strerror}.") from error


def _time_stamped(url: str, receipt: notes.Checkpoint) -> Fixed:
    """Request a time-stamp; refuse one of something else, or of another time."""
    content, began = str(receipt).encode(), now()
    request, nonce = signatures.time_stamp_request(content)
    _, response = _post(url, request, "application/timestamp-query")
    stamp = signatures.TimeStamp.read(response)
    if not stamp.covers(content) or stamp.nonce != nonce:
        raise LikewiseError("The authority's time-stamp is of something else.")
    return Fixed(_checked_time(stamp.at, began), stamp.text)


def _cosigned(where: str, receipt: notes.Checkpoint, old: int, prove: Prove) -> Fixed:
    """Request a signature, which a witness that has seen another ledger refuses."""
    address, _, text = where.partition("#")
    verifier, began = notes.Verifier.of_witness(text), now()
    url = address.rstrip("/") + "/add-checkpoint"
    status, response = _post(url, str(prove(old)).encode(), "text/plain", accepted=(409,))
    if status == 409:
        seen = notes.decoded_number(_text(response).strip())
        if seen > receipt.size:
            raise LikewiseError(f"The witness has seen {seen:,} records, and there are fewer.")
        _, response = _post(url, str(prove(seen)).encode(), "text/plain")
    cosigned = receipt.plus(*notes.signatures_in(_text(response)))
    if not (seconds := cosigned.seen_at(verifier)):
        raise LikewiseError(f"The response is not signed by {verifier.name}.")
    return Fixed(_checked_time(moment_of(seconds), began), _text(response))


def _checked_time(at: str, began: str) -> str:
    if abs(seconds_between(began, at)) > CLOCKS:
        raise LikewiseError(f"The time there is {at}, and ours {began}. Correct the clock.")
    return at


def _text(response: bytes) -> str:
    try:
        return response.decode()
    except UnicodeDecodeError as error:
        raise LikewiseError("The response is not UTF-8.") from error


def _post(url: str, content: bytes, kind: str, accepted: Sequence[int] = ()) -> tuple[int, bytes]:
    """Post something, within limits of time and size, following no redirect.

    A status that means failure is raised, unless it is ``accepted``.
    """
    name, headers = _without_secrets(url), {"Content-Type": kind}
    ends = time.monotonic() + 2 * PATIENCE  # also for one who sends byte after byte
    posting = httpx.stream("POST", url, content=content, headers=headers, timeout=PATIENCE)
    try:
        with posting as response:
            if not response.is_success and response.status_code not in accepted:
                raise LikewiseError(f"{name} responds {response.status_code}.")
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > LARGEST or time.monotonic() > ends:
                    raise LikewiseError(f"{name} sends more than {LARGEST} bytes, or too slowly.")
            return response.status_code, body
    except httpx.HTTPError as error:
        cause = str(error) or type(error).__name__
        raise LikewiseError(f"{name} cannot be reached: {cause}.") from error


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def targets_from(text: str) -> tuple[AnchorTarget, ...]:
    """Return the targets that a setting names, separated by spaces.

    >>> [target.name for target in targets_from("file:/srv/heads.jsonl rfc3161:https://tsa.example/")]
    ['file:/srv/heads.jsonl', 'rfc3161:https://tsa.example/']
    """
    return tuple(_target(word) for word in text.split())


def _target(word: str) -> AnchorTarget:
    kind, _, where = word.partition(":")
    parts = urlsplit(where)
    known = kind in ("webhook", "rfc3161", "witness")
    reached = known and parts.scheme in ("http", "https") and parts.hostname
    if not reached and (kind != "file" or not where):
        raise ParameterError(
            "LIKEWISE_ANCHORS",
            "must be file:PATH, webhook:URL, rfc3161:URL or witness:URL#KEY, with spaces between",
            word, "Correct it, or leave it out for no anchors.",
        )  # fmt: skip
    if kind == "witness":
        notes.Verifier.of_witness(parts.fragment)
    return AnchorTarget(kind, where)


# The longest reason in a record.
LONGEST = 300


@dataclass(frozen=True)
class Anchoring:
    """Targets, and the minutes between two anchors of a docket that grows.

    ``_looked`` has every docket's head at the last look, and the earliest time for the next.
    """

    targets: Sequence[AnchorTarget]
    minutes: float
    _looked: dict[str, tuple[int, str]] = field(default_factory=dict, repr=False, compare=False)

    def due(self, governance: Governance, target: AnchorTarget, at: str) -> bool:
        """Tell if a docket has grown since its last anchor there, and an anchor is due.

        Records about anchors do not count as growth. After a failure it is due at every look.
        """
        last = _state(governance, target)
        # One of a time to come is by a clock that was ahead, and counts for nothing.
        since = seconds_between(last.fixed, at) if last.fixed else math.inf
        in_time = -CLOCKS <= since < 60 * self.minutes
        return governance.busy > last.seq and (bool(last.failure) or not in_time)

    def look(self, store: Store, stopping: Callable[[], bool] = lambda: False) -> None:
        """Anchor all dockets that are due, one after another, until told to stop.

        Only dockets that have grown are opened: there may be thousands.
        """
        for name in store.dockets():
            if stopping():
                return
            try:
                head, (before, at) = store.head(name).seq, self._looked.get(name, (0, ""))
                latest = later(now(), 60 * self.minutes + CLOCKS)  # else a clock was ahead
                if head != before and not now() < at <= latest:
                    self._looked[name] = self._anchor(Docket(store, name), stopping)
            except Exception:  # one docket that fails must not stop the others' anchors
                extra = {"said": {"docket": name}}
                LOG.exception("An anchor failed; it is tried again.", extra=extra)

    def _anchor(self, docket: Docket, stopping: Callable[[], bool]) -> tuple[int, str]:
        """Anchor a docket where it is due; return its head, and when the next one is due."""
        for target in self.targets:
            receipt = docket.receipt()
            if stopping() or not self.due(docket.projection.governance, target, now()):
                continue
            try:
                old = _state(docket.projection.governance, target).seq
                fixed = target.fix(receipt, old, prover(docket.store, receipt))
            except LikewiseError as error:
                record_failure(docket, target, str(error))
            else:
                record_anchor(docket, target, receipt, fixed)
        governance = docket.projection.governance
        states = [_state(governance, target) for target in self.targets]
        if any(state.failure or not state.fixed for state in states):
            return 0, ""  # at every look
        following = later(min(state.fixed for state in states), 60 * self.minutes)
        grown = any(governance.busy > state.seq for state in states)
        return 0 if grown else docket.projection.head.seq, following


def prover(store: Store, receipt: notes.Checkpoint) -> Prove:
    """Return the function that proves that a docket's log, up to a receipt, only grew."""

    def prove(old: int) -> notes.ConsistencyProof:
        with store.view(receipt.docket) as view:
            hashes = view.log(receipt.size).consistency(old, receipt.size)
        return notes.ConsistencyProof(old, tuple(hashes), receipt)

    return prove


def _state(governance: Governance, target: AnchorTarget) -> kinds.AnchorState:
    return governance.anchors.get(target.name, kinds.AnchorState())


def record_anchor(
    docket: Docket, target: AnchorTarget, receipt: notes.Checkpoint, fixed: Fixed
) -> None:
    with kinds.acting(kinds.SERVICE), docket.unit_of_work() as work:
        # The record is later than the anchor, whatever our clock says.
        work.at, work.clock = max(work.at, fixed.at), min(work.clock, fixed.at)
        work.add(kinds.Anchored(target.name, str(receipt), fixed.at, fixed.proof))


def record_failure(docket: Docket, target: AnchorTarget, cause: str) -> None:
    """Record that a receipt could not be anchored, but once only until it can be."""
    with kinds.acting(kinds.SERVICE), docket.unit_of_work() as work:
        if not _state(work.projection.governance, target).failure:
            work.add(kinds.AnchorFailed(target.name, cause[:LONGEST]))
