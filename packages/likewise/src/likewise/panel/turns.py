"""Members one after another: a pair is settled as soon as no further word can change its outcome.

Of a monotone rule f, with what is unknown as 0 and as 1: if f fires on the first, the pair is
reported whatever the others say; if it does not fire on the second, it is not. So the outcome is
that of the whole panel, exactly, for every monotone rule; a further member sees only the pairs
that are still in dispute, and nobody else is asked once there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from likewise.panel.rules import BoolArray, Rule

# Nobody is asked more often than this many times the mean, as long as somebody else can be.
MOST_ASKED = 1.27


def settled(
    rule: Rule, votes: BoolArray, heard: BoolArray, members: Sequence[str]
) -> tuple[BoolArray, BoolArray]:
    """Which pairs are settled, and which of them are reported.

    ``votes`` are (m, n), a row a member; ``heard``, (m, n), says which of them have been cast.

    >>> from likewise.panel import at_least
    >>> votes, heard = np.array([[True], [True], [False]]), np.array([[True], [True], [False]])
    >>> settled(at_least(2), votes, heard, ["a", "b", "c"])
    (array([ True]), array([ True]))
    """
    reported = rule.fires(votes & heard, members)
    possible = rule.fires(votes | ~heard, members)
    return reported == possible, reported


@dataclass(frozen=True)
class Turns:
    """How often members were asked so far, which decides whom to ask next.

    ``asked`` counts rounds, ``shown`` pairs and ``objected`` objections, by member.
    """

    asked: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[str, int] = field(default_factory=dict)
    objected: Mapping[str, int] = field(default_factory=dict)

    def order(self, members: Sequence[str]) -> list[str]:
        """Members in the order in which they should be asked.

        Those who object least come first, since most pairs are settled by silence; but those who
        have been asked more than their part come last.
        """
        mean = sum(self.asked.get(name, 0) for name in members) / len(members)

        def place(name: str) -> tuple[bool, float, int]:
            asked = self.asked.get(name, 0)
            often = (self.objected.get(name, 0) + 1) / (self.shown.get(name, 0) + 2)
            return asked > MOST_ASKED * mean + 1, often, asked

        return sorted(members, key=place)

    def after(self, member: str, shown: int, objected: int, asked: int = 1) -> Turns:
        """One more round in which the member was shown some pairs, and objected to some.

        Where asking and responding are apart, the first has nothing shown, the second nobody asked.
        """

        def more(counts: Mapping[str, int], number: int) -> Mapping[str, int]:
            return {**counts, member: counts.get(member, 0) + number}

        counts = ((self.asked, asked), (self.shown, shown), (self.objected, objected))
        return Turns(*(more(before, number) for before, number in counts))

    def joined(self, member: str, members: Sequence[str]) -> Turns:
        """Somebody joins members: as if asked as often as they, who need not be caught up with.

        >>> Turns({"a": 10, "b": 14}).joined("c", ["a", "b"]).asked["c"]
        12
        """
        mean = sum(self.asked.get(name, 0) for name in members) // max(len(members), 1)
        return replace(self, asked={**self.asked, member: mean})


@dataclass(frozen=True)
class Heard:
    """The outcome of asking in turn: reported pairs, who was asked in order, and the turns since.

    ``heard`` is (m, n): what was not asked is not known, and never counts as quiet.
    """

    reported: BoolArray
    asked: tuple[str, ...]
    heard: BoolArray
    turns: Turns


def ask_in_turn(rule: Rule, members: Sequence[str], votes: BoolArray, turns: Turns) -> Heard:
    """Ask members one after another about n pairs until each is settled.

    ``votes`` is (m, n), what each would say of each pair. The reported pairs are those of the
    whole panel.

    >>> from likewise.panel import at_least
    >>> votes = np.array([[False], [True], [False]])
    >>> ask_in_turn(at_least(2), ["a", "b", "c"], votes, Turns()).asked
    ('a', 'b', 'c')
    """
    places = {name: i for i, name in enumerate(members)}
    heard, asked = np.zeros(votes.shape, dtype=np.bool_), []
    done, reported = settled(rule, votes, heard, members)
    for name in turns.order(members):
        if done.all():
            break
        place = places[name]
        heard[place] = ~done
        asked.append(name)
        objected = int((votes[place] & heard[place]).sum())
        turns = turns.after(name, int(heard[place].sum()), objected)
        done, reported = settled(rule, votes, heard, members)
    return Heard(reported, tuple(asked), heard, turns)
