"""``likewise simulate``: one game, counted."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from likewise.cli.main import AT_LEAST_ONE, main, note
from likewise.cli.options import (
    WORLD,
    WORLD_SETTINGS,
    OutputFile,
    Pair,
    Registered,
    learner_names,
    learner_options,
)
from likewise.cli.output import is_pipe, print_counts, progress_bar, write_text
from likewise.registry import SELECTIONS, WORLDS

if TYPE_CHECKING:
    from likewise.evaluation import Comparators
    from likewise.experiments.simulation import Game, Simulation
    from likewise.game import Transcript

__all__ = ["simulate"]

# Settings that only some learners have; given to another, they would be ignored.
OF_SOME = ("eta", "x", "kappa", "r", "b", "noise_divisor", "draws", "engine")
OF_ALL = ("alpha", "eps", "feedback", "estimate", "audit_share", "open_limit")


@main.command(short_help="One game, your way, counted.")
@WORLD
@WORLD_SETTINGS
@click.option("--k", type=AT_LEAST_ONE, help="People a round.  [default: the world's]")
@click.option("--rule", help="When the panel reports a pair.  [default: the world's, majority]")
@click.option(
    "--hypotheses",
    help="The class: one of the world's by name (see `likewise list`), or any as FILE.json, as its "
    "spec() is.  [default: the world's first]",
)
@click.option(
    "--learner", type=Registered("learner", learner_names), default="auto", show_default=True,
    help="Who decides; `auto` is `exact` where the class allows it.",
)  # fmt: skip
@click.option(
    "--rounds", type=AT_LEAST_ONE, default=1000, show_default=True, help="T, the number of rounds."
)
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option(
    "--report", "selection", type=Registered("selection", lambda: SELECTIONS),
    default="largest-gap", show_default=True,
    help="Which violating pair is reported; `all` are averaged.",
)  # fmt: skip
@click.option(
    "--delay", default="0", show_default=True, metavar="N|geometric:P|audits:…,labels:…",
    help="How many rounds late audits and labels come; or at random, each with chance P a round; "
    "or each its own way, such as audits:0,labels:200.",
)  # fmt: skip
@learner_options
@click.option(
    "--with", "own", type=Pair(), multiple=True, metavar="NAME=VALUE",
    help="Another setting of the learner, such as dual=geometric or prior=flat; `likewise list "
    "--settings` shows all of them. May be given several times.",
)  # fmt: skip
@click.option(
    "--no-comparator", is_flag=True, help="Leave out the best fixed policies in hindsight."
)
@click.option(
    "--json", "json_path", metavar="FILE", type=OutputFile(allow_dash=True),
    help="Write one JSON object; - for standard output.",
)  # fmt: skip
@click.option(
    "--trace", metavar="FILE", type=OutputFile(allow_dash=True),
    help="Write every round as CSV; - for standard output.",
)  # fmt: skip
@click.option("--save-state", metavar="FILE", type=OutputFile(), help="Write the final state.")
@click.pass_context
def simulate(
    ctx: click.Context,
    /,
    no_comparator: bool,
    json_path: Path | None,
    trace: Path | None,
    save_state: Path | None,
    **asked: Any,
) -> None:
    """Play one game and count: error, regret, violations, reports, oracle calls.

    \b
    For example
      likewise simulate --learner exact --rounds 2000 --eta 0.0625
      likewise simulate --world drift --set spell=200 --set depth=0.2
      likewise simulate --learner self-tuned --rule "veto(regulator) or at_least(80%)"
      likewise simulate --learner paper --noise-divisor 1e4 --json - | jq .violations
      likewise simulate --feedback one-sided --delay 50 --audit-share 0.5 --trace -
    """
    if is_pipe(json_path) and is_pipe(trace):
        raise click.UsageError("--json - and --trace - cannot both go to standard output.", ctx)
    game = _set_up(ctx, asked)
    for caveat in game.caveats():
        note(caveat)
    began = time.perf_counter()
    played, best = _played(game, compare=not no_comparator)
    seconds = time.perf_counter() - began
    if save_state is not None:
        from likewise.learning import save_state as save

        save(played.state, save_state)
    _write(game, played, best, seconds, json_path, trace)


def _set_up(ctx: click.Context, asked: dict[str, Any]) -> Game:
    """The game that the options describe; an option that would be ignored is refused."""
    from likewise.experiments.learners import LEARNERS
    from likewise.learning import Learner

    name = asked["learner"]
    for setting in OF_SOME:
        if setting not in LEARNERS[name].takes:
            whose = [other for other in LEARNERS if setting in LEARNERS[other].takes]
            _refuse(ctx, (setting,), f"to the learner {name}; it is for {', '.join(whose)}")
    if asked["feedback"] == "full":
        _refuse(ctx, ("estimate",), "to full information, where no label is unseen")
    game = _simulation(ctx, asked).set_up()
    if not isinstance(game.learner, Learner):
        _refuse(ctx, ("save_state",), f"to {name}, which is no fold over events")
    elif game.learner.primal.exact:
        _refuse(ctx, ("r", "engine"), f"here: the learner {name} makes no draws")
    return game


def _simulation(ctx: click.Context, asked: dict[str, Any]) -> Simulation:
    from likewise.experiments.simulation import Simulation

    return Simulation(
        asked["world"], asked["learner"], asked["rounds"], asked["seed"],
        world_settings=_world_settings(ctx, asked),
        hypotheses=asked["hypotheses"],
        settings=_learner_settings(ctx, asked),
        rules={name: asked[name] for name in OF_ALL},
        selection=_given(ctx, asked, "selection"),
        delay=asked["delay"],
    )  # fmt: skip


def _given(ctx: click.Context, asked: dict[str, Any], name: str) -> Any:
    """An option that was given; None where it is the default."""
    default = ctx.get_parameter_source(name) is ParameterSource.DEFAULT
    return None if default else asked[name]


def _learner_settings(ctx: click.Context, asked: dict[str, Any]) -> dict[str, Any]:
    """The settings of the learner, by --with or by an option of their own, each once."""
    from likewise.experiments.learners import LEARNERS

    named = LEARNERS[asked["learner"]]
    given = {
        name: asked[name]
        for name in OF_SOME
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    for name, text in asked["own"]:
        if name in given:
            raise click.UsageError(f"The setting {name} is given twice. Give it once.", ctx)
        given[name] = named.setting(name).parse(text)
    return given


def _world_settings(ctx: click.Context, asked: dict[str, Any]) -> dict[str, Any]:
    """The settings of the world, by --set or by an option of their own, each once."""
    from likewise.worlds.settings import parse_setting, settings_of

    world = WORLDS[asked["world"]]
    known = settings_of(world)
    found: dict[str, Any] = {}
    for name in ("k", "rule"):
        if asked[name] is not None:
            if name not in known:
                listed = ", ".join(one.text for one in known.values()) or "none"
                _refuse(ctx, (name,), f"to the world {asked['world']}; its settings are: {listed}")
            found[name] = asked[name]
    for name, text in asked["settings"]:
        if name in found:
            raise click.UsageError(f"The setting {name} is given twice. Give it once.", ctx)
        found[name] = parse_setting(world, name, text)
    return found


def _played(game: Game, *, compare: bool) -> tuple[Transcript, Comparators | None]:
    """The game played, with a bar on the way, and the best fixed policies in hindsight."""
    from likewise.errors import HypothesisError

    if compare:
        # Refused now if scipy is missing, not when the game is over.
        from likewise.evaluation import ComparatorError, best_fair_policy  # noqa: F401
    rounds = game.asked.rounds
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
    game: Game,
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
        "learner": game.asked.learner,
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


def _refuse(ctx: click.Context, names: Sequence[str], why: str) -> None:
    """Refuse an option that was given and would be ignored: better to hear of it at once."""
    for name in names:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} does not apply {why}. Leave it out.", ctx)
