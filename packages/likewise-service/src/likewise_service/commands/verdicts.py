"""Verdicts on a ledger: a replay; receipts against the ledger, and against each other."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from likewise.errors import LikewiseError
from likewise_service.dockets.recomputation import check_snapshot
from likewise_service.ledger import notes, signatures
from likewise_service.ledger.records import canonical
from likewise_service.ledger.store import Store
from likewise_service.settings import database_url
from likewise_service.verify import certificates, evidence, governance, packets, receipts, replay
from likewise_service.verify.export import ExportCheck, check_manifest, read_export, write_export
from likewise_service.verify.receipts import ACKNOWLEDGEMENT, KnownKeys

HOLDS, FAILS, UNKNOWN = 0, 1, 2
COUNTS = (
    "rounds", "decisions", "skipped", "draws", "audits", "repeats", "ended", "payloads", "seed",
    "erased", "wholly", "proved", "unproved", "holds", "certificate",
)  # fmt: skip
# Signed documents by format: their name, and how they are checked.
DOCUMENTS = {
    packets.FORMAT: ("PACKET", packets.check_packet),
    certificates.FORMAT: ("CERTIFICATE", certificates.check_certificate),
}


@contextmanager
def _refusals() -> Iterator[None]:
    """Exit with 2: what cannot be read is neither proved nor refuted."""
    try:
        yield
    except (LikewiseError, UnicodeDecodeError) as error:
        raise click.UsageError(str(error)) from error


def _evidence(
    docket: str | None, database: str | None, folder: Path | None, *, personal: bool = True
) -> evidence.Evidence:
    if folder is not None:
        return read_export(folder)
    if database is None:
        raise LikewiseError("Say where the ledger is: --database URL, or --export FOLDER.")
    with closing(Store.read_only(database_url(database))) as store:
        names = (docket,) if docket else store.dockets()
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise LikewiseError(f"Say which docket; the database has: {listed}.")
        return evidence.evidence_of(store, names[0], personal=personal)


def _trust(
    keys: Sequence[str], member_keys: Sequence[str], authority: Path | None,
    witnesses: Sequence[str],
) -> tuple[KnownKeys | None, governance.Trusted]:  # fmt: skip
    """Read keys and certificates that the verifier has from elsewhere."""
    members: dict[str, tuple[str, ...]] = {}
    for text in member_keys:
        name, _, key = text.rpartition("=")
        if not name:
            raise LikewiseError(f"{text!r} does not say whose key it is. Write NAME=KEY.")
        public = signatures.PublicKey(key.strip().lower()).text
        members[name] = (*members.get(name, ()), public)
    roots = [] if authority is None else signatures.read_certificates(authority)
    trusted = governance.Trusted(members, roots, tuple(map(notes.Verifier.of_witness, witnesses)))
    return KnownKeys.named(keys) if keys else None, trusted


def _exported(
    folder: Path | None, keys: KnownKeys | None, ledger: evidence.Evidence
) -> ExportCheck:
    """Check an export's own signature, and that the ledger's key is one that was named.

    A database has no signature of its own, nor has a ledger without its folder; if a key is
    named, the latter is a fault.
    """
    check = ExportCheck(False, (), "")
    if folder is not None:
        place = folder if folder.is_dir() else folder / "without"
        check = check_manifest(place, ledger.records, keys)
    last = ["", *receipts.keys_in(ledger.records).keys][-1]
    if keys is None or last in keys.keys:
        return check
    fault = f"Its receipts are signed by the key {last or '(none)'}, which is none that you named."
    return replace(check, signed=False, faults=(*check.faults, fault))


def export(store: Store, docket: str, folder: Path, *, personal: bool, seed: bool) -> list[Path]:
    with _refusals():
        ledger = evidence.evidence_of(store, docket)
    return write_export(ledger, folder, store.keys, personal=personal, seed=seed)


def replayed(
    docket: str | None, database: str | None, folder: Path | None, snapshot: bool, **trust: Any
) -> evidence.Replayed:
    """Replay a ledger, and check an export's signature, and a snapshot if asked to."""
    with _refusals():
        ledger = _evidence(docket, database, folder)
        if docket not in (None, ledger.docket):
            raise LikewiseError(f"{folder} holds the docket {ledger.docket!r}, not {docket!r}.")
        keys, trusted = _trust(**trust)
        findings = replay.replay_evidence(ledger, trusted)
        certificates.add_certificate(findings)
        exported = _exported(folder, keys, ledger)
        faults = [evidence.Difference(0, "export", f, "as signed.") for f in exported.faults]
        findings.differences[:0] = faults
        if exported.sentence:
            (findings.kept if exported.signed else findings.unkept).append(exported.sentence)
        if snapshot:
            if folder is not None or database is None:
                raise LikewiseError("Snapshots are in a database: give --database.")
            _check_snapshot(findings, ledger.docket, database)
    return findings


def _check_snapshot(findings: evidence.Replayed, docket: str, database: str) -> None:
    """Add to the findings whether the snapshot says what the records say."""
    with closing(Store.read_only(database_url(database))) as store:
        check = check_snapshot(store, docket)
    if check is None:
        remedy = "a server would read the ledger itself."
        findings.kept.append(f"There is no snapshot of this version; {remedy}")
    elif not check.differing:
        findings.kept.append(f"The snapshot at record {check.seq:,} says what the records say.")
    else:
        fault = f"the snapshot says otherwise about {', '.join(check.differing)}."
        mend = "what the records say. Stop the servers, and delete the docket's rows in snapshots."
        findings.differences.append(evidence.Difference(check.seq, "snapshot", fault, mend))


def findings_json(findings: evidence.Replayed) -> dict[str, Any]:
    return {
        "docket": findings.receipt.docket, "receipt": str(findings.receipt),
        **{name: getattr(findings, name) for name in COUNTS},
        "differences": [asdict(difference) for difference in findings.differences],
    }  # fmt: skip


def verify(proofs: Sequence[str], database: str | None, folder: Path | None, **trust: Any) -> int:
    """Print what holds and what does not; return the exit status."""
    outcomes, checkpoints, documents = [HOLDS], list[notes.Checkpoint](), list[dict[str, Any]]()
    consistencies = list[notes.ConsistencyProof]()
    with _refusals():
        keys, trusted = _trust(**trust)
        for proof in proofs:
            text = Path(proof).read_text(encoding="utf-8") if os.path.isfile(proof) else proof
            document = _document(text)
            if document.get("format") in DOCUMENTS:
                documents.append(document)
            elif document.get("format") == ACKNOWLEDGEMENT:
                if fault := receipts.document_fault("acknowledgement", document, keys):
                    click.echo(f"THE ACKNOWLEDGEMENT DOES NOT HOLD. {fault}")
                    outcomes.append(FAILS)
                    continue
                click.echo("THE ACKNOWLEDGEMENT HOLDS: it is as it was given.")
                checkpoints.append(notes.Checkpoint.parse(str(document.get("receipt"))))
            elif text.startswith("old "):
                consistencies.append(notes.ConsistencyProof.parse(text))
            else:
                checkpoints += _receipts_in(text)
        if FAILS in outcomes:
            return FAILS
        checkpoints += [proof.checkpoint for proof in consistencies]
        ledger = None
        if (folder or database) is not None or not (documents or len(checkpoints) > 1):
            dockets = [r.docket for r in checkpoints] + [str(d["docket"]) for d in documents]
            docket = dockets[0] if dockets else None
            ledger = _evidence(docket, database, folder, personal=bool(documents))
        outcomes += [_print_document(document, keys, ledger) for document in documents]
        if checkpoints or not documents:
            known = keys or receipts.keys_in(() if ledger is None else ledger.records)
            alone = ledger is None
            outcomes.append(_print_contradictions(checkpoints, consistencies, known, alone=alone))
            if ledger is not None:
                outcomes.append(_print_receipts(ledger, checkpoints, known))
                outcomes.append(_print_ledger(ledger, trusted, _exported(folder, keys, ledger)))
    return FAILS if FAILS in outcomes else max(outcomes)


def _document(text: str) -> dict[str, Any]:
    """Return a JSON object in one of our formats, or an empty one.

    One that cannot have been signed is refused, and not mistaken for the receipt in it.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    formats = (*DOCUMENTS, ACKNOWLEDGEMENT)
    if not isinstance(document, dict) or document.get("format") not in formats:
        return {}
    canonical(document)
    return document


def _receipts_in(text: str) -> list[notes.Checkpoint]:
    """Read receipts one after another, or in the lines of an anchor's file."""
    if text.lstrip().startswith("{"):
        try:
            lines = [json.loads(line)["receipt"] for line in text.splitlines() if line.strip()]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise LikewiseError(f"{text[:80]!r} holds no receipts ({error}).") from error
        return [notes.Checkpoint.parse(str(line)) for line in lines]
    parts = text.replace("\r\n", "\n").strip().split("\n\n")
    if len(parts) % 2:
        parts.append("")  # a receipt without signatures is refused below
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [notes.Checkpoint.parse(f"{body}\n\n{lines}\n") for body, lines in pairs]


def _print_document(
    document: dict[str, Any], keys: KnownKeys | None, ledger: evidence.Evidence | None
) -> int:
    """Print whether a packet or certificate is as it was given, and follows from the ledger."""
    name, check = DOCUMENTS[document["format"]]
    try:
        faults = check(document, keys, ledger)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        faults = [f"It has not the parts that it should have ({type(error).__name__}: {error})."]
    for fault in faults:
        click.echo(f"THE {name} DOES NOT HOLD. {fault}")
    if not faults:
        key = f"the key {document['key']}" + (", which you named" if keys else "")
        derived = "" if ledger is None else ", and every part of it follows from the ledger"
        click.echo(f"THE {name} HOLDS. It is as it was given, signed by {key}{derived}.")
    return FAILS if faults else HOLDS


def _print_contradictions(
    checkpoints: list[notes.Checkpoint], consistencies: list[notes.ConsistencyProof],
    keys: KnownKeys, *, alone: bool,
) -> int:  # fmt: skip
    """Print what signed receipts and proofs show of each other; unsigned ones may be made up."""
    signed = [receipt for receipt in checkpoints if keys.judge(receipt) == "signed"]
    for receipt in checkpoints if alone else ():
        if keys.judge(receipt) != "signed":
            number = f"of {receipt.size:,} records"
            click.echo(f"THIS IS NO RECEIPT TO GO BY, {number}. {keys.sentence(receipt)}")
    consistencies = [proof for proof in consistencies if keys.judge(proof.checkpoint) == "signed"]
    pairs = receipts.contradictions(signed)
    for first, second in pairs:
        click.echo(
            f"TWO LEDGERS WERE SHOWN. Both of these are of {first.size:,} records of "
            f"{first.docket!r}, and differ:\n{first}\n{second}\n"
            f"  {keys.sentence(first)}\n  {keys.sentence(second)}"
        )
    outcomes = [
        FAILS if pairs else HOLDS,
        UNKNOWN if len(signed) < len(checkpoints) else HOLDS,
        *(_print_consistency(proof, signed) for proof in consistencies),
    ]
    if alone and not pairs and not consistencies:
        names = sorted({receipt.origin for receipt in checkpoints})
        click.echo(
            f"No two receipts of one ledger contradict each other; these are of "
            f"{', '.join(names)}. Receipts of different sizes are compared by a proof that the "
            f"ledger only grew, or by the ledger: --database or --export."
        )
        return UNKNOWN
    return FAILS if FAILS in outcomes else max(outcomes)


def _print_consistency(proof: notes.ConsistencyProof, checkpoints: list[notes.Checkpoint]) -> int:
    """Print whether the ledger of a later receipt begins with all records of earlier ones."""
    later, outcome = proof.checkpoint, UNKNOWN
    for receipt in checkpoints:
        if (receipt.origin, receipt.size) == (later.origin, proof.old) and receipt != later:
            holds = proof.extends(receipt)
            outcome = FAILS if not holds or outcome == FAILS else HOLDS
            click.echo(
                f"THE PROOF HOLDS: the {later.size:,} records begin with the {proof.old:,} of the "
                f"other receipt." if holds else
                f"THE PROOF DOES NOT HOLD: it does not show that the {later.size:,} records begin "
                f"with the {proof.old:,} of the other receipt. Ask for another; if there is none, "
                f"TWO LEDGERS WERE SHOWN."
            )  # fmt: skip
    if outcome == UNKNOWN:
        click.echo(f"The proof is for a receipt of {proof.old:,} records: name that one too.")
    return outcome


def _print_receipts(
    ledger: evidence.Evidence, checkpoints: list[notes.Checkpoint], keys: KnownKeys
) -> int:
    verdicts = receipts.verify_all(ledger, checkpoints, keys)
    for verdict in verdicts:
        verb = "HOLDS" if verdict.holds else "DOES NOT HOLD"
        headline = f"THE RECEIPT {verb}." if verdict.counts else "THIS IS NO RECEIPT TO GO BY."
        click.echo(f"{headline} {verdict.sentence} {keys.sentence(verdict.receipt)}")
    signed = {verdict.holds for verdict in verdicts if verdict.signature == "signed"}
    if len(signed) > 1:
        click.echo(
            "TWO LEDGERS WERE SHOWN, or this one was rewritten: receipts that the installation "
            "signed hold and do not hold."
        )
    if any(verdict.counts and not verdict.holds for verdict in verdicts):
        return FAILS
    return HOLDS if all(verdict.counts for verdict in verdicts) else UNKNOWN


def _print_ledger(
    ledger: evidence.Evidence, trusted: governance.Trusted, exported: ExportCheck
) -> int:
    """Print whether the ledger's own records, signatures, anchors and actors hold."""
    checks = governance.GovernanceChecks(ledger, trusted)
    faults = [f"Record {seq:,}: {why}" for seq, why in ledger.unreadable.items()]
    for record, difference in evidence.walked(ledger):
        faults += [] if difference is None else [str(difference)]
        faults += map(str, checks.take(record))
    faults += map(str, ledger.stored_faults())
    proved, unproved = checks.report()
    faults[:0] = exported.faults
    if exported.sentence:
        (proved if exported.signed else unproved).append(exported.sentence)
    if faults:
        click.echo("THE LEDGER DOES NOT HOLD.")
    else:
        click.echo(
            f"THE LEDGER HOLDS IN ITSELF: its {len(ledger.records):,} records are as they were "
            f"hashed, and whoever acted, signatures and anchors fit them. Decisions are taken "
            f"again by likewise replay."
        )
    for fault in faults[: evidence.PRINTED]:
        click.echo(f"DOES NOT HOLD: {fault}")
    if len(faults) > evidence.PRINTED:
        click.echo(f"… and {len(faults) - evidence.PRINTED:,} more.")
    for title, lines in (("Shown:", proved), ("Not shown:", unproved)):
        if lines:
            click.echo("\n".join((title, *(f"  {line}" for line in lines))))
    return FAILS if faults else HOLDS
