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

from likewise.features import Feature
from likewise.fixed_point import ONE
from likewise.service.dockets.learner import State, chances

__all__ = ["Reason", "letter", "reasons_of", "values_of"]

GRID = 32
# So many reasons a letter names at most, as Regulation B's commentary advises.
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
        what = f"{self.title} ({self.value})"
        if self.moved == 0 and self.best == 0:
            return f"{what} had no influence."
        points = f"{abs(100 * self.moved):.1f} percentage points"
        how = "lowered" if self.moved < 0 else "raised"
        more = f" With {self.best_value} it would have been {100 * self.best:.1f} points higher."
        return (
            f"{what} {how} the chance by {points}, compared with the average over all values that "
            f"it may have." + (more if self.best > 0 else "")
        )


def values_of(feature: Feature, value: float) -> list[float]:
    """The values that a feature may have, up to a grid, with its own among them.

    >>> values_of(Feature("purpose", "category", levels=("car", "home")), 1.0)
    [0.0, 1.0]
    >>> len(values_of(Feature("score", "integer", 300, 850), 310.0))
    33
    """
    low, high = feature.limits
    if feature.kind in ("category", "flag"):
        found = [float(place) for place in range(int(high) + 1)]
    elif math.isfinite(high - low):
        steps = [low + (high - low) * place / (GRID - 1) for place in range(GRID)]
        found = [float(round(v)) if feature.kind == "integer" else v for v in steps]
    else:
        found = [end for end in (low, high) if math.isfinite(end)]
    if feature.missing is not None:
        found.append(math.nan)
    known = any(v == value or (math.isnan(v) and math.isnan(value)) for v in found)
    return found if known else [*found, value]


def reasons_of(state: State, round_id: str, features: Sequence[float]) -> list[Reason]:
    """Every feature's part in somebody's chance, those that lowered it most first.

    ``state`` is the learner's when the batch had arrived and nobody in it was decided on yet.
    """
    schema = state.learner.hypotheses.schema
    rows, asked = [tuple(features)], []
    for place, name in enumerate(schema.names):
        values = values_of(schema[name], features[place])
        asked.append((name, place, values))
        for value in values:
            changed = list(features)
            changed[place] = value
            rows.append(tuple(changed))
    scores = chances(state, round_id, rows)
    own, found, start = scores[0], [], 1
    for name, place, values in asked:
        mine = scores[start : start + len(values)]
        start += len(values)
        feature, top = schema[name], max(mine)
        moved = (own - sum(mine) / len(mine)) / ONE
        said, better = feature.say(features[place]), feature.say(values[mine.index(top)])
        found.append(Reason(name, feature.title, said, moved, (top - own) / ONE, better))
    return sorted(found, key=lambda reason: (reason.moved, -reason.best, reason.feature))


def letter(reasons: Sequence[Reason]) -> list[str]:
    """The sentences that a letter to somebody who was rejected names: those that lowered most."""
    return [reason.words for reason in reasons if reason.moved < 0][:NAMED]
