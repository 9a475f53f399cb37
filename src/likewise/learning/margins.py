"""The margins of an audit: how violations are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.validation import real

__all__ = ["Margins"]


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
        if not 0 < self.alpha <= 1:
            raise ParameterError(
                "alpha", "must be in (0, 1]", self.alpha, "It is the size of a violation."
            )
        if not 0 < self.eps <= self.alpha:
            raise ParameterError(
                "eps",
                f"must be in (0, alpha] = (0, {self.alpha!r}]",
                self.eps,
                "The learner competes with policies that are fair at alpha − eps.",
            )
        if not 0 <= self.kappa < self.eps:
            raise ParameterError(
                "kappa",
                f"must be in [0, eps) = [0, {self.eps!r})",
                self.kappa,
                "The panel is asked at alpha − kappa; 0.3·eps is the default.",
            )
        if not 0 <= self.r < self.beta:
            raise ParameterError(
                "r",
                f"must be in [0, eps − kappa) = [0, {self.beta!r})",
                self.r,
                "A gap estimated worse than that would make reports prove nothing; "
                "0.4·eps is the default.",
            )

    @property
    def beta(self) -> float:
        """eps − kappa: what a report proves about the policy that was audited."""
        return self.eps - self.kappa
