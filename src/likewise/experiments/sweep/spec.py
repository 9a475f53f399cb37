"""A sweep as data: every scenario with every learner and seed, and what becomes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.configurations import Configuration, Scenario
from likewise.game.play import EVALUATION_DRAWS
from likewise.learning.learner import ALGORITHM

__all__ = ["HINDSIGHT", "Document", "Run", "Sweep"]

HINDSIGHT = "fixed in hindsight"


@dataclass(frozen=True)
class Run:
    """One game of a sweep: a scenario, a learner and a seed, counted at every horizon.

    ``comparators`` says that the best fixed policies in hindsight are found too.
    """

    scenario: Scenario
    configuration: Configuration
    seed: int
    horizons: tuple[int, ...]
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True

    @property
    def digest(self) -> str:
        """A name for it: of all that its results depend on."""
        key = [
            ALGORITHM, self.scenario.key, self.configuration.key, self.seed, self.horizons,
            self.evaluation_draws, self.comparators,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """A line about it."""
        return f"{self.scenario.title}; {self.configuration.title}; seed {self.seed}"


@dataclass(frozen=True)
class Document:
    """The page into which the tables of a sweep go, and the mark between which they stand there."""

    file: str
    mark: str
    table: str = "points"


@dataclass(frozen=True)
class Sweep:
    """Scenarios × learners × seeds, with the horizons at which they are counted.

    ``level`` is that of intervals; ``prices`` asks for fixed policies in hindsight that pay so much
    for their violations. ``only`` restricts a learner to some scenarios, by their titles.
    """

    title: str
    scenarios: tuple[Scenario, ...]
    learners: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    horizons: tuple[int, ...]
    about: str = ""
    level: float = 0.95
    evaluation_draws: int = EVALUATION_DRAWS
    prices: tuple[float, ...] = ()
    comparators: bool = True
    only: Mapping[Configuration, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    figure: str | None = None

    def __post_init__(self) -> None:
        if not self.scenarios or not self.learners or not self.seeds or not self.horizons:
            raise LikewiseError(
                f"The sweep {self.title!r} has nothing to play: it needs scenarios, learners, "
                f"seeds and horizons, at least one of each."
            )
        titles = [scenario.title for scenario in self.scenarios]
        for what, found in (
            ("scenarios", titles),
            ("learners", [one.title for one in self.learners]),
            ("seeds", [str(seed) for seed in self.seeds]),
        ):
            if twice := {one for one in found if found.count(one) > 1}:
                raise ParameterError(
                    what, "must all be different", sorted(twice)[0],
                    "Give one of them another label.",
                )  # fmt: skip
        for allowed in self.only.values():
            for one in allowed:
                if one not in titles:
                    raise ParameterError(
                        "only", f"must name scenarios of the sweep ({'; '.join(titles)})", one,
                        "Check the spelling.",
                    )  # fmt: skip

    @property
    def hindsight(self) -> tuple[Configuration, ...]:
        """The fixed policies in hindsight that pay for their violations."""
        return tuple(Configuration.of(HINDSIGHT, price=price) for price in self.prices)

    def learners_in(self, scenario: Scenario) -> tuple[Configuration, ...]:
        """Those that play there, and the policies in hindsight."""
        playing = [
            one for one in self.learners if scenario.title in self.only.get(one, (scenario.title,))
        ]
        return (*playing, *self.hindsight)

    def runs(self) -> Iterator[Run]:
        """All games, seed by seed; those in one world stand together, so that it is made once."""
        for seed in self.seeds:
            for scenario in self.scenarios:
                for configuration in self.learners_in(scenario):
                    yield Run(
                        scenario, configuration, seed, self.horizons, self.evaluation_draws,
                        self.comparators,
                    )  # fmt: skip

    @property
    def digest(self) -> str:
        """A name for all of it: of its runs, whatever they are called and in whatever order."""
        runs = ",".join(sorted(run.digest for run in self.runs()))
        return hashlib.sha256(runs.encode()).hexdigest()[:16]
