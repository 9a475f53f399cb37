"""``python -m studies sweep``: scenarios × learners × seeds from a TOML file, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import note
from likewise.cli.options import JOBS, option_group
from likewise.cli.output import progress_bar
from likewise.cli.studies.main import main

if TYPE_CHECKING:
    from likewise.experiments.parallel import Workers
    from likewise.experiments.sweep.runs import Row
    from likewise.experiments.sweep.spec import Sweep

TABLES = ("points", "summary", "frontier", "rates", "calls")

# How and where games are played, for every command that plays many.
running_options = option_group(
    click.option(
        "--folder", type=click.Path(file_okay=False, path_type=Path),
        help="Where results are kept; what is there is not run again.  [default: runs/NAME]",
    ),
    JOBS,
    click.option(
        "--cluster", metavar="ADDRESS",
        help="A Dask cluster by its scheduler's address, such as tcp://127.0.0.1:8786, in place of "
        "processes here.",
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
def sweep(file: str, table: tuple[str, ...], write: bool, **running: Any) -> None:
    """Play every scenario with every learner and seed that FILE lists, and print tables.

    FILE is a TOML file, or the name of one of ours; `sweep list` lists them. Runs that have
    finished are kept, whatever happens; the same command goes on with the others. The results are
    the same, bit for bit, whatever the number of processes or workers.

    \b
    For example
      python -m studies sweep mine.toml --jobs 8 --figure mine.pdf
      python -m studies sweep mine.toml --cluster tcp://127.0.0.1:8786 --table rates
    """
    from likewise.experiments.sweep.reading import read_sweep, shipped_sweeps
    from likewise.experiments.sweep.views.tables import sweep_markdown, write_documents

    if file == "list":
        for name in shipped_sweeps():
            click.echo(f"{name:<20}  {read_sweep(name).title}")
        return
    spec, name = read_sweep(file), Path(file).stem
    if write:
        _refuse_elsewhere(spec)
    rows = play_sweep(spec, name, **running)
    for kind in table or ("points",):
        click.echo(sweep_markdown(spec, rows, kind))
    if write:
        write_documents(spec, name, rows)


def _refuse_elsewhere(spec: Sweep) -> None:
    """Refuse before anything is played if there are no documents to write the tables into."""
    for document in spec.documents:
        if not Path(document.file).is_file():
            raise click.UsageError(
                f"--write puts the tables into {document.file}, which is not here. Run this in "
                f"the project's folder, or leave --write out."
            )
    if not spec.documents:
        raise click.UsageError("--write needs a [[document]] in the file, and there is none.")


def play_sweep(
    spec: Sweep,
    name: str,
    folder: Path | None,
    jobs: int | None,
    cluster: str | None,
    figure: Path | None,
) -> list[Row]:
    """The rows of a sweep, played where the options say; and its figure, with ``--figure``."""
    from likewise.experiments.sweep.execute import run_sweep
    from likewise.experiments.sweep.points import points_of
    from likewise.experiments.sweep.views.figures import check_figure, write_figure

    if figure is not None:
        check_figure(figure)
    target = Path("runs") / name if folder is None else folder
    workers = _workers(jobs, cluster)
    with progress_bar(sum(1 for _ in spec.runs())) as progress:
        rows = run_sweep(spec, target, workers, progress=progress)
    note(f"the rows are in {target / 'results.csv'}.")
    if figure is not None:
        write_figure(figure, points_of(spec, rows))
    return rows


def _workers(jobs: int | None, cluster: str | None) -> Workers:
    """Processes on this machine, or the workers of a cluster."""
    from likewise.experiments.cluster import Cluster
    from likewise.experiments.parallel import Processes

    if cluster is None:
        return Processes(jobs)
    if jobs is not None:
        raise click.UsageError("--jobs does not apply with --cluster, which has its own workers.")
    return Cluster(cluster)
