"""How each kind of learner is made from its settings, and which settings it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from likewise.algorithms import Algorithm
from likewise.errors import LikewiseError, ParameterError
from likewise.game.baselines import Rates
from likewise.hypotheses import ExactWeights, HypothesisClass
from likewise.learning import Learner, Paper, PaperOneSided, SelfTuned
from likewise.learning.dual import DUALS, Dual
from likewise.learning.schedules.self_tuned import OUTSTANDING, WAITING
from likewise.registry import BASELINES, SCHEDULES
from likewise.worlds.settings import Setting

__all__ = [
    "PAPER_SETTINGS", "SELF_TUNED_SETTINGS", "Make", "Task", "make_baseline", "make_paper",
    "make_scheduled", "make_self_tuned", "rates_of_ours", "rates_of_paper",
]  # fmt: skip


@dataclass(frozen=True)
class Task:
    """The game that a learner is made for: its class, people a round, seed, horizon and rules.

    Without an ``eps`` it is alpha; the others are as for :class:`~likewise.learning.Learner`.
    """

    hypotheses: HypothesisClass
    k: int
    seed: int
    rounds: int
    alpha: float = 0.3
    eps: float | None = None
    feedback: str = "full"
    estimate: str = "lifted"
    audit_share: float = 1.0
    open_limit: int = 10_000

    @property
    def common(self) -> tuple[HypothesisClass, int, float, float, int]:
        """The parameters that every learner begins with: H, k, alpha, eps and the seed."""
        return self.hypotheses, self.k, self.alpha, self.fair, self.seed

    @property
    def fair(self) -> float:
        """eps."""
        return self.alpha if self.eps is None else self.eps


Given = Mapping[str, Any]
Make = Callable[[Task, Given], Learner | Algorithm]


def _known(*settings: Setting) -> dict[str, Setting]:
    return {one.name: one for one in settings}


_ENGINE = Setting("engine", str, "compiled", "who makes the draws; all make the same")
SELF_TUNED_SETTINGS = _known(
    Setting("eta", float, None, "weight of the error: smaller means fewer violations"),
    Setting("x", float, None, "noise (temperature) in units of sqrt(S)"),
    Setting("kappa", float, None, "the panel is asked at alpha − kappa"),
    Setting("kappa_share", float, None, "kappa as a share of eps, in place of kappa"),
    Setting("r", float, None, "accuracy of a gap estimated from draws"),
    Setting("prior", str, None, "coarse-to-fine or flat, for classes with exact weights"),
    Setting("scales", str, "shared", "shared, or per-part: one for each part of a product class"),
    Setting("dual", str, "gradient", "how the price of a report moves: gradient, additive, …"),
    Setting("gamma", float, None, "of the duals additive and geometric"),
    Setting("theta", float, None, "of the dual geometric"),
    Setting("counts_outstanding", bool, True, "the scale counts what is outstanding"),
    Setting("outstanding", float, OUTSTANDING, "the weight of what is outstanding"),
    Setting("waiting", float, WAITING, "how much a round that waits for its audit adds"),
    _ENGINE,
)
PAPER_SETTINGS = _known(
    Setting("b", float, 0.0, "the frontier's parameter"),
    Setting("noise_divisor", float, 1.0, "less noise than its own"),
    Setting("draws", str, "paper", "how many draws estimate a score: paper, tight, r"),
    Setting("noise", str, "repeated", "repeated: k Laplace variables a point; per-point: one"),
    _ENGINE,
)


def make_self_tuned(player: str) -> Make:
    """Our schedule with a player."""

    def make(task: Task, given: Given) -> Learner:
        kappa, share = given.get("kappa"), given.get("kappa_share")
        if share is not None:
            if kappa is not None:
                raise ParameterError("kappa", "must be given once", kappa, "Not kappa_share too.")
            kappa = share * task.fair
        schedule = SelfTuned(
            SelfTuned().eta if given.get("eta") is None else given["eta"],
            x=given.get("x"), kappa=kappa, r=given.get("r"),
            counts_outstanding=given.get("counts_outstanding", True),
            outstanding=given.get("outstanding", OUTSTANDING),
            waiting=given.get("waiting", WAITING),
        )  # fmt: skip
        hypotheses, k, alpha, eps, seed = task.common
        return Learner(
            _with_prior(hypotheses, given.get("prior")), k, alpha, eps, seed,
            schedule=schedule, player=player,
            engine=given.get("engine", "compiled"), feedback=task.feedback,
            scales=given.get("scales", "shared"), dual=_dual(given),
        )  # fmt: skip

    return make


def _with_prior(hypotheses: HypothesisClass, prior: str | None) -> HypothesisClass:
    if prior is None:
        return hypotheses
    if not isinstance(hypotheses, ExactWeights):
        raise ParameterError(
            "prior", f"must be left out for {type(hypotheses).__name__}", prior,
            "It has no exact weights, so no prior.",
        )  # fmt: skip
    made = hypotheses.with_prior(prior)
    if not isinstance(made, HypothesisClass):
        raise LikewiseError(f"{type(made).__name__} is no hypothesis class.")
    return made


def _dual(given: Given) -> Dual:
    name = given.get("dual", "gradient")
    if name not in DUALS:
        raise ParameterError("dual", f"must be one of {', '.join(DUALS)}", name, "Check it.")
    own = [f.name for f in fields(DUALS[name])]
    values = {key: given[key] for key in ("gamma", "theta") if given.get(key) is not None}
    for key, value in values.items():
        if key not in own:
            raise ParameterError(
                key, f"must be left out for the dual {name}", value, "It has none."
            )
    return DUALS[name](**values)


def make_paper(task: Task, given: Given) -> Learner:
    """The paper's constants, for the feedback at hand."""
    constants = PaperOneSided if task.feedback == "one-sided" else Paper
    schedule = constants(
        task.rounds, b=given.get("b", 0.0), draws_rule=given.get("draws", "paper"),
        noise_divisor=given.get("noise_divisor", 1.0), noise=given.get("noise", "repeated"),
    )  # fmt: skip
    return Learner(
        *task.common, schedule=schedule, player="context-ftpl",
        engine=given.get("engine", "compiled"), feedback=task.feedback,
    )  # fmt: skip


def make_scheduled(name: str) -> Make:
    """Any registered schedule that needs no parameters, with the player ``auto``."""

    def make(task: Task, given: Given) -> Learner:
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
        return Learner(
            *task.common, schedule=SCHEDULES[name](),
            engine=given.get("engine", "compiled"), feedback=task.feedback,
        )  # fmt: skip

    return make


def make_baseline(name: str) -> Make:
    """A registered baseline, with the settings of its own."""

    def make(task: Task, given: Given) -> Learner | Algorithm:
        return BASELINES[name](*task.common, rounds=task.rounds, **given)

    return make


def rates_of_ours(given: Given, feedback: str) -> Rates:
    """The rates of the theorems of docs/theory.md, by the dual player."""
    reports = {"additive": "T^1/2", "geometric": "log T"}.get(given.get("dual", ""), "T^3/4")
    regret = "T^2/3" if feedback == "one-sided" else "T^1/2"
    return Rates(regret, reports, reports, "docs/theory.md")


def rates_of_paper(given: Given, feedback: str) -> Rates:
    """The paper's two theorems; its frontier's parameter b moves both."""
    b = given.get("b", 0.0)
    if feedback == "one-sided":
        regret, violations = 2 / 3 + 2 * b, 5 / 6 - b
    else:
        regret, violations = 1 / 2 + 2 * b, 3 / 4 - b
    names = {2 / 3: "2/3", 5 / 6: "5/6", 1 / 2: "1/2", 3 / 4: "3/4"}
    said = [f"T^{names.get(power, f'{power:.3g}')}" for power in (regret, violations)]
    return Rates(said[0], said[1], said[1], "the paper")
