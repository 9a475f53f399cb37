"""A warning for policies that are near constant: what that costs, and what would change it.

A strict panel can drive a learner to a policy that treats everybody alike: nobody objects to it,
and it has learnt nothing. The counts alone look fine, so the warning stands beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from likewise.algorithms import Algorithm
from likewise.evaluation.counts import Summary
from likewise.learning import Learner, SelfTuned

NEAR_CONSTANT = 0.1
"""A policy is near constant if the largest gap of a round is below this, in the mean."""


@dataclass(frozen=True)
class NearConstant:
    """A policy whose largest gap in a round is small, in the mean over the last quarter.

    ``costs`` is its error above that of the best fixed policies at alpha − kappa and at alpha;
    None where these are not known.
    """

    largest_gap: float
    costs: tuple[float, float] | None
    remedies: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The warning as data, with its text."""
        return {
            "largest_gap": self.largest_gap,
            "error_above_alpha_less_kappa": None if self.costs is None else self.costs[0],
            "error_above_alpha": None if self.costs is None else self.costs[1],
            "text": self.text,
        }

    @property
    def text(self) -> str:
        """The warning in a few sentences."""
        sentences = [
            f"The policy is near constant: over the last quarter of the rounds the largest gap "
            f"between two people was {self.largest_gap:.3f} in the mean."
        ]
        if self.costs is not None:
            sentences.append(
                f"Its error is {more(self.costs[0])} that of the best fixed policy at "
                f"alpha − kappa, and {more(self.costs[1])} that of the best at alpha, none of "
                f"whose gaps is a violation."
            )
        sentences.append(f"What would change it: {'; '.join(self.remedies)}.")
        return " ".join(sentences)


def more(difference: float) -> str:
    """Say a difference of two errors in words.

    >>> more(0.05), more(-0.002)
    ('0.050 above', '0.002 below')
    """
    return f"{abs(difference):.3f} {'above' if difference >= 0 else 'below'}"


def near_constant(learner: Learner | Algorithm, summary: Summary) -> NearConstant | None:
    """Return the warning, if the policy is near constant over the last quarter of a game.

    Learners with one hypothesis and those that ignore the panel get none: the panel did not drive
    them there.
    """
    gap = summary.largest_gap_last_quarter
    if gap >= NEAR_CONSTANT or learner.hypotheses.size == 1:
        return None
    if isinstance(learner, Learner) and learner.ignores_reports:
        return None
    fixed, error = summary.comparators, summary.error_rate
    costs = None if fixed is None else (error - fixed.at_alpha_less_kappa, error - fixed.at_alpha)
    return NearConstant(gap, costs, tuple(_remedies(learner, costs)))


def _remedies(learner: Learner | Algorithm, costs: tuple[float, float] | None) -> Iterator[str]:
    if costs is not None and max(costs) <= 0:
        yield "nothing needs to, since no fixed policy that the panel bears does better"
    eta = kappa = None
    if isinstance(learner, Learner) and isinstance(learner.schedule, SelfTuned):
        eta, kappa = learner.schedule.eta, learner.margins.kappa
    yield from remedies(tuned=eta is not None, eta=eta, kappa=kappa, alpha=learner.alpha)


def remedies(
    *,
    tuned: bool,
    eta: float | None = None,
    kappa: float | None = None,
    alpha: float | None = None,
) -> Iterator[str]:
    """Yield changes that make a policy less constant, with the current values where given.

    ``tuned`` says that the learner has the parameters eta and kappa.

    >>> list(remedies(tuned=False))[0]
    'a larger alpha or a rule that needs more objections'
    >>> list(remedies(tuned=True, eta=0.25))[0]
    'a larger eta, which is 0.25, weighs the error more'
    """

    def now(value: float | None) -> str:
        return "" if value is None else f", which is {value:g},"

    if tuned:
        yield f"a larger eta{now(eta)} weighs the error more"
        if kappa is None or kappa > 0:
            yield (
                f"a smaller kappa{now(kappa)} lets the panel report later, nearer to a violation"
            )
    yield f"a larger alpha{now(alpha)} or a rule that needs more objections"
    yield "a class that tells people apart as the panel does"
