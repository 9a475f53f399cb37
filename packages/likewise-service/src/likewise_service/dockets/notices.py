"""Notices to applicants: before they are decided on, and of a rejection with its reasons.

The texts are the docket's own templates. What is given is kept beside the ledger, so that it can be
shown later, and is erased with the person.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from likewise_service.dockets.appeals import decided_round
from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.dockets.explanations import NAMED, PastPolicy, rejection
from likewise_service.dockets.round import KeptPolicy, Round
from likewise_service.errors import ServiceError, is_moment
from likewise_service.language import speaking
from likewise_service.ledger import kinds
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.records import Payload, features_of

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
DEFAULT = kinds.NoticesSet(BEFORE, AFTER, kinds.APPEAL_DAYS)
LONGEST_TEXT = 20_000
LONGEST_DAYS = 366.0


def notices_of(docket: Docket) -> kinds.NoticesSet:
    """Return the texts that are in force, and the days."""
    return docket.projection.notices or DEFAULT


@command
def set_notices(work: UnitOfWork, before: str, after: str, days: float) -> None:
    """Set the texts of notices, and the days within which appeals that come later are decided."""
    for name, text in (("before", before), ("after", after)):
        if fault := _template_fault(name, text):
            raise ServiceError("bad-notice", 422, f"The notice {name!r} {fault}")
    if not 0 < days <= LONGEST_DAYS:
        raise ServiceError(
            "bad-days", 422, f"Appeals must be decided within 1 to {LONGEST_DAYS:g} days."
        )
    terms = kinds.NoticesSet(before, after, float(days))
    if terms != (work.projection.notices or DEFAULT):
        work.add(terms)


def _template_fault(name: str, text: str) -> str:
    """Return why a template cannot be used, or nothing."""
    template, allowed = Template(text), WORDS[name]
    listed = ", ".join(f"${word}" for word in sorted(allowed))
    if not 0 < len(text) <= LONGEST_TEXT:
        return f"must have 1 to {LONGEST_TEXT} characters."
    if not template.is_valid() or not set(template.get_identifiers()) <= allowed:
        return f"may name {listed}; write $$ for a dollar sign."
    if name == "after" and "reasons" not in template.get_identifiers():
        return "must name $reasons: whoever is rejected is told why."
    return ""


@dataclass(frozen=True)
class GivenNotice:
    """A notice as somebody was given it; ``source`` is whose reasons they are.

    That is the ``policy``, the ``reviewer`` of an appeal, who ``overrode`` the policy, or the
    ``institution``; nothing in a notice before the decision.
    """

    occasion: kinds.Occasion
    given: str
    text: str
    reasons: Sequence[str]
    source: str | None


def give_notice(
    docket: Docket, round_id: str, person: str, occasion: kinds.Occasion, given: str | None = None,
    reasons: Sequence[str] = (),
) -> tuple[GivenNotice, Checkpoint]:  # fmt: skip
    """Make the notice for somebody, and record that it was given, now or at a time before.

    ``reasons`` are the institution's own, where it decided; nowhere else are they taken.
    """
    with docket.unit_of_work() as work:
        round_ = decided_round(work, round_id, person)
        moment = work.at if given is None else given
        if not is_moment(moment) or moment > work.at:
            raise ServiceError(
                "bad-time",
                422,
                f"It was given at {moment!r}: write a time like {work.at}, or none.",
            )
        notice = _notice(work, round_, person, occasion, moment, reasons)
        content = {"text": notice.text, "reasons": list(notice.reasons), "source": notice.source}
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
        return GivenNotice(occasion, given, Template(terms.before).substitute(words), (), None)
    if settings.shadow or round_.stands(person):
        raise ServiceError(
            "not-adverse", 409,
            f"{person!r} was not rejected by a decision that is used: there is nothing to give "
            f"notice of.",
        )  # fmt: skip
    source, named = principal_reasons(work, round_, person, reasons)
    listed = "\n".join(f"{number}. {line}" for number, line in enumerate(named, 1))
    text = Template(terms.after).substitute(words, person=person, reasons=listed)
    return GivenNotice(occasion, given, text, named, source)


def principal_reasons(
    work: UnitOfWork, round_: Round, person: str, own: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return whose reasons a rejection has, and which.

    Reasons are those of whoever decided: of a person in their own words, of the policy as they are
    computed. The institution's ``own``, which it sends, are taken where nothing else is known.
    """
    source, digest = _decider(round_, person)
    payload = work.transaction.payloads([digest or ""]).get(digest or "")
    if payload is None:
        named = []
    elif source == "policy":
        named = _policy_reasons(work, round_, person, features_of(payload.content))
    else:
        named = [str(payload.content["text"])]
    if bool(named) == bool(own) or len(own) > NAMED:
        raise ServiceError(
            "wrong-reasons", 422,
            "The reasons are on record already; send none." if named else
            f"Nothing here knows the reasons: send them, 1 to {NAMED}, in words.",
        )  # fmt: skip
    return (source, named) if named else ("institution", list(own))


def _decider(round_: Round, person: str) -> tuple[str, str | None]:
    """Return who decided last on somebody, and the digest of what their reasons are in."""
    appeals = [appeal for appeal in round_.appeals_of(person) if appeal.approved is not None]
    if appeals:
        return "reviewer", appeals[-1].reason
    if person in round_.overrides:
        return "overrode", round_.explanations.get(person)
    return "policy", round_.people[person]


def _policy_reasons(
    work: UnitOfWork, round_: Round, person: str, features: tuple[float, ...]
) -> list[str]:
    """Return the policy's reasons; none where it is not kept, as where the institution decides."""
    kept = work.transaction.policy(round_.id)
    if kept is None:
        return []
    policy = PastPolicy.of(round_, person, KeptPolicy.parse(kept), work.state.learner)
    with speaking("en"):  # whatever the language of whoever asks: it is recorded
        return rejection(round_.decisions[person].score, policy.reasons(features))
