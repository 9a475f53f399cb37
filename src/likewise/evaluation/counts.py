"""A game in a few numbers: error, regret, violations, reports and how they grow."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from likewise.errors import ParameterError
from likewise.game import Transcript
from likewise.learning.bounds import bounds
from likewise.validation import instance, optional_real, reals

__all__ = ["Summary", "growth_exponent", "summarise", "summary_json", "trace_csv"]


@dataclass(frozen=True)
class Summary:
    """The counts of a game, as the documentation defines them.

    ``error_rate`` is that of the policies π^t, ``realised_error_rate`` that of the decisions.
    ``violations`` counts rounds in which some gap under π^t exceeds d_pivot + alpha; ``reports``
    those in which the panel, asked at alpha − kappa, reported a pair. ``regret`` is the number of
    errors of π^1 … π^T less that of the best policy that is fair at alpha − eps in hindsight, on
    all labels, also those that a learner with one-sided labels never saw.
    """

    rounds: int
    k: int
    people: int
    error_rate: float
    realised_error_rate: float
    comparator_error_rate: float | None
    regret: float | None
    violations: int
    audits: int
    reports: int
    violations_per_1000_last_quarter: float
    lam: float
    oracle_calls: int

    def to_json(self) -> dict[str, Any]:
        """The numbers by name."""
        return asdict(self)


def summarise(transcript: Transcript, comparator_error: float | None = None) -> Summary:
    """Count; ``comparator_error`` is the number of errors of the best fair policy in hindsight."""
    instance("transcript", transcript, Transcript, "play(…) makes one.")
    comparator_error = optional_real("comparator_error", comparator_error, "None without one.")
    people = int(transcript.people.sum())
    error = float(transcript.error.sum())
    quarter = max(1, transcript.rounds // 4)
    return Summary(
        rounds=transcript.rounds,
        k=transcript.learner.k,
        people=people,
        error_rate=error / people,
        realised_error_rate=int(transcript.wrong.sum()) / people,
        comparator_error_rate=None if comparator_error is None else comparator_error / people,
        regret=None if comparator_error is None else error - comparator_error,
        violations=int(transcript.violation.sum()),
        audits=int(transcript.audited.sum()),
        reports=int(transcript.reported.sum()),
        violations_per_1000_last_quarter=1000.0 * float(transcript.violation[-quarter:].mean()),
        lam=float(transcript.lam[-1]),
        oracle_calls=int(transcript.calls[-1]),
    )


def summary_json(transcript: Transcript, summary: Summary, seconds: float) -> dict[str, Any]:
    """The object that ``likewise simulate --json`` prints."""
    learner = transcript.learner
    # Audit and labels come together; with one-sided labels, the rejected are charged at once.
    pieces = 2 if learner.pricing.one_sided else 1
    late = transcript.delay.longest
    found = bounds(learner, transcript.rounds, delay=late, pieces=pieces)
    return {
        **summary.to_json(),
        "world": transcript.world.name,
        "alpha": learner.alpha,
        "eps": learner.eps,
        "hypotheses": learner.hypotheses.size,
        "log_hypotheses": learner.hypotheses.log_size,
        "separators": learner.hypotheses.separators,
        "player": learner.primal.name,
        "schedule": learner.resolved_schedule.spec(),
        "feedback": learner.feedback,
        "estimate": learner.estimate if learner.pricing.one_sided else None,
        "audit_share": learner.audit_share,
        "delay": transcript.delay.text,
        "open_rounds": len(transcript.state.open),
        "seed": learner.seed,
        "bounds": [bound.to_json() for bound in found],
        "seconds": seconds,
    }


def growth_exponent(rounds: Sequence[int], counts: Sequence[float]) -> float:
    """The slope of log count against log rounds, by least squares; NaN where a count is 0.

    A learner whose violations are O(T^a) has an exponent of about a; 1 means no learning.

    >>> round(growth_exponent([500, 2000, 8000], [10, 20, 40]), 3)
    0.5
    """
    horizons = reals("rounds", rounds, "List horizons: [500, 2000].")
    counted = reals("counts", counts, "List a count for each horizon.")
    if len(horizons) != len(counted) or len(set(horizons)) < 2 or not min(horizons) > 0:
        raise ParameterError(
            "rounds", "must be different horizons, at least two, with a count each", rounds,
            "A slope needs two points.",
        )  # fmt: skip
    if not all(math.isfinite(number) for number in (*horizons, *counted)) or min(counted) <= 0:
        return math.nan
    x, y = np.log(np.array(horizons)), np.log(np.array(counted))
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def trace_csv(transcript: Transcript) -> str:
    """The game round by round, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "round",
            "people",
            "expected_errors",
            "errors",
            "violation",
            "audited",
            "report",
            "lam",
            "oracle_calls",
        ]
    )
    for t in range(transcript.rounds):
        writer.writerow(
            [
                t + 1,
                int(transcript.people[t]),
                f"{transcript.error[t]:.9f}",
                int(transcript.wrong[t]),
                int(transcript.violation[t]),
                int(transcript.audited[t]),
                int(transcript.reported[t]),
                f"{transcript.lam[t]:.9f}",
                int(transcript.calls[t]),
            ]
        )
    return text.getvalue()
