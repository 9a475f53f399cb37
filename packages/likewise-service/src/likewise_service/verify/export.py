"""A docket as files, for auditors elsewhere: the ledger, and what is needed to replay it.

ledger.jsonl     one record a line; the line's number is the record's
events.csv       the same for spreadsheets (not for proofs)
checkpoint.txt   the ledger's receipt: its size, and the root of its tree
payloads.jsonl   features and reasons: personal, only if asked for
seed.json        the seed and its salt: only if published, or asked for by its owner
keys.jsonl       the installation's public keys, since when and until when
manifest.json    the hash of every file, signed
"""

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError
from likewise.people.cells import safe_text
from likewise_service.ledger import notes, records, signatures
from likewise_service.ledger.store import Keyring
from likewise_service.verify.evidence import Evidence
from likewise_service.verify.receipts import KnownKeys, document_fault, sign_document

MANIFEST = "manifest.json"
EXPORT = "likewise-export/1"


@dataclass(frozen=True)
class ExportCheck:
    """The verdict on an export: a fault for every file that is not as it was signed.

    ``sentence`` says by which key the export is signed, or that it is not.
    """

    signed: bool
    faults: tuple[str, ...]
    sentence: str


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(
    folder: Path, files: Iterable[Path], receipt: notes.Checkpoint, key: signatures.PrivateKey
) -> Path:
    digests = {path.name: _digest(path) for path in files}
    content = {"format": EXPORT, "receipt": str(receipt), "files": digests}
    path = folder / MANIFEST
    text = json.dumps(sign_document("export", content, key), indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def check_manifest(
    folder: Path, entries: Iterable[records.Record], keys: KnownKeys | None = None
) -> ExportCheck:
    """Check that an export is as it was signed, and its table for spreadsheets of these records."""
    path = folder / MANIFEST
    if not path.is_file():
        missing = f"{MANIFEST} is missing, so nothing is signed by the key that you named."
        return ExportCheck(False, (missing,) if keys else (), "The export is not signed.")
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
    if EVENTS in present:
        with (folder / EVENTS).open("rb") as table:
            same = all(table.read(len(row) + 1) == row + b"\n" for row in _table(entries))
            if not same or table.read(1):
                faults.append(f"{EVENTS} has other rows than {LEDGER}.")
    key = signatures.PublicKey(document["key"])
    sentence = f"The export is complete, and signed by the key {key.id}: {key.text}."
    return ExportCheck(not faults, tuple(faults), "" if faults else sentence)


LEDGER, EVENTS, RECEIPT = "ledger.jsonl", "events.csv", "checkpoint.txt"
PAYLOADS, SEED, KEYS = "payloads.jsonl", "seed.json", "keys.jsonl"
COLUMNS = ("seq", "at", "kind", "actor", "round", "person", "member", "body", "hash")


def write_export(
    evidence: Evidence, folder: Path, keys: Keyring, *, personal: bool = False, seed: bool = False
) -> list[Path]:
    """Write a docket to a new folder, signed; return the files.

    ``personal`` adds the payloads; the seed is added if it was published, or with ``seed``.
    """
    for number, why in evidence.unreadable.items():
        raise records.LedgerBroken(evidence.docket, number, why)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LikewiseError(f"{folder} is not empty; an export needs a folder of its own.")
    receipt = keys.sign(evidence.origin, evidence.log.tree())
    files = [
        _write(folder / LEDGER, (record.line() for record in evidence.records)),
        _write(folder / EVENTS, _table(evidence.records)),
        _write(folder / RECEIPT, [str(receipt).encode().removesuffix(b"\n")]),
    ]
    if personal and evidence.payloads is not None:
        lines = (
            records.canonical({"digest": digest, "salt": p.salt.hex(), "content": p.content})
            for digest, p in sorted(evidence.payloads.items())
        )
        files.append(_write(folder / PAYLOADS, lines, private=True))
    published = any(record.kind == "seed-revealed" for record in evidence.records)
    if evidence.secret is not None and (seed or published):
        number, salt = evidence.secret
        content = records.canonical({"seed": str(number), "salt": salt.hex()})
        files.append(_write(folder / SEED, [content], private=not published))
    files.append(_write(folder / KEYS, (records.canonical(asdict(key)) for key in keys.listed())))
    return [*files, write_manifest(folder, files, receipt, keys.current())]


def read_export(folder: Path) -> Evidence:
    """Read an export, or its ledger alone; name the lines that cannot be read."""
    path = folder if folder.is_file() else folder / LEDGER
    if not path.is_file():
        raise LikewiseError(f"{folder} is not an export of a ledger: it has no {LEDGER}.")
    folder = path.parent if path.name == LEDGER else path.parent / f"{path.name}.d"
    entries: list[records.Record] = []
    unreadable: dict[int, str] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                entries.append(records.parse_line("", number, line))
            except records.LedgerBroken as error:
                unreadable[number] = error.why
    docket = _docket(folder, entries)
    text = folder / RECEIPT
    receipt = notes.Checkpoint.parse(text.read_text(encoding="utf-8")) if text.is_file() else None
    payloads, secret = _payloads(folder / PAYLOADS), _seed(folder / SEED)
    return Evidence(docket, entries, payloads, secret, unreadable, receipt)


def _docket(folder: Path, entries: list[records.Record]) -> str:
    """Return the docket that most records name: a changed record must not rename the others."""
    names = [record.docket for record in entries]
    if not names:
        raise LikewiseError(f"{folder / LEDGER} has no record that can be read.")
    return max(dict.fromkeys(names), key=names.count)


def _payloads(path: Path) -> dict[str, records.Payload] | None:
    """Return payloads by digest, but for unreadable ones, which replay reports as missing."""
    if not path.is_file():
        return None
    payloads: dict[str, records.Payload] = {}
    with path.open("rb") as lines:
        for line in lines:
            try:
                data = json.loads(line)
                records.canonical(data)
                payload = records.Payload(bytes.fromhex(data["salt"]), data["content"])
                payloads[str(data["digest"])] = payload
            except (ValueError, TypeError, KeyError, RecursionError, LikewiseError):
                continue
    return payloads


def _seed(path: Path) -> tuple[int, bytes] | None:
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_bytes())
        return int(data["seed"]), bytes.fromhex(data["salt"])
    except (ValueError, TypeError, KeyError) as error:
        raise LikewiseError(f"{path} does not hold a seed and its salt: {error}.") from error


def _write(path: Path, lines: Iterable[bytes], *, private: bool = False) -> Path:
    mode = 0o600 if private else 0o644
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.writelines(line + b"\n" for line in lines)
    return path


def _table(entries: Iterable[records.Record]) -> Iterator[bytes]:
    yield csv_line(COLUMNS)
    yield from map(table_line, entries)


def csv_line(values: Iterable[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue().removesuffix("\n").encode()


def table_line(record: records.Record) -> bytes:
    named = [record.body.get(name, "") for name in ("round", "person", "member")]
    first = [record.seq, record.at, record.kind, record.actor]
    cells = (*first, *named, record.body_text, record.hash)
    return csv_line(safe_text(str(cell)) for cell in cells)
