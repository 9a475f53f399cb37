"""Options that commands share: registered names, files to write, settings as NAME=VALUE."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from likewise.registry import WORLDS

__all__ = [
    "WORLD",
    "WORLD_SETTINGS",
    "OutputFile",
    "Pair",
    "Registered",
    "learner_names",
    "learner_options",
    "option_group",
]  # fmt: skip

if TYPE_CHECKING:  # generic to the type checker, and in newer versions of click alone
    _Name = click.ParamType[str]
    _Pair = click.ParamType[tuple[str, str]]
else:
    _Name = _Pair = click.ParamType


class Registered(_Name):
    """A registered name, ours or an installed package's; looked up when somebody asks for it."""

    def __init__(self, noun: str, names: Callable[[], Iterable[str]]) -> None:
        self.name, self._names = noun, names

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """All of the names, for the help."""
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        names = list(self._names())
        if value not in names:
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str  # noqa: ARG002
    ) -> list[CompletionItem]:  # fmt: skip
        """The names that begin so."""
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


def learner_names() -> Iterable[str]:
    """The names of all learners; asked for late, since the learners need numpy."""
    from likewise.experiments.learners import LEARNERS

    return LEARNERS


class Pair(_Pair):
    """A setting as NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The name and the text of the value."""
        name, sign, text = str(value).partition("=")
        if not name or not sign:
            self.fail(f"{value!r} is not of the form NAME=VALUE, such as spell=200.", param, ctx)
        return name, text


class OutputFile(click.Path):
    """A file to write, refused before anything is played if it could not be written after it."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(
            dir_okay=False, readable=False, writable=True, allow_dash=allow_dash, path_type=Path
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, in a folder that is there."""
        path = Path(str(super().convert(value, param, ctx)))
        if self.allow_dash and str(path) == "-":
            return path
        if not path.parent.is_dir():
            self.fail(f"{path} cannot be written: there is no folder {path.parent}.", param, ctx)
        if not os.access(path.parent, os.W_OK) and not path.exists():
            self.fail(f"{path} cannot be written: no new file in {path.parent}.", param, ctx)
        return path


def option_group(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Make one decorator of several options, in the order in which the help has them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


WORLD = click.option(
    "--world", type=Registered("world", lambda: WORLDS), default="loans", show_default=True,
    help="Who arrives, and who sits on the panel.",
)  # fmt: skip
WORLD_SETTINGS = click.option(
    "--set", "settings", type=Pair(), multiple=True, metavar="NAME=VALUE",
    help="A setting of the world, such as spell=200 for drift; `likewise list` shows all of them. "
    "May be given several times.",
)  # fmt: skip

# The settings of a learner and the rules of its game.
learner_options = option_group(
    click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1]."),
    click.option(
        "--eps", type=float, help="Compete with policies fair at alpha − eps.  [default: alpha]"
    ),
    click.option(
        "--eta", type=float,
        help="Weight of the error: smaller means fewer violations.  [default: 1/24]",
    ),
    click.option(
        "--x", type=float,
        help="Noise (temperature) in units of sqrt(S).  [default: the player's, by the class's "
        "size]",
    ),
    click.option(
        "--kappa", type=float, help="The panel is asked at alpha − kappa.  [default: 0.325·eps]"
    ),
    click.option(
        "--r", type=float, help="Accuracy of a gap estimated from draws.  [default: 0.4·eps]"
    ),
    click.option(
        "--b", default=0.0, show_default=True, help="Learner `paper`: the frontier's parameter."
    ),
    click.option(
        "--noise-divisor", default=1.0, show_default=True,
        help="Learner `paper`: less noise than its own.",
    ),
    click.option(
        "--draws", type=click.Choice(["paper", "tight", "r"]), default="paper", show_default=True,
        help="Learner `paper`: how many draws estimate a score.",
    ),
    click.option(
        "--engine", type=click.Choice(["compiled", "gpu", "reference"]), default="compiled",
        show_default=True, help="Who makes the draws; all make the same.",
    ),
    click.option(
        "--feedback", type=click.Choice(["full", "one-sided"]), default="full", show_default=True,
        help="Whose labels become known; `one-sided`: those of the approved.",
    ),
    click.option(
        "--estimate", type=click.Choice(["lifted", "direct"]), default="lifted", show_default=True,
        help="One-sided labels: how unseen ones are made up for.",
    ),
    click.option(
        "--audit-share", default=1.0, show_default=True,
        help="The share of rounds that a lottery draws for audit, in [0.001, 1].",
    ),
    click.option(
        "--open-limit", type=click.IntRange(min=1), default=10_000, show_default=True,
        help="The most rounds that may wait for feedback at a time.",
    ),
)  # fmt: skip
