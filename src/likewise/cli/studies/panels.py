"""``python -m studies panels``: the same stream under different rules."""

from __future__ import annotations

from typing import Any

import click

from likewise.cli.options import WORLD_SETTINGS, game_of, game_options
from likewise.cli.studies.main import main


@main.command(short_help="The same stream under different rules: agreement, decisive members.")
@game_options("world")
@click.option(
    "--rule", "rules", multiple=True, default=("majority", "at_least(80%)", "any"),
    show_default=True, help="A rule; may be given several times.",
)  # fmt: skip
@WORLD_SETTINGS
@game_options("alpha", "rounds", "seed")
def panels(rules: tuple[str, ...], **options: Any) -> None:
    """Play the same rounds under several rules, and say how far the members agree.

    \b
    For example
      python -m studies panels --world compas-judged --rule majority --rule any
    """
    from likewise.experiments.panels import panel_markdown, panel_study

    click.echo(panel_markdown(panel_study(game_of(**options), rules)))
