"""A sweep as data: every scenario with every learner and seed, and what becomes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.games import Game
from likewise.experiments.learners import OURS
from likewise.experiments.sweep.titles import learner_title
from likewise.game.play import EVALUATION_DRAWS
from likewise.learning import SelfTuned
from likewise.learning.learner import ALGORITHM
from likewise.learning.schedules.self_tuned import KAPPA_SHARE

HINDSIGHT = "fixed in hindsight"
# Baselines that ignore the panel; learners of ours with an eta of their own and the default kappa.
IGNORING = ("untaught", "accuracy-only", "constant")
# Defaults that a run depends on where it leaves the setting out.
DEFAULTS: Mapping[str, float] = {"eta": SelfTuned.eta, "kappa_share": KAPPA_SHARE}


@dataclass(frozen=True)
class Entry:
    """One learner in one scenario, both with their titles for tables.

    With a ``price`` nobody plays: it is the fixed policy in hindsight that pays so much for a
    unit of its violations.
    """

    game: Game
    scenario: str
    title: str
    price: float | None = None

    @property
    def learner(self) -> str:
        """The name of the learner."""
        return self.game.learner if self.price is None else HINDSIGHT

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the learner."""
        return self.game.learner_settings if self.price is None else {"price": self.price}

    @property
    def ours(self) -> bool:
        """True for the learners of this project."""
        return self.learner in OURS

    @property
    def key(self) -> list[Any]:
        """All that its runs depend on: the scenario, and the learner with defaults left out."""
        game, settings = self.game, dict(self.settings)
        scenario = {
            "world": game.world, "settings": dict(game.world_settings),
            "hypotheses": game.hypotheses, "alpha": game.alpha, "eps": game.eps_or_alpha,
            "feedback": game.feedback, "delay": game.delay, "audit_share": game.audit_share,
            "report": game.selection or "largest-gap",
        }  # fmt: skip
        values = {**settings, "kappa_share": settings.get("kappa_share", settings.get("kappa"))}
        names = (
            tuple(DEFAULTS) if self.ours else ("kappa_share",) if self.learner in IGNORING else ()
        )
        defaults = {name: DEFAULTS[name] for name in names if values.get(name) is None}
        learner = {"learner": self.learner, "settings": settings}
        return [scenario, learner | ({"defaults": defaults} if defaults else {})]


@dataclass(frozen=True)
class Run:
    """One game of a sweep: a learner in a scenario with a seed, counted at every horizon.

    ``comparators`` says that the best fixed policies in hindsight are found too.
    """

    entry: Entry
    seed: int
    horizons: tuple[int, ...]
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True

    @property
    def game(self) -> Game:
        """The game, with its seed and its longest horizon."""
        return replace(self.entry.game, seed=self.seed, rounds=max(self.horizons))

    @property
    def digest(self) -> str:
        """A name for it, made of all that its results depend on."""
        key = [
            ALGORITHM, *self.entry.key, self.seed, self.horizons, self.evaluation_draws,
            self.comparators,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """A line about it."""
        return f"{self.entry.scenario}; {self.entry.title}; seed {self.seed}"


@dataclass(frozen=True)
class Document:
    """The page into which the tables of a sweep go, and the mark between which they stand there."""

    file: str
    mark: str
    table: str = "points"


@dataclass(frozen=True)
class Sweep:
    """Learners in scenarios, the seeds, and the horizons at which they are counted.

    ``level`` is that of intervals.
    """

    title: str
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    horizons: tuple[int, ...]
    about: str = ""
    level: float = 0.95
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True
    documents: tuple[Document, ...] = ()
    figure: str | None = None

    def __post_init__(self) -> None:
        if not self.entries or not self.seeds or not self.horizons:
            raise LikewiseError(
                f"The sweep {self.title!r} has nothing to play: it needs scenarios, learners, "
                f"seeds and horizons, at least one of each."
            )
        all_different("seeds", self.seeds)

    def runs(self) -> Iterator[Run]:
        """All games, seed by seed; those in one world stand together, so that it is made once."""
        for seed in self.seeds:
            for entry in self.entries:
                yield Run(entry, seed, self.horizons, self.evaluation_draws, self.comparators)

    @property
    def digest(self) -> str:
        """A name for all of it: of its runs, whatever they are called and in whatever order."""
        runs = ",".join(sorted(run.digest for run in self.runs()))
        return hashlib.sha256(runs.encode()).hexdigest()[:16]


def entries_of(
    scenarios: Mapping[str, Game],
    learners: Sequence[tuple[str, Mapping[str, Any]]],
    prices: Sequence[float] = (),
    only: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Entry, ...]:
    """Every learner in every scenario, and a policy in hindsight for every price.

    ``learners`` are titles with the fields of a game that they set; ``only`` restricts some, by
    their titles, to some scenarios, by theirs.
    """
    all_different("learners", [title for title, _ in learners])
    for name in (name for names in (only or {}).values() for name in names):
        if name not in scenarios:
            raise ParameterError(
                "only", f"must name scenarios of the sweep ({'; '.join(scenarios)})", name,
                "Check the spelling.",
            )  # fmt: skip
    entries: list[Entry] = []
    for scenario, game in scenarios.items():
        entries += [
            Entry(replace(game, **fields), scenario, title)
            for title, fields in learners
            if scenario in (only or {}).get(title, (scenario,))
        ]
        entries += [
            Entry(game, scenario, learner_title(HINDSIGHT, {"price": price}), price)
            for price in (prices if learners else ())
        ]
    return tuple(entries)


def all_different(name: str, values: Iterable[object]) -> None:
    """Refuse a value that is there twice."""
    listed = [str(value) for value in values]
    for value in listed:
        if listed.count(value) > 1:
            raise ParameterError(
                name, "must all be different", value, "Give one of them another label."
            )
