"""Targets of anchors: a file, an address that takes JSON, an authority that gives time-stamps."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from likewise.errors import LikewiseError, ParameterError
from likewise.service.clock import now, seconds_between
from likewise.service.ledger.signing.timestamps import TimeStamp, time_stamp_request

# Seconds that a target may take; and that an authority's clock may differ from ours.
PATIENCE = 10.0
CLOCKS = 300.0
LARGEST = 100_000


@dataclass(frozen=True)
class Fixed:
    """A receipt that is anchored outside: when, and the proof of it if there is one."""

    at: str
    proof: str | None = None


class AnchorTarget(Protocol):
    """A place outside; ``name`` is what the ledger calls it."""

    @property
    def name(self) -> str:
        """The name, as the setting has it, without secrets in an address."""
        ...

    def fix(self, receipt: str) -> Fixed:
        """Anchor a receipt there, or raise an error of Likewise that says why not."""
        ...


def _line(receipt: str) -> tuple[str, str]:
    at = now()
    return at, json.dumps({"at": at, "receipt": receipt})


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
        at, line = _line(receipt)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LikewiseError(f"{self.path} cannot be written: {error.strerror}.") from error
        return Fixed(at)


@dataclass(frozen=True)
class WebhookTarget:
    """An address to which receipts are sent as JSON."""

    url: str

    @property
    def name(self) -> str:
        """The name, as the setting has it, without secrets."""
        return f"webhook:{_without_secrets(self.url)}"

    def fix(self, receipt: str) -> Fixed:
        """Send it; any status of 200 to 299 means that it was kept."""
        at, line = _line(receipt)
        _post(self.url, line.encode(), "application/json")
        return Fixed(at)


@dataclass(frozen=True)
class TimeStampTarget:
    """A time-stamp authority (RFC 3161)."""

    url: str

    @property
    def name(self) -> str:
        """The name, as the setting has it, without secrets."""
        return f"rfc3161:{_without_secrets(self.url)}"

    def fix(self, receipt: str) -> Fixed:
        """Request a time-stamp; one of something else, or of another time, is refused."""
        request, nonce = time_stamp_request(receipt.encode())
        began = now()
        stamp = TimeStamp.read(_post(self.url, request, "application/timestamp-query"))
        if not stamp.covers(receipt.encode()) or stamp.nonce != nonce:
            raise LikewiseError("The authority's time-stamp is of something else.")
        if abs(seconds_between(began, stamp.at)) > CLOCKS:
            raise LikewiseError(
                f"The authority's time is {stamp.at}, and ours {began}. Correct the clock."
            )
        return Fixed(stamp.at, stamp.text)


def _post(url: str, content: bytes, kind: str) -> bytes:
    """Send something, within limits of time and size; never follow to another address."""
    name = _without_secrets(url)
    ends = time.monotonic() + 2 * PATIENCE  # also for one who sends byte after byte
    headers = {"Content-Type": kind}
    try:
        with httpx.stream(
            "POST", url, content=content, headers=headers, timeout=PATIENCE
        ) as response:
            if not response.is_success:
                raise LikewiseError(f"{name} responds {response.status_code}.")
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > LARGEST or time.monotonic() > ends:
                    raise LikewiseError(f"{name} sends more than {LARGEST} bytes, or too slowly.")
            return body
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
