"""``likewise replay``, ``likewise verify`` and ``likewise export``: proofs about a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise_service.commands import serve

if TYPE_CHECKING:
    from likewise_service.ledger.store import Store


FOLDER = click.Path(exists=True, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _ledger(command: Callable[..., None]) -> Callable[..., None]:
    """Add options: where the ledger is, and what the verifier has from elsewhere."""
    for option in (
        click.option(
            "--authority", type=FILE, metavar="FILE",
            help="Certificates (PEM) of the authority whose time-stamps anchor the ledger.",
        ),
        click.option(
            "--witness", "witnesses", multiple=True, metavar="KEY",
            help="The verifier key of a witness that sees the ledger grow. Any number of times.",
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
        serve.database_option(metavar="URL", envvar="LIKEWISE_DATABASE"),
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
    **trust: Any,
) -> None:  # fmt: skip
    """Rebuild the learner from a ledger; check every record and every decision, say what differs.

    Signatures, anchors and who acted are checked too. Exits with 0 if the ledger holds, with 1 if
    it does not, with 2 if it could not be read.
    """
    from likewise_service.commands import verdicts

    findings = verdicts.replayed(docket, database, folder, snapshot, **trust)
    if as_json:
        click.echo(json.dumps(verdicts.findings_json(findings), ensure_ascii=False, indent=2))
    else:
        click.echo(findings.text())
    raise SystemExit(verdicts.HOLDS if findings.holds else verdicts.FAILS)


@click.command(short_help="Check a ledger against receipts, anchors and signatures.")
@click.argument("proofs", metavar="[RECEIPT|FILE]...", nargs=-1)
@_ledger
def verify(
    proofs: tuple[str, ...], database: str | None, folder: Path | None, **trust: Any
) -> None:
    """Is the ledger, up to every receipt, still the one that the receipt was given for?

    A FILE holds receipts, one after another or as anchors keep them; or what a member was given in
    the console; the packet of a decision; a certificate, which is computed again; a proof that a
    ledger only grew. Receipts are checked
    against each other too, so that two ledgers shown to two people are found; and so are all
    signatures and anchors in the ledger. Exits with 0 if all holds, with 1 if something does not,
    with 2 if it could not be read, or a receipt is none.
    """
    from likewise_service.commands import verdicts

    raise SystemExit(verdicts.verify(proofs, database, folder, **trust))


@click.command(short_help="Write a docket's ledger, or one decision of it, to a folder.")
@click.argument("docket")
@serve.DATABASE
@click.option(
    "--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path),
    help="A folder that is empty, or not there yet.",
)  # fmt: skip
@click.option(
    "--decision", nargs=2, metavar="ROUND PERSON",
    help="The packet of one decision instead, for the person that it is about.",
)  # fmt: skip
@click.option(
    "--assessment", is_flag=True,
    help="The facts for a fundamental-rights impact assessment instead (EU AI Act, Art. 27).",
)  # fmt: skip
@click.option("--personal", is_flag=True, help="With features and reasons, which are personal.")
@click.option(
    "--seed", is_flag=True,
    help="With the seed, though it is not published: who has it knows the draws to come.",
)  # fmt: skip
def export(
    docket: str, database: str, folder: Path, decision: tuple[str, str] | None, assessment: bool,
    personal: bool, seed: bool,
) -> None:  # fmt: skip
    """Write a docket's ledger to a folder, from which it can be replayed elsewhere.

    The folder is complete in itself, and signed: `likewise verify --export FOLDER` checks it. A
    packet is everything that led to one decision, in words and as JSON, signed. Other people are
    not in it; reasons that members wrote are, in their own words.
    """
    from likewise_service.commands import verdicts

    with serve.opened_store(database) as store:
        if decision is not None or assessment:
            paths = _write_files(store, docket, folder, decision)
        else:
            paths = verdicts.export(store, docket, folder, personal=personal, seed=seed)
    for path in paths:
        click.echo(f"{path}  ({path.stat().st_size:,} bytes)")
    if decision is None and not assessment and not personal:
        click.echo("Without features; replay from here checks records, panels and draws only.")


def _write_files(
    store: Store, docket: str, folder: Path, decision: tuple[str, str] | None
) -> list[Path]:
    """Write the packet of a decision, or without a decision the assessment, to new files."""
    from likewise_service.dockets import assessment
    from likewise_service.dockets.docket import Docket
    from likewise_service.verify.packets import give_packet, packet_words

    names = ("packet.json", "packet.txt") if decision else ("assessment.json", "assessment.md")
    paths = [folder / name for name in names]
    if present := [path for path in paths if path.exists()]:
        raise click.ClickException(f"{present[0]} is there already; name another folder.")
    if decision is not None:
        content = give_packet(Docket(store, docket), *decision)
        words = packet_words(content)
    else:
        content = assessment.assessment(Docket(store, docket))
        words = assessment.assessment_markdown(content)
    folder.mkdir(parents=True, exist_ok=True)
    serve.write_new(paths[0], json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    serve.write_new(paths[1], words)
    return paths


@click.command(short_help="Keys that sign receipts, and keys of members.")
@serve.DATABASE
@click.option("--rotate", is_flag=True, help="Sign with a new key from now on.")
@click.option("--compromised", is_flag=True, help="The old key fell into other hands, or is lost.")
@click.option(
    "--create", "place", metavar="PLACE",
    help="Make a private key in a file that is not there yet, or in pkcs11:…, and print the public "
    "one: a member's, or an installation's (LIKEWISE_INSTALLATION_KEY).",
)  # fmt: skip
@click.option(
    "--log", "docket", metavar="DOCKET",
    help="Print the keys of a docket's log instead, as others' tools and witnesses take them.",
)  # fmt: skip
def key(
    database: str, rotate: bool, compromised: bool, place: str | None, docket: str | None
) -> None:
    """Print the public keys of an installation, the oldest first; the last one is in use.

    When the key is rotated, every ledger says so, and the old key signs the new one; servers that
    are running follow within seconds. A key outside the database (LIKEWISE_INSTALLATION_KEY) is
    followed by the next one of that place, or by a new one there.
    """
    if place is not None:
        click.echo(_create(place))
        return
    if compromised and not rotate:
        raise click.UsageError("--compromised goes with --rotate: a new key takes its place.")
    from likewise_service.dockets.docket import Docket
    from likewise_service.ledger.notes import Verifier

    with serve.opened_store(database) as store:
        if rotate:
            old, new = store.keys.rotate(compromised=compromised)
            click.echo(f"{old.id} has ended; receipts are signed by {new.id}: {new.text}")
            return
        if docket is not None:
            origin = Docket(store, docket).projection.governance.origin
            keys = [key.public for key in store.keys.listed() if key.compromised is None]
            click.echo("\n".join(str(Verifier(origin, public)) for public in keys))
            return
        for listed in store.keys.listed():
            state = f"until {listed.retired}" if listed.retired else "in use"
            if listed.compromised:
                state = f"not to be believed since {listed.compromised}"
            public = listed.public
            click.echo(f"{public.text}  {public.id}  since {listed.created}, {state}")


def _create(place: str) -> str:
    """Make a private key in a place, for its owner alone; return the public one."""
    from likewise_service.ledger.key_places import KeyFile, TokenPlace

    if place.startswith("pkcs11:"):
        return TokenPlace(place).create().public.text
    if Path(place).exists():
        raise click.ClickException(f"{place} is there already; name another file.")
    return KeyFile(Path(place)).create().public.text


@click.command(short_help="A witness of logs: sign receipts of ledgers that only grew.")
@click.option(
    "--name", required=True, help="The witness's name, such as witness.example/w1; it is for good."
)
@click.option(
    "--key", "path", required=True, type=FILE, metavar="FILE",
    help="The witness's private key, from `likewise key --create`.",
)  # fmt: skip
@click.option(
    "--logs", required=True, type=FILE, metavar="FILE",
    help="The verifier keys of the logs, one a line, from `likewise key --log DOCKET`.",
)  # fmt: skip
@click.option(
    "--state", default="witness.db", show_default=True,
    type=click.Path(dir_okay=False, path_type=Path), help="Where the last receipts are kept.",
)  # fmt: skip
@serve.HOST
@serve.PORT
def witness(name: str, path: Path, logs: Path, state: Path, host: str, port: int) -> None:
    """Sign the receipts of logs, each only if its ledger begins with all that was signed before.

    Run it elsewhere than the ledgers, by somebody else (C2SP's tlog-witness). A server sends its
    receipts with LIKEWISE_ANCHORS=witness:URL#KEY, where KEY is what this command prints.
    """
    import uvicorn

    from likewise_service.auth.tokens import read_key
    from likewise_service.ledger.notes import Verifier
    from likewise_service.witness import Witness, witness_app

    lines = [line.strip() for line in logs.read_text(encoding="utf-8").splitlines()]
    verifiers = [Verifier.parse(line) for line in lines if line and not line.startswith("#")]
    witnessing = Witness(name, read_key(path), verifiers, state)
    click.echo(f"Its key: {witnessing.verifier}")
    uvicorn.run(witness_app(witnessing), host=host, port=port, log_level="warning")
