"""``likewise serve``: the live system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from likewise.cli.main import AT_LEAST_ONE, note

if TYPE_CHECKING:
    from likewise_service.ledger.store import Store
    from likewise_service.settings import Settings


def without_password(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    """Refuse a password among the arguments, which everybody on the machine can read."""
    argument = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    if argument and value and PASSWORD.match(value):
        raise click.BadParameter(
            "it holds a password, and everybody on this machine can read arguments. Put the "
            "address into the environment (LIKEWISE_DATABASE), or the password into ~/.pgpass."
        )
    return value


# user:password@, or a parameter of that name.
PASSWORD = re.compile(r"[^/]*://([^/@:]*:[^/@]+@|.*[?&]password=)")
database_option = partial(
    click.option, "--database", callback=without_password,
    help="A file, or postgresql://USER@HOST/NAME.",
)  # fmt: skip
DATABASE = database_option(envvar="LIKEWISE_DATABASE", default="likewise.db", show_default=True)
HOST = click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen at."
)
PORT = click.option(
    "--port", type=click.IntRange(1, 65535), default=8000, show_default=True,
    help="The port to listen at.",
)  # fmt: skip


@contextmanager
def opened_store(
    database: str, *, begin: bool = False, notes: bool = True, writer: str = ""
) -> Iterator[Store]:
    """Open the store at an address, or say in a sentence why it cannot be opened.

    Only a command that may ``begin`` a store creates one: at a misspelt address the others would
    find an empty one. A server opens it without ``notes``, as its standard error is its log. With
    the address of a ``writer`` the store is only read.
    """
    from likewise_service.ledger.store import Store
    from likewise_service.settings import Settings, database_url

    key, url = Settings().installation_key, database_url(database)
    with closing(Store.open(url, create=begin, key=key, writer=writer)) as store:
        if store.begun and notes:
            note(f"{store.where} was empty; a new store begins there.")
        yield store


def write_new(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file that was not there before, by default for its owner alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


@click.command(short_help="The live system: an API for decisions and for auditors.")
@HOST
@PORT
@DATABASE
@click.option(
    "--workers", type=AT_LEAST_ONE, default=1, show_default=True,
    help="Processes. Each docket is at home in one of them.",
)  # fmt: skip
@click.option(
    "--demo", is_flag=True,
    help="A lending docket with a simulated stream, and a seat on its panel for you.",
)  # fmt: skip
def serve(host: str, port: int, database: str, workers: int, demo: bool) -> None:
    """Serve the pages at http://HOST:PORT and the API at http://HOST:PORT/v1.

    The first start prints the operator's token, once. Limits are set by LIKEWISE_BODY_LIMIT,
    LIKEWISE_RATE and the other settings of likewise_service.settings. There is no encryption here:
    put a proxy with TLS before it, if others are to reach it.
    """
    from likewise_service import server
    from likewise_service.errors import LOG
    from likewise_service.ledger.store import fold_log_of
    from likewise_service.settings import Settings, misspelt

    settings = Settings(database=database, demo=demo)
    url_host = f"[{host}]" if ":" in host else host
    _greet(settings, f"http://{url_host}:{port}")
    server.log_as_json()
    for unknown, meant in misspelt(os.environ).items():
        LOG.warning("%s is no setting, and is not read. Is %s meant?", unknown, meant)
    name = "PROMETHEUS_MULTIPROC_DIR"
    with TemporaryDirectory(prefix="likewise-", dir=os.environ.get(name)) as folder:
        if workers > 1:  # they count for /metrics together
            os.environ[name] = folder
        try:
            server.serve(settings, host, port, workers, folder)
        finally:
            # Processes that end together may each have left a SQLite file's log to the others.
            if not settings.writer:
                fold_log_of(settings.database)


# How long those who run the server can rewrite records unseen.
NOT_ANCHORED = (
    "Nothing is fixed outside (LIKEWISE_ANCHORS): what follows the last receipt that somebody "
    "holds can be rewritten by whoever runs this."
)
ANCHORED = (
    "Heads are fixed outside every {:g} minutes: no longer than that, while it succeeds, can "
    "anything be rewritten unseen."
)


def _greet(settings: Settings, address: str) -> None:
    from likewise_service.auth.tokens import create_token, first_operator, list_tokens, revoke_token

    writer = settings.writer
    with opened_store(settings.database, begin=True, notes=False, writer=writer) as store:
        token, seat = None if writer else first_operator(store), None
        if settings.demo:
            from likewise_service.demo import DEMO, YOU, Simulation

            Simulation(store)
            for owner in list_tokens(store):
                if (owner.name, owner.docket, owner.revoked) == (YOU, DEMO, None):
                    revoke_token(store, owner.id)
            seat, _ = create_token(store, "auditor", YOU, DEMO)
        click.echo(f"Likewise at {address}, with {store.where}")
        key = store.keys.public()
        click.echo(f"Receipts are signed by the key {key.id}: {key.text}")
        public = settings.public_url or address
        click.echo(f"It is published at {public.rstrip('/')}/.well-known/likewise-keys.json")
        anchored = ANCHORED.format(settings.anchor_minutes) if settings.anchors else NOT_ANCHORED
        click.echo(f"Nothing is written here, but at {writer}" if writer else anchored)
    if token is not None:
        click.echo(f"The operator's token, shown this once: {token}")
    if seat is not None:
        click.echo(f"Your seat on the panel: sign in at {address} with {seat}")
