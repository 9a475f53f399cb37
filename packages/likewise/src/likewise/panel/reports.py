"""Reports from objections, of people or metrics, and who was decisive for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from likewise.errors import AuditError, ParameterError, shown
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel.objections import Objections, Pair, check_among
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import BoolArray, Rule
from likewise.registry import Specified
from likewise.validation import as_array, assign, instance, integer, items


class Selection(Specified, ABC):
    """Chooses which of n ≥ 1 violating pairs are reported.

    A subclass is a frozen dataclass of its parameters, and is registered under its ``name``
    (:data:`likewise.registry.SELECTIONS`); ``summary`` is a line about it for ``likewise list``.
    What it chooses is a function of its parameters, the gaps and the round alone.
    ``likewise.testing.check_selection`` checks all of that.

    >>> class SmallestGap(Selection):
    ...     name, summary = "smallest-gap", "the pair whose chances are nearest"
    ...     def choose(self, gaps, round=None):
    ...         return [int(np.argmin(gaps))]
    >>> SmallestGap().choose(np.array([8, 3, 8]))
    [1]
    """

    spec_key = "selection"
    summary: ClassVar[str]

    @classmethod
    def make(cls, seed: int) -> Self:  # noqa: ARG003
        """A selection by its name alone; ``seed`` is for those that choose at random."""
        return cls()

    @abstractmethod
    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        """The places of the pairs to report, at least one and none twice, given their gaps."""


@dataclass(frozen=True)
class LargestGap(Selection):
    """The pair whose scores are furthest apart; of several, the first."""

    name = "largest-gap"
    summary = "the pair whose chances are furthest apart"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        return [int(np.argmax(gaps))]


@dataclass(frozen=True)
class FirstPair(Selection):
    """The first pair, by the order of the people."""

    name = "first"
    summary = "the first, in the order of the people"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        return [0]


@dataclass(frozen=True)
class RandomPair(Selection):
    """A pair at random: a function of the seed and the round, and of nothing else."""

    name = "random"
    summary = "one at random"

    seed: int

    def __post_init__(self) -> None:
        # A stream refuses a seed out of range.
        assign(self, seed=Stream(self.seed, Purpose.REPORT, 0).seed)

    @classmethod
    def make(cls, seed: int) -> Self:
        return cls(seed)

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:
        if round is None:
            remedy = "Without it every round would make the same choice."
            raise ParameterError("round", "must be given to RandomPair", round, remedy)
        return [Stream(self.seed, Purpose.REPORT, round).below(len(gaps))]


@dataclass(frozen=True)
class AllPairs(Selection):
    """All pairs; the learner averages over them."""

    name = "all"
    summary = "all of them, averaged into one"

    def choose(self, gaps: IntArray, round: int | None = None, /) -> list[int]:  # noqa: ARG002
        return list(range(len(gaps)))


@dataclass(frozen=True)
class Report:
    """The pairs a panel reports, each (over, under): the first was favoured. Empty if quiet.

    Definition "Auditing scheme": the pair, or Null.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        pairs = items("Report.pairs", self.pairs, "List pairs (over, under) of ids.")
        if len({Pair.of(pair) for pair in pairs}) != len(pairs):
            raise AuditError(
                f"A report must have no pair twice, in either direction; got {self.pairs}. "
                f"One of the two scores is higher: keep that direction."
            )
        assign(self, pairs=tuple((over, under) for over, under in self.pairs))

    @property
    def quiet(self) -> bool:
        """True where nothing is reported. Quiet is not unaudited."""
        return not self.pairs


def checked_scores(scores: npt.ArrayLike, ids: Sequence[str]) -> IntArray:
    """Scores of some people as integers of 2^-20 within [0, 1]."""
    array = as_array(scores)
    if array.dtype.kind not in "iu" or array.shape != (len(ids),):
        raise AuditError(
            f"Scores must be {len(ids)} integers of 2^-20, one for each person; got "
            f"{array.dtype} of shape {array.shape}. Round them: "
            f"np.rint(score * 2**20).astype(np.int64)."
        )
    units = array.astype(np.int64)
    for place in np.flatnonzero((units < 0) | (units > ONE)).tolist():
        raise AuditError(
            f"A score must be within [0, 2^20], from 0 to 1 as integers of 2^-20; got "
            f"{int(units[place])} for {ids[place]!r}. It is the probability of a favourable "
            f"decision."
        )
    return units


def choose_report(
    violations: BoolArray,
    scores: IntArray,
    ids: Sequence[str],
    selection: Selection | None,
    round: int | None,
) -> Report:
    """The report a selection makes of the ordered violations (k, k); by default the largest gap."""
    over, under = np.nonzero(violations)
    if not len(over):
        return Report()
    selection = LargestGap() if selection is None else selection
    chosen = _chosen(selection, scores[over] - scores[under], round)
    return Report(tuple((ids[over[n]], ids[under[n]]) for n in chosen))


def _chosen(selection: Selection, gaps: IntArray, round: int | None) -> list[int]:
    """The places that a selection chooses, checked."""
    chosen = instance("selection", selection, Selection, "Such as FirstPair().").choose(gaps, round)
    places = range(len(gaps))
    fits = isinstance(chosen, list) and all(isinstance(n, int) and n in places for n in chosen)
    if not fits or not chosen or len(set(chosen)) != len(chosen):
        raise AuditError(
            f"{type(selection).__name__}.choose must be a list of places from 0 to "
            f"{len(gaps) - 1}, at least one and none twice; got {shown(chosen)}."
        )
    return chosen


def report(
    rule: Rule | str,
    objections: Objections,
    scores: npt.ArrayLike,
    selection: Selection | None = None,
    round: int | None = None,
) -> Report:
    """The report of a panel: the rule over its members' objections, then the selection.

    S_(l,r) = f(j¹_(l,r), …, jᵐ_(l,r)), definition "Auditing scheme". The person with the higher
    score is over. A pair with equal scores has no direction and is not reported. The
    panel is the members of the objections; scores are in the order of their people.

    >>> from likewise.panel import MemberObjections
    >>> objections = Objections(("ann", "bo"), {"j1": MemberObjections(pairs=[("ann", "bo")]),
    ...                                         "j2": MemberObjections()})
    >>> report("any", objections, [100, 900]), report("all", objections, [100, 900])
    (Report(pairs=(('bo', 'ann'),)), Report(pairs=()))
    """
    instance("objections", objections, Objections, "Write Objections(people, {member: …}).")
    s = checked_scores(scores, objections.people)
    fired = as_rule(rule).fires(objections.votes(), tuple(objections.members))
    violations = fired & (s[:, None] > s[None, :])
    return choose_report(violations, s, objections.people, selection, round)


def decisive(
    rule: Rule | str, objections: Objections, pair: Pair | Iterable[str]
) -> tuple[str, ...]:
    """The members whose withdrawal alone would take the report of a pair back.

    Members i with f(v) = 1 and f(v without i) = 0; nobody if the rule does not fire. People have no
    distances, so no more can be known of their pivot.

    >>> from likewise.panel import MemberObjections
    >>> both = MemberObjections(pairs=[("ann", "bo")])
    >>> votes = Objections(("ann", "bo"), {"j1": both, "j2": both, "j3": MemberObjections()})
    >>> decisive("at_least(2)", votes, ("bo", "ann")), decisive("any", votes, ("bo", "ann"))
    (('j1', 'j2'), ())
    """
    instance("objections", objections, Objections, "Write Objections(people, {member: …}).")
    subject, members = Pair.of(pair), tuple(objections.members)
    check_among([subject], objections.people, "The report has")
    votes = [subject in objections.members[name].pairs for name in members]
    decides = as_rule(rule).decisive(votes, members)
    return tuple(name for name, vote in zip(members, decides.tolist(), strict=True) if vote)


# Beyond that sums would not be integers of 64 bits.
_FAR = 1 << 60


def exceeds(gap: npt.ArrayLike, distance: npt.ArrayLike, sensitivity: int) -> BoolArray:
    """Compare gaps with distances, elementwise: gap > distance + sensitivity.

    Definition "Fairness violation", with the pivot's distance; an auditor objects with their own.
    With distance 0 these are the pairs that anybody could object to.

    >>> exceeds([300, 301], 100, 200).tolist()
    [False, True]
    """
    gaps, allowed = _integers("gap", gap), _integers("distance", distance)
    remedy = "It is an integer of 2^-20: likewise.numerics.fixed_point.to_units(alpha)."
    units = integer("sensitivity", sensitivity, -_FAR, _FAR, remedy)
    try:
        return np.asarray(gaps > allowed + units)
    except ValueError:
        raise AuditError(
            f"Gaps of shape {gaps.shape} cannot be compared with distances of shape "
            f"{allowed.shape}. Give a distance for every pair."
        ) from None


def _integers(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    array = as_array(value)
    if array.dtype.kind not in "iu":
        raise AuditError(
            f"A {name} must be an integer of 2^-20; got {shown(value)}. Use "
            f"likewise.numerics.fixed_point.to_units(…)."
        )
    return array


def exceeding_pairs(scores: npt.ArrayLike, distances: IntArray, sensitivity: int) -> BoolArray:
    """Find the ordered pairs that exceed: [l, r] is s_l − s_r > d(l, r) + sensitivity.

    ``scores`` are (k,), ``distances`` (k, k), or (m, k, k) for several auditors; so is the result.

    >>> apart = np.array([[0, 100], [100, 0]])
    >>> exceeding_pairs([500, 100], apart, 200).tolist()
    [[False, True], [False, False]]
    """
    s = _integers("score", scores)
    if s.ndim != 1:
        raise AuditError(f"Scores must be a list, one for each person; got shape {s.shape}.")
    return exceeds(s[:, None] - s[None, :], distances, sensitivity)


@dataclass(frozen=True, eq=False)
class Pivots:
    """The one auditor each pair is judged by: their distance in units of 2^-20, and their place.

    The lemma in "Characterizing Monotone Individual Fairness Auditing Schemes". Both arrays are
    (k, k) and symmetric. The place −1 is the dummy who never objects, of distance 1.

    >>> distance, auditor = np.array([[0, 100], [100, 0]]), np.array([[-1, 1], [1, -1]])
    >>> pivots = Pivots(distance, auditor, ("j1", "j2"))
    >>> pivots.member(0, 1), pivots.exceeded([500, 100], 200).any().item()
    ('j2', True)
    """

    distance: IntArray
    auditor: IntArray
    members: tuple[str, ...]

    def member(self, left: int, right: int) -> str | None:
        """The name of a pair's pivot; None where the panel can never report."""
        place = int(self.auditor[left, right])
        return None if place < 0 else self.members[place]

    def exceeded(self, scores: npt.ArrayLike, sensitivity: int) -> BoolArray:
        """Find the ordered pairs whose gap exceeds the pivot's distance: what the panel reports."""
        return exceeding_pairs(scores, self.distance, sensitivity)
