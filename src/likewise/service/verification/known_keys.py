"""Keys that a verifier knows, and what a receipt's signature is worth by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from likewise.errors import LikewiseError
from likewise.service.clock import compact
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.signatures import PublicKey

__all__ = ["KnownKeys", "Signature", "keys_in"]

Signature = Literal["signed", "not signed", "forged", "foreign", "compromised"]

SENTENCES: dict[Signature, str] = {
    "signed": "It is signed by the installation's key {key}.",
    "not signed": "It is not signed: it was given before receipts were signed, or by somebody "
    "else. It proves something to those who were given it, and nothing to others.",
    "forged": "Its signature is not that of the key {key}: it was forged, or changed.",
    "foreign": "It is signed by the key {key}, which is none of those that were named. Get the "
    "installation's keys from where they are published, and name them: --key.",
    "compromised": "It is signed by the key {key} after that fell into other hands.",
}


@dataclass(frozen=True)
class KnownKeys:
    """Public keys by id, and since when some of them are not to be believed."""

    keys: Mapping[str, PublicKey]
    compromised: Mapping[str, str]

    def judge(self, receipt: Receipt) -> Signature:
        """The worth of a receipt's signature."""
        if not receipt.signature:
            return "not signed"
        key = self.keys.get(receipt.key)
        if key is None:
            return "foreign"
        if not key.verifies("receipt", receipt.statement.encode(), receipt.signature):
            return "forged"
        since = self.compromised.get(receipt.key)
        return "compromised" if since is not None and receipt.at >= since else "signed"

    def sentence(self, receipt: Receipt) -> str:
        """The same in a sentence."""
        return SENTENCES[self.judge(receipt)].format(key=receipt.key)

    @classmethod
    def named(cls, texts: Iterable[str]) -> KnownKeys:
        """The keys that a verifier names, as they are published."""
        keys = [PublicKey(text.strip().lower()) for text in texts]
        return cls({key.id: key for key in keys}, {})


def keys_in(records: Iterable[Record]) -> KnownKeys:
    """The installation's keys as a ledger names them.

    A ledger that was rewritten may name others than those that were published.
    """
    keys: dict[str, PublicKey] = {}
    compromised: dict[str, str] = {}
    for record in records:
        if record.kind not in ("docket-opened", "key-published") or "key" not in record.body:
            continue
        try:
            key = PublicKey(record.body["key"])
        except LikewiseError:
            continue  # no key, so nothing can be signed by it; replay names the record
        keys[key.id] = key
        if record.body.get("compromised"):
            compromised[str(record.body.get("replaces"))] = compact(record.at)
    return KnownKeys(keys, compromised)
