"""The inequalities in the proofs of the paper's theorems."""

from __future__ import annotations

import math

from likewise.learning.bounds.base import Bound, charged_eta
from likewise.learning.learner import Learner
from likewise.learning.schedules import Paper, PaperOneSided


def paper_bound(learner: Learner, schedule: Paper, rounds: int) -> Bound:
    """The inequalities in the proofs of the paper's theorems, for the plug-in dual that we run.

    With eta the weight of the error, c_0 the number of Laplace variables a point,
    a = 4·omega·s·c_0 and c = (beta − r)/beta, for every lam ≥ 0 and N reports,

        (eta/k)·ΔError + c·lam·beta·N  ≤  W + c·(mu·T + 1/mu)·lam²/2,
        W = 2a·eta²·T + (10/omega)·sqrt(s·c_0)·log|H| + (c·mu/2)·beta²·T + rest,

    where the rest, max(0, 2a − c·(mu − mu³)/2)·T·beta²/mu², is what the regulariser leaves of the
    lam_t² (lam_t ≤ beta/mu). So regret ≤ (k/eta)·W and
    N ≤ sqrt(2·(mu·T + 1/mu)·(W + eta·T)/(beta·(beta − r))). Corrected on the way: the errors differ
    by at most T (not T/k), and the square root is taken.

    One-sided, a = 8·omega·s·k³·M + k/(e·M), where the paper has 4 for 8, and 2·eta for eta, which
    is the norm of the lifted loss. These are its inequalities, and no theorem about this program:
    reports are not resampled here, and its expectations are not those of a bad estimate.
    """
    hypotheses, margins = learner.hypotheses, learner.margins
    eta, mu, k, s = charged_eta(learner), schedule.mu(1), learner.k, hypotheses.separators
    omega = 1.0 / schedule.scale(0.0, k, s, 1.0)
    a, norm, source = 4.0 * omega * s * learner.copies, eta, "the paper's proof, plug-in dual"
    holds = f"with probability {1 - schedule.delta:g}"
    if isinstance(schedule, PaperOneSided):
        m = schedule.resamples(k, 1)
        a, norm = 8.0 * omega * s * k**3 * m + k / (math.e * m), 2.0 * eta
        source = "the paper's inequalities, corrected; no theorem about this program"
        holds = "in expectation, against an oblivious adversary"
    beta, c = margins.beta, (margins.beta - margins.r) / margins.beta
    noise = 10.0 / omega * math.sqrt(s * learner.copies) * hypotheses.log_size
    rest = max(0.0, 2.0 * a - c * (mu - mu**3) / 2.0) * rounds * (beta / mu) ** 2
    w = 2.0 * a * norm * norm * rounds + noise + c * mu / 2.0 * beta**2 * rounds + rest
    spread = 2.0 * (mu * rounds + 1.0 / mu) * (w + eta * rounds)
    reports = math.sqrt(spread / (beta * (beta - margins.r)))
    return Bound(source, holds, rounds, k, k / eta * w, reports)
