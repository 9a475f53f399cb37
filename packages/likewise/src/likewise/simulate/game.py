"""One game by names: the one description that simulations, the demo, proposals and sweeps share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.errors import LikewiseError, ParameterError
from likewise.registry import SELECTIONS, WORLDS

if TYPE_CHECKING:
    from likewise.hypotheses import HypothesisClass
    from likewise.learner import Learner
    from likewise.panel import Selection
    from likewise.simulate import Comparators, Delays, Moment, Transcript, World
    from likewise.simulate.rounds import Algorithm


# What makes a game needs numpy, and is imported where it is made: the options of the command line
# are read off the fields of a Game, and help must be instant.


def option(default: Any, text: str, *choices: str) -> Any:
    """A field of a dataclass with the help that its option on the command line has."""
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class Game:
    """A game by names, checked when it is made: world, class, learner, panel, horizon and seed.

    ``world_settings`` and ``learner_settings`` have what differs from the defaults. Without an
    ``eps`` it is alpha; without a ``selection`` it is the learner's, or the pair of the largest
    gap; ``hypotheses`` names a class of the world, or a JSON file with the spec of any.

    >>> Game("loans", "exact", rounds=20).prepare().play().rounds
    20
    >>> Game("loans", "exact", rounds=50, delay="50")
    Traceback (most recent call last):
    likewise.errors.ParameterError: delay must be below the number of rounds, 50; got '50'. \
Feedback that comes so late never arrives.
    """

    world: str = option("loans", "Who arrives, and who sits on the panel.")
    learner: str = option("auto", "Who decides; `auto` is `exact` where the class allows it.")
    rounds: int = option(1000, "T, the number of rounds.")
    seed: int = option(1, "Of everything random.")
    alpha: float = option(0.3, "Size of a violation, in (0, 1].")
    eps: float | None = option(None, "Compete with policies fair at alpha − eps.  [default: alpha]")
    hypotheses: str | None = option(
        None, "The class: one of the world's by name (see `likewise list`), or any as FILE.json, "
        "as its spec() is.  [default: the world's first]",
    )  # fmt: skip
    feedback: str = option(
        "full", "Whose labels become known; `one-sided`: those of the approved.", "full",
        "one-sided",
    )  # fmt: skip
    delay: str = option(
        "0", "How many rounds late audits and labels come: N; at random, geometric:P, each with "
        "chance P a round; or each its own way, such as audits:0,labels:200.",
    )  # fmt: skip
    attention: str = option(
        "possible", "What the panel is asked about: `everything`; `possible`, rounds in which some "
        "gap is large enough to be reported; `share:P`, rounds by lot; `model`, pairs of which a "
        "model of the panel is not sure; `dominance`, all but pairs that differ by at least as "
        "much in every feature as one that was accepted.",
    )  # fmt: skip
    selection: str | None = option(
        None, "Which violating pair is reported; `all` are averaged.  [default: largest-gap]"
    )
    world_settings: Mapping[str, Any] = field(default_factory=dict)
    learner_settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from likewise.simulate.learners import checked_settings
        from likewise.simulate.world import known_setting
        from likewise.validation import integer

        integer("rounds", self.rounds, 1, 1 << 32, "Play at least one round.")
        world = WORLDS[self.world]
        for name, value in self.world_settings.items():
            known_setting(world, name).check(value)
        settings = checked_settings(self.learner, self.learner_settings)
        object.__setattr__(self, "learner_settings", settings)
        if self.selection is not None:
            SELECTIONS[self.selection]
        delays = self.delays
        if max(delays.audits.rounds, delays.labels.rounds) >= self.rounds:
            rule = f"must be below the number of rounds, {self.rounds:,}"
            remedy = "Feedback that comes so late never arrives."
            raise ParameterError("delay", rule, self.delay, remedy)

    @property
    def eps_or_alpha(self) -> float:
        return self.alpha if self.eps is None else self.eps

    @property
    def delays(self) -> Delays:
        from likewise.simulate.rounds import parse_delay

        return parse_delay(self.delay)

    def make_world(self) -> World:
        return WORLDS[self.world].make(self.seed, **self.world_settings)

    def make_hypotheses(self, world: World) -> HypothesisClass:
        """The class: one of the world's by name, its first, or any class from a JSON file."""
        name = self.hypotheses
        if name is None or not name.endswith(".json"):
            return world.hypotheses(name)
        hypotheses = class_from_file(name)
        if hypotheses.schema.digest != world.schema.digest:
            raise LikewiseError(
                f"The class in {name} is over other features "
                f"({', '.join(hypotheses.schema.names)}) than the world {world.name} has "
                f"({', '.join(world.schema.names)}). Make it with the world's schema."
            )
        return hypotheses

    def make_learner(
        self, hypotheses: HypothesisClass, k: int, rounds: int | None = None
    ) -> Learner | Algorithm:
        """The learner for a class and k people a round, told of that horizon."""
        from likewise.learner.settings import Learner
        from likewise.simulate.learners import make_learner

        learner = make_learner(
            self.learner, hypotheses, k, self.alpha, self.eps_or_alpha, self.seed,
            rounds=self.rounds if rounds is None else rounds, feedback=self.feedback,
            settings=self.learner_settings,
        )  # fmt: skip
        if isinstance(learner, Learner):
            return replace(learner, feedback=self.feedback, attention=self.attention)
        if learner.feedback != self.feedback:
            rule = f"must be {learner.feedback} for the learner {self.learner}"
            raise ParameterError("feedback", rule, self.feedback, "It is defined for that alone.")
        if self.attention not in ("possible", "everything"):
            rule = f"must be left out for the learner {self.learner}"
            remedy = "It is defined for panels that see every round."
            raise ParameterError("attention", rule, self.attention, remedy)
        return learner

    def make_selection(self) -> Selection | None:
        """The selection of pairs, with the seed of the game if it chooses at random."""
        return None if self.selection is None else SELECTIONS[self.selection].make(self.seed)

    def prepare(self) -> PreparedGame:
        world = self.make_world()
        hypotheses = self.make_hypotheses(world)
        return PreparedGame(self, world, hypotheses, self.make_learner(hypotheses, world.k))


@dataclass(frozen=True, eq=False)
class PreparedGame:
    """A game with the parts that meet in it."""

    game: Game
    world: World
    hypotheses: HypothesisClass
    learner: Learner | Algorithm

    def play(
        self, *, record: bool = False, progress: Callable[[Moment], None] = lambda _moment: None
    ) -> Transcript:
        """Play all rounds; with ``record``, keep what the world did for :meth:`compare`."""
        from likewise.simulate.rounds import play

        return play(
            self.world, self.learner, self.game.rounds, selection=self.game.make_selection(),
            delay=self.game.delays, record=record, progress=progress,
        )  # fmt: skip

    def compare(
        self, played: Transcript, progress: Callable[[int], None] = lambda _t: None
    ) -> Comparators:
        """The best fixed policies in hindsight, for the rounds that were played."""
        from likewise.simulate.hindsight import compare_with_fixed, faced_rounds

        faced = faced_rounds(played.encounters, self.hypotheses, progress)
        return compare_with_fixed(self.learner, self.hypotheses, faced)

    def caveats(self) -> Iterator[str]:
        """Sentences that readers of the counts should know."""
        rounds, delays = self.game.rounds, self.game.delays
        if caveat := self.world.caveat(rounds):
            yield caveat
        panel = getattr(self.world, "panel", None)
        if panel is not None and not panel.rule.can_fire(panel.members):
            yield (
                f"the rule {panel.rule} can never fire on a panel of {len(panel.members)} "
                f"({', '.join(panel.members)}): nothing will be reported, and no round counts as "
                f"unfair."
            )
        if self.game.learner == "paper" and self.game.feedback == "one-sided":
            yield (
                "with one-sided labels the paper's own proof does not cover its constants, and "
                "their noise drowns the data."
            )
        chance = min(delays.audits.chance, delays.labels.chance)
        if chance < 1 and (1 - chance) / chance >= rounds:
            yield (
                f"feedback comes {(1 - chance) / chance:,.0f} rounds late in the mean, and the "
                f"game ends after {rounds:,}: the learner will hear of next to nothing."
            )


def class_from_file(name: str) -> HypothesisClass:
    """Any registered class, from a JSON file that holds its ``spec()``."""
    from likewise.hypotheses import class_from_spec

    try:
        spec = json.loads(Path(name).read_bytes())
    except OSError as error:
        raise LikewiseError(f"The class in {name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise LikewiseError(f"{name} is not JSON: {error}. Write json.dumps(spec()).") from error
    if not isinstance(spec, dict):
        raise LikewiseError(f"{name} must hold one JSON object, the spec() of a class.")
    return class_from_spec(spec)
