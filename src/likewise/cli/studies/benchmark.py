"""``python -m studies benchmark``: how long things take here, beside plain references."""

from __future__ import annotations

import json
from pathlib import Path

import click

from likewise.cli.main import note
from likewise.cli.options import JSON
from likewise.cli.output import is_pipe, write_text
from likewise.cli.studies.main import main

PAGE = Path("docs/performance.md")
FIGURES = Path("docs/results/performance.json")
# Written by `benchmark gpu --json`, on a machine that has a GPU.
GPU_FIGURES = Path("docs/results/performance-gpu.json")


@main.command(short_help="Measure the speed of this machine (minutes).")
@click.argument("rows", nargs=-1)
@click.option("--quick", is_flag=True, help="Small shapes: shows that it runs, and no more.")
@JSON
@click.option(
    "--write",
    is_flag=True,
    help="Put the figures into the documentation, in place of those of the same rows.",
)
def benchmark(rows: tuple[str, ...], quick: bool, json_path: Path | None, write: bool) -> None:
    """Measure draws, rounds and games, each with its reference in the same run.

    ROWS are some of: pool, staircases, segments, boolean, exact, rounds, state, simulate, start,
    gpu. Without any, all of them.
    """
    from likewise.extras import absent, missing

    if write and not PAGE.is_file():
        raise click.UsageError(
            f"--write puts the figures into {PAGE}, which is not here. Run this in the project's "
            f"folder, or leave --write out."
        )
    if absent("fast"):
        raise missing("The benchmark", "numba", "fast")
    from likewise.experiments.benchmark.page import markdown, plain
    from likewise.experiments.benchmark.run import merged, run_benchmark

    report = run_benchmark(rows, quick=quick, progress=lambda name: note(f"measuring {name}"))
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if json_path is not None:
        write_text(json_path, text)
    if not is_pipe(json_path):
        click.echo(plain(report))
    if write:
        from likewise.experiments.sweep.views.tables import write_between_marks

        if FIGURES.is_file():
            report = merged(json.loads(FIGURES.read_text(encoding="utf-8")), report)
        text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
        FIGURES.write_text(text, encoding="utf-8")
        write_between_marks(PAGE, "benchmark", markdown(report))
        write_between_marks(PAGE, "gpu", markdown(json.loads(GPU_FIGURES.read_text())))
