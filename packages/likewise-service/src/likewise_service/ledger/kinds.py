"""Every kind of record: what its body says, who may add it, and how replay checks it.

The kinds that are events of the learner have the events themselves as bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, dataclass_transform

from pydantic import TypeAdapter, ValidationError

from likewise.errors import LikewiseError
from likewise.learner.events import Audited, Closed, Decided, Labelled, Overridden
from likewise.panel.objections import Pair
from likewise_service.errors import due_after, passed
from likewise_service.ledger.records import FORMAT, LedgerBroken, Record

if TYPE_CHECKING:
    from likewise_service.dockets.round import Round
    from likewise_service.verify.replay import Replay


# The class of every kind of record, by its name in the ledger.
KINDS: dict[str, type[Any]] = {}
# The roles that may add a record of a kind; the service and whoever is at the machine may add all.
ROLES: dict[str, frozenset[str]] = {}


def register(kind: str, body: type[Any], by: str) -> None:
    """Make a class the body of a kind of record, which the roles in ``by`` may add."""
    KINDS[kind], ROLES[kind] = body, frozenset(by.split())


@dataclass_transform(frozen_default=True)
class OwnBody:
    """A body that is no event of the learner, or part of one."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, *, kind: str = "", by: str = "") -> None:
        dataclass(frozen=True)(cls)
        if kind:
            cls.kind = kind
            register(kind, cls, by)

    def check(self, replay: Replay) -> None:
        """Compare the record with what follows from those before it.

        Of kinds that do not say how, the projection and the fold judge alone.
        """


class MemberAct(OwnBody):
    """Something that a member of the panel says, and nobody else can say for them."""


class EvidenceBody(OwnBody):
    """A record about the governance of the docket."""


class KeyPublished(EvidenceBody, kind="key-published", by="operator"):
    """The installation signs with another key from now on.

    ``signature`` is that of the key before it (``replaces``, by id) over the new one; a key that
    was ``compromised`` signs nothing, and is not believed any more from this record on.
    """

    key: str
    replaces: str | None
    signature: str | None
    compromised: bool


class TokenIssued(EvidenceBody, kind="token-issued", by="operator client auditor regulator"):
    """Somebody was given a token: ``seat`` is the one docket that it is for, if it is for one."""

    token: str
    role: str
    name: str
    seat: str | None
    created: str


class TokenEnded(EvidenceBody, kind="token-ended", by="operator"):
    """A token was revoked."""

    token: str


class SignedIn(EvidenceBody, kind="signed-in", by="operator auditor regulator"):
    """Somebody signed in to the pages, with a token or by their organisation's sign-on."""

    sign_in: str
    token: str
    role: str
    name: str
    issuer: str | None
    subject: str | None
    until: str


Introduction = TokenIssued | SignedIn


class SignedOut(EvidenceBody, kind="signed-out", by="operator auditor regulator"):
    """A sign-in ended before its time."""

    sign_in: str


class MemberKeySet(EvidenceBody, MemberAct, kind="member-key-set", by="auditor"):
    """A member signs with that key from now on, and says nothing without it.

    ``proof`` is the new key's own signature, ``consent`` that of the key before it.
    """

    member: str
    key: str
    proof: str
    consent: str | None


class Signed(EvidenceBody, kind="signed", by="auditor"):
    """A member's own signature over what the next record says, in the words of their review."""

    member: str
    key: str
    review: str
    act: Literal["flag", "withdraw", "finish", "reopen"]
    pair: tuple[str, str] | None
    reason: str | None
    at: str
    signature: str


class Anchored(EvidenceBody, kind="anchored"):
    """A receipt was anchored outside; ``proof`` is an authority's time-stamp, if there is one."""

    target: str
    receipt: str
    fixed: str
    proof: str | None


class AnchorFailed(EvidenceBody, kind="anchor-failed"):
    """A receipt could not be anchored; the service tries again until it can."""

    target: str
    why: str


class RetentionSet(EvidenceBody, kind="retention-set", by="operator"):
    """How many days after a round has closed features and reasons are kept; None: always."""

    features: float | None
    reasons: float | None


class HoldPlaced(EvidenceBody, kind="hold-placed", by="operator"):
    """A legal hold: nothing of one round, or of all of them, is erased as long as it lasts."""

    hold: str
    of_round: str | None
    person: str | None
    why: str


class HoldLifted(EvidenceBody, kind="hold-lifted", by="operator"):
    """A legal hold is over."""

    hold: str

    def check(self, replay: Replay) -> None:
        """The hold was placed."""
        if self.hold not in replay.projection.governance.holds:
            replay.differ("erasure", f"The hold {self.hold!r} is lifted", "one that exists")


class ReasonsErased(EvidenceBody, kind="reasons-erased", by="operator"):
    """The words of all reasons in a round were erased, as their time had ended."""

    of_round: str

    def check(self, replay: Replay) -> None:
        """The words are gone."""
        replay.reasonless.add(self.of_round)
        round_ = replay.projection.find(self.of_round)
        for digest in (*round_.reasons, *round_.explanations.values()) if round_ else ():
            if digest in (replay.evidence.payloads or {}):
                replay.differ("erasure", "The words of a reason are still there", "erased")


class PacketGiven(EvidenceBody, kind="packet-given", by="operator client regulator"):
    """Somebody was given the file of a decision; ``digest`` is the hash of it."""

    of_round: str
    person: str
    digest: str


Body = OwnBody | Decided | Audited | Labelled | Overridden | Closed


class DocketOpened(OwnBody, kind="docket-opened", by="operator"):
    """A docket begins: all of its settings, a commitment to the seed, the key of its receipts."""

    spec: dict[str, Any]
    seed_commitment: str
    algorithm: str
    format: str
    key: str

    def check(self, replay: Replay) -> None:
        """This version of the algorithm can recompute it."""
        if self.algorithm != replay.algorithm:
            replay.differ("learner", f"It is by {self.algorithm}", replay.algorithm)


class MemberJoined(OwnBody, kind="member-joined", by="operator"):
    """Somebody joins the panel."""

    member: str

    def check(self, replay: Replay) -> None:
        """Members join once."""
        replay.check_panel((*replay.projection.members, self.member))


class MemberLeft(MemberJoined, kind="member-left", by="operator"):
    """Somebody leaves the panel."""

    def check(self, replay: Replay) -> None:
        """Members leave once, and the rule makes sense without them."""
        members = list(replay.projection.members)
        members.remove(self.member)
        replay.check_panel(members)


class RuleChanged(OwnBody, kind="rule-changed", by="operator"):
    """The panel has another rule."""

    rule: str

    def check(self, replay: Replay) -> None:
        """The rule makes sense for the members."""
        replay.check_panel(replay.projection.members, self.rule)


class GuidelinesSet(OwnBody, kind="guidelines-set"):
    """Words for the panel's members about what to look for, from now on."""

    text: str


class LearnerGiven(OwnBody, kind="learner-given"):
    """An audit-only docket gets a learner, which decides from the next record on."""

    learner: dict[str, Any]


class SeedRevealed(OwnBody, kind="seed-revealed", by="operator"):
    """The seed is published, with the salt of its commitment."""

    seed: str
    salt: str

    def check(self, replay: Replay) -> None:
        """The seed is the one committed to."""
        if not replay.is_committed(int(self.seed), bytes.fromhex(self.salt)):
            replay.differ("seed", "Another seed was published", "the one committed to")


class PersonArrived(OwnBody):
    """Somebody who arrived, and the digest of their features."""

    id: str
    digest: str


class PeopleArrived(OwnBody, kind="arrived", by="operator client"):
    """A batch of people arrives; the first of a round opens it."""

    round: str
    people: tuple[PersonArrived, ...]

    def check(self, replay: Replay) -> None:
        """Nobody joins a sealed round, or after the seed was published; payloads are theirs."""
        round_ = replay.projection.find(self.round)
        if round_ is not None and round_.sealed is not None:
            replay.differ("order", f"People join the sealed round {self.round}", "nobody")
        if replay.projection.revealed is not None:
            replay.differ("order", "People arrive after the seed was published", "nobody")
        for person in self.people:
            if (self.round, person.id) not in replay.surrogates:
                replay.payload(person.digest, f"The features of {person.id!r}")
            elif person.digest in (replay.evidence.payloads or {}):
                remains = f"The features of {person.id!r}, who was erased, are still there"
                replay.differ("erasure", remains, "erased")
        replay.expect("decided", self.round)


class RoundSealed(OwnBody, kind="sealed", by="operator client"):
    """Nobody else will arrive; the lottery, the panel, its rule and its time are fixed."""

    round: str
    members: tuple[str, ...]
    rule: str
    drawn: bool
    due: str | None

    def check(self, replay: Replay) -> None:
        """Lottery, members, rule and deadline are those that follow."""
        projection, round_ = replay.projection, replay.projection.round(self.round)
        if round_.sealed is not None:
            replay.differ("order", f"Round {round_.id} is sealed again", "sealed once")
        draw = replay.draw(round_.number - projection.decided_elsewhere)
        if draw not in (None, self.drawn):
            replay.differ("lottery", f"drawn: {self.drawn}", f"drawn: {draw}")
        expected: dict[str, object] = {
            "members": tuple(projection.members) if self.drawn else (),
            "rule": projection.rule,
            "due": due_after(replay.record.at, projection.settings.deadline),
        }
        for name, value in expected.items():
            recorded = getattr(self, name)
            if recorded != value:
                replay.differ("panel", f"{name}: {recorded}", f"{name}: {value}")
        if not self.members:
            replay.expect("audited", round_.id)


class OverrideExplained(OwnBody, kind="override-explained", by="operator client"):
    """The reason of the override in the next record; ``reason`` is the digest of its words."""

    round: str
    person: str
    reason: str


class Erased(OwnBody, kind="erased", by="operator"):
    """Somebody was erased; ``digest`` is that of a surrogate, if anything remains."""

    round: str
    person: str
    digest: str | None

    def check(self, replay: Replay) -> None:
        """No hold kept them, and the surrogate is what was recorded, or there is none."""
        erased = f"{self.person!r} was erased"
        hold = replay.projection.governance.held(self.round, self.person)
        if hold is not None:
            replay.differ("erasure", erased, f"held by {hold!r}")
        if self.person not in replay.projection.round(self.round).people:
            replay.differ("erasure", erased, "somebody of the round")
        if self.digest is None:
            replay.findings.wholly.append((self.round, self.person))
        else:
            replay.findings.erased.append((self.round, self.person))
            replay.payload(self.digest, f"The surrogate's features for {self.person!r}")


class Withdrawn(MemberAct, kind="withdrawn", by="auditor"):
    """A member takes an objection back."""

    round: str
    member: str
    pair: tuple[str, str]

    def check(self, replay: Replay) -> None:
        """By a member, before the end, on a pair that can be reported."""
        round_ = _in_audit(self, replay)
        _check_pair(self.pair, round_, replay)


class Flagged(Withdrawn, kind="flagged", by="auditor"):
    """A member flags a pair; ``reason`` is the digest of the words, if there are any."""

    reason: str | None

    def check(self, replay: Replay) -> None:
        """As its withdrawal; whether its words are there is asked at the end."""
        super().check(replay)
        if self.reason is not None:
            replay.reasons[self.reason] = replay.record


class Finished(MemberAct, kind="finished", by="auditor"):
    """A member finishes the review of a round."""

    round: str
    member: str

    def check(self, replay: Replay) -> None:
        """The seat was as it has to be before; the last one ends the audit."""
        round_ = _in_audit(self, replay)
        before, after = ("finished", "asked") if self.kind == "reopened" else ("asked", self.kind)
        seat = round_.seats[self.member]
        if seat != before:
            replay.differ("panel", f"{self.member!r} was {seat}", before)
        if "asked" not in {**round_.seats, self.member: after}.values():
            replay.expect("audited", round_.id)


class Reopened(Finished, kind="reopened", by="auditor"):
    """A member takes a review back."""


class Absent(Finished, kind="absent"):
    """A member did not review a round in time."""

    def check(self, replay: Replay) -> None:
        """The time was over."""
        super().check(replay)
        due = replay.projection.round(self.round).due
        if not passed(due, replay.record.at):
            replay.differ("panel", f"{self.member!r} is absent already", f"due at {due}")


class RepeatedObjection(OwnBody):
    """An objection to a pair of a round that is shown again."""

    pair: tuple[str, str]
    reason: str | None


class Repeated(MemberAct, kind="repeated", by="auditor"):
    """All that a member says so far of a round that is shown again, and if they have finished."""

    member: str
    round: str
    objections: tuple[RepeatedObjection, ...]
    finished: bool

    def check(self, replay: Replay) -> None:
        """Only who has reviewed a round before can be shown it again, by the lottery."""
        round_ = replay.projection.round(self.round)
        if round_.seats.get(self.member) != "finished":
            replay.differ("panel", "Somebody reviewed it again", "somebody who had before")
        for objection in self.objections:
            _check_pair(objection.pair, round_, replay)
        replay.draw_repeat(self)


def _in_audit(body: Finished | Withdrawn, replay: Replay) -> Round:
    """Return the round of which a member speaks: seated, in time, and before the end."""
    round_, member = replay.projection.round(body.round), body.member
    if member not in round_.seats:
        replay.differ("panel", f"{member!r} speaks", "a member of the round's panel")
    if passed(round_.due, replay.record.at) and body.kind != "absent":
        replay.differ("panel", f"{member!r} speaks at {replay.record.at}", f"by {round_.due}")
    if round_.outcome is not None:
        replay.differ("panel", f"{member!r} speaks after the audit", "nobody")
    return round_


def _check_pair(pair: tuple[str, str], round_: Round, replay: Replay) -> None:
    if not round_.can_report(Pair.of(pair)):
        replay.differ("panel", f"An objection to {list(pair)}", "a pair to ask about")


def _check_audited(body: Audited, replay: Replay) -> None:
    """The outcome follows from who was there, what they said, rule and quorum."""
    round_ = replay.projection.round(body.round)
    if round_.outcome is not None:
        replay.differ("order", f"Round {round_.id} is audited again", "audited once")
    if "asked" in round_.seats.values():
        expected = Audited(round_.id, "unaudited")
        replay.findings.ended += body == expected
    else:
        expected = round_.conclusion(replay.projection.settings.quorum)
    replay.findings.audits += 1
    if body != expected:
        replay.differ("audit", _outcome(body), _outcome(expected))


def _outcome(audited: Audited) -> str:
    reported = "; ".join(" over ".join(pair) for pair in audited.pairs)
    return f"outcome {audited.outcome}" + (f" ({reported})" if reported else "")


def _check_once(repeated: bool, replay: Replay) -> None:
    if repeated:
        replay.differ("order", f"{replay.record.kind!r} is there twice", "there once")


def _check_event(body: Body, replay: Replay) -> None:
    """Every decision is taken again, an outcome follows, and the others are there once."""
    match body:
        case Decided():
            replay.decide_again(body)
        case Audited():
            _check_audited(body, replay)
        case Labelled():
            _check_once(body.person in replay.projection.round(body.round).labels, replay)
        case Overridden():
            _check_once(body.person in replay.projection.round(body.round).overrides, replay)
        case Closed():
            _check_once(replay.projection.round(body.round).closed is not None, replay)


register("decided", Decided, by="operator client")
register("audited", Audited, by="operator client auditor")
register("labelled", Labelled, by="operator client")
register("overridden", Overridden, by="operator client")
register("closed", Closed, by="operator client auditor")


def check_body(body: Body, replay: Replay) -> None:
    """Compare a record with what follows from those before it."""
    if isinstance(body, OwnBody):
        body.check(replay)
    else:
        _check_event(body, replay)


_NAMES = {body: kind for kind, body in KINDS.items()}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(body) for kind, body in KINDS.items()}
_VALIDATORS = {kind: adapter.validator for kind, adapter in _ADAPTERS.items()}


def read_body(record: Record) -> Body:
    """Return the body of a record; one that says more, less or something else is refused."""
    validator = _VALIDATORS.get(record.kind)
    if validator is None:
        message = f"{record.kind!r} is no kind of record that {FORMAT} has."
        raise LedgerBroken(record.docket, record.seq, message)
    try:
        # As JSON, in which a tuple is a list; nothing is converted, and nothing is passed over.
        body: Body = validator.validate_json(record.body_text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "its body"
        message = f"{field} of {record.kind!r}: {first['msg']}."
        raise LedgerBroken(record.docket, record.seq, message) from error
    except LikewiseError as error:
        raise LedgerBroken(record.docket, record.seq, str(error)) from error
    return body


def readable(record: Record) -> Body | LedgerBroken:
    """Return the body of a record, or the error for it: for whoever goes on after that."""
    try:
        return read_body(record)
    except LedgerBroken as error:
        return error


def write_body(body: Body) -> tuple[str, dict[str, Any]]:
    """Return the kind of a body, and its JSON.

    >>> write_body(Labelled("r1", "ann", 1))
    ('labelled', {'round': 'r1', 'person': 'ann', 'label': 1})
    """
    kind = _NAMES[type(body)]
    plain: dict[str, Any] = _ADAPTERS[kind].dump_python(body, mode="json")
    return kind, plain


T = TypeVar("T")
W = TypeVar("W")


@dataclass(frozen=True)
class Actor:
    """Somebody who acts; ``introduction`` are the records that a ledger needs of them first."""

    id: str
    introduction: tuple[Introduction, ...] = ()

    @classmethod
    def with_token(cls, issued: TokenIssued) -> Actor:
        """Return the owner of a token.

        >>> Actor.with_token(TokenIssued("7f", "client", "bank", "loans", "2026-03-01")).id
        'token:7f'
        """
        return cls(f"token:{issued.token}", (issued,))

    @classmethod
    def signed_in(cls, issued: TokenIssued, sign_in: SignedIn) -> Actor:
        """Return somebody at a page."""
        return cls(f"sign-in:{sign_in.sign_in}", (issued, sign_in))


MACHINE, SERVICE = Actor("machine"), Actor("service")
_CURRENT: ContextVar[Actor] = ContextVar("likewise_actor", default=MACHINE)


def current_actor() -> Actor:
    """Return who acts now."""
    return _CURRENT.get()


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Let somebody act within the block."""
    before = _CURRENT.set(actor)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def done_by(actor: Actor, task: Callable[[W], T]) -> Callable[[W], T]:
    """Return the same task, done by somebody, in whatever thread it is called."""

    def act(worker: W) -> T:
        with acting(actor):
            return task(worker)

    return act
