"""``likewise sweep``: scenarios × learners × seeds from a TOML file, resumed after anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.options import option_group
from likewise.cli.output import progress_bar

if TYPE_CHECKING:
    from likewise.experiments.parallel import Workers
    from likewise.experiments.sweep.runs import Row
    from likewise.experiments.sweep.spec import Sweep

__all__ = ["played", "running_options", "sweep", "workers_of"]

TABLES = ("points", "summary", "frontier", "rates", "calls")

# How and where games are played, for every command that plays many.
running_options = option_group(
    click.option(
        "--folder", type=click.Path(file_okay=False, path_type=Path),
        help="Where results are kept; what is there is not run again.  [default: runs/NAME]",
    ),
    click.option(
        "--jobs", type=AT_LEAST_ONE, help="Processes side by side.  [default: one for each core]"
    ),
    click.option(
        "--cluster", metavar="ADDRESS",
        help="A Dask cluster by its scheduler's address, such as tcp://127.0.0.1:8786, in place of "
        "processes here.",
    ),
    click.option(
        "--parquet", is_flag=True, help="Keep results as Parquet too, beside results.csv."
    ),
    click.option(
        "--figure", type=click.Path(dir_okay=False, path_type=Path),
        help="Draw the points into FILE.svg, FILE.pdf or FILE.png.",
    ),
)  # fmt: skip


@main.command(short_help="Scenarios × learners × seeds from a TOML file; resumed after anything.")
@click.argument("file")
@running_options
@click.option(
    "--table", type=click.Choice(TABLES), multiple=True,
    help="Which tables to print; may be given several times.  [default: points]",
)  # fmt: skip
@click.option(
    "--write", is_flag=True,
    help="Put the tables into the documents that the file names, and the rows into docs/results.",
)  # fmt: skip
@click.option("--show", is_flag=True, help="Print the file, and play nothing.")
def sweep(file: str, table: tuple[str, ...], write: bool, show: bool, **running: Any) -> None:
    """Play every scenario with every learner and seed that FILE lists, and print tables.

    FILE is a TOML file, or the name of one that comes with the package (likewise sweep list). Runs
    that have finished are kept, whatever happens; the same command goes on with the others. The
    results are the same, bit for bit, whatever the number of processes or workers.

    \b
    For example
      likewise sweep new-default --show > mine.toml
      likewise sweep mine.toml --jobs 8 --figure mine.pdf
      likewise sweep mine.toml --cluster tcp://127.0.0.1:8786 --table rates
    """
    from likewise.extras import need

    need("study", "likewise sweep", also="fast")
    from likewise.experiments.sweep.reading import read_sweep, shipped_sweeps
    from likewise.experiments.sweep.views.tables import sweep_markdown, write_documents

    if file == "list":
        for name in shipped_sweeps():
            click.echo(f"{name:<20}  {read_sweep(name).title}")
        return
    asked = read_sweep(file)
    if show:
        path = shipped_sweeps().get(file, Path(file))
        click.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    name = Path(file).stem
    _refuse_elsewhere(asked, write)
    rows = played(asked, name, **running)
    for kind in table or ("points",):
        click.echo(sweep_markdown(asked, rows, kind))
    if write:
        write_documents(asked, name, rows)


def _refuse_elsewhere(asked: Sweep, write: bool) -> None:
    """Not after an hour, but before it: are there documents to write the tables into?"""
    for document in asked.documents if write else ():
        if not Path(document.file).is_file():
            raise click.UsageError(
                f"--write puts the tables into {document.file}, which is not here. Run this in "
                f"the project's folder, or leave --write out."
            )
    if write and not asked.documents:
        raise click.UsageError("--write needs a [[document]] in the file, and there is none.")


def played(
    asked: Sweep,
    name: str,
    folder: Path | None,
    jobs: int | None,
    cluster: str | None,
    parquet: bool,
    figure: Path | None,
) -> list[Row]:
    """The rows of a sweep, played where the options say; and its figure, if one is asked for."""
    from likewise.experiments.sweep.execute import run_sweep

    if figure is not None:
        from likewise.experiments.sweep.views.figures import check_figure

        check_figure(figure)
    target = Path("runs") / name if folder is None else folder
    workers = workers_of(jobs, cluster)
    with progress_bar(sum(1 for _ in asked.runs())) as progress:
        rows = run_sweep(asked, target, workers, parquet=parquet, progress=progress)
    note(f"the rows are in {target / 'results.csv'}.")
    if figure is not None:
        from likewise.experiments.sweep.points import points
        from likewise.experiments.sweep.views.figures import write_figure

        write_figure(figure, points(asked, rows))
    return rows


def workers_of(jobs: int | None, cluster: str | None) -> Workers:
    """Choose processes on this machine, or the workers of a cluster."""
    from likewise.experiments.cluster import Cluster
    from likewise.experiments.parallel import Processes

    if cluster is None:
        return Processes(jobs)
    if jobs is not None:
        raise click.UsageError("--jobs does not apply with --cluster, which has its own workers.")
    return Cluster(cluster)
