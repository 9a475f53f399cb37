"""``likewise list``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable

import click

from likewise.cli.main import main

__all__ = ["RULES", "SELECTIONS", "list_"]

RULES = (
    ("any", "one objection is enough"),
    ("all", "everybody must object"),
    ("majority", "more than half of the panel"),
    ("at_least(3)", "three objections or more"),
    ("at_least(80%)", "four fifths of the panel or more"),
    ("more_than(2/3)", "more than two thirds of the panel"),
    ("at_least(2 of banker, ethicist)", "two of these"),
    ("veto(regulator)", "this member alone suffices"),
    ("objects(banker) and objects(ethicist)", "these two together"),
    ("weighted(banker: 2, ethicist: 1; 2)", "votes that weigh at least 2"),
    ("never", "nothing is ever reported"),
)
SELECTIONS = {
    "largest-gap": "the pair whose chances are furthest apart",
    "first": "the first, in the order of the people",
    "random": "one at random",
    "all": "all of them, averaged into one",
}


@main.command("list", short_help="Worlds, learners, classes, rules and selections of a pair.")
def list_() -> None:
    """List the worlds and their classes, the learners, the rules and the selections of a pair."""
    from likewise.experiments.learners import LEARNERS
    from likewise.worlds import WORLDS

    worlds: list[tuple[str, str]] = []
    for name, world in WORLDS.items():
        worlds += [(name, world.summary), ("", f"classes: {', '.join(world.classes)}")]
    _section("Worlds (--world), with their classes (--hypotheses)", worlds)
    _section("Learners (--learner)", [(name, about) for name, (about, _) in LEARNERS.items()])
    _section("Rules (--rule); join them with `and`, `or` and parentheses", RULES)
    _section("Selections (--report): which violating pair is reported", SELECTIONS.items())


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A heading, and names with what they mean in one column."""
    kept = list(rows)
    width = max(len(name) for name, _ in kept)
    click.echo(title)
    for name, about in kept:
        click.echo(f"  {name:<{width}}  {about}")
    click.echo()
