"""Reports where only constants are fair, for every dual player: how they grow with the horizon.

Two people come in every round, of two kinds that the panel finds alike; one repays and the other
does not. So the accurate policy is always reported, and only the constants are fair.

    python -m studies.scripts.multipliers      # writes its rows and its table
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from likewise import Learner, Pool, SelfTuned, State, deploy, learn
from likewise.learner.bounds import theorem_e_geometric
from likewise.learner.costs import Additive, Dual, Geometric, GradientAscent
from studies.pages import Study, table

ETA = 0.25


def learner_with(dual: Dual | None, rounds: int) -> Learner:
    """The learner of the toy: three policies, a flat prior, eta = 1/4; None: Theorem E's own."""
    pool = Pool.from_table([[0, 0], [1, 1], [0, 1]]).with_prior("flat")
    plain = Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1, schedule=SelfTuned(eta=ETA, kappa=0.15))
    return replace(plain, dual=theorem_e_geometric(plain, rounds) if dual is None else dual)


def reports_at(learner: Learner, horizons: Sequence[int]) -> list[int]:
    """The number of reports after each of the horizons, in increasing order."""
    state, counts = State.start(learner), []
    threshold = round((learner.alpha - learner.margins.kappa) * 2**20)
    pair = learner.hypotheses.schema.people([[0, 1, 0], [0, 1, 1]])
    for t in range(1, max(horizons) + 1):
        state, deployment = deploy(state, pair)
        low, high = deployment.units.tolist()
        report = [(deployment.ids[1], deployment.ids[0])] if high - low > threshold else []
        state = learn(state, deployment, labels=[0, 1], report=report)
        if t in horizons:
            counts.append(state.reports)
    return counts


def growth(horizons: Sequence[int], counts: Sequence[int]) -> dict[str, float]:
    """The fitted exponent of T, and reports for every factor e of T from the last two horizons."""
    exponent = np.polyfit(np.log(horizons), np.log(counts), 1)[0]
    per_log = (counts[-1] - counts[-2]) / math.log(horizons[-1] / horizons[-2])
    return {"exponent": float(exponent), "per_log": float(per_log)}


# None is the rule that Theorem E proves, for the longest of the horizons.
DUALS: Mapping[str, Dual | None] = {
    "gradient": GradientAscent(),
    "additive": Additive(gamma=0.25 * ETA),
    "geometric": Geometric(gamma=0.1 * ETA, theta=0.02),
    "geometric, as proved": None,
}


def measured(horizons: Sequence[int]) -> dict[str, Any]:
    report = {}
    for name, dual in DUALS.items():
        learner = learner_with(dual, max(horizons))
        counts = reports_at(learner, horizons)
        grown = growth(horizons, counts)
        report[name] = {"dual": learner.multiplier.spec(), "reports": counts} | grown
    return {"rounds": list(horizons), "duals": report}


def as_table(report: Mapping[str, Any]) -> str:
    heads = ("dual", *(f"{t:,} rounds" for t in report["rounds"]), "exponent", "per ln T")
    rows = (
        (name, *(f"{n:,}" for n in row["reports"]), f"{row['exponent']:.2f}",
         f"{row['per_log']:.1f}")
        for name, row in report["duals"].items()
    )  # fmt: skip
    return table(heads, rows)


STUDY = Study("multipliers", "multipliers.json", "theory.md", as_table)

if __name__ == "__main__":
    STUDY.keep(measured((1000, 10_000, 100_000)))
