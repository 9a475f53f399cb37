"""The group of commands, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["main", "progress_bar"]


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
    """


@contextmanager
def progress_bar(total: int, quiet: bool = False) -> Iterator[Callable[[str, int], None]]:
    """A bar on standard error; none where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
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
