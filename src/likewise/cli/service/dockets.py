"""``likewise token`` and ``likewise docket``: what an operator does at the machine itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.service.serve import DATABASE, begun_store, opened_store

if TYPE_CHECKING:
    from likewise.service.dockets.docket import Docket

ROLES = ("operator", "client", "auditor", "regulator")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(short_help="Tokens of the live system.")
def token() -> None:
    """Tokens, by which people and programs are known to the live system."""


@token.command("create", short_help="A new token, shown once.")
@click.argument("role", type=click.Choice(ROLES))
@click.argument("name")
@click.option("--docket", "docket_name", help="The docket that it is for.")
@DATABASE
def create(role: Any, name: str, docket_name: str | None, database: str) -> None:
    """Create a token of ROLE for NAME; an auditor's name is that of a member of the panel."""
    from likewise.errors import LikewiseError

    # Only an operator's token may come before everything else.
    store_at = begun_store if role == "operator" else opened_store
    with store_at(database) as store:
        from likewise.service.auth.tokens import create_token
        from likewise.service.dockets.docket import Docket

        if docket_name is not None and docket_name not in store.dockets():
            raise LikewiseError(f"There is no docket {docket_name!r} in {store.where}.")
        if role == "auditor" and docket_name is not None:
            members = Docket(store, docket_name).projection.members
            if name not in members:
                raise LikewiseError(
                    f"{name!r} does not sit on the panel of {docket_name!r}; there are "
                    f"{', '.join(members) or 'nobody'}. Add the member first: likewise docket "
                    f"change {docket_name} --join {name!r}."
                )
        text, identity = create_token(store, role, name, docket_name)
    click.echo(text)
    click.echo(f"Shown this once. To revoke it: likewise token revoke {identity.id}", err=True)


@token.command("list", short_help="All tokens, but for the tokens themselves.")
@DATABASE
def list_all(database: str) -> None:
    """List who has a token."""
    with opened_store(database) as store:
        from likewise.service.auth.tokens import list_tokens

        for owner in list_tokens(store):
            state = f"revoked {owner.revoked}" if owner.revoked else "in use"
            docket = owner.docket or "all dockets"
            click.echo(
                f"{owner.id}  {owner.role:<9}  {owner.name}  {docket}  {owner.created}  {state}"
            )


@token.command("revoke", short_help="From now on a token opens nothing.")
@click.argument("token_id", metavar="ID")
@DATABASE
def revoke(token_id: str, database: str) -> None:
    """Revoke the token with that ID, which `likewise token list` shows."""
    with opened_store(database) as store:
        from likewise.service.auth.tokens import revoke_token

        owner = revoke_token(store, token_id)
    click.echo(f"{owner.id} ({owner.role} {owner.name}) was revoked at {owner.revoked}.")


@click.group(short_help="Dockets of the live system.")
def docket() -> None:
    """Dockets: what is decided on, by which class, under which panel."""


def _json_object(path: Path) -> dict[str, Any]:
    from likewise.errors import LikewiseError

    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LikewiseError(f"{path} is not JSON: {error}. Correct it.") from error
    if not isinstance(content, dict):
        raise LikewiseError(f"{path} must hold one JSON object.")
    return content


@docket.command("create", short_help="Begin a docket.")
@click.argument("name")
@click.option("--spec", "spec_file", required=True, type=FILE,
              help="Its settings: JSON with title, learner, members, rule, ….")  # fmt: skip
@DATABASE
def create_docket(name: str, spec_file: Path, database: str) -> None:
    """Begin the docket NAME; prints the first receipt of its ledger."""
    with begun_store(database) as store:
        from likewise.service.dockets.commands.rounds import open_docket
        from likewise.service.dockets.spec import DocketSpec

        spec = DocketSpec.from_hand(_json_object(spec_file))
        click.echo(str(open_docket(store, name, spec)))


def docket_command(name: str, short_help: str) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command of a function on an opened docket; it prints what the function returns."""

    def decorate(act: Callable[..., object]) -> click.Command:
        @docket.command(name, short_help=short_help)
        @click.argument("name")
        @DATABASE
        @wraps(act)
        def command(name: str, database: str, **options: Any) -> None:
            with opened_store(database) as store:
                from likewise.service.dockets.docket import Docket

                click.echo(str(act(Docket(store, name), **options)))

        return command

    return decorate


@docket_command("change", "Members, rule, guidelines or learner of a docket.")
@click.option("--join", metavar="MEMBER", help="Somebody joins the panel.")
@click.option("--leave", metavar="MEMBER", help="Somebody leaves the panel.")
@click.option("--rule", help="The rule of the panel.")
@click.option(
    "--guidelines", type=FILE, metavar="FILE",
    help="What members should look for: plain text, an empty line begins a paragraph.",
)  # fmt: skip
@click.option(
    "--learner", type=FILE, metavar="FILE",
    help="A learner for an audit-only docket: JSON with hypotheses, k, alpha, eps, ….",
)  # fmt: skip
@click.option(
    "--contact", nargs=2, metavar="MEMBER EMAIL",
    help="Where a member is told what awaits them; an empty address ends that.",
)  # fmt: skip
def change(
    opened: Docket, join: str | None, leave: str | None, rule: str | None, guidelines: Path | None,
    learner: Path | None, contact: tuple[str, str] | None,
) -> str:  # fmt: skip
    """Change the panel or the learner of docket NAME, for rounds that are sealed from now on."""
    from likewise.service.dockets.commands import learners, members

    lines: list[object] = []
    if join is not None:
        lines.append(members.join(opened, join))
    if leave is not None:
        lines.append(members.leave(opened, leave))
    if rule is not None:
        lines.append(members.change_rule(opened, rule))
    if guidelines is not None:
        lines.append(members.set_guidelines(opened, guidelines.read_text(encoding="utf-8")))
    if learner is not None:
        lines.append(learners.give_learner(opened, _json_object(learner)))
    if contact is not None:
        lines.append(_keep_contact(opened, *contact))
    if not lines:
        raise click.UsageError("Say what to change: --join, --leave, --rule, ….")
    return "\n".join(map(str, lines))


def _keep_contact(opened: Docket, member: str, email: str) -> str:
    from likewise.errors import LikewiseError
    from likewise.service.dockets.notices import keep_contact

    if member not in opened.projection.members:
        raise LikewiseError(f"{member!r} does not sit on the panel of {opened.name!r}.")
    keep_contact(opened.store, opened.name, member, email)
    return f"{member} is told at {email}." if email else f"{member} is told no more."


@docket_command("erase", "Remove what is personal about somebody.")
@click.argument("round_id", metavar="ROUND")
@click.argument("person")
def erase_person(opened: Docket, round_id: str, person: str) -> object:
    """Erase PERSON of ROUND in docket NAME: features, and the reasons that are about them."""
    from likewise.service.dockets.commands.erasure import erase

    return erase(opened, round_id, person)


@docket.command("scrub", short_help="Empty the database's files of what was erased.")
@DATABASE
def scrub(database: str) -> None:
    """Remove what was erased from the database's own files too; on PostgreSQL it locks a table."""
    with opened_store(database) as store:
        store.scrub()
        click.echo(f"{store.where} holds nothing any more of what was erased from it.")
