"""Responses of the API as plain values; the server fills the same classes that the client reads."""

from __future__ import annotations

import json
from dataclasses import Field, dataclass, field, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from likewise_client.errors import ApiError

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
class Response:
    """A plain value: every subclass is a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class ReceiptResponse(Response):
    """The receipt of the first ``seq`` records, with the root ``hash`` of their Merkle tree.

    Keep ``text``, which is a signed checkpoint.
    """

    docket: str
    seq: int
    hash: str
    text: str


class ReceiptCheck(Response):
    holds: bool
    message: str


class KeyResponse(Response):
    id: str
    public: str
    created: str
    retired: str | None
    compromised: str | None


class MemberKeyResponse(Response):
    """A key of a member; ``state`` is signs, waits (for one that signs to agree) or revoked."""

    id: str
    key: str
    device: str
    since: str
    state: str


class PacketResponse(Response):
    packet: dict[str, Any]
    words: str


class CertificateResponse(Response):
    """The regret that a docket's learner can have had: signed, and in words."""

    certificate: dict[str, Any]
    words: str


class TokenResponse(Response):
    id: str
    role: str
    name: str
    docket: str | None
    created: str
    revoked: str | None


class TokenList(Response):
    """A page of tokens; ``next`` is the ``after`` of the next page, if there is one."""

    tokens: list[TokenResponse]
    next: str | None


class NewToken(Response):
    token: str
    identity: TokenResponse


class DocketSummary(Response):
    name: str
    title: str
    shadow: bool


class DocketList(Response):
    """A page of dockets by name; ``next`` is the ``after`` of the next page, if there is one."""

    dockets: list[DocketSummary]
    next: str | None


class DocketResponse(DocketSummary):
    """A docket's settings; ``notice`` says when its decisions must not be used.

    Features are as in the specification of a learner. In an ``audit_only`` docket the institution
    decides; ``learner_from`` is the record from which on a learner does, if it was given one later.
    With ``turns`` members are asked one after another, but for a ``together_share`` of the rounds;
    if ``graded``, a flag may have a limit.
    """

    notice: str | None
    features: list[dict[str, Any]]
    k: int
    alpha: float
    feedback: str
    members: list[str]
    rule: str
    quorum: int
    deadline: float | None
    seed_commitment: str
    audit_only: bool
    learner_from: int | None
    receipt: ReceiptResponse
    turns: bool = False
    together_share: float = 0.0
    graded: bool = False


class MemberMetrics(Response):
    """How a member took part, and the member's intra-rater reliability (``consistency``)."""

    member: str
    sitting: bool
    asked: int
    finished: int
    absent: int
    objections: int
    decisive: int
    repeats: int
    consistency: float | None


class MemberList(Response):
    """A page of those who sit, or sat lately, on a panel, by name; ``next`` is the next ``after``.

    Figures are of the last rounds, as in the docket's metrics.
    """

    members: list[MemberMetrics]
    next: str | None


class HoldResponse(Response):
    """A legal hold on a docket, a ``round`` or a ``person`` of it; ``why`` it was placed."""

    hold: str
    round: str | None
    person: str | None
    why: str


class DecisionResponse(Response):
    """The decision on a person; ``score`` is the chance in units of 2^-20."""

    person: str
    approved: bool
    chance: float
    score: int


class PairResponse(Response):
    """Two people; ``over`` has the higher chance."""

    over: str
    under: str


class ObjectionResponse(PairResponse):
    """A member's objection; ``reason`` is missing if none was given, or it was erased.

    ``limit`` is the largest gap that the member would accept, in a docket that asks for it.
    """

    member: str
    reason: str | None
    limit: float | None = None


class CommentResponse(Response):
    """A member's comment on a round; ``text`` is missing if it was erased."""

    member: str
    text: str | None
    at: str


class RoundState(Response):
    """A round; ``missing`` are those whose labels may still come, in a list of rounds their number.

    Only the operator and regulators see ``seats`` (unasked, asked, finished or absent),
    ``finished`` and ``objections``, and ``due`` where members are asked in turn. ``looked_at``
    tells if a panel was asked; in shadow, ``notice`` says that decisions must not be used.
    """

    id: str
    number: int
    status: str
    opened: str
    sealed: str | None
    due: str | None
    outcome: str | None
    closed: str | None


class RoundSummary(RoundState):
    people: int
    missing: int
    seats: int | None
    finished: int | None


class RoundList(Response):
    """A page of rounds; ``next`` is the ``after`` of the next page, if there is one."""

    rounds: list[RoundSummary]
    next: int | None


class RoundResponse(RoundState):
    """A round with its decisions; ``reconsidered`` has what people decided on appeals."""

    shadow: bool
    notice: str | None
    rule: str | None
    looked_at: bool
    pairs_asked: int
    decisions: list[DecisionResponse]
    reported: list[PairResponse]
    labels: dict[str, int]
    overrides: dict[str, bool]
    missing: list[str]
    seats: dict[str, str] | None
    objections: list[ObjectionResponse] | None
    receipt: ReceiptResponse
    comments: list[CommentResponse] | None = None
    reconsidered: dict[str, bool] = field(default_factory=dict)


class ReviewState(Response):
    """A review; ``status`` is asked, waiting (for other members), closed or missed."""

    id: str
    number: int
    status: str
    asked: str
    due: str | None
    ended: str | None


class ReviewSummary(ReviewState):
    people: int
    pairs: int
    objections: int


class Fact(Response):
    name: str
    title: str
    value: str


class ReviewPerson(Response):
    """A person under an alias of this review; of an ``erased`` person nothing is shown."""

    id: str
    chance: float
    features: list[Fact]
    erased: bool


class ReviewPair(PairResponse):
    """A pair that can be reported; ``differences`` says by feature how far the two differ."""

    gap: float
    flagged: bool
    differences: dict[str, str]


class ReportedPair(PairResponse):
    """A pair that the panel reported: did the auditor object to it, and was that decisive?"""

    mine: bool
    decisive: bool


class ReviewResponse(ReviewState):
    """A round as an auditor sees it; ``outcome`` and ``reported`` come when it has ended.

    If ``graded``, a flag may have a limit; if ``final``, nothing is taken back after finishing.
    ``comments`` are the member's own, and those of all members once the panel has closed.
    ``to_sign`` is for members who sign: the text ``shown``, whose hash they sign, and the
    ``flags`` that stand (two people, the reason's digest, the limit in units of 2^-20).
    """

    shadow: bool
    reason_limit: int
    people: list[ReviewPerson]
    pairs: list[ReviewPair]
    objections: list[ObjectionResponse]
    outcome: str | None
    reported: list[ReportedPair]
    receipt: ReceiptResponse
    graded: bool = False
    final: bool = False
    comments: list[CommentResponse] = field(default_factory=list)
    to_sign: dict[str, Any] | None = None


class AppealDecision(Response):
    approved: bool
    chance: float


class CorrectionResponse(Response):
    """A feature as it was known (``was``), and as the applicant says that it should be."""

    name: str
    title: str
    was: str
    should_be: str


class AppealResponse(Response):
    """An appeal; ``status`` is open, overdue, decided or withdrawn.

    ``decision`` is the first one, ``again`` what the same policy and draw make of the corrections,
    where that is known; neither binds the reviewer, whose decision is ``approved``. ``accepted``
    says that the corrections are right. Words that were erased are missing.
    """

    id: str
    seq: int
    round: str
    person: str
    status: str
    opened: str
    due: str
    reviewer: str | None
    text: str | None
    corrections: list[CorrectionResponse]
    decision: AppealDecision
    again: AppealDecision | None
    ended: str | None
    approved: bool | None
    accepted: bool
    reason: str | None
    stands: bool
    receipt: ReceiptResponse


class AppealList(Response):
    """A page of appeals; ``next`` is the ``after`` of the next page, if there is one."""

    appeals: list[AppealResponse]
    next: int | None


class NoticesResponse(Response):
    """The templates of notices, and the days within which an appeal is decided."""

    before: str
    after: str
    days: float


class NoticeResponse(Response):
    """A notice; ``source`` says whose reasons it has: those of the policy, of the reviewer of an
    appeal, of the person who overrode the policy (``overrode``), or of the institution.
    """

    occasion: str
    given: str
    text: str
    reasons: list[str]
    source: str | None
    receipt: ReceiptResponse


def read_response(kind: type[T], data: Any, field: str | None = None) -> T:
    """Parse JSON, or one field of it, into a response; fields that a newer server adds are ignored.

    Bytes are read first: a proxy may respond with a page of its own.

    >>> read_response(PairResponse, {"over": "ann", "under": "bo", "new": 1})
    PairResponse(over='ann', under='bo')
    """
    try:
        content = json.loads(data) if isinstance(data, bytes) else data
        value: T = _read(kind, content if field is None else content[field])
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        fault = f"The response is no {kind.__name__} ({error}): {str(data)[:100]}."
        remedy = "Is that the server's address, and does it run this version of Likewise?"
        raise ApiError("unreadable", 0, f"{fault} {remedy}") from error
    return value


_hints = cache(get_type_hints)


def _read(kind: Any, data: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(data, dict):
        names = data.keys() & kind.__dataclass_fields__.keys()
        return kind(**{name: _read(_hints(kind)[name], data[name]) for name in names})
    if origin is UnionType:
        return None if data is None else _read(arguments[0], data)  # written as X | None
    if origin is list and isinstance(data, list):
        return [_read(arguments[0], item) for item in data]
    if origin is dict and isinstance(data, dict):
        return {key: _read(arguments[1], value) for key, value in data.items()}
    if kind is Any or type(data) is kind:
        return data
    if kind is float and type(data) is int:
        return float(data)
    raise TypeError(f"{str(data)[:50]!r} is no {kind}")
