"""``likewise list``: what there is to choose from."""

from __future__ import annotations

import click

from likewise.cli.main import main

__all__ = ["RULES", "list_"]


@main.command("list", short_help="Worlds, learners, classes and rules.")
def list_() -> None:
    """List the worlds, their classes, the learners and how rules are written."""
    from likewise.experiments.roster import LEARNERS
    from likewise.worlds import WORLDS

    click.echo("Worlds (--world), with their classes (--hypotheses)")
    for name, world in WORLDS.items():
        click.echo(f"  {name:<14} {world.summary}\n  {'':<14} classes: {', '.join(world.classes)}")
    click.echo("\nLearners (--learner)")
    for name, (summary, _) in LEARNERS.items():
        click.echo(f"  {name:<14} {summary}")
    click.echo("\nRules (--rule), joined by `and`, `or` and parentheses")
    for text, summary in RULES:
        click.echo(f"  {text:<34} {summary}")


RULES = (
    ("any", "one objection is enough"),
    ("all", "everybody must object"),
    ("majority", "more than half of the panel"),
    ("at_least(3)", "three objections"),
    ("at_least(80%)", "four fifths of the panel"),
    ("at_least(2 of banker, ethicist)", "two of these"),
    ("veto(regulator)", "this member alone suffices"),
    ("weighted(banker: 2, ethicist: 1; 2)", "votes that weigh at least 2"),
)
