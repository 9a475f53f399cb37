"""Responses of the API as plain values: the server fills them, pages and clients read them."""

from __future__ import annotations

from dataclasses import Field, dataclass
from typing import Any, ClassVar, dataclass_transform

__all__ = [
    "DecisionResponse",
    "DocketList",
    "DocketResponse",
    "DocketSummary",
    "ErrorBody",
    "ErrorResponse",
    "FeatureResponse",
    "HealthResponse",
    "KeyList",
    "KeyResponse",
    "MeResponse",
    "NewHold",
    "NewToken",
    "ObjectionResponse",
    "PacketResponse",
    "PairResponse",
    "ReceiptCheck",
    "ReceiptResponse",
    "Response",
    "RoundList",
    "RoundResponse",
    "RoundSummary",
    "TokenList",
    "TokenResponse",
    "Written",
]


@dataclass_transform(frozen_default=True)
class Response:
    """A plain value: every subclass is a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class ErrorBody(Response):
    """A code for programs, and a sentence that says what to do."""

    code: str
    message: str


class ErrorResponse(Response):
    """The response to every request that was refused, or failed."""

    error: ErrorBody


class HealthResponse(Response):
    """The server is there."""

    status: str


class ReceiptResponse(Response):
    """The ledger's head: proof of all that was recorded by then. Keep ``text``."""

    docket: str
    seq: int
    hash: str
    text: str


class KeyResponse(Response):
    """A key of the installation: 64 hexadecimal digits, since when and until when it signs."""

    id: str
    public: str
    created: str
    retired: str | None
    compromised: str | None


class KeyList(Response):
    """The keys that sign, or have signed, receipts; the one without an end is in use."""

    keys: list[KeyResponse]


class NewHold(Response):
    """A hold that was placed, by its id."""

    hold: str
    receipt: ReceiptResponse


class PacketResponse(Response):
    """The file of a decision, signed, and the same in words."""

    packet: dict[str, Any]
    words: str


class ReceiptCheck(Response):
    """The verdict on a receipt: is it of this ledger, as it is now?"""

    holds: bool
    message: str


class Written(Response):
    """Something was recorded, or had been before."""

    receipt: ReceiptResponse


class FeatureResponse(Response):
    """A feature as the docket's schema has it."""

    name: str
    title: str
    kind: str
    unit: str
    low: float | None
    high: float | None
    levels: list[str]


class DocketSummary(Response):
    """A docket by name; ``shadow`` says that its decisions are not to be used."""

    name: str
    title: str
    shadow: bool


class DocketList(Response):
    """The dockets that a token concerns."""

    dockets: list[DocketSummary]


class DocketResponse(Response):
    """A docket's settings; ``notice`` says what its decisions are good for, where that matters.

    In an ``audit_only`` docket the institution decides; ``learner_from`` is the record from which
    on a learner does, where it was given one later.
    """

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
    audit_only: bool = False
    learner_from: int | None = None


class DecisionResponse(Response):
    """The decision on a person; ``score`` is the chance in units of 2^-20."""

    person: str
    approved: bool
    chance: float
    score: int


class PairResponse(Response):
    """Two people; the first has the higher chance."""

    over: str
    under: str


class ObjectionResponse(Response):
    """An objection of a member; the reason is missing if there was none, or it was erased."""

    member: str
    pair: list[str]
    reason: str | None


class RoundSummary(Response):
    """A round in a list; ``missing`` counts the labels that may still come.

    How many ``seats`` its panel has, and how many members have ``finished`` it, is for the operator
    and regulators alone.
    """

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
    seats: int | None
    finished: int | None


class RoundList(Response):
    """Some rounds; ``next`` is the ``after`` of the next page, if there is one."""

    rounds: list[RoundSummary]
    next: int | None


class RoundResponse(Response):
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


class MeResponse(Response):
    """The owner of a token."""

    id: str
    role: str
    name: str
    docket: str | None


class TokenResponse(Response):
    """A token as the operator sees it: everything but the token itself."""

    id: str
    role: str
    name: str
    docket: str | None
    created: str
    revoked: str | None


class TokenList(Response):
    """All tokens, also those that were revoked."""

    tokens: list[TokenResponse]


class NewToken(Response):
    """A token, shown this once."""

    token: str
    identity: TokenResponse
