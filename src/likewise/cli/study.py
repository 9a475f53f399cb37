"""``likewise study``: the tables of learners in the documentation."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.cli.main import AT_LEAST_ONE, main
from likewise.cli.output import progress_bar

__all__ = ["FRONTIERS", "PAGES", "refuse_elsewhere", "study"]

PAGES = {
    "readme": Path("README.md"),
    "worlds": Path("docs/worlds.md"),
    "feedback": Path("docs/late-feedback.md"),
}
FRONTIERS = Path("docs/figures/frontiers.svg")


def refuse_elsewhere(document: Path, write: bool) -> None:
    """Not after an hour, but before it: is there a document to write the tables into?"""
    if write and not document.is_file():
        raise click.UsageError(
            f"--write puts the tables into {document}, which is not here. Run this in the "
            f"project's folder, or leave --write out."
        )


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
    from likewise.extras import need

    document = PAGES[page]
    refuse_elsewhere(document, write)
    need("study", "likewise study", also="fast")
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
