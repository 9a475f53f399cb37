"""``likewise tune``: the tables that the defaults were chosen by."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli.main import AT_LEAST_ONE, main
from likewise.cli.output import progress_bar
from likewise.cli.study import refuse_elsewhere

__all__ = ["tune"]

DEFAULTS = Path("docs/defaults.md")


@main.command(short_help="Measure what the defaults were chosen by.")
@click.option(
    "--feedback", type=click.Choice(["full", "one-sided"]), default="full", show_default=True,
    help="Whose labels become known.",
)  # fmt: skip
@click.option("--rounds", type=AT_LEAST_ONE, default=1000, show_default=True, help="Rounds a game.")
@click.option("--seeds", type=AT_LEAST_ONE, default=2, show_default=True, help="How many seeds.")
@click.option(
    "--jobs", type=AT_LEAST_ONE, default=2, show_default=True, help="Processes side by side."
)
@click.option("--write", is_flag=True, help="Put the tables into docs/defaults.md.")
def tune(feedback: str, rounds: int, seeds: int, jobs: int, write: bool) -> None:
    """Measure how noise and eta do on the worlds that defaults are chosen on."""
    from likewise.extras import need

    refuse_elsewhere(DEFAULTS, write)
    need("study", "likewise tune", also="fast")
    from likewise.experiments.study.tables import write_between_marks
    from likewise.experiments.study.tuning import GRIDS, trials, tuning_markdown

    grid, numbers = GRIDS[feedback], tuple(range(1, seeds + 1))
    with progress_bar(len(grid.settings())) as progress:
        found = trials(grid, rounds, numbers, jobs=jobs, progress=progress)
    text = tuning_markdown(grid, found, rounds, numbers)
    click.echo(text)
    if write:
        write_between_marks(DEFAULTS, f"tune {feedback}", text)
