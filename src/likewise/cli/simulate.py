"""``likewise simulate``: one game, counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from likewise.cli.listing import SELECTIONS
from likewise.cli.main import AT_LEAST_ONE, OutputFile, main
from likewise.cli.one_game import best_fair, play_game, print_game, say_if_silent, set_up

__all__ = ["LEARNER_NAMES", "WORLD_NAMES", "simulate"]

LEARNER_NAMES = ("auto", "self-tuned", "exact", "paper", "accuracy-only", "untaught", "constant")
WORLD_NAMES = ("loans", "admissions", "drift", "strategic", "adaptive", "adversarial")

# Which learners an option is for; the others would ignore it.
SELF_TUNED = ("auto", "self-tuned", "exact")
MEANT_FOR = {
    **dict.fromkeys(("eta", "x", "kappa", "r"), SELF_TUNED),
    **dict.fromkeys(("b", "noise_divisor", "draws"), ("paper",)),
    "engine": (*SELF_TUNED, "paper"),
}


@main.command(short_help="One game, your way, counted.")
@click.option(
    "--world", "world_name", type=click.Choice(WORLD_NAMES), default="loans", show_default=True,
    help="Who arrives, and who sits on the panel.",
)  # fmt: skip
@click.option(
    "--learner", "learner_name", type=click.Choice(LEARNER_NAMES), default="auto",
    show_default=True, help="Who decides; `auto` is `exact` where the class allows it.",
)  # fmt: skip
@click.option(
    "--rounds", type=AT_LEAST_ONE, default=1000, show_default=True, help="T, the number of rounds."
)
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--k", type=AT_LEAST_ONE, help="People a round.  [default: the world's]")
@click.option(
    "--hypotheses", help="The class, by name; see `likewise list`.  [default: the world's first]"
)
@click.option(
    "--rule", default="majority", show_default=True, help="When the panel reports a pair."
)
@click.option(
    "--report",
    "selection",
    type=click.Choice(list(SELECTIONS)),
    default="largest-gap",
    show_default=True,
    help="Which violating pair is reported; `all` are averaged.",
)
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1].")
@click.option(
    "--eps", type=float, help="Compete with policies fair at alpha − eps.  [default: alpha]"
)
@click.option(
    "--eta", type=float,
    help="Weight of the error: smaller means fewer violations.  [default: 1/4]",
)  # fmt: skip
@click.option(
    "--x", type=float,
    help="Noise (temperature) in units of sqrt(S).  [default: the player's, by the class's size]",
)  # fmt: skip
@click.option("--kappa", type=float, help="The panel is asked at alpha − kappa.  [default: eps/2]")
@click.option("--r", type=float, help="Accuracy of a gap estimated from draws.  [default: 0.4·eps]")
@click.option(
    "--b", default=0.0, show_default=True, help="Learner `paper`: the frontier's parameter."
)
@click.option(
    "--noise-divisor",
    default=1.0,
    show_default=True,
    help="Learner `paper`: less noise than its own.",
)
@click.option(
    "--draws", type=click.Choice(["paper", "tight", "r"]), default="paper", show_default=True,
    help="Learner `paper`: how many draws estimate a score.",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True,
    help="Who makes the draws; both make the same.",
)  # fmt: skip
@click.option(
    "--feedback", type=click.Choice(["full", "one-sided"]), default="full", show_default=True,
    help="Whose labels become known; `one-sided`: those of the approved.",
)  # fmt: skip
@click.option(
    "--estimate", type=click.Choice(["lifted", "direct"]), default="lifted", show_default=True,
    help="One-sided labels: how unseen ones are made up for.",
)  # fmt: skip
@click.option(
    "--delay", default="0", show_default=True, metavar="N|geometric:P",
    help="How many rounds late audits and labels come (self-tuned learners are told so); or at "
    "random, each with chance P a round.",
)  # fmt: skip
@click.option(
    "--audit-share", default=1.0, show_default=True,
    help="The share of rounds that a lottery draws for audit, in [0.001, 1].",
)  # fmt: skip
@click.option(
    "--open-limit", type=AT_LEAST_ONE, default=10_000, show_default=True,
    help="The most rounds that may wait for feedback at a time.",
)  # fmt: skip
@click.option("--no-comparator", is_flag=True, help="Leave out the best fair policy in hindsight.")
@click.option(
    "--json", "json_path", metavar="FILE", type=OutputFile(allow_dash=True),
    help="Write one JSON object; - for standard output.",
)  # fmt: skip
@click.option("--trace", metavar="FILE", type=OutputFile(), help="Write every round as CSV.")
@click.option("--save-state", metavar="FILE", type=OutputFile(), help="Write the final state.")
@click.pass_context
def simulate(
    ctx: click.Context,
    /,
    world_name: str,
    learner_name: str,
    rounds: int,
    seed: int,
    selection: str,
    delay: str,
    no_comparator: bool,
    json_path: Path | None,
    trace: Path | None,
    save_state: Path | None,
    **options: Any,
) -> None:
    """Play one game and count: error, regret, violations, reports, oracle calls.

    \b
    For example
      likewise simulate --learner exact --rounds 2000 --eta 0.0625
      likewise simulate --learner self-tuned --rule "veto(regulator) or at_least(80%)"
      likewise simulate --learner paper --noise-divisor 1e4 --json - | jq .violations
      likewise simulate --feedback one-sided --delay 50 --audit-share 0.5
    """
    _refuse_what_does_not_apply(ctx, world_name, learner_name)
    world, learner = set_up(world_name, learner_name, rounds, seed, delay, options)
    if learner.primal.exact:
        _refuse(ctx, ("r", "engine"), f"here: the learner {learner_name} makes no draws")
    say_if_silent(world)
    if learner_name == "paper" and learner.pricing.one_sided:
        click.echo(
            "Note: with one-sided labels the paper's own proof does not cover its constants, and "
            "their noise drowns the data. docs/theory.md says why.",
            err=True,
        )
    began = time.perf_counter()
    transcript = play_game(world, learner, rounds, selection, seed, delay, record=not no_comparator)
    best = None if no_comparator else best_fair(transcript, options["hypotheses"])
    seconds = time.perf_counter() - began
    if trace is not None:
        from likewise.evaluation.counts import trace_csv

        trace.write_text(trace_csv(transcript))
    if save_state is not None:
        from likewise.learning import save_state as save

        save(transcript.state, save_state)
    print_game(learner_name, transcript, best, seconds, json_path)


def _refuse_what_does_not_apply(ctx: click.Context, world: str, learner: str) -> None:
    """An option that would be ignored is a misunderstanding; better to hear of it at once."""
    for name, learners in MEANT_FOR.items():
        if learner not in learners:
            _refuse(ctx, (name,), f"to the learner {learner}; it is for {', '.join(learners)}")
    if ctx.params["feedback"] == "full":
        _refuse(ctx, ("estimate",), "to full information, where no label is unseen")
    if world == "adversarial":
        _refuse(ctx, ("rule",), "here: the adversarial world picks another rule every round")


def _refuse(ctx: click.Context, names: Sequence[str], why: str) -> None:
    for name in names:
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} does not apply {why}. Leave it out.", ctx)
