"""``likewise token``, ``docket`` and ``upgrade``: what an operator does at the machine itself."""

from __future__ import annotations

import json
from pathlib import Path

import click

from likewise.cli.main import main
from likewise.cli.service.serve import (
    DATABASE,
    begun_store,
    need_service,
    needed_for,
    opened_store,
)

__all__ = ["docket", "token", "upgrade"]

ROLES = ("operator", "client", "auditor", "regulator")


@main.group(short_help="Tokens of the live system.")
def token() -> None:
    """Tokens, by which people and programs are known to the live system."""


@token.command("create", short_help="A new token, shown once.")
@click.argument("role", type=click.Choice(ROLES))
@click.argument("name")
@click.option("--docket", "docket_name", help="The docket that it is for.")
@DATABASE
def create(role: str, name: str, docket_name: str | None, database: str) -> None:
    """Create a token of ROLE for NAME; an auditor's name is that of a member of the panel."""
    from likewise.errors import LikewiseError

    # Only an operator can be there before everything else.
    store_of = begun_store if role == "operator" else opened_store
    with store_of(database) as store:
        from likewise.service.auth.tokens import ROLES as KNOWN
        from likewise.service.auth.tokens import create_token

        if docket_name is not None and docket_name not in store.dockets():
            raise LikewiseError(f"There is no docket {docket_name!r} in {store.where}.")
        if role == "auditor" and docket_name is not None:
            from likewise.service.dockets.docket import Docket

            members = Docket(store, docket_name).projection.members
            if name not in members:
                raise LikewiseError(
                    f"{name!r} does not sit on the panel of {docket_name!r}; there are "
                    f"{', '.join(members) or 'nobody'}. Add the member first: likewise docket join."
                )
        chosen = next(one for one in KNOWN if one == role)
        made, identity = create_token(store, chosen, name, docket_name)
    click.echo(f"{made}")
    click.echo(f"Shown this once. To revoke it: likewise token revoke {identity.id}", err=True)


@token.command("list", short_help="All tokens, but for the tokens themselves.")
@DATABASE
def list_all(database: str) -> None:
    """List who has a token."""
    with opened_store(database) as store:
        from likewise.service.auth.tokens import list_tokens

        for one in list_tokens(store):
            state = f"revoked {one.revoked}" if one.revoked else "in use"
            where = one.docket or "all dockets"
            click.echo(f"{one.id}  {one.role:<9}  {one.name}  {where}  {one.created}  {state}")


@token.command("revoke", short_help="From now on a token opens nothing.")
@click.argument("token_id", metavar="ID")
@DATABASE
def revoke(token_id: str, database: str) -> None:
    """Revoke the token with that ID, which `likewise token list` shows."""
    with opened_store(database) as store:
        from likewise.service.auth.tokens import revoke_token

        one = revoke_token(store, token_id)
    click.echo(f"{one.id} ({one.role} {one.name}) was revoked at {one.revoked}.")


@main.group(short_help="Dockets of the live system.")
def docket() -> None:
    """Dockets: what is decided on, by which class, under which panel."""


@docket.command("create", short_help="Begin a docket.")
@click.argument("name")
@click.option(
    "--spec", "spec_file", required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Its settings: JSON with title, learner, members, rule, ….",
)  # fmt: skip
@DATABASE
def create_docket(name: str, spec_file: Path, database: str) -> None:
    """Begin the docket NAME; prints the first receipt of its ledger."""
    from likewise.errors import LikewiseError

    with begun_store(database) as store:
        from likewise.service.dockets.commands.rounds import open_docket
        from likewise.service.dockets.spec import DocketSpec

        try:
            data = json.loads(spec_file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise LikewiseError(f"{spec_file} is not JSON: {error}. Correct it.") from error
        if not isinstance(data, dict):
            raise LikewiseError(f"{spec_file} must hold one JSON object.")
        click.echo(str(open_docket(store, name, DocketSpec.from_hand(data))))


@docket.command("scrub", short_help="Empty the database's files of what was erased.")
@DATABASE
def scrub(database: str) -> None:
    """Remove what was erased from the database's own files too; on PostgreSQL it locks a table."""
    with opened_store(database) as store:
        store.scrub()
        click.echo(f"{store.where} holds nothing any more of what was erased from it.")


@main.command(short_help="Bring an older database to this version.")
@DATABASE
def upgrade(database: str) -> None:
    """Bring the tables of a database to the revision that this Likewise needs.

    All of it happens, or nothing; running it again does no harm. Stop the servers and copy the
    database first.
    """
    need_service(*needed_for(database))
    from likewise.service.ledger.store import Store
    from likewise.service.settings import database_url

    before, after = Store.upgrade(database_url(database))
    if before == after:
        click.echo(f"The database has revision {after} already; nothing was changed.")
    else:
        click.echo(f"The database was brought from revision {before} to revision {after}.")
