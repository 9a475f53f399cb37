"""Comparisons as sweeps: every learner that can play in a world, ours over a grid of its knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from likewise.errors import LikewiseError
from likewise.evaluation.hindsight import PRICES
from likewise.experiments.configurations import Configuration, Scenario
from likewise.experiments.learners import LEARNERS, make_learner
from likewise.experiments.sweep.spec import Sweep
from likewise.learning.schedules.self_tuned import KAPPA_SHARE
from likewise.worlds import Steady

__all__ = ["ETAS", "KAPPA_SHARES", "comparison", "taking_part"]

ETAS = (0.25, 1 / 24, 1 / 128)
KAPPA_SHARES = (0.5, KAPPA_SHARE, 1 / 6)
# Learners that are another name of one that is there, or that play the same with less.
_SAME = ("auto",)
# What is tuned like ours: every learner with a knob stands for a grid of it.
_GRIDS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "paper": ("noise_divisor", (1.0, 1e4, 1e5, 1e6)),
    "bechavod-jung-wu": ("noise_divisor", (1.0, 3.0, 10.0, 30.0)),
    "bechavod-roth": ("noise_divisor", (1.0, 100.0, 1000.0, 10_000.0)),
    "exp2": ("noise_divisor", (1.0, 3.0, 10.0)),
    "fixed-trade-off": ("lam", (0.25, 1.0, 4.0, 16.0)),
    "gillen": ("width_divisor", (1.0, 10.0, 100.0)),
}


def comparison(
    horizons: Sequence[int],
    world: str,
    seeds: Sequence[int],
    settings: Mapping[str, Any] | None = None,
    hypotheses: str | None = None,
    learners: Sequence[str] = (),
    feedback: str = "full",
    alpha: float = 0.3,
    *,
    grid: bool = True,
) -> Sweep:
    """A sweep of one scenario with some learners; without any, all that can play there.

    With ``grid`` ours stand for every eta and kappa of a grid, and others for every scale of their
    noise; without it, each stands for itself. Fixed policies in hindsight come with the grid.
    """
    scenario = Scenario(world, tuple((settings or {}).items()), hypotheses, alpha, None, feedback)
    made = scenario.make(seeds[0])
    names = list(learners) or taking_part(scenario, seeds[0], max(horizons))[0]
    prices = PRICES[::2] if grid and isinstance(made, Steady) else ()
    return Sweep(
        f"{scenario.title}: learners side by side",
        (scenario,),
        tuple(one for name in names for one in _configurations(name, grid=grid)),
        tuple(seeds),
        tuple(horizons),
        prices=prices,
    )


def taking_part(scenario: Scenario, seed: int, rounds: int) -> tuple[list[str], dict[str, str]]:
    """The learners that can play in a scenario, and why each of the others cannot."""
    world = scenario.make(seed)
    task = scenario.task(world, seed, rounds)
    playing, left_out = [], {}
    for name in LEARNERS:
        if name in _SAME:
            continue
        try:
            make_learner(name, task)
        except LikewiseError as error:
            left_out[name] = str(error)
        else:
            playing.append(name)
    return playing, left_out


def _configurations(name: str, *, grid: bool) -> Iterator[Configuration]:
    takes = LEARNERS[name].takes
    if not grid:
        yield Configuration(name)
    elif {"eta", "kappa_share"} <= set(takes):
        for share in KAPPA_SHARES if name == "exact" else KAPPA_SHARES[1:2]:
            for eta in ETAS:
                yield Configuration.of(name, eta=eta, kappa_share=share)
    elif name in _GRIDS:
        knob, values = _GRIDS[name]
        for value in values:
            yield Configuration(name, ((knob, value),))
    else:
        yield Configuration(name)
