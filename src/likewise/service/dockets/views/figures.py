"""A round in figures: what its panel did, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from likewise.auditing import MemberObjections, Objections, Pair, as_rule, consistency, decisive
from likewise.auditing.agreement import Consistency
from likewise.auditing.agreement_counts import AgreementCounts
from likewise.service.dockets.views.round import Repeat, Round


@dataclass(frozen=True)
class RoundFigures:
    """A panel's work on a round: seats, objections and decisive votes by member, agreement.

    ``gap`` is the largest one (over, under, units), if a pair could be reported.
    """

    number: int
    id: str
    gap: tuple[str, str, int] | None = None
    seats: Mapping[str, str] = field(default_factory=dict)
    objections: Mapping[str, int] = field(default_factory=dict)
    decisive: Mapping[str, int] = field(default_factory=dict)
    agreement: AgreementCounts = field(default_factory=AgreementCounts)


def figures(round_: Round) -> RoundFigures:
    """Return a round in figures, as it stands."""
    pairs = round_.reportable()
    votes: Counter[str] = Counter()
    for pair in round_.pairs:
        votes.update(decisive(round_.rule, round_.panel_objections(), pair))
    return RoundFigures(
        round_.number, round_.id, pairs[0] if pairs else None, dict(round_.seats),
        {member: len(flagged) for member, flagged in round_.objections.items() if flagged},
        dict(votes), _agreement(round_),
    )  # fmt: skip


def _agreement(round_: Round) -> AgreementCounts:
    """Count agreement among members without a veto: those with one may stop at one pair."""
    if round_.outcome not in ("report", "quiet"):
        return AgreementCounts()
    panel = round_.panel_objections()
    vetoing = _vetoing(round_.rule, tuple(panel.members))
    rest = {name: member for name, member in panel.members.items() if name not in vetoing}
    if len(rest) < 2:
        return AgreementCounts()
    return AgreementCounts.of(Objections(panel.people, rest), _pairs(round_))


def _pairs(round_: Round) -> list[Pair]:
    return [Pair(over, under) for over, under, _ in round_.reportable()]


@lru_cache(maxsize=256)
def _vetoing(rule: str, members: tuple[str, ...]) -> frozenset[str]:
    alone = as_rule(rule).fires(np.eye(len(members), dtype=np.bool_), members)
    return frozenset(m for m, fires in zip(members, alone.tolist(), strict=True) if fires)


def repeat_consistency(round_: Round, member: str) -> Consistency:
    """Compare a member's two reviews of a round (intra-rater), once the second is finished."""
    repeat = round_.repeats.get(member, Repeat())
    if not repeat.finished:
        return Consistency()
    first = MemberObjections(pairs=round_.objections.get(member, {}))
    return consistency(first, MemberObjections(pairs=repeat.objections), _pairs(round_))
