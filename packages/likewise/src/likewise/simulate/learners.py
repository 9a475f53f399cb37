"""The learners by name: one registry for the command line, the demo and the sweeps.

A name stands for a schedule with a player, or for a baseline. Ours are ``auto``, ``self-tuned``,
``nested``, ``exact`` and ``paper``; any other registered player (with the self-tuned schedule),
schedule (with the player ``auto``) or baseline has its own name. All are functions of one
signature, that of a baseline, and their keywords are their settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses.base import ExactWeights, HypothesisClass
from likewise.learner.costs import DUALS, Dual
from likewise.learner.schedules import OUTSTANDING, WAITING, Paper, PaperOneSided, SelfTuned
from likewise.learner.settings import Learner
from likewise.registry import BASELINES, PLAYERS, SCHEDULES
from likewise.simulate.rounds import Algorithm
from likewise.simulate.settings import Setting, named_setting, settings_of_function

Make = Callable[..., Learner | Algorithm]
# Our names: the player of the self-tuned schedule that each stands for, and a line about it.
OURS: Mapping[str, tuple[str, str]] = {
    "auto": ("auto", "self-tuned, with the exact player where the class has one"),
    "self-tuned": ("context-ftpl", "self-tuned, with Context-FTPL: needs only an oracle"),
    "nested": (
        "nested-ftpl",
        "self-tuned, with a Hedge over Context-FTPL on nested classes: needs only an oracle",
    ),
    "exact": ("exponential-weights", "self-tuned, with exponential weights: exact, no draws"),
}
_PAPER = "the paper's constants: noise that drowns the data, at any horizon one can run"
# Players and schedules that our own names stand for.
_COVERED = (
    "context-ftpl", "nested-ftpl", "exponential-weights", "self-tuned", "paper", "paper-one-sided",
)  # fmt: skip
# Parameters that describe the game, and are no settings of a learner.
_OF_THE_GAME = ("hypotheses", "k", "alpha", "eps", "seed", "rounds")

Engine = Annotated[str, "who makes the draws; all make the same"]
OpenLimit = Annotated[int, "the most rounds that may wait for feedback at a time"]


def _self_tuned(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    player: str = "auto", rounds: int | None = None, feedback: str = "full",  # noqa: ARG001
    eta: Annotated[float, "weight of the error: smaller means fewer violations"] = SelfTuned.eta,
    x: Annotated[float | None, "noise (temperature) in units of sqrt(S)"] = None,
    kappa: Annotated[float | None, "the panel is asked at alpha − kappa"] = None,
    kappa_share: Annotated[float | None, "kappa as a share of eps, in place of kappa"] = None,
    r: Annotated[float | None, "accuracy of a gap estimated from draws"] = None,
    prior: Annotated[str | None, "coarse-to-fine or flat, for classes with exact weights"] = None,
    scales: Annotated[str, "shared, or per-part: one for each part of a product"] = "shared",
    dual: Annotated[str, "how the price of a report moves: gradient, additive, …"] = "gradient",
    gamma: Annotated[float | None, "of the duals additive and geometric"] = None,
    theta: Annotated[float | None, "of the dual geometric"] = None,
    counts_outstanding: Annotated[bool, "the scale counts what is outstanding"] = True,
    outstanding: Annotated[float, "the weight of what is outstanding"] = OUTSTANDING,
    waiting: Annotated[float, "how much a round that waits for its audit adds"] = WAITING,
    engine: Engine = "compiled", open_limit: OpenLimit = 10_000,
) -> Learner:  # fmt: skip
    """Our schedule with a player."""
    if kappa_share is not None:
        if kappa is not None:
            raise ParameterError("kappa", "must be given once", kappa, "Not kappa_share too.")
        kappa = kappa_share * eps
    schedule = SelfTuned(
        eta, x=x, kappa=kappa, r=r, counts_outstanding=counts_outstanding,
        outstanding=outstanding, waiting=waiting,
    )  # fmt: skip
    return Learner(
        _with_prior(hypotheses, prior), k, alpha, eps, seed, schedule=schedule, player=player,
        engine=engine, feedback=feedback, scales=scales, dual=_dual(dual, gamma=gamma, theta=theta),
        open_limit=open_limit,
    )  # fmt: skip


def _with_prior(hypotheses: HypothesisClass, prior: str | None) -> HypothesisClass:
    if prior is None:
        return hypotheses
    if not isinstance(hypotheses, ExactWeights):
        rule = f"must be left out for {type(hypotheses).__name__}"
        raise ParameterError("prior", rule, prior, "It has no exact weights, so no prior.")
    weighted: HypothesisClass = hypotheses.with_prior(prior)
    return weighted


def _dual(name: str, **parameters: float | None) -> Dual:
    if name not in DUALS:
        raise ParameterError("dual", f"must be one of {', '.join(DUALS)}", name, "Check it.")
    names = [field.name for field in fields(DUALS[name])]
    values = {key: value for key, value in parameters.items() if value is not None}
    for key, value in values.items():
        if key not in names:
            remedy = "It has none."
            raise ParameterError(key, f"must be left out for the dual {name}", value, remedy)
    return DUALS[name](**values)


def _paper(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int, feedback: str = "full",
    b: Annotated[float, "the frontier's parameter"] = 0.0,
    noise_divisor: Annotated[float, "less noise than its own"] = 1.0,
    draws: Annotated[str, "how many draws estimate a score: paper, tight, r"] = "paper",
    noise: Annotated[str, "repeated: k Laplace variables a point; per-point: one"] = "repeated",
    engine: Engine = "compiled", open_limit: OpenLimit = 10_000,
) -> Learner:  # fmt: skip
    """The paper's constants, for the feedback at hand."""
    constants = PaperOneSided if feedback == "one-sided" else Paper
    rules: dict[str, Any] = {"draws_rule": draws, "noise": noise}  # checked by the schedule
    schedule = constants(rounds, b=b, noise_divisor=noise_divisor, **rules)
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=schedule, player="context-ftpl", engine=engine,
        feedback=feedback, open_limit=open_limit,
    )  # fmt: skip


def _scheduled(
    name: str, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, feedback: str = "full", engine: Engine = "compiled",  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Any registered schedule that needs no parameters, with the player ``auto``."""
    parameters = inspect.signature(SCHEDULES[name]).parameters.values()
    if needed := [p.name for p in parameters if p.default is p.empty]:
        raise LikewiseError(
            f"The schedule {name!r} cannot be made by its name alone: it has no default for "
            f"{', '.join(needed)}. Make the learner in Python, or give it defaults."
        )
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=SCHEDULES[name](), engine=engine,
        feedback=feedback,
    )  # fmt: skip


def learner_names() -> tuple[str, ...]:
    """Every name; what our own names stand for is not listed twice."""
    registered = [name for name in (*PLAYERS, *SCHEDULES) if name not in _COVERED]
    return tuple(dict.fromkeys((*OURS, "paper", *registered, *BASELINES)))


def learner_kind(name: str) -> str:
    """The kind of thing that a name stands for; unknown and ambiguous names are refused."""
    if name not in learner_names():
        rule = f"must be one of {', '.join(learner_names())}"
        remedy = "Check the spelling; a package adds one as a player or a baseline."
        raise ParameterError("learner", rule, name, remedy)
    kinds = ["learner of Likewise itself"] if name in OURS or name == "paper" else []
    kinds += ["player"] if name in PLAYERS and name not in _COVERED else []
    kinds += ["schedule"] if name in SCHEDULES and name not in _COVERED else []
    kinds += ["baseline"] if name in BASELINES else []
    if len(kinds) > 1:
        raise LikewiseError(
            f"The learner {name!r} could be the {' or the '.join(kinds)} of that name. Ask "
            f"the package's authors for another name."
        )
    return kinds[0]


def _make(name: str) -> Make:
    """The function that makes a learner; its keywords are the settings."""
    kind = learner_kind(name)
    if kind == "baseline":
        return BASELINES[name]
    if kind == "schedule":
        return partial(_scheduled, name)
    if name == "paper":
        return _paper
    return partial(_self_tuned, player=OURS[name][0] if name in OURS else name)


def learner_summary(name: str) -> str:
    """One line about a learner."""
    kind = learner_kind(name)
    if kind == "learner of Likewise itself":
        return OURS[name][1] if name in OURS else _PAPER
    registries: Mapping[str, Mapping[str, Any]] = {
        "player": PLAYERS, "schedule": SCHEDULES, "baseline": BASELINES,
    }  # fmt: skip
    return summary_of(registries[kind][name])


def learner_settings(name: str) -> Mapping[str, Setting]:
    """The settings of a learner by name."""
    make = _make(name)
    if learner_kind(name) != "baseline":
        return _annotated(make.func if isinstance(make, partial) else make)
    settings = settings_of_function(getattr(make, "make", make))
    return {key: setting for key, setting in settings.items() if key not in _OF_THE_GAME}


@cache
def _annotated(function: Make) -> dict[str, Setting]:
    """The parameters of one of our own functions that have a sentence about them."""
    settings = {}
    for name, hint in get_type_hints(function, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, about = get_args(hint)
            default = inspect.signature(function).parameters[name].default
            settings[name] = Setting(name, (*get_args(kind), kind)[0], default, about)
    return settings


def learner_setting(learner: str, name: str) -> Setting:
    """One setting of a learner; a name that is none of its settings is refused."""
    settings = learner_settings(learner)
    return named_setting(settings, name, f"learner {learner}", settings)


def checked_settings(learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a learner as plain values."""
    learner_kind(learner)  # refuses a name that is none
    return {name: learner_setting(learner, name).plain(value) for name, value in settings.items()}


def make_learner(
    name: str, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int, feedback: str = "full", settings: Mapping[str, Any] | None = None,
) -> Learner | Algorithm:  # fmt: skip
    """The learner of that name for a class, k people a round, and a number of rounds."""
    keywords = checked_settings(name, settings or {})
    if learner_kind(name) != "baseline":
        keywords["feedback"] = feedback
    return _make(name)(hypotheses, k, alpha, eps, seed, rounds=rounds, **keywords)


def summary_of(part: object) -> str:
    """One line about a registered part: its ``summary``, or its docstring's first line."""
    summary = getattr(part, "summary", None)
    return summary if isinstance(summary, str) else (inspect.getdoc(part) or "").partition("\n")[0]
