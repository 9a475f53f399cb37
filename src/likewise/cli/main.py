"""The group of commands, and how it says what is refused and what is worth a word."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from likewise import __version__

AT_LEAST_ONE = click.IntRange(min=1)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def note(text: str) -> None:
    """Say something on standard error that is no failure."""
    click.echo(f"Note: {text}", err=True)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Our own warnings in a sentence; those of others as Python shows them."""
    from likewise.errors import LikewiseWarning

    with warnings.catch_warnings():
        show_python = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, LikewiseWarning):
                note(str(message))
            else:
                show_python(message, category, *rest, **more)

        warnings.showwarning = show
        yield


class Group(click.Group):
    """Says what Likewise refuses as a sentence, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from likewise.errors import LikewiseError

        try:
            with _warnings_as_notes():
                return super().invoke(ctx)
        except LikewiseError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="likewise")
def main() -> None:
    """Decisions about people under the eyes of a panel: similar applicants, treated likewise.

    \b
    Begin with
      likewise demo                  learners side by side, and a report to read
      likewise audit --help          what a panel would say about your model's scores
      likewise simulate --help       one game, your way
      likewise list                  worlds, learners, classes and rules
      likewise serve                 the live system
    """
