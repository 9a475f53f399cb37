"""One game by names: a world, a class, a learner, a selection of pairs and a delay, played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from likewise.auditing import Selection
from likewise.errors import ParameterError
from likewise.experiments.environments import Environment, hypotheses_of
from likewise.experiments.learners import Settings, Task, make_learner
from likewise.game import Delay, Moment, Transcript, parse_delay, play
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner
from likewise.registry import SELECTIONS
from likewise.worlds import World

if TYPE_CHECKING:
    from likewise.evaluation import BestFair

__all__ = ["Game", "Simulation", "checked_delay", "selection_named"]


@dataclass(frozen=True)
class Simulation:
    """A game as it is asked for, all by name; :meth:`set_up` refuses what makes no sense.

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
    settings: Settings = field(default_factory=Settings)
    selection: str = "largest-gap"
    delay: str = "0"

    def set_up(self) -> Game:
        """Make the world, the class and the learner."""
        world = Environment(self.world, self.world_settings).make(self.seed)
        hypotheses = hypotheses_of(world, self.hypotheses)
        delay = checked_delay(self.delay, self.rounds)
        task = Task(hypotheses, world.k, self.seed, self.rounds)
        learner = make_learner(self.learner, task, self.settings)
        selection = selection_named(self.selection, self.seed)
        return Game(self, world, hypotheses, learner, selection, delay)


@dataclass(frozen=True, eq=False)
class Game:
    """A game that is set up: the parts that meet in it."""

    asked: Simulation
    world: World
    hypotheses: HypothesisClass
    learner: Learner
    selection: Selection
    delay: Delay

    def play(
        self, *, record: bool = False, progress: Callable[[Moment], None] = lambda _moment: None
    ) -> Transcript:
        """Play all rounds; with ``record``, what the world did is kept for :meth:`best_fair`."""
        return play(
            self.world, self.learner, self.asked.rounds, selection=self.selection,
            delay=self.delay, record=record, progress=progress,
        )  # fmt: skip

    def best_fair(
        self, played: Transcript, progress: Callable[[int], None] = lambda _t: None
    ) -> BestFair:
        """The best policy that is fair at alpha − eps, for the rounds that were met."""
        from likewise.evaluation import best_fair_policy, faced_rounds

        faced = faced_rounds(played.encounters, self.hypotheses, progress)
        slack = self.learner.alpha - self.learner.eps
        return best_fair_policy(self.hypotheses, faced, slack)

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
        if self.asked.learner == "paper" and self.learner.pricing.one_sided:
            yield (
                "with one-sided labels the paper's own proof does not cover its constants, and "
                "their noise drowns the data."
            )
        chance = self.delay.chance
        if chance < 1 and (1 - chance) / chance >= self.asked.rounds:
            yield (
                f"feedback comes {(1 - chance) / chance:,.0f} rounds late in the mean, and the "
                f"game ends after {self.asked.rounds:,}: the learner will hear of next to nothing."
            )


def checked_delay(text: str, rounds: int) -> Delay:
    """Read a delay, and refuse one after which no feedback would ever arrive.

    >>> checked_delay("50", 50)
    Traceback (most recent call last):
    likewise.errors.ParameterError: delay must be below the number of rounds, 50; got '50'. \
Feedback that comes so late never arrives.
    """
    delay = parse_delay(text)
    if delay.rounds >= rounds:
        raise ParameterError(
            "delay", f"must be below the number of rounds, {rounds:,}", text,
            "Feedback that comes so late never arrives.",
        )  # fmt: skip
    return delay


def selection_named(name: str, seed: int) -> Selection:
    """A registered selection of pairs; one that chooses at random gets this seed.

    >>> selection_named("random", 7), selection_named("first", 7)
    (RandomPair(seed=7), FirstPair())
    """
    return SELECTIONS[name].make(seed)
