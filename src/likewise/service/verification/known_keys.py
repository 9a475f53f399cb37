"""Keys that a verifier knows, and what a receipt's signature is worth by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from likewise.errors import LikewiseError
from likewise.service.clock import compact, later
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.keys import InstallationKey
from likewise.service.ledger.signing.signatures import PublicKey

__all__ = ["KnownKeys", "Signature", "keys_in"]

Signature = Literal["signed", "not signed", "forged", "foreign", "compromised", "retired"]

SENTENCES: dict[Signature, str] = {
    "signed": "It is signed by the installation's key {key}.",
    "not signed": "It is not signed: it was given before receipts were signed, or by somebody "
    "else. It proves something to those who were given it, and nothing to others.",
    "forged": "Its signature is not that of the key {key}: it was forged, or changed.",
    "foreign": "It is signed by the key {key}, which is none of those that were named. Get the "
    "installation's keys from where they are published, and name them: --key.",
    "compromised": "It is signed by the key {key} after that fell into other hands.",
    "retired": "It is signed by the key {key} after another had taken its place, so the server did "
    "not give it.",
}
# After every time.
NEVER = "99991231T235959Z"
# For so many seconds a process that runs may not know yet that the key was changed.
OVERLAP = 60.0


@dataclass(frozen=True)
class KnownKeys:
    """Public keys by id, and since when some of them are not to be believed.

    A key is ``compromised`` when it has fallen into other hands, ``retired`` when another has taken
    its place; who names keys without a ledger knows neither.
    """

    keys: Mapping[str, PublicKey]
    compromised: Mapping[str, str] = field(default_factory=dict)
    retired: Mapping[str, str] = field(default_factory=dict)

    def judge(self, receipt: Receipt) -> Signature:
        """The worth of a receipt's signature."""
        if not receipt.signature:
            return "not signed"
        key = self.keys.get(receipt.key)
        if key is None:
            return "foreign"
        if not key.verifies("receipt", receipt.statement.encode(), receipt.signature):
            return "forged"
        if receipt.at >= self.compromised.get(receipt.key, NEVER):
            return "compromised"
        return "retired" if receipt.at >= self.retired.get(receipt.key, NEVER) else "signed"

    def sentence(self, receipt: Receipt) -> str:
        """The same in a sentence."""
        return SENTENCES[self.judge(receipt)].format(key=receipt.key)

    @classmethod
    def installed(cls, listed: Iterable[InstallationKey]) -> KnownKeys:
        """The keys of an installation, as it knows them itself."""
        keys = {one.public.id: one for one in listed}
        return cls(
            {name: one.public for name, one in keys.items()},
            {name: compact(one.compromised) for name, one in keys.items() if one.compromised},
            {name: compact(later(one.retired, OVERLAP)) for name, one in keys.items()
             if one.retired},
        )  # fmt: skip

    @classmethod
    def named(cls, texts: Iterable[str]) -> KnownKeys:
        """The keys that a verifier names, as they are published."""
        keys = [PublicKey(text.strip().lower()) for text in texts]
        return cls({key.id: key for key in keys})


def keys_in(records: Iterable[Record]) -> KnownKeys:
    """The installation's keys as a ledger names them.

    A ledger that was rewritten may name others than those that were published.
    """
    keys: dict[str, PublicKey] = {}
    compromised: dict[str, str] = {}
    retired: dict[str, str] = {}
    for record in records:
        if record.kind not in ("docket-opened", "key-published") or "key" not in record.body:
            continue
        try:
            key, since = PublicKey(record.body["key"]), compact(record.at)
            over = compact(later(record.at, OVERLAP))
        except (LikewiseError, ValueError, OverflowError):
            continue  # no key or no time, so nothing is signed by it; replay names the record
        keys[key.id] = key
        before = str(record.body.get("replaces"))
        retired[before] = over
        if record.body.get("compromised"):
            compromised[before] = since
    return KnownKeys(keys, compromised, retired)
