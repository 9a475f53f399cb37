"""Agreement as counts that add up: round after round, without keeping the rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from likewise.auditing.agreement import Agreement
from likewise.auditing.objections import Objections, Pair

__all__ = ["AgreementCounts", "MemberAgreement"]


@dataclass(frozen=True)
class MemberAgreement:
    """How often a member said the same as the others: of ``compared`` judgements, ``same``.

    A pair that m members judged is m − 1 comparisons for each of them.
    """

    compared: int = 0
    same: int = 0

    def __add__(self, other: MemberAgreement) -> MemberAgreement:
        return MemberAgreement(self.compared + other.compared, self.same + other.same)

    @property
    def share(self) -> float | None:
        """same / compared; None where nothing was compared."""
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True)
class AgreementCounts:
    """Sums over some rounds, from which :func:`likewise.auditing.agreement` follows.

    ``units`` pairs were shown; of those that at least two members judged, ``judgements`` has how
    many judgements there were by the number m of members, ``apart`` is Σ 2·n_u1·n_u0 by m, and
    ``objections`` is Σ n_u1. Krippendorff's alpha follows: α = 1 − D_o/D_e with
    D_o = Σ_m apart_m/(m − 1) / n and D_e = 2·n_1·n_0 / (n·(n − 1)).

    >>> from likewise.auditing import MemberObjections
    >>> said = Objections(("ann", "bo", "cy"), {
    ...     "j1": MemberObjections(pairs=[("ann", "bo")]),
    ...     "j2": MemberObjections(pairs=[("ann", "bo"), ("bo", "cy")]),
    ... })
    >>> counts = AgreementCounts.of(said, [("ann", "bo"), ("ann", "cy"), ("bo", "cy")])
    >>> counts.agreement.alpha
    0.4444444444444444
    >>> (counts + counts).agreement.units
    6
    """

    units: int = 0
    judgements: Mapping[int, int] = field(default_factory=dict)
    apart: Mapping[int, int] = field(default_factory=dict)
    objections: int = 0
    members: Mapping[str, MemberAgreement] = field(default_factory=dict)

    @classmethod
    def of(cls, said: Objections, shown: Iterable[Pair | Iterable[str]]) -> AgreementCounts:
        """One round: what those present said of the pairs shown."""
        pairs = {Pair.of(pair) for pair in shown}
        judged = {name: set(m.pairs) & pairs for name, m in said.members.items() if m.present}
        m = len(judged)
        if m < 2:
            return cls(units=len(pairs))
        votes = Counter(pair for mine in judged.values() for pair in mine)
        apart = sum(2 * n * (m - n) for n in votes.values())
        return cls(
            units=len(pairs),
            judgements={m: m * len(pairs)},
            apart={m: apart},
            objections=votes.total(),
            members={name: _compared(mine, votes, m, len(pairs)) for name, mine in judged.items()},
        )

    def __add__(self, other: AgreementCounts) -> AgreementCounts:
        names = {**self.members, **other.members}
        none = MemberAgreement()
        return AgreementCounts(
            self.units + other.units,
            Counter(self.judgements) + Counter(other.judgements),
            Counter(self.apart) + Counter(other.apart),
            self.objections + other.objections,
            {n: self.members.get(n, none) + other.members.get(n, none) for n in names},
        )

    @property
    def agreement(self) -> Agreement:
        """Alpha, and what it was computed from."""
        n, ones = sum(self.judgements.values()), self.objections
        pairable = sum(count // m for m, count in self.judgements.items())
        by_chance, alpha = 2 * ones * (n - ones), None
        if by_chance:
            apart = sum((Fraction(a, m - 1) for m, a in self.apart.items()), Fraction())
            alpha = float(1 - apart / n / Fraction(by_chance, n * (n - 1)))
        return Agreement(alpha, self.units, pairable, n, ones)


def _compared(mine: set[Pair], votes: Counter[Pair], m: int, pairs: int) -> MemberAgreement:
    """With whom somebody agreed: on a pair they flagged, its other n − 1; else the m − n."""
    apart = sum(m - n if pair in mine else n for pair, n in votes.items())
    compared = (m - 1) * pairs
    return MemberAgreement(compared, compared - apart)
