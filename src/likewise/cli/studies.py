"""``likewise study`` and ``likewise tune``: the figures in the documentation."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli.main import AT_LEAST_ONE, main, progress_bar

__all__ = ["study", "tune"]

PAGES = {
    "readme": Path("README.md"),
    "worlds": Path("docs/worlds.md"),
    "feedback": Path("docs/late-feedback.md"),
}
DEFAULTS = Path("docs/defaults.md")
FRONTIERS = Path("docs/figures/frontiers.svg")


@main.command(short_help="Measure the tables in the documentation (long).")
@click.option(
    "--page", type=click.Choice(list(PAGES)), default="readme", show_default=True,
    help="`loans` for the README, the other worlds, or one-sided and late feedback.",
)  # fmt: skip
@click.option(
    "--folder",
    default="runs/study",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where runs are kept; what is there is not run again.",
)
@click.option(
    "--jobs", type=AT_LEAST_ONE, default=2, show_default=True, help="Processes side by side."
)
@click.option("--seeds", type=AT_LEAST_ONE, help="How many seeds.  [default: 5, or 2 for worlds]")
@click.option(
    "--longest",
    type=click.IntRange(min=32),
    default=8000,
    show_default=True,
    help="The longest horizon T; T/4 and T/16 are measured too.",
)
@click.option(
    "--write", is_flag=True, help="Put the tables into the page; for worlds, draw their frontiers."
)
def study(page: str, folder: Path, jobs: int, seeds: int | None, longest: int, write: bool) -> None:
    """Measure our learners beside the paper's, with their frontiers over eta."""
    document = PAGES[page]
    _refuse_elsewhere(document, write)
    from likewise.experiments.study.pages import PARTS
    from likewise.experiments.study.run import run_study
    from likewise.experiments.study.tables import Point, points, study_markdown, write_between_marks

    texts: dict[str, list[str]] = {}
    judged: dict[str, list[Point]] = {}
    for mark, part in PARTS[page](longest, seeds):
        with progress_bar(len(part.seeds) * len(part.eps)) as progress:
            results = run_study(part, folder, jobs=jobs, progress=progress)
        found = points(part, results)
        texts.setdefault(mark, []).append(study_markdown(part, found))
        if mark == "judging":
            judged[part.world] = found
    for mark, parts in texts.items():
        text = "\n\n".join(parts)
        click.echo(text)
        if write:
            write_between_marks(document, mark, text)
    if write and judged:
        from likewise.experiments.study.frontiers import write_frontiers

        write_frontiers(FRONTIERS, judged)


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
    _refuse_elsewhere(DEFAULTS, write)
    from likewise.experiments.study.tables import write_between_marks
    from likewise.experiments.study.tuning import GRIDS, trials, tuning_markdown

    grid, numbers = GRIDS[feedback], tuple(range(1, seeds + 1))
    with progress_bar(len(grid.settings())) as progress:
        found = trials(grid, rounds, numbers, jobs=jobs, progress=progress)
    text = tuning_markdown(grid, found, rounds, numbers)
    click.echo(text)
    if write:
        write_between_marks(DEFAULTS, f"tune {feedback}", text)


def _refuse_elsewhere(document: Path, write: bool) -> None:
    """Not after an hour, but before it: is there a document to write the tables into?"""
    if write and not document.is_file():
        raise click.UsageError(
            f"--write puts the tables into {document}, which is not here. Run this in the "
            f"project's folder, or leave --write out."
        )
