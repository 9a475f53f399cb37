"""``likewise init``, ``backup`` and ``restore``, and what an operator does to a docket's panel."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import main
from likewise.cli.service.dockets import docket
from likewise.cli.service.serve import (
    DATABASE,
    begun_store,
    need_service,
    needed_for,
    opened_store,
    without_password,
)

if TYPE_CHECKING:
    from likewise.service.dockets.docket import Docket
    from likewise.service.settings import Settings

__all__ = ["backup", "docket_command", "init", "restore"]

KIT = ("docket.json", "audit-only.json", "likewise.service", "nginx.conf", "Caddyfile")
SETTINGS = "likewise.env"


@main.command(short_help="A folder with settings and an example, to begin with.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--database", default="likewise.db", show_default=True, callback=without_password,
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
        "# Keep it to yourself: it may hold the password of the database. Values with other signs",
        "# than letters and digits belong in single quotes; in an address, signs of a password are",
        "# written %40 (@), %2F (/), %3A (:), %27 (') and so on. What is commented out has its",
        "# default.",
        "",
    ]
    for name, field in settings.model_fields.items():
        lines.append(f"# {field.description}")
        if name == "database":
            # In quotes, which the shell and systemd both take away: addresses have & and ;.
            lines += ["LIKEWISE_DATABASE='" + address.replace("'", "%27") + "'", ""]
        else:
            lines += [f"#LIKEWISE_{name.upper()}={field.default}", ""]
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
    from likewise.service.ledger.database.backups import backup as copied
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
    with begun_store(database) as store:
        from likewise.service.ledger.database.backups import restore as read_back

        made = read_back(path, store)
        click.echo(f"{store.where} is as it was at {made.at}.")
    for receipt in made.receipts:
        click.echo(str(receipt))
    click.echo("What was acknowledged after that is lost, and its receipts will say so.", err=True)


# ── A docket's panel ─────────────────────────────────────────────────────────────────────────────


def docket_command(name: str, short_help: str) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command of a function on an opened docket; it prints what the function returns."""

    def decorate(act: Callable[..., object]) -> click.Command:
        @docket.command(name, short_help=short_help)
        @click.argument("name")
        @DATABASE
        @wraps(act)
        def command(name: str, database: str, **given: Any) -> None:
            with opened_store(database) as store:
                from likewise.service.dockets.docket import Docket

                click.echo(str(act(Docket(store, name), **given)))

        return command

    return decorate


# A function of likewise.service.dockets.commands.members that takes one text, by its command.
_ON_THE_PANEL = (
    ("join", "member", "join", "Somebody joins the panel.",
     "Let MEMBER join the panel of docket NAME, for rounds that are sealed from now on."),
    ("leave", "member", "leave", "Somebody leaves the panel.",
     "Let MEMBER leave the panel of docket NAME; rounds that are under way keep them."),
    ("rule", "rule", "change_rule", "Another rule for the panel.",
     "Give the panel of docket NAME another RULE, for rounds that are sealed from now on."),
)  # fmt: skip


def _on_the_panel(argument: str, function: str, text: str) -> Callable[..., object]:
    def act(opened: Docket, **given: str) -> object:
        from likewise.service.dockets.commands import members

        return getattr(members, function)(opened, given[argument])

    act.__doc__ = text
    return click.argument(argument)(act)


for _name, _argument, _function, _short, _text in _ON_THE_PANEL:
    docket_command(_name, _short)(_on_the_panel(_argument, _function, _text))


@docket_command("contact", "The e-mail address of a member.")
@click.argument("member")
@click.argument("email")
def contact(opened: Docket, member: str, email: str) -> str:
    """Tell MEMBER of docket NAME at EMAIL what awaits them; an empty address ends that."""
    from likewise.errors import LikewiseError
    from likewise.service.dockets.notices import keep_contact

    if member not in opened.projection.members:
        raise LikewiseError(f"{member!r} does not sit on the panel of {opened.name!r}.")
    keep_contact(opened.store, opened.name, member, email)
    return f"{member} is told at {email}." if email else f"{member} is told no more."


@docket_command("guidelines", "What the panel's members should look for.")
@click.option("--file", "text_file", required=True,
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Plain text; an empty line begins a paragraph.")  # fmt: skip
def guidelines(opened: Docket, text_file: Path) -> object:
    """Tell the members of docket NAME what to look for; it is on record what they were told."""
    from likewise.service.dockets.commands.members import set_guidelines

    return set_guidelines(opened, text_file.read_text(encoding="utf-8"))


@docket_command("erase", "Remove what is personal about somebody.")
@click.argument("round_id", metavar="ROUND")
@click.argument("person")
def erase_(opened: Docket, round_id: str, person: str) -> object:
    """Erase PERSON of ROUND in docket NAME: features, and the reasons that are about them."""
    from likewise.service.dockets.commands.erasure import erase

    return erase(opened, round_id, person)


@docket_command("learner", "A learner for an audit-only docket.")
@click.option("--spec", "spec_file", required=True,
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Its settings: JSON with hypotheses, k, alpha, eps, ….")  # fmt: skip
def learner(opened: Docket, spec_file: Path) -> object:
    """Let a learner decide in docket NAME from the next record on."""
    from likewise.errors import LikewiseError
    from likewise.service.dockets.commands.learners import give_learner

    try:
        given: Any = json.loads(spec_file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LikewiseError(f"{spec_file} is not JSON: {error}. Correct it.") from error
    if not isinstance(given, dict):
        raise LikewiseError(f"{spec_file} must hold one JSON object.")
    return give_learner(opened, given)
