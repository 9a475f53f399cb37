"""The learners by name: one registry for the command line, the demo and the studies.

A name stands for a schedule with a player, or for a baseline. Ours are ``auto``, ``self-tuned``,
``exact`` and ``paper``; every other registered player is known by its own name (with the self-tuned
schedule), every other schedule by its own (with the player ``auto``), and every baseline by its.
What a package registers is therefore here without any change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner, Paper, PaperOneSided, SelfTuned
from likewise.registry import BASELINES, PLAYERS, SCHEDULES, Registry

__all__ = ["LEARNERS", "Settings", "Task", "make_learner", "summary_of"]


@dataclass(frozen=True)
class Task:
    """The game that a learner is made for: its class, people a round, seed and horizon."""

    hypotheses: HypothesisClass
    k: int
    seed: int
    rounds: int


@dataclass(frozen=True)
class Settings:
    """The settings of a named learner; None is the learner's own default, and eps is alpha.

    Not all concern every learner: ``LEARNERS[name].takes`` says which do.
    """

    alpha: float = 0.3
    eps: float | None = None
    eta: float | None = None
    x: float | None = None
    kappa: float | None = None
    r: float | None = None
    b: float = 0.0
    noise_divisor: float = 1.0
    draws: str = "paper"
    noise: str = "repeated"
    engine: str = "compiled"
    feedback: str = "full"
    estimate: str = "lifted"
    audit_share: float = 1.0
    open_limit: int = 10_000


Make = Callable[[Task, Settings], Learner]
# The settings that only some learners have, by what they are made of.
_SELF_TUNED = frozenset(("eta", "x", "kappa", "r", "engine"))
_PAPER = frozenset(("b", "noise_divisor", "draws", "noise", "engine"))
# The settings that any learner takes, whatever it is made of.
_ANY = ("feedback", "estimate", "audit_share", "open_limit")


@dataclass(frozen=True)
class NamedLearner:
    """One entry of the registry: how it is made, and which settings of its own it ``takes``.

    Nothing of an installed package is loaded before ``summary`` is asked for or it is made.
    """

    name: str
    about: Callable[[], str]
    make: Make
    takes: frozenset[str] = frozenset()

    @property
    def summary(self) -> str:
        """One line about it."""
        return self.about()


def _self_tuned(player: str) -> Make:
    def make(task: Task, s: Settings) -> Learner:
        eta = SelfTuned().eta if s.eta is None else s.eta
        schedule = SelfTuned(eta, x=s.x, kappa=s.kappa, r=s.r)
        return Learner(
            task.hypotheses, task.k, s.alpha, _eps(s), task.seed, schedule=schedule,
            player=player, engine=s.engine, feedback=s.feedback,
        )  # fmt: skip

    return make


def _paper(task: Task, s: Settings) -> Learner:
    constants = PaperOneSided if s.feedback == "one-sided" else Paper
    schedule = constants(
        task.rounds, b=s.b, draws_rule=s.draws, noise_divisor=s.noise_divisor, noise=s.noise,  # type: ignore[arg-type] # checked there
    )  # fmt: skip
    return Learner(
        task.hypotheses, task.k, s.alpha, _eps(s), task.seed, schedule=schedule,
        player="context-ftpl", engine=s.engine, feedback=s.feedback,
    )  # fmt: skip


def _scheduled(name: str) -> Make:
    def make(task: Task, s: Settings) -> Learner:
        needed = [
            p.name
            for p in inspect.signature(SCHEDULES[name]).parameters.values()
            if p.default is p.empty
        ]
        if needed:
            raise LikewiseError(
                f"The schedule {name!r} cannot be made by its name alone: it has no default for "
                f"{', '.join(needed)}. Make the learner in Python, or give it defaults."
            )
        schedule = SCHEDULES[name]()
        return Learner(
            task.hypotheses, task.k, s.alpha, _eps(s), task.seed, schedule=schedule,
            engine=s.engine, feedback=s.feedback,
        )  # fmt: skip

    return make


def _baseline(name: str) -> Make:
    def make(task: Task, s: Settings) -> Learner:
        return BASELINES[name](
            task.hypotheses, task.k, s.alpha, _eps(s), task.seed, rounds=task.rounds
        )

    return make


def _eps(settings: Settings) -> float:
    return settings.alpha if settings.eps is None else settings.eps


def _ours(name: str, summary: str, make: Make, takes: frozenset[str]) -> NamedLearner:
    return NamedLearner(name, lambda: summary, make, takes)


_OURS = {
    one.name: one
    for one in (
        _ours(
            "auto", "self-tuned, with the exact player where the class has one",
            _self_tuned("auto"), _SELF_TUNED,
        ),
        _ours(
            "self-tuned", "self-tuned, with Context-FTPL: needs only an oracle",
            _self_tuned("context-ftpl"), _SELF_TUNED,
        ),
        _ours(
            "exact", "self-tuned, with exponential weights: exact, no draws",
            _self_tuned("exponential-weights"), _SELF_TUNED,
        ),
        _ours(
            "paper",
            "the paper's constants: noise that drowns the data, at any horizon one can run",
            _paper, _PAPER,
        ),
    )
}  # fmt: skip
# Players and schedules that our own names stand for.
_COVERED = ("context-ftpl", "exponential-weights", "self-tuned", "paper", "paper-one-sided")


class _Learners(Mapping[str, NamedLearner]):
    """All learners by name, with what installed packages register as it is when it is asked."""

    @staticmethod
    def _sources() -> list[tuple[str, str]]:
        """Every name with what it is a name of; what ours stand for is not listed twice."""
        found = [(name, "learner of Likewise itself") for name in _OURS]
        found += [(name, "player") for name in PLAYERS if name not in _COVERED]
        found += [(name, "schedule") for name in SCHEDULES if name not in _COVERED]
        return found + [(name, "baseline") for name in BASELINES]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _ in self._sources()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in list(iter(self))

    def __getitem__(self, name: str) -> NamedLearner:
        kinds = [kind for other, kind in self._sources() if other == name]
        if not kinds:
            raise ParameterError(
                "learner", f"must be one of {', '.join(self)}", name,
                "Check the spelling; a package adds one as a player or a baseline.",
            )  # fmt: skip
        if len(kinds) > 1:
            raise LikewiseError(
                f"The learner {name!r} could be the {' or the '.join(kinds)} of that name. Ask "
                f"the package's authors for another name."
            )
        if name in _OURS:
            return _OURS[name]
        about: dict[str, tuple[Registry[Any], Make, frozenset[str]]] = {
            "player": (PLAYERS, _self_tuned(name), _SELF_TUNED),
            "schedule": (SCHEDULES, _scheduled(name), frozenset(("engine",))),
            "baseline": (BASELINES, _baseline(name), frozenset()),
        }
        registry, make, takes = about[kinds[0]]
        return NamedLearner(name, lambda: summary_of(registry[name]), make, takes)


LEARNERS = _Learners()


def make_learner(name: str, task: Task, settings: Settings) -> Learner:
    """The learner of that name for a game.

    >>> from likewise.hypotheses import Pool
    >>> task = Task(Pool.from_table([[0, 0], [0, 1], [1, 1]]), k=2, seed=7, rounds=100)
    >>> make_learner("exact", task, Settings(eta=0.5)).schedule.eta
    0.5
    """
    learner = LEARNERS[name].make(task, settings)
    return replace(learner, **{setting: getattr(settings, setting) for setting in _ANY})


def summary_of(thing: object) -> str:
    """One line about something that is registered: its ``summary``, or its docstring's first line.

    >>> from likewise.learning.primal import ExponentialWeights
    >>> summary_of(ExponentialWeights)[:31]
    'For classes that can be listed,'
    """
    said = getattr(thing, "summary", None)
    if isinstance(said, str):
        return said
    return (inspect.getdoc(thing) or "").partition("\n")[0]
