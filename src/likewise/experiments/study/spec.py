"""Studies as data: which world, seeds, horizons and configurations, and one result of them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from likewise.experiments.configurations import Configuration
from likewise.experiments.learners import LEARNERS

__all__ = ["ALPHA", "Result", "StudySpec"]

ALPHA = 0.3


@dataclass(frozen=True)
class StudySpec:
    """One study: a world, seeds, horizons, values of eps, learners and the grids of their knobs.

    ``world`` is an environment or any registered world, ``learners`` and ``baselines`` are names of
    :data:`~likewise.experiments.learners.LEARNERS`. Self-tuned learners are run at every eta and
    with everything that is ``heard``, (feedback, delay, audit share); the paper's at every divisor
    of its noise; baselines once.
    """

    world: str = "loans"
    hypotheses: str | None = None
    seeds: tuple[int, ...] = (101, 102, 103, 104, 105)
    horizons: tuple[int, ...] = (500, 2000, 8000)
    eps: tuple[float, ...] = (0.3, 0.1)
    etas: tuple[float, ...] = (1.0, 0.25, 0.0625)
    noise_divisors: tuple[float, ...] = (1.0, 1e4, 1e5, 1e6)
    heard: tuple[tuple[str, str, float], ...] = (("full", "0", 1.0),)
    learners: tuple[str, ...] = ("self-tuned", "exact")
    baselines: tuple[str, ...] = ("untaught",)

    def configurations(self) -> tuple[Configuration, ...]:
        """All points, ours first."""
        ours = [
            Configuration(name, eta, None, *heard)
            for name in self.learners
            for heard in self.heard
            for eta in (self.etas if "eta" in LEARNERS[name].takes else (None,))
        ]
        others = [Configuration(name) for name in self.baselines]
        paper = [Configuration("paper", noise_divisor=d) for d in self.noise_divisors]
        return (*ours, *others, *paper)


@dataclass(frozen=True)
class Result:
    """The counts of one configuration with one seed by one horizon."""

    learner: str
    eta: float | None
    noise_divisor: float | None
    eps: float
    seed: int
    rounds: int
    error_rate: float
    violations: int
    reports: int
    last_quarter: float
    oracle_calls: int
    comparator_error_rate: float
    feedback: str = "full"
    delay: str = "0"
    audit_share: float = 1.0

    @property
    def configuration(self) -> Configuration:
        """The configuration that it is of."""
        return Configuration(**{f.name: getattr(self, f.name) for f in fields(Configuration)})
