"""The packet of a decision: everything that led to it, for one person, without other people's data.

The other side of every pair is called person A, B, …; of records there are number, kind, time and
hash, by which whoever has the ledger finds them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from likewise.errors import LikewiseError
from likewise.fixed_point import from_units
from likewise.service.clock import compact
from likewise.service.ledger import bodies
from likewise.service.ledger.canonical_json import canonical
from likewise.service.ledger.payloads import Payload, features_of
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.signatures import PrivateKey, PublicKey
from likewise.service.verification.evidence import Evidence
from likewise.service.verification.known_keys import KnownKeys
from likewise.service.verification.packets.history import DecisionHistory, history_of
from likewise.service.verification.packets.reasons import letter, reasons_of

__all__ = ["check_packet", "packet_content", "read_packet", "signed_packet"]

FORMAT = "likewise-packet/1"
ROLE = (
    "A learned policy gave a chance of approval, and a draw with that chance decided. A panel of "
    "people may object to pairs of people whom they find similar and who were treated differently; "
    "the policy learns from that, and from how earlier decisions turned out. Whoever runs the "
    "docket may decide otherwise, which is recorded with its reason."
)
ELSEWHERE = (
    "The institution decided, by means of its own, and gave the chance of approval. A panel of "
    "people may object to pairs of people whom they find similar and who were treated differently; "
    "what it says is recorded. Nothing here took part in the decision."
)
IN_SHADOW = "The docket ran in shadow: its decisions were not used, and somebody else decided."


def packet_content(evidence: Evidence, round_id: str, person: str) -> dict[str, Any]:
    """The content of a packet, as it follows from the ledger."""
    found = history_of(evidence, round_id, person)
    settings, decision = found.projection.settings, found.round.decisions[person]
    reasons = []
    if found.state is not None and found.payload is not None and not found.elsewhere:
        reasons = reasons_of(found.state, round_id, features_of(found.payload.content))
    override = found.round.overrides.get(person)
    return {
        "format": FORMAT, "docket": evidence.docket, "title": settings.title,
        "round": round_id, "person": person, "until": evidence.records[-1].seq,
        "role": ELSEWHERE if found.elsewhere else ROLE,
        "notice": IN_SHADOW if settings.shadow else None,
        "features": _features(found),
        "payload": _proof(found.payload, found.round.people[person]),
        "erased": found.round.erased.get(person),
        "decision": {
            "at": found.decided.at, "approved": decision.approved,
            "chance": from_units(decision.score), "score": decision.score,
            "overridden": override, "override_reason": _override_reason(evidence, found),
            "stands": decision.approved if override is None else override,
        },
        "chance_from": None if found.elsewhere else _origin(found),
        "reasons": [asdict(reason) | {"words": reason.words} for reason in reasons],
        "letter": letter(reasons),
        "panel": {
            "drawn": found.round.drawn, "rule": found.round.rule, "seats": dict(found.round.seats),
            "due": found.round.due,
        },
        "objections": _objections(evidence, found),
        "outcome": found.round.outcome, "reported": _reported(found),
        "label": found.round.labels.get(person),
        "records": [
            {"seq": r.seq, "kind": r.kind, "at": r.at, "hash": r.hash, "actor": r.actor}
            for r in found.records
        ],
    }  # fmt: skip


def _origin(found: DecisionHistory) -> dict[str, Any]:
    """The policy that gave the chance, and what it had learned from by then."""
    learner = found.projection.settings.make_learner(0)
    return {
        "class": learner.hypotheses.spec().get("kind", type(learner.hypotheses).__name__),
        "player": type(learner.primal).__name__, "alpha": learner.alpha, "k": learner.k,
        "rounds_before": found.before.get("rounds", 1) - 1,
        "reports_before": found.before.get("report", 0),
        "labels_before": found.before.get("labels", 0),
    }  # fmt: skip


def _features(found: DecisionHistory) -> list[dict[str, Any]]:
    if found.payload is None:
        return []
    schema = found.projection.settings.make_learner(0).hypotheses.schema
    values = features_of(found.payload.content)
    return [
        {"name": name, "title": schema[name].title, "value": schema[name].say(value),
         "shown_to_panel": schema[name].visible}
        for name, value in zip(schema.names, values, strict=True)
    ]  # fmt: skip


def _proof(payload: Payload | None, digest: str | None) -> dict[str, Any] | None:
    """The proof that these features are those that were recorded: SHA-256(salt ‖ content)."""
    if payload is None:
        return None
    return {"digest": digest, "salt": payload.salt.hex(), "content": dict(payload.content)}


def _words(evidence: Evidence, digest: str | None) -> str | None:
    payload = (evidence.payloads or {}).get(digest or "")
    return None if payload is None else str(payload.content.get("text"))


def _override_reason(evidence: Evidence, found: DecisionHistory) -> str | None:
    return _words(evidence, found.round.explanations.get(found.person))


def _others(found: DecisionHistory) -> dict[str, str]:
    """Names for everybody else that say nothing."""
    others = [name for name in found.round.decisions if name != found.person]
    return {name: f"person {_letters(place)}" for place, name in enumerate(others)}


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _objections(evidence: Evidence, found: DecisionHistory) -> list[dict[str, Any]]:
    others, said = _others(found), list[dict[str, Any]]()
    for record in found.records:
        body = bodies.read_body(record)
        if not isinstance(body, bodies.Withdrawn) or found.person not in body.pair:
            continue
        [other] = [others[name] for name in body.pair if name != found.person]
        if isinstance(body, bodies.Flagged):
            said.append({
                "member": body.member, "other": other, "at": record.at,
                "reason": _words(evidence, body.reason), "taken_back": None,
            })  # fmt: skip
        else:
            for one in said:
                if (one["member"], one["other"]) == (body.member, other):
                    one["taken_back"] = one["taken_back"] or record.at
    return said


def _reported(found: DecisionHistory) -> list[dict[str, Any]]:
    others = _others(found)
    return [
        {"other": others[over if under == found.person else under],
         "treated": "less favourably" if under == found.person else "more favourably"}
        for over, under in found.round.pairs if found.person in (over, under)
    ]  # fmt: skip


def signed_packet(
    evidence: Evidence, round_id: str, person: str, key: PrivateKey, at: str
) -> dict[str, Any]:
    """A packet with a receipt of the ledger that it follows from, signed by the installation."""
    content = packet_content(evidence, round_id, person)
    head = Receipt(evidence.docket, evidence.records[-1].head, compact(at), key.public.id)
    receipt = f"likewise-receipt/2:{head.statement}:{key.sign('receipt', head.statement.encode())}"
    content |= {"receipt": receipt, "key": key.public.text}
    return {**content, "signature": key.sign("packet", canonical(content))}


def read_packet(text: str) -> dict[str, Any]:
    """Read a packet; what is none is refused."""
    try:
        data = json.loads(text)
        canonical(data)
    except (ValueError, RecursionError, LikewiseError) as error:
        raise LikewiseError(f"This is not a packet: it is no JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise LikewiseError(f"This is not a packet: it does not say that it is {FORMAT}.")
    return data


def check_packet(
    packet: Mapping[str, Any], keys: KnownKeys | None = None, evidence: Evidence | None = None
) -> list[str]:
    """The faults of a packet: its signature, and each part that does not follow from the ledger."""
    signed = {name: value for name, value in packet.items() if name != "signature"}
    try:
        key = PublicKey(str(packet.get("key")))
    except LikewiseError as error:
        return [str(error)]
    if keys is not None and key.id not in keys.keys:
        return [f"It is signed by a foreign key, {key.id}. Compare it with the published ones."]
    if not key.verifies("packet", canonical(signed), str(packet.get("signature"))):
        return ["It was changed: its signature does not fit."]
    proof = packet.get("payload")
    if proof is not None:
        again = Payload(bytes.fromhex(proof["salt"]), proof["content"]).digest
        if again != proof["digest"]:
            return ["Its features are not those whose hash was recorded."]
    return [] if evidence is None else _differences(packet, evidence)


def _differences(packet: Mapping[str, Any], evidence: Evidence) -> list[str]:
    records = [record for record in evidence.records if record.seq <= packet["until"]]
    if not records or str(packet["receipt"]).split(":")[3] != records[-1].hash:
        return [f"The ledger has another record {packet['until']} than the packet's receipt."]
    cut = Evidence(evidence.docket, records, evidence.payloads, evidence.secret)
    try:
        again = packet_content(cut, str(packet["round"]), str(packet["person"]))
    except LikewiseError as error:
        return [str(error)]
    # Without features or the seed, what needs them cannot be compared.
    needs = set() if evidence.payloads is not None else {"features", "payload", "objections"}
    if evidence.payloads is None or evidence.secret is None:
        needs |= {"reasons", "letter"}
    erased = again["erased"] != packet["erased"] or _erased_since(evidence, packet)
    needs |= {"features", "payload", "reasons", "letter", "objections"} if erased else set()
    return [
        f"{name!r} does not follow from the ledger."
        for name in again if name not in needs and again[name] != packet.get(name)
    ]  # fmt: skip


def _erased_since(evidence: Evidence, packet: Mapping[str, Any]) -> bool:
    """Tell if somebody in the round was erased after the packet was given."""

    def concerns(record: Record) -> bool:
        return bool(record.body.get("round", record.body.get("of_round")) == packet["round"])

    later = (r for r in evidence.records if r.seq > packet["until"])
    return any(r.kind in ("erased", "reasons-erased") and concerns(r) for r in later)
