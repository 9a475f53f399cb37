"""The smallest rules: a named member objects, and nobody is ever heard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.auditing.names import checked_name, quoted
from likewise.auditing.rules.base import BoolArray, Rule, Seats
from likewise.fixed_point import IntArray


@dataclass(frozen=True, repr=False)
class Objects(Rule):
    """A named member objects. Pivot: that member.

    Alone or under "or" this is a veto right (the remark on veto rights in "On the Complexity of
    Auditing"): the member's objection suffices, and a single pair of theirs is enough.

    >>> str(Objects("j3")), str(Objects("j3") & Objects("j1"))
    ('veto(j3)', 'objects(j3) and objects(j1)')
    """

    member: str

    def __post_init__(self) -> None:
        checked_name(self.member, "Objects.member")

    @property
    def names(self) -> tuple[str, ...]:
        """The one member."""
        return (self.member,)

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        return votes[seats[self.member], ...]

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:  # noqa: ARG002
        return ranks[seats[self.member], ...]

    def _text(self, alone: bool) -> str:
        return f"{'veto' if alone else 'objects'}({quoted(self.member)})"


@dataclass(frozen=True, repr=False)
class Never(Rule):
    """No report, whatever the objections: the paper's dummy auditor j^(m+1), with d = 1.

    >>> distance, place = never().pivot(np.array([[0.2]]), ["j1"])
    >>> distance.tolist(), place.tolist()
    ([1.0], [-1])
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Nobody."""
        return ()

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:  # noqa: ARG002
        return np.zeros(votes.shape[1:], dtype=np.bool_)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:  # noqa: ARG002
        return np.full(ranks.shape[1:], top, dtype=ranks.dtype)

    def _text(self, alone: bool) -> str:  # noqa: ARG002
        return "never"


def objects(member: str) -> Objects:
    """The rule that a named member objects; the same as :func:`veto`, for use with "and".

    >>> objects("j1") == veto("j1")
    True
    """
    return Objects(member)


def veto(member: str) -> Objects:
    """The rule that a named member's objection suffices; the same as :func:`objects`.

    >>> print(veto("j3"))
    veto(j3)
    """
    return Objects(member)


def never() -> Never:
    """The rule that never reports.

    >>> print(never())
    never
    """
    return Never()
