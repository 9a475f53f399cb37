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


@main.command(short_help="Learners side by side, and a report to read.")
@click.option(
    "--rounds", type=click.IntRange(min=8), default=2000, show_default=True,
    help="Rounds to play with each learner.",
)  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--jobs", type=AT_LEAST_ONE, default=2, show_default=True, help="Games side by side.")
@click.option(
    "--out", default="likewise-demo.html", show_default=True, type=OutputFile(),
    help="Where to write the report, one self-contained file.",
)  # fmt: skip
def demo(rounds: int, seed: int, jobs: int, out: Path) -> None:
    """Watch learners approve loans under the eyes of five auditors.

    A learner that ignores the panel is accurate, and unfair in almost every round; a constant one
    is never unfair and learns nothing; ours learn, and violations become rare. The report and the
    comparison with the best fixed policies need the extra `study`, and with the extra `fast` it
    takes two minutes: pip install 'likewise[fast,study]'.
    """
    from likewise.experiments.demo.run import games, run_demo
    from likewise.experiments.games import Game
    from likewise.extras import absent, missing

    lacking = absent("study")
    if lacking:
        note(f"it goes without the report. {missing('It', ', '.join(lacking), 'fast,study')}")
    with progress_bar(len(games(Game(rounds=rounds)))) as progress:
        result = run_demo(
            rounds, seed, jobs=jobs, compare="scipy" not in lacking, progress=progress
        )
    _print_demo(result)
    if lacking:
        click.echo(f"Done ({result.seconds:.0f} s)")
        return
    from likewise.experiments.demo.report import write_report

    write_report(result, out)
    click.echo(f"Report: {out}  ({result.seconds:.0f} s)")


def _print_demo(result: Demo) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{result.game.rounds} rounds of {result.world.k} loan applications, five auditors",
        caption="\n".join(_notes(result)),
        caption_justify="left",
    )
    table.add_column("learner", no_wrap=True)
    for title in ("error", "regret", "unfair", "late", "reports", "oracle calls"):
        table.add_column(title, justify="right", no_wrap=True)
    for shown in result.shown:
        s = shown.summary
        regret = "–" if s.regret is None else f"{round(s.regret):,}"
        table.add_row(
            shown.name, f"{s.error_rate:.3f}", regret, f"{s.violations:,}",
            f"{s.violations_per_1000_last_quarter:.0f}", f"{s.reports:,}", f"{s.oracle_calls:,}",
        )  # fmt: skip
    Console().print(table)
    for shown in result.shown:
        if shown.near_constant is not None:
            note(f"{shown.name}: {shown.near_constant.text}")


def _notes(result: Demo) -> list[str]:
    hypotheses, fixed = result.shown[-1].learner.hypotheses, result.comparators
    alpha, eps = result.game.alpha, result.game.eps_or_alpha
    compared = [] if fixed is None else [
        "Best fixed policies in hindsight, at alpha − eps; alpha − kappa; alpha:",
        f"error {fixed.at_alpha_less_eps:.3f}; {fixed.at_alpha_less_kappa:.3f}; "
        f"{fixed.at_alpha:.3f}.",
    ]  # fmt: skip
    return [
        *compared,
        f"{hypotheses.size:.1e} hypotheses, alpha = {alpha:g}, eps = {eps:g}.",
        "unfair: rounds in violation.",
        "late: the same, per 1,000 rounds, in the last quarter.",
        "Who learns has less error than untaught, which never does.",
        f"paper: its own noise drowns the data ({result.paper_draws:,} draws a round, for time):",
        "it learns nothing, and is seldom unfair since it treats most people alike.",
    ]
