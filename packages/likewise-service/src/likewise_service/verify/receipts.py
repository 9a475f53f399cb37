"""Receipts: is a ledger still the one whose checkpoint somebody was given, and everybody else?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from likewise.errors import LikewiseError
from likewise_service.ledger.notes import Checkpoint, Verifier
from likewise_service.ledger.records import Record, canonical
from likewise_service.ledger.signatures import PrivateKey, PublicKey
from likewise_service.verify.evidence import Difference, Evidence, walked

Signature = Literal["signed", "forged", "foreign", "compromised", "retired"]

SENTENCES: dict[Signature, str] = {
    "signed": "It is signed by the installation's key {key}.",
    "forged": "Its signature is not that of the key {key}: it was forged, or changed.",
    "foreign": "It is signed by none of the keys that were named. Get the installation's keys from "
    "where they are published, and name them: --key.",
    "compromised": "It is signed by the key {key} after that fell into other hands.",
    "retired": "It is signed by the key {key} after another had taken its place, so the server did "
    "not give it.",
}


@dataclass(frozen=True)
class KnownKeys:
    """Public keys by id, and the records from which some of them are not believed any more.

    A key is ``compromised`` when it has fallen into other hands, ``retired`` when another has taken
    its place; without a ledger neither is known.
    """

    keys: Mapping[str, PublicKey]
    compromised: Mapping[str, int] = field(default_factory=dict)
    retired: Mapping[str, int] = field(default_factory=dict)

    def judge(self, receipt: Checkpoint) -> Signature:
        return self._judged(receipt)[0]

    def sentence(self, receipt: Checkpoint) -> str:
        judgement, key = self._judged(receipt)
        return SENTENCES[judgement].format(key=key)

    def _judged(self, receipt: Checkpoint) -> tuple[Signature, str]:
        """Return what the log's own signature is worth, and the id of the key."""
        for name, key in self.keys.items():
            try:
                if not receipt.signed_by(Verifier(receipt.origin, key)):
                    continue
            except LikewiseError:
                return "forged", name
            if 0 < self.compromised.get(name, 0) <= receipt.size:
                return "compromised", name
            if 0 < self.retired.get(name, 0) <= receipt.size:
                return "retired", name
            return "signed", name
        return "foreign", ""

    @classmethod
    def named(cls, texts: Iterable[str]) -> KnownKeys:
        keys = [PublicKey(text.strip().lower()) for text in texts]
        return cls({key.id: key for key in keys})


def keys_in(records: Iterable[Record]) -> KnownKeys:
    """Return the installation's keys as a ledger names them.

    A ledger that was rewritten may name others than those that were published.
    """
    keys, compromised, retired = dict[str, PublicKey](), dict[str, int](), dict[str, int]()
    for record in records:
        if record.kind not in ("docket-opened", "key-published"):
            continue
        try:
            key = PublicKey(record.body["key"])
        except (LikewiseError, KeyError):
            continue  # it signs nothing, as it is no key; replay names the record
        keys[key.id] = key
        ended = compromised if record.body.get("compromised") else retired
        ended[str(record.body.get("replaces"))] = record.seq
    return KnownKeys(keys, compromised, retired)


def sign_document(purpose: str, content: Mapping[str, Any], key: PrivateKey) -> dict[str, Any]:
    document = {**content, "key": key.public.text}
    return {**document, "signature": key.sign(purpose, canonical(document))}


def document_fault(purpose: str, document: Mapping[str, Any], keys: KnownKeys | None) -> str:
    """Return why a signed document is not as it was given, or nothing if it is.

    Without ``keys`` from the verifier, the document's own key is used. That shows only that nothing
    was changed since; compare that key with the published one.
    """
    signed = {name: value for name, value in document.items() if name != "signature"}
    key = PublicKey(str(document.get("key")))
    if keys is not None and key.id not in keys.keys:
        return f"It is signed by a foreign key, {key.id}. Compare it with the published ones."
    if not key.verifies(purpose, canonical(signed), str(document.get("signature"))):
        return "It was changed: its signature does not fit."
    return ""


@cache
def document_template(name: str) -> Template:
    return Environment(
        loader=PackageLoader("likewise_service", "verify"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    ).get_template(name)  # fmt: skip


Finding = Literal["found", "rewritten", "too short", "another docket", "broken"]


@dataclass(frozen=True)
class Verified:
    """The verdict of a receipt on a ledger, in a word and in a sentence.

    ``signature`` says what the receipt is worth: one that is forged or of a foreign key proves
    nothing.
    """

    receipt: Checkpoint
    finding: Finding
    sentence: str
    signature: Signature = "foreign"

    @property
    def holds(self) -> bool:
        return self.finding == "found"

    @property
    def counts(self) -> bool:
        return self.signature == "signed"


def verify_all(
    evidence: Evidence, receipts: Sequence[Checkpoint], keys: KnownKeys | None = None
) -> list[Verified]:
    """Check a ledger against receipts, which are judged by the ``keys``, or else the ledger's."""
    keys = keys_in(evidence.records) if keys is None else keys
    last = max((receipt.size for receipt in receipts), default=0)
    faults = (difference for record, difference in walked(evidence) if record.seq <= last)
    fault = next(filter(None, faults), None)
    return [
        Verified(receipt, *_finding(evidence, receipt, fault), keys.judge(receipt))
        for receipt in receipts
    ]


def _finding(
    evidence: Evidence, receipt: Checkpoint, fault: Difference | None
) -> tuple[Finding, str]:
    """Return the verdict; ``fault`` is the first one in the ledger's records."""
    size = receipt.size
    if receipt.docket != evidence.docket:
        sentence = f"The receipt is one of the docket {receipt.docket!r}; this is"
        return "another docket", f"{sentence} {evidence.docket!r}."
    if unreadable := [number for number in evidence.unreadable if number <= size]:
        return "broken", f"Record {unreadable[0]:,} cannot be read; the ledger was changed."
    if fault is not None and fault.seq <= size:
        return "broken", f"The ledger was changed before the receipt's record {size:,}. {fault}"
    if size > evidence.log.size:
        return (
            "too short",
            f"The receipt is for {size:,} records, but there are only {evidence.log.size:,}: "
            f"records have been removed, or this is an older copy.",
        )
    if evidence.log.tree(size).root != receipt.root:
        return (
            "rewritten",
            f"The ledger was rewritten: at least one record up to {size:,} is not what it was when "
            f"the receipt was given.",
        )
    same = f"The {size:,} records up to the receipt are those that were there when it was given."
    return "found", same


def contradictions(receipts: Sequence[Checkpoint]) -> list[tuple[Checkpoint, Checkpoint]]:
    """Return pairs of receipts with one size and two roots: two people were shown two ledgers."""
    return [
        (first, second)
        for first, second in combinations(receipts, 2)
        if (first.origin, first.size) == (second.origin, second.size) and first.root != second.root
    ]


ACKNOWLEDGEMENT = "likewise-acknowledgement/1"


def acknowledge(
    member: str, reviews: Sequence[Mapping[str, Any]], receipt: Checkpoint, key: PrivateKey
) -> dict[str, Any]:
    content = {
        "format": ACKNOWLEDGEMENT, "docket": receipt.docket, "member": member,
        "reviews": [dict(review) for review in reviews], "receipt": str(receipt),
    }  # fmt: skip
    return sign_document("acknowledgement", content, key)
