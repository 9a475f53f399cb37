"""Acknowledgements: what the installation says that a member has said, signed for the member.

A member knows people by the names of a review; whoever has the docket's secret can tell later whom
they meant. The receipt in it proves all that was recorded by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from likewise.errors import LikewiseError
from likewise.service.ledger.canonical_json import canonical
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey
from likewise.service.verification.known_keys import KnownKeys

__all__ = ["acknowledge", "check_acknowledgement"]

FORMAT = "likewise-acknowledgement/1"


def acknowledge(
    member: str, reviews: Sequence[Mapping[str, Any]], receipt: Receipt, key: PrivateKey
) -> dict[str, Any]:
    """All that a member has said of some reviews, as the installation acknowledges it."""
    content = {
        "format": FORMAT, "docket": receipt.docket, "member": member,
        "reviews": [dict(review) for review in reviews], "receipt": str(receipt),
        "key": key.public.text,
    }  # fmt: skip
    return {**content, "signature": key.sign("acknowledgement", canonical(content))}


def check_acknowledgement(text: str, keys: KnownKeys | None = None) -> tuple[Receipt, list[str]]:
    """The receipt of an acknowledgement, and its faults."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise LikewiseError(f"it does not say that it is {FORMAT}.")
        signed = {name: value for name, value in data.items() if name != "signature"}
        key, receipt = PublicKey(str(data.get("key"))), Receipt.parse(str(data.get("receipt")))
        content = canonical(signed)
    except (ValueError, RecursionError, LikewiseError) as error:
        raise LikewiseError(f"This is not an acknowledgement: {error}") from error
    if keys is not None and key.id not in keys.keys:
        return receipt, [f"It is signed by a foreign key, {key.id}."]
    if not key.verifies("acknowledgement", content, str(data.get("signature"))):
        return receipt, ["It was changed: its signature does not fit."]
    return receipt, []
