"""One game of ``likewise simulate``: set up, played, judged and printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import progress_bar

if TYPE_CHECKING:
    from likewise.evaluation.comparator import BestFair
    from likewise.game import Transcript
    from likewise.learning import Learner
    from likewise.worlds import World

__all__ = ["best_fair", "play_game", "print_game", "say_if_silent", "set_up"]


def say_if_silent(world: World) -> None:
    """A rule that can never fire is allowed, and worth a word."""
    panel = getattr(world, "panel", None)
    if panel is None:
        return
    members, rule = panel.members, panel.rule
    if not rule.can_fire(members):
        click.echo(
            f"Note: the rule {rule} can never fire on a panel of {len(members)} "
            f"({', '.join(members)}): nothing will be reported, and no round counts as unfair.",
            err=True,
        )


def set_up(
    world_name: str,
    learner_name: str,
    rounds: int,
    seed: int,
    delay: str,
    options: dict[str, Any],
) -> tuple[World, Learner]:
    """The world and the learner that the options describe."""
    from likewise.experiments.learners import Settings, make_learner
    from likewise.game import parse_delay
    from likewise.worlds import WORLDS

    k = {} if options["k"] is None else {"k": options["k"]}
    world = WORLDS[world_name].make(seed, rule=options["rule"], **k)
    hypotheses = world.hypotheses(options["hypotheses"])
    names = (
        "alpha", "eta", "x", "kappa", "r", "b", "noise_divisor", "draws", "engine",
        "feedback", "estimate", "audit_share", "open_limit",
    )  # fmt: skip
    settings = Settings(
        hypotheses,
        world.schema,
        world.k,
        seed,
        rounds,
        eps=options["alpha"] if options["eps"] is None else options["eps"],
        late_by=parse_delay(delay).longest or 0,
        **{name: options[name] for name in names},
    )
    return world, make_learner(learner_name, settings)


def play_game(
    world: World,
    learner: Learner,
    rounds: int,
    selection: str,
    seed: int,
    delay: str,
    *,
    record: bool,
) -> Transcript:
    """Play it, with a bar on the way."""
    from likewise.auditing import AllPairs, FirstPair, LargestGap, RandomPair, Selection
    from likewise.game import parse_delay, play

    selections: dict[str, Selection] = {
        "largest-gap": LargestGap(),
        "first": FirstPair(),
        "random": RandomPair(seed),
        "all": AllPairs(),
    }
    late = parse_delay(delay)
    with progress_bar(rounds) as progress:
        return play(
            world, learner, rounds, selection=selections[selection], record=record,
            delay=late,
            progress=lambda moment: progress("rounds", moment.t),
        )  # fmt: skip


def best_fair(transcript: Transcript, name: str | None) -> BestFair:
    """The best fair policy in hindsight, for the rounds that were met."""
    from likewise.evaluation.comparator import best_fair_policy, faced_rounds

    hypotheses = transcript.world.hypotheses(name)
    slack = transcript.learner.alpha - transcript.learner.eps
    with progress_bar(transcript.rounds) as progress:
        faced = faced_rounds(
            transcript.encounters, hypotheses, lambda t: progress("best fair policy", t)
        )
        return best_fair_policy(hypotheses, faced, slack)


def print_game(
    name: str, transcript: Transcript, best: BestFair | None, seconds: float, json_path: Path | None
) -> None:
    """What was counted, for people or as JSON."""
    from likewise.evaluation.counts import summarise, summary_json

    summary = summarise(transcript, None if best is None else best.error)
    data = {"learner": name, **summary_json(transcript, summary, seconds)}
    if json_path is not None:
        text = json.dumps(data, indent=2) + "\n"
        if str(json_path) == "-":
            sys.stdout.write(text)
            return
        json_path.write_text(text)
    shown = {key: value for key, value in data.items() if key not in ("bounds", "schedule")}
    width = max(map(len, shown))
    for key, value in shown.items():
        click.echo(
            f"{key:<{width}}  {value:.4f}"
            if isinstance(value, float)
            else f"{key:<{width}}  {value}"
        )
    for bound in data["bounds"]:
        says = [part for part, informative in bound["informative"].items() if not informative]
        note = f" (no news: the trivial bound on {' and '.join(says)} is smaller)" if says else ""
        click.echo(
            f"{'bound':<{width}}  {bound['source']}, {bound['holds']}: regret ≤ "
            f"{bound['regret']:.3g}, violations ≤ {bound['violations']:.3g}{note}"
        )
