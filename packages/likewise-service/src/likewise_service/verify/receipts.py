"""Receipts: is a ledger still the one whose head somebody was given, and everybody else?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from likewise.errors import LikewiseError
from likewise_service.errors import compact, later
from likewise_service.ledger.records import GENESIS, Receipt, Record, canonical
from likewise_service.ledger.signatures import PrivateKey, PublicKey
from likewise_service.ledger.store import InstallationKey
from likewise_service.verify.evidence import Evidence, walked

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
    its place, at a time and at a record; who names keys without a ledger knows neither.
    """

    keys: Mapping[str, PublicKey]
    compromised: Mapping[str, str] = field(default_factory=dict)
    retired: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def judge(self, receipt: Receipt) -> Signature:
        if not receipt.signature:
            return "not signed"
        key = self.keys.get(receipt.key)
        if key is None:
            return "foreign"
        if not key.verifies("receipt", receipt.statement.encode(), receipt.signature):
            return "forged"
        if receipt.at >= self.compromised.get(receipt.key, NEVER):
            return "compromised"
        at, seq = self.retired.get(receipt.key, (NEVER, 0))
        return "retired" if receipt.at >= at and receipt.head.seq >= seq else "signed"

    def sentence(self, receipt: Receipt) -> str:
        return SENTENCES[self.judge(receipt)].format(key=receipt.key)

    @classmethod
    def installed(cls, listed: Iterable[InstallationKey]) -> KnownKeys:
        """Return the keys of an installation, as it knows them itself."""
        keys = {key.public.id: key for key in listed}
        return cls(
            {name: key.public for name, key in keys.items()},
            {name: compact(key.compromised) for name, key in keys.items() if key.compromised},
            {name: (compact(later(key.retired, OVERLAP)), 0) for name, key in keys.items()
             if key.retired},
        )  # fmt: skip

    @classmethod
    def named(cls, texts: Iterable[str]) -> KnownKeys:
        """Return the keys that a verifier names, as they are published."""
        keys = [PublicKey(text.strip().lower()) for text in texts]
        return cls({key.id: key for key in keys})


def keys_in(records: Iterable[Record]) -> KnownKeys:
    """Return the installation's keys as a ledger names them.

    A receipt is signed by the key that the ledger names by then, whatever the clocks say. A ledger
    that was rewritten may name others than those that were published.
    """
    keys: dict[str, PublicKey] = {}
    compromised: dict[str, str] = {}
    retired: dict[str, tuple[str, int]] = {}
    for record in records:
        if record.kind not in ("docket-opened", "key-published"):
            continue
        try:
            key, since = PublicKey(record.body["key"]), compact(record.at)
        except (LikewiseError, KeyError, ValueError, OverflowError):
            continue  # no key or no time, so nothing is signed by it; replay names the record
        keys[key.id] = key
        before = str(record.body.get("replaces"))
        retired[before] = ("", record.seq)
        if record.body.get("compromised"):
            compromised[before] = since
    return KnownKeys(keys, compromised, retired)


def sign_document(purpose: str, content: Mapping[str, Any], key: PrivateKey) -> dict[str, Any]:
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


Finding = Literal["found", "rewritten", "too short", "another docket", "broken"]


@dataclass(frozen=True)
class Verified:
    """The verdict of a receipt on a ledger, in a word and in a sentence.

    ``signature`` says what the receipt itself is worth: one that is forged or of a foreign key
    proves nothing about anybody.
    """

    receipt: Receipt
    finding: Finding
    sentence: str
    signature: Signature = "not signed"

    @property
    def holds(self) -> bool:
        """Tell if the ledger up to the receipt is the one that it was given for."""
        return self.finding == "found"

    @property
    def counts(self) -> bool:
        return self.signature in ("signed", "not signed")


def verify_all(
    evidence: Evidence, receipts: Sequence[Receipt], keys: KnownKeys | None = None
) -> list[Verified]:
    """Check a ledger against any number of receipts, of any number of people.

    Signatures are judged by the keys that are named or, if none are, by those of the ledger.
    """
    keys = keys_in(evidence.records) if keys is None else keys
    last = max((receipt.head.seq for receipt in receipts), default=0)
    hashes, fault = [GENESIS], ""
    for record, difference in walked(evidence):
        if record.seq > last:
            break
        if difference is not None:
            fault = str(difference)
            break
        hashes.append(record.hash)
    return [
        Verified(receipt, *_finding(evidence, receipt, hashes, fault), keys.judge(receipt))
        for receipt in receipts
    ]


def _finding(
    evidence: Evidence, receipt: Receipt, hashes: Sequence[str], fault: str
) -> tuple[Finding, str]:
    """Return the verdict; ``hashes`` are those of the records up to the first fault, by number."""
    seq, docket = receipt.head.seq, evidence.docket
    if receipt.docket != docket:
        return (
            "another docket",
            f"The receipt is one of the docket {receipt.docket!r}; this is {docket!r}.",
        )
    if seq >= len(hashes) and fault:
        return "broken", f"The ledger was changed before the receipt's record {seq:,}. {fault}"
    if unreadable := [number for number in evidence.unreadable if number <= seq]:
        return "broken", f"Record {unreadable[0]:,} cannot be read; the ledger was changed."
    if seq >= len(hashes):
        return (
            "too short",
            f"The receipt is for {seq:,} records, but there are only {len(hashes) - 1:,}: records "
            f"have been removed, or this is an older copy.",
        )
    if hashes[seq] != receipt.head.hash:
        return (
            "rewritten",
            f"The ledger was rewritten: its record {seq:,} has the hash {hashes[seq][:16]}…, and "
            f"the receipt {receipt.head.hash[:16]}…. At least one record up to {seq:,} is not what "
            f"it was when the receipt was given.",
        )
    return (
        "found",
        f"The {seq:,} records up to the receipt are those that were there when it was given.",
    )


def contradictions(receipts: Sequence[Receipt]) -> list[tuple[Receipt, Receipt]]:
    """Return pairs of receipts of one number and two hashes: of two ledgers, for two people."""
    return [
        (first, second)
        for first, second in combinations(receipts, 2)
        if (first.docket, first.head.seq) == (second.docket, second.head.seq)
        and first.head.hash != second.head.hash
    ]


ACKNOWLEDGEMENT = "likewise-acknowledgement/1"


def acknowledge(
    member: str, reviews: Sequence[Mapping[str, Any]], receipt: Receipt, key: PrivateKey
) -> dict[str, Any]:
    content = {
        "format": ACKNOWLEDGEMENT, "docket": receipt.docket, "member": member,
        "reviews": [dict(review) for review in reviews], "receipt": str(receipt),
    }  # fmt: skip
    return sign_document("acknowledgement", content, key)


def check_acknowledgement(text: str, keys: KnownKeys | None = None) -> tuple[Receipt, str]:
    """Return the receipt of an acknowledgement, and its fault if it has one."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != ACKNOWLEDGEMENT:
            raise LikewiseError(f"it does not say that it is {ACKNOWLEDGEMENT}.")
        receipt = Receipt.parse(str(document.get("receipt")))
        return receipt, document_fault("acknowledgement", document, keys)
    except (ValueError, RecursionError, LikewiseError) as error:
        raise LikewiseError(f"This is not an acknowledgement: {error}") from error
