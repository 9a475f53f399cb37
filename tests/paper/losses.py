"""The paper's losses. The learner never computes them: it charges what their differences are."""

from __future__ import annotations

from collections.abc import Sequence


def misclassification(policy: Sequence[float], labels: Sequence[int]) -> float:
    """Error(π) = Σ_i |π(x_i) − y_i|, the expected number of wrong decisions.

    *Definition "Misclassification loss".*
    """
    return sum(abs(p - y) for p, y in zip(policy, labels, strict=True))


def unfairness_proxy(
    policy: Sequence[float], estimate: Sequence[float], report: tuple[int, int] | None, beta: float
) -> float:
    """U(π) = [π(x_l) − π(x_r)] − [π̃(x_l) − π̃(x_r)] + beta if (l, r) was reported, else 0.

    ``estimate`` is π̃, what the panel was shown. Of π̃ itself it is beta. *Definition "Unfairness
    proxy loss".*
    """
    if report is None:
        return 0.0
    left, right = report
    return (policy[left] - policy[right]) - (estimate[left] - estimate[right]) + beta


def lagrangian(error: float, proxy: float, lam: float, *, k: int, eta: float = 1.0) -> float:
    """L̄(π, lam) = (eta/k)·Error(π) + lam·U(π). *Definition "Lagrangian loss"*, with eta = 1."""
    return eta / k * error + lam * proxy


def regularised_lagrangian(error: float, proxy: float, lam: float, *, mu: float, k: int) -> float:
    """L(π, lam) = L̄(π, lam) − mu·lam²/2. *Definition "Regularized Lagrangian loss".*

    Its derivative in lam is U(π) − mu·lam, which has no labels in it; one step of size mu along it
    is that of :class:`~likewise.learner.costs.GradientAscent`.
    """
    return lagrangian(error, proxy, lam, k=k) - mu * lam * lam / 2.0
