"""Every kind of record: what its body says and does, who may add it, and how replay checks it.

A kind that is an event of the learner is a subclass of that event.
"""

# ruff: noqa: ARG002 - the methods of all kinds have the same parameters

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, dataclass_transform

from pydantic import TypeAdapter, ValidationError

from likewise.errors import LikewiseError
from likewise.learner import events, fold
from likewise.learner.attention import Asking
from likewise.learner.settings import ALGORITHM, Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import to_units
from likewise.panel.objections import Pair
from likewise.panel.panels import panel_name
from likewise.panel.turns import Turns
from likewise_service.clock import due_after, is_moment, later, passed, seconds_between
from likewise_service.ledger import records
from likewise_service.ledger.notes import Checkpoint, origin_of
from likewise_service.ledger.records import FORMAT, LedgerBroken, Record
from likewise_service.ledger.signatures import Act, Flag, PublicKey, act_statement
from likewise_service.scope import Scoped

if TYPE_CHECKING:
    from likewise_service.dockets.projection import Projection
    from likewise_service.dockets.round import Round
    from likewise_service.dockets.seating import Seating
    from likewise_service.verify.replay import Replay


# The class of every kind of record, by its name in the ledger.
KINDS: dict[str, type[Body]] = {}
# By kind, the roles that may add a record themselves (MAY), and besides them those whose other acts
# may entail one (ROLES). Whoever is at the machine may add all. Routes and checks use these.
MAY: dict[str, frozenset[str]] = {}
ROLES: dict[str, frozenset[str]] = {}
# Payloads by digest, and the digest of the surrogate of everybody who was erased, if there is one.
Contents = Mapping[str, Mapping[str, object]]
Surrogates = Mapping[tuple[str, str], str | None]


@dataclass(frozen=True)
class Context:
    """Where a record stands: the ``members`` of the panel and the record's ``round`` before it,
    None if it is not open; the learner's ``state`` after it, None if features are not known.
    """

    members: Sequence[str]
    round: Round | None
    state: State | None


@dataclass_transform(frozen_default=True)
class Body:
    """The body of a record; the roles in ``by`` add it, or those in ``after`` as a consequence."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, *, kind: str = "", by: str = "", after: str = "") -> None:
        dataclass(frozen=True)(cls)
        if kind:
            cls.kind = kind
            KINDS[kind], MAY[kind] = cls, frozenset(by.split())
            ROLES[kind] = MAY[kind] | frozenset(after.split())

    def apply(self, projection: Projection, record: Record) -> None:
        """Change what is known of the docket."""

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        """Return the learner after the record."""
        return state

    def digests(self, surrogates: Surrogates) -> list[str | None]:
        """Return the digests of the payloads that the learner needs."""
        return []

    def tally(self, turns: Turns, context: Context) -> Turns:
        """Return members' turns after the record."""
        return turns

    def check(self, replay: Replay) -> None:
        """Compare the record with those before it, beyond what projection and fold refuse."""


class RoundBody(Body):
    """A record about a round."""

    round: str

    def after(self, round_: Round, record: Record) -> Round:
        """Return the round after the record."""
        raise NotImplementedError

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        """Count the record among the docket's figures."""

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        """Let reviews begin and end."""


class KeyPublished(Body, kind="key-published", by="operator"):
    """The installation signs with another key from now on.

    ``signature`` is that of the key before it (``replaces``, by id) over the new one; a key that
    was ``compromised`` signs nothing, and is not believed any more from this record on.
    """

    key: str
    replaces: str | None
    signature: str | None
    compromised: bool

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.key = self.key


class TokenBody(Body):
    """A record about a token; unless it says otherwise, the token's end."""

    token: str

    @property
    def actor(self) -> str:
        return f"token:{self.token}"

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.actors.pop(self.actor, None)


class TokenIssued(
    TokenBody, kind="token-issued", by="operator", after="client auditor regulator service"
):
    """Somebody was given a token: ``seat`` is the one docket that it is for, if it is for one."""

    role: str
    name: str
    seat: str | None
    created: str
    until: ClassVar[None] = None

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.actors[self.actor] = self


class TokenEnded(TokenBody, kind="token-ended", by="operator"):
    """A token was revoked."""


class SignInBody(Body):
    """A record about a sign-in to the pages; unless it says otherwise, the sign-in's end."""

    sign_in: str

    @property
    def actor(self) -> str:
        return f"sign-in:{self.sign_in}"

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.actors.pop(self.actor, None)


class SignedIn(SignInBody, kind="signed-in", by="operator auditor regulator"):
    """Somebody signed in to the pages, with a token or by their organisation's sign-on."""

    token: str
    role: str
    name: str
    issuer: str | None
    subject: str | None
    until: str

    def as_of(self, at: str, clock: str) -> SignedIn:
        """Return the same in a ledger's own time ``at``, which may be ahead of the clock."""
        return replace(self, until=later(at, max(0.0, seconds_between(clock, self.until))))

    def apply(self, projection: Projection, record: Record) -> None:
        actors = projection.governance.actors
        for name, actor in list(actors.items()):
            if isinstance(actor, SignedIn) and actor.until < record.at:
                del actors[name]
        actors[self.actor] = self


Introduction = TokenIssued | SignedIn


class SignedOut(SignInBody, kind="signed-out", by="service"):
    """A sign-in ended before its time."""


@dataclass(frozen=True)
class EnrolledKey:
    """A member's key: on which ``device``, since when, and if it signs, waits or is revoked."""

    key: str
    device: str
    at: str
    state: Literal["signs", "waits", "revoked"]

    @property
    def public(self) -> PublicKey:
        return PublicKey(self.key)


# The keys that members have had, by name and the key's id. Who is in it says nothing unsigned.
MemberKeys = dict[str, dict[str, EnrolledKey]]


def signing_keys(keys: MemberKeys, member: str) -> dict[str, PublicKey]:
    """Return the keys that speak for a member now, by id."""
    listed = keys.get(member, {}).items()
    return {key_id: key.public for key_id, key in listed if key.state == "signs"}


class MemberKeyBody(Body):
    """A record about one key of a member."""

    member: str

    def change(self, keys: MemberKeys, at: str) -> None:
        raise NotImplementedError

    def apply(self, projection: Projection, record: Record) -> None:
        self.change(projection.governance.keys, record.at)


class MemberKeyEnrolled(MemberKeyBody, kind="member-key-enrolled", by="auditor"):
    """A member has another key, as its own signature shows (``proof``).

    It signs from now on if they have no other that does. Otherwise it waits for one to agree.
    """

    key: str
    device: str
    proof: str

    def change(self, keys: MemberKeys, at: str) -> None:
        state: Literal["signs", "waits"] = "waits" if signing_keys(keys, self.member) else "signs"
        enrolled = EnrolledKey(self.key, self.device, at, state)
        keys.setdefault(self.member, {})[enrolled.public.id] = enrolled


class MemberKeyAgreed(MemberKeyBody, kind="member-key-agreed", by="auditor"):
    """A key that signs for the member agrees (``consent``) to one that waited (``agreed``)."""

    agreed: str
    by_key: str
    consent: str

    def change(self, keys: MemberKeys, at: str) -> None:
        listed = keys[self.member]
        listed[self.agreed] = replace(listed[self.agreed], state="signs")


class MemberKeyRevoked(MemberKeyBody, kind="member-key-revoked", by="auditor"):
    """A member's key has ended; ``signature`` is one of their keys', None if they have none."""

    revoked: str
    signature: str | None

    def change(self, keys: MemberKeys, at: str) -> None:
        listed = keys[self.member]
        listed[self.revoked] = replace(listed[self.revoked], state="revoked")


# Seconds for which the ledger remembers what was signed; nothing older is accepted.
SIGNED_SECONDS = 900.0


class Signed(Body, kind="signed", by="auditor"):
    """A member's own signature over what the next record says, in the words of their review.

    The fields are those of :func:`~likewise_service.ledger.signatures.act_statement`.
    """

    member: str
    key: str
    review: str
    shown: str
    act: Act
    pair: tuple[str, str] | None
    reason: str | None
    limit: int | None
    flags: tuple[Flag, ...] | None
    at: str
    signature: str

    def statement(self, docket: str) -> bytes:
        return act_statement(
            docket, self.member, self.review, self.shown, self.act, self.pair, self.reason,
            self.limit, self.flags, self.at,
        )  # fmt: skip

    @property
    def subject(self) -> str:
        """The review, pair or comments that it is about; only later acts on them are accepted."""
        about = ("comment",) if self.act == "comment" else sorted(self.pair or ())
        return ".".join((self.review, *about))

    def remember(self, signed: dict[str, str]) -> None:
        """Note when it was signed, and forget what is too old to be accepted anyway."""
        ended = later(self.at, -SIGNED_SECONDS)
        while signed and signed[next(iter(signed))] < ended:
            del signed[next(iter(signed))]
        signed.pop(self.subject, None)
        signed[self.subject] = self.at

    def apply(self, projection: Projection, record: Record) -> None:
        self.remember(projection.governance.signed)


@dataclass(frozen=True)
class Ahead:
    """The seconds by which a ledger's time was ahead of a machine's clock, at a record's time."""

    at: str = ""
    seconds: float = 0.0

    def by(self, at: str) -> float:
        """Return how far it can be ahead at a later record; the clock is twice as fast meanwhile.

        >>> ahead = Ahead("2026-03-01T12:00:00Z", 60.0)
        >>> ahead.by("2026-03-01T12:00:59.000000Z"), ahead.by("2026-03-01T12:01:01.000000Z")
        (60.0, 0.0)
        """
        return self.seconds if self.seconds and at <= later(self.at, self.seconds) else 0.0


class ClockBehind(Body, kind="clock-behind", by="service"):
    """The ledger's time is ahead of a machine's ``clock``: some clock was, or this one is wrong."""

    clock: str

    def ahead(self, record: Record) -> Ahead:
        return Ahead(record.at, max(0.0, seconds_between(self.clock, record.at)))

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.ahead = self.ahead(record)


@dataclass
class AnchorState:
    """The last receipt anchored at a target, when, and why the last attempt failed, if it did."""

    seq: int = 0
    fixed: str = ""
    failure: str = ""


class Anchored(Body, kind="anchored", by="service"):
    """A receipt was anchored outside; ``proof`` is an authority's time-stamp, if there is one."""

    target: str
    receipt: str
    fixed: str
    proof: str | None

    def apply(self, projection: Projection, record: Record) -> None:
        seq = Checkpoint.parse(self.receipt).size
        projection.governance.anchors[self.target] = AnchorState(seq, self.fixed)


class AnchorFailed(Body, kind="anchor-failed", by="service"):
    """A receipt could not be anchored; the service tries again until it can."""

    target: str
    why: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.anchors.setdefault(self.target, AnchorState()).failure = self.why


class RetentionSet(Body, kind="retention-set", by="operator"):
    """How many days after a round has closed features and reasons are kept; None: always."""

    features: float | None
    reasons: float | None

    def apply(self, projection: Projection, record: Record) -> None:
        governance = projection.governance
        governance.features_days, governance.reasons_days = self.features, self.reasons


class HoldPlaced(Body, kind="hold-placed", by="operator"):
    """A legal hold: nothing of one round, or of all of them, is erased as long as it lasts."""

    hold: str
    of_round: str | None
    person: str | None
    why: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.holds[self.hold] = self


class HoldLifted(Body, kind="hold-lifted", by="operator"):
    """A legal hold is over."""

    hold: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.governance.holds.pop(self.hold, None)

    def check(self, replay: Replay) -> None:
        if self.hold not in replay.projection.governance.holds:
            replay.differ("erasure", f"The hold {self.hold!r} is lifted", "one that exists")


class ReasonsErased(Body, kind="reasons-erased", by="operator", after="service"):
    """The words of all reasons in a round were erased, as their time had ended."""

    of_round: str

    def check(self, replay: Replay) -> None:
        replay.reasonless.add(self.of_round)
        hold = replay.projection.governance.held(self.of_round)
        if hold is not None:
            replay.differ("erasure", "The words of reasons were erased", f"held by {hold!r}")
        round_ = replay.projection.find(self.of_round)
        for digest in round_.reasons_about() if round_ else ():
            there = digest in (replay.evidence.payloads or {})
            # A member may have written the same once more, and signed the same salt.
            if there and not any(digest in later.body_text for later in replay.following):
                replay.differ("erasure", "The words of a reason are still there", "erased")


class PacketGiven(Body, kind="packet-given", by="operator client regulator"):
    """Somebody was given the file of a decision; ``digest`` is the hash of it."""

    of_round: str
    person: str
    digest: str


class DocketOpened(Body, kind="docket-opened", by="operator"):
    """A docket begins: all of its settings, a commitment to the seed, the key of its receipts."""

    spec: dict[str, Any]
    seed_commitment: str
    algorithm: str
    format: str
    key: str

    def apply(self, projection: Projection, record: Record) -> None:
        if self.format != FORMAT:
            message = f"it has the format {self.format!r}, not {FORMAT!r}."
            raise LedgerBroken(projection.name, record.seq, message)
        projection.governance.key = self.key
        projection.governance.origin = origin_of(projection.name, PublicKey(self.key))
        projection.open(self)

    def check(self, replay: Replay) -> None:
        if self.algorithm != ALGORITHM:
            replay.differ("learner", f"It is by {self.algorithm}", ALGORITHM)


class MemberJoined(Body, kind="member-joined", by="operator"):
    """Somebody joins the panel."""

    member: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.members.append(self.member)

    def tally(self, turns: Turns, context: Context) -> Turns:
        return turns.joined(self.member, context.members)

    def check(self, replay: Replay) -> None:
        replay.check_panel((*replay.projection.members, self.member))


class MemberLeft(Body, kind="member-left", by="operator"):
    """Somebody leaves the panel."""

    member: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.members.remove(self.member)

    def check(self, replay: Replay) -> None:
        members = list(replay.projection.members)
        members.remove(self.member)
        replay.check_panel(members)


class RuleChanged(Body, kind="rule-changed", by="operator"):
    """The panel has another rule."""

    rule: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.rule = self.rule

    def check(self, replay: Replay) -> None:
        replay.check_panel(replay.projection.members, self.rule)


class GuidelinesSet(Body, kind="guidelines-set", by="operator"):
    """Words for the panel's members about what to look for, from now on."""

    text: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.guidelines = self.text


class GoldPair(Body):
    """Two made-up people, the favoured first, with the right response and the reason for it.

    ``features`` are encoded, in the order of the schema; ``scores`` are in units.
    """

    features: tuple[tuple[float | None, ...], tuple[float | None, ...]]
    scores: tuple[int, int]
    response: Literal["flag", "fine"]
    why: str

    @property
    def id(self) -> str:
        return records.sha256(records.canonical(asdict(self)))[:12]


class PracticeSet(Body, kind="practice-set", by="operator"):
    """The pairs that members practise with from now on; without any, the service's own."""

    pairs: tuple[GoldPair, ...]

    def apply(self, projection: Projection, record: Record) -> None:
        projection.practice = self.pairs


# The days within which somebody has to reconsider, where a docket does not say otherwise.
APPEAL_DAYS = 30.0


class NoticesSet(Body, kind="notices-set", by="operator"):
    """The notices to applicants, and the days within which an appeal is decided.

    Everybody gets ``before`` before the decision; those who are rejected get ``after``.
    """

    before: str
    after: str
    days: float

    def apply(self, projection: Projection, record: Record) -> None:
        projection.notices = self


class LearnerGiven(Body, kind="learner-given", by="operator"):
    """An audit-only docket gets a learner, which decides from the next record on."""

    learner: dict[str, Any]

    def apply(self, projection: Projection, record: Record) -> None:
        settings = replace(projection.settings, learner=self.learner, audit_only=False)
        projection.spec, projection.audit_only = settings, False
        projection.learner_from = record.seq
        projection.decided_elsewhere = projection.counts["rounds"]

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        return State.start(Learner.from_spec({**self.learner, "seed": state.learner.seed}))

    def check(self, replay: Replay) -> None:
        replay.projection.with_learner(self.learner)


class SeedRevealed(Body, kind="seed-revealed", by="operator"):
    """The seed is published, with the salt of its commitment."""

    seed: str
    salt: str

    def apply(self, projection: Projection, record: Record) -> None:
        projection.revealed = self

    def check(self, replay: Replay) -> None:
        if not replay.is_committed(int(self.seed), bytes.fromhex(self.salt)):
            replay.differ("seed", "Another seed was published", "the one committed to")


class PersonArrived(Body):
    """Somebody who arrived, and the digest of their features."""

    id: str
    digest: str


class PeopleArrived(RoundBody, kind="arrived", by="operator client"):
    """A batch of people arrives; the first of a round opens it."""

    people: tuple[PersonArrived, ...]

    def after(self, round_: Round, record: Record) -> Round:
        people = {person.id: person.digest for person in self.people}
        return round_.changed(people={**round_.people, **people})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.counts["people"] += len(now.people) - len(before.people)

    def digests(self, surrogates: Surrogates) -> list[str | None]:
        return [surrogates.get((self.round, p.id), p.digest) for p in self.people]

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        people = []
        for person, digest in zip(self.people, self.digests(surrogates), strict=True):
            if digest is None or digest not in contents:
                raise LikewiseError(
                    f"The features of {person.id!r} in round {self.round!r} are not in the store."
                )
            people.append(events.Person(person.id, records.features_of(contents[digest])))
        return fold.apply(state, events.Arrived(self.round, tuple(people)))

    def check(self, replay: Replay) -> None:
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


@lru_cache(maxsize=256)  # a docket has few panels, and naming one parses its rule
def name_panel(members: tuple[str, ...], rule: str) -> str:
    """Return the name of a panel, by which the learner tells it from others."""
    return panel_name(members, rule) if members else "nobody"


class RoundSealed(RoundBody, kind="sealed", by="operator client"):
    """Nobody else will arrive; what is asked, the panel, its rule and its time are fixed.

    ``members`` sit on the panel, whether or not it looks at this round. ``in_turn`` says that they
    are asked one after another, each by a record of their own.
    """

    members: tuple[str, ...]
    rule: str
    asking: Asking
    due: str | None
    in_turn: bool

    @property
    def panel(self) -> str:
        return name_panel(self.members, self.rule)

    @property
    def seated(self) -> tuple[str, ...]:
        """The members who have a seat in the round: nobody if the panel does not look."""
        return self.members if self.asking.looked_at else ()

    @property
    def at_once(self) -> tuple[str, ...]:
        return () if self.in_turn else self.seated

    def after(self, round_: Round, record: Record) -> Round:
        seats = dict.fromkeys(self.seated, "unasked" if self.in_turn else "asked")
        return round_.changed(
            sealed=record.at, rule=self.rule, due=self.due, asking=self.asking, seats=seats,
            in_turn=self.in_turn, sensitivity=self.asking.sensitivity,
        )  # fmt: skip

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        shown = self.asking.shown if self.seated else 0
        projection.counts["looked_at"] += bool(self.seated)
        projection.counts["pairs_shown"] += shown
        projection.counts["seats"] += len(self.seated)
        projection.counts["members_asked"] += len(self.at_once)
        projection.counts["member_pairs"] += len(self.at_once) * shown
        projection.tallies.sealed(self.asking, projection.settings.least)

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        for member in self.at_once:
            seating.ask(self.round, member)

    def tally(self, turns: Turns, context: Context) -> Turns:
        for member in self.at_once:
            turns = turns.after(member)
        return turns

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        sealed = fold.apply(state, events.Sealed(self.round, self.panel))
        round_ = sealed.open[self.round]
        if round_.asking == self.asking:
            return sealed
        # Asked when people were there who are surrogates now: what was asked stays asked.
        looks = state.looks.asked(self.asking)
        return fold.with_round(sealed, replace(round_, asking=self.asking), looks=looks)

    def check(self, replay: Replay) -> None:
        projection, round_ = replay.projection, replay.projection.round(self.round)
        if round_.sealed is not None:
            replay.differ("order", f"Round {round_.id} is sealed again", "sealed once")
        replay.ask_again(self, round_)
        members, rule = tuple(projection.members), projection.rule
        due = due_after(replay.record.at, projection.settings.deadline)
        for name, expected in (("members", members), ("rule", rule), ("due", due)):
            if (recorded := getattr(self, name)) != expected:
                replay.differ("panel", f"{name}: {recorded}", f"{name}: {expected}")
        replay.draw_together(self, round_)
        if self.in_turn or not self.seated:
            replay.expect("asked" if self.seated else "audited", round_.id)


@dataclass(frozen=True)
class Turn:
    """A member's turn in a round: since when, until when, about which pairs (None: about all)."""

    at: str
    due: str | None
    pairs: frozenset[tuple[str, str]] | None


class MemberAsked(RoundBody, kind="asked", after="operator client auditor service"):
    """It is a member's turn: they are asked about the pairs that are still in dispute.

    ``pairs`` have the favoured first; None stands for all that the panel is asked about.
    ``doubts`` say why it is their turn: how doubtful it was, for every member of the round, that
    they agree with the panel (:func:`~likewise.panel.turns.doubts_of`). They are on record, since
    the features that they come from may be erased.
    """

    member: str
    pairs: tuple[tuple[str, str], ...] | None
    doubts: tuple[int, ...]
    due: str | None

    def after(self, round_: Round, record: Record) -> Round:
        turn = Turn(record.at, self.due, None if self.pairs is None else frozenset(self.pairs))
        asked = round_.changed(
            due=self.due, seats={**round_.seats, self.member: "asked"},
            turns={**round_.turns, self.member: turn},
        )  # fmt: skip
        return asked.still_finished_by(record)

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.counts["members_asked"] += 1
        projection.counts["member_pairs"] += len(now.asked_of(self.member))

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        seating.ask(self.round, self.member)

    def tally(self, turns: Turns, context: Context) -> Turns:
        return turns.after(self.member)

    def check(self, replay: Replay) -> None:
        round_ = replay.projection.round(self.round)
        expected = replay.next_asked(round_, self.doubts)
        replay.findings.turns += 1
        replay.findings.unforeseen += not replay.knows_features(round_)
        if self != expected:
            sentence = expected.sentence if expected else "nobody's turn"
            replay.differ("panel", self.sentence, sentence)

    @property
    def sentence(self) -> str:
        pairs = "all pairs" if self.pairs is None else str(list(map(list, self.pairs)))
        about = f"{self.member!r} is asked about {pairs}, until {self.due}"
        return f"{about} (doubts {list(self.doubts)})"


class OverrideExplained(RoundBody, kind="override-explained", by="operator client"):
    """The reason for the override in the next record; ``reason`` is the digest of its words."""

    person: str
    reason: str

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(explanations={**round_.explanations, self.person: self.reason})


class Erased(RoundBody, kind="erased", by="operator", after="service"):
    """Somebody was erased; ``digest`` is that of a surrogate, if anything remains.

    ``forgets`` says that attention or turns had learnt from them, and begin anew.
    """

    person: str
    digest: str | None
    forgets: bool

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(
            people={**round_.people, self.person: self.digest},
            erased={**round_.erased, self.person: record.at},
        )

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        if self.forgets:
            projection.forgot = now.erased[self.person]

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        seating.end_repeats(self.round, at)

    def tally(self, turns: Turns, context: Context) -> Turns:
        return replace(turns, views={}) if self.forgets else turns

    def digests(self, surrogates: Surrogates) -> list[str | None]:
        return [self.digest]

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        """Replace the person by a surrogate at the same point, so that every cost stays.

        What an attention has learnt from features cannot be learnt from surrogates: it begins anew.
        """
        learner = state.learner
        if self.forgets:
            state = replace(state, memory=learner.looking.start(learner.hypotheses.schema))
        round_ = state.open.get(self.round)
        if round_ is None or self.digest is None or self.digest not in contents:
            return state
        surrogate = events.Person(self.person, records.features_of(contents[self.digest]))
        people = tuple(surrogate if p.id == self.person else p for p in round_.people)
        return state.having(replace(round_, people=people))

    def check(self, replay: Replay) -> None:
        erased = f"{self.person!r} was erased"
        hold = replay.projection.governance.held(self.round, self.person)
        if hold is not None:
            replay.differ("erasure", erased, f"held by {hold!r}")
        round_ = replay.projection.round(self.round)
        if self.person not in round_.people:
            replay.differ("erasure", erased, "somebody of the round")
        if appeal := round_.open_appeal(self.person):
            replay.differ("erasure", erased, f"decided on first, as to the appeal {appeal.id!r}")
        if replay.projection.learnt_from(round_) != self.forgets:
            fates = ("kept", "forgotten") if self.forgets else ("forgotten", "kept")
            learnt = f"What was learnt from {self.person!r} is {fates[1]}"
            replay.differ("erasure", learnt, fates[0])
        if self.digest is None:
            replay.findings.wholly.append((self.round, self.person))
        else:
            replay.findings.erased.append((self.round, self.person))
            replay.payload(self.digest, f"The surrogate's features for {self.person!r}")


def surrogates_in(bodies: Iterable[object]) -> Surrogates:
    """Return the digest of the surrogate of everybody who was erased, by (round, person)."""
    return {(b.round, b.person): b.digest for b in bodies if isinstance(b, Erased)}


class PanelBody(RoundBody):
    """A record of what a member says in a round."""

    member: str

    def means(self, signed: Signed, names: Mapping[str, str], round_: Round) -> bool:
        """Tell if the record says what was signed; ``names`` are the people's in the review."""
        raise NotImplementedError

    def round_in_audit(self, replay: Replay) -> Round:
        """Return the round of which the member speaks: seated, in time, and before the end."""
        round_, member = replay.projection.round(self.round), self.member
        if member not in round_.seats:
            replay.differ("panel", f"{member!r} speaks", "a member of the round's panel")
        if passed(round_.due, replay.record.at) and self.kind != "absent":
            replay.differ("panel", f"{member!r} speaks at {replay.record.at}", f"by {round_.due}")
        if round_.outcome is not None:
            replay.differ("panel", f"{member!r} speaks after the audit", "nobody")
        if round_.in_turn and round_.seats.get(member) != "asked":
            replay.differ("panel", f"{member!r} speaks", "whose turn it is")
        return round_


def _named(pair: Iterable[str], names: Mapping[str, str]) -> tuple[str, str]:
    first, second = sorted(names.get(person, "") for person in pair)
    return first, second


class Withdrawn(PanelBody, kind="withdrawn", by="auditor"):
    """A member takes an objection back."""

    pair: tuple[str, str]

    def after(self, round_: Round, record: Record) -> Round:
        pairs = dict(round_.objections[self.member])
        del pairs[Pair.of(self.pair)]
        return round_.changed(objections={**round_.objections, self.member: pairs})

    def means(self, signed: Signed, names: Mapping[str, str], round_: Round) -> bool:
        return tuple(sorted(signed.pair or ())) == _named(self.pair, names)

    def check(self, replay: Replay) -> None:
        _check_pair(self.pair, self.member, self.round_in_audit(replay), replay)


class Objection(Body):
    """An objection to a pair: the digest of its reason, and the largest acceptable gap in units."""

    reason: str | None = None
    limit: int | None = None


def flags_of(objections: Mapping[Pair, Objection], names: Mapping[str, str]) -> tuple[Flag, ...]:
    """Return a member's objections as they sign them."""
    named = {_named(pair, names): objection for pair, objection in objections.items()}
    return tuple((*pair, named[pair].reason, named[pair].limit) for pair in sorted(named))


class Flagged(Withdrawn, kind="flagged", by="auditor"):
    """A member flags a pair; ``reason`` and ``limit`` are those of the :class:`Objection`."""

    reason: str | None
    limit: int | None

    def after(self, round_: Round, record: Record) -> Round:
        pair, objection = Pair.of(self.pair), Objection(self.reason, self.limit)
        pairs = {**round_.objections.get(self.member, {}), pair: objection}
        reasons = round_.reasons if self.reason is None else {**round_.reasons, self.reason: pair}
        return round_.changed(objections={**round_.objections, self.member: pairs}, reasons=reasons)

    def check(self, replay: Replay) -> None:
        super().check(replay)
        _check_limit(self.limit, self.pair, replay.projection.round(self.round), replay)
        if self.reason is not None:
            replay.words[self.reason] = replay.record


class Finished(PanelBody, kind="finished", by="auditor"):
    """A member finishes the review of a round; ``seats`` are theirs before and after it."""

    seats: ClassVar[tuple[str, str]] = ("asked", "finished")

    def after(self, round_: Round, record: Record) -> Round:
        changed = round_.changed(seats={**round_.seats, self.member: self.seats[1]})
        return changed.finished_by(self.member, record) if self.kind == "finished" else changed

    def means(self, signed: Signed, names: Mapping[str, str], round_: Round) -> bool:
        standing = flags_of(round_.objections.get(self.member, {}), names)
        flags = standing if self.seats[1] == "finished" else None
        return signed.pair is None and signed.flags == flags

    def check(self, replay: Replay) -> None:
        round_, (before, after) = self.round_in_audit(replay), self.seats
        seat = round_.seats[self.member]
        if seat != before:
            replay.differ("panel", f"{self.member!r} was {seat}", before)
        changed = round_.changed(seats={**round_.seats, self.member: after})
        if "asked" not in changed.seats.values():
            replay.expect("asked" if replay.next_asked(changed) else "audited", round_.id)


class Reopened(Finished, kind="reopened", by="auditor"):
    """A member takes a review back."""

    seats = ("finished", "asked")

    def check(self, replay: Replay) -> None:
        super().check(replay)
        if replay.projection.settings.turns:
            replay.differ("panel", f"{self.member!r} takes a review back", "nobody, in turns")


class Absent(Finished, kind="absent", by="service", after="operator"):
    """A member did not review a round in time, or has left while it was their turn."""

    seats = ("asked", "absent")

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        if round_.in_turn:
            seating.miss(round_, self.member, at)

    def check(self, replay: Replay) -> None:
        super().check(replay)
        round_ = replay.projection.round(self.round)
        left = round_.in_turn and self.member not in replay.projection.members
        if not left and not passed(round_.due, replay.record.at):
            replay.differ("panel", f"{self.member!r} is absent already", f"due at {round_.due}")


class RepeatedObjection(Body):
    """An objection to a pair of a round that is shown again."""

    pair: tuple[str, str]
    reason: str | None
    limit: int | None


class Repeated(PanelBody, kind="repeated", by="auditor"):
    """All that a member has said so far about a round that is shown again, until they finish."""

    objections: tuple[RepeatedObjection, ...]
    finished: bool

    @property
    def by_pair(self) -> dict[Pair, Objection]:
        return {Pair.of(o.pair): Objection(o.reason, o.limit) for o in self.objections}

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(repeats={**round_.repeats, self.member: self})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.tallies.repeated(self.member, before, now)

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        seating.repeated(self, round_, at)

    def means(self, signed: Signed, names: Mapping[str, str], round_: Round) -> bool:
        if signed.act == "reopen":
            return not self.finished
        flags = flags_of(self.by_pair, names)
        if signed.act == "finish":
            return self.finished and signed.flags == flags
        pair = tuple(sorted(signed.pair or ()))
        if signed.act == "withdraw":
            return pair not in [flag[:2] for flag in flags]
        return (*pair, signed.reason, signed.limit) in flags

    def check(self, replay: Replay) -> None:
        round_ = replay.projection.round(self.round)
        if round_.seats.get(self.member) != "finished":
            replay.differ("panel", "Somebody reviewed it again", "somebody who had before")
        for objection in self.objections:
            _check_pair(objection.pair, self.member, round_, replay)
            _check_limit(objection.limit, objection.pair, round_, replay)
        replay.draw_repeat(self)


def _check_pair(pair: tuple[str, str], member: str, round_: Round, replay: Replay) -> None:
    if not round_.can_report(Pair.of(pair), member):
        replay.differ("panel", f"An objection to {list(pair)}", "a pair to ask about")


def _check_limit(limit: int | None, pair: tuple[str, str], round_: Round, replay: Replay) -> None:
    asked = replay.projection.settings.graded
    if limit is not None and not (asked and 0 <= limit < round_.gap(Pair.of(pair))):
        replay.differ("panel", f"The limit of {list(pair)} is {limit}", "one below their gap")


@dataclass(frozen=True)
class Comment:
    """A member's comment: the digest of its words, and if it belongs to an open second review."""

    member: str
    digest: str
    again: bool
    at: str


class Commented(PanelBody, kind="commented", by="auditor"):
    """A member comments on a round, at any time; it changes no outcome.

    ``comment`` is the digest of the words. What was said while the round was shown ``again`` stays
    with that review.
    """

    comment: str
    again: bool

    def after(self, round_: Round, record: Record) -> Round:
        comment = Comment(self.member, self.comment, self.again, record.at)
        return round_.changed(comments=(*round_.comments, comment))

    def means(self, signed: Signed, names: Mapping[str, str], round_: Round) -> bool:
        return signed.reason == self.comment

    def check(self, replay: Replay) -> None:
        seat = replay.projection.round(self.round).seats.get(self.member, "unasked")
        if seat == "unasked":
            replay.differ("panel", f"{self.member!r} comments", "a member who was asked")
        replay.words[self.comment] = replay.record


class EventBody(RoundBody):
    """An event of the learner."""

    def advance(self, state: State, contents: Contents, surrogates: Surrogates) -> State:
        return fold.apply(state, self)  # type: ignore[arg-type] # the other base is an event


class Decided(EventBody, events.Decided, kind="decided", by="operator client"):
    """Those who arrived last were decided on."""

    def concerns(self, person: str) -> bool:
        return any(decision.person == person for decision in self.decisions)

    def after(self, round_: Round, record: Record) -> Round:
        decisions = {decision.person: decision for decision in self.decisions}
        return round_.changed(
            decisions={**round_.decisions, **decisions}, batches=(*round_.batches, len(decisions))
        )

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.curves.set_gap(now.number, now.largest_gap)

    def check(self, replay: Replay) -> None:
        replay.decide_again(self)


class Audited(
    EventBody, events.Audited, kind="audited", by="operator", after="client auditor service"
):
    """The audit of a round has ended."""

    def after(self, round_: Round, record: Record) -> Round:
        ended = round_.changed(outcome=self.outcome, pairs=self.pairs, audited=record.at)
        return ended.still_finished_by(record)

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.counts[self.outcome] += 1
        projection.curves.add(now.number, reports=self.outcome == "report")
        projection.tallies.audited(now, projection.settings.least)

    def seat(self, seating: Seating, round_: Round, at: str) -> None:
        seating.audited(round_, at)

    def tally(self, turns: Turns, context: Context) -> Turns:
        """Learn from those who responded: what nobody responded to is not quiet."""
        round_, state = context.round, context.state
        if round_ is None or state is None or not round_.seats:
            return turns
        silent = [member for member, seat in round_.seats.items() if seat != "finished"]
        members = tuple(round_.seats)
        return turns.learnt(members, round_.inputs(state), *round_.words_heard(silent))

    def check(self, replay: Replay) -> None:
        round_ = replay.projection.round(self.round)
        if round_.outcome is not None:
            replay.differ("order", f"Round {round_.id} is audited again", "audited once")
        if following := replay.next_asked(round_):
            replay.differ("panel", "The audit ends", following.sentence)
        if "asked" in round_.seats.values():
            expected = Audited(round_.id, "unaudited")
            replay.findings.ended += self == expected
            if not replay.may(MAY[self.kind]):
                replay.differ("actor", f"{replay.record.actor} ended the audit", "the operator")
        else:
            expected = round_.conclusion(replay.projection.settings.quorum)
        replay.findings.audits += 1
        if self != expected:
            replay.differ("audit", self.sentence, expected.sentence)

    @property
    def sentence(self) -> str:
        reported = "; ".join(" over ".join(pair) for pair in self.pairs)
        return f"outcome {self.outcome}" + (f" ({reported})" if reported else "")


class Labelled(EventBody, events.Labelled, kind="labelled", by="operator client"):
    """A person's label has become known; a docket's are 0 or 1."""

    label: int

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(labels={**round_.labels, self.person: self.label})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        decision = now.decisions[self.person]
        missed = decision.approved != bool(self.label)
        projection.counts["labels"] += 1
        projection.counts["missed"] += missed
        projection.counts["distance"] += abs(decision.score - to_units(self.label))
        projection.curves.add(now.number, labels=1, missed=missed)

    def check(self, replay: Replay) -> None:
        _check_once(self.person in replay.projection.round(self.round).labels, replay)


class Overridden(EventBody, events.Overridden, kind="overridden", by="operator client"):
    """Somebody decided otherwise than the learner."""

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(overrides={**round_.overrides, self.person: self.approved})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.counts["overrides"] += 1

    def check(self, replay: Replay) -> None:
        round_ = replay.projection.round(self.round)
        _check_once(self.person in round_.overrides, replay)
        if round_.reconsidered(self.person) not in (None, self.approved):
            replay.differ("appeal", f"{self.person!r} is decided on otherwise", "as on appeal")


class Closed(
    EventBody, events.Closed, kind="closed", by="operator client", after="auditor service"
):
    """Nothing more will be heard of the round."""

    def after(self, round_: Round, record: Record) -> Round:
        return round_.changed(closed=record.at).still_finished_by(record)

    def check(self, replay: Replay) -> None:
        _check_once(replay.projection.round(self.round).closed is not None, replay)


class PersonBody(RoundBody):
    """A record about one person in a round, which is not for the others in it."""

    person: str


class Redecided(Body):
    """The decision that a person's policy and draw make of features that were corrected."""

    approved: bool
    score: int


@dataclass(frozen=True)
class Appeal:
    """An applicant's request that a person reconsider a decision, and what became of it.

    The record ``seq`` opened it. ``content`` is the digest of their words and, if it ``corrects``
    any, of their features as they should be; ``again`` is the policy's decision on those, where it
    is known. ``ended`` is when it was decided or withdrawn; ``approved`` is the reviewer's
    decision, and ``accepted`` says that the corrections are right.
    """

    id: str
    seq: int
    round: str
    person: str
    opened: str
    due: str
    content: str
    corrects: bool
    again: Redecided | None
    reviewer: str | None = None
    overdue: bool = False
    ended: str | None = None
    approved: bool | None = None
    accepted: bool = False
    reason: str | None = None

    @property
    def status(self) -> str:
        if self.ended is None:
            return "overdue" if self.overdue else "open"
        return "withdrawn" if self.approved is None else "decided"


class AppealBody(PersonBody):
    """A record about an appeal."""

    appeal: str

    def changed(self, appeal: Appeal, record: Record) -> Appeal:
        raise NotImplementedError

    def after(self, round_: Round, record: Record) -> Round:
        appeal = self.changed(round_.appeals[self.appeal], record)
        return round_.changed(appeals={**round_.appeals, self.appeal: appeal})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        """Keep the queue: an appeal that has ended leaves it."""
        appeal = now.appeals[self.appeal]
        if appeal.ended is None:
            projection.appeals[self.appeal] = appeal
        else:
            del projection.appeals[self.appeal]

    def check(self, replay: Replay) -> None:
        appeal = replay.projection.round(self.round).appeals.get(self.appeal)
        if appeal is None or appeal.person != self.person or appeal.ended is not None:
            replay.differ("appeal", f"{self.kind!r} of {self.appeal!r}", "an appeal that is open")


class AppealOpened(AppealBody, kind="appeal-opened", by="operator client"):
    """Somebody asks for correction or reconsideration; fields are those of :class:`Appeal`."""

    content: str
    corrects: bool
    again: Redecided | None
    due: str

    def after(self, round_: Round, record: Record) -> Round:
        appeal = Appeal(
            self.appeal, record.seq, self.round, self.person, record.at, self.due, self.content,
            self.corrects, self.again,
        )  # fmt: skip
        return round_.changed(appeals={**round_.appeals, self.appeal: appeal})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        super().count(projection, before, now)
        projection.counts["appeals"] += 1

    def check(self, replay: Replay) -> None:
        round_, record = replay.projection.round(self.round), replay.record
        due = due_after(record.at, 86_400 * replay.projection.appeal_days)
        if self.person not in round_.decisions or self.person in round_.erased:
            replay.differ("appeal", f"{self.person!r} appeals", "somebody who was decided on")
        if round_.open_appeal(self.person) or self.appeal in round_.appeals:
            replay.differ("appeal", f"{self.person!r} appeals again", "one appeal at a time")
        if self.due != due:
            replay.differ("appeal", f"It is due {self.due}", due)
        replay.words[self.content] = record
        replay.redecide(self)


class AppealAssigned(AppealBody, kind="appeal-assigned", by="operator client"):
    """A person is to reconsider."""

    reviewer: str

    def changed(self, appeal: Appeal, record: Record) -> Appeal:
        return replace(appeal, reviewer=self.reviewer)


class AppealOverdue(AppealBody, kind="appeal-overdue", by="service"):
    """Nobody has decided on an appeal in time."""

    def changed(self, appeal: Appeal, record: Record) -> Appeal:
        return replace(appeal, overdue=True)

    def check(self, replay: Replay) -> None:
        super().check(replay)
        appeal = replay.projection.round(self.round).appeals[self.appeal]
        if appeal.overdue or not passed(appeal.due, replay.record.at):
            replay.differ("appeal", "It is overdue", f"once, after {appeal.due}")


class AppealDecided(AppealBody, kind="appeal-decided", by="operator client"):
    """A person has reconsidered; ``reason`` is the digest of their words."""

    reviewer: str
    approved: bool
    accepted: bool
    reason: str

    def changed(self, appeal: Appeal, record: Record) -> Appeal:
        return replace(
            appeal, ended=record.at, approved=self.approved, accepted=self.accepted,
            reason=self.reason,
        )  # fmt: skip

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        super().count(projection, before, now)
        appeal = now.appeals[self.appeal]
        projection.counts["appeals_decided"] += 1
        projection.counts["appeals_changed"] += self.approved != before.stands(self.person)
        projection.counts["appeals_late"] += passed(appeal.due, appeal.ended or "")

    def check(self, replay: Replay) -> None:
        super().check(replay)
        appeal = replay.projection.round(self.round).appeals[self.appeal]
        for name in {appeal.reviewer, replay.operator or self.reviewer} - {self.reviewer}:
            replay.differ("appeal", f"{self.reviewer!r} decided", f"{name!r}")
        if self.accepted and not appeal.corrects:
            replay.differ("appeal", "Corrections are accepted", "none, as there are none")
        replay.words[self.reason] = replay.record
        replay.findings.reconsidered += 1
        replay.findings.entrusted += replay.operator is None


class AppealWithdrawn(AppealBody, kind="appeal-withdrawn", by="operator client"):
    """Somebody takes an appeal back."""

    def changed(self, appeal: Appeal, record: Record) -> Appeal:
        return replace(appeal, ended=record.at)


Occasion = Literal["before", "after"]


class NoticeGiven(PersonBody, kind="notice-given", by="operator client"):
    """The institution says that it gave an applicant a notice, with words of this ``digest``."""

    occasion: Occasion
    given: str
    digest: str

    def after(self, round_: Round, record: Record) -> Round:
        notices = (*round_.notices.get(self.person, ()), self)
        return round_.changed(notices={**round_.notices, self.person: notices})

    def count(self, projection: Projection, before: Round, now: Round) -> None:
        projection.counts[f"notices_{self.occasion}"] += 1

    def check(self, replay: Replay) -> None:
        round_, told = replay.projection.round(self.round), f"{self.person!r} was told"
        if self.person not in round_.decisions or self.person in round_.erased:
            replay.differ("notice", told, "somebody who was decided on")
        elif self.occasion == "after" and round_.stands(self.person):
            replay.differ("notice", f"{told} of a rejection", "somebody who was rejected")
        if not is_moment(self.given) or self.given > replay.record.at:
            replay.differ("notice", f"{told} at {self.given}", f"by {replay.record.at}")
        replay.words[self.digest] = replay.record
        replay.explain_again(self)


def _check_once(repeated: bool, replay: Replay) -> None:
    if repeated:
        replay.differ("order", f"{replay.record.kind!r} is there twice", "there once")


_ADAPTERS: dict[str, TypeAdapter[Any]] = {kind: TypeAdapter(body) for kind, body in KINDS.items()}


def read_body(record: Record) -> Body:
    """Return the body of a record; refuse one with other fields than its kind's, or values."""
    adapter = _ADAPTERS.get(record.kind)
    if adapter is None:
        message = f"{record.kind!r} is no kind of record that {FORMAT} has."
        raise LedgerBroken(record.docket, record.seq, message)
    try:
        # As JSON, in which a tuple is a list; nothing is converted, and nothing is passed over.
        text = record.body_text
        body: Body = adapter.validator.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "its body"
        message = f"{field} of {record.kind!r}: {first['msg']}."
        raise LedgerBroken(record.docket, record.seq, message) from error
    except LikewiseError as error:
        raise LedgerBroken(record.docket, record.seq, str(error)) from error
    return body


def readable(record: Record) -> Body | LedgerBroken:
    """Return the body of a record, or the error where it has none."""
    try:
        return read_body(record)
    except LedgerBroken as error:
        return error


def write_body(body: Body) -> tuple[str, dict[str, Any]]:
    """Return the kind of a body, and its JSON."""
    plain = _ADAPTERS[body.kind].dump_python(body, mode="json")
    if isinstance(body, Audited) and not body.limits:  # no panel was asked for them
        del plain["limits"]
    return body.kind, plain


@dataclass(frozen=True)
class Actor:
    """Somebody who acts; ``introduction`` are the records that introduce them to a ledger."""

    id: str
    introduction: tuple[Introduction, ...] = ()

    @classmethod
    def introduced(cls, *bodies: Introduction) -> Actor:
        """Return the owner of a token, or somebody who signed in with one."""
        return cls(bodies[-1].actor, bodies)

    @cached_property
    def sees_panel(self) -> bool:
        """Tell whether they may see what members say and do, and when."""
        return all(body.role in SUPERVISORS for body in self.introduction)


# Roles that see the panel at work, and records that only they and who added them may notice.
SUPERVISORS = ("operator", "regulator")
UNSEEN = (PanelBody, MemberAsked, Signed, SignedIn, SignedOut)
MACHINE, SERVICE = Actor("machine"), Actor("service")
_ACTOR = Scoped("likewise_actor", MACHINE)
current_actor, acting, done_by = _ACTOR.get, _ACTOR.within, _ACTOR.during
