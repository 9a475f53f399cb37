"""``likewise key``: the installation's key, and keys of members."""

from __future__ import annotations

import os
from pathlib import Path

import click

from likewise.cli.service.serve import DATABASE, opened_store


@click.command(short_help="Keys that sign receipts, and keys of members.")
@DATABASE
@click.option("--rotate", is_flag=True, help="Sign with a new key from now on.")
@click.option("--compromised", is_flag=True, help="The old key fell into other hands.")
@click.option(
    "--create", "path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write a private key of your own, as a member of a panel, and print the public one.",
)  # fmt: skip
def key(database: str, rotate: bool, compromised: bool, path: Path | None) -> None:
    """Print the public keys of an installation, the oldest first; the last one is in use.

    When the key is rotated, every ledger says so, and the old key signs the new one; servers that
    are running follow within seconds.
    """
    if path is not None:
        click.echo(_create(path))
        return
    if compromised and not rotate:
        raise click.UsageError("--compromised goes with --rotate: a new key takes its place.")
    with opened_store(database) as store:
        if rotate:
            old, new = store.keys.rotate(compromised=compromised)
            click.echo(f"{old.id} has ended; receipts are signed by {new.id}: {new.text}")
            return
        store.keys.current()
        for listed in store.keys.listed():
            state = f"until {listed.retired}" if listed.retired else "in use"
            if listed.compromised:
                state = f"not to be believed since {listed.compromised}"
            public = listed.public
            click.echo(f"{public.text}  {public.id}  since {listed.created}, {state}")


def _create(path: Path) -> str:
    """Write a new private key to a file, for its owner alone; return the public one."""
    from likewise.service.ledger.signing.signatures import PrivateKey

    private = PrivateKey.fresh()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(private.raw.hex() + "\n")
    return private.public.text
