"""From objections to a report, and who was decisive for it. This is the way for human auditors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.auditing.objections import Objections, Pair
from likewise.auditing.rules.base import BoolArray, Rule
from likewise.auditing.rules.parsing import as_rule
from likewise.auditing.selection import LargestGap, Selection
from likewise.errors import AuditError, ParameterError, shown
from likewise.fixed_point import ONE, IntArray
from likewise.validation import as_array, instance, items


@dataclass(frozen=True)
class Report:
    """The pairs a panel reports, each (over, under): the first was favoured. Empty if quiet.

    Definition "Auditing scheme": the pair, or Null.

    >>> Report((("ann", "bo"),)).quiet, Report().quiet
    (False, True)
    """

    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        pairs = items("Report.pairs", self.pairs, "List pairs (over, under) of ids.")
        if len({Pair.of(pair) for pair in pairs}) != len(pairs):
            raise AuditError(
                f"A report must have no pair twice, in either direction; got {self.pairs}. "
                f"One of the two scores is higher: keep that direction."
            )
        object.__setattr__(self, "pairs", tuple((over, under) for over, under in self.pairs))

    @property
    def quiet(self) -> bool:
        """True where nothing is reported. Quiet is not unaudited."""
        return not self.pairs


def checked_scores(scores: npt.ArrayLike, ids: Sequence[str]) -> IntArray:
    """Scores of some people as integers of 2^-20 within [0, 1].

    >>> checked_scores([0.5, 0.25], ["ann", "bo"])
    Traceback (most recent call last):
    likewise.errors.AuditError: Scores must be 2 integers of 2^-20, one for each person; got \
float64 of shape (2,). Round them: np.rint(score * 2**20).astype(np.int64).
    """
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
    selection: Selection,
    round: int | None,
) -> Report:
    """The report a selection makes of the ordered violations (k, k) of some people."""
    over, under = np.nonzero(violations)
    if not len(over):
        return Report()
    chosen = _chosen(selection, scores[over] - scores[under], round)
    return Report(tuple((ids[over[n]], ids[under[n]]) for n in chosen))


def _chosen(selection: Selection, gaps: IntArray, round: int | None) -> list[int]:
    """The places that a selection chooses, checked: some of those that there are, each once."""
    if not isinstance(selection, Selection):
        raise ParameterError("selection", "must be a selection", selection, "Such as FirstPair().")
    chosen = selection.choose(gaps, round)
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

    >>> from likewise.auditing import MemberObjections
    >>> said = Objections(("ann", "bo"), {"j1": MemberObjections(pairs=[("ann", "bo")]),
    ...                                   "j2": MemberObjections()})
    >>> report("any", said, [100, 900]).pairs, report("all", said, [100, 900]).pairs
    ((('bo', 'ann'),), ())
    """
    instance("objections", objections, Objections, "Write Objections(people, {member: …}).")
    s = checked_scores(scores, objections.people)
    fired = as_rule(rule).fires(objections.votes(), tuple(objections.members))
    violations = fired & (s[:, None] > s[None, :])
    chosen = LargestGap() if selection is None else selection
    return choose_report(violations, s, objections.people, chosen, round)


def decisive(
    rule: Rule | str, objections: Objections, pair: Pair | Iterable[str]
) -> tuple[str, ...]:
    """The members whose withdrawal alone would take the report of a pair back.

    Members i with f(v) = 1 and f(v without i) = 0; nobody where the rule does not fire. For
    people, who have no distance, this is what can be known of the pivot.

    >>> from likewise.auditing import MemberObjections
    >>> both = MemberObjections(pairs=[("ann", "bo")])
    >>> said = Objections(("ann", "bo"), {"j1": both, "j2": both, "j3": MemberObjections()})
    >>> decisive("at_least(2)", said, ("bo", "ann")), decisive("any", said, ("bo", "ann"))
    (('j1', 'j2'), ())
    """
    instance("objections", objections, Objections, "Write Objections(people, {member: …}).")
    subject, members = Pair.of(pair), tuple(objections.members)
    for person in subject:
        if person not in objections.people:
            raise AuditError(
                f"{person!r} is not among the people of the round "
                f"({', '.join(objections.people)}). Correct the id."
            )
    votes = [subject in objections.members[name].pairs for name in members]
    decides = as_rule(rule).decisive(votes, members)
    return tuple(name for name, vote in zip(members, decides.tolist(), strict=True) if vote)
