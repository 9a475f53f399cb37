"""Watching a model in production: an alarm when the share of reported pairs rises.

People come in batches. Two pairs of a batch that share a person depend on each other, so everybody
is paired once: a random matching of a batch has disjoint pairs, which are independent where people
are (given the past). Of m pairs C are reported. Against the hypothesis that every batch has a share
of at most p0, a bet that the odds are o times as large pays

    E = o^C / (1 + p0·(o − 1))^m,

whose expectation is at most 1. So is that of a mean of such payments, however they depend: over
many matchings of the same batch (so that little depends on chance), over odds, and over the batch
that the bets begin with. The money K_t of a gambler who begins with 1, puts 1/(s(s+1)) aside for
each start s and bets all that was won again is then a supermartingale, and (Ville) the chance that
it *ever* reaches 1/delta is at most delta, whenever one looks. Testing by betting: Chugg,
Cortes-Gomez, Wilder and Ramdas, Auditing fairness by betting, 2023.

Where the baseline is that of the first batches, nobody knows p0. For each possible p0 somebody
bets on odds below 1 in the first batches, and what that makes is bet on odds above 1 from then on.
Whatever p0 is, one of these gamblers bets against the truth, so the least that any of them has is
what counts.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.audits.pairs import threshold
from likewise.audits.result import write_file
from likewise.audits.scores import read_scores, score_units
from likewise.errors import AuditError
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.panel import Panel, Sides, exceeds
from likewise.people import FeatureSchema, People
from likewise.validation import instance, integer, within

ODDS = np.array([1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0])
POSSIBLE = np.concatenate(
    [np.geomspace(1e-3, 0.25, 20), np.geomspace(0.25, 4.0, 300), np.geomspace(4.0, 1e6, 100)]
)
"""Possible baselines, as multiples of the share in the first batches; close where it matters."""
MATCHINGS = 64
AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Batch:
    """A batch: the share of its pairs that are reported, and the evidence so far.

    ``evidence`` is what a gambler has made of 1 by betting that shares are above the baseline; None
    while the baseline is taken.
    """

    name: str
    people: int
    share: float
    evidence: float | None
    alarm: bool

    @property
    def evidence_words(self) -> str:
        """The evidence for people to read; beyond a million its size says nothing more.

        >>> [Batch("", 9, 0.1, value, False).evidence_words for value in (0.0123, 21100.0, 2e9)]
        ['0.012', '21,100', 'over 1,000,000']
        """
        if self.evidence is None:
            return "baseline"
        if self.evidence < 100:
            return f"{self.evidence:.2g}"
        return f"{self.evidence:,.0f}" if self.evidence <= 1e6 else "over 1,000,000"


def matchings(people: int, most: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Random matchings of people, (matchings, pairs) on the left and on the right.

    No two have a pair in common: up to one a person, as the rounds of a tournament.

    >>> left, right = matchings(4, 10, np.random.default_rng(1))
    >>> sorted(tuple(sorted(pair)) for pair in zip(left.ravel().tolist(), right.ravel().tolist()))
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    seats = people - 1 + people % 2
    byes, steps = rng.permutation(seats)[:most, None], np.arange(1, seats // 2 + 1)
    left, right = (byes + steps) % seats, (byes - steps) % seats
    if people % 2 == 0:  # who would sit out meets the last
        left = np.concatenate([left, byes], axis=1)
        right = np.concatenate([right, np.full_like(byes, seats)], axis=1)
    names = rng.permutation(people)
    return names[left], names[right]


def log_payment(counts: IntArray, pairs: int, shares: FloatArray, odds: FloatArray) -> FloatArray:
    """log E by share and odds: the mean over matchings with so many reported of ``pairs``."""
    logs = counts[:, None] * np.log(odds)
    mean = np.logaddexp.reduce(logs, axis=0) - math.log(len(counts))
    return np.asarray(mean - pairs * np.log1p(np.multiply.outer(shares, odds - 1)))


def _mean(logs: FloatArray) -> FloatArray:
    """The logarithm of the mean over the last axis."""
    return np.asarray(np.logaddexp.reduce(logs, axis=-1) - math.log(logs.shape[-1]))


class Monitor:
    """Watches a panel's reports of batches, and raises an alarm when their share has risen.

    Args:
        panel: auditors with distances and a rule.
        alpha: the size of a violation.
        baseline: a share below 1 that must not be exceeded; or the number of first batches to take
            it from.
        false_alarms: the chance that an alarm is ever raised without a rise.
        seed: of the matchings.

    >>> from likewise import Feature, FeatureSchema, MetricAuditor
    >>> from likewise.panel import WeightedL1
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> panel = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
    >>> monitor = Monitor(panel, alpha=0.2, baseline=0.05)
    >>> people = schema.people([[i % 100] for i in range(200)])
    >>> for month in ("May", "June"):
    ...     batch = monitor.add(people, [0.1 + 0.8 * (i % 2) for i in range(200)], month)
    >>> batch.share > 0.05, batch.alarm, monitor.alarm.name
    (True, True, 'May')
    """

    def __init__(
        self, panel: Panel, alpha: float, baseline: float = 3, false_alarms: float = 0.05,
        seed: int = 1,
    ) -> None:  # fmt: skip
        self.panel = instance("panel", panel, Panel, "A survey cannot be followed.")
        self.alpha = within("alpha", alpha, 0, 1, "It is a difference of scores.")
        self.false_alarms = within("false_alarms", false_alarms, 0, 1, "Try 0.05.", ends="()")
        self.seed = integer("seed", seed, 0, 1 << 63, "Take any such number.")
        self.batches: list[Batch] = []
        self._schema: FeatureSchema | None = None
        remedy = "Give a share below 1, or a number of batches."
        stated = isinstance(baseline, float) and baseline < 1
        # The command line knows only floats: 3.0 batches are 3.
        whole = isinstance(baseline, float) and baseline.is_integer()
        batches = int(baseline) if whole else baseline
        self.first = 0 if stated else integer("baseline", batches, 1, 10**6, remedy)
        self.baseline = within("baseline", baseline, 0, 1, remedy, "[)") if stated else None
        self._taken: list[tuple[IntArray, int]] = []
        # Logarithms by possible baseline: of what was made in the first batches; since, by odds.
        self._shares, self._before = np.array([self.baseline or 0.0]), np.zeros(1)
        self._won = np.full((1, len(ODDS)), -math.inf)

    @property
    def threshold(self) -> float:
        """The evidence that is an alarm."""
        return 1 / self.false_alarms

    @property
    def alarm(self) -> Batch | None:
        """The first batch with an alarm."""
        return next((batch for batch in self.batches if batch.alarm), None)

    def add(
        self, people: People, scores: npt.ArrayLike, name: str = "", favourable: Any = None
    ) -> Batch:
        """Look at the next batch, of at least two people, and say what it adds."""
        instance("people", people, People, "Make them with a schema: schema.people(rows).")
        if len(people) < 2:
            raise AuditError(f"A batch must have at least two people; {name!r} has {len(people)}.")
        self._schema = self._schema or people.schema
        if people.schema != self._schema:  # weights are of a feature's range
            raise AuditError(
                f"Batch {name!r} has another schema than the first, so that its distances would be "
                f"measured in another way. Read all batches with one schema."
            )
        rng = np.random.default_rng([self.seed, len(self.batches)])
        left, right = matchings(len(people), MATCHINGS, rng)
        units = score_units(read_scores(people, scores, favourable))
        counts = self._reported(people, units, left, right).sum(axis=1)
        return self.record(counts, left.shape[1], len(people), name)

    def record(self, counts: IntArray, pairs: int, people: int, name: str = "") -> Batch:
        """Take in a batch by what was counted: of the pairs of every matching, those reported."""
        number = len(self.batches)
        evidence = self._evidence(number, counts, pairs)
        alarm = evidence is not None and evidence >= self.threshold
        share = float(counts.mean()) / pairs
        batch = Batch(name or f"batch {number + 1}", people, share, evidence, alarm)
        self.batches.append(batch)
        return batch

    def _reported(self, people: People, units: IntArray, left: IntArray, right: IntArray) -> Any:
        flags = np.empty(left.size, dtype=np.bool_)
        for start in range(0, left.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            i, j = left.ravel()[part], right.ravel()[part]
            sides = Sides.at(people, i, j)
            distances = np.stack([auditor.between(sides) for auditor in self.panel.auditors])
            pivots = self.panel.rule.pivot(distances, self.panel.members)[0]
            flags[part] = exceeds(np.abs(units[i] - units[j]), pivots, threshold(self.alpha))
        return flags.reshape(left.shape)

    def _evidence(self, number: int, counts: IntArray, pairs: int) -> float | None:
        """The least K after a batch; None while the baseline is taken."""
        if number < self.first:
            self._taken.append((counts, pairs))
            if number == self.first - 1:
                self._take_baseline()
            return None
        t = number - self.first + 1
        begun = np.logaddexp(self._won, -math.log(t * (t + 1)))
        self._won = begun + log_payment(counts, pairs, self._shares, ODDS)
        since, before = np.logaddexp(_mean(self._won), -math.log(t + 1)), self._before
        if self.first:  # the former falls with p0 and the latter rises: between two, the least
            since, before = since[1:], before[:-1]
        return float(np.exp(min(700.0, (since + before).min())))

    def _take_baseline(self) -> None:
        """Bet on odds below 1 in the first batches, for every possible baseline."""
        total = sum(pairs for _, pairs in self._taken)
        self.baseline = sum(float(counts.mean()) for counts, _ in self._taken) / total
        near = np.minimum(1.0, max(self.baseline, 1 / total) * POSSIBLE)
        self._shares = np.concatenate([[0.0], near, [1.0]])
        logs = [log_payment(counts, n, self._shares, 1 / ODDS) for counts, n in self._taken]
        self._before = _mean(np.sum(logs, axis=0))
        self._won = np.full((len(self._shares), len(ODDS)), -math.inf)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Facts: the panel, the baseline, the alarm."""
        first = "batch" if self.first == 1 else f"{self.first} batches"
        source = "as stated" if self.first == 0 else f"from the first {first}"
        limit = "still to come" if self.baseline is None else f"{self.baseline:.4f}"
        yield "panel", self.panel.name
        yield "alpha", f"{self.alpha:g}"
        yield "baseline", f"{limit}, {source}"
        yield "alarm", "none" if self.alarm is None else f"in {self.alarm.name}"
        yield "false alarms", f"ever, with a chance of at most {self.false_alarms:g}"

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}  {value}" for name, value in self.facts())

    def to_json(self) -> str:
        """All batches, and what they are held against."""
        return json.dumps(
            dict(self.facts()) | {"threshold": self.threshold}
            | {"batches": [asdict(batch) for batch in self.batches]},
            indent=2, ensure_ascii=False,
        )  # fmt: skip

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page that shows shares and evidence, one self-contained file."""
        from likewise.audits.report import monitor_page

        write_file(path, monitor_page(self).encode())
