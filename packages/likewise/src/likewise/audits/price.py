"""The price of fairness: the error of the model, of the best policy that would pass, of a learner.

All three are on the same people and labels. The best policy that would pass chooses among cuts of
the model's own scores, unless another class is given, and may mix them; the learner meets the
people in rounds, without knowledge of later ones, and its panel reports one pair a round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.audits.counting import progress_reporter, scan
from likewise.audits.pairs import Question, threshold
from likewise.audits.result import Price
from likewise.audits.scores import Rows
from likewise.hypotheses import HypothesisClass, Pool
from likewise.learner.fold import current_scores
from likewise.learner.rounds import deploy, learn
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.panel import Panel
from likewise.people import Feature, FeatureSchema, People

MOST_PEOPLE = 4000
"""The price is computed on at most this many people, drawn at random."""
CUTS = 60
PEOPLE_A_ROUND = 8
MOST_ROUNDS = 1000


def price(
    rows: Rows, panel: Panel, alpha: float, hypotheses: HypothesisClass | None, seed: int,
    progress: bool | Callable[[int, int], None] = False,
) -> Price:  # fmt: skip
    """The errors of the model, of the best policy that would pass, and of the learner."""
    from likewise.simulate.hindsight import best_passing_policy  # needs scipy

    people, units, labels = _some(rows, seed)
    model = float(np.abs(units / ONE - labels).mean())
    decided = bool(np.isin(units, (0, ONE)).all())
    cut = None if decided else float(((2 * units >= ONE) != labels).mean())
    if hypotheses is None:
        people, hypotheses = _with_cuts(people, units)
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


def _some(rows: Rows, seed: int) -> tuple[People, IntArray, IntArray]:
    """People drawn at random with their scores and labels; those of a kind are different people."""
    people, rng = rows.people, np.random.Generator(np.random.Philox(seed))
    if rows.counts is None:
        places = rng.permutation(len(people))[:MOST_PEOPLE]
        people = people.take(places)
    else:
        total = int(rows.counts.sum())
        drawn = rng.choice(total, min(total, MOST_PEOPLE), replace=False)
        places = np.searchsorted(np.cumsum(rows.counts), drawn, side="right")
        people = people.schema.encoded(people.x[places])
    return people, rows.units[places], np.asarray(rows.labels)[places]


def _with_cuts(people: People, units: IntArray) -> tuple[People, Pool]:
    """People with their scores; and cuts between those, at most ``CUTS``, and both constants."""
    name = "model"
    while name in people.schema.names:
        name += "_"
    score = Feature(name, low=0, high=1, visible=False)
    schema = FeatureSchema((*people.schema.features, score))
    people = People(people.ids, np.column_stack([people.x, units / ONE]), schema, people.origin)
    values = np.unique(units)
    levels = (values[1:] + values[:-1]) / (2 * ONE)
    if len(levels) > CUTS:
        levels = levels[np.linspace(0, len(levels) - 1, CUTS).round().astype(np.int64)]
    return people, Pool.from_scores(schema, [name], np.unique(levels).tolist(), people)


def _simulated(
    people: People, labels: IntArray, panel: Panel, alpha: float, hypotheses: HypothesisClass,
    seed: int, progress: bool | Callable[[int, int], None],
) -> dict[str, Any]:  # fmt: skip
    """A learner that meets the people in rounds, with the panel beside it."""
    names = ("learner", "learner_late", "learner_violations", "learner_reported")
    k = PEOPLE_A_ROUND
    rounds = min(MOST_ROUNDS, len(people) // k)
    if alpha <= 0 or rounds < 4:
        return {**dict.fromkeys(names), "rounds": 0}
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
    late, least = slice(3 * rounds // 4, None), threshold(alpha)
    last = current_scores(state, people)
    tally = scan(Question(people, last, panel, least, np.array([least]), worst=0))
    values = (errors.mean(), errors[late].mean(), unfair[late].mean(), tally.above[0] / tally.pairs)
    return {**dict(zip(names, map(float, values), strict=True)), "rounds": rounds}
