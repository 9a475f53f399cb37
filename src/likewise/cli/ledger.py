"""``likewise replay``, ``likewise verify`` and ``likewise export``: proofs about a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import main
from likewise.cli.serve import without_password

if TYPE_CHECKING:
    from likewise.service.verification.evidence import Evidence

__all__ = ["export", "replay", "verify"]

FOLDER = click.Path(exists=True, path_type=Path)


def _ledger(command: Callable[..., None]) -> Callable[..., None]:
    """Where the ledger is: in a database, or in an export."""
    command = click.option(
        "--export",
        "folder",
        type=FOLDER,
        help="A folder that `likewise export` wrote, or a ledger.jsonl.",
    )(command)
    return click.option(
        "--database", metavar="URL", envvar="LIKEWISE_DATABASE", callback=without_password,
        help="A file, or postgresql://USER@HOST/NAME.",
    )(command)  # fmt: skip


@main.command(short_help="Take every decision of a ledger again, and compare.")
@click.argument("docket", required=False)
@_ledger
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def replay(docket: str | None, database: str | None, folder: Path | None, as_json: bool) -> None:
    """Rebuild the learner from a ledger, check the chain and every decision, say what differs.

    Exits with 0 if the ledger holds, with 1 if it does not, with 2 if it could not be looked at.
    """
    evidence = _evidence(docket, database, folder)
    if docket not in (None, evidence.docket):
        raise click.UsageError(f"{folder} holds the docket {evidence.docket!r}, not {docket!r}.")
    from likewise.service.verification.replay import replay_evidence

    found = replay_evidence(evidence)
    if as_json:
        click.echo(json.dumps(_plain(found), ensure_ascii=False, indent=2))
    else:
        click.echo(found.text())
    _end(found.holds)


@main.command(short_help="Check a ledger against a receipt.")
@click.option(
    "--head", "receipt", required=True, metavar="RECEIPT", help="The line you were given."
)
@_ledger
def verify(receipt: str, database: str | None, folder: Path | None) -> None:
    """Is the ledger, up to a receipt, still the one that the receipt was given for?

    Exits with 0 if it is, with 1 if it is not, with 2 if it could not be looked at.
    """
    from likewise.errors import LikewiseError
    from likewise.service.ledger.records import Receipt
    from likewise.service.verification.receipts import verify as verified

    try:
        given = Receipt.parse(receipt)
    except LikewiseError as error:
        raise click.UsageError(str(error)) from error
    result = verified(_evidence(given.docket, database, folder), given)
    verdict = "THE RECEIPT HOLDS." if result.holds else "THE RECEIPT DOES NOT HOLD."
    click.echo(f"{verdict} {result.sentence}")
    _end(result.holds)


@main.command(short_help="Write a docket's ledger to a folder.")
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
    """Write a docket's ledger to a folder, from which it can be replayed elsewhere."""
    evidence = _evidence(docket, database, None)
    from likewise.service.verification.export import write_export

    for path in write_export(evidence, folder, personal=personal, seed=seed):
        click.echo(f"{path}  ({path.stat().st_size:,} bytes)")
    if not personal:
        click.echo("Without features; replay from here checks the chain, panels and lottery only.")


def _evidence(docket: str | None, database: str | None, folder: Path | None) -> Evidence:
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
            return evidence_of(store, docket or _only_docket(store.dockets()))
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
        "erased": found.erased, "wholly": found.wholly, "unproved": found.unproved,
        "differences": [asdict(difference) for difference in found.differences],
    }  # fmt: skip


def _end(holds: bool) -> None:
    if not holds:
        raise SystemExit(1)
