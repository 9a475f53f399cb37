"""``likewise packet``: the file of one decision, for the person that it is about."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from likewise.cli.service.serve import DATABASE, opened_store

__all__ = ["packet"]


@click.command(short_help="The file of one decision, for the person that it is about.")
@click.argument("docket")
@click.argument("round_id", metavar="ROUND")
@click.argument("person")
@click.option(
    "--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path),
    help="A folder for packet.json and packet.txt.",
)  # fmt: skip
@DATABASE
def packet(docket: str, round_id: str, person: str, folder: Path, database: str) -> None:
    """Write everything that led to the decision on PERSON, in words and as JSON, signed.

    Other people are not in it; reasons that members wrote are, in their own words.
    """
    with opened_store(database) as store:
        from likewise.service.verification.packets.give import give_packet
        from likewise.service.verification.packets.words import packet_words

        made = give_packet(store, docket, round_id, person)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"packet.json": json.dumps(made, ensure_ascii=False, indent=2) + "\n",
             "packet.txt": packet_words(made)}  # fmt: skip
    for name, text in texts.items():
        path = folder / name
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileExistsError as error:
            raise click.ClickException(f"{path} is there already; name another folder.") from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        click.echo(str(path))
