"""The group of the studies' commands."""

from pathlib import Path

import click

from likewise.cli.main import CONTEXT, Group, is_pipe, note, progress_bar, write_text
from likewise.cli.options import JOBS, OutputFile
from studies.pages import as_json, write_between_marks


@click.group(cls=Group, context_settings=CONTEXT)
def main() -> None:
    """Studies of learners: many games side by side, their tables, and what everything costs."""


@main.command(short_help="Measure the speed of this machine (minutes).")
@click.argument("rows", nargs=-1)
@click.option("--quick", is_flag=True, help="Small shapes: shows that it runs, and no more.")
@click.option(
    "--json", "json_path", metavar="FILE", type=OutputFile("-"),
    help="Write one JSON object; - for standard output.",
)  # fmt: skip
@click.option("--write", is_flag=True, help="Put the figures of all rows into the documentation.")
def benchmark(rows: tuple[str, ...], quick: bool, json_path: Path | None, write: bool) -> None:
    """Measure draws, rounds and games, each with its reference in the same run.

    ROWS are some of: pool, staircases, segments, boolean, exact, rounds, state, simulate, start,
    gpu. Without any, all of them.
    """
    from likewise.errors import absent, missing
    from studies.benchmark import items

    if write:
        _check_here(items.STUDY.page)
        if rows or quick:
            raise click.UsageError("--write is for all rows: leave ROWS and --quick out.")
    if absent("fast"):
        raise missing("The benchmark", "numba", "fast")
    from studies.benchmark.run import run_benchmark

    report = run_benchmark(rows, quick=quick, progress=lambda name: note(f"measuring {name}"))
    if json_path is not None:
        write_text(json_path, as_json(report))
    if not is_pipe(json_path):
        click.echo(items.markdown(report))
    if write:
        items.STUDY.keep(report)
        gpu = items.ON_GPU
        write_between_marks(gpu.page, gpu.mark, gpu.show(gpu.stored()))


# The kinds of studies.sweep.tables, which takes long to import.
TABLES = ("points", "plain", "summary", "frontier", "rates", "calls", "looks")


@main.command(short_help="Scenarios × learners × seeds from a TOML file; resumed after anything.")
@click.argument("file")
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path),
    help="Where results are kept; what is there is not run again.  [default: runs/NAME]",
)  # fmt: skip
@JOBS
@click.option(
    "--table", type=click.Choice(TABLES), multiple=True, default=["points"], show_default=True,
    help="Which tables to print; may be given several times.",
)  # fmt: skip
@click.option(
    "--write", is_flag=True,
    help="Put tables and figure into the files that FILE names, the rows into studies/results.",
)  # fmt: skip
def sweep(
    file: str, folder: Path | None, jobs: int | None, table: tuple[str, ...], write: bool
) -> None:
    """Play every scenario with every learner and seed that FILE lists, and print tables.

    FILE is a TOML file, or the name of one of ours; `sweep list` lists them. Runs that have
    finished are kept, whatever happens; the same command goes on with the others.
    """
    from likewise.simulate.parallel import Processes
    from studies.sweep import runs, spec, tables

    if file == "list":
        for name in spec.shipped_sweeps():
            click.echo(f"{name:<20}  {spec.read_sweep(name).title}")
        return
    games, name = spec.read_sweep(file), Path(file).stem
    if write:
        for document in games.documents:
            _check_here(Path(document.file))
        if not games.documents:
            raise click.UsageError("--write needs a [[document]] in the file, and there is none.")
    target = folder or Path("runs") / name
    with progress_bar(sum(1 for _ in games.runs())) as progress:
        rows = runs.run_sweep(games, target, Processes(jobs), progress=progress)
    note(f"the rows are in {target / 'results.csv'}.")
    for kind in table:
        click.echo(tables.sweep_markdown(games, rows, kind))
    if write:
        tables.write_documents(games, name, rows)


def _check_here(page: Path) -> None:
    if not page.is_file():
        raise click.UsageError(
            f"This writes into {page}, which is not here. Run this in the project's folder."
        )


@main.command(short_help="Make the figures and tables of docs/paper anew, from stored rows.")
def paper() -> None:
    """Draw the figures of the paper, and put its tables into its page; nothing is played."""
    from studies.paper import PAGE, write

    _check_here(PAGE)
    write()


@main.command(short_help="Real people: how consistent, how well predicted, and learners.")
@click.option("--write", is_flag=True, help="Put the figures into the documentation.")
def people(write: bool) -> None:
    """Measure every set of judgements by real people; those whose files are not here are skipped.

    They are in the folder that LIKEWISE_PANELS names.
    """
    from likewise.simulate.world import MissingDataError
    from studies.people import benchmark
    from studies.people.judgements import SETS

    if write:
        _check_here(benchmark.STUDY.page)
    rows = []
    for name in SETS:
        try:
            rows.append(benchmark.row_of(name, SETS[name]()))
        except MissingDataError as error:
            note(f"{name} is skipped. {error}")
    if not rows:
        raise click.UsageError("No set of judgements is here, so there is nothing to measure.")
    if write:
        benchmark.write(rows)
    click.echo(benchmark.markdown(rows))
