"""``likewise propose``: eta and kappa for a budget of reports, on one's own people and panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.output import progress_bar

if TYPE_CHECKING:
    from likewise.experiments.proposing import Proposal
    from likewise.worlds.resampled import Resampled

__all__ = ["propose"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


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
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1].")
@click.option("--eps", type=float, help="Compete with policies fair at alpha − eps.")
@click.option(
    "--feedback", type=click.Choice(["full", "one-sided"]), default="full", show_default=True,
    help="Whose labels become known.",
)  # fmt: skip
@click.option(
    "--delay", default="0", show_default=True, metavar="N|geometric:P|audits:…,labels:…",
    help="How late feedback will be, as for likewise simulate.",
)  # fmt: skip
@click.option(
    "--audit-share", default=1.0, show_default=True, help="The share of rounds that are audited."
)
@click.option("--rounds", type=AT_LEAST_ONE, default=1000, show_default=True, help="Rounds a game.")
@click.option("--seeds", type=AT_LEAST_ONE, default=2, show_default=True, help="How many games.")
@click.option("--jobs", type=AT_LEAST_ONE, help="Processes side by side.  [default: all cores]")
def propose(
    people: Path, label: str, hypotheses: Path, panel: Path, jobs: int | None, seeds: int, k: int,
    **asked: Any,
) -> None:  # fmt: skip
    """Simulate on your own people, class and panel, and propose eta and kappa.

    People are drawn from the file again and again. Of a grid of eta and kappa, the most accurate
    setting is proposed whose reports keep to the budget and whose violations keep to the limit.

    \b
    For example
      likewise propose --people loans.csv --label repaid --hypotheses class.json \\
        --panel panel.toml --budget 50
    """
    from likewise.extras import need

    need("study", "likewise propose", also="fast")
    from likewise.experiments import proposing
    from likewise.experiments.parallel import Processes

    worlds = [_world(people, label, hypotheses, panel, k, seed) for seed in range(1, seeds + 1)]
    games = len(proposing.ETAS) * len(proposing.KAPPA_SHARES) * seeds
    with progress_bar(games) as progress:
        found = proposing.propose(worlds, workers=Processes(jobs), progress=progress, **asked)
    _print(found)


def _world(people: Path, label: str, hypotheses: Path, panel: Path, k: int, seed: int) -> Resampled:
    from likewise.auditing import Panel
    from likewise.experiments.environments import class_from_file
    from likewise.schema.tables import parse_labels, parse_people, read_table
    from likewise.worlds.resampled import Resampled

    made = class_from_file(str(hypotheses))
    rows = read_table(people, [*made.schema.names, label])
    labels = parse_labels(people, rows, label)
    everybody = parse_people(people, rows, made.schema)
    return Resampled(seed, k, everybody, labels, Panel.from_file(panel), made)


def _print(found: Proposal) -> None:
    chosen = found.chosen
    click.echo(
        f"eta = {chosen.eta:g}, kappa = {chosen.kappa:g}: error {chosen.error_rate:.3f}, "
        f"{chosen.violations:.0f} violations and {chosen.reports:.0f} reports a thousand rounds"
    )
    if not found.within:
        note(
            f"no setting within {found.budget:g} reports keeps to {found.limit:g} violations a "
            f"thousand rounds; this one has the fewest."
        )
    click.echo("\nSettings that no other beats on all three:\n")
    click.echo("| eta | kappa | error | violations | reports |\n|---|---|---|---|---|")
    for one in sorted(found.best, key=lambda one: one.outcome.all):
        click.echo(
            f"| {one.eta:g} | {one.kappa:g} | {one.error_rate:.3f} | {one.violations:.0f} | "
            f"{one.reports:.0f} |"
        )
