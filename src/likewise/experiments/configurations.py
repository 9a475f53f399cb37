"""The points of a comparison: a learner with its settings, and the scenario that it plays in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from likewise.errors import ParameterError
from likewise.experiments.environments import Environment, hypotheses_of
from likewise.experiments.learners import LEARNERS, Task
from likewise.game import Delays, parse_delay
from likewise.learning import SelfTuned
from likewise.learning.schedules.self_tuned import KAPPA_SHARE
from likewise.registry import SELECTIONS
from likewise.worlds import World

__all__ = ["Configuration", "Scenario", "Values", "checked_delay", "fraction", "spoken"]

Values = tuple[tuple[str, Any], ...]
# Baselines that are learners of ours, with an eta of their own, ask the panel at the default kappa.
PLAIN = ("untaught", "accuracy-only", "constant")
# Defaults that have moved since results were first kept: without its setting a run is another now.
MOVED: Mapping[str, float] = {"eta": SelfTuned.eta, "kappa_share": KAPPA_SHARE}


def fraction(value: float) -> str:
    """A setting such as eta as people say it.

    >>> fraction(0.25), fraction(1.0), fraction(0.3), fraction(1 / 6)
    ('1/4', '1', '0.3', '1/6')
    """
    near = Fraction(value).limit_denominator(1024)
    power_of_two = near.denominator & (near.denominator - 1) == 0
    said = power_of_two or float(f"{value:g}") != value
    return str(near) if said and float(near) == value else f"{value:g}"


def spoken(name: str, value: Any) -> str:
    """A setting with its value, in words for a table.

    >>> spoken("eta", 0.25), spoken("noise_divisor", 1e5), spoken("kappa_share", 0.3)
    ('eta = 1/4', 'noise ÷ 10^5', 'kappa = 0.3·eps')
    """
    if name == "noise_divisor":
        power = math.log10(value) if value > 0 else math.nan
        return f"noise ÷ 10^{power:.0f}" if power == round(power) != 0 else f"noise ÷ {value:g}"
    if name == "kappa_share":
        near = Fraction(value).limit_denominator(12)
        third = near.numerator == 1 and abs(float(near) - value) < 1e-12
        return f"kappa = eps/{near.denominator}" if third else f"kappa = {value:g}·eps"
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"not {name.replace('_', ' ')}"
    if isinstance(value, float):
        return f"{name} = {fraction(value)}"
    return f"{name} = {value}" if not isinstance(value, str) else value


@dataclass(frozen=True)
class Configuration:
    """A learner by name, with settings of its own; ``label`` replaces the title made from them.

    >>> Configuration.of("exact", eta=0.25).title
    'exact, eta = 1/4'
    """

    learner: str
    settings: Values = ()
    label: str | None = None

    @classmethod
    def of(cls, learner: str, label: str | None = None, **settings: Any) -> Configuration:
        """A configuration with some settings."""
        return cls(learner, tuple(settings.items()), label)

    @property
    def ours(self) -> bool:
        """True for the learners of this project."""
        return self.learner in LEARNERS and LEARNERS[self.learner].ours

    @property
    def title(self) -> str:
        """A name for tables."""
        if self.label is not None:
            return self.label
        return ", ".join([self.learner, *(spoken(*pair) for pair in self.settings)])

    @property
    def key(self) -> dict[str, Any]:
        """All that its runs depend on, defaults that have moved included."""
        given = dict(self.settings)
        key: dict[str, Any] = {"learner": self.learner, "settings": given}
        asked = {**given, "kappa_share": given.get("kappa_share", given.get("kappa"))}
        takes = tuple(MOVED) if self.ours else ("kappa_share",) if self.learner in PLAIN else ()
        left_out = {name: MOVED[name] for name in takes if asked.get(name) is None}
        return key | ({"defaults": left_out} if left_out else {})

    def get(self, name: str) -> Any:
        """The value of a setting; None where it is not given."""
        return dict(self.settings).get(name)


@dataclass(frozen=True)
class Scenario:
    """A world with its settings and class, and the rules of the game there.

    ``delay`` is written as on the command line: ``50``, ``geometric:0.02``, or
    ``audits:0,labels:200``; ``report`` names the selection of pairs.

    >>> Scenario("loans", (("leniency", 0.01),), delay="50").title
    'loans, leniency = 0.01, 50 rounds late'
    """

    world: str
    settings: Values = ()
    hypotheses: str | None = None
    alpha: float = 0.3
    eps: float | None = None
    feedback: str = "full"
    delay: str = "0"
    audit_share: float = 1.0
    report: str = "largest-gap"
    label: str | None = None

    @property
    def title(self) -> str:
        """A name for tables."""
        return self.label if self.label is not None else ", ".join([self.world, *self._said()])

    def _said(self) -> Iterator[str]:
        yield from (spoken(*pair) for pair in self.settings)
        if self.hypotheses is not None:
            yield self.hypotheses
        if self.alpha != 0.3:
            yield f"alpha = {self.alpha:g}"
        if self.eps is not None:
            yield f"eps = {self.eps:g}"
        if self.feedback != "full":
            yield f"{self.feedback} labels"
        yield from _late(parse_delay(self.delay))
        if self.audit_share < 1:
            yield f"{fraction(self.audit_share)} audited"
        if self.report != "largest-gap":
            yield f"report {self.report}"

    @property
    def key(self) -> dict[str, Any]:
        """All that its runs depend on."""
        return {
            "world": self.world, "settings": dict(self.settings), "hypotheses": self.hypotheses,
            "alpha": self.alpha, "eps": self.fair, "feedback": self.feedback, "delay": self.delay,
            "audit_share": self.audit_share, "report": self.report,
        }  # fmt: skip

    @property
    def fair(self) -> float:
        """eps."""
        return self.alpha if self.eps is None else self.eps

    def make(self, seed: int) -> World:
        """The world of that seed."""
        return Environment(self.world, dict(self.settings)).make(seed)

    def task(self, world: World, seed: int, rounds: int) -> Task:
        """The game for a learner there."""
        return Task(
            hypotheses_of(world, self.hypotheses), world.k, seed, rounds, self.alpha, self.eps,
            self.feedback, audit_share=self.audit_share,
        )  # fmt: skip

    def check(self, rounds: int) -> None:
        """Refuse a delay or a selection that makes no sense, before anything is played."""
        checked_delay(self.delay, rounds)
        if self.report not in SELECTIONS:
            SELECTIONS[self.report]


def checked_delay(text: str, rounds: int) -> Delays:
    """Read a delay, and refuse one after which no feedback would ever arrive.

    >>> checked_delay("50", 50)
    Traceback (most recent call last):
    likewise.errors.ParameterError: delay must be below the number of rounds, 50; got '50'. \
Feedback that comes so late never arrives.
    """
    delays = parse_delay(text)
    if max(delays.audits.rounds, delays.labels.rounds) >= rounds:
        raise ParameterError(
            "delay", f"must be below the number of rounds, {rounds:,}", text,
            "Feedback that comes so late never arrives.",
        )  # fmt: skip
    return delays


def _late(delays: Delays) -> Iterator[str]:
    if delays.audits == delays.labels:
        parts: Mapping[str, Any] = {"": delays.audits}
    else:
        parts = {"audits ": delays.audits, "labels ": delays.labels}
    for what, delay in parts.items():
        if delay.chance < 1:
            yield f"{what}geometric delay ({delay.chance:g})"
        elif delay.rounds:
            yield f"{what}{delay.rounds} rounds late"
