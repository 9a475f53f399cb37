"""The panel's members and rule; changes concern rounds that are sealed later."""

from __future__ import annotations

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.spec import checked_panel
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import MemberJoined, MemberLeft, RuleChanged
from likewise.service.ledger.records import Receipt

__all__ = ["change_rule", "join", "leave"]


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


def change_rule(docket: Docket, rule: str) -> Receipt:
    """Another rule, for the members that there are."""
    with docket.unit_of_work() as work:
        text = checked_panel(tuple(work.projection.members), rule)
        if text != work.projection.rule:
            work.add(RuleChanged(text))
    return docket.receipt()
