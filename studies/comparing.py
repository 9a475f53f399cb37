"""Comparisons as sweeps: every learner that can play in a world, ours over a grid of its knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner.schedules import KAPPA_SHARE
from likewise.simulate.game import Game
from likewise.simulate.learners import learner_names, learner_settings
from likewise.simulate.world import Steady
from studies.priced import PRICES
from studies.sweep.spec import Sweep, entries_of, learner_title, scenario_title

ETAS = (0.25, 1 / 24, 1 / 128)
KAPPA_SHARES = (0.5, KAPPA_SHARE, 1 / 6)
# What is tuned like ours: every learner with a knob stands for a grid of it.
_GRIDS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "paper": ("noise_divisor", (1.0, 1e4, 1e5, 1e6)),
    "bechavod-jung-wu": ("noise_divisor", (1.0, 3.0, 10.0, 30.0)),
    "bechavod-roth": ("noise_divisor", (1.0, 100.0, 1000.0, 10_000.0)),
    "exp2": ("noise_divisor", (1.0, 3.0, 10.0)),
    "fixed-trade-off": ("lam", (0.25, 1.0, 4.0, 16.0)),
    "gillen": ("width_divisor", (1.0, 10.0, 100.0)),
    "sinha-vaze": ("beta", (0.5, 0.75, 1.0)),
    "learnt-metric": ("caution", (1.0, 100.0, 1000.0)),
}


def comparison(game: Game, seeds: Sequence[int], learners: Sequence[str] = ()) -> Sweep:
    """A sweep of one scenario with some learners; without any, all that can play there.

    Ours stand for every eta and kappa of a grid, and others for every scale of their noise.
    """
    names = list(learners) or taking_part(game)[0]
    fields = [
        (learner_title(name, settings), {"learner": name, "learner_settings": settings})
        for name in names
        for settings in _grid(name)
    ]
    title = scenario_title(game)
    prices = PRICES[::2] if isinstance(game.make_world(), Steady) else ()
    return Sweep(
        f"{title}: learners side by side", entries_of({title: game}, fields, prices),
        tuple(seeds), (game.rounds,),
    )  # fmt: skip


def taking_part(game: Game) -> tuple[list[str], dict[str, str]]:
    """The learners that can play in a game, and why each of the others cannot."""
    world = game.make_world()
    hypotheses = game.make_hypotheses(world)
    playing, left_out = [], {}
    # ``auto`` is another name of one that is there.
    for name in (name for name in learner_names() if name != "auto"):
        try:
            replace(game, learner=name).make_learner(hypotheses, world.k)
        except LikewiseError as error:
            left_out[name] = str(error)
        else:
            playing.append(name)
    return playing, left_out


def _grid(learner: str) -> Iterator[dict[str, Any]]:
    """The settings that a learner stands for in a comparison."""
    if {"eta", "kappa_share"} <= set(learner_settings(learner)):
        for share in KAPPA_SHARES if learner == "exact" else KAPPA_SHARES[1:2]:
            yield from ({"eta": eta, "kappa_share": share} for eta in ETAS)
    elif learner in _GRIDS:
        knob, values = _GRIDS[learner]
        yield from ({knob: value} for value in values)
    else:
        yield {}
