"""Targets of anchors: a file, an address that takes JSON, an authority that gives time-stamps."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol
from urllib.parse import urlsplit

import httpx

from likewise.errors import LikewiseError, ParameterError
from likewise.service.clock import now, seconds_between
from likewise.service.ledger.signing.timestamps import TimeStamp, time_stamp_request

__all__ = [
    "AnchorTarget",
    "FileTarget",
    "Fixed",
    "TimeStampTarget",
    "WebhookTarget",
    "targets_from",
]

# Seconds that a target may take; and that an authority's clock may differ from ours.
PATIENCE = 10.0
CLOCKS = 300.0
LARGEST = 100_000


@dataclass(frozen=True)
class Fixed:
    """A receipt that is fixed outside: when, and the proof of it if there is one."""

    at: str
    proof: str | None = None


class AnchorTarget(Protocol):
    """A place outside; ``name`` is what the ledger calls it."""

    @property
    def name(self) -> str:
        """The name, as the setting has it."""
        ...

    def fix(self, receipt: str) -> Fixed:
        """Fix a receipt there, or raise an error of Likewise that says why it could not be."""
        ...


@dataclass(frozen=True)
class FileTarget:
    """A file to which lines are added: on another machine's disk, or one that is printed."""

    path: Path

    @property
    def name(self) -> str:
        """The name, as the setting has it."""
        return f"file:{self.path}"

    def fix(self, receipt: str) -> Fixed:
        """Add a line, and wait until it is on the disk."""
        at = now()
        line = json.dumps({"at": at, "receipt": receipt}) + "\n"
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LikewiseError(f"{self.path} cannot be written: {error.strerror}.") from error
        return Fixed(at)


@dataclass(frozen=True)
class _Address:
    """An address that receipts are sent to."""

    url: str
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The name, as the setting has it, without what may be secret in the address."""
        return f"{self.kind}:{_without_secrets(self.url)}"


class WebhookTarget(_Address):
    """An address to which receipts are sent as JSON."""

    kind = "webhook"

    def fix(self, receipt: str) -> Fixed:
        """Send it; any status of 200 to 299 means that it was kept."""
        at = now()
        _post(self.url, json.dumps({"at": at, "receipt": receipt}).encode(), "application/json")
        return Fixed(at)


class TimeStampTarget(_Address):
    """A time-stamp authority (RFC 3161)."""

    kind = "rfc3161"

    def fix(self, receipt: str) -> Fixed:
        """Ask for a time-stamp; one of something else, or of another time, is refused."""
        asked, nonce = time_stamp_request(receipt.encode())
        began = now()
        stamp = TimeStamp.read(_post(self.url, asked, "application/timestamp-query"))
        if not stamp.covers(receipt.encode()) or stamp.nonce != nonce:
            raise LikewiseError("The authority's time-stamp is of something else.")
        if abs(seconds_between(began, stamp.at)) > CLOCKS:
            raise LikewiseError(
                f"The authority's time is {stamp.at}, and ours {began}. Correct the clock."
            )
        return Fixed(stamp.at, stamp.text)


def _post(url: str, content: bytes, kind: str) -> bytes:
    """Send something, wait for so long, and read so much; never follow to another address."""
    ends = time.monotonic() + 2 * PATIENCE  # also for one who sends byte after byte
    try:
        with httpx.stream(
            "POST", url, content=content, headers={"Content-Type": kind}, timeout=PATIENCE
        ) as response:
            if not response.is_success:
                raise LikewiseError(f"{_without_secrets(url)} responds {response.status_code}.")
            read = b""
            for part in response.iter_bytes():
                read += part
                if len(read) > LARGEST or time.monotonic() > ends:
                    raise LikewiseError(
                        f"{_without_secrets(url)} sends more than {LARGEST} bytes, or too slowly."
                    )
            return read
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        raise LikewiseError(f"{_without_secrets(url)} cannot be reached: {why}.") from error


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def targets_from(text: str) -> tuple[AnchorTarget, ...]:
    """The targets that a setting names, separated by spaces.

    >>> [target.name for target in targets_from("file:/srv/heads.jsonl rfc3161:https://tsa.example/")]
    ['file:/srv/heads.jsonl', 'rfc3161:https://tsa.example/']
    """
    return tuple(_target(word) for word in text.split())


def _target(word: str) -> AnchorTarget:
    kind, _, rest = word.partition(":")
    parts = urlsplit(rest)
    if kind == "file" and rest:
        return FileTarget(Path(rest))
    if kind in ("webhook", "rfc3161") and parts.scheme in ("http", "https") and parts.hostname:
        return WebhookTarget(rest) if kind == "webhook" else TimeStampTarget(rest)
    raise ParameterError(
        "LIKEWISE_ANCHORS", "must be file:PATH, webhook:URL or rfc3161:URL, with spaces between",
        word, "Correct it, or leave it out for no anchors.",
    )  # fmt: skip
