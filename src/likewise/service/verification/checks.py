"""Checks of replay, kind by kind: what follows from the records before one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch

from likewise.auditing import Pair
from likewise.events import Decision
from likewise.service.clock import due_after, passed
from likewise.service.dockets.learner import ALGORITHM, Contents, Learner, Surrogates, lottery
from likewise.service.dockets.spec import checked_panel, commitment
from likewise.service.dockets.views.projection import Projection
from likewise.service.dockets.views.round import Round
from likewise.service.ledger import bodies
from likewise.service.ledger import evidence_bodies as bodies_of_keeping
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference, Replayed

__all__ = ["Checks"]


class Checks:
    """Compares each record with what the projection says before it, and notes what differs."""

    def __init__(
        self, projection: Projection, found: Replayed, payloads: Mapping[str, Payload] | None,
        surrogates: Surrogates,
    ) -> None:  # fmt: skip
        self.projection, self.found = projection, found
        self.payloads, self.surrogates = payloads, surrogates
        self.learner: Learner | None = None
        self.changed: set[str] = set()
        self.owed: tuple[str, str] | None = None
        self.reasons: dict[str, Record] = {}
        self.reasonless: set[str] = set()
        self._last = 0

    def differ(self, record: Record, about: str, recorded: object, expected: object) -> None:
        """Note a difference."""
        self.found.differences.append(Difference(record.seq, about, f"{recorded}.", f"{expected}."))

    def order(self, record: Record, body: bodies.Body) -> None:
        """The docket opens once, time never goes back, and what is due comes at once."""
        if (self.projection.spec is None) != isinstance(body, bodies.DocketOpened):
            self.differ(record, "order", f"It is {record.kind!r}", "docket-opened first, and once")
        if record.at < self.projection.at:
            expected = f"{self.projection.at} or later"
            self.differ(record, "order", f"It has the time {record.at}", expected)
        mine = (record.kind, getattr(body, "round", ""))
        if self.owed is not None and mine != self.owed:
            kind, round_id = self.owed
            self.differ(record, "order", f"It is {record.kind!r}", f"{kind!r} of round {round_id}")
        self.owed, self._last = None, record.seq

    def finish(self) -> None:
        """Nothing may be due at the end, and objections that stand have their reasons."""
        for round_ in self.projection.history():
            if round_.id in self.reasonless:
                continue
            for said in round_.objections.values():
                for pair, reason in said.items():
                    gone = any((round_.id, person) in self.surrogates for person in pair)
                    if reason is not None and not gone:
                        self.payload(self.reasons[reason], reason, "The words of a reason")
        if self.owed is not None:
            kind, round_id = self.owed
            self.found.differences.append(
                Difference(self._last + 1, "order", "There is none.", f"{kind} of {round_id}.")
            )

    def payload(self, record: Record, digest: str, what: str) -> None:
        """Something personal is there, and what was recorded."""
        if self.payloads is None:
            return
        if digest in self.changed:
            self.differ(record, "payload", f"{what} were changed", f"those of {digest[:16]}…")
        elif digest not in self.payloads:
            self.differ(record, "payload", f"{what} are missing", f"those of {digest[:16]}…")

    def complete(self, body: bodies.PeopleArrived, contents: Contents) -> bool:
        """Tell if everybody who arrived has features, or those of a surrogate."""
        digests = [self.surrogates.get((body.round, p.id), p.digest) for p in body.people]
        return all(digest is not None and digest in contents for digest in digests)

    def decisions(
        self, record: Record, recorded: Sequence[Decision], should: Sequence[Decision]
    ) -> None:
        """Score, decision and inverse chance of everybody are those that follow."""
        if [d.person for d in recorded] != [d.person for d in should]:
            who = f"Decisions are on {[d.person for d in recorded]}"
            self.differ(record, "decision", who, [d.person for d in should])
            return
        for one, other in zip(recorded, should, strict=True):
            if one != other:
                self.differ(record, "decision", f"{one.person!r}: {_words(one)}", _words(other))

    def check(self, record: Record, body: bodies.Body) -> None:
        """Compare a record with what follows from those before it."""
        _check(body, self, record)

    def pair(self, record: Record, round_: Round, pair: Pair) -> None:
        """Objections are to pairs that can be reported."""
        if not round_.can_report(pair):
            self.differ(record, "panel", f"An objection to {list(pair)}", "a pair to ask about")

    def in_audit(self, body: bodies.Reviewed | bodies.Withdrawn, record: Record) -> Round:
        """The round of which a member speaks: seated, in time, and before the end."""
        round_, member = self.projection.round(body.round), body.member
        if member not in round_.seats:
            self.differ(record, "panel", f"{member!r} speaks", "a member of the round's panel")
        if passed(round_.due, record.at) and not isinstance(body, bodies.Absent):
            self.differ(record, "panel", f"{member!r} speaks at {record.at}", f"by {round_.due}")
        if round_.outcome is not None:
            self.differ(record, "panel", f"{member!r} speaks after the audit", "nobody")
        return round_


@singledispatch
def _check(body: object, checks: Checks, record: Record) -> None:
    """Check a record; of kinds that are not listed here the fold alone judges."""


@_check.register
def _opened(body: bodies.DocketOpened, checks: Checks, record: Record) -> None:
    """This version of the algorithm can recompute it."""
    if body.algorithm != ALGORITHM:
        checks.differ(record, "learner", f"It is by {body.algorithm}", ALGORITHM)


@_check.register
def _joined(body: bodies.MemberJoined, checks: Checks, _: Record) -> None:
    """Members join once."""
    checked_panel((*checks.projection.members, body.member), checks.projection.rule)


@_check.register
def _left(body: bodies.MemberLeft, checks: Checks, _: Record) -> None:
    """Members leave once, and the rule makes sense without them."""
    members = list(checks.projection.members)
    members.remove(body.member)
    checked_panel(tuple(members), checks.projection.rule)


@_check.register
def _rule(body: bodies.RuleChanged, checks: Checks, _: Record) -> None:
    """The rule makes sense for the members."""
    checked_panel(tuple(checks.projection.members), body.rule)


@_check.register
def _revealed(body: bodies.SeedRevealed, checks: Checks, record: Record) -> None:
    """The seed that is published is the one committed to."""
    if commitment(int(body.seed), bytes.fromhex(body.salt)) != checks.projection.commitment:
        checks.differ(record, "seed", "Another seed was published", "the one committed to")


@_check.register
def _arrived(body: bodies.PeopleArrived, checks: Checks, record: Record) -> None:
    """Nobody joins a sealed round, or after the seed was published; payloads are theirs."""
    round_ = checks.projection.find(body.round)
    if round_ is not None and round_.sealed is not None:
        checks.differ(record, "order", f"People join the sealed round {body.round}", "nobody")
    if checks.projection.revealed is not None:
        checks.differ(record, "order", "People arrive after the seed was published", "nobody")
    for person in body.people:
        if (body.round, person.id) not in checks.surrogates:
            checks.payload(record, person.digest, f"The features of {person.id!r}")
        elif checks.payloads is not None and person.digest in checks.payloads:
            who = f"The features of {person.id!r}, who was erased, are still there"
            checks.differ(record, "erasure", who, "erased")
    checks.owed = ("decided", body.round)


@_check.register
def _erased(body: bodies.Erased, checks: Checks, record: Record) -> None:
    """The surrogate is what was recorded, or there is none."""
    hold = checks.projection.governance.held(body.round, body.person)
    if hold is not None:
        checks.differ(record, "erasure", f"{body.person!r} was erased", f"held by {hold!r}")
    if body.person not in checks.projection.round(body.round).people:
        checks.differ(record, "erasure", f"{body.person!r} was erased", "somebody of the round")
    if body.digest is None:
        checks.found.wholly.append((body.round, body.person))
    else:
        checks.found.erased.append((body.round, body.person))
        what = f"The surrogate's features for {body.person!r}"
        checks.payload(record, body.digest, what)


@_check.register
def _reasons_erased(body: bodies_of_keeping.ReasonsErased, checks: Checks, record: Record) -> None:
    """Reasons whose time had ended are gone."""
    checks.reasonless.add(body.of_round)
    round_ = checks.projection.find(body.of_round)
    for digest in (*round_.reasons, *round_.explanations.values()) if round_ else ():
        if checks.payloads is not None and digest in checks.payloads:
            checks.differ(record, "erasure", "The words of a reason are still there", "erased")


@_check.register
def _hold(body: bodies_of_keeping.HoldLifted, checks: Checks, record: Record) -> None:
    """A hold that is lifted was placed."""
    if body.hold not in checks.projection.governance.holds:
        checks.differ(
            record, "erasure", f"The hold {body.hold!r} is lifted", "a hold that is there"
        )


@_check.register
def _sealed(body: bodies.RoundSealed, checks: Checks, record: Record) -> None:
    """Lottery, members, rule and deadline are those that follow."""
    round_ = checks.projection.round(body.round)
    if round_.sealed is not None:
        checks.differ(record, "order", f"Round {round_.id} is sealed again", "sealed once")
    if checks.learner is not None:
        checks.found.draws += 1
        drawn = lottery(checks.learner, round_.number - checks.projection.decided_elsewhere)
        if body.drawn != drawn:
            checks.differ(record, "lottery", f"drawn: {body.drawn}", f"drawn: {drawn}")
    expected: dict[str, object] = {
        "members": tuple(checks.projection.members) if body.drawn else (),
        "rule": checks.projection.rule,
        "due": due_after(record.at, checks.projection.settings.deadline),
    }
    for name, should in expected.items():
        if getattr(body, name) != should:
            recorded = f"{name}: {getattr(body, name)}"
            checks.differ(record, "panel", recorded, f"{name}: {should}")
    if not body.members:
        checks.owed = ("audited", round_.id)


@_check.register(bodies.Objected)
@_check.register(bodies.Withdrawn)
def _said(body: bodies.Objected | bodies.Withdrawn, checks: Checks, record: Record) -> None:
    """Objections and their withdrawal: by a member, before the end, on a pair to ask about."""
    checks.pair(record, checks.in_audit(body, record), Pair.of(body.pair))
    if isinstance(body, bodies.Objected) and body.reason is not None:
        checks.reasons[body.reason] = record


@_check.register
def _repeated(body: bodies.Repeated, checks: Checks, record: Record) -> None:
    """Only who has reviewed a round before can be shown it again."""
    round_ = checks.projection.round(body.round)
    if round_.seats.get(body.member) != "reviewed":
        checks.differ(record, "panel", "Somebody reviewed it again", "a member who had reviewed")
    for one in body.said:
        checks.pair(record, round_, Pair.of(one.pair))


@_check.register(bodies.Reviewed)
@_check.register(bodies.Reopened)
@_check.register(bodies.Absent)
def _seat(body: bodies.Reviewed, checks: Checks, record: Record) -> None:
    """Reviews and absences; the last one ends the audit."""
    round_ = checks.in_audit(body, record)
    seats, reopened = dict(round_.seats), isinstance(body, bodies.Reopened)
    was = "reviewed" if reopened else "asked"
    if seats[body.member] != was:
        checks.differ(record, "panel", f"{body.member!r} was {seats[body.member]}", was)
    if isinstance(body, bodies.Absent) and not passed(round_.due, record.at):
        absent = f"{body.member!r} is absent already"
        checks.differ(record, "panel", absent, f"due at {round_.due}")
    seats[body.member] = "asked" if reopened else record.kind
    if "asked" not in seats.values():
        checks.owed = ("audited", round_.id)


@_check.register
def _audited(body: bodies.Audited, checks: Checks, record: Record) -> None:
    """The outcome follows from who was there, what they said, rule and quorum."""
    round_ = checks.projection.round(body.round)
    if round_.outcome is not None:
        checks.differ(record, "order", f"Round {round_.id} is audited again", "audited once")
    if "asked" in round_.seats.values():
        should = bodies.Audited(round_.id, "unaudited")
        checks.found.ended += body == should
    else:
        should = round_.conclusion(checks.projection.settings.quorum)
    checks.found.audits += 1
    if body != should:
        checks.differ(record, "audit", _outcome(body), _outcome(should))


@_check.register(bodies.Labelled)
@_check.register(bodies.Overridden)
@_check.register(bodies.Closed)
def _once(
    body: bodies.Labelled | bodies.Overridden | bodies.Closed, checks: Checks, record: Record
) -> None:
    """Labels, overrides and the end of a round come once."""
    round_ = checks.projection.round(body.round)
    known = {
        bodies.Labelled: set(round_.labels), bodies.Overridden: set(round_.overrides),
        bodies.Closed: {""} if round_.closed else set(),
    }[type(body)]  # fmt: skip
    if getattr(body, "person", "") in known:
        checks.differ(record, "order", f"{record.kind!r} is there twice", "there once")


def _words(decision: Decision) -> str:
    said = "approved" if decision.approved else "rejected"
    chance = "" if decision.inverse_chance is None else f", J {decision.inverse_chance / 2**20:.6f}"
    return f"{said}, score {decision.score / 2**20:.4f} ({decision.score} of 2^20){chance}"


def _outcome(audited: bodies.Audited) -> str:
    reported = "; ".join(" over ".join(pair) for pair in audited.pairs)
    return f"outcome {audited.outcome}" + (f" ({reported})" if reported else "")
