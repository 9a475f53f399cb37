"""``likewise compare`` and ``likewise rates``: learners side by side in one world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.options import (
    WORLD,
    WORLD_SETTINGS,
    Registered,
    learner_names,
    option_group,
)
from likewise.cli.studies.sweep import played, running_options
from likewise.registry import WORLDS

if TYPE_CHECKING:
    from likewise.experiments.sweep.spec import Sweep

__all__ = ["compare", "rates"]

_which = option_group(
    WORLD,
    WORLD_SETTINGS,
    click.option("--hypotheses", help="The class.  [default: the world's first]"),
    click.option(
        "--learner", "learners", type=Registered("learner", learner_names), multiple=True,
        help="A learner that takes part; may be given several times.  [default: all that can]",
    ),
    click.option(
        "--feedback", type=click.Choice(["full", "one-sided"]), default="full", show_default=True,
        help="Whose labels become known.",
    ),
    click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1]."),
    click.option(
        "--seeds", type=AT_LEAST_ONE, default=3, show_default=True, help="How many seeds."
    ),
    click.option("--first-seed", default=1, show_default=True, help="The first of them."),
)  # fmt: skip


@main.command(short_help="Every learner in one world: frontiers, and who beats whom.")
@_which
@click.option("--rounds", type=AT_LEAST_ONE, default=1000, show_default=True, help="T.")
@running_options
def compare(rounds: int, **asked: Any) -> None:
    """Play every learner in one world, ours over a grid of eta and kappa, and say who beats whom.

    A point beats another if it is nowhere worse and somewhere better on error, violations and
    reports together. Beside them stand the best fixed policies in hindsight at alpha − eps,
    alpha − kappa and alpha, and, where the world does not react, fixed policies that pay a price
    for their violations.

    \b
    For example
      likewise compare --world drift --rounds 2000 --seeds 5 --figure drift.pdf
      likewise compare --world loans --set rule=any --learner exact --learner nested
    """
    from likewise.extras import need

    need("study", "likewise compare", also="fast")
    from likewise.experiments.comparing import comparison
    from likewise.experiments.sweep.views.tables import sweep_markdown

    running = _running(asked)
    made = comparison((rounds,), **_checked(asked))
    _say_who_is_left_out(made, asked["learners"])
    rows = played(made, _named("compare", made), **running)
    for table in ("points", "frontier"):
        click.echo(sweep_markdown(made, rows, table) + "\n")


@main.command(short_help="How regret, violations and reports grow, beside what was proved.")
@_which
@click.option(
    "--horizon", "horizons", type=click.IntRange(min=2), multiple=True,
    help="A number of rounds; give two or more.  [default: 250, 1000, 4000]",
)  # fmt: skip
@running_options
def rates(horizons: tuple[int, ...], **asked: Any) -> None:
    """Fit the growth of regret, violations and reports for each learner, with intervals.

    \b
    For example
      likewise rates --world loans --seeds 10 --learner exact --learner paper
      likewise rates --horizon 100 --horizon 400 --horizon 1600
    """
    from likewise.extras import need

    need("study", "likewise rates", also="fast")
    from likewise.experiments.comparing import comparison
    from likewise.experiments.sweep.views.tables import sweep_markdown

    chosen = horizons or (250, 1000, 4000)
    if len(set(chosen)) < 2:
        raise click.UsageError("A rate needs two horizons: give --horizon twice or more.")
    running = _running(asked)
    made = comparison(tuple(sorted(set(chosen))), grid=False, **_checked(asked))
    _say_who_is_left_out(made, asked["learners"])
    rows = played(made, _named("rates", made), **running)
    click.echo(sweep_markdown(made, rows, "rates"))


def _say_who_is_left_out(made: Sweep, named: Sequence[str]) -> None:
    """Of those whom nobody named, say who cannot play here, and why."""
    from likewise.experiments.comparing import taking_part

    if not named:
        for name, why in taking_part(made.scenarios[0], made.seeds[0], made.horizons[-1])[
            1
        ].items():
            note(f"{name} does not take part: {why}")


def _running(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked.pop(name) for name in ("folder", "jobs", "cluster", "parquet", "figure")}


def _named(command: str, made: Sweep) -> str:
    """A folder of its own for every comparison, so that none is refused as another's."""
    return f"{command}-{made.digest}"


def _checked(asked: dict[str, Any]) -> dict[str, Any]:
    from likewise.worlds.settings import parse_setting

    world = WORLDS[asked["world"]]
    found: dict[str, Any] = {}
    for name, text in asked.pop("settings"):
        if name in found:
            raise click.UsageError(f"The setting {name} is given twice. Give it once.")
        found[name] = parse_setting(world, name, text)
    first = asked.pop("first_seed")
    seeds = tuple(range(first, first + asked.pop("seeds")))
    return {**asked, "settings": found, "seeds": seeds}
