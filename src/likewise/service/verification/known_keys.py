"""Keys that a verifier knows, and what signatures are worth by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from likewise.errors import LikewiseError
from likewise.service.clock import compact, later
from likewise.service.ledger.canonical_json import canonical
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.keys import InstallationKey
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey

Signature = Literal["signed", "not signed", "forged", "foreign", "compromised", "retired"]

SENTENCES: dict[Signature, str] = {
    "signed": "It is signed by the installation's key {key}.",
    "not signed": "It is not signed: it proves something to those who were given it, and nothing "
    "to others.",
    "forged": "Its signature is not that of the key {key}: it was forged, or changed.",
    "foreign": "It is signed by the key {key}, which is none of those that were named. Get the "
    "installation's keys from where they are published, and name them: --key.",
    "compromised": "It is signed by the key {key} after that fell into other hands.",
    "retired": "It is signed by the key {key} after another had taken its place, so the server did "
    "not give it.",
}
# After every time.
NEVER = "99991231T235959Z"
# Seconds for which a running process may not know yet that the key was changed.
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
        """Return the worth of a receipt's signature."""
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
        """Return the same as a sentence."""
        return SENTENCES[self.judge(receipt)].format(key=receipt.key)

    @classmethod
    def installed(cls, listed: Iterable[InstallationKey]) -> KnownKeys:
        """Return the keys of an installation, as it knows them itself."""
        keys = {key.public.id: key for key in listed}
        return cls(
            {name: key.public for name, key in keys.items()},
            {name: compact(key.compromised) for name, key in keys.items() if key.compromised},
            {name: compact(later(key.retired, OVERLAP)) for name, key in keys.items()
             if key.retired},
        )  # fmt: skip

    @classmethod
    def named(cls, texts: Iterable[str]) -> KnownKeys:
        """Return the keys that a verifier names, as they are published."""
        keys = [PublicKey(text.strip().lower()) for text in texts]
        return cls({key.id: key for key in keys})


def keys_in(records: Iterable[Record]) -> KnownKeys:
    """Return the installation's keys as a ledger names them.

    A ledger that was rewritten may name others than those that were published.
    """
    keys: dict[str, PublicKey] = {}
    compromised: dict[str, str] = {}
    retired: dict[str, str] = {}
    for record in records:
        if record.kind not in ("docket-opened", "key-published"):
            continue
        try:
            key, since = PublicKey(record.body["key"]), compact(record.at)
            until = compact(later(record.at, OVERLAP))
        except (LikewiseError, KeyError, ValueError, OverflowError):
            continue  # no key or no time, so nothing is signed by it; replay names the record
        keys[key.id] = key
        before = str(record.body.get("replaces"))
        retired[before] = until
        if record.body.get("compromised"):
            compromised[before] = since
    return KnownKeys(keys, compromised, retired)


def sign_document(purpose: str, content: Mapping[str, Any], key: PrivateKey) -> dict[str, Any]:
    """Return a JSON document with the installation's key and its signature."""
    document = {**content, "key": key.public.text}
    return {**document, "signature": key.sign(purpose, canonical(document))}


def document_fault(purpose: str, document: Mapping[str, Any], keys: KnownKeys | None) -> str:
    """Return why a signed document is not as it was given; nothing if it is.

    Without keys that the verifier names, the document's own key is taken: that shows that nothing
    was changed since, and the key has to be compared with the one that is published.
    """
    signed = {name: value for name, value in document.items() if name != "signature"}
    key = PublicKey(str(document.get("key")))
    if keys is not None and key.id not in keys.keys:
        return f"It is signed by a foreign key, {key.id}. Compare it with the published ones."
    if not key.verifies(purpose, canonical(signed), str(document.get("signature"))):
        return "It was changed: its signature does not fit."
    return ""
