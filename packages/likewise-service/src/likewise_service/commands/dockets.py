"""``likewise token`` and ``likewise docket``: what an operator does at the machine itself."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.errors import LikewiseError
from likewise_service.commands import serve

if TYPE_CHECKING:
    from likewise_service.dockets.docket import Docket
    from likewise_service.ledger.backups import Manifest
    from likewise_service.settings import Settings


ROLES = ("operator", "client", "auditor", "regulator")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(short_help="Tokens of the live system.")
@serve.DATABASE
@click.pass_context
def token(context: click.Context, database: str) -> None:
    """Tokens, by which people and programs are known to the live system."""
    context.obj = database


@token.command("create", short_help="A new token, shown once.")
@click.argument("role", type=click.Choice(ROLES))
@click.argument("name")
@click.option("--docket", "docket_name", help="The docket that it is for.")
@click.pass_obj
def create(database: str, role: Any, name: str, docket_name: str | None) -> None:
    """Create a token of ROLE for NAME; an auditor's name is that of a member of the panel."""
    # Only an operator's token may come before everything else.
    with serve.opened_store(database, begin=role == "operator") as store:
        from likewise_service.auth.tokens import check_member, create_token
        from likewise_service.dockets.docket import Docket

        if docket_name is not None and docket_name not in store.dockets():
            raise LikewiseError(f"There is no docket {docket_name!r} in {store.where}.")
        if role == "auditor" and docket_name is not None:
            check_member(name, docket_name, Docket(store, docket_name).projection.members)
        text, identity = create_token(store, role, name, docket_name)
    click.echo(text)
    click.echo(f"Shown this once. To revoke it: likewise token revoke {identity.id}", err=True)


@token.command("list", short_help="All tokens, but for the tokens themselves.")
@click.pass_obj
def list_all(database: str) -> None:
    """List who has a token."""
    with serve.opened_store(database) as store:
        from likewise_service.auth.tokens import list_tokens

        for owner in list_tokens(store):
            state = f"revoked {owner.revoked}" if owner.revoked else "in use"
            docket = owner.docket or "all dockets"
            click.echo(
                f"{owner.id}  {owner.role:<9}  {owner.name}  {docket}  {owner.created}  {state}"
            )


@token.command("revoke", short_help="From now on a token opens nothing.")
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(database: str, token_id: str) -> None:
    """Revoke the token with that ID, which `likewise token list` shows."""
    with serve.opened_store(database) as store:
        from likewise_service.auth.tokens import revoke_token

        owner = revoke_token(store, token_id)
    click.echo(f"{owner.id} ({owner.role} {owner.name}) was revoked at {owner.revoked}.")


@click.group(short_help="Dockets of the live system.")
@serve.DATABASE
@click.pass_context
def docket(context: click.Context, database: str) -> None:
    """Dockets: what is decided on, by which class, under which panel."""
    context.obj = database


def _json_object(path: Path) -> dict[str, Any]:
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
              help="Its settings: JSON with title, members, rule, quorum, deadline, turns (members "
                   "one after another), graded (flags with a limit), learner (hypotheses, k, "
                   "alpha, eps, attention, …), ….")  # fmt: skip
@click.pass_obj
def create_docket(database: str, name: str, spec_file: Path) -> None:
    """Begin the docket NAME; prints the first receipt of its ledger."""
    with serve.opened_store(database, begin=True) as store:
        from likewise_service.dockets.rounds import open_docket
        from likewise_service.dockets.spec import DocketSpec

        spec = DocketSpec.from_hand(_json_object(spec_file))
        click.echo(str(open_docket(store, name, spec)))


def docket_command(name: str, short_help: str) -> Callable[[Callable[..., object]], click.Command]:
    """Make a function on an opened docket a command that prints what it returns."""

    def decorate(act: Callable[..., object]) -> click.Command:
        @docket.command(name, short_help=short_help)
        @click.argument("name")
        @click.pass_obj
        @wraps(act)
        def command(database: str, /, name: str, **options: Any) -> None:
            with serve.opened_store(database) as store:
                from likewise_service.dockets.docket import Docket

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
    help="A learner for an audit-only docket: JSON with hypotheses, k, alpha, eps, attention, ….",
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
    from likewise_service.dockets import panel, rounds

    text = guidelines and guidelines.read_text(encoding="utf-8")
    changes: dict[Callable[[Docket, Any], object], object] = {
        panel.join: join, panel.leave: leave, panel.change_rule: rule, panel.set_guidelines: text,
        rounds.give_learner: learner and _json_object(learner), _keep_contact: contact,
    }  # fmt: skip
    lines = [str(act(opened, value)) for act, value in changes.items() if value is not None]
    if not lines:
        raise click.UsageError("Say what to change: --join, --leave, --rule, ….")
    return "\n".join(lines)


def _keep_contact(opened: Docket, contact: tuple[str, str]) -> str:
    from likewise_service.dockets.contacts import keep_contact

    member, email = contact
    if member not in opened.projection.members:
        raise LikewiseError(f"{member!r} does not sit on the panel of {opened.name!r}.")
    keep_contact(opened.store, opened.name, member, email)
    return f"{member} is told at {email}." if email else f"{member} is told no more."


@docket_command("erase", "Remove what is personal about somebody.")
@click.argument("round_id", metavar="ROUND")
@click.argument("person")
def erase_person(opened: Docket, round_id: str, person: str) -> object:
    """Erase PERSON of ROUND in docket NAME: features, and the reasons that are about them."""
    from likewise_service.dockets.erasure import erase

    return erase(opened, round_id, person)


@docket.command("scrub", short_help="Empty the database's files of what was erased.")
@click.pass_obj
def scrub(database: str) -> None:
    """Remove what was erased from the database's own files too; on PostgreSQL it locks a table."""
    with serve.opened_store(database) as store:
        store.scrub()
        click.echo(f"{store.where} holds nothing any more of what was erased from it.")


KIT = (
    "docket.json", "audit-only.json", "likewise.service", "nginx.conf", "Caddyfile", "alerts.yaml",
)  # fmt: skip
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
@serve.database_option(default="likewise.db", show_default=True)
def init(folder: Path, database: str) -> None:
    """Write a commented settings file, example dockets, and files for systemd, nginx and others.

    No file is overwritten.
    """
    from likewise_service.settings import Settings, database_url

    folder.mkdir(parents=True, exist_ok=True)
    existing = [name for name in (SETTINGS, *KIT) if (folder / name).exists()]
    if existing:
        raise LikewiseError(f"{folder} has {', '.join(existing)} already. Name another folder.")
    address = database_url(database)
    if address.startswith("sqlite:///") and not address.startswith("sqlite:////"):
        address = f"sqlite:///{(folder / address.removeprefix('sqlite:///')).resolve()}"
    serve.write_new(folder / SETTINGS, _settings_text(Settings, address))
    kit = files("likewise_service").joinpath("kit")
    for name in KIT:
        serve.write_new(folder / name, kit.joinpath(name).read_text(encoding="utf-8"), 0o644)
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


@click.command(short_help="Copy a whole store to one file, while servers go on.")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@serve.DATABASE
def backup(path: Path, database: str) -> None:
    """Write all ledgers, payloads, secrets and tokens to a new FILE, as they are at one moment.

    The file can be verified and replayed by itself (--database FILE), and restored.
    """
    with serve.opened_store(database) as store:
        from likewise_service.ledger.backups import backup as write_backup

        written = write_backup(store, path)
    click.echo(f"{path}  ({path.stat().st_size:,} bytes), as of {written.at}")
    _echo_trees(written)
    click.echo("It holds features, seeds and hashes of tokens: keep it as you keep the database.",
               err=True)  # fmt: skip


def _echo_trees(manifest: Manifest) -> None:
    for docket, (size, root) in manifest.trees.items():
        click.echo(f"{docket}: {size:,} records, root {root}")


@click.command(short_help="Read a backup into an empty database.")
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@serve.DATABASE
def restore(path: Path, database: str) -> None:
    """Read the backup FILE into a database that holds no ledger yet; all of it, or nothing."""
    from likewise_service.errors import StoreError
    from likewise_service.ledger.backups import opened_backup
    from likewise_service.ledger.backups import restore as read_backup

    # The backup first: where it cannot be read, no store begins.
    with opened_backup(path) as backup, serve.opened_store(database, begin=True) as store:
        read_backup(backup, store)
        restored = backup.manifest
        click.echo(f"{store.where} is as it was at {restored.at}.")
        try:
            store.keys.current()
        except StoreError as error:  # a backup may not hold it
            click.echo(f"Before a server can start: {error}", err=True)
    _echo_trees(restored)
    click.echo("What was acknowledged after that is lost, and its receipts will say so.", err=True)


@click.command(short_help="Bring an older database to this version.")
@serve.DATABASE
def upgrade(database: str) -> None:
    """Bring the tables of a database to the revision that this Likewise needs.

    All of it happens, or nothing; running it again does no harm. Stop the servers and copy the
    database first.
    """
    from likewise_service.ledger.store import Store
    from likewise_service.settings import database_url

    before, after = Store.upgrade(database_url(database))
    if before == after:
        click.echo(f"The database has revision {after} already; nothing was changed.")
    else:
        click.echo(f"The database was brought from revision {before} to revision {after}.")


def _days(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return a number of days, infinity for ``always``; it is checked where it is recorded."""
    try:
        return None if value is None else math.inf if value == "always" else float(value)
    except ValueError as error:
        message = f"{value!r} is no number of days; give one, or always."
        raise click.BadParameter(message, param=param) from error


@docket_command("retention", "How long features and reasons are kept.")
@click.option("--features", callback=_days, metavar="DAYS",
              help="Erase people's features so long after their round has closed.")  # fmt: skip
@click.option("--reasons", callback=_days, metavar="DAYS",
              help="Erase the words of reasons so long after the round has closed.")  # fmt: skip
@click.option("--preset", "presets", multiple=True, metavar="NAME",
              help="Keep both as long as a law asks for: colorado (three years), regulation-b (25 "
                   "months), regulation-b-business (12 months), ai-act-logs (six months); of "
                   "several the longest.")  # fmt: skip
def retention(opened: Docket, presets: tuple[str, ...], **options: float | None) -> object:
    """Set how long docket NAME keeps features and reasons, in days or `always`.

    What is not named stays as it is; with neither, the periods and the holds are shown. The time of
    somebody who appealed, or was given a notice, begins when that was over.
    """
    from likewise_service.dockets.erasure import preset_days, set_retention

    if presets:
        if any(days is not None for days in options.values()):
            raise click.UsageError("Give --preset, or --features and --reasons.")
        return set_retention(opened, *[preset_days(presets)] * 2)
    governance = opened.refresh().governance
    periods = {"features": governance.features_days, "reasons": governance.reasons_days}
    changes = {name: days for name, days in options.items() if days is not None}
    if changes:
        periods |= {name: None if days == math.inf else days for name, days in changes.items()}
        return set_retention(opened, **periods)
    lines = [
        f"{name}: kept " + ("always" if days is None else f"{days:g} days after a round has closed")
        for name, days in periods.items()
    ]
    for name, hold in governance.holds.items():
        scope = "everything" if hold.of_round is None else f"round {hold.of_round}"
        person = "" if hold.person is None else f", {hold.person}"
        lines.append(f"hold {name}: {scope}{person}, for {hold.why}")
    return "\n".join(lines)


@docket_command("hold", "A legal hold: nothing is erased until it is released.")
@click.option("--why", help="The reason, which stays in the ledger.")
@click.option("--round", "round_id", metavar="ROUND", help="Of one round only.")
@click.option("--person", help="Of one person in that round only.")
@click.option("--release", "hold_id", metavar="HOLD", help="End that hold instead.")
def place_or_release(
    opened: Docket, why: str | None, round_id: str | None, person: str | None, hold_id: str | None
) -> object:
    """Keep docket NAME, a round or a person in it from being erased, whatever the periods say.

    Prints the id of the hold and a receipt. Once it is released, what has been kept for its time is
    erased soon after.
    """
    from likewise_service.dockets.erasure import lift_hold, place_hold

    if (why is None) == (hold_id is None):
        raise click.UsageError("Give --why to place a hold, or --release to end one.")
    if hold_id is not None:
        return lift_hold(opened, hold_id)
    placed, receipt = place_hold(opened, str(why), round_id, person)
    click.echo(f"To end it: likewise docket hold {opened.name} --release {placed}", err=True)
    return f"{placed}\n{receipt}"
