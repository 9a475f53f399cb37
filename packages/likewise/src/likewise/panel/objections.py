"""Objections of each member of a panel to the pairs of a round."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from likewise.errors import AuditError, shown
from likewise.panel.rules import MEMBERS, BoolArray, checked_name
from likewise.validation import as_list, assign, flag, items, names, text


@dataclass(frozen=True, order=True)
class Pair:
    """Two different people, in no order: the direction follows from the scores.

    The footnote to definition "Fairness violation" says why that suffices.

    >>> Pair("bo", "ann") == Pair("ann", "bo"), list(Pair("bo", "ann"))
    (True, ['ann', 'bo'])
    """

    first: str
    second: str

    def __post_init__(self) -> None:
        if not (isinstance(self.first, str) and isinstance(self.second, str)):
            raise AuditError(
                f"A pair must be the ids of two people; got {shown((self.first, self.second))}."
            )
        if self.first == self.second:
            raise AuditError(
                f"A pair must be two different people; got {self.first!r} twice. Nobody is "
                f"treated differently from themselves."
            )
        low, high = sorted((self.first, self.second))
        assign(self, first=low, second=high)

    def __iter__(self) -> Iterator[str]:
        return iter((self.first, self.second))

    @classmethod
    def of(cls, two: Pair | Iterable[str]) -> Pair:
        """A pair from anything with two names in it."""
        names = as_list(two) or []
        if len(names) != 2:
            raise AuditError(f"A pair must be the ids of two people; got {shown(two)}.")
        return cls(*names)


def check_among(pairs: Iterable[Iterable[str]], people: Collection[str], where: str) -> None:
    """Refuse pairs of anybody who is not among the people; ``where`` begins the error."""
    for pair in pairs:
        for person in pair:
            if person not in people:
                raise AuditError(
                    f"{where} {list(pair)}; {person!r} is not among the people. Correct the id, or "
                    f"leave the pair out."
                )


@dataclass(frozen=True, init=False)
class MemberObjections:
    """One member's presence, the pairs they object to, and their reasons.

    The pairs are the nonzero entries of the auditor's matrix in definition "Auditor".

    >>> objections = MemberObjections(pairs=[("bo", "ann")], reasons={("ann", "bo"): "same income"})
    >>> objections.reasons[Pair("ann", "bo")]
    'same income'
    """

    present: bool
    pairs: tuple[Pair, ...]
    reasons: Mapping[Pair, str]

    def __init__(
        self,
        present: bool = True,
        pairs: Iterable[Pair | Iterable[str]] = (),
        reasons: Mapping[Pair, str] | Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        present = flag("MemberObjections.present", present, "Say whether they came.")
        listed = as_list(pairs)
        if listed is None:
            raise AuditError(
                f"MemberObjections.pairs must be pairs of ids; got {shown(pairs)}. Write "
                f"[('ann', 'bo')]."
            )
        unordered = tuple(sorted({Pair.of(pair) for pair in listed}))
        reason_by_pair = _reasons({} if reasons is None else reasons)
        if not present and unordered:
            raise AuditError(
                f"An absent member must have no objections; got {list(unordered[0])}. Mark the "
                f"member present, or leave the pairs out."
            )
        for pair, reason in reason_by_pair.items():
            if pair not in unordered:
                raise AuditError(
                    f"A reason must belong to a pair objected to; got {reason!r} for "
                    f"{list(pair)}. Add the pair, or leave the reason out."
                )
        assign(self, present=present, pairs=unordered, reasons=reason_by_pair)

    def __hash__(self) -> int:
        return hash((self.present, self.pairs))


def _reasons(reasons: object) -> dict[Pair, str]:
    if not isinstance(reasons, Mapping):
        raise AuditError(
            f"Reasons must be by pair; got {shown(reasons)}. Write {{('ann', 'bo'): 'same debts'}}."
        )
    return {
        Pair.of(pair): text("MemberObjections.reasons", reason, "A reason is text.")
        for pair, reason in reasons.items()
    }


@dataclass(frozen=True)
class Objections:
    """The objections of a panel to pairs of people of a round.

    >>> objections = Objections(("ann", "bo", "cy"), {
    ...     "j1": MemberObjections(pairs=[("cy", "ann")]),
    ...     "j2": MemberObjections(present=False),
    ... })
    >>> objections.votes()[0].astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """

    people: tuple[str, ...]
    members: Mapping[str, MemberObjections]
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        people = items("Objections.people", self.people, "List the ids of the round's people.")
        if odd := [person for person in people if not isinstance(person, str)]:
            raise AuditError(f"An id must be text; got {shown(odd[0])}. Use str(…).")
        if not isinstance(self.members, Mapping):
            raise AuditError(
                f"Objections.members must be by name; got {shown(self.members)}. Write "
                f"{{'j1': MemberObjections(pairs=[…])}}."
            )
        places = {person: place for place, person in enumerate(people)}
        assign(self, people=tuple(people), members=dict(self.members), _places=places)
        if len(self._places) != len(self.people):
            raise AuditError(
                f"People must have different ids; got {self.people}. Two people with one id "
                f"cannot be told apart in a report."
            )
        if not self.members:
            raise AuditError(
                "Objections.members must not be empty; got no members. A panel has at least one "
                "auditor: record the round as unaudited instead."
            )
        for name, objections in self.members.items():
            checked_name(name, "Objections.members")
            self._check(name, objections)

    def _check(self, name: str, objections: object) -> None:
        if not isinstance(objections, MemberObjections):
            raise AuditError(
                f"The objections of {name!r} must be MemberObjections; got {shown(objections)}. "
                f"Write MemberObjections(pairs=[…])."
            )
        check_among(objections.pairs, self._places, f"Member {name!r} objects to")

    def votes(self, members: Sequence[str] | None = None) -> BoolArray:
        """The objections as an array of shape (m, k, k), symmetric, in the order of the members.

        By default everybody, in the order given. An absent member does not object.
        """
        order = tuple(self.members) if members is None else names("members", members, MEMBERS)
        k = len(self.people)
        votes = np.zeros((len(order), k, k), dtype=np.bool_)
        for j, name in enumerate(order):
            if name not in self.members:
                raise AuditError(
                    f"Member {name!r} is on the panel but not among the objections "
                    f"({', '.join(self.members)}). If they did not come, say so: "
                    f"{{{name!r}: MemberObjections(present=False)}}."
                )
            for pair in self.members[name].pairs:
                first, second = (self._places[person] for person in pair)
                votes[j, first, second] = votes[j, second, first] = True
        return votes

    def __hash__(self) -> int:
        return hash((self.people, frozenset(self.members)))
