"""``likewise list``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click

from likewise.cli.main import main

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
    from likewise.experiments.learners import learner_names, learner_summary
    from likewise.registry import HYPOTHESES, METRICS, SELECTIONS, WORLDS

    worlds: list[tuple[str, str]] = []
    explained: dict[tuple[str, str], str] = {}
    for name in WORLDS:
        lines = _world_lines(WORLDS, name, explained)
        worlds += [(name if n == 0 else "", line) for n, line in enumerate(lines)]
    _section("Worlds (--world), with their classes (--hypotheses) and settings (--set)", worlds)
    learners = [(name, _summary(learner_summary, name)) for name in learner_names()]
    _section("Learners (--learner)", learners)
    _section("Settings of learners (--with)", _learner_settings())
    _section("Rules (--set rule=…); join them with `and`, `or` and parentheses", RULES)
    _section("Selections (--selection): which violating pair is reported", _summaries(SELECTIONS))
    _section("Hypothesis classes, for --hypotheses FILE.json", _summaries(HYPOTHESES))
    _section("Metrics, for panels in Python", _summaries(METRICS))


def _learner_settings() -> list[tuple[str, str]]:
    """The settings of ``auto``, which our other names share, and those of the paper's learner."""
    from likewise.experiments.learners import learner_settings

    settings = {**learner_settings("auto"), **learner_settings("paper")}
    return [(setting.text, setting.about) for setting in settings.values()]


def _world_lines(
    worlds: Mapping[str, Any], name: str, explained: dict[tuple[str, str], str]
) -> Iterator[str]:
    """A world in a few lines: its summary, its classes, and its settings.

    A setting that an earlier world ``explained`` is named, and not explained again.
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
    settings = [(setting.text, setting.about) for setting in settings_of(world).values()]
    new = [setting for setting in settings if setting not in explained]
    width = max((len(text) for text, _ in new), default=0)
    for text, about in new:
        yield f"  {text:<{width}}  {about}"
    for earlier in dict.fromkeys(explained[pair] for pair in settings if pair in explained):
        same = [pair[0] for pair in settings if explained.get(pair) == earlier]
        yield f"  and, as {earlier} has them: {', '.join(same)}"
    explained.update((pair, name) for pair in new)


def _summaries(registry: Mapping[str, Any]) -> list[tuple[str, str]]:
    from likewise.experiments.learners import summary_of

    return [(name, _summary(lambda name: summary_of(registry[name]), name)) for name in registry]


def _summary(about: Callable[[str], str], name: str) -> str:
    """A line about a part, or that its package cannot be loaded; the list goes on."""
    from likewise.errors import LikewiseError

    try:
        return about(name)
    except LikewiseError as error:
        return str(error)


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A heading, and names with what they mean in one column."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    click.echo(title)
    for name, about in listed:
        click.echo(f"  {name:<{width}}  {about}".rstrip())
    click.echo()
