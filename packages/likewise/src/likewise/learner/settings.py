"""The learner's settings: what it may choose among, what counts as a violation, who plays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from likewise.errors import shown
from likewise.html import described
from likewise.hypotheses import class_from_spec
from likewise.hypotheses.base import FLAT, ExactWeights, HypothesisClass
from likewise.learner import costs
from likewise.learner.attention import Attention, attention_named
from likewise.learner.oracle import ENGINES
from likewise.learner.players import Player
from likewise.learner.schedules import Margins, Paper, Schedule, SelfTuned
from likewise.numerics.fixed_point import ONE, FloatArray, from_units, to_units
from likewise.registry import ATTENTIONS, HYPOTHESES, PLAYERS, SCHEDULES
from likewise.validation import assign, choice, flag, instance, integer, members, real, require

ALGORITHM = "likewise-algorithm/1"
# Settings that are written as they are.
PLAIN = (
    "k", "alpha", "eps", "seed", "player", "engine", "ignores_reports", "feedback",
    "open_limit", "scales",
)  # fmt: skip
# Below this many units rounding would change the weight of a label by more than 3 %.
SMALLEST_LABEL_COST = 16
# In a larger round a person would weigh next to nothing.
MOST_PEOPLE = 1 << 31


def player_named(
    name: str, hypotheses: HypothesisClass, engine: str, *, per_part: bool = False
) -> Player:
    """A primal player by name; ``auto`` is the exact one if the class allows it."""
    if isinstance(name, str) and name == "auto":
        name = "exponential-weights" if isinstance(hypotheses, ExactWeights) else "nested-ftpl"
    player = PLAYERS[name](engine, per_part)
    PLAYERS.check_name(player.name, type(player))
    return player


@dataclass(frozen=True)
class Learner:
    """Algorithm "Reduction to Context-FTPL + Online Gradient Descent", as settings; with one-sided
    feedback, Algorithm "Reduction to Context-Semi-Bandit-FTPL + Online Gradient Descent".

    Args:
        hypotheses: the class H.
        k: the most people in a round. Rounds may have fewer.
        alpha: the size of a fairness violation.
        eps: the learner competes with policies that are fair at alpha − eps.
        seed: of everything random, an integer below 2^64.
        schedule: :class:`SelfTuned`, or :class:`Paper` for the paper's constants.
        player: ``auto``, ``exponential-weights``, ``nested-ftpl`` or ``context-ftpl``.
        engine: who makes the draws of Context-FTPL; every engine makes the same ones.
        ignores_reports: the panel is ignored and only accuracy counts (a baseline).
        feedback: ``full``, or ``one-sided``: labels become known only of those who were approved.
        attention: what the panel is asked: ``possible``, ``everything``, ``share:0.25``, ``model``,
            ``dominance``, or one such, :class:`~likewise.learner.attention.PanelModel` and others.
        open_limit: the most rounds that may wait for feedback at a time.
        scales: ``shared``, or ``per-part``: a noise scale (temperature) for each part of a product
            class. ``nested-ftpl`` always has one for each.
        dual: how the price of a report moves: ``gradient`` (the paper's), ``additive``,
            ``geometric``, ``bounded``, or such a rule with its parameters,
            :class:`~likewise.learner.costs.Geometric` and others.
        loss: what wrong decisions cost; :class:`~likewise.learner.costs.Loss` weighs them by
            person.
    """

    hypotheses: HypothesisClass
    k: int
    alpha: float
    eps: float
    seed: int
    schedule: Schedule = field(default_factory=SelfTuned)
    player: str = "auto"
    engine: str = "compiled"
    ignores_reports: bool = False
    feedback: str = "full"
    attention: Attention | str = "possible"
    open_limit: int = 10_000
    scales: str = "shared"
    dual: costs.Dual | str = "gradient"
    loss: costs.Loss = field(default_factory=costs.Loss)

    def __post_init__(self) -> None:
        kinds: tuple[tuple[str, type[Any], str], ...] = (
            ("hypotheses", HypothesisClass, "Make one: Pool(…), Segments(…), …."),
            ("schedule", Schedule, "Make one: SelfTuned() or Paper(T)."),
            ("dual", costs.Dual, "gradient, additive, geometric, or Geometric(…)."),
            ("attention", Attention, "possible, everything, share:0.25, model, or PanelModel(…)."),
            ("loss", costs.Loss, "Loss(approval=0.2, rejection=1.0), or leave it out."),
        )
        if isinstance(self.attention, str):
            assign(self, attention=attention_named(self.attention))
        if isinstance(self.dual, str):
            assign(self, dual=costs.dual_from_spec({"dual": self.dual}))
        for name, kind, remedy in kinds:
            instance(name, getattr(self, name), kind, remedy)
        self.loss.check(self.hypotheses.schema)
        choice("engine", self.engine, ENGINES, "They all agree.")
        choice("scales", self.scales, ("shared", "per-part"), "shared is the default.")
        remedy = "It is the most people in a round."
        assign(
            self,
            k=integer("k", self.k, 1, None, remedy),
            alpha=real("alpha", self.alpha, "Give a number such as 0.3."),
            eps=real("eps", self.eps, "Give a number such as 0.3."),
            seed=integer("seed", self.seed, 0, 1 << 64, "Take any such number."),
            open_limit=integer("open_limit", self.open_limit, 1, None, "It bounds a state."),
            ignores_reports=flag("ignores_reports", self.ignores_reports, "Set it."),
        )
        require(self.k <= MOST_PEOPLE, "k", f"must be at most {MOST_PEOPLE}", self.k, remedy)
        self._check_schedule()
        self._check_player()

    def _check_schedule(self) -> None:
        remedy = "one-sided means that labels are known of those who were approved."
        choice("feedback", self.feedback, costs.PRICINGS, remedy)
        fits = self.feedback in self.schedule.feedback
        rule = f"must be one for {self.feedback} feedback"
        remedy = "Paper is for full information, PaperOneSided for one-sided, SelfTuned for both."
        require(fits, "schedule", rule, type(self.schedule).__name__, remedy)
        fits = not (isinstance(self.schedule, Paper) and self.primal.exact)
        rule = "must be context-ftpl for the paper's schedule"
        remedy = "Its noise has no counterpart in exponential weights."
        require(fits, "player", rule, self.player, remedy)
        least, eta = SMALLEST_LABEL_COST * self.k / ONE, self.schedule.error_weight()
        rule = f"must be at least {least:g} for k = {self.k}"
        remedy = "Costs are integers of 2^-20; labels would weigh next to nothing."
        require(self.pricing.unit >= SMALLEST_LABEL_COST, "eta", rule, eta, remedy)
        assign(self, alpha=self.margins.alpha, eps=self.margins.eps)

    def _check_player(self) -> None:
        """The player must fit the class: a prior too large to compute is refused before a round."""
        for number in (self.primal.gain(self.hypotheses), *self.scale_factors.tolist()):
            rule = "must have finite constants on this class"
            require(math.isfinite(number), "player", rule, number, "Take another.")

    @cached_property
    def primal(self) -> Player:
        per_part = self.scales == "per-part"
        return player_named(self.player, self.hypotheses, self.engine, per_part=per_part)

    @cached_property
    def multiplier(self) -> costs.Dual:
        """The dual player."""
        return cast(costs.Dual, self.dual)

    @cached_property
    def looking(self) -> Attention:
        """The rule that decides which pairs are put before the panel."""
        return cast(Attention, self.attention)

    @cached_property
    def audit_share(self) -> float:
        """The share of rounds that a lottery draws, by which a report is divided; else 1."""
        return self.looking.share

    @cached_property
    def margins(self) -> Margins:
        return self.schedule.margins(self.alpha, self.eps, exact=self.primal.exact)

    @cached_property
    def pricing(self) -> costs.Pricing:
        unit = to_units(self.schedule.error_weight() / self.k)
        return costs.PRICINGS[self.feedback](unit)

    @cached_property
    def label_square(self) -> float | None:
        """A person's part of S where an estimate has a bounded square but no bounded range.

        That is 4·5·eta²/k where J = 1/π^t(x) is exact (Theorem C'). Otherwise None, and S is the
        sum of squared ranges.
        """
        if not (self.primal.exact and self.pricing.one_sided):
            return None
        unit = from_units(self.pricing.unit)
        return 20.0 * self.k * unit * unit

    def resamples(self, t: int) -> int:
        """M_t, the largest J in round t; 1 where every label comes."""
        return self.schedule.resamples(self.k, t) if self.pricing.one_sided else 1

    def draws(self, t: int) -> int:
        """How many draws of h a batch of round t takes: max(R, M), or R + M of each expert."""
        if self.primal.exact:
            return 0
        experts, most = self.primal.experts(self.hypotheses), self.resamples(t)
        # The scores of every expert have to be good.
        enough = self.schedule.draws(self.margins, self.k * max(1, experts), t)
        # The J of a mixture has draws of its own.
        return enough + most if experts else max(enough, most)

    def calls_a_round(self, rounds: int) -> float:
        """The mean number of oracle calls in a round of a game, computed rather than counted."""
        # The number of draws moves slowly with t, so a hundred rounds represent all.
        sample = np.unique(np.linspace(1, rounds, min(rounds, 100)).astype(np.int64)).tolist()
        return float(np.mean([self.primal.calls(self.hypotheses, self.draws(t)) for t in sample]))

    def label_bound(self, number: int) -> int:
        """The largest cost of one label of a round, in units, or the root of its square's bound."""
        if self.label_square is None:
            return self.pricing.largest(self.resamples(number))
        return to_units(math.sqrt(self.label_square / self.k))

    @cached_property
    def sensitivity(self) -> int:
        """The sensitivity that the panel is first asked at: alpha − kappa, in units of 2^-20."""
        return self.asked_at(self.margins.kappa)

    def asked_at(self, kappa: float) -> int:
        """alpha − kappa in units of 2^-20."""
        return to_units(self.margins.alpha - kappa)

    @cached_property
    def copies(self) -> int:
        """How many Laplace variables each point of the separating set gets."""
        return self.k if self.schedule.embedding == "repeated" else 1

    @cached_property
    def scale_factors(self) -> FloatArray:
        """The scales of the player, each in units of its sqrt(S)."""
        return self.primal.scale_factors(self.hypotheses, self.x)

    @cached_property
    def x(self) -> float:
        """The noise (temperature) in units of sqrt(S): the schedule's, or the player's default."""
        if isinstance(self.schedule, SelfTuned) and self.schedule.x is not None:
            return self.schedule.x
        # With one-sided labels and exact J, S is another, and so is the best share of x.
        estimated = self.label_square is not None
        return self.primal.default_x(self.hypotheses, estimated=estimated)

    @property
    def resolved_schedule(self) -> Schedule:
        """The schedule with its defaults filled in, for files."""
        schedule = self.schedule
        if not isinstance(schedule, SelfTuned):
            return schedule
        r = self.margins.r if schedule.r is None else schedule.r
        return replace(schedule, x=self.x, kappa=self.margins.kappa, r=r)

    def _repr_html_(self) -> str:
        size = self.hypotheses.size
        count = f"{size:,}" if size < 10**9 else f"about 10^{len(str(size)) - 1}"
        facts = [
            ("hypotheses", f"{type(self.hypotheses).__name__}, {count}"),
            ("player", self.primal.name),
            ("schedule", self.schedule),
            *((name, getattr(self, name)) for name in ("k", "alpha", "eps", "seed", "feedback")),
        ]
        return described("Learner", facts)

    def spec(self) -> dict[str, Any]:
        """The settings as JSON, with all defaults filled in; parts must be registered."""
        HYPOTHESES.write(self.hypotheses)
        SCHEDULES.write(self.schedule)
        ATTENTIONS.check_name(self.looking.name, type(self.looking))
        return self.settings()

    def settings(self) -> dict[str, Any]:
        """The settings as JSON, for comparisons; parts need a ``spec()``, and no registration."""
        hypotheses = self.hypotheses
        # Only exact weights use a prior.
        prior = hypotheses.prior if isinstance(hypotheses, ExactWeights) else FLAT
        return {
            "algorithm": ALGORITHM,
            "hypotheses": hypotheses.spec(),
            "schema": hypotheses.schema.digest,
            "prior": prior if isinstance(prior, str) else list(prior),
            "schedule": self.resolved_schedule.spec(),
            "dual": self.multiplier.spec(),
            "attention": self.looking.spec(),
            **({} if self.loss == costs.Loss() else {"loss": self.loss.spec()}),
            **{name: getattr(self, name) for name in PLAIN},
            "player": self.primal.name,
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Learner:
        """Read the settings from JSON that names all of them."""
        version = spec.get("algorithm") if isinstance(spec, Mapping) else spec
        remedy = "Another version of Likewise wrote this; use that one."
        fits = isinstance(version, str) and version == ALGORITHM
        require(fits, "algorithm", f"must be {ALGORITHM!r}", version, remedy)
        parts = ("algorithm", "hypotheses", "schema", "prior", "schedule", "dual", "attention")
        values = members("learner", spec, (*parts, *PLAIN), ("loss",))
        hypotheses = class_from_spec(values["hypotheses"])
        if isinstance(hypotheses, ExactWeights):
            hypotheses = hypotheses.with_prior(values["prior"])
        digest, rule = hypotheses.schema.digest, "must have the hash that was recorded"
        remedy = f"Recorded was {shown(values['schema'])}; the features have been changed."
        require(digest == values["schema"], "schema", rule, digest, remedy)
        return cls(
            hypotheses=hypotheses,
            schedule=SCHEDULES.read(values["schedule"]),
            dual=costs.dual_from_spec(values["dual"]),
            attention=ATTENTIONS.read(values["attention"]),
            loss=costs.loss_from_spec(values.get("loss", {})),
            **{name: values[name] for name in PLAIN},
        )
