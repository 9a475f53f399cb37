"""Fields that several requests share: their types and bounds."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from fastapi import Header, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# Text without control characters, which neither logs nor PostgreSQL can hold.
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]+$"
ROUND_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SIGNATURE = r"^[A-Za-z0-9_-]{86}$"
DOCKET_NAME = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
# JSON has no exact integers beyond this.
LARGEST = 2**53
# Categories of format and control characters, private ones, and separators other than the space.
INVISIBLE = ("Cf", "Cc", "Co", "Cs", "Cn", "Zl", "Zp")


def _unambiguous(text: str) -> str:
    """Refuse a name that looks like another one: by invisible characters, or split letters."""
    if unicodedata.normalize("NFC", text) != text or text != text.strip():
        raise ValueError("must be in normal form (NFC), without spaces at its ends")
    if any(unicodedata.category(char) in INVISIBLE for char in text):
        raise ValueError("must not hold invisible characters")
    return text


Unambiguous = AfterValidator(_unambiguous)
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTABLE), Unambiguous]
PersonId = Annotated[str, Field(min_length=1, max_length=128, pattern=PRINTABLE), Unambiguous]
RoundName = Annotated[str, Field(min_length=1, max_length=64, pattern=ROUND_ID)]
DocketId = Annotated[str, Field(pattern=DOCKET_NAME, max_length=64)]
Rule = Annotated[str, Field(min_length=1, max_length=2000)]
Reason = Annotated[str, Field(min_length=1)]
LearnerSpec = Annotated[dict[str, Any], Field(description="hypotheses, k, alpha, eps, …")]

DocketName = Annotated[str, Path(pattern=DOCKET_NAME, max_length=64, description="The docket.")]
RoundId = Annotated[str, Path(min_length=1, max_length=64, pattern=ROUND_ID)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$",
        description="The same key with the same request gets the same response.",
    ),
]  # fmt: skip


class Body(BaseModel):
    """A request: nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class PersonBody(Body):
    """A person of a round, to be erased or to be given the file of a decision."""

    round: RoundName
    person: PersonId
