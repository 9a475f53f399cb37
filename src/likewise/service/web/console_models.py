"""What the pages of a member show, as plain values: the routes fill them, the templates read them.

Times are ISO 8601 in UTC ("2026-11-15T06:00:00Z"), or empty where there is none. Chances are
fractions in [0, 1]. Nothing here can say what another member objects to, so no page can show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Awaiting",
    "Fact",
    "Frame",
    "History",
    "PairView",
    "PastFlag",
    "PastRound",
    "Person",
    "Problem",
    "Review",
    "SignIn",
    "Waiting",
]


@dataclass(frozen=True)
class Frame:
    """What every page needs: where things are, who is reading, and the token of its forms."""

    base: str
    """The prefix of the pages, without a slash at the end: "/console"."""
    static: str
    """The prefix of the static files, without a slash at the end: "/static"."""
    csrf: str
    docket: str
    """The name of the docket, for people."""
    now: str
    who: str = ""
    """The name of the reader; empty when nobody is signed in."""
    notice: str = ""
    """One sentence about what has just been done, or nothing."""
    receipt: str = ""
    """The ledger's head, for a reader who wants to keep it."""


@dataclass(frozen=True)
class SignIn:
    """The page on which a member pastes a token."""

    frame: Frame
    problem: str = ""
    """Why the last attempt failed, in a sentence."""


@dataclass(frozen=True)
class Waiting:
    """One round that a member is asked to look at.

    ``title`` is the member's own count ("Review 12"), never the docket's number of the round, and
    ``key`` is opaque: otherwise an earlier round that is shown again would be recognised.
    """

    key: str
    title: str
    people: int
    pairs: int
    closes: str = ""
    flagged: int = 0
    state: Literal["new", "begun", "done"] = "new"


@dataclass(frozen=True)
class Awaiting:
    """The rounds that await a member, in the order in which to look at them."""

    frame: Frame
    rounds: tuple[Waiting, ...] = ()

    @property
    def todo(self) -> tuple[Waiting, ...]:
        """Those that the member has not finished."""
        return tuple(r for r in self.rounds if r.state != "done")

    @property
    def done(self) -> tuple[Waiting, ...]:
        """Those that the member has finished, and that are still open."""
        return tuple(r for r in self.rounds if r.state == "done")


@dataclass(frozen=True)
class Fact:
    """One feature of one person in words."""

    label: str
    value: str
    unit: str = ""


@dataclass(frozen=True)
class Person:
    """One person of a round: a name for this page, the chance of approval, and the facts.

    Everybody in a round has the same features in the same order.
    """

    name: str
    chance: float
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class PairView:
    """A pair that could be reported: places in ``Review.people``, the favoured one first."""

    key: str
    over: int
    under: int
    flagged: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Review:
    """One round under review, with the pair in focus at ``place`` (counted from 1)."""

    frame: Frame
    key: str
    title: str
    people: tuple[Person, ...]
    pairs: tuple[PairView, ...]
    """The pairs that could be reported, largest gap first; shown in this order."""
    place: int = 1
    closes: str = ""
    state: Literal["open", "done", "closed"] = "open"
    reason_limit: int = 500

    @property
    def focus(self) -> PairView | None:
        """The pair in focus; a place out of range means the nearest one."""
        return self.pairs[self.position - 1] if self.pairs else None

    @property
    def position(self) -> int:
        """The place of the pair in focus, brought into range."""
        return min(max(self.place, 1), max(len(self.pairs), 1))

    @property
    def flagged(self) -> tuple[PairView, ...]:
        """The pairs that the member has flagged."""
        return tuple(pair for pair in self.pairs if pair.flagged)

    def place_of(self, pair: PairView) -> int:
        """Where a pair stands in the list, counted from 1."""
        return self.pairs.index(pair) + 1


@dataclass(frozen=True)
class PastFlag:
    """One objection of a closed round, and what became of it."""

    over: str
    under: str
    over_chance: float
    under_chance: float
    became: Literal["reported", "not reported", "unaudited"]
    decisive: bool = False
    """Whether the pair would not have been reported without this member."""
    reason: str = ""


@dataclass(frozen=True)
class PastRound:
    """One closed round, as far as one member is concerned."""

    title: str
    closed: str
    people: int
    pairs: int
    flags: tuple[PastFlag, ...] = ()
    present: bool = True


@dataclass(frozen=True)
class History:
    """What became of a member's objections, the latest round first."""

    frame: Frame
    rounds: tuple[PastRound, ...] = ()
    older: str = ""
    """Where the page with older rounds is, or nothing."""

    @property
    def flags(self) -> tuple[PastFlag, ...]:
        """All objections on this page."""
        return tuple(flag for past in self.rounds for flag in past.flags)


@dataclass(frozen=True)
class Problem:
    """A page that says what went wrong and what to do."""

    frame: Frame
    status: int
    title: str
    sentence: str
    way_out: str = ""
    """Where the button leads; empty for the first page."""
    way_out_label: str = "Back to your rounds"
