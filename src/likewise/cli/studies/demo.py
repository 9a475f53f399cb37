"""``likewise demo``: learners side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.options import OutputFile
from likewise.cli.output import progress_bar

if TYPE_CHECKING:
    from likewise.experiments.demo.run import Demo

__all__ = ["demo"]


@main.command(short_help="Learners side by side, and a report to read.")
@click.option(
    "--rounds", type=click.IntRange(min=8), default=2000, show_default=True,
    help="Rounds to play with each learner.",
)  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1].")
@click.option(
    "--eps", type=float, help="Compete with policies fair at alpha − eps.  [default: alpha]"
)
@click.option("--jobs", type=AT_LEAST_ONE, default=2, show_default=True, help="Games side by side.")
@click.option(
    "--out",
    default="likewise-demo.html",
    show_default=True,
    type=OutputFile(),
    help="Where to write the report, one self-contained file.",
)
def demo(rounds: int, seed: int, alpha: float, eps: float | None, jobs: int, out: Path) -> None:
    """Watch learners approve loans under the eyes of five auditors.

    A learner that ignores the panel is accurate, and unfair in almost every round; a constant one
    is never unfair and learns nothing; ours learn, and violations become rare. It needs the extra
    `study`, and takes two minutes with the extra `fast`: pip install 'likewise[fast,study]'.
    """
    from likewise.extras import need

    need("study", "likewise demo", also="fast")
    from likewise.experiments.demo.report import write_report
    from likewise.experiments.demo.run import GAMES, run_demo

    with progress_bar(len(GAMES)) as progress:
        result = run_demo(rounds, seed, alpha=alpha, eps=eps, jobs=jobs, progress=progress)
    _print_demo(result)
    write_report(result, out)
    click.echo(f"Report: {out}  ({result.seconds:.0f} s)")


def _print_demo(result: Demo) -> None:
    from rich.console import Console
    from rich.table import Table

    hypotheses = result.shown[-1].transcript.learner.hypotheses
    fixed = result.shown[-1].summary.comparators
    rates = "" if fixed is None else f"{fixed.at_alpha_less_kappa:.3f}; {fixed.at_alpha:.3f}"
    notes = (
        "Best fixed policies in hindsight, at alpha − eps; alpha − kappa; alpha:",
        f"error {result.best_fair.error_rate:.3f}; {rates}.",
        f"{hypotheses.size:.1e} hypotheses, alpha = {result.alpha:g}, eps = {result.eps:g}.",
        "unfair: rounds in violation.",
        "late: the same, per 1,000 rounds, in the last quarter.",
        "Who learns has less error than untaught, which never does.",
        f"paper: its own noise drowns the data ({result.paper_draws:,} draws a round, for time):",
        "it learns nothing, and is seldom unfair since it treats most people alike.",
    )
    table = Table(
        title=f"{result.rounds} rounds of {result.world.k} loan applications, five auditors",
        caption="\n".join(notes),
        caption_justify="left",
    )
    table.add_column("learner", no_wrap=True)
    for title in ("error", "regret", "unfair", "late", "reports", "oracle calls"):
        table.add_column(title, justify="right", no_wrap=True)
    for shown in result.shown:
        s = shown.summary
        table.add_row(
            shown.name, f"{s.error_rate:.3f}", f"{round(s.regret or 0):,}", f"{s.violations:,}",
            f"{s.violations_per_1000_last_quarter:.0f}", f"{s.reports:,}", f"{s.oracle_calls:,}",
        )  # fmt: skip
    Console().print(table)
    for shown in result.shown:
        if shown.near_constant is not None:
            note(f"{shown.name}: {shown.near_constant.text}")
