"""The manifest of an export: the hash of every file, signed by the installation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey
from likewise.service.verification.known_keys import KnownKeys, document_fault, sign_document

MANIFEST = "manifest.json"
FORMAT = "likewise-export/1"


@dataclass(frozen=True)
class ExportCheck:
    """The verdict on an export as it was given.

    ``faults`` name every file that is not what was signed for; ``sentence`` says by which key the
    export is signed, or that it is not.
    """

    signed: bool
    faults: tuple[str, ...]
    sentence: str


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, files: Iterable[Path], receipt: Receipt, key: PrivateKey) -> Path:
    """Sign for the files of an export."""
    digests = {path.name: _digest(path) for path in files}
    content = {"format": FORMAT, "receipt": str(receipt), "files": digests}
    path = folder / MANIFEST
    text = json.dumps(sign_document("export", content, key), indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def check_manifest(folder: Path, keys: KnownKeys | None = None) -> ExportCheck:
    """Check the files of an export against its manifest."""
    path = folder / MANIFEST
    if not path.is_file():
        return ExportCheck(False, (), "The export is not signed.")
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
        files: dict[str, Any] = dict(document["files"])
        fault = document_fault("export", document, keys)
    except (ValueError, TypeError, KeyError, RecursionError, LikewiseError) as error:
        return ExportCheck(False, (f"{MANIFEST} cannot be read ({error}).",), "")
    if fault:
        return ExportCheck(False, (f"{MANIFEST}: {fault}",), "")
    present = {path.name for path in folder.iterdir() if path.is_file()} - {MANIFEST}
    faults = [f"{name} is missing." for name in sorted(set(files) - present)]
    faults += [f"{name} was not part of it." for name in sorted(present - set(files))]
    faults += [
        f"{name} was changed since." for name in sorted(present & set(files))
        if _digest(folder / name) != files[name]
    ]  # fmt: skip
    key = PublicKey(document["key"])
    sentence = f"The export is complete, and signed by the key {key.id}: {key.text}."
    return ExportCheck(not faults, tuple(faults), "" if faults else sentence)
