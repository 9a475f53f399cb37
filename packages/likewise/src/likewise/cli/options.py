"""Options that commands share: those of a game, read off its fields, and files to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.registry import SELECTIONS, WORLDS
from likewise.simulate.game import Game

if TYPE_CHECKING:  # generic to the type checker, and in newer versions of click alone
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Registered(_Choice):
    """A registered name, ours or an installed package's; looked up when somebody asks for it."""

    case_sensitive = True

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override] # read-only, and late
        return tuple(self._names())


def _name_and_value(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE, such as spell=200.")
    return name, value


class OutputFile(click.Path):
    """A file to write, refused before anything is played if it could not be written after it.

    Its ending says what to write, where there are several; ``-`` is standard output.
    """

    def __init__(self, *endings: str) -> None:
        self.endings = endings
        super().__init__(
            dir_okay=False, readable=False, writable=True, allow_dash="-" in endings, path_type=Path
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if self.allow_dash and str(path) == "-":
            return path
        if len(self.endings) > 1 and path.suffix.lower() not in self.endings:
            endings = ", ".join(ending for ending in self.endings if ending != "-")
            self.fail(f"{path} must end in {endings}, which says what to write.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path} cannot be written: there is no folder {path.parent}.", param, ctx)
        if not os.access(path.parent, os.W_OK) and not path.exists():
            self.fail(f"{path} cannot be written: no new file in {path.parent}.", param, ctx)
        return path


def out_option(about: str, *endings: str) -> Callable[..., Any]:
    """Files to write, each by its ending; ``--json -`` is how most programs spell it."""
    kind = OutputFile(*endings)
    names = ("--out", "--json", "outs")
    return click.option(*names, metavar="FILE", type=kind, multiple=True, help=about)


_REGISTERED: Mapping[str, Callable[[], Iterable[str]]] = {
    "world": lambda: WORLDS,
    # The learners need numpy.
    "learner": lambda: import_module("likewise.simulate.learners").learner_names(),
    "selection": lambda: SELECTIONS,
}
_KINDS: Mapping[str, click.ParamType[Any] | type] = {
    "int": click.IntRange(min=1), "float": float, "float | None": float, "Path | None": FILE,
    "bool": bool,
}  # fmt: skip


def options_of(owner: Any, *names: str) -> Callable[..., Any]:
    """An option for each of these fields of a dataclass, or all, with its type and help."""
    by_name = {field.name: field for field in fields(owner) if "help" in field.metadata}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names or [*by_name]):  # the help has them in this order
            command = _option(by_name[name])(command)
        return command

    return decorate


game_options = partial(options_of, Game)


def _option(field: Any) -> Callable[..., Any]:
    kind: Any = _KINDS.get(field.type, str)
    if field.metadata["choices"]:
        kind = click.Choice(field.metadata["choices"])
    elif field.name in _REGISTERED:
        kind = Registered(_REGISTERED[field.name])
    elif field.name == "seed":
        kind = int
    return click.option(
        f"--{field.name.replace('_', '-')}", type=kind, default=field.default,
        is_flag=field.type == "bool", multiple=field.type == "tuple[str, ...]",
        show_default=field.default not in (None, ""), help=field.metadata["help"],
    )  # fmt: skip


WORLD_SETTINGS = click.option(
    "--set", "world_settings", type=_name_and_value, multiple=True, metavar="NAME=VALUE",
    help="A setting of the world, such as rule=any or k=4; `likewise list` shows all of them. May "
    "be given several times.",
)  # fmt: skip
LEARNER_SETTINGS = click.option(
    "--with", "learner_settings", type=_name_and_value, multiple=True, metavar="NAME=VALUE",
    help="A setting of the learner, such as eta=0.0625 (the weight of errors against reports) or "
    "kappa=0.1 (how far below alpha the panel is asked); `likewise list` shows all of them. May be "
    "given several times.",
)  # fmt: skip
JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes side by side.  [default: all cores]"
)


def game_of(
    world_settings: Iterable[tuple[str, str]] = (),
    learner_settings: Iterable[tuple[str, str]] = (),
    **values: Any,
) -> Game:
    from likewise.simulate.learners import learner_setting
    from likewise.simulate.world import known_setting

    world, learner = WORLDS[values["world"]], values.get("learner", Game.learner)
    of_world = _parsed(world_settings, partial(known_setting, world))
    of_learner = _parsed(learner_settings, partial(learner_setting, learner))
    return Game(**values, world_settings=of_world, learner_settings=of_learner)


def _parsed(pairs: Iterable[tuple[str, str]], setting: Callable[[str], Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, text in pairs:
        if name in settings:
            raise click.UsageError(f"The setting {name} is given twice. Give it once.")
        settings[name] = setting(name).parse(text)
    return settings
