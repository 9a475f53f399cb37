"""The learners by name: one registry for the command line, the demo and the sweeps.

A name stands for a schedule with a player, or for a baseline, a learner to compare with. Ours are
``auto``, ``self-tuned``, ``nested``, ``exact`` and ``paper``; any other registered player (with the
self-tuned schedule), schedule (with the player ``auto``) or baseline has its own name. All are
functions of one signature, that of a baseline, and their keywords are their settings. The three
plainest baselines are here; a package adds one with an entry point of the group
``likewise.baselines``.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from likewise.errors import HypothesisError, LikewiseError, ParameterError
from likewise.hypotheses import Cut, ExactWeights, HypothesisClass, Pool
from likewise.learner.costs import DUALS, dual_from_spec
from likewise.learner.schedules import OUTSTANDING, WAITING, Paper, PaperOneSided, SelfTuned
from likewise.learner.settings import Learner, player_named
from likewise.people.features import Feature
from likewise.registry import BASELINES, PLAYERS, SCHEDULES
from likewise.simulate.rounds import Algorithm
from likewise.simulate.world import Setting, named_setting, settings_of_function
from likewise.validation import choice, require

Make = Callable[..., Learner | Algorithm]
# Players and schedules that our own names stand for.
_COVERED = (
    "context-ftpl", "nested-ftpl", "exponential-weights", "self-tuned", "paper", "paper-one-sided",
)  # fmt: skip
# Parameters that describe the game, and are no settings of a learner.
_OF_THE_GAME = ("hypotheses", "k", "alpha", "eps", "seed", "rounds")

# So warm that no cost of any horizon moves the weights.
HOT = 1e9

Engine = Annotated[str, "who makes the draws; all make the same"]
OpenLimit = Annotated[int, "the most rounds that may wait for feedback at a time"]


def _self_tuned(
    player: str, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, feedback: str = "full",  # noqa: ARG001
    eta: Annotated[float, "weight of the error: smaller means fewer violations"] = SelfTuned.eta,
    x: Annotated[float | None, "noise (temperature) in units of sqrt(S)"] = None,
    kappa: Annotated[float | None, "the panel is asked at alpha − kappa"] = None,
    kappa_share: Annotated[float | None, "kappa as a share of eps, in place of kappa"] = None,
    shrink: Annotated[float, "by how much a report that was no violation lowers kappa"] = 0.0,
    r: Annotated[float | None, "accuracy of a gap estimated from draws"] = None,
    prior: Annotated[str | None, "coarse-to-fine or flat, for classes with exact weights"] = None,
    scales: Annotated[str, "shared, or per-part: one for each part of a product"] = "shared",
    dual: Annotated[str, "how the price of a report moves: gradient, additive, …"] = "gradient",
    gamma: Annotated[float | None, "of the duals additive and geometric"] = None,
    theta: Annotated[float | None, "of the dual geometric"] = None,
    largest: Annotated[float | None, "of the dual bounded"] = None,
    counts_outstanding: Annotated[bool, "the scale counts what is outstanding"] = True,
    outstanding: Annotated[float, "the weight of what is outstanding"] = OUTSTANDING,
    waiting: Annotated[float, "how much a round that waits for its audit adds"] = WAITING,
    engine: Engine = "compiled", open_limit: OpenLimit = 10_000,
) -> Learner:  # fmt: skip
    if kappa_share is not None:
        if kappa is not None:
            raise ParameterError("kappa", "must be given once", kappa, "Not kappa_share too.")
        kappa = kappa_share * eps
    parameters = {"gamma": gamma, "theta": theta, "largest": largest}
    of_dual = {name: value for name, value in parameters.items() if value is not None}
    for name, value in of_dual.items():
        fits = dual not in DUALS or hasattr(DUALS[dual], name)
        require(fits, name, f"must be left out for the dual {dual}", value, "It has none.")
    if not counts_outstanding:
        outstanding = waiting = 0.0
    schedule = SelfTuned(
        eta, x=x, kappa=kappa, r=r, outstanding=outstanding, waiting=waiting, shrink=shrink
    )
    return Learner(
        _with_prior(hypotheses, prior), k, alpha, eps, seed, schedule=schedule, player=player,
        engine=engine, feedback=feedback, scales=scales, open_limit=open_limit,
        dual=dual_from_spec({"dual": dual, **of_dual}),
    )  # fmt: skip


def _with_prior(hypotheses: HypothesisClass, prior: str | None) -> HypothesisClass:
    if prior is None:
        return hypotheses
    if not isinstance(hypotheses, ExactWeights):
        rule = f"must be left out for {type(hypotheses).__name__}"
        raise ParameterError("prior", rule, prior, "It has no exact weights, so no prior.")
    weighted: HypothesisClass = hypotheses.with_prior(prior)
    return weighted


def _paper(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int, feedback: str = "full",
    b: Annotated[float, "the frontier's parameter"] = 0.0,
    noise_divisor: Annotated[float, "less noise than its own"] = 1.0,
    draws: Annotated[str, "how many draws estimate a score: paper, tight, r"] = "paper",
    engine: Engine = "compiled", open_limit: OpenLimit = 10_000,
) -> Learner:  # fmt: skip
    constants = PaperOneSided if feedback == "one-sided" else Paper
    rule: Any = draws  # checked by the schedule
    schedule = constants(rounds, b=b, draws_rule=rule, noise_divisor=noise_divisor)
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
    rules: dict[str, Any] = {"schedule": SCHEDULES[name](), "engine": engine, "feedback": feedback}
    return Learner(hypotheses, k, alpha, eps, seed, **rules)


@dataclass(frozen=True)
class Baseline:
    """A learner to compare with: a function with a name and a line about it.

    All baselines have one signature; settings of its own may follow ``rounds``, by name and with
    defaults. ``rounds`` is the horizon, for those whose constants depend on it. It returns a
    learner, or any algorithm that can play the game (:mod:`likewise.simulate.rounds`).
    """

    name: str
    summary: str
    make: Make

    def __call__(
        self, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
        rounds: int | None = None, **settings: Any,
    ) -> Learner | Algorithm:  # fmt: skip
        """Build the learner for a class, rounds of at most k people, alpha, eps and a seed."""
        return self.make(hypotheses, k, alpha, eps, seed, rounds=rounds, **settings)


# Of the self-tuned schedule, by the players that they have.
OURS: Mapping[str, Baseline] = {
    name: Baseline(name, f"self-tuned, {about}", partial(_self_tuned, player))
    for name, player, about in (
        ("auto", "auto", "with the exact player where the class has one"),
        ("self-tuned", "context-ftpl", "with Context-FTPL: needs only an oracle"),
        (
            "nested", "nested-ftpl",
            "with a Hedge over Context-FTPL on nested classes: needs only an oracle",
        ),
        ("exact", "exponential-weights", "with exponential weights: exact, no draws"),
    )
}  # fmt: skip
_PAPER = Baseline(
    "paper", "the paper's constants: noise that drowns the data, at any horizon one can run", _paper
)


def learner_names() -> tuple[str, ...]:
    """Every name; what our own names stand for is not listed twice."""
    registered = [name for name in (*PLAYERS, *SCHEDULES) if name not in _COVERED]
    return tuple(dict.fromkeys((*OURS, "paper", *registered, *BASELINES)))


def _entry(name: str) -> Baseline:
    """The baseline of a learner's name; all but those registered take ``feedback`` too."""
    remedy = "Check the spelling; a package adds one as a player or a baseline."
    choice("learner", name, learner_names(), remedy)
    entries: dict[str, Baseline] = {}
    if name in OURS or name == "paper":
        entries["learner of Likewise itself"] = OURS.get(name, _PAPER)
    for kind, registry, make in (
        ("player", PLAYERS, _self_tuned), ("schedule", SCHEDULES, _scheduled),
    ):  # fmt: skip
        if name in registry and name not in _COVERED:
            entries[kind] = Baseline(name, summary_of(registry[name]), partial(make, name))
    if name in BASELINES:
        entries["baseline"] = BASELINES[name]
    if len(entries) > 1:
        raise LikewiseError(
            f"The learner {name!r} could be the {' or the '.join(entries)} of that name. Ask "
            f"the package's authors for another name."
        )
    return next(iter(entries.values()))


def learner_summary(name: str) -> str:
    return _entry(name).summary


def learner_settings(name: str) -> Mapping[str, Setting]:
    """The settings of a learner by name: the keywords of its function that no game gives."""
    settings = settings_of_function(_entry(name).make)
    given = _OF_THE_GAME if name in BASELINES else (*_OF_THE_GAME, "feedback")
    return {key: setting for key, setting in settings.items() if key not in given}


def learner_setting(learner: str, name: str) -> Setting:
    """One setting of a learner; a name that is none of its settings is refused."""
    return named_setting(learner_settings(learner), name, f"learner {learner}")


def checked_settings(learner: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    known, owner = learner_settings(learner), f"learner {learner}"
    return {n: named_setting(known, n, owner).plain(value) for n, value in settings.items()}


def make_learner(
    name: str, hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int, feedback: str = "full", settings: Mapping[str, Any] | None = None,
) -> Learner | Algorithm:  # fmt: skip
    """The learner of that name for a class, k people a round, and a number of rounds."""
    keywords = checked_settings(name, settings or {})
    if name not in BASELINES:
        keywords["feedback"] = feedback
    return _entry(name)(hypotheses, k, alpha, eps, seed, rounds=rounds, **keywords)


def summary_of(part: object) -> str:
    """One line about a registered part: its ``summary``, or its docstring's first line."""
    summary = getattr(part, "summary", None)
    return summary if isinstance(summary, str) else (inspect.getdoc(part) or "").partition("\n")[0]


def baseline(name: str, summary: str) -> Callable[[Make], Baseline]:
    """Turn a function of the one signature into a baseline.

    >>> @baseline("slow", "self-tuned, with much noise")
    ... def slow(hypotheses, k, alpha, eps, seed, *, rounds=None, x: float = 100.0):
    ...     return Learner(hypotheses, k, alpha, eps, seed, schedule=SelfTuned(x=x))
    >>> slow.name, slow.summary
    ('slow', 'self-tuned, with much noise')
    """

    def decorate(make: Make) -> Baseline:
        named = Baseline(name, summary, make)
        # help(…) shows the function's own docstring, not that of the class.
        object.__setattr__(named, "__doc__", make.__doc__)
        return named

    return decorate


@baseline("accuracy-only", "ignores the panel: accurate, unfair in almost every round")
def accuracy_only(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """A no-regret learner on the misclassification loss alone (section "On Achieving Simultaneous
    No-Regret Guarantees"): accurate, and unfair in almost every round.
    """
    # A third of the bound's best temperature: nothing but accuracy is at stake, so learn fast.
    player = player_named("auto", hypotheses, "compiled")
    schedule = SelfTuned(eta=1.0, x=player.best_x(hypotheses) / 3)
    return Learner(hypotheses, k, alpha, eps, seed, schedule=schedule, ignores_reports=True)


@baseline("untaught", "equal weights in every round, whatever happens")
def untaught(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Give all hypotheses equal weights forever: learning must do better than that."""
    schedule = SelfTuned(eta=1.0, x=HOT)
    if isinstance(hypotheses, ExactWeights):
        hypotheses = hypotheses.with_prior("flat")
    return Learner(
        hypotheses, k, alpha, eps, seed, schedule=schedule, player="exponential-weights",
        ignores_reports=True,
    )  # fmt: skip


@baseline("constant", "approves everybody: never unfair, learns nothing")
def constant(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None,  # noqa: ARG001
) -> Learner:  # fmt: skip
    """Approve everybody (section "On Achieving Simultaneous No-Regret Guarantees"): a class of one
    hypothesis, over the features of the class that others choose from.
    """
    schema = hypotheses.schema
    column = next((f.name for f in schema.features if f.missing is None), None)
    if column is None:
        raise HypothesisError(
            "A constant is a cut on a feature that everybody has; here each of them may be missing "
            "in somebody. Fill one of them in."
        )
    anybody = np.array([[_plain(feature) for feature in schema.features]])
    alone = Pool(schema, [Cut(column, -np.inf)], anybody)
    return Learner(alone, k, alpha, eps, seed, ignores_reports=True)


def _plain(feature: Feature) -> float:
    """The value nearest to 0 that the feature may have."""
    low, high = feature.limits
    value = min(max(0.0, low), high)
    return value if feature.kind == "number" else float(math.ceil(value))
