"""The group of commands, and what they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

__all__ = ["AT_LEAST_ONE", "OutputFile", "main", "progress_bar"]

AT_LEAST_ONE = click.IntRange(min=1)


class Group(click.Group):
    """Says what Likewise refuses as a sentence, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from likewise.errors import LikewiseError

        try:
            return super().invoke(ctx)
        except LikewiseError as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="likewise")
def main() -> None:
    """Decisions about people under the eyes of a panel: similar applicants, treated likewise.

    \b
    Begin with
      likewise demo                  learners side by side, and a report to read
      likewise simulate --help       one game, your way
      likewise list                  worlds, learners, classes and rules
      likewise serve                 the live system
    """


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


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar on standard error; none where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _what, _done: None
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=what, completed=done)
