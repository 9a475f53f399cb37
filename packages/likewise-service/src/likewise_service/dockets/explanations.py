"""Reasons for a decision: the policy that took it is asked again, about other features.

The same draws give the scores and the decision, so that nothing but features differs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from likewise.hypotheses.base import Points
from likewise.learner import Learner, events, players, state
from likewise.numerics.fixed_point import ONE, from_units
from likewise.people.features import AS_GIVEN, Feature
from likewise_service.dockets.round import KeptPolicy, Round
from likewise_service.language import N_, _, number, value_words
from likewise_service.ledger import kinds

GRID = 32
# The chance above which an approval is likelier than a rejection.
LIKELY = 0.5
# The most reasons in a letter, as Regulation B's commentary advises.
NAMED = 4


LOWERED = N_(
    "%(feature)s lowered the chance by %(points)s percentage points, compared with the average "
    "over all values that it may have."
)
RAISED = N_(
    "%(feature)s raised the chance by %(points)s percentage points, compared with the average "
    "over all values that it may have."
)


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
        name = f"{self.title} ({value_words(self.value)})"
        if self.moved == 0 and self.best == 0:
            return _("%(feature)s had no influence.", feature=name)
        text = LOWERED if self.moved < 0 else RAISED
        words = _(text, feature=name, points=number(abs(100 * self.moved), 1))
        if self.best <= 0:
            return words
        better = {"value": value_words(self.best_value), "points": number(100 * self.best, 1)}
        more = _("With %(value)s it would have been %(points)s points higher.", **better)
        return f"{words} {more}"


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


Features = tuple[float, ...]


@dataclass(frozen=True)
class PastPolicy:
    """The policy that decided on a batch of people, and its draws."""

    learner: Learner
    frozen: players.Frozen
    draws: players.Draws

    @classmethod
    def of(cls, round_: Round, person: str, kept: KeptPolicy, learner: Learner) -> "PastPolicy":
        frozen = kept.frozen(round_.number - kept.elsewhere, learner)
        return cls(learner, frozen, players.Draws(kept.draws, round_.batch_of(person)))

    def chances(self, rows: Sequence[Features]) -> list[int]:
        """Return the scores that people with these features would have had in the batch."""
        hypotheses, points = self.learner.hypotheses, self._points(rows)
        return self.learner.primal.estimates(hypotheses, self.frozen, points, self.draws).scores

    def decide(self, features: Features) -> kinds.Redecided:
        """Return what would have been decided on somebody with other features, by the same draw."""
        points, [score] = self._points([features]), self.chances([features])
        decide = self.learner.primal.decide
        [bit] = decide(self.learner.hypotheses, self.frozen, points, self.draws.batch)
        return kinds.Redecided(bool(bit), score)

    def reasons(self, x: Features) -> list[Reason]:
        """Return every feature's part in somebody's chance, those that lowered it most first."""
        schema = self.learner.hypotheses.schema
        grids = [values_of(f, value) for f, value in zip(schema.features, x, strict=True)]
        rows = [(*x[:c], value, *x[c + 1 :]) for c, grid in enumerate(grids) for value in grid]
        score, *rest = self.chances([x, *rows])
        scores, reasons = iter(rest), []
        for value, feature, grid in zip(x, schema.features, grids, strict=True):
            column = list(islice(scores, len(grid)))
            moved, top = (score - sum(column) / len(column)) / ONE, max(column)
            own, best = feature.say(value, AS_GIVEN), feature.say(grid[column.index(top)])
            reason = Reason(feature.name, feature.title, own, moved, (top - score) / ONE, best)
            reasons.append(reason)
        return sorted(reasons, key=lambda reason: (reason.moved, -reason.best, reason.feature))

    def _points(self, rows: Sequence[Features]) -> Points:
        people = tuple(events.Person(f"row {number}", row) for number, row in enumerate(rows))
        return state.located(self.learner, people)


def rejection(score: int, reasons: Sequence[Reason]) -> list[str]:
    """Return the principal reasons of a rejection by the policy, in words; at most four.

    They are what lowered the chance most and, if the chance was above 0, the draw: first if an
    approval was likelier, since then the draw alone decided.
    """
    named = [reason.words for reason in reasons if reason.moved < 0][:NAMED]
    if score == 0:
        return named
    text = N_("The chance of approval was %(chance)s, and a draw with that chance rejected.")
    draw = _(text, chance=f"{number(100 * from_units(score), 1)} %")
    others = named[: NAMED - 1]
    return [draw, *others] if from_units(score) > LIKELY else [*others, draw]
