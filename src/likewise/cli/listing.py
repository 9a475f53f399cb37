"""``likewise list``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from likewise.cli.main import main

__all__ = ["RULES", "list_"]

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


@main.command("list", short_help="Worlds, learners, classes, rules, metrics and selections.")
def list_() -> None:
    """List worlds with their settings and classes, learners, rules, and what packages add."""
    from likewise.experiments.learners import LEARNERS
    from likewise.registry import HYPOTHESES, METRICS, SELECTIONS, WORLDS

    worlds: list[tuple[str, str]] = []
    listed: dict[tuple[str, str], str] = {}
    for name in WORLDS:
        lines = _said_of_world(WORLDS, name, listed)
        worlds += [(name if place == 0 else "", line) for place, line in enumerate(lines)]
    _section("Worlds (--world), with their classes (--hypotheses) and settings (--set)", worlds)
    learners = [(name, _said(lambda name=name: LEARNERS[name].summary)) for name in LEARNERS]
    _section("Learners (--learner)", learners)
    _section("Rules (--rule); join them with `and`, `or` and parentheses", RULES)
    _section("Selections (--report): which violating pair is reported", _summaries(SELECTIONS))
    _section("Hypothesis classes, for --hypotheses FILE.json", _summaries(HYPOTHESES))
    _section("Metrics, for panels in Python", _summaries(METRICS))


def _said_of_world(
    worlds: Mapping[str, Any], name: str, listed: dict[tuple[str, str], str]
) -> Iterator[str]:
    """A world in a few lines: its summary, its classes, and its settings.

    A setting that another world has ``listed`` before is named, and not explained again.
    """
    from likewise.errors import LikewiseError
    from likewise.worlds.base import MissingDataError
    from likewise.worlds.settings import settings_of

    try:
        world = worlds[name]
    except LikewiseError as error:
        yield str(error)
        return
    yield world.summary
    try:
        world.make(1)
    except MissingDataError as error:
        yield f"not here: {error}"
    yield f"classes: {', '.join(world.classes)}"
    known = [(one.text, one.about) for one in settings_of(world).values()]
    own = [one for one in known if one not in listed]
    width = max((len(text) for text, _ in own), default=0)
    for text, about in own:
        yield f"  {text:<{width}}  {about}"
    for other in dict.fromkeys(listed[one] for one in known if one in listed):
        same = [one[0] for one in known if listed.get(one) == other]
        yield f"  and, as {other} has them: {', '.join(same)}"
    listed.update((one, name) for one in own)


def _summaries(registry: Mapping[str, Any]) -> list[tuple[str, str]]:
    from likewise.experiments.learners import summary_of

    return [(name, _said(lambda name=name: summary_of(registry[name]))) for name in registry]


def _said(about: Any) -> str:
    """A line about something, or that its package cannot be loaded; the list goes on."""
    from likewise.errors import LikewiseError

    try:
        return str(about())
    except LikewiseError as error:
        return str(error)


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A heading, and names with what they mean in one column."""
    kept = list(rows)
    width = max(len(name) for name, _ in kept)
    click.echo(title)
    for name, about in kept:
        click.echo(f"  {name:<{width}}  {about}".rstrip())
    click.echo()
