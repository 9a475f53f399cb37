"""A game in a few numbers: error, regret, violations, reports and how they grow."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from likewise.fixed_point import ONE, FloatArray
from likewise.game import Transcript
from likewise.learning import Learner
from likewise.learning.bounds import Bound, bounds
from likewise.learning.certificate import Certificate, certificate
from likewise.validation import instance

if TYPE_CHECKING:
    from likewise.evaluation.hindsight import Comparators


@dataclass(frozen=True)
class Summary:
    """The counts of a game, as the documentation defines them.

    ``error_rate`` is that of the policies π^t, ``realised_error_rate`` that of the decisions.
    ``violations`` counts rounds in which some gap under π^t exceeds d_pivot + alpha; ``reports``
    those in which the panel, asked at alpha − kappa, reported a pair. ``regret`` is the number of
    errors of π^1 … π^T less that of the best policy that is fair at alpha − eps in hindsight, on
    all labels, also those that a learner with one-sided labels never saw. ``comparators`` are the
    error rates of the best fixed policies at alpha − eps, alpha − kappa and alpha.
    ``largest_gap_last_quarter`` is the mean, over the last quarter of the rounds, of the largest
    gap between two people of a round: near 0 for a policy that treats everybody alike.
    """

    rounds: int
    k: int
    people: int
    error_rate: float
    realised_error_rate: float
    comparators: Comparators | None
    regret: float | None
    violations: int
    audits: int
    reports: int
    violations_per_1000_last_quarter: float
    largest_gap_last_quarter: float
    lam: float
    oracle_calls: int

    @property
    def comparator_error_rate(self) -> float | None:
        """The error rate of the best policy that is fair at alpha − eps."""
        return None if self.comparators is None else self.comparators.at_alpha_less_eps

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return {"comparator_error_rate": self.comparator_error_rate, **asdict(self)}


def summarise(transcript: Transcript, comparators: Comparators | None = None) -> Summary:
    """Sum a game up; ``comparators`` are numbers of errors of the best fixed policies."""
    instance("transcript", transcript, Transcript, "play(…) makes one.")
    people = int(transcript.people.sum())
    error = float(transcript.error.sum())
    quarter = max(1, transcript.rounds // 4)
    return Summary(
        rounds=transcript.rounds,
        k=transcript.learner.k,
        people=people,
        error_rate=error / people,
        realised_error_rate=int(transcript.wrong.sum()) / people,
        comparators=None if comparators is None else comparators.rates(people),
        regret=None if comparators is None else error - comparators.at_alpha_less_eps,
        violations=int(transcript.violation.sum()),
        audits=int(transcript.audited.sum()),
        reports=int(transcript.reported.sum()),
        violations_per_1000_last_quarter=1000.0 * float(transcript.violation[-quarter:].mean()),
        largest_gap_last_quarter=float(transcript.largest_gap[-quarter:].mean()) / ONE,
        lam=float(transcript.lam[-1]),
        oracle_calls=int(transcript.calls[-1]),
    )


def summary_json(transcript: Transcript, summary: Summary, seconds: float) -> dict[str, Any]:
    """Return the object that ``likewise simulate --json`` prints."""
    learner = transcript.learner
    return {
        **summary.to_json(),
        "world": transcript.world.name,
        "alpha": learner.alpha,
        "eps": learner.eps,
        "hypotheses": learner.hypotheses.size,
        "log_hypotheses": learner.hypotheses.log_size,
        "separators": learner.hypotheses.separators,
        **(_of_learner(transcript, learner) if isinstance(learner, Learner) else {
            "settings": learner.settings(), "bounds": [],
        }),
        "delay": transcript.delay.text,
        "seed": learner.seed,
        "seconds": seconds,
    }  # fmt: skip


def _of_learner(transcript: Transcript, learner: Learner) -> dict[str, Any]:
    """Return the settings, the bounds and the certificate of our learner."""
    run = certificate_of(transcript)
    return {
        "player": learner.primal.name,
        "schedule": learner.resolved_schedule.spec(),
        "feedback": learner.feedback,
        "estimate": learner.estimate if learner.pricing.one_sided else None,
        "audit_share": learner.audit_share,
        "open_rounds": len(transcript.state.open),
        "bounds": [bound.to_json() for bound in bounds_of(transcript)],
        "certificate": None if run is None else run.to_json(),
    }


def bounds_of(transcript: Transcript) -> tuple[Bound, ...]:
    """Return the bounds that hold before a game of one of our learners, for its delays."""
    learner = transcript.state.learner
    # Audit and labels come together; with one-sided labels, the rejected are charged at once.
    apart = transcript.delay.audits != transcript.delay.labels
    pieces = 2 if learner.pricing.one_sided or apart else 1
    return bounds(learner, transcript.rounds, delay=transcript.delay.longest, pieces=pieces)


def certificate_of(transcript: Transcript) -> Certificate | None:
    """Return the certificate of the run; None where reports are ignored, so nothing is priced."""
    state = transcript.state
    if state.learner.ignores_reports:
        return None
    return certificate(state, delay=transcript.delay.longest)


def trace_csv(transcript: Transcript) -> str:
    """Write the game round by round, as CSV."""

    def decimals(column: FloatArray) -> list[str]:
        return [f"{value:.9f}" for value in column.tolist()]

    columns = {
        "round": range(1, transcript.rounds + 1),
        "people": transcript.people.tolist(),
        "expected_errors": decimals(transcript.error),
        "errors": transcript.wrong.tolist(),
        "violation": transcript.violation.astype(int).tolist(),
        "audited": transcript.audited.astype(int).tolist(),
        "report": transcript.reported.astype(int).tolist(),
        "lam": decimals(transcript.lam),
        "oracle_calls": transcript.calls.tolist(),
        "largest_gap": decimals(transcript.largest_gap / ONE),
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
