"""``likewise panels``: the same stream under different rules, agreement, decisive members."""

from __future__ import annotations

import click

from likewise.cli.main import AT_LEAST_ONE, main
from likewise.cli.options import WORLD, WORLD_SETTINGS
from likewise.registry import WORLDS

__all__ = ["panels"]


@main.command(short_help="The same stream under different rules: agreement, decisive members.")
@WORLD
@click.option(
    "--rule", "rules", multiple=True,
    help="A rule; may be given several times.  [default: majority, at_least(80%), any]",
)  # fmt: skip
@WORLD_SETTINGS
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1].")
@click.option("--rounds", type=AT_LEAST_ONE, default=500, show_default=True, help="Rounds a game.")
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
def panels(
    world: str, rules: tuple[str, ...], settings: tuple[tuple[str, str], ...], alpha: float,
    rounds: int, seed: int,
) -> None:  # fmt: skip
    """Play the same rounds under several rules, and say how far the members agree.

    \b
    For example
      likewise panels --world compas-judged --rule majority --rule any --rounds 1000
    """
    from likewise.experiments.panels import panel_markdown, panel_study
    from likewise.worlds.settings import parse_setting

    chosen = {name: parse_setting(WORLDS[world], name, text) for name, text in settings}
    asked = rules or ("majority", "at_least(80%)", "any")
    click.echo(panel_markdown(panel_study(world, asked, rounds, seed, chosen, alpha=alpha)))
