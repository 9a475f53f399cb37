"""Who sits on the panel, and by which rule; changes concern rounds that are sealed later."""

from __future__ import annotations

from likewise.service.dockets.docket import Desk
from likewise.service.dockets.spec import checked_panel
from likewise.service.errors import ServiceError
from likewise.service.ledger.records import Receipt

__all__ = ["change_rule", "join", "leave"]


def join(desk: Desk, member: str) -> Receipt:
    """Somebody joins the panel."""
    with desk.work() as bench:
        if member not in bench.book.members:
            checked_panel((*bench.book.members, member), bench.book.rule)
            bench.add("member-joined", {"member": member})
    return desk.receipt()


def leave(desk: Desk, member: str) -> Receipt:
    """Somebody leaves the panel; the rule must still make sense without them."""
    with desk.work() as bench:
        if member not in bench.book.members:
            raise ServiceError("no-member", 404, f"{member!r} does not sit on the panel.")
        rest = tuple(m for m in bench.book.members if m != member)
        checked_panel(rest, bench.book.rule)
        bench.add("member-left", {"member": member})
    return desk.receipt()


def change_rule(desk: Desk, rule: str) -> Receipt:
    """Another rule, for the members that there are."""
    with desk.work() as bench:
        text = checked_panel(tuple(bench.book.members), rule)
        if text != bench.book.rule:
            bench.add("rule-changed", {"rule": text})
    return desk.receipt()
