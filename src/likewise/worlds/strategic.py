"""``strategic``: applicants move towards approval, at a cost.

The paper's first reason for adversarial streams. Whoever sees a better chance after polishing the
file polishes it, if the gain is worth the trouble; what is polished is the bureau's score and the
interview, not the ability to repay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.fixed_point import ONE, FloatArray
from likewise.worlds.base import Encounter, Memoryless, View, numbered
from likewise.worlds.loans import SCHEMA, LoanSettings
from likewise.worlds.settings import setting

STEPS = 4


@dataclass(frozen=True)
class Strategic(LoanSettings, Memoryless):
    """``loans``, whose applicants raise their score by up to ``reach`` points if it pays.

    Moving by the whole reach costs ``price`` in chances of approval, smaller moves in proportion.
    """

    reach: int = setting(
        90, "the points by which an applicant can raise the score at most", low=0, high=500
    )
    price: float = setting(
        0.15, "the cost of the whole reach, in chances of approval", low=0, high=1
    )
    name = "strategic"
    summary = "loans, whose applicants see the policy and move towards approval at a cost"

    def meet(self, t: int, view: View) -> Encounter:
        """Let everybody look at the policy and take the best of a few ways to polish the file."""
        x, labels = self.applicants(t)
        options = [_polished(x, step, self.reach) for step in range(STEPS + 1)]
        worth = np.empty((STEPS + 1, self.k), dtype=np.int64)
        for step, option in enumerate(options):
            cost = round(self.price * ONE) * step // STEPS
            worth[step] = view.chances(numbered(t, option, SCHEMA)) - cost
        chosen = worth.argmax(axis=0)
        moved = np.stack([options[step][i] for i, step in enumerate(chosen.tolist())])
        return self.round_of(t, moved, labels)


def _polished(x: FloatArray, step: int, reach: int) -> FloatArray:
    better = x.copy()
    score, interview = SCHEMA.place("score"), SCHEMA.place("interview")
    better[:, score] = np.minimum(850, x[:, score] + reach * step // STEPS)
    better[:, interview] = np.minimum(10, x[:, interview] + step // 2)
    return better
