"""How far the members of a panel agree with each other, and each of them with themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from typing import Any

from likewise.errors import AuditError, shown
from likewise.panel.objections import MemberObjections, Objections, Pair, check_among
from likewise.people.columns import is_missing
from likewise.validation import as_list, instance

Unit = Iterable[Hashable | None] | Mapping[str, Hashable | None]


def krippendorff_alpha(ratings: Iterable[Unit]) -> float | None:
    """Krippendorff's alpha for nominal values: 1 if raters agree, 0 if as by chance, below if less.

    α = 1 − D_o/D_e, with D_o = Σ_(c≠d) o_cd / n and D_e = Σ_(c≠d) n_c·n_d/(n·(n − 1)), where
    o_cd = Σ_u n_uc·n_ud/(m_u − 1) is the coincidence matrix (c ≠ d), n_uc the number of raters
    who gave unit u the value c, m_u = Σ_c n_uc, n_c = Σ_u n_uc and n = Σ_c n_c.

    A row is a unit: its values, in any order, or by rater. None and NaN are missing, and rows may
    differ in length. Units with fewer than two values are left out. Where D_e = 0, because the
    remaining units hold no value or a single one, alpha is undefined: None. The arithmetic is
    rational, rounded once.

    Two raters, (a, a), (a, b), (b, b): o_ab = o_ba = 1 and n_a = n_b = 3, so D_o = 2/6,
    D_e = 18/30, and α = 1 − 5/9.

    >>> krippendorff_alpha([("a", "a"), ("a", "b"), ("b", "b")])
    0.4444444444444444

    Four observers and twelve units (K. Krippendorff, "Computing Krippendorff's
    Alpha-Reliability", 2011, section C), a column for each unit and 0 for missing:

    >>> observers = ("123321412000", "123322412503", "033323422510", "123324412510")
    >>> units = [[int(v) or None for v in column] for column in zip(*observers)]
    >>> round(krippendorff_alpha(units), 3)
    0.743
    """
    disagreements: Counter[int] = Counter()
    margins: Counter[Hashable] = Counter()
    for unit in _listed("Ratings", ratings):
        counts = Counter(_values(unit))
        if counts.total() >= 2:
            disagreements[counts.total()] += _unequal(counts)
            margins.update(counts)
    return alpha_from_counts(disagreements, margins)


def alpha_from_counts(disagreements: Mapping[int, int], margins: Mapping[Any, int]) -> float | None:
    """Krippendorff's alpha from sums over units, so that the units need not be stored.

    ``disagreements`` is Σ_(c≠d) n_uc n_ud, summed over the units with m_u values, by m_u;
    ``margins`` is n_c by value.
    """
    n, by_chance = sum(margins.values()), _unequal(margins)
    if not by_chance:
        return None
    observed = sum((Fraction(total, m - 1) for m, total in disagreements.items()), Fraction()) / n
    return float(1 - observed / Fraction(by_chance, n * (n - 1)))


def _unequal(counts: Mapping[Any, int]) -> int:
    """Σ_(c≠d) n_c·n_d = n² − Σ_c n_c², the ordered pairs of values that differ."""
    total = sum(counts.values())
    return total * total - sum(count * count for count in counts.values())


def _listed(name: str, values: Any) -> list[Any]:
    if (listed := as_list(values)) is None:
        raise AuditError(f"{name} must be a list; got {shown(values)}.")
    return listed


def _values(unit: Unit) -> list[Hashable]:
    values = _listed("A unit", unit.values() if isinstance(unit, Mapping) else unit)
    if odd := [value for value in values if not isinstance(value, Hashable)]:
        raise AuditError(f"A value must be one thing, such as 1 or 'a'; got {shown(odd[0])}.")
    return [value for value in values if not is_missing(value)]


@dataclass(frozen=True, slots=True)
class MemberAgreement:
    """How often a member and the other members judged the same: ``same`` of ``compared``.

    A pair that m members judged is m − 1 comparisons for each of them.
    """

    compared: int = 0
    same: int = 0

    def __add__(self, other: MemberAgreement) -> MemberAgreement:
        return MemberAgreement(self.compared + other.compared, self.same + other.same)

    @property
    def share(self) -> float | None:
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True)
class Agreement:
    """How far a panel agrees: sums over rounds, which need not be stored.

    A unit is a pair shown in a round, and the value of a member is whether they object; absent
    members are missing. ``units`` counts all pairs shown. The other sums are over the pairs that
    at least two members judged: ``judgements_by_size`` and ``disagreements`` (Σ 2·n_u1·n_u0) by
    the number m of members present, and ``objections``, Σ n_u1.

    Show only pairs that could be reported: agreement on the others means nothing. Leave out a
    member who may stop after one pair (a veto), as they do not judge the pairs that they skip.

    Here the values are (1, 1), (0, 1) and (0, 0): the example of ``krippendorff_alpha``.

    >>> objections = Objections(("ann", "bo", "cy"), {
    ...     "j1": MemberObjections(pairs=[("ann", "bo")]),
    ...     "j2": MemberObjections(pairs=[("ann", "bo"), ("bo", "cy")]),
    ...     "j3": MemberObjections(present=False),
    ... })
    >>> agreement = Agreement.of(objections, [("ann", "bo"), ("ann", "cy"), ("bo", "cy")])
    >>> agreement.alpha, agreement.judgements, (agreement + agreement).units
    (0.4444444444444444, 6, 6)
    """

    units: int = 0
    judgements_by_size: Mapping[int, int] = field(default_factory=dict)
    disagreements: Mapping[int, int] = field(default_factory=dict)
    objections: int = 0
    members: Mapping[str, MemberAgreement] = field(default_factory=dict)

    @classmethod
    def of(cls, objections: Objections, shown_pairs: Iterable[Pair | Iterable[str]]) -> Agreement:
        """The agreement on the pairs shown in one round."""
        instance("objections", objections, Objections, "Write Objections(people, {member: …}).")
        pairs = _pairs(shown_pairs)
        check_among(sorted(pairs), objections.people, "The pairs shown have")
        members = objections.members.items()
        objected = {name: set(member.pairs) & pairs for name, member in members if member.present}
        m = len(objected)
        if m < 2:
            return cls(units=len(pairs))
        votes = Counter(pair for own_pairs in objected.values() for pair in own_pairs)
        return cls(
            units=len(pairs),
            judgements_by_size={m: m * len(pairs)},
            disagreements={m: sum(2 * n * (m - n) for n in votes.values())},
            objections=votes.total(),
            members={
                name: _compared(own_pairs, votes, m, len(pairs))
                for name, own_pairs in objected.items()
            },
        )

    def __add__(self, other: Agreement) -> Agreement:
        names = {**self.members, **other.members}
        empty = MemberAgreement()
        return Agreement(
            self.units + other.units,
            Counter(self.judgements_by_size) + Counter(other.judgements_by_size),
            Counter(self.disagreements) + Counter(other.disagreements),
            self.objections + other.objections,
            {n: self.members.get(n, empty) + other.members.get(n, empty) for n in names},
        )

    @property
    def judgements(self) -> int:
        """How often a member judged a pair that another member judged too."""
        return sum(self.judgements_by_size.values())

    @property
    def pairable(self) -> int:
        """How many units at least two members judged."""
        return sum(count // m for m, count in self.judgements_by_size.items())

    @property
    def alpha(self) -> float | None:
        """Krippendorff's alpha; None where everybody objects to all pairs or nobody to any."""
        margins = {True: self.objections, False: self.judgements - self.objections}
        return alpha_from_counts(self.disagreements, margins)


def _pairs(shown_pairs: Iterable[Pair | Iterable[str]]) -> set[Pair]:
    return {Pair.of(pair) for pair in _listed("The pairs shown", shown_pairs)}


def _compared(own_pairs: set[Pair], votes: Counter[Pair], m: int, pairs: int) -> MemberAgreement:
    """A member agrees with n − 1 others on a pair that they object to, else with m − n − 1."""
    disagreements = sum(m - n if pair in own_pairs else n for pair, n in votes.items())
    compared = (m - 1) * pairs
    return MemberAgreement(compared, compared - disagreements)


@dataclass(frozen=True)
class Consistency:
    """Intra-rater reliability: how far a member judges the same pairs alike again.

    In ``repeats`` rounds reviewed twice, ``pairs`` were judged twice, ``same`` of them the same
    both times, and ``both`` of these objected to both times. Sums over reviews can be added.

    >>> (Consistency(1, 4, 3, 1) + Consistency(1, 2, 0, 0)).share
    0.5
    >>> round(Consistency(5, 100, 82, 10).noise, 3), Consistency(1, 4, 2, 1).noise
    (0.1, 0.5)
    """

    repeats: int = 0
    pairs: int = 0
    same: int = 0
    both: int = 0

    def __add__(self, other: Consistency) -> Consistency:
        return Consistency(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> float | None:
        return self.same / self.pairs if self.pairs else None

    @property
    def noise(self) -> float | None:
        """The chance v that a judgement flips, independently of others: ½ for coins.

        Two judgements are the same with chance 1 − 2v(1 − v).
        """
        if self.share is None:
            return None
        return (1.0 - math.sqrt(max(0.0, 2.0 * self.share - 1.0))) / 2.0


def consistency(
    first: MemberObjections, second: MemberObjections, shown_pairs: Iterable[Pair | Iterable[str]]
) -> Consistency:
    """Intra-rater reliability of a member who reviewed the same pairs of a round twice.

    share = |{p shown: p objected to both times, or neither time}| / |shown|. If the member was
    absent from a review, there is no repeat.

    Of three pairs one is objected to both times, one only once, and one never:

    >>> first = MemberObjections(pairs=[("ann", "bo")])
    >>> second = MemberObjections(pairs=[("ann", "bo"), ("bo", "cy")])
    >>> consistency(first, second, [("ann", "bo"), ("ann", "cy"), ("bo", "cy")])
    Consistency(repeats=1, pairs=3, same=2, both=1)
    """
    for review in (first, second):
        instance("objections", review, MemberObjections, "Write MemberObjections(pairs=[…]).")
    pairs = _pairs(shown_pairs)
    if not (first.present and second.present):
        return Consistency()
    before, after = set(first.pairs), set(second.pairs)
    return Consistency(
        repeats=1,
        pairs=len(pairs),
        same=sum((pair in before) == (pair in after) for pair in pairs),
        both=sum(pair in before and pair in after for pair in pairs),
    )
