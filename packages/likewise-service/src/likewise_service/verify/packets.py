"""The packet of a decision: everything that led to it, for one person, without other people's data.

The other people are called person A, B, …; records are given by number, kind, time and hash, by
which they are found in the ledger.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import from_units
from likewise.people.features import AS_GIVEN
from likewise_service import language
from likewise_service.clock import parse
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.explanations import PastPolicy, Reason, rejection
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.round import KeptPolicy, Round
from likewise_service.dockets.spec import DocketSpec
from likewise_service.errors import ServiceError
from likewise_service.language import N_, _, number
from likewise_service.ledger import kinds, records
from likewise_service.ledger.notes import InclusionProof
from likewise_service.ledger.records import Payload, Record, features_of, words_in
from likewise_service.verify.evidence import Evidence
from likewise_service.verify.receipts import KnownKeys, document_template


@dataclass(frozen=True)
class DecisionHistory:
    """The records of a round, and what was known at the decision on a person in it.

    ``until`` is the ledger's last record; ``policy`` is the round's, or None if it is not known;
    ``elsewhere`` says that the institution decided.
    """

    docket: str
    until: int
    settings: DocketSpec
    person: str
    round: Round
    records: Sequence[Record]
    decided: Record
    payloads: Mapping[str, Payload]
    policy: KeptPolicy | None
    learner: Learner
    elsewhere: bool

    @property
    def payload(self) -> Payload | None:
        digest = None if self.person in self.round.erased else self.round.people[self.person]
        return self.payloads.get(digest or "")

    @property
    def reasons(self) -> list[Reason]:
        """Every feature's part in the chance, if known; the one that lowered it most first."""
        if self.policy is None or self.payload is None:
            return []
        past = PastPolicy.of(self.round, self.person, self.policy, self.learner)
        return past.reasons(features_of(self.payload.content))


def _decided(round_records: Iterable[Record], round_id: str, person: str) -> Record:
    for record in round_records:
        body = kinds.read_body(record) if record.kind == "decided" else None
        if isinstance(body, kinds.Decided) and body.concerns(person):
            return record
    raise ServiceError("no-person", 404, f"Round {round_id!r} has nobody named {person!r}.")


def history_in(docket: Docket, round_id: str, person: str) -> DecisionHistory:
    """Find a decision by the indexes of a docket, without reading other rounds."""
    projection = docket.projection
    round_, head = projection.round(round_id), projection.head
    with docket.looking() as view:
        round_records = view.records_of([round_id], head.seq)[round_id]
        kept = view.policy(round_id)
    decided = _decided(round_records, round_id, person)
    elsewhere = projection.audit_only or decided.seq < projection.learner_from
    words = (*round_.reasons_about(person), *round_.words_for(person))
    policy = None if kept is None or elsewhere else KeptPolicy.parse(kept)
    return DecisionHistory(
        docket.name, head.seq, projection.settings, person, round_, round_records, decided,
        docket.payloads([round_.people[person], *words]), policy, docket.state.learner, elsewhere,
    )  # fmt: skip


def history_of(
    evidence: Evidence, round_id: str, person: str, until: int | None = None
) -> DecisionHistory:
    """Find a decision in a whole ledger, and fold everything up to it, believing nothing."""
    projection, policy = Projection(evidence.docket), None
    bodies = [kinds.read_body(record) for record in evidence.records]
    # Surrogates also of those who were erased later: their features are gone by now.
    surrogates, payloads = kinds.surrogates_in(bodies), evidence.payloads or {}
    contents = {digest: p.content for digest, p in payloads.items() if p.digest == digest}
    state, secret, elsewhere = None, evidence.secret, False
    round_records = list[Record]()
    for record, body in zip(evidence.records[:until], bodies[:until], strict=True):
        before = dict(projection.counts)
        projection.take(record, body)
        if isinstance(body, kinds.RoundBody) and body.round == round_id:
            round_records.append(record)
            if isinstance(body, kinds.Decided) and body.concerns(person):
                elsewhere = projection.audit_only
        if secret is None:
            continue
        try:
            fold = state or State.start(projection.settings.make_learner(secret[0]))
            state = body.advance(fold, contents, surrogates)
        except LikewiseError:
            # Somebody's features are gone: from here on nothing can be recomputed.
            state = secret = None
        opens = round_records == [record] and isinstance(body, kinds.PeopleArrived)
        if state is not None and opens:
            policy = KeptPolicy.of(state.open[round_id], before)
    return DecisionHistory(
        evidence.docket, evidence.records[:until][-1].seq, projection.settings, person,
        projection.round(round_id), round_records, _decided(round_records, round_id, person),
        payloads, None if elsewhere else policy,
        projection.settings.make_learner(0 if evidence.secret is None else evidence.secret[0]),
        elsewhere,
    )  # fmt: skip


FORMAT = "likewise-packet/3"
# The content of a packet is always in English; packet_words says it in a reader's language.
ROLE = N_(
    "A learned policy gave a chance of approval, and a draw with that chance decided. A panel of "
    "people may object to pairs of people whom they find similar and who were treated differently; "
    "the policy learns from that, and from how earlier decisions turned out. Whoever runs the "
    "docket may decide otherwise, which is recorded with its reason."
)
ELSEWHERE = N_(
    "The institution decided, by means of its own, and gave the chance of approval. A panel of "
    "people may object to pairs of people whom they find similar and who were treated differently; "
    "what it says is recorded. Nothing here took part in the decision."
)
IN_SHADOW = N_("The docket ran in shadow: its decisions were not used, and somebody else decided.")


def packet_content(history: DecisionHistory, role: str = "operator") -> dict[str, Any]:
    """Return the packet for somebody with a role; only those who see the panel's work get it.

    That work is who sat there, and who said what and when; its outcome is in every packet.
    """
    with language.speaking("en"):
        return _content(history, role)


def _content(history: DecisionHistory, role: str) -> dict[str, Any]:
    round_, person, settings = history.round, history.person, history.settings
    decision, reasons = round_.decisions[person], history.reasons
    supervises = role in kinds.SUPERVISORS
    override = round_.overrides.get(person)
    return {
        "format": FORMAT, "docket": history.docket, "title": settings.title,
        "round": round_.id, "person": person, "until": history.until, "for": role,
        "role": ELSEWHERE if history.elsewhere else ROLE,
        "notice": IN_SHADOW if settings.shadow else None,
        "features": _features(history), "payload": _proof(history.payload, round_.people[person]),
        "erased": round_.erased.get(person),
        "decision": {
            "at": history.decided.at, "approved": decision.approved,
            "chance": from_units(decision.score), "score": decision.score,
            "overridden": override,
            "override_reason": words_in(history.payloads, round_.explanations.get(person)),
            "reconsidered": round_.reconsidered(person), "stands": round_.stands(person),
        },
        "chance_from": None if history.elsewhere else _origin(history),
        "reasons": [asdict(reason) | {"words": reason.words} for reason in reasons],
        "letter": [] if decision.approved or not reasons else rejection(decision.score, reasons),
        "panel": {
            "looked_at": round_.looked_at,
            "pairs_asked": sum(person in p[:2] for p in round_.reportable if round_.seats),
            "rule": round_.rule, "due": round_.due if supervises or not settings.turns else None,
            "seats": dict(round_.seats) if supervises else None,
        },
        "objections": _objections(history) if supervises else None,
        **_comments(history, supervises),
        "outcome": round_.outcome, "reported": _reported(history),
        "notices": _notices(history), "appeals": _appeals(history),
        "label": round_.labels.get(person),
        "records": [
            {"seq": r.seq, "kind": r.kind, "at": r.at, "hash": r.hash, "actor": r.actor}
            for r in history.records
            if supervises or not issubclass(kinds.KINDS[r.kind], kinds.UNSEEN)
            if not issubclass(kinds.KINDS[r.kind], kinds.PersonBody) or r.body["person"] == person
        ],
    }  # fmt: skip


def _notices(history: DecisionHistory) -> list[dict[str, Any]]:
    notices = history.round.notices.get(history.person, ())
    return [
        {"occasion": n.occasion, "given": n.given, "text": words_in(history.payloads, n.digest)}
        for n in notices
    ]


def _appeals(history: DecisionHistory) -> list[dict[str, Any]]:
    """Return what the person asked for, what the policy decides on it, and a person's decision."""
    schema, appeals = history.learner.hypotheses.schema, list[dict[str, Any]]()
    for appeal in history.round.appeals_of(history.person):
        payload, again = history.payloads.get(appeal.content), appeal.again
        content = {} if payload is None else payload.content
        features = features_of(content) if "features" in content else ()
        corrected = {name: features[schema.place(name)] for name in content.get("corrected", ())}
        appeals.append({
            "opened": appeal.opened, "due": appeal.due, "text": content.get("text"),
            "corrections": {
                schema[n].title: schema[n].say(v, AS_GIVEN) for n, v in corrected.items()},
            "again": None if again is None else {
                "approved": again.approved, "chance": from_units(again.score)},
            "ended": appeal.ended, "status": appeal.status, "reviewer": appeal.reviewer,
            "approved": appeal.approved, "accepted": appeal.accepted,
            "reason": words_in(history.payloads, appeal.reason),
        })  # fmt: skip
    return appeals


def _origin(history: DecisionHistory) -> dict[str, Any] | None:
    """Return the policy that gave the chance, and what it had learned from."""
    learner, policy = history.learner, history.policy
    return {
        "class": type(learner.hypotheses).__name__,
        "player": type(learner.primal).__name__, "alpha": learner.alpha, "k": learner.k,
        "rounds_before": history.round.number - 1,
        "reports_before": None if policy is None else policy.reports,
        "labels_before": None if policy is None else policy.labels,
    }  # fmt: skip


def _features(history: DecisionHistory) -> list[dict[str, Any]]:
    if history.payload is None:
        return []
    schema = history.learner.hypotheses.schema
    values = features_of(history.payload.content)
    return [
        {"name": name, "title": schema[name].title, "value": schema[name].say(value, AS_GIVEN),
         "shown_to_panel": schema[name].visible}
        for name, value in zip(schema.names, values, strict=True)
    ]  # fmt: skip


def _proof(payload: Payload | None, digest: str | None) -> dict[str, Any] | None:
    """Return the proof that these features were recorded: digest = SHA-256(salt ‖ content)."""
    if payload is None:
        return None
    return {"digest": digest, "salt": payload.salt.hex(), "content": dict(payload.content)}


def _pseudonyms(history: DecisionHistory) -> dict[str, str]:
    """Return names for everybody else that say nothing."""
    people = [name for name in history.round.decisions if name != history.person]
    return {name: f"person {_letters(place)}" for place, name in enumerate(people)}


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


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
                "reason": words_in(history.payloads, body.reason), "taken_back": None, **graded,
            })  # fmt: skip
        else:
            for objection in objections:
                if (objection["member"], objection["other"]) == (body.member, peer):
                    objection["taken_back"] = objection["taken_back"] or record.at
    return objections


def _comments(history: DecisionHistory, supervises: bool) -> dict[str, Any]:
    """Return the members' comments on the round, for those who see the panel's work."""
    comments = [
        {"member": c.member, "at": c.at, "reason": words_in(history.payloads, c.digest)}
        for c in history.round.comments
    ]
    return {"comments": comments} if supervises and comments else {}


def _reported(history: DecisionHistory) -> list[dict[str, Any]]:
    names = _pseudonyms(history)
    return [
        {"other": names[over if under == history.person else under],
         "treated": "less favourably" if under == history.person else "more favourably"}
        for over, under in history.round.pairs if history.person in (over, under)
    ]  # fmt: skip


def give_packet(
    docket: Docket, round_id: str, person: str, role: str = "operator"
) -> dict[str, Any]:
    """Give somebody with a role the packet of a decision.

    The record that it was ``given`` has its hash; the packet carries the ``proof`` of that record.
    """
    with docket.unit_of_work() as work:
        content, key = packet_content(history_in(docket, round_id, person), role), docket.key()
        content["key"] = key.public.text  # it signs, even if it is rotated meanwhile
        work.add(kinds.PacketGiven(round_id, person, _digest(content)))
        record, _, _, tree = work.added[-1]
    with docket.looking() as view:
        hashes = view.log(record.seq).inclusion(record.seq - 1, record.seq)
    proof = InclusionProof(record.seq - 1, tuple(hashes), docket.checkpoint(tree, key))
    return {**content, "given": record.to_json(), "proof": str(proof)}


def _digest(content: Mapping[str, Any]) -> str:
    return records.sha256(records.canonical(content))


def check_packet(
    packet: Mapping[str, Any], keys: KnownKeys | None = None, evidence: Evidence | None = None
) -> list[str]:
    """Return the faults of a packet: of its proof, and parts that do not follow from the ledger.

    Without ``keys`` from the verifier, the packet's own key is used. That shows only that nothing
    was changed since; compare that key with the published one.
    """
    fault = _proof_fault(packet, keys or KnownKeys.named([str(packet["key"])]))
    if fault:
        return [fault]
    features = packet.get("payload")
    if features is not None:
        payload = Payload(bytes.fromhex(features["salt"]), features["content"])
        if payload.digest != features["digest"]:
            return ["Its features are not those whose hash was recorded."]
    return [] if evidence is None else _differences(packet, evidence)


def _proof_fault(packet: Mapping[str, Any], keys: KnownKeys) -> str:
    """Return why a packet's proof does not show that the ledger has it; nothing if it does."""
    content = {name: part for name, part in packet.items() if name not in ("given", "proof")}
    try:
        record, proof = Record(**packet["given"]), InclusionProof.parse(str(packet["proof"]))
        recorded, digest = (record.kind, record.body["digest"]), _digest(content)
    except (LikewiseError, KeyError, TypeError) as error:
        return f"It has not the parts that a packet has ({type(error).__name__}: {error})."
    if recorded != ("packet-given", digest):
        return "It was changed: it is not the one whose hash was recorded."
    dockets = packet.get("docket"), record.docket, proof.checkpoint.docket
    if len(set(map(str, dockets))) > 1:
        return f"It is of {dockets[0]!r}, and its proof is of {dockets[2]!r}."
    if not record.intact or proof.index != record.seq - 1 or not proof.places(record.entry):
        return "Its proof does not show that it was recorded."
    return "" if keys.judge(proof.checkpoint) == "signed" else keys.sentence(proof.checkpoint)


def _differences(packet: Mapping[str, Any], evidence: Evidence) -> list[str]:
    checkpoint = InclusionProof.parse(packet["proof"]).checkpoint
    until, given = int(packet["until"]), int(packet["given"]["seq"])
    if not 0 < until < given:
        return [f"It says that it is up to record {until:,}, and was given by record {given:,}."]
    if checkpoint.size > evidence.log.size:
        return [f"It was given by record {checkpoint.size:,}. Take a ledger that has that one."]
    if evidence.checkpoint(checkpoint.size) != checkpoint:
        return [f"The ledger has other records up to {checkpoint.size:,} than the packet's proof."]
    for record in evidence.records[until : given - 1]:
        if record.body.get("round") == packet["round"]:
            return [f"It leaves out record {record.seq:,}, which was there when it was given."]
    try:
        history = history_of(evidence, str(packet["round"]), str(packet["person"]), until)
        content = packet_content(history, str(packet["for"]))
    except LikewiseError as error:
        return [str(error)]
    # Without features or the seed, what needs them cannot be compared.
    personal = {"features", "payload", "objections", "comments", "notices", "appeals"}
    unknown = {"key", "given", "proof"} | (personal if evidence.payloads is None else set())
    if history.policy is None:
        unknown |= {"reasons", "letter", "chance_from"}
    if content["erased"] != packet["erased"] or _erased_since(evidence, packet):
        unknown |= personal | {"reasons", "letter"}
    return [
        f"{name!r} does not follow from the ledger."
        for name in {**content, **packet}
        if name not in unknown
        and content.get(name) != _as_known(packet.get(name), content.get(name))
    ]


def _as_known(part: Any, derived: Any) -> Any:
    """Return a part of a packet without the words of reasons that were erased since."""
    if isinstance(part, list) and isinstance(derived, list) and len(part) == len(derived):
        return [_as_known(item, other) for item, other in zip(part, derived, strict=True)]
    if not isinstance(part, Mapping) or not isinstance(derived, Mapping):
        return part
    gone = {name for name in ("reason", "override_reason") if derived.get(name, "") is None}
    return {name: None if name in gone else value for name, value in part.items()}


def _erased_since(evidence: Evidence, packet: Mapping[str, Any]) -> bool:
    """Tell if somebody in the round was erased after the packet was given."""
    erasures = [
        record.body.get("round", record.body.get("of_round")) for record in evidence.records
        if record.seq > packet["until"] and record.kind in ("erased", "reasons-erased")
    ]  # fmt: skip
    return packet["round"] in erasures


OUTCOMES = {
    "report": N_("The panel reported pairs of this round as treated unlike though similar."),
    "quiet": N_("The panel reported none of the pairs that it was asked about."),
    "unaudited": N_("Too few of the panel responded, so it said nothing about this round."),
}
SEATS = {
    "asked": N_("has not responded so far"), "finished": N_("has responded"),
    "absent": N_("did not respond"), "unasked": N_("was not asked"),
}  # fmt: skip


def packet_words(packet: Mapping[str, Any]) -> str:
    """Say what a packet holds, in the language in use."""
    reasons = [
        Reason(**{name: value for name, value in reason.items() if name != "words"})
        for reason in packet["reasons"]
    ]
    letter = packet["letter"]
    if letter and language.current() != "en":  # the packet has it in English
        letter = rejection(packet["decision"]["score"], reasons)
    return document_template("packet.txt").render(
        packet={"comments": (), **packet}, reasons=reasons, letter=letter, OUTCOMES=OUTCOMES,
        SEATS=SEATS, _=_, ngettext=language.ngettext, number=number,
        rule_words=language.rule_words, value_words=language.value_words, when=_when,
        verdict=lambda approved: _("approved") if approved else _("rejected"),
        percent=lambda chance: f"{number(100 * chance, 1)} %",
        other=lambda name: _("person %(letters)s", letters=name.removeprefix("person ")),
    )  # fmt: skip


def _when(at: str) -> str:
    """Return a time as people write it, with months as numbers in every language.

    >>> _when("2026-03-01T12:05:00.250000Z")
    'on 2026-03-01 at 12:05 UTC'
    """
    time = parse(at)
    return _("on %(day)s at %(time)s UTC", day=f"{time:%Y-%m-%d}", time=f"{time:%H:%M}")
