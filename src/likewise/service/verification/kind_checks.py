"""Checks of replay, kind by kind: what follows from the records before one."""

from __future__ import annotations

from functools import singledispatch

from likewise.auditing import Pair
from likewise.service.clock import due_after, passed
from likewise.service.dockets.learner import ALGORITHM, lottery
from likewise.service.dockets.spec import checked_panel, commitment
from likewise.service.ledger import bodies
from likewise.service.ledger.bodies import evidence as bodies_of_keeping
from likewise.service.ledger.records import Record
from likewise.service.verification.checks import Checks

__all__ = ["check_kind"]


@singledispatch
def check_kind(body: object, checks: Checks, record: Record) -> None:
    """Compare a record with what follows from those before it, kind by kind.

    Of kinds that are not listed here the fold alone judges.
    """


@check_kind.register
def _opened(body: bodies.DocketOpened, checks: Checks, record: Record) -> None:
    """This version of the algorithm can recompute it."""
    if body.algorithm != ALGORITHM:
        checks.differ(record, "learner", f"It is by {body.algorithm}", ALGORITHM)


@check_kind.register
def _joined(body: bodies.MemberJoined, checks: Checks, _: Record) -> None:
    """Members join once."""
    checked_panel((*checks.projection.members, body.member), checks.projection.rule)


@check_kind.register
def _left(body: bodies.MemberLeft, checks: Checks, _: Record) -> None:
    """Members leave once, and the rule makes sense without them."""
    members = list(checks.projection.members)
    members.remove(body.member)
    checked_panel(tuple(members), checks.projection.rule)


@check_kind.register
def _rule(body: bodies.RuleChanged, checks: Checks, _: Record) -> None:
    """The rule makes sense for the members."""
    checked_panel(tuple(checks.projection.members), body.rule)


@check_kind.register
def _revealed(body: bodies.SeedRevealed, checks: Checks, record: Record) -> None:
    """The seed that is published is the one committed to."""
    if commitment(int(body.seed), bytes.fromhex(body.salt)) != checks.projection.commitment:
        checks.differ(record, "seed", "Another seed was published", "the one committed to")


@check_kind.register
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


@check_kind.register
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


@check_kind.register
def _reasons_erased(body: bodies_of_keeping.ReasonsErased, checks: Checks, record: Record) -> None:
    """Reasons whose time had ended are gone."""
    checks.reasonless.add(body.of_round)
    round_ = checks.projection.find(body.of_round)
    for digest in (*round_.reasons, *round_.explanations.values()) if round_ else ():
        if checks.payloads is not None and digest in checks.payloads:
            checks.differ(record, "erasure", "The words of a reason are still there", "erased")


@check_kind.register
def _hold(body: bodies_of_keeping.HoldLifted, checks: Checks, record: Record) -> None:
    """A hold that is lifted was placed."""
    if body.hold not in checks.projection.governance.holds:
        checks.differ(
            record, "erasure", f"The hold {body.hold!r} is lifted", "a hold that is there"
        )


@check_kind.register
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


@check_kind.register(bodies.Flagged)
@check_kind.register(bodies.Withdrawn)
def _said(body: bodies.Flagged | bodies.Withdrawn, checks: Checks, record: Record) -> None:
    """Objections and their withdrawal: by a member, before the end, on a pair to ask about."""
    checks.pair(record, checks.in_audit(body, record), Pair.of(body.pair))
    if isinstance(body, bodies.Flagged) and body.reason is not None:
        checks.reasons[body.reason] = record


@check_kind.register
def _repeated(body: bodies.Repeated, checks: Checks, record: Record) -> None:
    """Only who has reviewed a round before can be shown it again."""
    round_ = checks.projection.round(body.round)
    if round_.seats.get(body.member) != "finished":
        checks.differ(record, "panel", "Somebody reviewed it again", "a member who had reviewed")
    for one in body.objections:
        checks.pair(record, round_, Pair.of(one.pair))


@check_kind.register(bodies.Finished)
@check_kind.register(bodies.Reopened)
@check_kind.register(bodies.Absent)
def _seat(body: bodies.Finished, checks: Checks, record: Record) -> None:
    """Reviews and absences; the last one ends the audit."""
    round_ = checks.in_audit(body, record)
    seats, reopened = dict(round_.seats), isinstance(body, bodies.Reopened)
    was = "finished" if reopened else "asked"
    if seats[body.member] != was:
        checks.differ(record, "panel", f"{body.member!r} was {seats[body.member]}", was)
    if isinstance(body, bodies.Absent) and not passed(round_.due, record.at):
        absent = f"{body.member!r} is absent already"
        checks.differ(record, "panel", absent, f"due at {round_.due}")
    seats[body.member] = "asked" if reopened else record.kind
    if "asked" not in seats.values():
        checks.owed = ("audited", round_.id)


@check_kind.register
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


@check_kind.register(bodies.Labelled)
@check_kind.register(bodies.Overridden)
@check_kind.register(bodies.Closed)
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


def _outcome(audited: bodies.Audited) -> str:
    reported = "; ".join(" over ".join(pair) for pair in audited.pairs)
    return f"outcome {audited.outcome}" + (f" ({reported})" if reported else "")
