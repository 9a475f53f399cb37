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
from likewise.service.ledger import bodies
from likewise.service.ledger.bodies.evidence import PacketGiven
from likewise.service.ledger.canonical_json import canonical, sha256
from likewise.service.ledger.notices import notify
from likewise.service.ledger.payloads import Payload, features_of
from likewise.service.ledger.records import Receipt
from likewise.service.ledger.store import Store
from likewise.service.verification.evidence import Evidence, evidence_of
from likewise.service.verification.known_keys import KnownKeys, document_fault, sign_document
from likewise.service.verification.packets.history import DecisionHistory, history_of
from likewise.service.verification.packets.reasons import letter, reasons_of

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
    """Return the content of a packet, as it follows from the ledger."""
    history = history_of(evidence, round_id, person)
    settings, decision = history.projection.settings, history.round.decisions[person]
    reasons = []
    if history.state is not None and history.payload is not None and not history.elsewhere:
        reasons = reasons_of(history.state, round_id, features_of(history.payload.content))
    override = history.round.overrides.get(person)
    return {
        "format": FORMAT, "docket": evidence.docket, "title": settings.title,
        "round": round_id, "person": person, "until": evidence.records[-1].seq,
        "role": ELSEWHERE if history.elsewhere else ROLE,
        "notice": IN_SHADOW if settings.shadow else None,
        "features": _features(history),
        "payload": _proof(history.payload, history.round.people[person]),
        "erased": history.round.erased.get(person),
        "decision": {
            "at": history.decided.at, "approved": decision.approved,
            "chance": from_units(decision.score), "score": decision.score,
            "overridden": override,
            "override_reason": _words(evidence, history.round.explanations.get(person)),
            "stands": decision.approved if override is None else override,
        },
        "chance_from": None if history.elsewhere else _origin(history),
        "reasons": [asdict(reason) | {"words": reason.words} for reason in reasons],
        "letter": letter(reasons),
        "panel": {
            "drawn": history.round.drawn, "rule": history.round.rule,
            "seats": dict(history.round.seats), "due": history.round.due,
        },
        "objections": _objections(history),
        "outcome": history.round.outcome, "reported": _reported(history),
        "label": history.round.labels.get(person),
        "records": [
            {"seq": r.seq, "kind": r.kind, "at": r.at, "hash": r.hash, "actor": r.actor}
            for r in history.records
        ],
    }  # fmt: skip


def _origin(history: DecisionHistory) -> dict[str, Any]:
    """Return the policy that gave the chance, and what it had learned from by then."""
    learner = history.projection.settings.make_learner(0)
    return {
        "class": learner.hypotheses.spec().get("kind", type(learner.hypotheses).__name__),
        "player": type(learner.primal).__name__, "alpha": learner.alpha, "k": learner.k,
        "rounds_before": history.before.get("rounds", 1) - 1,
        "reports_before": history.before.get("report", 0),
        "labels_before": history.before.get("labels", 0),
    }  # fmt: skip


def _features(history: DecisionHistory) -> list[dict[str, Any]]:
    if history.payload is None:
        return []
    schema = history.projection.settings.make_learner(0).hypotheses.schema
    values = features_of(history.payload.content)
    return [
        {"name": name, "title": schema[name].title, "value": schema[name].say(value),
         "shown_to_panel": schema[name].visible}
        for name, value in zip(schema.names, values, strict=True)
    ]  # fmt: skip


def _proof(payload: Payload | None, digest: str | None) -> dict[str, Any] | None:
    """Return the proof that these features were recorded: digest = SHA-256(salt ‖ content)."""
    if payload is None:
        return None
    return {"digest": digest, "salt": payload.salt.hex(), "content": dict(payload.content)}


def _words(evidence: Evidence, digest: str | None) -> str | None:
    payload = (evidence.payloads or {}).get(digest or "")
    return None if payload is None else str(payload.content.get("text"))


def _pseudonyms(history: DecisionHistory) -> dict[str, str]:
    """Return names for everybody else, which say nothing."""
    people = [name for name in history.round.decisions if name != history.person]
    return {name: f"person {_letters(number)}" for number, name in enumerate(people)}


def _letters(number: int) -> str:
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def _objections(history: DecisionHistory) -> list[dict[str, Any]]:
    names, objections = _pseudonyms(history), list[dict[str, Any]]()
    for record in history.records:
        body = bodies.read_body(record)
        if not isinstance(body, bodies.Withdrawn) or history.person not in body.pair:
            continue
        [peer] = [names[name] for name in body.pair if name != history.person]
        if isinstance(body, bodies.Flagged):
            objections.append({
                "member": body.member, "other": peer, "at": record.at,
                "reason": _words(history.evidence, body.reason), "taken_back": None,
            })  # fmt: skip
        else:
            for objection in objections:
                if (objection["member"], objection["other"]) == (body.member, peer):
                    objection["taken_back"] = objection["taken_back"] or record.at
    return objections


def _reported(history: DecisionHistory) -> list[dict[str, Any]]:
    names = _pseudonyms(history)
    return [
        {"other": names[over if under == history.person else under],
         "treated": "less favourably" if under == history.person else "more favourably"}
        for over, under in history.round.pairs if history.person in (over, under)
    ]  # fmt: skip


def give_packet(store: Store, docket: str, round_id: str, person: str) -> dict[str, Any]:
    """Give somebody the packet of a decision, signed, with a receipt; its hash is recorded."""
    evidence = evidence_of(store, docket)
    content = packet_content(evidence, round_id, person)
    content["receipt"] = str(store.keys.sign(Receipt(docket, evidence.records[-1].head)))
    packet = sign_document("packet", content, store.keys.current())
    with store.changing() as connection:
        body = PacketGiven(round_id, person, sha256(canonical(packet)))
        notify(connection, docket, (), body)
    return packet


def read_packet(text: str) -> dict[str, Any]:
    """Read a packet; what is none is refused."""
    try:
        document = json.loads(text)
        canonical(document)
    except (ValueError, RecursionError, LikewiseError) as error:
        raise LikewiseError(f"This is not a packet: it is no JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise LikewiseError(f"This is not a packet: it does not say that it is {FORMAT}.")
    return document


def check_packet(
    packet: Mapping[str, Any], keys: KnownKeys | None = None, evidence: Evidence | None = None
) -> list[str]:
    """Return the faults of a packet: its signature, parts that do not follow from the ledger."""
    try:
        fault = document_fault("packet", packet, keys)
    except LikewiseError as error:
        fault = str(error)
    if fault:
        return [fault]
    proof = packet.get("payload")
    if proof is not None:
        digest = Payload(bytes.fromhex(proof["salt"]), proof["content"]).digest
        if digest != proof["digest"]:
            return ["Its features are not those whose hash was recorded."]
    return [] if evidence is None else _differences(packet, evidence)


def _differences(packet: Mapping[str, Any], evidence: Evidence) -> list[str]:
    records = [record for record in evidence.records if record.seq <= packet["until"]]
    if not records or Receipt.parse(packet["receipt"]).head != records[-1].head:
        return [f"The ledger has another record {packet['until']} than the packet's receipt."]
    until = Evidence(evidence.docket, records, evidence.payloads, evidence.secret)
    try:
        content = packet_content(until, str(packet["round"]), str(packet["person"]))
    except LikewiseError as error:
        return [str(error)]
    # Without features or the seed, what needs them cannot be compared.
    unknown = set() if evidence.payloads is not None else {"features", "payload", "objections"}
    if evidence.payloads is None or evidence.secret is None:
        unknown |= {"reasons", "letter"}
    if content["erased"] != packet["erased"] or _erased_since(evidence, packet):
        unknown |= {"features", "payload", "reasons", "letter", "objections"}
    return [
        f"{name!r} does not follow from the ledger."
        for name in content if name not in unknown and content[name] != packet.get(name)
    ]  # fmt: skip


def _erased_since(evidence: Evidence, packet: Mapping[str, Any]) -> bool:
    """Tell if somebody in the round was erased after the packet was given."""
    erasures = [
        record.body.get("round", record.body.get("of_round")) for record in evidence.records
        if record.seq > packet["until"] and record.kind in ("erased", "reasons-erased")
    ]  # fmt: skip
    return packet["round"] in erasures
