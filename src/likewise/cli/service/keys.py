"""``likewise key``: the installation's key, and keys of members."""

from __future__ import annotations

import os
from pathlib import Path

import click

from likewise.cli.service.serve import DATABASE, opened_store

__all__ = ["key"]


@click.group(short_help="Keys that sign receipts, and keys of members.")
def key() -> None:
    """Keys: the installation's, which signs every receipt, and those of members."""


@key.command("show", short_help="The public keys of an installation.")
@DATABASE
def show(database: str) -> None:
    """Print the public keys, the oldest first; the last one is in use."""
    with opened_store(database) as store:
        store.keys.current()
        for one in store.keys.listed():
            state = f"until {one.retired}" if one.retired else "in use"
            state = f"not to be believed since {one.compromised}" if one.compromised else state
            click.echo(f"{one.public.text}  {one.public.id}  since {one.created}, {state}")


@key.command("rotate", short_help="Sign with a new key from now on.")
@click.option("--compromised", is_flag=True, help="The old key fell into other hands.")
@DATABASE
def rotate(compromised: bool, database: str) -> None:
    """Take a new key into use. Every ledger says so, and the old key signs the new one.

    Servers that are running follow within seconds.
    """
    with opened_store(database) as store:
        old, new = store.keys.rotate(compromised=compromised)
    click.echo(f"{old.id} has ended; receipts are signed by {new.id}: {new.text}")


@key.command("create", short_help="A key of your own, as a member of a panel.")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
def create(path: Path) -> None:
    """Write a new private key to PATH, for you alone, and print the public one to be published."""
    from likewise.service.ledger.signing.signatures import PrivateKey

    made = PrivateKey.fresh()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(made.raw.hex() + "\n")
    click.echo(made.public.text)
