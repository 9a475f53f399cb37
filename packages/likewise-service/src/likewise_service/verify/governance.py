"""All that a ledger says about its own governance, checked record by record."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from likewise.errors import LikewiseError
from likewise_service.clock import is_moment, later, moment_of, seconds_between
from likewise_service.dockets.docket import APART
from likewise_service.ledger import kinds, signatures
from likewise_service.ledger.notes import Checkpoint, Verifier, signatures_in
from likewise_service.ledger.records import LedgerBroken, Record
from likewise_service.verify.evidence import Difference, Evidence

# Kinds of record that members add for themselves.
MEMBER_ACTS = frozenset(
    kind for kind, roles in kinds.ROLES.items() if roles == {"auditor"} and kind != "signed"
)


@dataclass
class ActorChecks:
    """Every actor that was introduced, and what they did.

    ``unsigned`` counts, by member and actor, the members' statements without a signature;
    ``_opening`` is the first record, whose actor the records after it introduce.
    """

    unsigned: Counter[tuple[str, str]]
    introduced: dict[str, tuple[Record, kinds.Introduction]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    _opening: Record | None = None

    def role(self, record: Record) -> str:
        """Return the role of a record's actor; nothing if the ledger does not introduce them."""
        if record.actor in ("machine", "service"):
            return record.actor
        introduction = self.introduced.get(record.actor)
        return "" if introduction is None else introduction[1].role

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        # An introduction comes before its actor has done anything else.
        if isinstance(body, kinds.Introduction):
            before = self.introduced.get(body.actor)
            if before is None or self._extends(before[1], body):
                self.introduced[body.actor] = (record, body)
        opening, self._opening = self._opening, None
        if isinstance(body, kinds.DocketOpened) and record.seq == 1:
            self._opening = record
            return
        if opening is not None and isinstance(body, kinds.Introduction):
            self._opening = opening
        elif opening is not None:
            yield from self._check(opening)
        yield from self._check(record)
        if isinstance(body, (kinds.TokenEnded, kinds.SignedOut)):
            self.ended.add(body.actor)

    @staticmethod
    def _extends(before: kinds.Introduction, body: kinds.Introduction) -> bool:
        if not isinstance(before, kinds.SignedIn) or not isinstance(body, kinds.SignedIn):
            return False
        return replace(before, until=body.until) == body and body.until > before.until

    def _check(self, record: Record) -> Iterator[Difference]:
        name, role = record.actor, self.role(record)
        if name == "machine":
            return
        difference = partial(Difference, record.seq, "actor")
        if not role:
            expected = "somebody whose token or sign-in the ledger has."
            yield difference(f"{name or 'Nobody'} acted.", expected)
            return
        if role not in kinds.ROLES.get(record.kind, ()):
            yield difference(f"{name}, a {role}, acted.", f"another role for {record.kind!r}.")
        if role == "service":
            return
        actor, member = self.introduced[name][1], record.body.get("member")
        if not self.ended.isdisjoint((name, f"token:{actor.token}")):
            yield difference(f"{name} acted after its end.", "nobody, once a token has ended.")
        if actor.until is not None and record.at > actor.until:
            yield difference(f"{name} acted at {record.at}.", f"until {actor.until}.")
        if record.kind in MEMBER_ACTS and member != actor.name:
            yield difference(f"{actor.name!r} spoke for {member!r}.", f"{member!r} themselves.")

    def report(self, proved: list[str], unproved: list[str]) -> None:
        proved.append(
            f"Every record names a token or sign-in of a role that may do it, of "
            f"{len(self.introduced):,} that the ledger itself lists."
        )
        unproved.append(
            "That those people acted: the operator makes tokens and sign-ins, and can act by them."
        )
        tokens: dict[str, list[str]] = {}
        for name, (record, actor) in self.introduced.items():
            if actor.role == "auditor" and isinstance(actor, kinds.TokenIssued):
                introduction = f"{name} (record {record.seq:,}, by {record.actor})"
                tokens.setdefault(actor.name, []).append(introduction)
        for member in sorted({member for member, _ in self.unsigned} | tokens.keys()):
            unproved += self._on_trust(member, tokens.get(member, []))

    def _on_trust(self, member: str, tokens: list[str]) -> Iterator[str]:
        """Say what rests on the operator's word alone about a member."""
        acts = {actor: n for (name, actor), n in self.unsigned.items() if name == member}
        if acts:
            machine = acts.get("machine", 0)
            entered = f", {machine:,} of them entered at the machine, with no token" * bool(machine)
            yield (
                f"That {member!r} said what {sum(acts.values()):,} unsigned records have them say"
                f"{entered}: it rests on the operator's word alone."
            )
        if len(tokens) > 1:
            several = f"{member!r} has had {len(tokens)} tokens: {', '.join(tokens)}."
            yield f"{several} Ask them for each."


# Seconds by which a server's clock may differ from an authority's.
TOLERANCE = 300.0


@dataclass
class AnchorChecks:
    """Anchors in the order of the ledger; ``roots`` are certificates of time-stamp authorities.

    ``witnesses`` are the keys of witnesses, and ``seen`` is the last record that each has seen.
    ``covered`` is the last record that an anchor fixes, by the time ``last``; ``widest`` is the
    longest time between two anchors, in minutes. ``ahead`` is how far the ledger's time was ahead
    of a clock, ``doubtful`` are the records that say so, with the seconds.
    """

    evidence: Evidence
    roots: list[Any] = field(default_factory=list)
    witnesses: Sequence[Verifier] = ()
    seen: dict[str, int] = field(default_factory=dict)
    anchors: int = 0
    stamped: int = 0
    failures: int = 0
    last: str = ""
    covered: int = 0
    widest: float = 0.0
    ahead: kinds.Ahead = field(default_factory=kinds.Ahead)
    doubtful: list[tuple[int, float]] = field(default_factory=list)
    _began: str = ""
    _ended: str = ""
    _bound: str = ""

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        if not is_moment(record.at):
            raise LikewiseError(f"{record.at!r} is no time.")
        self._began, self._ended = self._began or record.at, record.at
        if self._bound and record.at < self._bound:
            expected = f"{self._bound} or later: it follows an anchor, and is back-dated."
            yield Difference(record.seq, "time", f"It has the time {record.at}.", expected)
        if isinstance(body, kinds.ClockBehind):
            self.ahead = body.ahead(record)
            self.doubtful.append((record.seq, self.ahead.seconds))
        elif isinstance(body, kinds.AnchorFailed):
            self.failures += 1
        elif isinstance(body, kinds.Anchored):
            yield from self._anchored(record, body)

    def _anchored(self, record: Record, body: kinds.Anchored) -> Iterator[Difference]:
        try:
            receipt = Checkpoint.parse(body.receipt)
            latest = later(body.fixed, TOLERANCE + self.ahead.by(record.at))
            fault = self._fault(record, receipt) or self._stamp_fault(body)
        except (LikewiseError, ValueError, OverflowError) as error:
            fault = str(error)
        if fault:
            yield Difference(record.seq, "anchor", fault, "a head of this ledger.")
            return
        self.anchors += 1
        head = self.evidence.records[receipt.size - 1]
        if head.at > latest:
            expected = f"{body.fixed} or earlier: it was anchored then, and is post-dated."
            yield Difference(head.seq, "time", f"It has the time {head.at}.", expected)
        minutes = seconds_between(self.last or self._began, body.fixed) / 60
        self.widest = max(self.widest, minutes)
        self.last, self.covered = max(self.last, body.fixed), receipt.size
        self._bound = later(self.last, -TOLERANCE)

    def _fault(self, record: Record, receipt: Checkpoint) -> str:
        seq, ledger = receipt.size, self.evidence
        if receipt.origin != ledger.origin or not 0 < seq < record.seq or seq > ledger.log.size:
            return f"It anchors record {seq:,} of {receipt.origin!r}."
        if ledger.log.tree(seq).root != receipt.root:
            return (
                f"The records up to {seq:,} are not those that were anchored: some were rewritten."
            )
        return ""

    def _stamp_fault(self, body: kinds.Anchored) -> str:
        if body.proof is None:
            return ""
        if body.target.startswith("witness:"):
            return self._cosignature_fault(body, body.proof)
        stamp, content = signatures.TimeStamp.parse(body.proof), body.receipt.encode()
        if not stamp.covers(content):
            return "The time-stamp is of something else."
        if stamp.at != body.fixed:
            return f"The time-stamp is of {stamp.at}, and the record says {body.fixed}."
        if fault := stamp.check(content, self.roots) if self.roots else "":
            return f"The time-stamp is not of the authority that was named: {fault}."
        self.stamped += bool(self.roots)
        return ""

    def _cosignature_fault(self, body: kinds.Anchored, proof: str) -> str:
        checkpoint = Checkpoint.parse(body.receipt).plus(*signatures_in(proof))
        for witness in self.witnesses:
            if not (seconds := checkpoint.seen_at(witness)):
                continue
            if (at := moment_of(seconds)) != body.fixed:
                return f"The witness saw it at {at}, and the record says {body.fixed}."
            self.stamped, self.seen[witness.name] = self.stamped + 1, checkpoint.size
        return ""

    def _report_witnesses(self, proved: list[str], unproved: list[str]) -> None:
        for witness in self.witnesses:
            if seq := self.seen.get(witness.name):
                proved.append(
                    f"The witness {witness.name} saw the ledger grow up to record {seq:,}, and has "
                    f"seen no other."
                )
            else:
                unproved.append(
                    f"That the witness {witness.name} has seen this ledger: it signed nothing in "
                    f"it. Compare with the checkpoint that the witness itself publishes."
                )

    def report(self, proved: list[str], unproved: list[str]) -> None:
        self._report_witnesses(proved, unproved)
        if self.doubtful:
            seq, seconds = max(self.doubtful, key=lambda item: item[1])
            unproved.append(
                f"Times before and after {len(self.doubtful):,} records that say that some clock "
                f"was wrong, the furthest by {seconds / 60:,.1f} minutes (record {seq:,}): the "
                f"ledger's own time does not go back. Anchors bound them all the same."
            )
        if not self.anchors:
            unproved += [
                "When records were written: nothing was anchored outside, so all times are the "
                "operator's, and what follows the last receipt that anybody holds can be rewritten."
            ] * bool(self.evidence.records)
            return
        certified = f", {self.stamped:,} by the authority that was named" * bool(self.stamped)
        proved.append(
            f"{self.anchors:,} anchors{certified}: records up to {self.covered:,} were written by "
            f"{self.last}, and times are bounded to within {self.widest + TOLERANCE / 60:,.1f} "
            f"minutes (of which {TOLERANCE / 60:g} are for clocks)."
        )
        minutes = seconds_between(self.last, max(self._ended, self.last)) / 60
        unproved.append(
            f"What was recorded after the last anchor, of record {self.covered:,}: the window left "
            f"open is {minutes:,.1f} minutes long here, and narrower for whoever has a later "
            f"receipt."
        )
        if self.stamped < self.anchors:
            unproved.append(
                f"That the times of {self.anchors - self.stamped:,} anchors are true: compare the "
                f"file or the receiver's own copies (likewise verify FILE), or name the "
                f"authority's certificates (--authority) or the witnesses (--witness)."
            )
        if self.failures:
            unproved.append(f"{self.failures:,} times an anchor failed; it was tried again.")


@dataclass
class KeyChecks:
    """The key of a ledger's receipts, and how often it changed."""

    key: signatures.PublicKey | None = None
    changes: int = 0
    compromised: int = 0

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        if not isinstance(body, (kinds.DocketOpened, kinds.KeyPublished)):
            return
        before, self.key = self.key, signatures.PublicKey(body.key)
        if before is None or isinstance(body, kinds.DocketOpened):
            return
        if fault := self._fault(before, body):
            yield Difference(record.seq, "signature", fault, "a key that the one before names.")

    def _fault(self, before: signatures.PublicKey, body: kinds.KeyPublished) -> str:
        self.changes += 1
        if body.replaces != before.id:
            return f"It replaces {body.replaces}, and the key was {before.id}."
        if body.compromised:
            self.compromised += 1
            return ""
        signed = body.signature is not None and before.verifies(
            "succession", signatures.succession(signatures.PublicKey(body.key)), body.signature
        )
        return "" if signed else f"The key {before.id} did not sign it."

    def report(self, proved: list[str], unproved: list[str]) -> None:
        if self.key is not None:
            signed = self.changes - self.compromised
            changed = f" (changed {self.changes} times, {signed} of them by the key before)"
            proved.append(
                f"Receipts are signed by the key {self.key.id}{changed if self.changes else ''}: "
                f"{self.key.text}. Compare it with the address where it is published."
            )
        if self.compromised:
            unproved.append(
                f"That {self.compromised} changes of keys are by whoever had the key before: it "
                f"had fallen into other hands."
            )


# The kind of record that must follow a signature, by act; in a repeated round it is ``repeated``.
ACTS = {
    "flag": "flagged", "withdraw": "withdrawn", "finish": "finished", "reopen": "reopened",
    "comment": "commented",
}  # fmt: skip
# What a member says in a round, each of which their key has to sign once they have one.
STATEMENTS = frozenset(k for k in MEMBER_ACTS if issubclass(kinds.KINDS[k], kinds.PanelBody))


@dataclass
class MemberChecks:
    """Members' keys, and the signature that the next record has to fit.

    ``published`` are the keys that members publish elsewhere, by name: where another key begins to
    sign and none of theirs agreed, somebody else speaks for them. ``first`` is the record from
    which a member signs, ``doubts`` are sentences on keys that only the operator vouches for.
    """

    docket: str
    published: dict[str, tuple[str, ...]] = field(default_factory=dict)
    keys: kinds.MemberKeys = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    signed: int = 0
    unsigned: Counter[tuple[str, str]] = field(default_factory=Counter)
    ahead: kinds.Ahead = field(default_factory=kinds.Ahead)
    _pending: kinds.Signed | None = None
    _last: dict[str, str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def take(self, record: Record, body: object) -> Iterator[Difference]:
        signed, self._pending = self._pending, None
        difference = partial(Difference, record.seq, "signature")
        again = signed is not None and signed.act != "comment" and record.kind == "repeated"
        if signed is not None and record.kind != ACTS[signed.act] and not again:
            expected = f"{ACTS[signed.act]!r}, which was signed."
            yield difference(f"It is {record.kind!r}.", expected)
        if isinstance(body, kinds.ClockBehind):
            self.ahead = body.ahead(record)
        elif isinstance(body, kinds.MemberKeyBody):
            if fault := self._key_fault(record, body):
                yield difference(fault, "a key that its owner took into use, or ended.")
            else:
                body.change(self.keys, record.at)
        elif isinstance(body, kinds.Signed):
            if fault := self._fault(record, body):
                yield difference(fault, f"the signature of {body.member!r}.")
            self.signed += not fault
            self._pending = body
        elif record.kind in STATEMENTS:
            fault, expected = self._statement_fault(record, signed)
            if fault:
                yield difference(fault, expected)

    def _statement_fault(self, record: Record, signed: kinds.Signed | None) -> tuple[str, str]:
        """Return how a statement does not fit its signature, and what it should be."""
        body, member = record.body, str(record.body.get("member"))
        # A command of several records is signed once, before the first.
        if signed is None and member not in self.keys:
            self.unsigned[member, record.actor] += 1
        elif signed is None:
            since = f"one, since they sign from record {self.first[member]:,} on."
            return f"{member!r} speaks without a signature.", since
        elif signed.member != member:
            return f"It is of {member!r}.", f"of {signed.member!r}."
        elif record.kind == "flagged":
            if (signed.reason, signed.limit) != (body.get("reason"), body.get("limit")):
                return "Its reason or its limit is another.", "the signed one."
        elif record.kind == "commented" and signed.reason != body.get("comment"):
            return "It is another comment.", "the signed one."
        return "", ""

    def _fault(self, record: Record, body: kinds.Signed) -> str:
        earliest = later(record.at, -TOLERANCE - self.ahead.by(record.at) - APART)
        if not earliest <= body.at <= later(record.at, TOLERANCE):
            return f"It was signed at {body.at}, and recorded at {record.at}."
        key = kinds.signing_keys(self.keys, body.member).get(body.key)
        if key is None:
            return f"It is signed by {body.key}, which does not sign for {body.member!r}."
        if body.at <= self._last.get(body.subject, "") or body.signature in self._used:
            return f"It was signed at {body.at}, not after the one before: it is used again."
        if not key.verifies("member", body.statement(self.docket), body.signature):
            return "The signature is not that of what is recorded."
        body.remember(self._last)
        self._used.add(body.signature)
        return ""

    def _key_fault(self, record: Record, body: kinds.MemberKeyBody) -> str:
        if isinstance(body, kinds.MemberKeyEnrolled):
            return self._enrolment_fault(record, body)
        listed, signing = self.keys.get(body.member, {}), kinds.signing_keys(self.keys, body.member)
        if isinstance(body, kinds.MemberKeyAgreed):
            waiting, key = listed.get(body.agreed), signing.get(body.by_key)
            if waiting is None or waiting.state != "waits" or key is None:
                return f"{body.by_key} agrees to {body.agreed}, of which one is not there for that."
            content = signatures.possession(self.docket, body.member, waiting.public)
            agreed = key.verifies("member-key", content, body.consent)
            return "" if agreed else "The key before it did not agree."
        assert isinstance(body, kinds.MemberKeyRevoked)  # noqa: S101 - there are no others
        ended = listed.get(body.revoked)
        if ended is None or ended.state == "revoked":
            return f"The key {body.revoked} ends, which is not there."
        if body.signature is None:
            if ended.state == "signs":
                self.doubts.append(
                    f"That {body.member!r} revoked the key {body.revoked} (record {record.seq:,}): "
                    f"no key of theirs signed it."
                )
            return ""
        content = signatures.revocation(self.docket, body.member, ended.public)
        signed = any(
            key.verifies("member-key-end", content, body.signature) for key in signing.values()
        )
        return "" if signed else "No key of the member signed that it ends."

    def _enrolment_fault(self, record: Record, body: kinds.MemberKeyEnrolled) -> str:
        key, member = signatures.PublicKey(body.key), body.member
        content = signatures.possession(self.docket, member, key)
        if not key.verifies("member-key", content, body.proof):
            return "The new key did not sign that it is taken into use."
        listed, signing = self.keys.get(member, {}), kinds.signing_keys(self.keys, member)
        if key.id in listed and (signing or listed[key.id].state == "revoked"):
            return f"The key {key.id} is there already."
        if signing:
            return ""  # it waits until one of them agrees
        if body.key not in self.published.get(member, (body.key,)):
            return f"{member!r} publishes another key than {key.id}."
        self.first.setdefault(member, record.seq)
        if member in self.keys and member not in self.published:
            self.doubts.append(
                f"That the key {key.id} is {member!r}'s, from record {record.seq:,} on: their keys "
                f"before it were revoked, and none agreed to it. Compare it with what they "
                f"publish: --member-key."
            )
        return ""

    def report(self, proved: list[str], unproved: list[str]) -> None:
        ids = {name: kinds.signing_keys(self.keys, name) for name in sorted(self.keys)}
        keys = ", ".join(f"{n!r} with {' and '.join(k) or 'none any more'}" for n, k in ids.items())
        compared = ", ".join(sorted(set(self.keys) & set(self.published)))
        rest = ", ".join(sorted(set(self.keys) - set(self.published)))
        done = f" Compared with what they publish: {compared}." if compared else ""
        open_ = f" Compare the keys of {rest} with what they publish: --member-key." if rest else ""
        if keys:
            proved.append(
                f"{self.signed:,} acts were signed by members themselves, who sign with keys of "
                f"their own: {keys}.{done}{open_}"
            )
        for member in sorted(self.keys):
            unproved.append(
                f"What {member!r} said before record {self.first[member]:,}, where their key is "
                f"first named; and that the key was theirs, unless you compared it."
            )
        unproved += self.doubts
        for member in sorted(set(self.published) - set(self.keys)):
            unproved.append(
                f"That {member!r} said what the ledger has them say: they publish a key, and there "
                f"is none of theirs in it."
            )


_READ = {kind for kind, body in kinds.KINDS.items() if not issubclass(body, kinds.RoundBody)}


@dataclass(frozen=True)
class Trusted:
    """Knowledge from elsewhere: members' keys by name, certificates of an authority, witnesses."""

    member_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    authorities: list[Any] = field(default_factory=list)
    witnesses: Sequence[Verifier] = ()


class GovernanceChecks:
    """The checks of a ledger's governance: keys, actors, members' signatures and anchors."""

    def __init__(self, evidence: Evidence, trusted: Trusted | None = None) -> None:
        trust = trusted or Trusted()
        self.members = MemberChecks(evidence.docket, dict(trust.member_keys))
        self.actors = ActorChecks(self.members.unsigned)  # these say whose statements those count
        self.anchors = AnchorChecks(evidence, list(trust.authorities), trust.witnesses)
        self._all = (KeyChecks(), self.actors, self.members, self.anchors)

    def take(
        self, record: Record, body: kinds.Body | LedgerBroken | None = None
    ) -> Iterator[Difference]:
        """Yield the differences of a record; ``body`` is read if it is not given, and needed."""
        if record.kind not in _READ:
            body = None
        elif body is None:
            body = kinds.readable(record)
        if isinstance(body, LedgerBroken):
            yield Difference(record.seq, "order", f"{body.why}", "a body of its kind.")
            return
        for check in self._all:
            try:
                yield from check.take(record, body)
            except (LikewiseError, ValueError, OverflowError) as error:
                yield Difference(record.seq, "signature", f"{error}", "something that can be read.")

    def report(self) -> tuple[list[str], list[str]]:
        """Return sentences on what is proved, and on what is not."""
        proved, unproved = list[str](), list[str]()
        for check in self._all:
            check.report(proved, unproved)
        return proved, unproved
