"""``python -m studies compare`` and ``rates``: learners side by side in one world."""

from __future__ import annotations

from typing import Any

import click

from likewise.cli.main import AT_LEAST_ONE, note
from likewise.cli.options import WORLD_SETTINGS, game_of, game_options, option_group
from likewise.cli.studies.main import main
from likewise.cli.studies.sweeps import play_sweep, running_options

_which = option_group(
    game_options("world"),
    WORLD_SETTINGS,
    game_options("hypotheses", "feedback", "alpha"),
    click.option(
        "--learner", "learners", multiple=True,
        help="A learner that takes part; may be given several times.  [default: all that can]",
    ),
    click.option(
        "--seeds", type=AT_LEAST_ONE, default=3, show_default=True, help="How many seeds."
    ),
)  # fmt: skip


@main.command(short_help="Every learner in one world: frontiers, and who beats whom.")
@_which
@game_options("rounds")
@running_options
def compare(rounds: int, **options: Any) -> None:
    """Play every learner in one world, ours over a grid of eta and kappa, and say who beats whom.

    A point beats another if it is nowhere worse and somewhere better on error, violations and
    reports together. Beside them stand the best fixed policies in hindsight at alpha − eps,
    alpha − kappa and alpha, and, where the world does not react, fixed policies that pay a price
    for their violations.

    \b
    For example
      python -m studies compare --world drift --rounds 2000 --seeds 5 --figure drift.pdf
      python -m studies compare --set rule=any --learner exact --learner nested
    """
    _compare("compare", (rounds,), ("points", "frontier"), **options)


@main.command(short_help="How regret, violations and reports grow, beside what was proved.")
@_which
@click.option(
    "--horizon", "horizons", type=click.IntRange(min=2), multiple=True,
    help="A number of rounds; give two or more.  [default: 250, 1000, 4000]",
)  # fmt: skip
@running_options
def rates(horizons: tuple[int, ...], **options: Any) -> None:
    """Fit the growth of regret, violations and reports for each learner, with intervals.

    \b
    For example
      python -m studies rates --seeds 10 --learner exact --learner paper
      python -m studies rates --horizon 100 --horizon 400 --horizon 1600
    """
    chosen = tuple(sorted(set(horizons))) or (250, 1000, 4000)
    if len(chosen) < 2:
        raise click.UsageError("A rate needs two horizons: give --horizon twice or more.")
    _compare("rates", chosen, ("rates",), **options)


def _compare(
    command: str,
    horizons: tuple[int, ...],
    tables: tuple[str, ...],
    learners: tuple[str, ...],
    seeds: int,
    **options: Any,
) -> None:
    """Play, and print the tables; without learners, say who cannot take part, and why."""
    from likewise.experiments.comparing import comparison, taking_part
    from likewise.experiments.sweep.views.tables import sweep_markdown

    running = {name: options.pop(name) for name in ("folder", "jobs", "cluster", "figure")}
    game = game_of(**options, rounds=max(horizons))
    sweep = comparison(game, horizons, range(1, seeds + 1), learners, grid=command == "compare")
    for name, reason in ({} if learners else taking_part(game)[1]).items():
        note(f"{name} does not take part: {reason}")
    # A folder of its own for every comparison, so that none is refused as another's.
    rows = play_sweep(sweep, f"{command}-{sweep.digest}", **running)
    for table in tables:
        click.echo(sweep_markdown(sweep, rows, table) + "\n")
