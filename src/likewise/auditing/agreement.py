"""Agreement: how far the members of a panel judge alike, and each of them like themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from likewise.auditing.objections import MemberObjections, Objections, Pair
from likewise.errors import AuditError
from likewise.errors import shown as show
from likewise.validation import as_list, instance

__all__ = ["Agreement", "Consistency", "agreement", "consistency", "krippendorff_alpha"]

Unit = Iterable[Hashable | None] | Mapping[str, Hashable | None]


def _each(what: str, several: Any) -> list[Any]:
    """The members of something that can be gone through; text is one thing, not many."""
    if (listed := as_list(several)) is None:
        raise AuditError(f"{what} must be a list; got {show(several)}.")
    return listed


def _given(unit: Unit) -> list[Hashable]:
    """The values that a unit was given: neither None nor NaN."""
    values = _each("A unit", unit.values() if isinstance(unit, Mapping) else unit)
    if odd := [value for value in values if not isinstance(value, Hashable)]:
        raise AuditError(f"A value must be one thing, such as 1 or 'a'; got {show(odd[0])}.")
    return [
        value
        for value in values
        if value is not None
        and not (isinstance(value, (float, np.floating)) and math.isnan(float(value)))
    ]


def krippendorff_alpha(ratings: Iterable[Unit]) -> float | None:
    """Krippendorff's alpha for nominal values: 1 if raters agree, 0 if as by chance, below if less.

    α = 1 − D_o/D_e, with D_o = Σ_(c≠d) o_cd / n and D_e = Σ_(c≠d) n_c n_d / (n (n − 1)), where
    o_cd = Σ_u n_uc n_ud / (m_u − 1) is the coincidence matrix (c ≠ d), n_uc the number of raters
    who gave unit u the value c, m_u = Σ_c n_uc, n_c = Σ_u n_uc and n = Σ_c n_c.

    A row is a unit: its values, in any order, or by rater. None and NaN are missing, and rows may
    differ in length. Units with fewer than two values are left out. Where D_e = 0, because those
    that are left have no value or one and the same, alpha is undefined: None. Rational arithmetic,
    rounded once.

    Two raters, (a, a), (a, b), (b, b): o_ab = o_ba = 1 and n_a = n_b = 3, so D_o = 2/6,
    D_e = 18/30, and α = 1 − 5/9.

    >>> krippendorff_alpha([("a", "a"), ("a", "b"), ("b", "b")])
    0.4444444444444444
    >>> krippendorff_alpha([("a", "a"), ("a", "b"), ("b", "b"), ("c", None)])
    0.4444444444444444
    >>> krippendorff_alpha([("a", "a"), ("a", "a")]) is None
    True

    Four observers and twelve units (K. Krippendorff, "Computing Krippendorff's
    Alpha-Reliability", 2011, section C), a column for each unit and 0 for missing:

    >>> observers = ("123321412000", "123322412503", "033323422510", "123324412510")
    >>> units = [[int(v) or None for v in column] for column in zip(*observers)]
    >>> round(krippendorff_alpha(units), 3)
    0.743
    """
    apart: Counter[int] = Counter()  # Σ_(c≠d) n_uc n_ud, summed over the units with this m_u
    margins: Counter[Hashable] = Counter()  # n_c
    for unit in _each("Ratings", ratings):
        counts = Counter(_given(unit))
        m = counts.total()
        if m >= 2:
            apart[m] += _unequal(counts)
            margins.update(counts)
    n, by_chance = margins.total(), _unequal(margins)
    if not by_chance:
        return None
    off_diagonal = sum((Fraction(total, m - 1) for m, total in apart.items()), Fraction())
    observed = off_diagonal / n
    expected = Fraction(by_chance, n * (n - 1))
    return float(1 - observed / expected)


def _unequal(counts: Counter[Hashable]) -> int:
    """Σ_(c≠d) n_c n_d = n² − Σ_c n_c², the ordered pairs of values that differ."""
    total = counts.total()
    return total * total - sum(count * count for count in counts.values())


@dataclass(frozen=True)
class Agreement:
    """How far a panel agreed: alpha, and what it was computed from.

    ``units`` pairs were shown, ``pairable`` of them to at least two members who were present;
    those have ``judgements``, of which ``objections`` are objections. Without any objection, or
    with nothing else, alpha is None.
    """

    alpha: float | None
    units: int
    pairable: int
    judgements: int
    objections: int


def _shown(pairs: Iterable[Pair | Iterable[str]]) -> tuple[Pair, ...]:
    return tuple(sorted({Pair.of(pair) for pair in _each("The pairs shown", pairs)}))


def agreement(rounds: Iterable[tuple[Objections, Iterable[Pair | Iterable[str]]]]) -> Agreement:
    """Krippendorff's alpha of a panel, from the objections and the pairs shown of every round.

    α = 1 − D_o/D_e over the units (round, pair), the value of a member being whether they object.
    Absent members are missing. Only the pairs shown count, those that could be reported: what
    nobody need look at is no agreement. Whoever may stop after one pair (a veto) should be left
    out of the objections, as the pairs they pass over are not judged.

    Here the values are (1, 1), (0, 1) and (0, 0): the example of ``krippendorff_alpha``.

    >>> said = Objections(("ann", "bo", "cy"), {
    ...     "j1": MemberObjections(pairs=[("ann", "bo")]),
    ...     "j2": MemberObjections(pairs=[("ann", "bo"), ("bo", "cy")]),
    ...     "j3": MemberObjections(present=False),
    ... })
    >>> agreement([(said, [("ann", "bo"), ("ann", "cy"), ("bo", "cy")])])
    Agreement(alpha=0.4444444444444444, units=3, pairable=3, judgements=6, objections=3)
    """
    units: list[list[bool]] = []
    for one in _each("Rounds", rounds):
        if not (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], Objections)):
            raise AuditError(
                f"A round must be its objections and the pairs shown, (Objections(…), […]); got "
                f"{show(one)}."
            )
        said, pairs = one
        asked = _shown(pairs)
        _check_people(asked, said.people)
        judged = [set(member.pairs) for member in said.members.values() if member.present]
        units += [[pair in objected for objected in judged] for pair in asked]
    pairable = [unit for unit in units if len(unit) >= 2]
    return Agreement(
        alpha=krippendorff_alpha(pairable),
        units=len(units),
        pairable=len(pairable),
        judgements=sum(map(len, pairable)),
        objections=sum(map(sum, pairable)),
    )


def _check_people(shown: Iterable[Pair], people: tuple[str, ...]) -> None:
    known = set(people)
    for pair in shown:
        for person in pair:
            if person not in known:
                raise AuditError(
                    f"A pair that was shown must be of people of the round; got {list(pair)}, but "
                    f"{person!r} is not among them ({', '.join(people)}). Are these the pairs of "
                    f"another round?"
                )


@dataclass(frozen=True)
class Consistency:
    """How far a member judged alike when shown the same pairs again.

    In ``repeats`` rounds seen twice, ``pairs`` were judged twice, ``same`` of them the same both
    times, and ``both`` of these objected to both times.

    >>> Consistency(repeats=1, pairs=4, same=3, both=1).share
    0.75
    >>> Consistency().share is None
    True
    """

    repeats: int = 0
    pairs: int = 0
    same: int = 0
    both: int = 0

    @property
    def share(self) -> float | None:
        """same / pairs; None where nothing was judged twice."""
        return self.same / self.pairs if self.pairs else None

    @classmethod
    def pooled(cls, several: Iterable[Consistency]) -> Consistency:
        """Several repeats together, of one member or of many: every pair counts the same.

        share = Σ same / Σ pairs, here (3 + 0) / (4 + 2).

        >>> Consistency.pooled([Consistency(1, 4, 3, 1), Consistency(1, 2, 0, 0)])
        Consistency(repeats=2, pairs=6, same=3, both=1)
        """
        listed = list(several)
        return cls(
            repeats=sum(one.repeats for one in listed),
            pairs=sum(one.pairs for one in listed),
            same=sum(one.same for one in listed),
            both=sum(one.both for one in listed),
        )


def consistency(
    first: MemberObjections, again: MemberObjections, shown: Iterable[Pair | Iterable[str]]
) -> Consistency:
    """How far one member who saw the same round twice said the same of the pairs shown.

    share = |{p shown: p objected to both times, or neither time}| / |shown|. A time that they were
    absent makes no repeat. ``Consistency.pooled`` puts repeats together.

    Of three pairs one is objected to both times, one only once, and one never:

    >>> first = MemberObjections(pairs=[("ann", "bo")])
    >>> again = MemberObjections(pairs=[("ann", "bo"), ("bo", "cy")])
    >>> shown = [("ann", "bo"), ("ann", "cy"), ("bo", "cy")]
    >>> consistency(first, again, shown)
    Consistency(repeats=1, pairs=3, same=2, both=1)
    """
    for said in (first, again):
        instance("objections", said, MemberObjections, "Write MemberObjections(pairs=[…]).")
    pairs = _shown(shown)
    if not (first.present and again.present):
        return Consistency()
    before, after = set(first.pairs), set(again.pairs)
    return Consistency(
        repeats=1,
        pairs=len(pairs),
        same=sum((pair in before) == (pair in after) for pair in pairs),
        both=sum(pair in before and pair in after for pair in pairs),
    )
