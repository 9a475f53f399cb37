"""``likewise init``, ``upgrade``, ``backup`` and ``restore``: an installation at the machine."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from likewise.cli.service.serve import (
    DATABASE,
    begun_store,
    check_driver,
    opened_store,
    without_password,
)

if TYPE_CHECKING:
    from likewise.service.settings import Settings

KIT = ("docket.json", "audit-only.json", "likewise.service", "nginx.conf", "Caddyfile")
SETTINGS = "likewise.env"
PREAMBLE = """\
# The settings of Likewise, for systemd (EnvironmentFile=) and for the shell:
#   set -a; . ./likewise.env; set +a
# Keep it to yourself: it may hold the password of the database. Values with other signs
# than letters and digits belong in single quotes; in an address, signs of a password are
# written %40 (@), %2F (/), %3A (:), %27 (') and so on. What is commented out has its
# default.
"""


@click.command(short_help="A folder with settings and an example, to begin with.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--database", default="likewise.db", show_default=True, callback=without_password,
              help="A file, or postgresql://USER@HOST/NAME.")  # fmt: skip
def init(folder: Path, database: str) -> None:
    """Write a commented settings file, example dockets and files for systemd, nginx and Caddy.

    No file is overwritten.
    """
    from likewise.errors import LikewiseError
    from likewise.service.settings import Settings, database_url

    folder.mkdir(parents=True, exist_ok=True)
    existing = [name for name in (SETTINGS, *KIT) if (folder / name).exists()]
    if existing:
        raise LikewiseError(f"{folder} has {', '.join(existing)} already. Name another folder.")
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
    lines = [PREAMBLE]
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


@click.command(short_help="Copy a whole store to one file, while servers go on.")
@click.option("--to", "path", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="A file that is not there yet.")  # fmt: skip
@DATABASE
def backup(path: Path, database: str) -> None:
    """Write all ledgers, payloads, secrets and tokens to one file, as they are at one moment.

    The file can be verified and replayed by itself (--database FILE), and restored.
    """
    with opened_store(database) as store:
        from likewise.service.ledger.database.backups import backup as write_backup

        written = write_backup(store, path)
    click.echo(f"{path}  ({path.stat().st_size:,} bytes), as of {written.at}")
    for receipt in written.receipts:
        click.echo(str(receipt))
    click.echo("It holds features, seeds and hashes of tokens: keep it as you keep the database.",
               err=True)  # fmt: skip


@click.command(short_help="Read a backup into an empty database.")
@click.option("--from", "path", required=True, type=click.Path(dir_okay=False, path_type=Path),
              help="A file that `likewise backup` wrote.")  # fmt: skip
@DATABASE
def restore(path: Path, database: str) -> None:
    """Read a backup into a database that holds no ledger yet; all of it, or nothing."""
    with begun_store(database) as store:
        from likewise.service.ledger.database.backups import restore as read_backup

        restored = read_backup(path, store)
        click.echo(f"{store.where} is as it was at {restored.at}.")
    for receipt in restored.receipts:
        click.echo(str(receipt))
    click.echo("What was acknowledged after that is lost, and its receipts will say so.", err=True)


@click.command(short_help="Bring an older database to this version.")
@DATABASE
def upgrade(database: str) -> None:
    """Bring the tables of a database to the revision that this Likewise needs.

    All of it happens, or nothing; running it again does no harm. Stop the servers and copy the
    database first.
    """
    check_driver(database)
    from likewise.service.ledger.store import Store
    from likewise.service.settings import database_url

    before, after = Store.upgrade(database_url(database))
    if before == after:
        click.echo(f"The database has revision {after} already; nothing was changed.")
    else:
        click.echo(f"The database was brought from revision {before} to revision {after}.")
