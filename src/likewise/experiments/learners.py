"""The learners by name: one registry for the command line, the demo and the sweeps.

A name stands for a schedule with a player, or for a baseline. Ours are ``auto``, ``self-tuned``,
``nested``, ``exact`` and ``paper``; every other registered player is known by its own name (with
the self-tuned schedule), every other schedule by its own (with the player ``auto``), and every
baseline by its. What a package registers is therefore here without any change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from likewise.algorithms import Algorithm
from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.making import (
    PAPER_SETTINGS,
    SELF_TUNED_SETTINGS,
    Make,
    Task,
    make_baseline,
    make_paper,
    make_scheduled,
    make_self_tuned,
    rates_of_ours,
    rates_of_paper,
)
from likewise.game.baselines import Rates
from likewise.learning import Learner
from likewise.registry import BASELINES, PLAYERS, SCHEDULES, Registry
from likewise.worlds.settings import Setting, settings_of_function

__all__ = ["LEARNERS", "NamedLearner", "Task", "make_learner", "summary_of"]

Given = Mapping[str, Any]


@dataclass(frozen=True)
class NamedLearner:
    """One entry of the registry: how it is made, and which settings of its own it ``takes``.

    Nothing of an installed package is loaded before one of its properties is asked for. ``ours``
    says that it is a learner of this project, which others are measured against.
    """

    name: str
    about: Callable[[], str]
    make: Make
    known: Callable[[], Mapping[str, Setting]] = dict
    rates: Callable[[Given, str], Rates | None] = field(default=lambda _given, _feedback: None)
    ours: bool = False

    @property
    def summary(self) -> str:
        """One line about it."""
        return self.about()

    @property
    def takes(self) -> Mapping[str, Setting]:
        """Its settings by name."""
        return self.known()

    def check(self, given: Given) -> dict[str, Any]:
        """The settings as plain values; one that it does not have is refused.

        >>> LEARNERS["exact"].check({"eta": 1})
        {'eta': 1.0}
        """
        return {name: self.setting(name).plain(value) for name, value in given.items()}

    def setting(self, name: str) -> Setting:
        """One of its settings; a name that is none of them is refused."""
        takes = self.takes
        if name not in takes:
            listed = ", ".join(takes) or "none at all"
            raise ParameterError(
                f"A setting of the learner {self.name}", f"must be one of its own ({listed})",
                name, "Check the spelling.",
            )  # fmt: skip
        return takes[name]


def _self_tuned(name: str, player: str, summary: str) -> NamedLearner:
    return NamedLearner(
        name, lambda: summary, make_self_tuned(player), lambda: SELF_TUNED_SETTINGS,
        rates_of_ours, ours=True,
    )  # fmt: skip


_OURS = {
    one.name: one
    for one in (
        _self_tuned("auto", "auto", "self-tuned, with the exact player where the class has one"),
        _self_tuned(
            "self-tuned", "context-ftpl", "self-tuned, with Context-FTPL: needs only an oracle"
        ),
        _self_tuned(
            "nested", "nested-ftpl",
            "self-tuned, with a Hedge over Context-FTPL on nested classes: needs only an oracle",
        ),
        _self_tuned(
            "exact", "exponential-weights",
            "self-tuned, with exponential weights: exact, no draws",
        ),
        NamedLearner(
            "paper",
            lambda: "the paper's constants: noise that drowns the data, at any horizon one can run",
            make_paper, lambda: PAPER_SETTINGS, rates_of_paper,
        ),
    )
}  # fmt: skip
# Players and schedules that our own names stand for.
_COVERED = (
    "context-ftpl", "nested-ftpl", "exponential-weights", "self-tuned", "paper", "paper-one-sided",
)  # fmt: skip


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
        return _OURS[name] if name in _OURS else _registered(name, kinds[0])


def _registered(name: str, kind: str) -> NamedLearner:
    """A player, a schedule or a baseline that is registered."""

    def rates(given: Given, feedback: str) -> Rates | None:
        said = getattr(BASELINES[name], "rates", None)
        return None if said is None else said(given, feedback)

    def about(registry: Registry[Any]) -> Callable[[], str]:
        return lambda: summary_of(registry[name])

    if kind == "player":
        return NamedLearner(
            name, about(PLAYERS), make_self_tuned(name), lambda: SELF_TUNED_SETTINGS
        )
    if kind == "schedule":
        engine = {"engine": SELF_TUNED_SETTINGS["engine"]}
        return NamedLearner(name, about(SCHEDULES), make_scheduled(name), lambda: engine)
    return NamedLearner(
        name, about(BASELINES), make_baseline(name), lambda: _settings_of_baseline(name),
        rates,
    )  # fmt: skip


def _settings_of_baseline(name: str) -> dict[str, Setting]:
    """The parameters of a baseline beyond those that all have."""
    made = BASELINES[name]
    function = getattr(made, "make", made)
    known = settings_of_function(function)
    common = ("hypotheses", "k", "alpha", "eps", "seed", "rounds")
    return {key: value for key, value in known.items() if key not in common}


LEARNERS = _Learners()


def make_learner(name: str, task: Task, settings: Given | None = None) -> Learner | Algorithm:
    """The learner of that name for a game, with settings of its own.

    >>> from likewise.hypotheses import Pool
    >>> task = Task(Pool.from_table([[0, 0], [0, 1], [1, 1]]), k=2, seed=7, rounds=100)
    >>> make_learner("exact", task, {"eta": 0.5}).schedule.eta
    0.5
    """
    named = LEARNERS[name]
    learner = named.make(task, named.check(settings or {}))
    if isinstance(learner, Learner):
        rules = ("feedback", "estimate", "audit_share", "open_limit")
        return replace(learner, **{rule: getattr(task, rule) for rule in rules})
    if learner.feedback != task.feedback:
        raise ParameterError(
            "feedback", f"must be {learner.feedback} for the learner {name}", task.feedback,
            "It is defined for that alone.",
        )  # fmt: skip
    if task.audit_share != 1:
        raise ParameterError(
            "audit_share", f"must be 1 for the learner {name}", task.audit_share,
            "It is defined for panels that see every round.",
        )  # fmt: skip
    return learner


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
