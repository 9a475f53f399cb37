"""``likewise simulate``: one game, counted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import main, note
from likewise.cli.options import (
    JSON,
    LEARNER_SETTINGS,
    WORLD_SETTINGS,
    OutputFile,
    game_of,
    game_options,
)
from likewise.cli.output import is_pipe, print_counts, progress_bar, write_text

if TYPE_CHECKING:
    from likewise.evaluation import Comparators
    from likewise.experiments.games import PreparedGame
    from likewise.game import Transcript


@main.command(short_help="One game, your way, counted.")
@game_options("world")
@WORLD_SETTINGS
@game_options("learner")
@LEARNER_SETTINGS
@game_options(
    "rounds", "seed", "alpha", "eps", "hypotheses", "feedback", "delay", "audit_share", "selection"
)
@click.option(
    "--no-comparator", is_flag=True, help="Leave out the best fixed policies in hindsight."
)
@JSON
@click.option(
    "--trace", metavar="FILE", type=OutputFile(allow_dash=True),
    help="Write every round as CSV; - for standard output.",
)  # fmt: skip
@click.option("--save-state", metavar="FILE", type=OutputFile(), help="Write the final state.")
def simulate(
    no_comparator: bool,
    json_path: Path | None,
    trace: Path | None,
    save_state: Path | None,
    **options: Any,
) -> None:
    """Play one game and count: error, regret, violations, reports, oracle calls.

    \b
    For example
      likewise simulate --learner exact --rounds 2000 --with eta=0.0625
      likewise simulate --world drift --set spell=200 --set depth=0.2
      likewise simulate --learner self-tuned --set "rule=veto(regulator) or at_least(80%)"
      likewise simulate --learner paper --with noise_divisor=1e4 --json - | jq .violations
      likewise simulate --feedback one-sided --delay 50 --audit-share 0.5 --trace -
    """
    from likewise.learning import Learner
    from likewise.learning import save_state as save

    if is_pipe(json_path) and is_pipe(trace):
        raise click.UsageError("--json - and --trace - cannot both go to standard output.")
    game = game_of(**options).prepare()
    if save_state is not None and not isinstance(game.learner, Learner):
        raise click.UsageError(f"--save-state needs a learner that is a fold: {game.game.learner}.")
    for caveat in game.caveats():
        note(caveat)
    began = time.perf_counter()
    played, best = _played(game, compare=not no_comparator)
    seconds = time.perf_counter() - began
    if save_state is not None:
        save(played.state, save_state)
    _write(game, played, best, seconds, json_path, trace)


def _played(game: PreparedGame, *, compare: bool) -> tuple[Transcript, Comparators | None]:
    """The game played, with a bar on the way, and the best fixed policies in hindsight."""
    from likewise.errors import HypothesisError
    from likewise.extras import MissingLibraryError

    if compare:
        try:
            from likewise.evaluation import ComparatorError, best_fair_policy  # noqa: F401
        except MissingLibraryError as error:
            note(f"the best fixed policies and the regret are left out. {error}")
            compare = False
    rounds = game.game.rounds
    with progress_bar(rounds) as progress:
        played = game.play(record=compare, progress=lambda moment: progress("rounds", moment.t))
    if not compare:
        return played, None
    with progress_bar(rounds) as progress:
        try:
            return played, game.compare(played, lambda t: progress("best fixed policies", t))
        except (HypothesisError, ComparatorError) as error:
            note(f"there is no best fixed policy to compare with, and no regret. {error}")
            return played, None


def _write(
    game: PreparedGame,
    played: Transcript,
    best: Comparators | None,
    seconds: float,
    json_path: Path | None,
    trace: Path | None,
) -> None:
    """The counts as JSON, as CSV, and for people unless one of these goes to standard output."""
    from likewise.evaluation.counts import summarise, summary_json, trace_csv
    from likewise.evaluation.near_constant import near_constant

    summary = summarise(played, best)
    warning = near_constant(game.learner, summary)
    data = {
        "learner": game.game.learner,
        **summary_json(played, summary, seconds),
        "near_constant": None if warning is None else warning.to_json(),
    }
    if trace is not None:
        write_text(trace, trace_csv(played))
    if json_path is not None:
        write_text(json_path, json.dumps(data, indent=2) + "\n")
    if not is_pipe(json_path) and not is_pipe(trace):
        print_counts(data)
    if warning is not None:
        note(warning.text)
