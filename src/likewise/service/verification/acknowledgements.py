"""Acknowledgements: the installation signs, for a member, what the member has said.

A member knows people by the names of a review; whoever has the docket's secret can tell later whom
they meant. The receipt in it proves all that was recorded by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.signing.signatures import PrivateKey
from likewise.service.verification.known_keys import KnownKeys, document_fault, sign_document

FORMAT = "likewise-acknowledgement/1"


def acknowledge(
    member: str, reviews: Sequence[Mapping[str, Any]], receipt: Receipt, key: PrivateKey
) -> dict[str, Any]:
    """Acknowledge all that a member has said of some reviews."""
    content = {
        "format": FORMAT, "docket": receipt.docket, "member": member,
        "reviews": [dict(review) for review in reviews], "receipt": str(receipt),
    }  # fmt: skip
    return sign_document("acknowledgement", content, key)


def check_acknowledgement(text: str, keys: KnownKeys | None = None) -> tuple[Receipt, str]:
    """Return the receipt of an acknowledgement, and its fault if it has one."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise LikewiseError(f"it does not say that it is {FORMAT}.")
        receipt = Receipt.parse(str(document.get("receipt")))
        return receipt, document_fault("acknowledgement", document, keys)
    except (ValueError, RecursionError, LikewiseError) as error:
        raise LikewiseError(f"This is not an acknowledgement: {error}") from error
