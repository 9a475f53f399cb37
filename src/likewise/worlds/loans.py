"""``loans``: the paper's motivating example, a lender under the eyes of five auditors.

Whether a loan is repaid depends on income, debt, missed payments and the length of the credit
history. The bureau's score knows these, but is harsher than it should be on the self-employed,
whose files are thin. The five auditors disagree on what makes two applicants similar: each has
reasons, and none of them is the bureau's score.

Everything is made from raw random words by basic operations, so that it is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from likewise.auditing import Mahalanobis, Masked, MetricAuditor, Panel, Ratings, Rule, WeightedL1
from likewise.fixed_point import FloatArray, IntArray
from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.randomness import Purpose, Stream
from likewise.schema import Feature, FeatureSchema
from likewise.worlds.base import Encounter, Steady, World, numbered, pool_of_cuts
from likewise.worlds.settings import setting

PURPOSES = ("car", "home", "education", "business", "other")
REGIONS = ("north", "east", "south", "west", "capital")
JOBS = ("salaried", "self-employed")

SCHEMA = FeatureSchema(
    (
        Feature("score", "integer", 300, 850, label="Bureau score"),
        Feature("income", "integer", 10, 200, label="Yearly income", unit="k€"),
        Feature("debt", "integer", 0, 100, label="Debt payments", unit="% of income"),
        Feature("history", "integer", 0, 30, label="Credit history", unit="years"),
        Feature("missed", "integer", 0, 6, label="Missed payments in two years"),
        Feature("interview", "integer", 0, 10, label="Interview", unit="of 10"),
        Feature("employment", "category", levels=JOBS),
        Feature("purpose", "category", levels=PURPOSES, label="Purpose of the loan"),
        Feature("region", "category", levels=REGIONS),
    )
)

Bar = float | Callable[[IntArray], FloatArray]
"""The soundness at which half of the applicants repay, or that soundness by region."""
_BAR = 0.57
_WORDS = 16
# Applicants that are made at a time, of rounds that follow each other.
_AT_ONCE = 512


@dataclass(frozen=True)
class LoanSettings(World):
    """The settings that all worlds of lending share: the market, the auditors, the classes.

    ``leniency`` multiplies the distances of the four auditors who weigh features. The neighbour's
    is the difference of two marks in the interview, of which there is no more or less lenient one:
    it stays as it is.
    """

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=10_000)
    rule: Rule | str = setting("majority", "when objections make a report")
    luck: float = setting(0.05, "the share of repayment that no feature explains", low=0, high=1)
    harshness: float = setting(
        60.0, "the points that the bureau takes from the self-employed", low=0, high=200
    )
    leniency: float = setting(
        1.0, "a factor on the distances of the auditors who weigh features", low=0.01, high=10
    )
    classes = ("segments", "segments-large", "pool")
    schema = SCHEMA

    @cached_property
    def panel(self) -> Panel:
        """Five auditors, each with a view of what makes two applicants similar."""
        return Panel(five_auditors(self.leniency), self.rule)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Thresholds by segment (9^10, or 21^50 as ``segments-large``), or a pool of cuts."""
        kind = self.class_name(name)
        if kind == "segments":
            return _segments(8, ["purpose", "employment"])
        if kind == "segments-large":
            return _segments(20, ["purpose", "region", "employment"])
        return _pool(self.seed)

    def applicants(self, t: int, bar: Bar = _BAR) -> tuple[FloatArray, IntArray]:
        """Draw k applicants for round t; see :func:`applicants`."""
        stream = Stream(self.seed, Purpose.WORLD, t)
        return applicants(stream, self.k, self.luck, self.harshness, bar)

    def round_of(self, t: int, x: FloatArray, labels: IntArray) -> Encounter:
        """Bring the applicants of round t before the panel of five."""
        return Encounter(numbered(t, x, SCHEMA), labels, self.panel)


class LoanWorld(LoanSettings, Steady):
    """A world of lending that does not react to the lender."""


@dataclass(frozen=True)
class Loans(LoanWorld):
    """k loan applications a round; five auditors; a majority of them makes a report."""

    name = "loans"
    summary = "a lender, five auditors who disagree, applicants drawn alike every round"

    def encounter(self, t: int) -> Encounter:
        """k applicants drawn alike, whether they will repay, and the panel."""
        number, at_once = Stream(self.seed, Purpose.WORLD, t).round, max(1, _AT_ONCE // self.k)
        offset = number % at_once
        block = _rounds(self.seed, self.k, self.luck, self.harshness, number - offset, at_once)
        x, labels = (array[offset].copy() for array in block)
        return self.round_of(number, x, labels)


def applicants(
    stream: Stream, k: int, luck: float, harshness: float, bar: Bar = _BAR
) -> tuple[FloatArray, IntArray]:
    """Draw features and labels of k applicants; at a soundness of ``bar`` half of them repay."""
    return _applicants(stream.uniforms(0, k, _WORDS), luck, harshness, bar)


@lru_cache(maxsize=8)
def _rounds(
    seed: int, k: int, luck: float, harshness: float, first: int, rounds: int
) -> tuple[FloatArray, IntArray]:
    """Draw the applicants of consecutive rounds, (rounds, k, features) and (rounds, k).

    They are the same as one by one, and numpy takes as long for many as for a few.
    """
    stream = Stream(seed, Purpose.WORLD, first)
    u = stream.uniforms_of_rounds(rounds, k, _WORDS).reshape(rounds * k, _WORDS)
    x, labels = _applicants(u, luck, harshness, _BAR)
    return x.reshape(rounds, k, -1), labels.reshape(rounds, k)


def _applicants(
    u: FloatArray, luck: float, harshness: float, bar: Bar
) -> tuple[FloatArray, IntArray]:
    """Turn uniform numbers, a row for each applicant, into features and labels."""
    wealth = (u[:, 0] + u[:, 1]) / 2
    care = (u[:, 2] + u[:, 3]) / 2
    selfemployed = u[:, 4] < 0.3
    income = np.rint(12 + 110 * wealth * wealth + 40 * u[:, 5] * wealth)
    debt = np.rint(np.clip(65 - 45 * care - 20 * wealth + 40 * (u[:, 6] - 0.5), 0, 100))
    history = np.rint(np.where(selfemployed, 12, 28) * u[:, 7] * (0.4 + 0.6 * care))
    missed = np.rint(np.clip(7 * (u[:, 8] - care) * u[:, 9] * 2, 0, 6))
    soundness = soundness_of(income, debt, history, missed)
    interview = np.rint(np.clip(10 * (1.9 * (soundness - 0.5) + 0.6 * u[:, 10] + 0.2), 0, 10))
    score = 590 + 620 * (soundness - 0.57) + 80 * (u[:, 11] - 0.5) - harshness * selfemployed
    purpose = np.floor(5 * u[:, 12])
    region = np.floor(5 * u[:, 13])
    needed = bar(region.astype(np.int64)) if callable(bar) else bar
    chance = (1 - luck) * np.clip(3.5 * (soundness - needed) + 0.5, 0, 1) + luck * 0.5
    labels = (u[:, 14] < chance).astype(np.int64)
    columns = [
        np.rint(np.clip(score, 300, 850)), np.clip(income, 10, 200), debt, history, missed,
        interview, selfemployed.astype(np.float64), purpose, region,
    ]  # fmt: skip
    return np.stack(columns, axis=1), labels


def soundness_of(
    income: FloatArray, debt: FloatArray, history: FloatArray, missed: FloatArray
) -> FloatArray:
    """Return how sound an applicant's finances are, in [0, 1]; repayment depends on it."""
    return np.clip(
        0.20
        + 0.30 * np.minimum(income, 100) / 100
        + 0.30 * (1 - debt / 100)
        + 0.20 * history / 28
        - 0.30 * missed / 6,
        0.0,
        1.0,
    )


def five_auditors(leniency: float) -> Sequence[MetricAuditor]:
    """Five views of similarity. Weights above 1 in all: enough differences are a full one."""
    finances = {"income": 1.25, "debt": 1.1, "history": 0.6, "missed": 1.1}
    conduct = {"missed": 2.0, "debt": 1.5, "history": 0.75}
    rules = {"debt": 2.25, "missed": 1.6}

    def scaled(weights: dict[str, float]) -> WeightedL1:
        return WeightedL1({name: weight * leniency for name, weight in weights.items()})

    return (
        MetricAuditor("banker", scaled(finances)),
        MetricAuditor("ethicist", scaled(conduct)),
        MetricAuditor("regulator", Masked(scaled({**finances, **rules}), ["debt", "missed"])),
        MetricAuditor(
            "statistician",
            Mahalanobis(
                ("income", "debt", "history"),
                [[2.0, -0.6, 0.0], [-0.6, 3.0, 0.0], [0.0, 0.0, 9.0]],
                scale=112.0 / leniency,
            ),
        ),
        MetricAuditor("neighbour", Ratings("interview", 0, 10)),
    )


def _segments(bins: int, by: Sequence[str]) -> Segments:
    cuts = [300 + 550 * i / bins for i in range(1, bins)]
    return Segments(SCHEMA, score="score", cuts=cuts, by=by)


def _pool(seed: int) -> Pool:
    """Up to forty cuts on each column a lender might rank by, told apart on 4,000 applicants."""
    x, _ = applicants(Stream(seed, Purpose.PROBE, 0), 4000, luck=0.05, harshness=60.0)
    return pool_of_cuts(SCHEMA, x, ("score", "income", "history", "interview"), 40)
