"""Responses of the API to auditors, and about the panel's work."""

from __future__ import annotations

from dataclasses import field

from likewise.service.api.responses import ReceiptResponse, Response

__all__ = [
    "AgreementResponse",
    "ConsistencyResponse",
    "Fact",
    "FeatureDifference",
    "Gap",
    "MemberMetrics",
    "MetricsResponse",
    "MyObjection",
    "ReportedPair",
    "ReviewList",
    "ReviewPair",
    "ReviewPerson",
    "ReviewResponse",
    "ReviewSummary",
    "Series",
]


class ReviewSummary(Response):
    """A review in a list: ``status`` is asked, waiting (for others), closed or missed.

    ``ended`` is when it closed, if it has.
    """

    id: str
    number: int
    status: str
    people: int
    pairs: int
    objections: int
    asked: str
    due: str | None
    ended: str | None


class ReviewList(Response):
    """Some reviews, and a receipt."""

    reviews: list[ReviewSummary]
    receipt: ReceiptResponse


class Fact(Response):
    """One feature of one person, in words."""

    name: str
    title: str
    value: str


class ReviewPerson(Response):
    """A person, under a name of this review only.

    Of somebody who was ``erased`` nothing is shown.
    """

    id: str
    chance: float
    features: list[Fact]
    erased: bool


class FeatureDifference(Response):
    """How far two people differ in one feature, in words.

    ``share`` is the difference as a share of the feature's range, where it has one.
    """

    name: str
    words: str
    share: float | None


class ReviewPair(Response):
    """A pair that can be reported: the favoured person first, and the features that differ."""

    over: str
    under: str
    gap: float
    differing: list[str]
    flagged: bool
    differences: list[FeatureDifference] = field(default_factory=list)


class MyObjection(Response):
    """An objection of the auditor who asks."""

    over: str
    under: str
    reason: str | None


class ReportedPair(Response):
    """A pair that the panel reported; whether one objected to it, and was decisive."""

    over: str
    under: str
    mine: bool
    decisive: bool


class ReviewResponse(Response):
    """A round as an auditor sees it. ``outcome`` and ``reported`` are there once it has ended.

    A reason may have ``reason_limit`` characters.
    """

    id: str
    number: int
    status: str
    asked: str
    due: str | None
    ended: str | None
    shadow: bool
    reason_limit: int
    people: list[ReviewPerson]
    pairs: list[ReviewPair]
    objections: list[MyObjection]
    outcome: str | None
    reported: list[ReportedPair]
    receipt: ReceiptResponse


class Gap(Response):
    """A large gap between two people of a round."""

    round: str
    over: str
    under: str
    gap: float


class AgreementResponse(Response):
    """How far the panel agreed: Krippendorff's alpha, and what it was computed from."""

    alpha: float | None
    units: int
    pairable: int
    judgements: int
    objections: int


class ConsistencyResponse(Response):
    """How far members judged alike when shown rounds again: ``share`` = same / pairs.

    Every pair that was judged twice counts the same, whoever judged it.
    """

    share: float | None
    repeats: int
    pairs: int
    same: int


class MemberMetrics(Response):
    """How a member took part, and how far they judged alike when shown a round again."""

    member: str
    sitting: bool
    asked: int
    finished: int
    absent: int
    objections: int
    decisive: int
    repeats: int
    consistency: float | None


class Series(Response):
    """One value a round, of some rounds evenly spread; ``error`` and others are running shares."""

    number: list[int]
    opened: list[str]
    reports: list[int]
    error: list[float | None]
    largest_gap: list[float]
    lam: list[float]


class MetricsResponse(Response):
    """A docket in numbers. The panel's part is for the operator and regulators alone.

    ``error`` is the share of known labels that the decision missed (overrides aside), and
    ``score_error`` the mean distance of the chance from the label. Gaps, agreement and the members
    are counted over the last ``window`` rounds. ``recorded`` is the time of the last record.
    """

    docket: str
    at: str
    shadow: bool
    rounds: int
    people: int
    open: int
    in_audit: int
    oldest_open_seconds: float | None
    reports: int
    quiet: int
    unaudited: int
    labels: int
    missing: int
    overrides: int
    error: float | None
    score_error: float | None
    lam: float
    sensitivity: float
    window: int
    largest_gaps: list[Gap]
    agreement: AgreementResponse | None
    consistency: ConsistencyResponse | None
    members: list[MemberMetrics] | None
    series: Series
    recorded: str
    receipt: ReceiptResponse
