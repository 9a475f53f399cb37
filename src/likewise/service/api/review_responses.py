"""What the API answers to auditors, and about the panel's work."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.service.api.responses import ReceiptResponse

__all__ = [
    "AgreementResponse",
    "Fact",
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


@dataclass(frozen=True)
class ReviewSummary:
    """A review in a list: ``status`` is asked, waiting (for others), closed or missed."""

    id: str
    number: int
    status: str
    people: int
    pairs: int
    objections: int
    asked: str
    due: str | None


@dataclass(frozen=True)
class ReviewList:
    """Some reviews, and a receipt."""

    reviews: list[ReviewSummary]
    receipt: ReceiptResponse


@dataclass(frozen=True)
class Fact:
    """One feature of one person, in words."""

    name: str
    title: str
    value: str


@dataclass(frozen=True)
class ReviewPerson:
    """A person, under a name of this review only.

    Of somebody who was ``erased`` nothing is shown.
    """

    id: str
    chance: float
    features: list[Fact]
    erased: bool


@dataclass(frozen=True)
class ReviewPair:
    """A pair that can be reported: the favoured person first, and the features that differ."""

    over: str
    under: str
    gap: float
    differing: list[str]
    objected: bool


@dataclass(frozen=True)
class MyObjection:
    """An objection of the auditor who asks."""

    over: str
    under: str
    reason: str | None


@dataclass(frozen=True)
class ReportedPair:
    """A pair that the panel reported; whether one objected to it, and was decisive."""

    over: str
    under: str
    mine: bool
    decisive: bool


@dataclass(frozen=True)
class ReviewResponse:
    """A round as an auditor sees it. ``outcome`` and ``reported`` are there once it has closed."""

    id: str
    number: int
    status: str
    asked: str
    due: str | None
    shadow: bool
    people: list[ReviewPerson]
    pairs: list[ReviewPair]
    objections: list[MyObjection]
    outcome: str | None
    reported: list[ReportedPair]
    receipt: ReceiptResponse


@dataclass(frozen=True)
class Gap:
    """A large gap between two people of a round."""

    round: str
    over: str
    under: str
    gap: float


@dataclass(frozen=True)
class AgreementResponse:
    """How far the panel agreed: Krippendorff's alpha, and what it was computed from."""

    alpha: float | None
    units: int
    pairable: int
    judgements: int
    objections: int


@dataclass(frozen=True)
class MemberMetrics:
    """How a member took part, and how far they judged alike when shown a round again."""

    member: str
    sitting: bool
    asked: int
    reviewed: int
    absent: int
    objections: int
    decisive: int
    repeats: int
    consistency: float | None


@dataclass(frozen=True)
class Series:
    """One value a round, of some rounds evenly spread; ``error`` and others are running shares."""

    number: list[int]
    opened: list[str]
    reports: list[int]
    error: list[float | None]
    largest_gap: list[float]
    lam: list[float]


@dataclass(frozen=True)
class MetricsResponse:
    """A docket in numbers. The panel's part is for the operator and regulators alone.

    ``error`` is the share of known labels that the decision missed (overrides aside), and
    ``score_error`` the mean distance of the chance from the label. Gaps, agreement and the members
    are counted over the last ``window`` rounds.
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
    members: list[MemberMetrics] | None
    series: Series
    receipt: ReceiptResponse
