"""The group of commands, which shows refusals as sentences and warnings as notes."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any

import click

from likewise import __version__
from likewise.errors import LikewiseError, LikewiseWarning

AT_LEAST_ONE = click.IntRange(min=1)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def note(text: str) -> None:
    click.echo(f"Note: {text}", err=True)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Our own warnings in a sentence; those of others as Python shows them."""
    with warnings.catch_warnings():
        show_python = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, LikewiseWarning):
                note(str(message))
            else:
                show_python(message, category, *rest, **more)

        warnings.showwarning = show
        yield


# Commands of the package likewise-service, which it brings by entry points of this group.
ENTRY_POINTS = "likewise.commands"
SERVICE = (
    "serve", "init", "token", "docket", "key", "replay", "verify", "export", "backup",
    "restore", "upgrade", "witness",
)  # fmt: skip


@cache
def _installed() -> EntryPoints:
    return entry_points(group=ENTRY_POINTS)


class Group(click.Group):
    """Shows a refusal as a sentence, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_notes():
                return super().invoke(ctx)
        except LikewiseError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # a reader who has seen enough, which click knows
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{where}{error.strerror or error}.") from error


class Program(Group):
    """The program: its commands, and those that installed packages bring."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, with UTF-8 for files and pipes; a terminal shows ? for what it does not know."""
        out = sys.stdout
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(encoding=None if out.isatty() else "utf-8", errors="replace")
        return super().main(*args, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_installed().names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; say which package brings it if that is not installed."""
        return super().get_command(ctx, cmd_name) or installed_command(cmd_name)


def installed_command(name: str) -> click.Command | None:
    """A command that an installed package brings; of the service's, which package that is."""
    if name in _installed().names:
        loaded: click.Command = _installed()[name].load()
        return loaded
    if name in SERVICE:
        raise click.ClickException(
            f"likewise {name} needs likewise-service. Install it with: pip install likewise-service"
        )
    return None


@click.group(cls=Program, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="likewise")
def main() -> None:
    """Decisions about people under the eyes of a panel: similar applicants, treated likewise.

    \b
    Begin with
      likewise demo                  learners side by side, and a report to read
      likewise audit --help          what a panel would say about your model's scores
      likewise init TABLE.csv        a panel file and a schema for your own table
      likewise elicit --help         the panel's metrics from pairs that somebody judged
      likewise simulate --help       one game, your way
      likewise list                  worlds, learners, classes and rules
      likewise serve                 the live system
    """


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar on standard error; none where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _text, _count: None
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda text, count: bar.update(task, description=text, completed=count)


def is_pipe(path: Path | None) -> bool:
    return path is not None and str(path) == "-"


def refuse_overwriting(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to write into a file that is read."""
    files = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is not None and not is_pipe(path) and path.resolve() in files:
            raise click.UsageError(f"{path} is read, and would be overwritten. Name another file.")


def write_text(path: Path, text: str) -> None:
    """Write into a file, or to standard output for ``-``."""
    if is_pipe(path):
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")
