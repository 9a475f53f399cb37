"""``likewise propose``: eta and kappa for a budget of reports, on one's own people and panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.options import JOBS, game_options
from likewise.cli.output import progress_bar
from likewise.experiments.games import Game, class_from_file

if TYPE_CHECKING:
    from likewise.experiments.proposing import Proposal
    from likewise.worlds import Resampled

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
SEEDS = (1, 2)


@main.command(short_help="Propose eta and kappa for a budget of reports, on your own people.")
@click.option("--people", required=True, type=_FILE, help="A CSV file with a row for each person.")
@click.option("--label", required=True, help="The column that is 1 for whom to approve, else 0.")
@click.option("--hypotheses", required=True, type=_FILE, help="The class, as its spec() in JSON.")
@click.option(
    "--panel", required=True, type=_FILE,
    help="The panel as TOML or JSON: auditors with their distances, and a rule.",
)  # fmt: skip
@click.option(
    "--budget", required=True, type=float,
    help="The most reports that the panel can look at, in a thousand rounds.",
)  # fmt: skip
@click.option(
    "--limit", default=10.0, show_default=True,
    help="The most rounds in violation that are bearable, in a thousand.",
)  # fmt: skip
@click.option("--k", type=AT_LEAST_ONE, default=8, show_default=True, help="People a round.")
@game_options("rounds", "alpha", "eps", "feedback", "delay", "audit_share")
@JOBS
def propose(
    people: Path, label: str, hypotheses: Path, panel: Path, budget: float, limit: float, k: int,
    jobs: int | None, **options: Any,
) -> None:  # fmt: skip
    """Simulate on your own people, class and panel, and propose eta and kappa.

    People are drawn from the file again and again. Of a grid of eta and kappa, the most accurate
    setting is proposed whose reports keep to the budget and whose violations keep to the limit.

    \b
    For example
      likewise propose --people loans.csv --label repaid --hypotheses class.json \\
        --panel panel.toml --budget 50
    """
    from likewise.experiments import proposing
    from likewise.experiments.parallel import Processes

    worlds = [_world(people, label, hypotheses, panel, k, seed) for seed in SEEDS]
    games = len(proposing.ETAS) * len(proposing.KAPPA_SHARES) * len(SEEDS)
    with progress_bar(games) as progress:
        proposal = proposing.propose(
            worlds, budget, Game(**options), limit=limit, workers=Processes(jobs),
            progress=progress,
        )  # fmt: skip
    _print(proposal)


def _world(people: Path, label: str, hypotheses: Path, panel: Path, k: int, seed: int) -> Resampled:
    from likewise.auditing import Panel
    from likewise.schema.tables import parse_labels, parse_people, read_table
    from likewise.worlds import Resampled

    class_ = class_from_file(str(hypotheses))
    rows = read_table(people, [*class_.schema.names, label])
    labels = parse_labels(people, rows, label)
    everybody = parse_people(people, rows, class_.schema)
    return Resampled(seed, k, everybody, labels, Panel.from_file(panel), class_)


def _print(proposal: Proposal) -> None:
    chosen = proposal.chosen
    click.echo(
        f"eta = {chosen.eta:g}, kappa = {chosen.kappa:g}: error {chosen.error_rate:.3f}, "
        f"{chosen.violations:.0f} violations and {chosen.reports:.0f} reports a thousand rounds"
    )
    if not proposal.within:
        note(
            f"no setting within {proposal.budget:g} reports keeps to {proposal.limit:g} violations "
            f"a thousand rounds; this one has the fewest."
        )
    click.echo("\nSettings that no other beats on all three:\n")
    click.echo("| eta | kappa | error | violations | reports |\n|---|---|---|---|---|")
    for trial in sorted(proposal.best, key=lambda trial: trial.outcome.all):
        click.echo(
            f"| {trial.eta:g} | {trial.kappa:g} | {trial.error_rate:.3f} | "
            f"{trial.violations:.0f} | {trial.reports:.0f} |"
        )
