"""The panel's members, rule and guidelines; changes concern rounds that are sealed later."""

from __future__ import annotations

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.spec import checked_panel
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import GuidelinesSet, MemberJoined, MemberLeft, RuleChanged
from likewise.service.ledger.records import Receipt

# The most characters of guidelines.
GUIDELINES = 20_000


def join(docket: Docket, member: str) -> Receipt:
    """Add a member to the panel."""
    with docket.unit_of_work() as work:
        if member not in work.projection.members:
            checked_panel((*work.projection.members, member), work.projection.rule)
            work.add(MemberJoined(member))
    return docket.receipt()


def leave(docket: Docket, member: str) -> Receipt:
    """Remove a member from the panel; the rule must still be able to fire."""
    with docket.unit_of_work() as work:
        if member not in work.projection.members:
            raise ServiceError("no-member", 404, f"{member!r} does not sit on the panel.")
        rest = tuple(name for name in work.projection.members if name != member)
        checked_panel(rest, work.projection.rule)
        work.add(MemberLeft(member))
    return docket.receipt()


def set_guidelines(docket: Docket, text: str) -> Receipt:
    """Record the guidelines that members are given."""
    if not isinstance(text, str) or not 0 < len(text) <= GUIDELINES:
        raise ServiceError(
            "bad-guidelines", 422, f"Guidelines must be text of 1 to {GUIDELINES} characters."
        )
    with docket.unit_of_work() as work:
        if text != work.projection.guidelines:
            work.add(GuidelinesSet(text))
    return docket.receipt()


def change_rule(docket: Docket, rule: str) -> Receipt:
    """Change the panel's rule, which must be able to fire."""
    with docket.unit_of_work() as work:
        text = checked_panel(tuple(work.projection.members), rule)
        if text != work.projection.rule:
            work.add(RuleChanged(text))
    return docket.receipt()
