"""A round in figures: what its panel did, once it has ended, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from likewise.auditing import (
    Agreement,
    Consistency,
    MemberAgreement,
    MemberObjections,
    Objections,
    Pair,
    as_rule,
    consistency,
    decisive,
)
from likewise.service.dockets.views.round import Repeat, Round

__all__ = ["RoundFigures", "counts_from_json", "counts_to_json", "figures", "repeat_consistency"]


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
    agreement: Agreement = field(default_factory=Agreement)

    def to_json(self) -> list[Any]:
        """The figures as JSON."""
        return [
            self.number, self.id, self.gap, dict(self.seats), dict(self.objections),
            dict(self.decisive), counts_to_json(self.agreement),
        ]  # fmt: skip

    @classmethod
    def from_json(cls, data: list[Any]) -> RoundFigures:
        """Read them back."""
        number, name, gap, seats, objections, decided, agreement = data
        largest = None if gap is None else (gap[0], gap[1], gap[2])
        counts = counts_from_json(agreement)
        return cls(number, name, largest, seats, objections, decided, counts)


def figures(round_: Round) -> RoundFigures:
    """A round in figures, as it stands."""
    pairs = round_.reportable()
    decided: Counter[str] = Counter()
    for pair in round_.pairs:
        decided.update(decisive(round_.rule, round_.spoken(), pair))
    return RoundFigures(
        round_.number, round_.id, pairs[0] if pairs else None, dict(round_.seats),
        {member: len(said) for member, said in round_.objections.items() if said},
        dict(decided), _agreement(round_),
    )  # fmt: skip


def _agreement(round_: Round) -> Agreement:
    """Among the members who had to name all of their pairs: whoever has a veto may stop at one."""
    if round_.outcome not in ("report", "quiet"):
        return Agreement()
    spoken = round_.spoken()
    veto = _veto(round_.rule, tuple(spoken.members))
    rest = {m: said for m, said in spoken.members.items() if m not in veto}
    if len(rest) < 2:
        return Agreement()
    shown = [(over, under) for over, under, _ in round_.reportable()]
    return Agreement.of(Objections(spoken.people, rest), shown)


@lru_cache(maxsize=256)
def _veto(rule: str, members: tuple[str, ...]) -> frozenset[str]:
    alone = as_rule(rule).fires(np.eye(len(members), dtype=np.bool_), members)
    return frozenset(m for m, fires in zip(members, alone.tolist(), strict=True) if fires)


def repeat_consistency(round_: Round, member: str) -> Consistency:
    """How far a member judged a round alike the second time; nothing until they are done."""
    repeat = round_.repeats.get(member, Repeat())
    if not repeat.done:
        return Consistency()
    shown = [Pair(over, under) for over, under, _ in round_.reportable()]
    first = MemberObjections(pairs=round_.objections.get(member, {}))
    return consistency(first, MemberObjections(pairs=repeat.said), shown)


def counts_to_json(counts: Agreement) -> list[Any]:
    """Agreement as JSON."""
    return [
        counts.units,
        sorted(counts.judgements_by_size.items()),
        sorted(counts.disagreements.items()),
        counts.objections,
        {name: [one.compared, one.same] for name, one in counts.members.items()},
    ]


def counts_from_json(data: list[Any]) -> Agreement:
    """Read it back."""
    units, judgements, apart, objections, members = data
    mine = {name: MemberAgreement(*one) for name, one in members.items()}
    return Agreement(units, dict(judgements), dict(apart), objections, mine)
