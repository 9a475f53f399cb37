"""The learner's settings: what it may choose among, what counts as a violation, who plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from likewise.checks import whole
from likewise.errors import ParameterError
from likewise.hypotheses import ExactWeights, HypothesisClass, class_from_spec
from likewise.learning import primal
from likewise.learning.audit import Audit
from likewise.learning.costs import label_cost
from likewise.learning.schedules import Paper, Schedule, SelfTuned, schedule_from_spec
from likewise.oracles import ENGINES
from likewise.units import ONE, to_units

__all__ = ["Learner", "player_named"]

ALGORITHM = "likewise-algorithm/1"

# Below this many units rounding would change the weight of a label by more than 3 %.
SMALLEST_LABEL_COST = 16


def player_named(name: str, hypotheses: HypothesisClass, engine: str) -> primal.Player:
    """``context-ftpl``, ``exponential-weights``, or ``auto``: the exact one where there is one."""
    if name == "auto":
        name = "exponential-weights" if isinstance(hypotheses, ExactWeights) else "context-ftpl"
    if name == "exponential-weights":
        return primal.ExponentialWeights()
    if name == "context-ftpl":
        return primal.ContextFTPL(engine)
    raise ParameterError(
        "player", "must be auto, context-ftpl or exponential-weights", name, "Use auto if in doubt."
    )


@dataclass(frozen=True)
class Learner:
    """Algorithm "Reduction to Context-FTPL + Online Gradient Descent", as settings.

    Parameters
    ----------
    hypotheses: the class H.
    k: the most people in a round. Rounds may have fewer.
    alpha: the size of a fairness violation.
    eps: the learner competes with policies that are fair at alpha − eps.
    seed: of everything random, a whole number below 2^64.
    schedule: :class:`SelfTuned`, or :class:`Paper` for the paper's constants.
    player: ``auto``, ``context-ftpl`` or ``exponential-weights``.
    engine: who makes the draws of Context-FTPL; every engine makes the same ones.
    heeds_reports: if not, the panel is ignored and only accuracy counts (a baseline).
    """

    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int
    schedule: Schedule = field(default_factory=SelfTuned)
    player: str = "auto"
    engine: str = "compiled"
    heeds_reports: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.hypotheses, HypothesisClass):
            raise ParameterError(
                "hypotheses", "must be a hypothesis class", self.hypotheses,
                "Make one: Pool(…), Segments(…), ….",
            )  # fmt: skip
        if not isinstance(self.schedule, Schedule):
            raise ParameterError(
                "schedule",
                "must be a schedule",
                self.schedule,
                "Make one: SelfTuned() or Paper(T).",
            )
        k = whole("k", self.k, 1, None, "It is the most people in a round.")
        object.__setattr__(self, "k", k)
        seed = whole("seed", self.seed, 0, 1 << 64, "Take any such number.")
        object.__setattr__(self, "seed", seed)
        if self.engine not in ENGINES:
            raise ParameterError(
                "engine", f"must be one of {', '.join(ENGINES)}", self.engine, "They all agree."
            )
        if isinstance(self.schedule, Paper) and self.primal.exact:
            raise ParameterError(
                "player", "must be context-ftpl for the paper's schedule", self.player,
                "Its noise has no counterpart in exponential weights.",
            )  # fmt: skip
        if abs(self.label_cost(1)) < SMALLEST_LABEL_COST:
            raise ParameterError(
                "eta",
                f"must be at least {SMALLEST_LABEL_COST * self.k / ONE:g} for k = {self.k}",
                self.schedule.error_weight(),
                "Costs are whole numbers of 2^-20; labels would weigh next to nothing.",
            )
        for name in ("alpha", "eps"):
            object.__setattr__(self, name, getattr(self.audit, name))

    @cached_property
    def primal(self) -> primal.Player:
        """The primal player."""
        return player_named(self.player, self.hypotheses, self.engine)

    @cached_property
    def audit(self) -> Audit:
        """How violations are asked for."""
        return self.schedule.audit(self.alpha, self.eps, exact=self.primal.exact)

    def label_cost(self, label: int) -> int:
        """What predicting 1 costs once the label is known, in units."""
        return label_cost(label, self.schedule.error_weight(), self.k)

    @property
    def sensitivity(self) -> int:
        """What the panel is asked at, alpha − kappa, in units."""
        return to_units(self.audit.alpha - self.audit.kappa)

    @cached_property
    def copies(self) -> int:
        """How many Laplace variables each point of the separating set gets."""
        return self.k if self.schedule.embedding == "repeated" else 1

    @cached_property
    def default_x(self) -> float:
        """The player's noise (temperature) in units of sqrt(S), unless the schedule has its own."""
        return self.primal.default_x(self.hypotheses)

    @property
    def resolved_schedule(self) -> Schedule:
        """The schedule with its defaults filled in, so that a file means the same for ever."""
        schedule = self.schedule
        if not isinstance(schedule, SelfTuned):
            return schedule
        x = self.default_x if schedule.x is None else schedule.x
        asked = schedule.audit(self.alpha, self.eps, exact=self.primal.exact)
        r = asked.r if schedule.r is None else schedule.r
        return replace(schedule, x=x, kappa=asked.kappa, r=r)

    def spec(self) -> dict[str, Any]:
        """The settings as JSON, with all defaults filled in."""
        return {
            "algorithm": ALGORITHM,
            "hypotheses": self.hypotheses.spec(),
            "schema": self.hypotheses.schema.digest,
            "k": self.k,
            "alpha": self.alpha,
            "eps": self.eps,
            "seed": self.seed,
            "schedule": self.resolved_schedule.spec(),
            "player": self.primal.name,
            "engine": self.engine,
            "heeds_reports": self.heeds_reports,
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Learner:
        """Read the settings from their JSON."""
        if spec.get("algorithm") != ALGORITHM:
            raise ParameterError(
                "algorithm", f"must be {ALGORITHM!r}", spec.get("algorithm"),
                "Another version of Likewise wrote this; use that one.",
            )  # fmt: skip
        hypotheses = class_from_spec(spec["hypotheses"])
        if hypotheses.schema.digest != spec["schema"]:
            raise ParameterError(
                "schema", "must have the hash that was recorded", hypotheses.schema.digest,
                f"Recorded was {spec['schema']}; the features have been changed.",
            )  # fmt: skip
        plain = ("k", "alpha", "eps", "seed", "player", "engine", "heeds_reports")
        return cls(
            hypotheses=hypotheses,
            schedule=schedule_from_spec(spec["schedule"]),
            **{name: spec[name] for name in plain},
        )
