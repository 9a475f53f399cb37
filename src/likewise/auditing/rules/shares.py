"""Shares and weights as exact fractions: in floats, 7 % of 100 members would be 8 of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from likewise.errors import ParameterError
from likewise.validation import flag, instance, integer

Number = int | float | str | Decimal | Fraction
_SHARE = re.compile(r"\s*([0-9.]+(?:\s*/\s*[0-9.]+)?)\s*(%?)\s*")


def exact(value: Number, where: str) -> Fraction:
    """A number as the fraction that its decimal digits say: 0.1 is 1/10.

    >>> exact(0.1, "weight"), exact("2/3", "weight")
    (Fraction(1, 10), Fraction(2, 3))
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return Fraction(str(value).replace(" ", ""))
    except (TypeError, ValueError, ZeroDivisionError):
        raise ParameterError(
            where, "must be a finite number", value, "Write 2, 0.5 or 1/3."
        ) from None


@dataclass(frozen=True)
class Share:
    """A share of the votes: ⌈p·n⌉ of n; ``strict``, more than it: ⌊p·n⌋ + 1 of n.

    Everybody on the panel counts, also who is absent: staying away is no way to win a vote.

    >>> Share(Fraction(7, 100)).votes(100), Share(Fraction(1, 2), strict=True).votes(4)
    (7, 3)
    """

    fraction: Fraction
    strict: bool = False

    def __post_init__(self) -> None:
        instance("Share.fraction", self.fraction, Fraction, "Write Fraction(4, 5).")
        object.__setattr__(self, "strict", flag("Share.strict", self.strict, "Say which."))
        if not 0 < self.fraction <= 1 or (self.strict and self.fraction == 1):
            raise ParameterError(
                "Share.fraction",
                "must be above 0 and below 100%"
                if self.strict
                else "must be above 0, at most 100%",
                str(self),
                "With a share of 0 a pair nobody objected to would be reported; more than "
                "everybody can never object.",
            )

    def votes(self, n: int) -> int:
        """How many votes of n the share is."""
        n = integer("n", n, 0, None, "It is the size of a panel.")
        return math.floor(self.fraction * n) + 1 if self.strict else math.ceil(self.fraction * n)

    def __str__(self) -> str:
        percent = self.fraction * 100
        return f"{percent}%" if percent.denominator == 1 else str(self.fraction)


def read_share(value: str | Fraction, where: str) -> tuple[Fraction, bool]:
    """The number of votes or the share, and whether it was written as a share: with % or a stroke.

    >>> read_share("80%", "votes"), read_share("3", "votes")
    ((Fraction(4, 5), True), (Fraction(3, 1), False))
    """
    if isinstance(value, Fraction):
        return value, True
    if not isinstance(value, str) or not (match := _SHARE.fullmatch(value)):
        raise ParameterError(where, "must be votes or a share", value, 'Write 3, "80%" or "4/5".')
    number = exact(match[1], where)
    return (number / 100, True) if match[2] else (number, "/" in match[1])
