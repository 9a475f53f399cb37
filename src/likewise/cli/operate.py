"""``likewise init``, ``backup`` and ``restore``, and what an operator does to a docket's panel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.dockets import docket
from likewise.cli.main import main
from likewise.cli.serve import DATABASE, need_service, needed_for, opened_store

if TYPE_CHECKING:
    from likewise.service.dockets.docket import Docket
    from likewise.service.settings import Settings

__all__ = ["backup", "init", "opened_docket", "restore"]

KIT = ("docket.json", "audit-only.json", "likewise.service", "nginx.conf", "Caddyfile")
SETTINGS = "likewise.env"


@main.command(short_help="A folder with settings and an example, to begin with.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--database", default="likewise.db", show_default=True,
              help="A file, or postgresql://USER@HOST/NAME.")  # fmt: skip
def init(folder: Path, database: str) -> None:
    """Write a commented settings file, example dockets and files for systemd, nginx and Caddy.

    Nothing that is there is overwritten.
    """
    need_service("pydantic_settings")
    from likewise.errors import LikewiseError
    from likewise.service.settings import Settings, database_url

    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in (SETTINGS, *KIT) if (folder / name).exists()]
    if there:
        raise LikewiseError(f"{folder} has {', '.join(there)} already. Name another folder.")
    address = database_url(database)
    if address.startswith("sqlite:///") and not address.startswith("sqlite:////"):
        address = f"sqlite:///{(folder / address.removeprefix('sqlite:///')).resolve()}"
    _write(folder / SETTINGS, _settings_text(Settings, address), 0o600)
    kit = files("likewise.service").joinpath("kit")
    for name in KIT:
        _write(folder / name, kit.joinpath(name).read_text(encoding="utf-8"), 0o644)
    for name in (SETTINGS, *KIT):
        click.echo(str(folder / name))
    click.echo(
        f"Next: set -a; . {folder / SETTINGS}; set +a; likewise docket create loans --spec "
        f"{folder / 'docket.json'}; likewise serve",
        err=True,
    )


def _settings_text(settings: type[Settings], address: str) -> str:
    lines = [
        "# The settings of Likewise, for systemd (EnvironmentFile=) and for the shell:",
        "#   set -a; . ./likewise.env; set +a",
        "# Keep it to yourself: it may hold the password of the database. What is commented out",
        "# has its default.",
        "",
    ]
    for name, field in settings.model_fields.items():
        lines.append(f"# {field.description}")
        value = address if name == "database" else field.default
        lines += [f"{'' if name == 'database' else '#'}LIKEWISE_{name.upper()}={value}", ""]
    return "\n".join(lines)


def _write(path: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)


@main.command(short_help="Copy a whole store to one file, while servers go on.")
@click.option("--to", "path", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="A file that is not there yet.")  # fmt: skip
@DATABASE
def backup(path: Path, database: str) -> None:
    """Write all ledgers, payloads, secrets and tokens to one file, as they are at one moment.

    The file can be verified and replayed by itself (--database FILE), and restored.
    """
    need_service(*needed_for(database))
    from likewise.service.ledger.backups import backup as copied
    from likewise.service.ledger.store import Store
    from likewise.service.settings import database_url

    store = Store.open(database_url(database), create=False)
    try:
        made = copied(store, path)
    finally:
        store.close()
    click.echo(f"{path}  ({path.stat().st_size:,} bytes), as of {made.at}")
    for receipt in made.receipts:
        click.echo(str(receipt))
    click.echo("It holds features, seeds and hashes of tokens: keep it as you keep the database.",
               err=True)  # fmt: skip


@main.command(short_help="Read a backup into an empty database.")
@click.option("--from", "path", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="A file that `likewise backup` wrote.")  # fmt: skip
@DATABASE
def restore(path: Path, database: str) -> None:
    """Read a backup into a database that holds no ledger yet; all of it, or nothing."""
    with opened_store(database) as store:
        from likewise.service.ledger.backups import restore as read_back

        made = read_back(path, store)
        click.echo(f"{store.where} is as it was at {made.at}.")
    for receipt in made.receipts:
        click.echo(str(receipt))
    click.echo("What was acknowledged after that is lost, and its receipts will say so.", err=True)


# ── A docket's panel ─────────────────────────────────────────────────────────────────────────────


@contextmanager
def opened_docket(name: str, database: str) -> Iterator[Docket]:
    """A docket of a database, until the end of the block."""
    with opened_store(database) as store:
        from likewise.service.dockets.docket import Docket

        yield Docket(store, name)


@docket.command("join", short_help="Somebody joins the panel.")
@click.argument("name")
@click.argument("member")
@DATABASE
def join(name: str, member: str, database: str) -> None:
    """Let MEMBER join the panel of docket NAME, for rounds that are sealed from now on."""
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.members import join as joined

        click.echo(str(joined(opened, member)))


@docket.command("leave", short_help="Somebody leaves the panel.")
@click.argument("name")
@click.argument("member")
@DATABASE
def leave(name: str, member: str, database: str) -> None:
    """Let MEMBER leave the panel of docket NAME; rounds that are under way keep them."""
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.members import leave as left

        click.echo(str(left(opened, member)))


@docket.command("rule", short_help="Another rule for the panel.")
@click.argument("name")
@click.argument("rule")
@DATABASE
def rule_(name: str, rule: str, database: str) -> None:
    """Give the panel of docket NAME another RULE, for rounds that are sealed from now on."""
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.members import change_rule

        click.echo(str(change_rule(opened, rule)))


@docket.command("contact", short_help="The e-mail address of a member.")
@click.argument("name")
@click.argument("member")
@click.argument("email")
@DATABASE
def contact(name: str, member: str, email: str, database: str) -> None:
    """Tell MEMBER of docket NAME at EMAIL what awaits them; an empty address ends that."""
    from likewise.errors import LikewiseError

    with opened_docket(name, database) as opened:
        from likewise.service.dockets.notices import keep_contact

        if member not in opened.projection.members:
            raise LikewiseError(f"{member!r} does not sit on the panel of {name!r}.")
        keep_contact(opened.store, name, member, email)
    click.echo(f"{member} is told at {email}." if email else f"{member} is told no more.")


@docket.command("guidelines", short_help="What the panel's members should look for.")
@click.argument("name")
@click.option("--file", "text_file", required=True,
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Plain text; an empty line begins a paragraph.")  # fmt: skip
@DATABASE
def guidelines(name: str, text_file: Path, database: str) -> None:
    """Tell the members of docket NAME what to look for; it is on record what they were told."""
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.members import set_guidelines

        click.echo(str(set_guidelines(opened, text_file.read_text(encoding="utf-8"))))


@docket.command("erase", short_help="Remove what is personal about somebody.")
@click.argument("name")
@click.argument("round_id", metavar="ROUND")
@click.argument("person")
@DATABASE
def erase_(name: str, round_id: str, person: str, database: str) -> None:
    """Erase PERSON of ROUND in docket NAME: features, and the reasons that are about them."""
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.erasure import erase

        click.echo(str(erase(opened, round_id, person)))


@docket.command("learner", short_help="A learner for an audit-only docket.")
@click.argument("name")
@click.option("--spec", "spec_file", required=True,
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Its settings: JSON with hypotheses, k, alpha, eps, ….")  # fmt: skip
@DATABASE
def learner(name: str, spec_file: Path, database: str) -> None:
    """Let a learner decide in docket NAME from the next record on."""
    from likewise.errors import LikewiseError

    try:
        given: Any = json.loads(spec_file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LikewiseError(f"{spec_file} is not JSON: {error}. Correct it.") from error
    if not isinstance(given, dict):
        raise LikewiseError(f"{spec_file} must hold one JSON object.")
    with opened_docket(name, database) as opened:
        from likewise.service.dockets.commands.learners import give_learner

        click.echo(str(give_learner(opened, given)))
