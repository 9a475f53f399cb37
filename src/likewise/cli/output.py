"""Output that commands share: a progress bar, counts for people, text to a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click


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
    """True for ``-``, standard output."""
    return path is not None and str(path) == "-"


def write_text(path: Path, text: str) -> None:
    """Write into a file, or to standard output for ``-``."""
    if is_pipe(path):
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")


def print_counts(data: dict[str, Any]) -> None:
    """The counts of a game for people: names and numbers in two columns, then the bounds."""
    apart = ("bounds", "schedule", "settings", "comparators", "certificate", "near_constant")
    plain = {key: value for key, value in data.items() if key not in apart}
    width = max(map(len, plain))
    for key, value in plain.items():
        text = f"{value:.4f}" if isinstance(value, float) else value
        click.echo(f"{key:<{width}}  {text}")
    if (fixed := data.get("comparators")) is not None:
        rates = "; ".join(f"{name.replace('_', ' ')} {rate:.4f}" for name, rate in fixed.items())
        click.echo(f"{'best fixed':<{width}}  {rates}")
    if (certificate := data.get("certificate")) is not None:
        from_lam = certificate["from_largest_lam"]
        also = "" if from_lam is None else f"; from the largest lam, {from_lam:,.0f}"
        click.echo(
            f"{'certificate':<{width}}  {certificate['holds']}: regret ≤ "
            f"{certificate['regret']:,.0f} (any learner: {certificate['trivial_regret']:,}){also}"
        )
    for bound in data["bounds"]:
        trivial = [part for part, informative in bound["informative"].items() if not informative]
        news = (
            f" (no news: the trivial bound on {' and '.join(trivial)} is smaller)"
            if trivial
            else ""
        )
        click.echo(
            f"{'bound':<{width}}  {bound['source']}, {bound['holds']}: regret ≤ "
            f"{bound['regret']:.3g}, violations ≤ {bound['violations']:.3g}{news}"
        )
