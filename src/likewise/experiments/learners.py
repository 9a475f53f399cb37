"""The learners by name, as the command line and the reports know them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from likewise.baselines import accuracy_only, constant, untaught
from likewise.errors import ParameterError
from likewise.hypotheses import HypothesisClass
from likewise.learning import Learner, Paper, PaperOneSided, SelfTuned
from likewise.schema import FeatureSchema

__all__ = ["LEARNERS", "Settings", "make_learner"]


@dataclass(frozen=True)
class Settings:
    """What a named learner may be told; what does not concern it, it ignores on purpose."""

    hypotheses: HypothesisClass
    schema: FeatureSchema
    k: int
    seed: int
    rounds: int
    alpha: float = 0.3
    eps: float = 0.3
    eta: float | None = None
    x: float | None = None
    kappa: float | None = None
    r: float | None = None
    b: float = 0.0
    noise_divisor: float = 1.0
    draws: str = "paper"
    engine: str = "compiled"
    feedback: str = "full"
    estimate: str = "lifted"
    audit_share: float = 1.0
    open_limit: int = 10_000
    late_by: int = 0


def _self_tuned(player: str) -> Callable[[Settings], Learner]:
    def make(s: Settings) -> Learner:
        eta = SelfTuned().eta if s.eta is None else s.eta
        schedule = SelfTuned(eta, x=s.x, kappa=s.kappa, r=s.r, late_by=s.late_by)
        return Learner(
            s.hypotheses, s.k, s.alpha, s.eps, s.seed, schedule=schedule, player=player,
            engine=s.engine,
        )  # fmt: skip

    return make


def _paper(s: Settings) -> Learner:
    constants = PaperOneSided if s.feedback == "one-sided" else Paper
    schedule = constants(s.rounds, b=s.b, draws_rule=s.draws, noise_divisor=s.noise_divisor)  # type: ignore[arg-type]
    return Learner(
        s.hypotheses, s.k, s.alpha, s.eps, s.seed, schedule=schedule, player="context-ftpl",
        engine=s.engine, feedback=s.feedback,
    )  # fmt: skip


LEARNERS: dict[str, tuple[str, Callable[[Settings], Learner]]] = {
    "auto": ("self-tuned, with the exact player where the class has one", _self_tuned("auto")),
    "self-tuned": (
        "self-tuned, with Context-FTPL: needs only an oracle",
        _self_tuned("context-ftpl"),
    ),
    "exact": (
        "self-tuned, with exponential weights: exact, no draws",
        _self_tuned("exponential-weights"),
    ),
    "paper": (
        "the paper's constants: noise that drowns the data, at any horizon one can run",
        _paper,
    ),
    "accuracy-only": (
        "deaf to the panel: accurate, unfair in almost every round",
        lambda s: accuracy_only(s.hypotheses, s.k, s.alpha, s.eps, s.seed),
    ),
    "untaught": (
        "all hypotheses alike, for ever: what exact begins with",
        lambda s: untaught(s.hypotheses, s.k, s.alpha, s.eps, s.seed),
    ),
    "constant": (
        "approves everybody: never unfair, learns nothing",
        lambda s: constant(s.hypotheses, s.k, s.alpha, s.eps, s.seed),
    ),
}


def make_learner(name: str, settings: Settings) -> Learner:
    """The learner of that name."""
    if name not in LEARNERS:
        raise ParameterError("learner", f"must be one of {', '.join(LEARNERS)}", name, "")
    heard = ("feedback", "estimate", "audit_share", "open_limit")
    learner = LEARNERS[name][1](settings)
    return replace(learner, **{setting: getattr(settings, setting) for setting in heard})
