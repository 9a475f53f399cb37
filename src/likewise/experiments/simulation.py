"""One game by names: a world, a class, a learner, a selection of pairs and a delay, played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from likewise.algorithms import Algorithm
from likewise.auditing import Selection
from likewise.experiments.configurations import checked_delay
from likewise.experiments.environments import Environment, hypotheses_of
from likewise.experiments.learners import Task, make_learner
from likewise.game import Delays, Moment, Transcript, play
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner
from likewise.registry import SELECTIONS
from likewise.worlds import World

if TYPE_CHECKING:
    from likewise.evaluation import Comparators

__all__ = ["Game", "Simulation", "selection_named"]


@dataclass(frozen=True)
class Simulation:
    """A game as it is asked for, all by name; :meth:`set_up` refuses what makes no sense.

    ``settings`` are the learner's own, ``rules`` those of the game: alpha, eps, feedback, estimate,
    audit_share, open_limit.

    >>> game = Simulation("loans", "exact", rounds=20, seed=1).set_up()
    >>> game.play().rounds
    20
    """

    world: str
    learner: str
    rounds: int
    seed: int
    world_settings: Mapping[str, Any] = field(default_factory=dict)
    hypotheses: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    selection: str | None = None
    delay: str = "0"

    def set_up(self) -> Game:
        """Make the world, the class and the learner."""
        world = Environment(self.world, self.world_settings).make(self.seed)
        hypotheses = hypotheses_of(world, self.hypotheses)
        delay = checked_delay(self.delay, self.rounds)
        task = Task(hypotheses, world.k, self.seed, self.rounds, **self.rules)
        learner = make_learner(self.learner, task, self.settings)
        name = self.selection
        selection = None if name is None else selection_named(name, self.seed)
        return Game(self, world, hypotheses, learner, selection, delay)


@dataclass(frozen=True, eq=False)
class Game:
    """A game that is set up: the parts that meet in it."""

    asked: Simulation
    world: World
    hypotheses: HypothesisClass
    learner: Learner | Algorithm
    selection: Selection | None
    delay: Delays

    def play(
        self, *, record: bool = False, progress: Callable[[Moment], None] = lambda _moment: None
    ) -> Transcript:
        """Play all rounds; with ``record``, what the world did is kept for :meth:`compare`."""
        return play(
            self.world, self.learner, self.asked.rounds, selection=self.selection,
            delay=self.delay, record=record, progress=progress,
        )  # fmt: skip

    def compare(
        self, played: Transcript, progress: Callable[[int], None] = lambda _t: None
    ) -> Comparators:
        """The best fixed policies in hindsight, for the rounds that were met."""
        from likewise.evaluation import compare_with_fixed, faced_rounds

        faced = faced_rounds(played.encounters, self.hypotheses, progress)
        return compare_with_fixed(self.learner, self.hypotheses, faced)

    def caveats(self) -> Iterator[str]:
        """Sentences that whoever reads the counts should know."""
        if caveat := self.world.caveat(self.asked.rounds):
            yield caveat
        panel = getattr(self.world, "panel", None)
        if panel is not None and not panel.rule.can_fire(panel.members):
            yield (
                f"the rule {panel.rule} can never fire on a panel of {len(panel.members)} "
                f"({', '.join(panel.members)}): nothing will be reported, and no round counts as "
                f"unfair."
            )
        one_sided = isinstance(self.learner, Learner) and self.learner.pricing.one_sided
        if self.asked.learner == "paper" and one_sided:
            yield (
                "with one-sided labels the paper's own proof does not cover its constants, and "
                "their noise drowns the data."
            )
        chance = min(self.delay.audits.chance, self.delay.labels.chance)
        if chance < 1 and (1 - chance) / chance >= self.asked.rounds:
            yield (
                f"feedback comes {(1 - chance) / chance:,.0f} rounds late in the mean, and the "
                f"game ends after {self.asked.rounds:,}: the learner will hear of next to nothing."
            )


def selection_named(name: str, seed: int) -> Selection:
    """A registered selection of pairs; one that chooses at random gets this seed.

    >>> selection_named("random", 7), selection_named("first", 7)
    (RandomPair(seed=7), FirstPair())
    """
    return SELECTIONS[name].make(seed)
