"""The price of fairness: the error of the model, of the best policy that would pass, of a learner.

All three are on the same people and labels. The best policy that would pass chooses among cuts of
the model's own scores, unless another class is given, and may mix them; the learner meets the
people in rounds, without knowledge of later ones, and its panel reports one pair a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from likewise.audits.pairs import Question, all_pairs, progress_reporter, scan, threshold
from likewise.errors import ParameterError
from likewise.hypotheses.base import HypothesisClass
from likewise.hypotheses.pool import Pool
from likewise.learner.fold import current_scores
from likewise.learner.rounds import deploy, learn
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.panel.panels import Panel
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema, People

MOST_PEOPLE = 4000
"""The price is computed on at most this many people, drawn at random."""
CUTS = 60
PEOPLE_A_ROUND = 8
MOST_ROUNDS = 1000


@dataclass(frozen=True)
class Price:
    """Errors of a person, from 0 to 1, of policies on the same people.

    ``model`` is that of the model whose scores are taken as chances, ``model_cut`` that of the
    model which approves from 1/2 on (None where the scores are decisions already).
    ``best_fair`` is the least error of a policy that no pair would be reported under; ``best`` is
    that of the class without a panel. ``learner`` is the mean over ``rounds`` rounds,
    ``learner_late`` that of the last quarter, ``learner_violations`` the share of those rounds
    with a violation, and ``learner_reported`` the share of pairs that would be reported under the
    policy it has at the end. Without an alpha above 0 there is no learner, and these are None.
    """

    people: int
    model: float
    model_cut: float | None
    best: float
    best_fair: float
    learner: float | None
    learner_late: float | None
    learner_violations: float | None
    learner_reported: float | None
    rounds: int
    hypotheses: str

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, for tables."""
        facts = [("error of the model", f"{self.model:.3f}")]
        if self.model_cut is not None:
            facts = [
                ("error of the model, scores as chances", f"{self.model:.3f}"),
                ("error of the model, approving from 0.5 on", f"{self.model_cut:.3f}"),
            ]
        facts += [
            ("error of the best policy without a panel", f"{self.best:.3f}"),
            ("error of the best policy that would pass", f"{self.best_fair:.3f}"),
        ]
        if self.learner is not None:
            facts += [
                (
                    "error of the learner, last quarter",
                    f"{self.learner_late:.3f} (all {self.rounds:,} rounds: {self.learner:.3f})",
                ),
                ("rounds in violation, last quarter", f"{self.learner_violations:.1%}"),
                ("pairs reported under its last policy", f"{self.learner_reported:.2%}"),
            ]
        return [*facts, ("priced on", f"{self.people:,} people; {self.hypotheses}")]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def with_scores(people: People, columns: dict[str, IntArray]) -> People:
    """People with columns of scores beside their features, hidden from panels."""
    names = set(people.schema.names)
    if twice := [name for name in columns if name in names]:
        raise ParameterError("columns", "must not be features", twice[0], "Rename the score.")
    added = tuple(Feature(name, low=0, high=1, visible=False) for name in columns)
    schema = FeatureSchema((*people.schema.features, *added))
    values = [units / ONE for units in columns.values()]
    return People(people.ids, np.column_stack([people.x, *values]), schema, people.origin)


def price(
    people: People,
    units: IntArray,
    labels: IntArray,
    panel: Panel,
    alpha: float,
    hypotheses: HypothesisClass | None,
    seed: int,
    progress: bool | Callable[[int, int], None] = False,
) -> Price:
    """The errors of the model, of the best policy that would pass, and of the learner."""
    from likewise.simulate.hindsight import best_passing_policy  # needs scipy

    rng = np.random.Generator(np.random.Philox(seed))
    order = rng.permutation(len(people))[:MOST_PEOPLE]
    people, units, labels = people.take(order), units[order], labels[order]
    model = float(np.abs(units / ONE - labels).mean())
    decided = bool(np.isin(units, (0, ONE)).all())
    cut = None if decided else float(((2 * units >= ONE) != labels).mean())
    if hypotheses is None:
        name = "model"
        while name in people.schema.names:
            name += "_"
        people = with_scores(people, {name: units})
        hypotheses = _cuts(people, name, units)
        description = f"{hypotheses.size} cuts of the model's scores, mixed"
    else:
        people = hypotheses.schema.people(people)
        description = f"{type(hypotheses).__name__} of {hypotheses.size:,} hypotheses"
    best = best_passing_policy(hypotheses, people, labels, panel, alpha)
    free = best_passing_policy(hypotheses, people, labels, panel, 1.0)
    game = _simulated(people, labels, panel, alpha, hypotheses, seed, progress)
    return Price(
        people=len(people), model=model, model_cut=cut, best=free.error_rate,
        best_fair=best.error_rate, hypotheses=description, **game,
    )  # fmt: skip


def _cuts(people: People, name: str, units: IntArray) -> Pool:
    """Cuts between the values that occur, at most ``CUTS``, and both constants."""
    values = np.unique(units)
    levels = (values[1:] + values[:-1]) / (2 * ONE)
    if len(levels) > CUTS:
        levels = levels[np.linspace(0, len(levels) - 1, CUTS).round().astype(np.int64)]
    return Pool.from_scores(people.schema, [name], np.unique(levels).tolist(), people)


def _simulated(
    people: People,
    labels: IntArray,
    panel: Panel,
    alpha: float,
    hypotheses: HypothesisClass,
    seed: int,
    progress: bool | Callable[[int, int], None],
) -> dict[str, Any]:
    """A learner that meets the people in rounds, with the panel beside it."""
    names = ("learner", "learner_late", "learner_violations", "learner_reported")
    rounds = min(MOST_ROUNDS, len(people) // PEOPLE_A_ROUND)
    if alpha <= 0 or rounds < 4:
        return {**dict.fromkeys(names), "rounds": 0}
    k = PEOPLE_A_ROUND
    state = State.start(Learner(hypotheses, k=k, alpha=alpha, eps=alpha, seed=seed))
    errors, unfair = np.empty(rounds), np.zeros(rounds, dtype=np.bool_)
    with progress_reporter(progress, "learner") as bar:
        for t in range(rounds):
            places = np.arange(t * k, (t + 1) * k)
            batch = people.take(places)
            state, deployed = deploy(state, batch, panel=panel.name)
            report = panel.audit(batch, deployed.units, state.sensitivity)
            state = learn(state, deployed, labels=labels[places].tolist(), report=report.pairs)
            errors[t] = np.abs(deployed.scores - labels[places]).mean()
            unfair[t] = panel.violations(batch, deployed.units, threshold(alpha)).any()
            bar(t + 1, rounds)
    late = slice(3 * rounds // 4, None)
    last = current_scores(state, people)
    sensitivity = threshold(alpha)
    question = Question(people, last, panel, sensitivity, np.array([sensitivity]), worst=0)
    tally = scan(question, all_pairs(len(people)))
    values = (errors.mean(), errors[late].mean(), unfair[late].mean(), tally.above[0] / tally.pairs)
    return {**dict(zip(names, map(float, values), strict=True)), "rounds": rounds}
