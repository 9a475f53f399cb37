"""Verdicts of ``likewise verify``: receipts against a ledger, and against each other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from likewise.service.ledger.records import Receipt
    from likewise.service.verification.evidence import Evidence
    from likewise.service.verification.keeping.witnesses import Trusted
    from likewise.service.verification.known_keys import KnownKeys
    from likewise.service.verification.manifest import ExportCheck
    from likewise.service.verification.receipts import Verified

__all__ = ["print_packet", "print_verdicts", "read_acknowledgement", "read_heads"]

HOLDS, FAILS, UNKNOWN = 0, 1, 2
SHOWN = 20


def read_heads(heads: Iterable[str], files: Iterable[Path]) -> list[Receipt]:
    """The receipts that were given, one by one and in files; lines may be those of an anchor."""
    from likewise.errors import LikewiseError
    from likewise.service.ledger.records import Receipt

    try:
        found = [Receipt.parse(head) for head in heads]
        for path in files:
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.strip():
                    found.append(Receipt.parse(_receipt_in(line)))
    except (LikewiseError, UnicodeDecodeError) as error:
        raise click.UsageError(str(error)) from error
    return found


def read_acknowledgement(path: Path, keys: KnownKeys | None) -> Receipt:
    """The receipt of what a member was given; one that was changed ends with 1."""
    from likewise.errors import LikewiseError
    from likewise.service.verification.acknowledgements import check_acknowledgement

    try:
        receipt, faults = check_acknowledgement(path.read_text(encoding="utf-8"), keys)
    except (LikewiseError, UnicodeDecodeError) as error:
        raise click.UsageError(str(error)) from error
    for fault in faults:
        click.echo(f"THE ACKNOWLEDGEMENT DOES NOT HOLD. {fault}")
    if faults:
        raise SystemExit(FAILS)
    click.echo("THE ACKNOWLEDGEMENT HOLDS: it is as it was given.")
    return receipt


def _receipt_in(line: str) -> str:
    if not line.lstrip().startswith("{"):
        return line
    try:
        return str(json.loads(line)["receipt"])
    except (ValueError, KeyError, TypeError):
        return line


def print_verdicts(
    evidence: Evidence | None,
    receipts: list[Receipt],
    keys: KnownKeys | None,
    trusted: Trusted,
    exported: ExportCheck | None = None,
) -> int:
    """Say what holds and what does not; the exit status."""
    from likewise.service.verification.known_keys import KnownKeys, keys_in

    known = keys or (KnownKeys({}) if evidence is None else keys_in(evidence.records))
    outcomes = [_against_each_other(receipts, known, alone=evidence is None)]
    if evidence is not None:
        outcomes.append(_against_ledger(evidence, receipts, known))
        outcomes.append(_keeping(evidence, trusted, exported))
    return FAILS if FAILS in outcomes else max(outcomes)


def print_packet(path: Path, keys: KnownKeys | None, evidence: Evidence | None) -> int:
    """Say if the file of a decision is as it was given, and follows from the ledger."""
    from likewise.errors import LikewiseError
    from likewise.service.verification.packets.packet import check_packet, read_packet

    try:
        packet = read_packet(path.read_text(encoding="utf-8"))
        faults = check_packet(packet, keys, evidence)
    except (LikewiseError, UnicodeDecodeError) as error:
        raise click.UsageError(str(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        faults = [f"It has not the parts that a packet has ({type(error).__name__}: {error})."]
    for fault in faults:
        click.echo(f"THE PACKET DOES NOT HOLD. {fault}")
    if not faults:
        by = f"the key {packet['key']}" + (", which you named" if keys else "")
        derived = "" if evidence is None else ", and every part of it follows from the ledger"
        click.echo(f"THE PACKET HOLDS. It is as it was given, signed by {by}{derived}.")
    return FAILS if faults else HOLDS


def _against_each_other(receipts: list[Receipt], known: KnownKeys, *, alone: bool) -> int:
    from likewise.service.verification.receipts import contradictions

    counted = [r for r in receipts if known.judge(r) in ("signed", "not signed")]
    found = contradictions(receipts if alone and not known.keys else counted)
    for one, other in found:
        click.echo(
            f"TWO LEDGERS WERE SHOWN. Both of these are of record {one.head.seq:,} of "
            f"{one.docket!r}, and differ:\n  {one}\n  {other}"
        )
        for receipt in (one, other):
            click.echo(f"  {known.sentence(receipt)}")
    if found:
        return FAILS
    if alone:
        click.echo(
            "No two receipts contradict each other. Receipts of different numbers can be compared "
            "with the ledger only: --database or --export."
        )
        return UNKNOWN
    return HOLDS


def _against_ledger(evidence: Evidence, receipts: list[Receipt], known: KnownKeys) -> int:
    from likewise.service.verification.receipts import verify_all

    verdicts = verify_all(evidence, receipts, known)
    for one in verdicts:
        click.echo(f"{_words(one)} {one.sentence} {known.sentence(one.receipt)}")
    genuine = [v for v in verdicts if v.signature == "signed"]
    if any(v.holds for v in genuine) and any(not v.holds for v in genuine):
        click.echo(
            "TWO LEDGERS WERE SHOWN, or this one was rewritten: receipts that the installation "
            "signed hold and do not hold."
        )
    if any(not one.holds and one.counts for one in verdicts):
        return FAILS
    return HOLDS if all(one.counts for one in verdicts) else UNKNOWN


def _words(one: Verified) -> str:
    if not one.counts:
        return "THIS IS NO RECEIPT TO GO BY."
    return "THE RECEIPT HOLDS." if one.holds else "THE RECEIPT DOES NOT HOLD."


def _keeping(evidence: Evidence, trusted: Trusted, exported: ExportCheck | None) -> int:
    """Chain, signatures, anchors and actors of the ledger itself."""
    from likewise.service.verification.evidence import walked
    from likewise.service.verification.keeping.witnesses import Witnesses

    witnesses, wrong = Witnesses(evidence, trusted), []
    wrong += [f"Record {seq:,}: {why}" for seq, why in evidence.unreadable.items()]
    for record, fault in walked(evidence):
        wrong += [] if fault is None else [str(fault)]
        wrong += map(str, witnesses.take(record))
    faults = [] if exported is None else list(exported.faults)
    if wrong or faults:
        click.echo("THE LEDGER DOES NOT HOLD.")
    else:
        click.echo(
            f"THE LEDGER HOLDS IN ITSELF: its {len(evidence.records):,} records follow one "
            f"another, and whoever acted, signatures and anchors fit them. Decisions are taken "
            f"again by likewise replay."
        )
    for line in (*faults, *wrong[:SHOWN]):
        click.echo(f"DOES NOT HOLD: {line}")
    if len(wrong) > SHOWN:
        click.echo(f"… and {len(wrong) - SHOWN:,} more.")
    shown, unshown = witnesses.shown(), witnesses.unshown()
    if exported is not None and exported.sentence:
        (shown if exported.signed else unshown).append(exported.sentence)
    for title, lines in (("Shown:", shown), ("Not shown:", unshown)):
        if lines:
            click.echo("\n".join((title, *(f"  {line}" for line in lines))))
    return FAILS if wrong or faults else HOLDS
