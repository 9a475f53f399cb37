"""The packet of a decision: everything that led to it, for one person, without other people's data.

The other side of every pair is called person A, B, …; of records there are number, kind, time and
hash, by which whoever has the ledger finds them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner import events, players
from likewise.learner.state import State, located
from likewise.numerics.fixed_point import ONE, from_units
from likewise.people.features import Feature
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.round import Round
from likewise_service.errors import ServiceError, parse
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Payload, Receipt, Record, canonical, features_of, sha256
from likewise_service.ledger.store import Store, notify
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.receipts import KnownKeys, document_fault, sign_document


@dataclass(frozen=True)
class DecisionHistory:
    """All records that led to the decision on one person, and what followed from it.

    ``state`` is the learner's just before the decision, None where it cannot be rebuilt; ``before``
    counts what it had learned from by then. ``elsewhere`` says that the institution decided.
    """

    evidence: Evidence
    round_id: str
    person: str
    projection: Projection
    records: list[Record]
    decided: Record
    state: State | None
    before: dict[str, int]
    elsewhere: bool

    @property
    def round(self) -> Round:
        return self.projection.round(self.round_id)

    @property
    def payload(self) -> Payload | None:
        """The person's features, unless they were erased."""
        digest = None if self.person in self.round.erased else self.round.people[self.person]
        return (self.evidence.payloads or {}).get(digest or "")


def history_of(evidence: Evidence, round_id: str, person: str) -> DecisionHistory:
    """Find a decision in a ledger, and fold everything up to it."""
    projection, records, moment = Projection(evidence.docket), list[Record](), None
    bodies = [kinds.read_body(record) for record in evidence.records]
    surrogates, payloads = kinds.surrogates_in(bodies), evidence.payloads or {}
    contents = {digest: p.content for digest, p in payloads.items() if p.digest == digest}
    state: State | None = None
    secret = evidence.secret
    for record, body in zip(evidence.records, bodies, strict=True):
        concerned = isinstance(body, kinds.RoundBody) and body.round == round_id
        if concerned and isinstance(body, kinds.Decided) and body.concerns(person):
            moment = (record, state, dict(projection.counts), projection.audit_only)
        projection.take(record, body)
        if concerned:
            records.append(record)
        if secret is None:
            continue
        try:
            before = state or State.start(projection.settings.make_learner(secret[0]))
            state = body.advance(before, contents, surrogates)
        except LikewiseError:
            # Somebody's features are gone: from here on nothing can be recomputed.
            state = secret = None
    if moment is None:
        raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")
    return DecisionHistory(evidence, round_id, person, projection, records, *moment)


GRID = 32
# The most reasons in a letter, as Regulation B's commentary advises.
NAMED = 4


@dataclass(frozen=True)
class Reason:
    """One feature's part in a chance; ``best`` is the most that another value would have given."""

    feature: str
    title: str
    value: str
    moved: float
    best: float
    best_value: str

    @property
    def words(self) -> str:
        name = f"{self.title} ({self.value})"
        if self.moved == 0 and self.best == 0:
            return f"{name} had no influence."
        verb = "lowered" if self.moved < 0 else "raised"
        more = f" With {self.best_value} it would have been {100 * self.best:.1f} points higher."
        return (
            f"{name} {verb} the chance by {abs(100 * self.moved):.1f} percentage points, compared "
            f"with the average over all values that it may have." + (more if self.best > 0 else "")
        )


def values_of(feature: Feature, value: float) -> list[float]:
    """Return the values that a feature may have, up to a grid, with its own among them.

    >>> values_of(Feature("purpose", "category", levels=("car", "home")), 1.0)
    [0.0, 1.0]
    >>> len(values_of(Feature("score", "integer", 300, 850), 310.0))
    33
    """
    low, high = feature.limits
    if feature.kind in ("category", "flag"):
        values = [float(level) for level in range(int(high) + 1)]
    elif math.isfinite(high - low):
        steps = [low + (high - low) * step / (GRID - 1) for step in range(GRID)]
        values = [float(round(v)) if feature.kind == "integer" else v for v in steps]
    else:
        values = [end for end in (low, high) if math.isfinite(end)]
    if feature.missing is not None:
        values.append(math.nan)
    included = any(v == value or (math.isnan(v) and math.isnan(value)) for v in values)
    return values if included else [*values, value]


def chances(state: State, round_id: str, rows: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the scores that people with these features would have had in the last batch.

    They come from the same draws as those of the batch itself, so that only features differ.
    """
    round_, learner = state.open[round_id], state.learner
    people = tuple(events.Person(f"row {number}", row) for number, row in enumerate(rows))
    points, draws = located(learner, people), players.Draws(round_.draws, round_.batches - 1)
    return learner.primal.estimates(learner.hypotheses, round_.policy, points, draws).scores


def reasons_of(state: State, round_id: str, features: Sequence[float]) -> list[Reason]:
    """Return every feature's part in somebody's chance, those that lowered it most first.

    ``state`` is the learner's when the batch had arrived and nobody in it was decided on yet.
    """
    schema, x = state.learner.hypotheses.schema, tuple(features)
    grids = [values_of(schema[name], x[column]) for column, name in enumerate(schema.names)]
    rows = [(*x[:c], value, *x[c + 1 :]) for c, grid in enumerate(grids) for value in grid]
    score, *rest = chances(state, round_id, [x, *rows])
    scores, reasons = iter(rest), []
    for value, name, grid in zip(x, schema.names, grids, strict=True):
        column = list(islice(scores, len(grid)))
        feature, top = schema[name], max(column)
        moved = (score - sum(column) / len(column)) / ONE
        best = feature.say(grid[column.index(top)])
        reason = Reason(name, feature.title, feature.say(value), moved, (top - score) / ONE, best)
        reasons.append(reason)
    return sorted(reasons, key=lambda reason: (reason.moved, -reason.best, reason.feature))


def letter(reasons: Sequence[Reason]) -> list[str]:
    return [reason.words for reason in reasons if reason.moved < 0][:NAMED]


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
            "looked_at": history.round.looked_at, "pairs_asked": _pairs_asked(history),
            "rule": history.round.rule,
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


def _pairs_asked(history: DecisionHistory) -> int:
    """Count the pairs with the person that were put before the panel."""
    asked = history.round.reportable if history.round.seats else []
    return sum(history.person in pair[:2] for pair in asked)


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
        body = kinds.read_body(record)
        if not isinstance(body, kinds.Withdrawn) or history.person not in body.pair:
            continue
        [peer] = [names[name] for name in body.pair if name != history.person]
        if isinstance(body, kinds.Flagged):
            graded = {} if body.limit is None else {"limit": from_units(body.limit)}
            objections.append({
                "member": body.member, "other": peer, "at": record.at,
                "reason": _words(history.evidence, body.reason), "taken_back": None, **graded,
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
        body = kinds.PacketGiven(round_id, person, sha256(canonical(packet)))
        notify(connection, docket, (), body)
    return packet


def read_packet(text: str) -> dict[str, Any]:
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


OUTCOMES = {
    "report": "The panel reported pairs of this round as treated unlike though similar.",
    "quiet": "The panel reported none of the pairs that it was asked about.",
    "unaudited": "Too few of the panel responded, so it said nothing about this round.",
}
SEATS = {
    "asked": "has not responded so far", "finished": "has responded", "absent": "did not respond",
    "unasked": "was not asked",
}  # fmt: skip


def packet_words(packet: Mapping[str, Any]) -> str:
    sections = (
        _heading, _decision, _origin_in_words, _features_in_words, _reasons, _panel, _verification,
    )  # fmt: skip
    return "\n\n".join("\n".join(section(packet)) for section in sections) + "\n"


def _heading(packet: Mapping[str, Any]) -> Iterator[str]:
    yield f"The decision on {packet['person']}: {packet['title']}"
    moment = _when(packet["decision"]["at"])
    yield f"Docket {packet['docket']}, round {packet['round']}, decided {moment}."
    if packet["notice"]:
        yield packet["notice"]


def _when(at: str) -> str:
    """A time as people write it; months are numbers in every language.

    >>> _when("2026-03-01T12:05:00.250000Z")
    'on 2026-03-01 at 12:05 UTC'
    """
    return parse(at).strftime("on %Y-%m-%d at %H:%M UTC")


def _word(approved: bool) -> str:
    return "approved" if approved else "rejected"


def _decision(packet: Mapping[str, Any]) -> Iterator[str]:
    """The decision that stands comes first, then how it came about."""
    decision = packet["decision"]
    decider = "The institution" if packet["chance_from"] is None else "The system"
    verdict, chance = _word(decision["approved"]), f"{100 * decision['chance']:.1f} %"
    yield f"The decision: {_word(decision['stands'])}."
    if decision["overridden"] is None:
        yield f"{decider} {verdict}, at a chance of approval of {chance}. Nobody decided otherwise."
        return
    why = decision["override_reason"] or "none was recorded, or it was erased"
    turned = "otherwise" if decision["overridden"] != decision["approved"] else "the same"
    yield f"{decider} had {verdict}, at a chance of approval of {chance}."
    yield f"Somebody who runs the docket then decided {turned}. Their reason: {why}."


def _origin_in_words(packet: Mapping[str, Any]) -> Iterator[str]:
    yield "How it was decided:"
    yield f"  {packet['role']}"
    origin = packet["chance_from"]
    if origin is not None:
        yield (
            f"  The chance came from a policy over the class {origin['class']}, which had learned "
            f"from {origin['rounds_before']:,} rounds, {origin['labels_before']:,} known outcomes "
            f"and {origin['reports_before']:,} reports of the panel."
        )


def _features_in_words(packet: Mapping[str, Any]) -> Iterator[str]:
    if packet["erased"]:
        yield f"The features were erased {_when(packet['erased'])}."
    elif not packet["features"]:
        yield "The features are not part of this file."
    else:
        yield "What was known of you, as it was given:"
        for feature in packet["features"]:
            hidden = "" if feature["shown_to_panel"] else " (not shown to the panel)"
            yield f"  {feature['title']}: {feature['value']}{hidden}"


def _reasons(packet: Mapping[str, Any]) -> Iterator[str]:
    decision = packet["decision"]
    if packet["chance_from"] is None:
        yield "The reasons for the chance are the institution's own. Ask it for them."
        return
    if not packet["reasons"]:
        yield "Reasons could not be computed again: that needs the features and the docket's seed."
        return
    yield "How each feature moved the chance, under the policy that decided, with all else equal:"
    yield from (f"  {reason['words']}" for reason in packet["reasons"])
    if decision["stands"]:
        return
    if decision["approved"]:
        yield (
            "The rejection is not the system's, which had approved. Its reason is that of whoever "
            "decided otherwise, above."
        )
    elif packet["letter"]:
        yield "Main reasons for the rejection:"
        yield from (f"  {number}. {line}" for number, line in enumerate(packet["letter"], 1))


def _panel(packet: Mapping[str, Any]) -> Iterator[str]:
    panel = packet["panel"]
    if panel["seats"]:
        seats = ", ".join(f"{name} ({SEATS[state]})" for name, state in panel["seats"].items())
        count = panel["pairs_asked"]
        pairs = "1 pair" if count == 1 else f"{count} pairs"
        yield (
            f"A panel was asked, about {pairs} with you in it, under the rule {panel['rule']}: "
            f"{seats}."
        )
    elif packet["outcome"] == "quiet":
        yield "No panel was asked about this round: its chances differ too little for a report."
    else:
        yield "No panel was asked about this round."
    for objection in packet["objections"]:
        withdrawn = objection["taken_back"]
        back = f" This was taken back {_when(withdrawn)}." if withdrawn else ""
        why = f" The reason given: {objection['reason']}." if objection["reason"] else ""
        if "limit" in objection:
            limit = f"{100 * objection['limit']:.1f} percentage points"
            why += f" They would accept chances that are at most {limit} apart."
        yield (
            f"  {objection['member']} objected that you and {objection['other']} are similar and "
            f"were treated differently.{why}{back}"
        )
    if panel["seats"] and packet["outcome"]:
        yield OUTCOMES[packet["outcome"]]
    elif panel["seats"]:
        yield "The panel has not come to an end yet."
    for pair in packet["reported"]:
        yield f"  You were treated {pair['treated']} than {pair['other']}, found similar."
    if packet["label"] is not None:
        right = "right" if packet["label"] else "wrong"
        yield f"As it turned out later, says the institution, an approval would be {right}."


def _verification(packet: Mapping[str, Any]) -> Iterator[str]:
    count, until = len(packet["records"]), packet["until"]
    yield "How to verify this file:"
    yield f"  It follows from {count} records of the round, in the ledger up to record {until:,}."
    yield "  Anybody can check its signature: likewise verify packet.json --key KEY, with"
    yield "  the key that the institution publishes. Whoever has the ledger adds --export FOLDER,"
    yield "  and every part is derived again."
    yield f"  Receipt: {packet['receipt']}"
    yield f"  Key: {packet['key']}"
