"""Rules: which objections of a panel make a report. Monotone, because there is no "not".

A rule is an expression over the members of a panel. It can be read in two ways:

* over votes, with "or" and "and": does the panel report this pair?
* over distances, with min and max: how far apart may the two predictions be? The member whose
  distance comes out is the *pivot* of the pair.

The second reading is the paper's lemma in "Characterizing Monotone Individual Fairness Auditing
Schemes": on each pair a monotone panel acts like one of its members, whatever the predictions.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from likewise import validation as check
from likewise.errors import AuditError, ParameterError, RuleError
from likewise.html import described
from likewise.numerics.fixed_point import ONE, IntArray

MEMBERS = "Name members, each once: ['j1', 'j2']."
BARE_NAME = re.compile(r"[\w.\-]+")


def checked_name(name: object, where: str) -> str:
    """Return a name; refuse anything but text that is not blank."""
    fits, rule = isinstance(name, str) and name.strip(), "must be a name, a text that is not blank"
    check.require(bool(fits), where, rule, name, "Write one such as 'j3'.")
    return str(name)


def _listed(members: object) -> object:
    """Names in order; those of a set are sorted, as its own order differs between processes."""
    listed = check.as_list(members)
    return sorted(listed, key=str) if listed and isinstance(members, Set) else listed or members


def quoted(name: str) -> str:
    r"""A name as it stands in a rule: bare where that can be read back, else in quotes.

    >>> print(quoted("j3"), quoted("Ms. Noor"), quoted('the "new" one'))
    j3 "Ms. Noor" "the \"new\" one"
    """
    return name if BARE_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


BoolArray = npt.NDArray[np.bool_]
Seats = dict[str, int]
# Distances below this are compared as keys; |key| then stays below 2^63 for every panel.
_LARGEST_KEY = 1 << 40
Scalar = TypeVar("Scalar", np.int64, np.float64)


class Rule(ABC):
    """A monotone aggregation function that stays silent when nobody objects.

    v ≼ v′ implies f(v) ≤ f(v′), and f(0, …, 0) = 0. Definition "Monotone aggregation functions".

    >>> from likewise.panel import objects, veto
    >>> rule = veto("j3") | (objects("j1") & objects("j5"))
    >>> print(rule)
    veto(j3) or (objects(j1) and objects(j5))
    """

    def fires(self, votes: npt.ArrayLike, members: Sequence[str]) -> BoolArray:
        """Test whether votes of shape (m, …), in the order of the members, make a report."""
        seats = self._seats(members)
        return np.asarray(self._fires(_checked_votes(votes, seats), seats))

    def decisive(self, votes: npt.ArrayLike, members: Sequence[str]) -> BoolArray:
        """Members whose withdrawal alone takes a report back, (m, …): f(v) = 1, f(v − e_i) = 0.

        For people, who have no distance, this is what can be known of the pivot.

        >>> from likewise.panel import at_least
        >>> at_least(2).decisive([True, True, False], ["a", "b", "c"]).tolist()
        [True, True, False]
        """
        seats = self._seats(members)
        cast = _checked_votes(votes, seats)
        decisive = np.zeros_like(cast)
        for place in np.flatnonzero(cast.reshape(len(cast), -1).any(axis=1)).tolist():
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
        meant as they are, integers are of 2^-20, so that 1 is ``fixed_point.ONE``.

        >>> from likewise.panel import objects
        >>> d = np.array([0.53, 0.1, 0.3, 0.65, 0.38])  # the paper's figure: d2 < d3 < d5 < d1 < d4
        >>> panel = ["j1", "j2", "j3", "j4", "j5"]
        >>> distance, place = (objects("j1") & objects("j5")).pivot(d, panel)
        >>> float(distance), panel[int(place)]
        (0.53, 'j1')
        """
        seats = self._seats(members)
        d = check.as_array(distances)
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
        """The same without sorting: distance·m + place differs between members."""
        m = len(seats)
        places = np.arange(m).reshape(-1, *[1] * (d.ndim - 1))
        key = self._rank(d.astype(np.int64) * m + places, seats, _LARGEST_KEY * m)
        dummy = key == _LARGEST_KEY * m
        distance = np.where(dummy, ONE, key // m)
        return distance.astype(d.dtype), np.where(dummy, -1, key % m)

    def pivot_keys(self, keys: Any, members: Sequence[str], top: int) -> npt.NDArray[Any]:
        """The pivots of pairs whose distances are keys: different integers in the same order.

        This is :meth:`pivot` without sorting, for many pairs: a key may hold the distance in its
        high bits and the member's place in its low ones. ``keys`` has an array for each member, and
        ``top``, above all keys, is the result where the rule cannot fire.
        """
        return np.asarray(self._rank(np.asarray(keys), self._seats(members), top))

    def check(self, members: Sequence[str]) -> None:
        """Refuse a panel that is empty, has a name twice, or lacks a member the rule names."""
        self._seats(members)

    def can_fire(self, members: Sequence[str]) -> bool:
        """Test whether it ever reports: a monotone rule that does, does so when all object."""
        votes = np.ones(len(self._seats(members)), dtype=np.bool_)
        return bool(self.fires(votes, members))

    def _seats(self, members: Sequence[str]) -> Seats:
        """The place of every member of a panel that the rule can be used on."""
        panel = check.items("members", members, "List their names: ['j1', 'j2'].")
        seats = {checked_name(name, "members"): place for place, name in enumerate(panel)}
        if not seats:
            raise AuditError(
                f"The panel for the rule {self} must not be empty; got no members. Without "
                f"auditors nothing is audited: record the round as unaudited instead."
            )
        if len(seats) != len(panel):
            raise AuditError(
                f"Members of a panel must have different names; got {', '.join(panel)}. Rename "
                f"one, so that a rule can tell them apart."
            )
        if absent := [quoted(name) for name in self.names if name not in seats]:
            raise RuleError(
                f"The rule {self} names {', '.join(absent)}, who "
                f"{'is' if len(absent) == 1 else 'are'} not on the panel ({', '.join(panel)}). Put "
                f"them on it, or take them out of the rule."
            )
        return seats

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
        """The text; ``alone`` if this part suffices for a report, under no "and"."""


def _checked_votes(votes: npt.ArrayLike, seats: Seats) -> BoolArray:
    cast = check.as_array(votes)
    if cast.dtype != np.bool_ or cast.ndim == 0 or len(cast) != len(seats):
        raise AuditError(
            f"votes must be True or False, one row for each of the {len(seats)} members; "
            f"got {cast.dtype} of shape {cast.shape}. Objections.votes() makes them."
        )
    return cast


@dataclass(frozen=True, repr=False)
class _Joined(Rule):
    """Several rules under one word; parts of the same kind merge, so a|(b|c) = (a|b)|c."""

    parts: tuple[Rule, ...]
    join_votes: ClassVar[np.ufunc]
    join_ranks: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        kind = type(self)
        listed = check.items(f"{kind.__name__}.parts", self.parts, "List rules.")
        flat: list[Any] = [q for p in listed for q in (p.parts if isinstance(p, kind) else (p,))]
        for part in flat:
            fits, remedy = isinstance(part, Rule), "Read a text with parse_rule."
            check.require(fits, f"{kind.__name__}.parts", "must be rules", part, remedy)
        remedy = "An empty 'and' would fire with no objection; an empty 'or' is never()."
        rule = "must be at least two rules"
        check.require(len(flat) > 1, f"{kind.__name__}.parts", rule, self.parts, remedy)
        check.assign(self, parts=tuple(flat))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        return reduce(self.join_votes, (part._fires(votes, seats) for part in self.parts))

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        return reduce(self.join_ranks, (part._rank(ranks, seats, top) for part in self.parts))


@dataclass(frozen=True, repr=False)
class Or(_Joined):
    """One of several rules suffices. Pivot: the min of theirs."""

    join_votes, join_ranks = np.logical_or, np.minimum

    def _text(self, alone: bool) -> str:
        texts = (part._text(alone) for part in self.parts)
        pairs = zip(self.parts, texts, strict=True)
        text = " or ".join(f"({t})" if isinstance(part, And) else t for part, t in pairs)
        return text if alone else f"({text})"


@dataclass(frozen=True, repr=False)
class And(_Joined):
    """Several rules must all hold. Pivot: the max of theirs.

    >>> from likewise.panel import veto
    >>> print(veto("a") | veto("b") & veto("c"))
    veto(a) or (objects(b) and objects(c))
    """

    join_votes, join_ranks = np.logical_and, np.maximum

    def _text(self, alone: bool) -> str:  # noqa: ARG002
        return " and ".join(part._text(alone=False) for part in self.parts)


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
        return ()

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:  # noqa: ARG002
        return np.zeros(votes.shape[1:], dtype=np.bool_)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:  # noqa: ARG002
        return np.full(ranks.shape[1:], top, dtype=ranks.dtype)

    def _text(self, alone: bool) -> str:  # noqa: ARG002
        return "never"


#: A rule: this member objects. It reads better than ``veto`` with ``&``.
objects = Objects
#: A rule: this member's objection suffices.
veto = Objects
#: A rule: no report, whatever the objections.
never = Never


Number = int | float | str | Decimal | Fraction
_SHARE = re.compile(r"\s*([0-9.]+(?:\s*/\s*[0-9.]+)?)\s*(%?)\s*")


def exact(value: Number, where: str) -> Fraction:
    """The fraction of a number's decimal digits: 0.1 is 1/10.

    >>> exact(0.1, "weight"), exact("2/3", "weight")
    (Fraction(1, 10), Fraction(2, 3))
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return Fraction(str(value).replace(" ", ""))
    except (TypeError, ValueError, ZeroDivisionError):
        remedy = "Write 2, 0.5 or 1/3."
        raise ParameterError(where, "must be a finite number", value, remedy) from None


@dataclass(frozen=True)
class Share:
    """A share of the votes: ⌈p·n⌉ of n; ``strict``, more than it: ⌊p·n⌋ + 1 of n.

    Absent members count too: nobody wins a vote by staying away.

    >>> Share(Fraction(7, 100)).votes(100), Share(Fraction(1, 2), strict=True).votes(4)
    (7, 3)
    """

    fraction: Fraction
    strict: bool = False

    def __post_init__(self) -> None:
        check.instance("Share.fraction", self.fraction, Fraction, "Write Fraction(4, 5).")
        check.assign(self, strict=check.flag("Share.strict", self.strict, "Say which."))
        fits = 0 < self.fraction < 1 or (self.fraction == 1 and not self.strict)
        rule = f"must be above 0{' and below' if self.strict else ', at most'} 100%"
        remedy = (
            "With a share of 0 a pair nobody objected to would be reported; more than everybody "
            "can never object."
        )
        check.require(fits, "Share.fraction", rule, str(self), remedy)

    def votes(self, n: int) -> int:
        n = check.integer("n", n, 0, None, "It is the size of a panel.")
        return math.floor(self.fraction * n) + 1 if self.strict else math.ceil(self.fraction * n)

    def __str__(self) -> str:
        percent = self.fraction * 100
        return f"{percent}%" if percent.denominator == 1 else str(self.fraction)


def read_share(value: str | Fraction, where: str) -> tuple[Fraction, bool]:
    """The number of votes or the share, and whether it is a share: written with % or a slash.

    >>> read_share("80%", "votes"), read_share("3", "votes")
    ((Fraction(4, 5), True), (Fraction(3, 1), False))
    """
    if isinstance(value, Fraction):
        return value, True
    if not isinstance(value, str) or not (match := _SHARE.fullmatch(value)):
        raise ParameterError(where, "must be votes or a share", value, 'Write 3, "80%" or "4/5".')
    number = exact(match[1], where)
    return (number / 100, True) if match[2] else (number, "/" in match[1])


_FEW = 16
"""Up to this many members, taking minima in turn is faster than sorting."""
_SMALL = 1 << 11
"""Up to this many numbers in all, one partition is faster than minima in turn."""


@dataclass(frozen=True, repr=False)
class AtLeast(Rule):
    """At least c members object, of the full panel or of those named. Pivot: the c-th smallest.

    f(v) = [Σ v_i ≥ c]; with a share p, c = ⌈p·n⌉. :func:`at_least` also reads text. More votes than
    there are members never come together: allowed, as panels change; see :meth:`Rule.can_fire`.

    >>> AtLeast(2).fires([True, False, True], ["a", "b", "c"]).item()
    True
    """

    votes: int | Share
    of: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        fits = isinstance(self.votes, int | Share) and not isinstance(self.votes, bool)
        remedy = 'Write a share as text, at_least("80%") or at_least("4/5"): a float is not exact.'
        check.require(fits, "AtLeast.votes", "must be an integer or a share", self.votes, remedy)
        fits = isinstance(self.votes, Share) or self.votes >= 1
        remedy = "With 0 votes a pair nobody objected to would be reported."
        check.require(fits, "AtLeast.votes", "must be at least 1", self.votes, remedy)
        if self.of is not None:
            check.assign(self, of=check.names("AtLeast.of", _listed(self.of), MEMBERS))

    @property
    def names(self) -> tuple[str, ...]:
        return self.of or ()

    def needed(self, n: int) -> int:
        return self.votes.votes(n) if isinstance(self.votes, Share) else self.votes

    def _places(self, seats: Seats) -> list[int]:
        return [seats[name] for name in self.of] if self.of else list(seats.values())

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        places = self._places(seats)
        needed = min(self.needed(len(places)), len(places) + 1)  # may be beyond an int64
        return np.asarray(np.sum(votes[places], axis=0, dtype=np.int64) >= needed)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        places = self._places(seats)
        needed = self.needed(len(places))
        if needed > len(places):
            return np.full(ranks.shape[1:], top, dtype=ranks.dtype)
        if ranks.size <= _SMALL:
            return np.asarray(np.partition(ranks[places], needed - 1, axis=0)[needed - 1])
        return _nth_smallest([ranks[place] for place in places], needed)

    def _text(self, alone: bool) -> str:  # noqa: ARG002 - counts read the same everywhere
        names = ", ".join(map(quoted, self.of or ()))
        for word, plain in (("any", any_of()), ("all", all_of()), ("majority", majority())):
            if self.votes == plain.votes:
                return f"{word}({names})" if names else word
        word = "more_than" if isinstance(self.votes, Share) and self.votes.strict else "at_least"
        return f"{word}({self.votes} of {names})" if names else f"{word}({self.votes})"


@dataclass(frozen=True, repr=False, init=False)
class Weighted(Rule):
    """The weights of those who object reach a threshold: Σ w_i·v_i ≥ theta, w ≥ 0, theta > 0.

    Pivot: the smallest distance whose cumulative weight reaches theta. A member who is not listed
    has weight 0. Sums are exact.

    >>> rule = Weighted({"j1": 2, "j2": 1, "j3": "0.5"}, 2.5)
    >>> print(rule)
    weighted(j1: 2, j2: 1, j3: 1/2; 5/2)
    >>> rule.fires([True, False, True], ["j1", "j2", "j3"]).item()
    True
    """

    weights: tuple[tuple[str, Fraction], ...]
    threshold: Fraction

    def __init__(self, weights: Mapping[str, Number], threshold: Number) -> None:
        fits, remedy = isinstance(weights, Mapping), "Write {'j1': 2, 'j2': 1}."
        check.require(fits, "Weighted.weights", "must be weights by name", weights, remedy)
        members = check.names("Weighted.weights", list(weights), MEMBERS)
        exactly = tuple((n, exact(weights[n], f"Weighted.weights[{n!r}]")) for n in members)
        rule, remedy = "must not be negative", "An objection must never speak against a report."
        for name, weight in exactly:
            check.require(weight >= 0, f"Weighted.weights[{name!r}]", rule, weights[name], remedy)
        check.assign(self, weights=exactly, threshold=exact(threshold, "Weighted.threshold"))
        remedy = "With a threshold of 0 a pair nobody objected to would be reported."
        check.require(
            self.threshold > 0, "Weighted.threshold", "must be above 0", threshold, remedy
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.weights)

    def _integers(self, dimensions: int) -> tuple[npt.NDArray[np.int64], int]:
        """Weights and threshold over a common denominator; beyond int64, Python's integers."""
        fractions = [weight for _, weight in self.weights] + [self.threshold]
        factor = math.lcm(*(f.denominator for f in fractions))
        scaled = [int(f * factor) for f in fractions]
        kind = np.int64 if sum(scaled) < 1 << 62 else object
        return np.array(scaled[:-1], dtype=kind).reshape(-1, *[1] * dimensions), scaled[-1]

    def _fires(self, votes: BoolArray, seats: Seats) -> BoolArray:
        weights, threshold = self._integers(votes.ndim - 1)
        cast = votes[[seats[name] for name in self.names]]
        return np.asarray(np.sum(weights * cast, axis=0) >= threshold, dtype=np.bool_)

    def _rank(self, ranks: IntArray, seats: Seats, top: int) -> IntArray:
        weights, threshold = self._integers(ranks.ndim - 1)
        weighted = ranks[[seats[name] for name in self.names]]
        order = np.argsort(weighted, axis=0)
        running = np.cumsum(
            np.take_along_axis(np.broadcast_to(weights, weighted.shape), order, axis=0), axis=0
        )
        reached = np.asarray(running >= threshold, dtype=np.bool_)
        first = np.take_along_axis(order, np.argmax(reached, axis=0)[None], axis=0)
        rank = np.take_along_axis(weighted, first, axis=0)[0]
        return np.where(reached[-1], rank, ranks.dtype.type(top))

    def _text(self, alone: bool) -> str:  # noqa: ARG002 - weights read the same everywhere
        listed = ", ".join(f"{quoted(name)}: {weight}" for name, weight in self.weights)
        return f"weighted({listed}; {self.threshold})"


def _nth_smallest(ranks: list[IntArray], n: int) -> IntArray:
    """The n-th smallest of some arrays, elementwise; faster than sorting a few of them."""
    if len(ranks) > _FEW:
        return np.partition(np.stack(ranks), n - 1, axis=0)[n - 1, ...]
    fold, end = (np.minimum, n) if n <= len(ranks) / 2 else (np.maximum, len(ranks) - n + 1)
    reverse = np.maximum if fold is np.minimum else np.minimum
    for first in range(end):
        for place in range(len(ranks) - 1, first, -1):
            below, above = ranks[place - 1], ranks[place]
            ranks[place - 1], ranks[place] = fold(below, above), reverse(below, above)
    return np.asarray(ranks[end - 1])


def at_least(votes: int | str | Fraction, of: Iterable[str] | None = None) -> AtLeast:
    """At least a number of votes (``3``), or a share of them (``"80%"``, ``"4/5"``).

    >>> print(at_least(3), at_least("80%"), at_least(2, of=["a", "b", "c"]), sep=" | ")
    at_least(3) | at_least(80%) | at_least(2 of a, b, c)
    """
    named = None if of is None else check.names("at_least(of=…)", _listed(of), MEMBERS)
    if not isinstance(votes, str | Fraction):
        return AtLeast(votes, named)
    number, share = read_share(votes, "at_least(votes)")
    if share:
        return AtLeast(Share(number), named)
    fits, rule = number.denominator == 1, "must be an integer or a share"
    check.require(fits, "at_least(votes)", rule, votes, "Write 4 or 80%.")
    return AtLeast(int(number), named)


def more_than(share: str | Fraction, of: Iterable[str] | None = None) -> AtLeast:
    """More than a share of the votes.

    >>> print(more_than("2/3"), more_than("50%"), more_than("2/3").needed(3))
    more_than(2/3) majority 3
    """
    number, is_share = read_share(share, "more_than(share)")
    remedy = "For votes write at_least, with one more."
    check.require(is_share, "more_than(share)", "must be a share", share, remedy)
    named = None if of is None else check.names("more_than(of=…)", _listed(of), MEMBERS)
    return AtLeast(Share(number, strict=True), named)


def majority(*of: str) -> AtLeast:
    """More than half of the panel, or of the members named.

    >>> print(majority(), majority("a", "b", "c"), majority().needed(4))
    majority majority(a, b, c) 3
    """
    return AtLeast(Share(Fraction(1, 2), strict=True), of or None)


def any_of(*of: str) -> AtLeast:
    """Anybody on the panel, or any of the members named.

    >>> print(any_of(), any_of("a", "b"))
    any any(a, b)
    """
    return AtLeast(1, of or None)


def all_of(*of: str) -> AtLeast:
    """Everybody on the panel, or all of the members named.

    >>> print(all_of(), all_of("a", "b"))
    all all(a, b)
    """
    return AtLeast(Share(Fraction(1)), of or None)
