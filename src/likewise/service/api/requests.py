"""Requests: exactly this, of these kinds, within these bounds."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from fastapi import Header, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from likewise.service.api.dependencies import DOCKET_NAME
from likewise.service.dockets.spec import DocketSpec

__all__ = [
    "ActBody",
    "ClosedBody",
    "DocketBody",
    "ErasureBody",
    "GuidelinesBody",
    "HoldBody",
    "HoldId",
    "IdempotencyKey",
    "LabelsBody",
    "LearnerBody",
    "MemberBody",
    "MemberKeyBody",
    "MemberName",
    "ObjectionBody",
    "OverrideBody",
    "PacketBody",
    "PeopleBody",
    "ReceiptBody",
    "RetentionBody",
    "RevealBody",
    "ReviewId",
    "RoundBody",
    "RoundId",
    "RuleBody",
    "SignatureBody",
    "TokenBody",
    "TokenId",
    "WithdrawalBody",
]

# Text without control characters, which neither logs nor PostgreSQL can hold.
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]+$"
ROUND_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
KEY = r"^[\x21-\x7e]+$"
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"
SIGNATURE = r"^[A-Za-z0-9_-]{86}$"
# Integers beyond this are no exact numbers in JSON.
LARGEST = 2**53


def _one_way(text: str) -> str:
    """Refuse names that look like others: by invisible characters, or letters in parts."""
    if unicodedata.normalize("NFC", text) != text or text != text.strip():
        raise ValueError("must be in normal form (NFC), without spaces at its ends")
    if any(unicodedata.category(char) in INVISIBLE for char in text):
        raise ValueError("must not hold invisible characters")
    return text


# Format and control characters, private ones, and other separators than the space.
INVISIBLE = ("Cf", "Cc", "Co", "Cs", "Cn", "Zl", "Zp")
Seen = AfterValidator(_one_way)
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTABLE), Seen]
PersonId = Annotated[str, Field(min_length=1, max_length=128, pattern=PRINTABLE), Seen]
RoundName = Annotated[str, Field(min_length=1, max_length=64, pattern=ROUND_ID)]
Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Real = Annotated[float, Field(allow_inf_nan=False)]
FeatureValue = bool | Integer | Real | Annotated[str, Field(max_length=200)] | None

RoundId = Annotated[str, Path(min_length=1, max_length=64, pattern=ROUND_ID)]
MemberName = Annotated[str, Path(min_length=1, max_length=200, pattern=PRINTABLE)]
HoldId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="From placing it.")]
TokenId = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[a-z0-9-]+$")]
ReviewId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="From the list of reviews.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=200, pattern=KEY,
        description="The same key with the same request gets the same response.",
    ),
]  # fmt: skip


class Body(BaseModel):
    """A request: nothing is converted, nothing unknown is let in."""

    model_config = ConfigDict(strict=True, extra="forbid")


class DocketBody(Body):
    """A new docket. What is left out of the learner has its default."""

    name: Annotated[str, Field(pattern=DOCKET_NAME, max_length=64)]
    title: Text
    learner: Annotated[dict[str, Any], Field(description="hypotheses, k, alpha, eps, …")]
    members: Annotated[list[Text], Field(max_length=100)]
    rule: Annotated[str, Field(min_length=1, max_length=2000)] = DocketSpec.rule
    quorum: Annotated[int, Field(ge=1, le=100)] = DocketSpec.quorum
    deadline: Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)] | None = (
        DocketSpec.deadline
    )
    shadow: bool = DocketSpec.shadow
    repeat_share: Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)] = (
        DocketSpec.repeat_share
    )
    audit_only: Annotated[
        bool, Field(description="You decide, and scores come with people; learner needs schema.")
    ] = DocketSpec.audit_only
    repeat_window: Annotated[int, Field(ge=1, le=10**6)] | None = DocketSpec.repeat_window


class PersonBody(Body):
    """Somebody to decide on. The id stays in the ledger: do not use a name."""

    id: PersonId
    features: Annotated[dict[str, FeatureValue], Field(max_length=1000)]
    score: (
        Annotated[
            float,
            Field(ge=0, le=1, allow_inf_nan=False, description="Where you decide: your chance."),
        ]
        | None
    ) = None
    approved: Annotated[bool, Field(description="Where you decide: your decision.")] | None = None


class PeopleBody(Body):
    """Some people."""

    people: Annotated[list[PersonBody], Field(min_length=1, max_length=10_000)]


class RoundBody(PeopleBody):
    """A new round. Unless it is sealed, more people may join it."""

    round: RoundName | None = None
    seal: bool = True


class LabelBody(Body):
    """How it turned out for somebody."""

    round: RoundName
    person: PersonId
    label: Annotated[int, Field(ge=0, le=1)]


class LabelsBody(Body):
    """Some labels; all of them are recorded, or none."""

    labels: Annotated[list[LabelBody], Field(min_length=1, max_length=10_000)]


class OverrideBody(Body):
    """Somebody decided otherwise, and may say why."""

    person: PersonId
    approved: bool
    reason: Annotated[str, Field(min_length=1)] | None = None


class ClosedBody(Body):
    """The end of a round; ``unaudited`` ends an audit that is under way."""

    unaudited: bool = False


class SignatureBody(Body):
    """A member's own signature: by which key, when, and the salt of the reason's digest."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    at: Annotated[str, Field(pattern=MOMENT)]
    signature: Annotated[str, Field(pattern=SIGNATURE)]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] = "0" * 32


class ActBody(Body):
    """An act of a member, signed by them or not."""

    signature: SignatureBody | None = None


class MemberKeyBody(Body):
    """A key that you sign with from now on: its own signature, and that of the key before it."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    proof: Annotated[str, Field(pattern=SIGNATURE)]
    consent: Annotated[str, Field(pattern=SIGNATURE)] | None = None


class WithdrawalBody(ActBody):
    """A pair of people, by their names in the review."""

    pair: Annotated[list[Annotated[str, Field(max_length=16)]], Field(min_length=2, max_length=2)]


class ObjectionBody(WithdrawalBody):
    """An objection: two people are similar, yet treated differently."""

    reason: Annotated[str, Field(min_length=1)] | None = None


class LearnerBody(Body):
    """A learner for an audit-only docket; rounds that are open have to be closed first."""

    learner: Annotated[dict[str, Any], Field(description="hypotheses, k, alpha, eps, …")]


class GuidelinesBody(Body):
    """Words for the panel's members about what to look for."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]


class MemberBody(Body):
    """Somebody who joins the panel."""

    member: Text


class RuleBody(Body):
    """A rule for rounds that are sealed from now on."""

    rule: Annotated[str, Field(min_length=1, max_length=2000)]


class ErasureBody(Body):
    """Somebody whose features and reasons are to be removed."""

    round: RoundName
    person: PersonId


class RetentionBody(Body):
    """Days after the end of a round for which features and reasons are kept; null: always."""

    features: Annotated[float, Field(gt=0, le=36_525, allow_inf_nan=False)] | None
    reasons: Annotated[float, Field(gt=0, le=36_525, allow_inf_nan=False)] | None


class HoldBody(Body):
    """A hold on everything, on a round, or on somebody in it; ``why`` stays in the ledger."""

    why: Text
    round: RoundName | None = None
    person: PersonId | None = None


class PacketBody(Body):
    """Somebody who is to be given the file of a decision."""

    round: RoundName
    person: PersonId


class RevealBody(Body):
    """The docket's name once more, since this cannot be undone."""

    docket: Annotated[str, Field(max_length=64)]


class ReceiptBody(Body):
    """A receipt as it was printed."""

    receipt: Annotated[str, Field(min_length=1, max_length=400)]


class TokenBody(Body):
    """A new token; an auditor's name is that of a member of the panel."""

    role: Literal["operator", "client", "auditor", "regulator"]
    name: Text
    docket: Annotated[str, Field(pattern=DOCKET_NAME, max_length=64)] | None = None
