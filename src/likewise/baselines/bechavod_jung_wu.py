"""Bechavod, Jung and Wu (2020): one auditor, full information, reports as copies.

Quoted: the encoding of a report, Context-FTPL on k + 2C labelled people, T oracle calls a round,
rates T^(7/9). Inferred: C = T^(2/9), which these rates follow from, and the noise (see
:mod:`likewise.baselines.perturbed`). The single auditor is here the panel, whose rule makes it act
on each pair like one of its members; it is asked at alpha.
"""

from __future__ import annotations

from likewise.baselines.base import Rates, baseline
from likewise.baselines.encoding import power_of
from likewise.baselines.perturbed import PerturbedAlgorithm, horizon_of
from likewise.hypotheses import HypothesisClass

__all__ = ["bechavod_jung_wu"]

RATES = Rates("T^7/9", "T^7/9", "T^7/9", "Bechavod, Jung, Wu 2020")


@baseline("bechavod-jung-wu", "2020: reports as T^(2/9) copies; T oracle calls a round", full=RATES)
def bechavod_jung_wu(
    hypotheses: HypothesisClass, k: int, alpha: float, eps: float, seed: int, *,
    rounds: int | None = None, noise_divisor: float = 1.0, engine: str = "compiled",
) -> PerturbedAlgorithm:  # fmt: skip
    """Context-FTPL on the encoded stream."""
    horizon = horizon_of(rounds, "bechavod-jung-wu")
    return PerturbedAlgorithm(
        "bechavod-jung-wu", hypotheses, k, alpha, eps, seed, horizon,
        copies=power_of(horizon, 2, 9), elicited=horizon, redraws=0,
        noise_divisor=noise_divisor, engine=engine,
    )  # fmt: skip
