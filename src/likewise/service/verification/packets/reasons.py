"""Reasons of a decision: how much each feature moved the chance, under the policy itself.

With everything else as it was, the feature takes all values that it may have (up to a grid). How
much its own value moved the chance is

    moved = chance(x) − mean over v of chance(x with v),

from the same draws as the decision's score, so nothing but the feature differs. Features that the
class does not look at have moved = 0 exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from likewise.features import Feature
from likewise.fixed_point import ONE
from likewise.service.dockets.learner import State, chances

GRID = 32
# The most reasons in a letter, as Regulation B's commentary advises.
NAMED = 4


@dataclass(frozen=True)
class Reason:
    """One feature's part in a chance; ``best`` is the most that another value would have given."""

    feature: str
    title: str
    value: str
    moved: float
    best: float
    best_value: str

    @property
    def words(self) -> str:
        """The reason in a sentence that a letter could carry."""
        name = f"{self.title} ({self.value})"
        if self.moved == 0 and self.best == 0:
            return f"{name} had no influence."
        verb = "lowered" if self.moved < 0 else "raised"
        more = f" With {self.best_value} it would have been {100 * self.best:.1f} points higher."
        return (
            f"{name} {verb} the chance by {abs(100 * self.moved):.1f} percentage points, compared "
            f"with the average over all values that it may have." + (more if self.best > 0 else "")
        )


def values_of(feature: Feature, value: float) -> list[float]:
    """Return the values that a feature may have, up to a grid, with its own among them.

    >>> values_of(Feature("purpose", "category", levels=("car", "home")), 1.0)
    [0.0, 1.0]
    >>> len(values_of(Feature("score", "integer", 300, 850), 310.0))
    33
    """
    low, high = feature.limits
    if feature.kind in ("category", "flag"):
        values = [float(level) for level in range(int(high) + 1)]
    elif math.isfinite(high - low):
        steps = [low + (high - low) * step / (GRID - 1) for step in range(GRID)]
        values = [float(round(v)) if feature.kind == "integer" else v for v in steps]
    else:
        values = [end for end in (low, high) if math.isfinite(end)]
    if feature.missing is not None:
        values.append(math.nan)
    included = any(v == value or (math.isnan(v) and math.isnan(value)) for v in values)
    return values if included else [*values, value]


def reasons_of(state: State, round_id: str, features: Sequence[float]) -> list[Reason]:
    """Return every feature's part in somebody's chance, those that lowered it most first.

    ``state`` is the learner's when the batch had arrived and nobody in it was decided on yet.
    """
    schema, x = state.learner.hypotheses.schema, tuple(features)
    grids = [values_of(schema[name], x[column]) for column, name in enumerate(schema.names)]
    rows = [(*x[:c], value, *x[c + 1 :]) for c, grid in enumerate(grids) for value in grid]
    score, *rest = chances(state, round_id, [x, *rows])
    scores, reasons = iter(rest), []
    for value, name, grid in zip(x, schema.names, grids, strict=True):
        column = list(islice(scores, len(grid)))
        feature, top = schema[name], max(column)
        moved = (score - sum(column) / len(column)) / ONE
        best = feature.say(grid[column.index(top)])
        reason = Reason(name, feature.title, feature.say(value), moved, (top - score) / ONE, best)
        reasons.append(reason)
    return sorted(reasons, key=lambda reason: (reason.moved, -reason.best, reason.feature))


def letter(reasons: Sequence[Reason]) -> list[str]:
    """Return the sentences of a letter to somebody who was rejected: the main reasons."""
    return [reason.words for reason in reasons if reason.moved < 0][:NAMED]
