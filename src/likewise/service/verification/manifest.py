"""The manifest of an export: the hash of every file, signed by the installation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import canonical
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey
from likewise.service.verification.known_keys import KnownKeys

__all__ = ["MANIFEST", "ExportCheck", "check_manifest", "write_manifest"]

MANIFEST = "manifest.json"
FORMAT = "likewise-export/1"


@dataclass(frozen=True)
class ExportCheck:
    """The verdict on an export as it was given: signed, not signed, or changed since.

    ``faults`` name every file that is not what was signed for, ``sentence`` says the rest.
    """

    signed: bool
    faults: tuple[str, ...]
    sentence: str


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def write_manifest(folder: Path, files: Iterable[Path], receipt: Receipt, key: PrivateKey) -> Path:
    """Sign for the files of an export."""
    content = {
        "format": FORMAT, "receipt": str(receipt), "key": key.public.text,
        "files": {path.name: _digest(path) for path in files},
    }  # fmt: skip
    signature = key.sign("export", canonical(content))
    path = folder / MANIFEST
    text = json.dumps({**content, "signature": signature}, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def check_manifest(folder: Path, keys: KnownKeys | None = None) -> ExportCheck:
    """Check the files of an export against its manifest.

    Without keys that a verifier names, the manifest's own key is taken: it then shows that nothing
    was changed since, and the key has to be compared with the one that is published.
    """
    path = folder / MANIFEST
    if not path.is_file():
        words = "The export is not signed: it was written before exports were signed."
        return ExportCheck(False, (), words)
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        signature, key = str(data.pop("signature")), PublicKey(data["key"])
        files: dict[str, Any] = dict(data["files"])
        content = canonical(data)
    except (ValueError, TypeError, KeyError, RecursionError, LikewiseError) as error:
        return ExportCheck(False, (f"{MANIFEST} cannot be read ({error}).",), "")
    if keys is not None and key.id not in keys.keys:
        return ExportCheck(False, (f"{MANIFEST} is signed by a foreign key, {key.id}.",), "")
    if not key.verifies("export", content, signature):
        return ExportCheck(False, (f"{MANIFEST} was changed: its signature does not fit.",), "")
    present = {one.name for one in folder.iterdir() if one.is_file()} - {MANIFEST}
    faults = [f"{name} is missing." for name in sorted(set(files) - present)]
    faults += [f"{name} was not part of it." for name in sorted(present - set(files))]
    faults += [
        f"{name} was changed since." for name in sorted(present & set(files))
        if _digest(folder / name) != files[name]
    ]  # fmt: skip
    words = f"The export is complete, and signed by the key {key.id}: {key.text}."
    return ExportCheck(not faults, tuple(faults), "" if faults else words)
