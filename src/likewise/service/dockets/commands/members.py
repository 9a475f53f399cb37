"""The panel's members and rule; changes concern rounds that are sealed later."""

from __future__ import annotations

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.spec import checked_panel
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import GuidelinesSet, MemberJoined, MemberLeft, RuleChanged
from likewise.service.ledger.records import Receipt

__all__ = ["GUIDELINES", "change_rule", "join", "leave", "set_guidelines"]

# The most characters of guidelines.
GUIDELINES = 20_000


def join(docket: Docket, member: str) -> Receipt:
    """Somebody joins the panel."""
    with docket.unit_of_work() as work:
        if member not in work.projection.members:
            checked_panel((*work.projection.members, member), work.projection.rule)
            work.add(MemberJoined(member))
    return docket.receipt()


def leave(docket: Docket, member: str) -> Receipt:
    """Somebody leaves the panel; the rule must still make sense without them."""
    with docket.unit_of_work() as work:
        if member not in work.projection.members:
            raise ServiceError("no-member", 404, f"{member!r} does not sit on the panel.")
        rest = tuple(m for m in work.projection.members if m != member)
        checked_panel(rest, work.projection.rule)
        work.add(MemberLeft(member))
    return docket.receipt()


def set_guidelines(docket: Docket, text: str) -> Receipt:
    """Words for the members about what to look for; what they were told is on record."""
    if not isinstance(text, str) or not 0 < len(text) <= GUIDELINES:
        raise ServiceError(
            "bad-guidelines", 422, f"Guidelines must be text of 1 to {GUIDELINES} characters."
        )
    with docket.unit_of_work() as work:
        if text != work.projection.guidelines:
            work.add(GuidelinesSet(text))
    return docket.receipt()


def change_rule(docket: Docket, rule: str) -> Receipt:
    """Another rule, for the members that there are."""
    with docket.unit_of_work() as work:
        text = checked_panel(tuple(work.projection.members), rule)
        if text != work.projection.rule:
            work.add(RuleChanged(text))
    return docket.receipt()
