"""The dual player: online gradient ascent on the multiplier lam (Zinkevich 2003)."""

from __future__ import annotations

__all__ = ["dual_step"]


def dual_step(lam: float, *, reported: bool, beta: float, mu: float, share: float = 1.0) -> float:
    """lam ← max(0, lam + mu·(u − mu·lam)), u = beta if a pair was reported and 0 otherwise.

    *Algorithm "Reduction to Context-FTPL + Online Gradient Descent", last line*, with the
    unobservable proxy of π^t replaced by its plug-in value beta (the proxy of π̃^t itself). Where
    only a share of the rounds is audited, u = beta/share.

    >>> dual_step(0.0, reported=True, beta=0.1, mu=0.5)
    0.05
    >>> dual_step(0.05, reported=False, beta=0.1, mu=0.5)
    0.037500000000000006
    """
    return max(0.0, lam + mu * ((beta / share if reported else 0.0) - mu * lam))
