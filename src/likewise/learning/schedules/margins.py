"""The margins of an audit: how violations are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.fixed_point import from_units, to_units
from likewise.validation import real

# A report weighs one over the share; a panel seen less often than that teaches nothing.
SMALLEST_SHARE = 0.001


@dataclass(frozen=True)
class Margins:
    """How violations are asked for: alpha, eps, and the split of eps into kappa and beta.

    The panel is asked at alpha − kappa; beta = eps − kappa is what a report proves; the estimate
    of a gap from draws may be off by r < beta. *The paper has kappa = beta = eps/2, r = eps/4.*

    >>> Margins(alpha=0.3, eps=0.3, kappa=0.15, r=0.12).beta
    0.15
    """

    alpha: float
    eps: float
    kappa: float
    r: float

    def __post_init__(self) -> None:
        for name in ("alpha", "eps", "kappa", "r"):
            plain = real(name, getattr(self, name), "Give a number such as 0.3.")
            object.__setattr__(self, name, plain)
        alpha, eps, kappa, beta = self.alpha, self.eps, self.kappa, self.beta
        for name, fits, interval, remedy in (
            ("alpha", 0 < alpha <= 1, "(0, 1]", "It is the size of a violation."),
            ("eps", 0 < eps <= alpha, f"(0, alpha] = (0, {alpha!r}]",
             "The learner competes with policies that are fair at alpha − eps."),
            ("kappa", 0 <= kappa < eps, f"[0, eps) = [0, {eps!r})",
             "The panel is asked at alpha − kappa; 0.325·eps is the default."),
            ("r", 0 <= self.r < beta, f"[0, eps − kappa) = [0, {beta!r})",
             "A gap estimated worse than that would make reports prove nothing; 0.4·eps is the "
             "default."),
        ):  # fmt: skip
            if not fits:
                raise ParameterError(name, f"must be in {interval}", getattr(self, name), remedy)

    @property
    def beta(self) -> float:
        """eps − kappa: what a report proves about the policy that was audited."""
        return self.eps - self.kappa


def checked_share(share: float) -> float:
    """The share of rounds that is audited, on the grid: a round weighs one over exactly its chance.

    >>> checked_share(0.25)
    0.25
    """
    number = real("audit_share", share, "1 is the default.")
    if not SMALLEST_SHARE <= number <= 1:
        raise ParameterError(
            "audit_share", f"must be in [{SMALLEST_SHARE}, 1]", share,
            "It is the probability with which a round is audited.",
        )  # fmt: skip
    return from_units(to_units(number))
