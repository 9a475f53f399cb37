"""Appeals and notices: what an applicant asks a person to reconsider, and what one is told.

The first decision stays on record beside the reviewer's. The learner never sees corrected features:
its past does not change, and a second draw would reward those who appeal most often. The policy of
that round and its one draw show the reviewer what they would have made of the corrections; the
reviewer decides.

A notice comes before a decision, or gives the reasons of a rejection. Its text is the docket's own
template; it is kept beside the ledger, and erased with the person.
"""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from likewise_service.clock import DAY, is_moment, later, passed
from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.dockets.explanations import NAMED, PastPolicy, rejection
from likewise_service.dockets.round import KeptPolicy, Round
from likewise_service.errors import ServiceError
from likewise_service.language import N_, speaking
from likewise_service.ledger import kinds, notes
from likewise_service.ledger.records import Payload, canonical, features_of, person_payload


def open_appeal(
    docket: Docket, round_id: str, person: str, text: str | None = None,
    corrections: Mapping[str, Any] | None = None, key: str | None = None,
) -> tuple[kinds.Appeal, notes.Checkpoint]:  # fmt: skip
    """Open an appeal with words, corrected features or both; the same ``key`` gets the same."""
    with docket.unit_of_work() as work:
        round_ = decided_round(work, round_id, person)
        name = secrets.token_hex(6)
        if key is not None:
            keyed = canonical([key, round_id, person])
            name = hmac.new(work.docket.salt, keyed, "sha256").hexdigest()[:12]
        content = _content(work, round_, person, text, corrections)
        if name in round_.appeals:
            _check_same(work, round_.appeals[name], content)
        else:
            _open(work, round_, person, name, content)
    return docket.projection.round(round_id).appeals[name], docket.receipt()


def decided_round(work: UnitOfWork, round_id: str, person: str) -> Round:
    """Return the round in which somebody was decided on; one who was erased is refused."""
    round_ = work.projection.round(round_id)
    round_.check_person(person)
    if person in round_.erased:
        sentence = f"{person!r} was erased, so nothing is left to go by. Let them apply again."
        raise ServiceError("erased", 409, sentence)
    return round_


def _check_same(work: UnitOfWork, appeal: kinds.Appeal, content: Payload) -> None:
    if work.transaction.payloads([appeal.content])[appeal.content].content != content.content:
        fault = f"The appeal {appeal.id} has the same idempotency key and asks for something else."
        raise ServiceError("key-reused", 409, f"{fault} Use a new key for every request.")


def _content(
    work: UnitOfWork, round_: Round, person: str, text: str | None,
    corrections: Mapping[str, Any] | None,
) -> Payload:  # fmt: skip
    """Return what somebody asks: their words, and all of their features as they should be."""
    words = work.reason(text)
    if words is None and not corrections:
        sentence = "Say what is to be corrected, or why to reconsider: send a text."
        raise ServiceError("empty-appeal", 422, sentence)
    content: dict[str, Any] = {} if words is None else dict(words.content)
    if corrections:
        digest, schema = round_.people[person] or "", work.docket.schema
        features = list(features_of(work.transaction.payloads([digest])[digest].content))
        for name, value in corrections.items():
            features[schema.place(name)] = schema[name].encode(value, person)
        content |= person_payload(features).content
        content["corrected"] = sorted(corrections)
    return Payload.fresh(content)


def _open(work: UnitOfWork, round_: Round, person: str, name: str, content: Payload) -> None:
    round_.check_no_appeal(person)
    corrects, policy = "features" in content.content, _policy(work, round_, person)
    again = policy.decide(features_of(content.content)) if corrects and policy else None
    due = later(work.at, DAY * work.projection.appeal_days)
    digest = work.keep(content)
    work.add(kinds.AppealOpened(round_.id, person, name, digest, corrects, again, due))


def _policy(work: UnitOfWork, round_: Round, person: str) -> PastPolicy | None:
    """Return the policy that decided; None where it is not kept, or the institution decides."""
    kept = work.transaction.policy(round_.id)
    if kept is None:
        return None
    return PastPolicy.of(round_, person, KeptPolicy.parse(kept), work.state.learner)


def _appeal(work: UnitOfWork, name: str) -> kinds.Appeal:
    appeal = work.projection.appeals.get(name)
    if appeal is None:
        sentence = f"There is no open appeal {name!r}. It may be decided, or withdrawn."
        raise ServiceError("no-appeal", 404, sentence)
    return appeal


def _named(appeal: kinds.Appeal) -> tuple[str, str, str]:
    return appeal.round, appeal.person, appeal.id


@command
def assign_appeal(work: UnitOfWork, name: str, reviewer: str) -> None:
    appeal = _appeal(work, name)
    if appeal.reviewer != reviewer:
        work.add(kinds.AppealAssigned(*_named(appeal), reviewer))


@command
def decide_appeal(
    work: UnitOfWork, name: str, reviewer: str, approved: bool, reason: str, *,
    accepted: bool = False,
) -> None:  # fmt: skip
    """Record what the reviewer decides and why; ``accepted`` says that the corrections are right.

    While the round is open, the learner is told that somebody decided otherwise: then it takes the
    person's label, and charges nothing for it.
    """
    appeal = _appeal(work, name)
    _check_reviewer(work, appeal, reviewer)
    words = work.reason(reason)
    if words is None:
        sentence = N_("Say why: the applicant has a right to the reasons.")
        raise ServiceError("no-reason", 422, sentence)
    if accepted and not appeal.corrects:
        raise ServiceError("no-corrections", 422, N_("This appeal corrects nothing to accept."))
    named, digest = _named(appeal), work.keep(words)
    work.add(kinds.AppealDecided(*named, reviewer, approved, accepted, digest))
    round_ = work.projection.round(appeal.round)
    settled = appeal.person in round_.overrides or appeal.person in round_.labels
    differs = round_.decisions[appeal.person].approved is not approved
    if round_.closed is None and differs and not settled:
        work.add(kinds.Overridden(appeal.round, appeal.person, approved))
        work.close_if_done(appeal.round)


def _check_reviewer(work: UnitOfWork, appeal: kinds.Appeal, reviewer: str) -> None:
    """Refuse everybody but the appeal's reviewer; an operator decides in their own name."""
    names = {body.role: body.name for body in work.actor.introduction}
    in_own_name = names.get("operator", reviewer) == reviewer
    if appeal.reviewer != reviewer or not in_own_name:
        assigned = f"The appeal {appeal.id} is assigned to {appeal.reviewer or 'nobody'}"
        remedy = "who has to decide in their own name. Assign it to the person who decides."
        raise ServiceError("not-assigned", 409, f"{assigned}, {remedy}")


@command
def withdraw_appeal(work: UnitOfWork, name: str) -> None:
    work.add(kinds.AppealWithdrawn(*_named(_appeal(work, name))))


def mark_overdue(docket: Docket) -> int:
    """Record the appeals that nobody has decided in time, each once; return how many."""
    with docket.unit_of_work() as work:
        appeals = work.projection.appeals.values()
        late = [a for a in appeals if not a.overdue and passed(a.due, work.at)]
        work.add(*(kinds.AppealOverdue(*_named(appeal)) for appeal in late))
    return len(late)


BEFORE = """\
$title: an automated system takes part in this decision. It computes a chance of approval from the \
data that you give, and draws with that chance. A panel of people audits its decisions.

If it decides against you, we will tell you why. You can then see and correct the data that were \
used, and ask that a person reconsider."""
AFTER = """\
$title: your application ($person) was not approved.

The principal reasons:

$reasons

You can ask for all that led to this decision. If data about you are wrong, tell us what is right; \
and whether they are or not, you can ask that a person reconsider the decision. A person decides \
within $days days."""
# The names that a template may have.
WORDS = {
    "before": frozenset({"title", "days"}),
    "after": frozenset({"title", "days", "person", "reasons"}),
}
DEFAULT_NOTICES = kinds.NoticesSet(BEFORE, AFTER, kinds.APPEAL_DAYS)
LONGEST_TEXT = 20_000
LONGEST_DAYS = 366.0


def notices_of(docket: Docket) -> kinds.NoticesSet:
    return docket.projection.notices or DEFAULT_NOTICES


@command
def set_notices(work: UnitOfWork, before: str, after: str, days: float) -> None:
    """Set the texts of notices, and the days within which appeals that come later are decided."""
    for name, text in (("before", before), ("after", after)):
        if fault := _template_fault(name, text):
            raise ServiceError("bad-notice", 422, f"The notice {name!r} {fault}")
    if not 0 < days <= LONGEST_DAYS:
        sentence = f"Appeals must be decided within 1 to {LONGEST_DAYS:g} days."
        raise ServiceError("bad-days", 422, sentence)
    terms = kinds.NoticesSet(before, after, float(days))
    if terms != notices_of(work.docket):
        work.add(terms)


def _template_fault(name: str, text: str) -> str:
    template, allowed = Template(text), WORDS[name]
    listed = ", ".join(f"${word}" for word in sorted(allowed))
    if not 0 < len(text) <= LONGEST_TEXT:
        return f"must have 1 to {LONGEST_TEXT} characters."
    if not template.is_valid() or not set(template.get_identifiers()) <= allowed:
        return f"may name {listed}; write $$ for a dollar sign."
    if name == "after" and "reasons" not in template.get_identifiers():
        return "must name $reasons: somebody who is rejected is told why."
    return ""


@dataclass(frozen=True)
class GivenNotice:
    """A notice as it was given; ``source`` says whose reasons it has.

    They are the ``policy``'s, the ``reviewer``'s, the ``institution``'s, or those of the person who
    ``overrode`` the policy. A notice before the decision has none.
    """

    occasion: kinds.Occasion
    given: str
    text: str
    reasons: list[str]
    source: str | None


def give_notice(
    docket: Docket, round_id: str, person: str, occasion: kinds.Occasion, given: str | None = None,
    reasons: Sequence[str] = (),
) -> tuple[GivenNotice, notes.Checkpoint]:  # fmt: skip
    """Make the notice for somebody, and record that it was given, now or at a time before.

    ``reasons`` are the institution's own, where it decided; nowhere else are they taken.
    """
    with docket.unit_of_work() as work:
        round_ = decided_round(work, round_id, person)
        moment = work.at if given is None else given
        if not is_moment(moment) or moment > work.at:
            sentence = f"It was given at {moment!r}: write a time like {work.at}, or none."
            raise ServiceError("bad-time", 422, sentence)
        notice = _notice(work, round_, person, occasion, moment, reasons)
        content = {"text": notice.text, "reasons": notice.reasons, "source": notice.source}
        digest = work.keep(Payload.fresh(content))
        work.add(kinds.NoticeGiven(round_id, person, occasion, moment, digest))
    return notice, docket.receipt()


def _notice(
    work: UnitOfWork, round_: Round, person: str, occasion: kinds.Occasion, given: str,
    reasons: Sequence[str],
) -> GivenNotice:  # fmt: skip
    terms, settings = notices_of(work.docket), work.projection.settings
    words = {"title": settings.title, "days": f"{terms.days:g}"}
    if occasion == "before":
        return GivenNotice(occasion, given, Template(terms.before).substitute(words), [], None)
    if settings.shadow or round_.stands(person):
        fault = f"{person!r} was not rejected by a decision that is used."
        raise ServiceError("not-adverse", 409, f"{fault} Give no notice of a rejection.")
    source, named = principal_reasons(work, round_, person, reasons)
    listed = "\n".join(f"{number}. {line}" for number, line in enumerate(named, 1))
    text = Template(terms.after).substitute(words, person=person, reasons=listed)
    return GivenNotice(occasion, given, text, named, source)


def principal_reasons(
    work: UnitOfWork, round_: Round, person: str, own: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return who rejected somebody, and their reasons.

    A person's reasons are their own words, the policy's are computed. The institution's ``own`` are
    taken where no others are known.
    """
    source, digest = _decider(round_, person)
    payload = work.transaction.payloads([digest or ""]).get(digest or "")
    policy, named = _policy(work, round_, person), list[str]()
    if payload is not None and source != "policy":
        named = [str(payload.content["text"])]
    elif payload is not None and policy is not None:
        with speaking("en"):  # the ledger's language, not the reader's
            reasons = policy.reasons(features_of(payload.content))
            named = rejection(round_.decisions[person].score, reasons)
    if bool(named) == bool(own) or len(own) > NAMED:
        sentence = f"The reasons are not on record: send them, 1 to {NAMED}, in words."
        if named:
            sentence = "The reasons are on record already; send none."
        raise ServiceError("wrong-reasons", 422, sentence)
    return (source, named) if named else ("institution", list(own))


def _decider(round_: Round, person: str) -> tuple[str, str | None]:
    """Return who decided last on somebody, and the digest of what their reasons are in."""
    appeals = [appeal for appeal in round_.appeals_of(person) if appeal.approved is not None]
    if appeals:
        return "reviewer", appeals[-1].reason
    if person in round_.overrides:
        return "overrode", round_.explanations.get(person)
    return "policy", round_.people[person]
