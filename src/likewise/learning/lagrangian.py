"""The Lagrangian that both players play on, for one round, as the paper writes it.

The learner never computes it: what does not depend on the policy is left out of the costs that it
charges (:mod:`likewise.learning.costs`), and its regularised form enters through one step of the
dual player (:mod:`likewise.learning.dual`). Here it is whole, to be read and to test those two by.
"""

from __future__ import annotations

from collections.abc import Sequence

from likewise.errors import ParameterError
from likewise.validation import integer, items, real, reals


def misclassification(policy: Sequence[float], labels: Sequence[int]) -> float:
    """Error(π) = Σ_i |π(x_i) − y_i|, the expected number of wrong decisions.

    *Definition "Misclassification loss".*

    >>> misclassification([0.75, 0.5], [1, 0])
    0.75
    """
    chances, truths = reals("policy", policy, _CHANCES), items("labels", labels, "0 or 1 each.")
    if len(chances) != len(truths):
        rule = f"must be one for each of the {len(chances)} people"
        raise ParameterError("labels", rule, f"{len(truths)} of them", "0 or 1 each.")
    pairs = zip(chances, truths, strict=True)
    return sum(abs(p - integer("labels", y, 0, 2, "0 or 1.")) for p, y in pairs)


def unfairness_proxy(
    policy: Sequence[float],
    estimate: Sequence[float],
    report: tuple[int, int] | None,
    beta: float,
) -> float:
    """U(π) = [π(x_l) − π(x_r)] − [π̃(x_l) − π̃(x_r)] + beta if (l, r) was reported, else 0.

    ``estimate`` is π̃, what the panel was shown. Of π̃ itself it is beta. *Definition "Unfairness
    proxy loss".*

    >>> unfairness_proxy([0.75, 0.5], [1.0, 0.5], (0, 1), beta=0.5)
    0.25
    >>> unfairness_proxy([0.75, 0.5], [1.0, 0.5], None, beta=0.5)
    0.0
    """
    pi, pi_tilde = reals("policy", policy, _CHANCES), reals("estimate", estimate, _CHANCES)
    beta = real("beta", beta, "It is eps − kappa.")
    if report is None:
        return 0.0
    most = min(len(pi), len(pi_tilde))
    places = items("report", report, "Two places, or None.")
    if len(places) != 2:
        raise ParameterError("report", "must be two places", report, "Or None.")
    left, right = (integer("report", place, 0, most, "Two places.") for place in places)
    return (pi[left] - pi[right]) - (pi_tilde[left] - pi_tilde[right]) + beta


def lagrangian(error: float, proxy: float, lam: float, *, k: int, eta: float = 1.0) -> float:
    """L̄(π, lam) = (eta/k)·Error(π) + lam·U(π). *Definition "Lagrangian loss"*, with eta = 1.

    >>> lagrangian(0.5, 0.25, lam=2.0, k=2)
    0.75
    """
    k, lam = integer("k", k, 1, 1 << 62, "It is the most people in a round."), _at_least_0(lam)
    error, proxy = real("error", error, _LOSS), real("proxy", proxy, _LOSS)
    return real("eta", eta, "1 is the paper's.") / k * error + lam * proxy


def regularised_lagrangian(
    error: float, proxy: float, lam: float, *, mu: float, k: int, eta: float = 1.0
) -> float:
    """L(π, lam) = L̄(π, lam) − mu·lam²/2. *Definition "Regularized Lagrangian loss".*

    Its derivative in lam is U(π) − mu·lam, which has no labels in it; one step of size mu along it
    is the dual player's (:class:`~likewise.learning.dual.GradientAscent`).

    >>> regularised_lagrangian(0.5, 0.25, lam=2.0, mu=0.25, k=2)
    0.25
    """
    plain = lagrangian(error, proxy, lam, k=k, eta=eta)
    return plain - real("mu", mu, "The step.") * lam * lam / 2.0


_LOSS = "Compute it for the round."
_CHANCES = "A chance of approval for everybody, in order."


def _at_least_0(lam: float) -> float:
    number = real("lam", lam, "It is the multiplier.")
    if number < 0:
        raise ParameterError("lam", "must be at least 0", lam, "It is the price of a report.")
    return number
