"""``likewise replay``, ``likewise verify`` and ``likewise export``: proofs about a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.service.serve import without_password

if TYPE_CHECKING:
    from likewise.service.verification.evidence import Evidence
    from likewise.service.verification.findings import Replayed
    from likewise.service.verification.keeping.witnesses import Trusted
    from likewise.service.verification.known_keys import KnownKeys
    from likewise.service.verification.manifest import ExportCheck

__all__ = ["export", "replay", "verify"]

FOLDER = click.Path(exists=True, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _ledger(command: Callable[..., None]) -> Callable[..., None]:
    """Where the ledger is, in a database or an export; and what the verifier has from elsewhere."""
    for option in (
        click.option(
            "--authority", type=FILE, metavar="FILE",
            help="Certificates (PEM) of the authority whose time-stamps anchor the ledger.",
        ),
        click.option(
            "--member-key", "member_keys", multiple=True, metavar="NAME=KEY",
            help="A key that a member publishes. Any number of times.",
        ),
        click.option(
            "--key", "keys", multiple=True, metavar="KEY",
            help="A key that the installation publishes. Any number of times.",
        ),
        click.option(
            "--export", "folder", type=FOLDER,
            help="A folder that `likewise export` wrote, or a ledger.jsonl.",
        ),
        click.option(
            "--database", metavar="URL", envvar="LIKEWISE_DATABASE", callback=without_password,
            help="A file, or postgresql://USER@HOST/NAME.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(short_help="Take every decision of a ledger again, and compare.")
@click.argument("docket", required=False)
@_ledger
@click.option(
    "--snapshot", is_flag=True,
    help="Compute the snapshot in the database again too, from which a server would start.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def replay(
    docket: str | None, database: str | None, folder: Path | None, snapshot: bool, as_json: bool,
    **known: Any,
) -> None:  # fmt: skip
    """Rebuild the learner from a ledger; check the chain and every decision, say what differs.

    Signatures, anchors and who acted are checked too. Exits with 0 if the ledger holds, with 1 if
    it does not, with 2 if it could not be looked at.
    """
    evidence = _evidence(docket, database, folder)
    if docket not in (None, evidence.docket):
        raise click.UsageError(f"{folder} holds the docket {evidence.docket!r}, not {docket!r}.")
    keys, trusted = _known(**known)
    exported = _exported(folder, keys)
    from likewise.service.verification.findings import Difference
    from likewise.service.verification.replay import replay_evidence

    found = replay_evidence(evidence, trusted)
    if exported is not None:
        found.differences[:0] = [Difference(0, "export", f, "as signed.") for f in exported.faults]
        if exported.sentence:
            (found.kept if exported.signed else found.unkept).append(exported.sentence)
    if snapshot:
        _check_snapshot(found, evidence.docket, database, folder)
    if as_json:
        click.echo(json.dumps(_plain(found), ensure_ascii=False, indent=2))
    else:
        click.echo(found.text())
    _end(found.holds)


@click.command(short_help="Check a ledger against receipts, anchors and signatures.")
@click.option(
    "--head", "heads", multiple=True, metavar="RECEIPT",
    help="A line that somebody was given. Any number of times, from any number of people.",
)  # fmt: skip
@click.option(
    "--heads", "files", multiple=True, type=FILE, metavar="FILE",
    help="A file of such lines, such as an anchor's.",
)  # fmt: skip
@click.option(
    "--acknowledgement", "said", type=FILE, metavar="FILE",
    help="A file that a member was given in the console.",
)  # fmt: skip
@click.option("--packet", "packet_file", type=FILE, metavar="FILE", help="The file of a decision.")
@_ledger
def verify(
    heads: tuple[str, ...], files: tuple[Path, ...], packet_file: Path | None,
    said: Path | None, database: str | None, folder: Path | None, **known: Any,
) -> None:  # fmt: skip
    """Is the ledger, up to every receipt, still the one that the receipt was given for?

    Receipts are checked against each other too, so that two ledgers shown to two people are found;
    and so are all signatures and anchors in the ledger. Exits with 0 if all holds, with 1 if
    something does not, with 2 if it could not be looked at, or a receipt is none.
    """
    from likewise.cli.service.verdicts import (
        print_packet,
        print_verdicts,
        read_acknowledgement,
        read_heads,
    )

    keys, trusted = _known(**known)
    receipts = read_heads(heads, files)
    if said is not None:
        receipts.append(read_acknowledgement(said, keys))
    if packet_file is not None:
        found = None
        if folder is not None or database is not None:
            found = _evidence(_packet_docket(packet_file), database, folder)
        raise SystemExit(print_packet(packet_file, keys, found))
    if folder is None and database is None and len(receipts) > 1:
        raise SystemExit(print_verdicts(None, receipts, keys, trusted))
    wanted = receipts[0].docket if receipts and folder is None else None
    evidence = _evidence(wanted, database, folder, personal=False)
    exported = _exported(folder, keys)
    raise SystemExit(print_verdicts(evidence, receipts, keys, trusted, exported))


@click.command(short_help="Write a docket's ledger to a folder.")
@click.argument("docket")
@click.option(
    "--database", metavar="URL", envvar="LIKEWISE_DATABASE", required=True,
    callback=without_password,
    help="A file, or postgresql://USER@HOST/NAME.",
)  # fmt: skip
@click.option(
    "--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path),
    help="A folder that is empty, or not there yet.",
)  # fmt: skip
@click.option("--personal", is_flag=True, help="With features and reasons, which are personal.")
@click.option(
    "--seed", is_flag=True,
    help="With the seed, though it is not published: who has it knows the draws to come.",
)  # fmt: skip
def export(docket: str, database: str, folder: Path, personal: bool, seed: bool) -> None:
    """Write a docket's ledger to a folder, from which it can be replayed elsewhere.

    The folder is complete in itself, and signed: `likewise verify --export FOLDER` checks it.
    """
    evidence = _evidence(docket, database, None)
    from likewise.service.ledger.store import Store
    from likewise.service.settings import database_url
    from likewise.service.verification.export import write_export

    store = Store.open(database_url(database), create=False)
    try:
        written = write_export(evidence, folder, personal=personal, seed=seed, keys=store.keys)
    finally:
        store.close()
    for path in written:
        click.echo(f"{path}  ({path.stat().st_size:,} bytes)")
    if not personal:
        click.echo("Without features; replay from here checks the chain, panels and lottery only.")


def _check_snapshot(
    found: Replayed, docket: str, database: str | None, folder: Path | None
) -> None:
    """Add to the findings if the snapshot says what the records say."""
    from likewise.service.dockets.snapshot_check import check_snapshot
    from likewise.service.ledger.store import Store
    from likewise.service.settings import database_url
    from likewise.service.verification.findings import Difference

    if folder is not None or database is None:
        raise click.UsageError("Snapshots are in a database: give --database, without --export.")
    store = Store.read_only(database_url(database))
    try:
        checked = check_snapshot(store, docket)
    finally:
        store.close()
    if checked is None:
        found.kept.append("There is no snapshot; a server would read the ledger itself.")
    elif not checked.differing:
        found.kept.append(f"The snapshot at record {checked.seq:,} says what the records say.")
    else:
        wrong = f"the snapshot says otherwise about {', '.join(checked.differing)}."
        mend = "what the records say. Stop the servers, and delete the docket's rows in snapshots."
        found.differences.append(Difference(checked.seq, "snapshot", wrong, mend))


def _packet_docket(path: Path) -> str:
    from likewise.errors import LikewiseError
    from likewise.service.verification.packets.packet import read_packet

    try:
        return str(read_packet(path.read_text(encoding="utf-8")).get("docket"))
    except (LikewiseError, UnicodeDecodeError) as error:
        raise click.UsageError(str(error)) from error


def _known(
    keys: tuple[str, ...], member_keys: tuple[str, ...], authority: Path | None
) -> tuple[KnownKeys | None, Trusted]:
    """Keys and certificates that the verifier has from elsewhere."""
    from likewise.errors import LikewiseError
    from likewise.service.ledger.signing.signatures import PublicKey
    from likewise.service.ledger.signing.timestamps import read_certificates
    from likewise.service.verification.keeping.witnesses import Trusted
    from likewise.service.verification.known_keys import KnownKeys

    try:
        named = KnownKeys.named(keys) if keys else None
        pairs = [text.rpartition("=") for text in member_keys]
        if odd := [text for text, (name, _, _) in zip(member_keys, pairs, strict=True) if not name]:
            raise LikewiseError(f"{odd[0]!r} does not say whose key it is. Write NAME=KEY.")
        members = {name: PublicKey(key.strip().lower()).text for name, _, key in pairs}
        roots = [] if authority is None else read_certificates(authority)
    except LikewiseError as error:
        raise click.UsageError(str(error)) from error
    return named, Trusted(members, roots)


def _exported(folder: Path | None, keys: KnownKeys | None) -> ExportCheck | None:
    """The verdict on an export's own signature; none for a database or a ledger alone."""
    from likewise.service.verification.manifest import check_manifest

    return None if folder is None or not folder.is_dir() else check_manifest(folder, keys)


def _evidence(
    docket: str | None, database: str | None, folder: Path | None, *, personal: bool = True
) -> Evidence:
    """The ledger, wherever it is; one that cannot be looked at is neither proved nor refuted."""
    from likewise.errors import LikewiseError

    if folder is None and database is None:
        raise click.UsageError("Say where the ledger is: --database URL, or --export FOLDER.")
    try:
        if folder is not None:
            from likewise.service.verification.export import read_export

            return read_export(folder)
        from likewise.service.ledger.store import Store
        from likewise.service.settings import database_url
        from likewise.service.verification.evidence import evidence_of

        store = Store.read_only(database_url(str(database)))
        try:
            name = docket or _only_docket(store.dockets())
            return evidence_of(store, name, personal=personal)
        finally:
            store.close()
    except LikewiseError as error:
        raise click.UsageError(str(error)) from error


def _only_docket(names: tuple[str, ...]) -> str:
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        raise click.UsageError(f"Say which docket; the database has: {listed}.")
    return names[0]


def _plain(found: Any) -> dict[str, Any]:
    from dataclasses import asdict

    counts = ("rounds", "decisions", "skipped", "draws", "audits", "repeats", "ended",
              "payloads", "seed")  # fmt: skip
    return {
        "docket": found.receipt.docket, "receipt": str(found.receipt), "holds": found.holds,
        **{name: getattr(found, name) for name in counts},
        "erased": found.erased, "wholly": found.wholly, "proved": found.proved,
        "unproved": found.unproved,
        "differences": [asdict(difference) for difference in found.differences],
    }  # fmt: skip


def _end(holds: bool) -> None:
    if not holds:
        raise SystemExit(1)
