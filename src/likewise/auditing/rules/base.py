"""Rules: which objections of a panel make a report. Monotone, because there is no "not".

A rule is an expression over the members of a panel. It can be read in two ways:

* over votes, with "or" and "and": does the panel report this pair?
* over distances, with min and max: how far apart may the two predictions be? The member whose
  distance comes out is the *pivot* of the pair.

The second reading is the paper's lemma in "Characterizing Monotone Individual Fairness Auditing
Schemes": on each pair a monotone panel acts like one of its members, whatever the predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from likewise.auditing.names import seated
from likewise.errors import AuditError, ParameterError
from likewise.fixed_point import ONE, IntArray
from likewise.html import described
from likewise.validation import as_array, items

BoolArray = npt.NDArray[np.bool_]
Seats = dict[str, int]
# Distances below this are compared as keys; |key| then stays below 2^63 for every panel.
_LARGEST_KEY = 1 << 40
Scalar = TypeVar("Scalar", np.int64, np.float64)


class Rule(ABC):
    """A monotone aggregation function that stays silent when nobody objects.

    v ≼ v′ implies f(v) ≤ f(v′), and f(0, …, 0) = 0. Definition "Monotone aggregation functions".

    >>> from likewise.auditing import objects, veto
    >>> rule = veto("j3") | (objects("j1") & objects("j5"))
    >>> print(rule)
    veto(j3) or (objects(j1) and objects(j5))
    """

    def fires(self, votes: npt.ArrayLike, members: Sequence[str]) -> BoolArray:
        """Report or not, by this rule, for votes of shape (m, …) in the order of the members.

        >>> from likewise.auditing import objects
        >>> (objects("a") & objects("b")).fires([[True, True], [False, True]], ["a", "b"]).tolist()
        [False, True]
        """
        seats = self._seats(members)
        return np.asarray(self._fires(_checked_votes(votes, seats), seats))

    def decisive(self, votes: npt.ArrayLike, members: Sequence[str]) -> BoolArray:
        """Members whose withdrawal alone takes a report back, (m, …): f(v) = 1, f(v − e_i) = 0.

        For people, who have no distance, this is what can be known of the pivot.

        >>> from likewise.auditing import at_least
        >>> at_least(2).decisive([True, True, False], ["a", "b", "c"]).tolist()
        [True, True, False]
        """
        seats = self._seats(members)
        cast = _checked_votes(votes, seats)
        decisive = np.empty_like(cast)
        for place in seats.values():
            without = cast.copy()
            without[place] = False
            decisive[place] = ~self._fires(without, seats)
        return np.asarray(decisive & self._fires(cast, seats))

    def pivot(
        self, distances: npt.NDArray[Scalar], members: Sequence[str]
    ) -> tuple[npt.NDArray[Scalar], IntArray]:
        """The pivot of every pair: its distance, and its place among the members.

        i* = min over the profiles that fire of max over those who object, in the order of the
        distances; "or" is min and "and" is max, so nothing is enumerated. Members of the same
        distance are ordered by their place on the panel. Where the rule cannot fire the pivot is
        the paper's dummy j^(m+1): distance 1, place −1. Distances have shape (m, …); floats are
        meant as they are, integers are of 2^-20, so that 1 is ``likewise.fixed_point.ONE``.

        >>> from likewise.auditing import objects
        >>> d = np.array([0.53, 0.1, 0.3, 0.65, 0.38])  # the paper's figure: d2 < d3 < d5 < d1 < d4
        >>> panel = ["j1", "j2", "j3", "j4", "j5"]
        >>> distance, place = (objects("j1") & objects("j5")).pivot(d, panel)
        >>> float(distance), panel[int(place)]
        (0.53, 'j1')
        """
        seats = self._seats(members)
        d = as_array(distances)
        m = len(seats)
        kind = d.dtype.kind
        odd = kind not in "iuf" or (kind == "f" and bool(np.isnan(d).any()))
        if odd or d.ndim == 0 or len(d) != m:
            raise AuditError(
                f"distances must be numbers, one row for each of the {m} members; got {d.dtype} of "
                f"shape {d.shape}, or NaN among them. Panel.distances() makes them."
            )
        if d.dtype.kind in "iu" and np.abs(d).max(initial=0) < _LARGEST_KEY:
            return self._pivot_by_keys(d, seats)
        order = np.argsort(d, axis=0, kind="stable").astype(np.int64)
        ranks = np.argsort(order, axis=0, kind="stable").astype(np.int64)
        rank = self._rank(ranks, seats, m)
        dummy = rank == m
        place = np.take_along_axis(order, np.where(dummy, 0, rank)[None], axis=0)[0]
        distance = np.take_along_axis(d, place[None], axis=0)[0]
        largest = d.dtype.type(1 if d.dtype.kind == "f" else ONE)
        return np.where(dummy, largest, distance), np.where(dummy, -1, place)

    def _pivot_by_keys(self, d: Any, seats: Seats) -> tuple[Any, IntArray]:
        """The same without sorting: distance·m + place is a number of its own for each member."""
        m = len(seats)
        places = np.arange(m).reshape(-1, *[1] * (d.ndim - 1))
        key = self._rank(d.astype(np.int64) * m + places, seats, _LARGEST_KEY * m)
        dummy = key == _LARGEST_KEY * m
        distance = np.where(dummy, ONE, key // m)
        return distance.astype(d.dtype), np.where(dummy, -1, key % m)

    def pivot_keys(self, keys: Any, members: Sequence[str], top: int) -> npt.NDArray[Any]:
        """The pivots of pairs whose distances come as keys: integers in their order that differ.

        That is :meth:`pivot` for many pairs, where sorting would take long: a key may hold the
        distance in its high bits and the member's place in its low ones. ``keys`` is an array a
        member, and ``top``, above all keys, comes out where the rule cannot fire.

        >>> from likewise.auditing import objects
        >>> keys = [np.array([300 * 2 + 0]), np.array([100 * 2 + 1])]
        >>> (objects("a") | objects("b")).pivot_keys(keys, ["a", "b"], top=1000).tolist()
        [201]
        """
        return np.asarray(self._rank(np.asarray(keys), self._seats(members), top))

    def check(self, members: Sequence[str]) -> None:
        """Refuse a panel that is empty, has a name twice, or lacks a member the rule names.

        >>> from likewise.auditing import veto
        >>> veto("j7").check(["j1", "j2"])
        Traceback (most recent call last):
        likewise.errors.RuleError: The rule veto(j7) names j7, who is not on the panel (j1, j2). \
Put them on it, or take them out of the rule.
        """
        self._seats(members)

    def can_fire(self, members: Sequence[str]) -> bool:
        """Test whether the rule reports when everybody objects; being monotone, it else never does.

        >>> from likewise.auditing import never, veto
        >>> never().can_fire(["j1"]), veto("j1").can_fire(["j1"])
        (False, True)
        """
        votes = np.ones(len(self._seats(members)), dtype=np.bool_)
        return bool(self.fires(votes, members))

    def _seats(self, members: Sequence[str]) -> Seats:
        return seated(members, self.names, self)

    def __or__(self, other: Rule) -> Rule:
        return Or((self, other))

    def __and__(self, other: Rule) -> Rule:
        return And((self, other))

    def __str__(self) -> str:
        return self._text(alone=True)

    def __repr__(self) -> str:
        return f"<Rule {self}>"

    def _repr_html_(self) -> str:
        return described("Rule", [("reports if", self), ("names", ", ".join(self.names) or "–")])

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The members the rule names, in the order of its text."""

    @abstractmethod
    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray: ...

    @abstractmethod
    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        """The pivot's rank among the members' ranks by distance; ``top``, above all, is the dummy.

        Ranks are any integers that order the members and differ: 0 … m−1, or keys.
        """

    @abstractmethod
    def _text(self, alone: bool) -> str:
        """The text; ``alone`` where this part suffices for a report, so that no "and" is above."""


def _checked_votes(votes: npt.ArrayLike, seats: Seats) -> BoolArray:
    cast = as_array(votes)
    if cast.dtype != np.bool_ or cast.ndim == 0 or len(cast) != len(seats):
        raise AuditError(
            f"votes must be True or False, one row for each of the {len(seats)} members; "
            f"got {cast.dtype} of shape {cast.shape}. Objections.votes() makes them."
        )
    return cast


@dataclass(frozen=True, repr=False)
class _Joined(Rule):
    """Several rules under one word; parts of the same kind are taken in, so a|(b|c) = (a|b)|c."""

    parts: tuple[Rule, ...]

    def __post_init__(self) -> None:
        kind = type(self)
        listed = items(f"{kind.__name__}.parts", self.parts, "List rules.")
        flat: list[Any] = [q for p in listed for q in (p.parts if isinstance(p, kind) else (p,))]
        if odd := [part for part in flat if not isinstance(part, Rule)]:
            raise ParameterError(
                f"{kind.__name__}.parts", "must be rules", odd[0], "Read a text with parse_rule."
            )
        if len(flat) < 2:
            raise ParameterError(
                f"{kind.__name__}.parts",
                "must be at least two rules",
                self.parts,
                "An empty 'and' would fire with no objection; an empty 'or' is never().",
            )
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def names(self) -> tuple[str, ...]:
        """The members all parts name, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))


@dataclass(frozen=True, repr=False)
class Or(_Joined):
    """One of several rules suffices. Pivot: the min of theirs.

    >>> from likewise.auditing import veto
    >>> print(Or((veto("a"), Or((veto("b"), veto("c"))))))
    veto(a) or veto(b) or veto(c)
    """

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        return reduce(np.logical_or, (part._fires(votes, seats) for part in self.parts))

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        return reduce(np.minimum, (part._rank(ranks, seats, top) for part in self.parts))

    def _text(self, alone: bool) -> str:
        texts = (part._text(alone) for part in self.parts)
        pairs = zip(self.parts, texts, strict=True)
        text = " or ".join(f"({t})" if isinstance(part, And) else t for part, t in pairs)
        return text if alone else f"({text})"


@dataclass(frozen=True, repr=False)
class And(_Joined):
    """Several rules must all hold. Pivot: the max of theirs.

    >>> from likewise.auditing import veto
    >>> print(veto("a") | veto("b") & veto("c"))
    veto(a) or (objects(b) and objects(c))
    """

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        return reduce(np.logical_and, (part._fires(votes, seats) for part in self.parts))

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        return reduce(np.maximum, (part._rank(ranks, seats, top) for part in self.parts))

    def _text(self, alone: bool) -> str:  # noqa: ARG002
        return " and ".join(part._text(alone=False) for part in self.parts)
