"""What the API answers, as plain values: the server fills them, the client reads them back."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DecisionResponse",
    "DocketList",
    "DocketResponse",
    "DocketSummary",
    "ErrorBody",
    "ErrorResponse",
    "FeatureResponse",
    "HealthResponse",
    "MeResponse",
    "NewToken",
    "ObjectionResponse",
    "PairResponse",
    "ReceiptCheck",
    "ReceiptResponse",
    "RoundList",
    "RoundResponse",
    "RoundSummary",
    "TokenList",
    "TokenResponse",
    "Written",
]


@dataclass(frozen=True)
class ErrorBody:
    """A code for programs, and a sentence that says what to do."""

    code: str
    message: str


@dataclass(frozen=True)
class ErrorResponse:
    """Every answer that is not what was asked for."""

    error: ErrorBody


@dataclass(frozen=True)
class HealthResponse:
    """Whether the server is there."""

    status: str


@dataclass(frozen=True)
class ReceiptResponse:
    """The ledger's head: proof of all that was recorded by then. Keep ``text``."""

    docket: str
    seq: int
    hash: str
    text: str


@dataclass(frozen=True)
class ReceiptCheck:
    """Whether a receipt is of this ledger, as it is now."""

    holds: bool
    message: str


@dataclass(frozen=True)
class Written:
    """Something was recorded, or had been before."""

    receipt: ReceiptResponse


@dataclass(frozen=True)
class FeatureResponse:
    """A feature as the docket's schema has it."""

    name: str
    title: str
    kind: str
    unit: str
    low: float | None
    high: float | None
    levels: list[str]


@dataclass(frozen=True)
class DocketSummary:
    """A docket by name; ``shadow`` says that its decisions are not to be used."""

    name: str
    title: str
    shadow: bool


@dataclass(frozen=True)
class DocketList:
    """The dockets that a token concerns."""

    dockets: list[DocketSummary]


@dataclass(frozen=True)
class DocketResponse:
    """A docket's settings; ``notice`` says what its decisions are good for, where that matters."""

    name: str
    title: str
    shadow: bool
    notice: str | None
    features: list[FeatureResponse]
    k: int
    alpha: float
    feedback: str
    members: list[str]
    rule: str
    quorum: int
    deadline: float | None
    seed_commitment: str
    receipt: ReceiptResponse


@dataclass(frozen=True)
class DecisionResponse:
    """What was decided on a person; ``score`` is the chance in units of 2^-20."""

    person: str
    approved: bool
    chance: float
    score: int


@dataclass(frozen=True)
class PairResponse:
    """Two people; the first has the higher chance."""

    over: str
    under: str


@dataclass(frozen=True)
class ObjectionResponse:
    """An objection of a member; the reason is missing if there was none, or it was erased."""

    member: str
    pair: list[str]
    reason: str | None


@dataclass(frozen=True)
class RoundSummary:
    """A round in a list; ``missing`` counts the labels that may still come."""

    id: str
    number: int
    status: str
    people: int
    opened: str
    sealed: str | None
    due: str | None
    outcome: str | None
    missing: int
    closed: str | None


@dataclass(frozen=True)
class RoundList:
    """Some rounds; ``next`` is the ``after`` of the next page, if there is one."""

    rounds: list[RoundSummary]
    next: int | None


@dataclass(frozen=True)
class RoundResponse:
    """A round. Seats and objections are for the operator and regulators alone.

    ``missing`` are the people whose labels may still come. In shadow, ``notice`` says that the
    decisions are not to be used.
    """

    id: str
    number: int
    status: str
    shadow: bool
    notice: str | None
    opened: str
    sealed: str | None
    rule: str | None
    drawn: bool
    due: str | None
    decisions: list[DecisionResponse]
    outcome: str | None
    reported: list[PairResponse]
    labels: dict[str, int]
    overrides: dict[str, bool]
    missing: list[str]
    closed: str | None
    seats: dict[str, str] | None
    objections: list[ObjectionResponse] | None
    receipt: ReceiptResponse


@dataclass(frozen=True)
class MeResponse:
    """Whose token it is."""

    id: str
    role: str
    name: str
    docket: str | None


@dataclass(frozen=True)
class TokenResponse:
    """A token as the operator sees it: everything but the token itself."""

    id: str
    role: str
    name: str
    docket: str | None
    created: str
    revoked: str | None


@dataclass(frozen=True)
class TokenList:
    """All tokens, also those that were revoked."""

    tokens: list[TokenResponse]


@dataclass(frozen=True)
class NewToken:
    """A token, shown this once."""

    token: str
    identity: TokenResponse
