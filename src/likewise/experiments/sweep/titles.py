"""The titles of tables: a scenario, and a learner with its settings, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from likewise.experiments.games import Game, fraction
from likewise.game import Delay, Delays


def setting_title(name: str, value: Any) -> str:
    """A setting with its value, in words for a table.

    >>> setting_title("eta", 0.25), setting_title("noise_divisor", 1e5)
    ('eta = 1/4', 'noise ÷ 10^5')
    >>> setting_title("kappa_share", 0.3)
    'kappa = 0.3·eps'
    """
    if name == "noise_divisor":
        power = math.log10(value) if value > 0 else math.nan
        return f"noise ÷ 10^{power:.0f}" if power == round(power) != 0 else f"noise ÷ {value:g}"
    if name == "kappa_share":
        near = Fraction(value).limit_denominator(12)
        exact = near.numerator == 1 and abs(float(near) - value) < 1e-12
        return f"kappa = eps/{near.denominator}" if exact else f"kappa = {value:g}·eps"
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"not {name.replace('_', ' ')}"
    if isinstance(value, float):
        return f"{name} = {fraction(value)}"
    return f"{name} = {value}" if not isinstance(value, str) else value


def learner_title(learner: str, settings: Mapping[str, Any]) -> str:
    """A learner with its settings.

    >>> learner_title("exact", {"eta": 0.25})
    'exact, eta = 1/4'
    """
    return ", ".join([learner, *(setting_title(*pair) for pair in settings.items())])


def scenario_title(game: Game) -> str:
    """A world with its settings and class, and the rules of the game there.

    >>> scenario_title(Game("loans", world_settings={"leniency": 0.01}, delay="50"))
    'loans, leniency = 0.01, 50 rounds late'
    """
    return ", ".join([game.world, *_scenario_parts(game)])


def _scenario_parts(game: Game) -> Iterator[str]:
    yield from (setting_title(*pair) for pair in game.world_settings.items())
    if game.hypotheses is not None:
        yield game.hypotheses
    if game.alpha != 0.3:
        yield f"alpha = {game.alpha:g}"
    if game.eps is not None:
        yield f"eps = {game.eps:g}"
    if game.feedback != "full":
        yield f"{game.feedback} labels"
    yield from _late(game.delays)
    if game.audit_share < 1:
        yield f"{fraction(game.audit_share)} audited"
    if game.selection not in (None, "largest-gap"):
        yield f"report {game.selection}"


def _late(delays: Delays) -> Iterator[str]:
    parts: dict[str, Delay] = {"audits ": delays.audits, "labels ": delays.labels}
    if delays.audits == delays.labels:
        parts = {"": delays.audits}
    for noun, delay in parts.items():
        if delay.chance < 1:
            yield f"{noun}geometric delay ({delay.chance:g})"
        elif delay.rounds:
            yield f"{noun}{delay.rounds} rounds late"
