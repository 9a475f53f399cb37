"""A game in a few numbers: error, regret, violations, reports and how they grow."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.learner import Certificate, Learner, SelfTuned, certificate
from likewise.learner.attention import BoolArray, Possible
from likewise.learner.bounds import Bound, bounds
from likewise.learner.certificate import overlooked_reports, unseen_reports
from likewise.learner.events import Person
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel.turns import Turns, ask_in_turn
from likewise.simulate.rounds import Algorithm, Moment, Transcript, shown_pairs
from likewise.validation import instance

if TYPE_CHECKING:
    from likewise.simulate.hindsight import Comparators


@dataclass(frozen=True)
class Summary:
    """The counts of a game, as the documentation defines them.

    ``error_rate`` is that of the policies π^t, ``realised_error_rate`` that of the decisions.
    ``violations`` counts rounds in which some gap under π^t exceeds d_pivot + alpha; ``reports``
    those in which the panel, asked at alpha − kappa, reported a pair. ``looks`` counts the rounds
    that were put before the panel, ``pairs_shown`` the pairs in them, and ``members_asked`` how
    many members it took, one after another (:class:`MemberLooks`). ``regret`` is the number of
    errors of π^1 … π^T less that of the best policy that is fair at alpha − eps in hindsight, on
    all labels, also those that were never seen. ``largest_gap_last_quarter`` is the mean largest
    gap of a round over the last quarter: near 0 for a policy that treats everybody alike.
    """

    rounds: int
    k: int
    people: int
    error_rate: float
    realised_error_rate: float
    comparators: Comparators | None
    regret: float | None
    violations: int
    reports: int
    looks: int
    pairs_shown: int
    members_asked: int | None
    violations_per_1000_last_quarter: float
    largest_gap_last_quarter: float
    lam: float
    oracle_calls: int

    @property
    def comparator_error_rate(self) -> float | None:
        """The error rate of the best policy that is fair at alpha − eps."""
        return None if self.comparators is None else self.comparators.at_alpha_less_eps

    def to_json(self) -> dict[str, Any]:
        return {"comparator_error_rate": self.comparator_error_rate, **asdict(self)}


def votes_on(moment: Moment) -> tuple[Possible, BoolArray]:
    """The pairs that a panel is shown in a round, and what its members say of them, (m, n)."""
    encounter, asking = moment.encounter, moment.asking
    people, scores = encounter.people, moment.deployment.units.tolist()
    rows = zip(people.ids, people.x.tolist(), strict=True)
    persons = tuple(Person(name, tuple(row)) for name, row in rows)
    possible = Possible.of(people.schema, persons, scores, asking.sensitivity)
    pairs = possible.only(shown_pairs(asking, people.ids)[possible.over, possible.under])
    distances = encounter.distances[:, pairs.over, pairs.under]
    return pairs, pairs.gaps > distances + asking.sensitivity


@dataclass
class MemberLooks:
    """Counts how often members are asked, if a panel is asked one after another.

    ``see`` is the ``progress`` of a game. ``asked`` counts rounds by member, ``pairs`` the pairs
    that members were shown, all together.
    """

    turns: Turns = field(default_factory=Turns)
    pairs: int = 0

    @property
    def asked(self) -> int:
        return sum(self.turns.asked.values())

    def see(self, moment: Moment) -> None:
        """Ask about the pairs that the panel is shown in a round."""
        pairs, votes = votes_on(moment)
        if not len(pairs):
            return
        panel = moment.encounter.panel
        heard = ask_in_turn(panel.rule, panel.members, votes, self.turns, pairs.inputs)
        self.turns, self.pairs = heard.turns, self.pairs + int(heard.heard.sum())


def summarise(
    transcript: Transcript,
    comparators: Comparators | None = None,
    members: MemberLooks | None = None,
) -> Summary:
    """Sum a game up; ``comparators`` are numbers of errors of the best fixed policies, and
    ``members`` has seen every moment of the game.
    """
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
        reports=int(transcript.reported.sum()),
        looks=int(transcript.audited.sum()),
        pairs_shown=int(transcript.pairs_shown.sum()),
        members_asked=None if members is None else members.asked,
        violations_per_1000_last_quarter=1000.0 * float(transcript.violation[-quarter:].mean()),
        largest_gap_last_quarter=float(transcript.largest_gap[-quarter:].mean()) / ONE,
        lam=float(transcript.lam[-1]),
        oracle_calls=int(transcript.calls[-1]),
    )


def summary_json(transcript: Transcript, summary: Summary, seconds: float) -> dict[str, Any]:
    """Return the object that ``likewise simulate --out -`` prints."""
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
        "attention": learner.looking.spec(),
        "unseen_reports": unseen_reports(transcript.state).to_json(),
        "open_rounds": len(transcript.state.open),
        "bounds": [bound.to_json() for bound in bounds_of(transcript)],
        "certificate": None if run is None else run.to_json(),
        "certificates": None if run is None else certificates_of(transcript, run),
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


# The share of reports that are wrong, or overlooked; people may well reach it.
ERRING = 0.1


def certificates_of(transcript: Transcript, run: Certificate) -> dict[str, Any] | None:
    """Return certificates from the rounds of a run; None where these were not recorded.

    ``changing`` has those against policies that change, and ``one_sided`` that of one-sided labels
    with high probability. ``wrong`` and ``overlooked`` have what the run's own certificate says if
    a share :data:`ERRING` of reports was wrong, or was overlooked.
    """
    evidence = transcript.evidence
    if evidence is None:
        return None
    wrong, one_sided = math.ceil(ERRING * run.reports), evidence.one_sided()
    changing = () if evidence.learner.pricing.one_sided else evidence.partitions()[1:]
    return {
        "changing": [part.to_json() for part in changing],
        "one_sided": None if one_sided is None else one_sided.to_json(),
        "wrong": {"reports": wrong, "regret": run.regret + evidence.wrong_reports(wrong)},
        "overlooked": {"share": ERRING, **overlooked_reports(run.reports, ERRING).to_json()},
    }


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
        "pairs_shown": transcript.pairs_shown.tolist(),
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


NEAR_CONSTANT = 0.1
"""A policy is near constant if the largest gap of a round is below this, in the mean."""


def more(difference: float) -> str:
    """Say a difference of two errors in words."""
    return f"{abs(difference):.3f} {'above' if difference >= 0 else 'below'}"


def near_constant(learner: Learner | Algorithm, summary: Summary) -> str | None:
    """Return a warning, if the policy is near constant over the last quarter of a game.

    Learners with one hypothesis and those that ignore the panel get none: the panel did not drive
    them there.
    """
    gap, fixed = summary.largest_gap_last_quarter, summary.comparators
    if gap >= NEAR_CONSTANT or learner.hypotheses.size == 1:
        return None
    if isinstance(learner, Learner) and learner.ignores_reports:
        return None
    text = (
        f"The policy is near constant: over the last quarter of the rounds the largest gap between "
        f"two people was {gap:.3f} in the mean."
    )
    changes = []
    if fixed is not None:
        asked = summary.error_rate - fixed.at_alpha_less_kappa
        allowed = summary.error_rate - fixed.at_alpha
        text += (
            f" Its error is {more(asked)} that of the best fixed policy at alpha − kappa, and "
            f"{more(allowed)} that of the best at alpha, none of whose gaps is a violation."
        )
        if max(asked, allowed) <= 0:
            changes = ["nothing needs to, since no fixed policy that the panel bears does better"]
    eta = kappa = None
    if isinstance(learner, Learner) and isinstance(learner.schedule, SelfTuned):
        eta, kappa = learner.schedule.eta, learner.margins.kappa
    changes += remedies(tuned=eta is not None, eta=eta, kappa=kappa, alpha=learner.alpha)
    return f"{text} What would change it: {'; '.join(changes)}."


def remedies(
    *, tuned: bool, eta: float | None = None, kappa: float | None = None, alpha: float | None = None
) -> Iterator[str]:
    """Yield changes that make a policy less constant, with the current values where given.

    ``tuned`` says that the learner has the parameters eta and kappa.
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


class Outcome(NamedTuple):
    """A point in three dimensions; less is better in each."""

    error: float
    violations: float
    reports: float


def beats(left: Outcome, right: Outcome) -> bool:
    """Say if the left is nowhere worse than the right, and somewhere better (Pareto dominance)."""
    return left != right and all(a <= b for a, b in zip(left, right, strict=True))


def frontier(points: Sequence[Outcome]) -> list[int]:
    """Return the indices of the points that no other beats, in order."""
    return [i for i, point in enumerate(points) if not any(beats(rival, point) for rival in points)]
