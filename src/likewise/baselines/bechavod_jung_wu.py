"""Bechavod, Jung and Wu (2020): one auditor, full information, reports as copies.

Quoted: the encoding of a report, Context-FTPL on k + 2C labelled people, T oracle calls a round,
rates T^(7/9). Inferred: C = T^(2/9), which these rates follow from, and the noise (see
:mod:`likewise.baselines.perturbed`). The single auditor is here the panel, whose rule makes it act
on each pair like one of its members; it is asked at alpha.
"""

from __future__ import annotations

from likewise.baselines.perturbed import perturbed
from likewise.game.baselines import Rates, baseline

__all__ = ["bechavod_jung_wu"]

RATES = Rates("T^7/9", "T^7/9", "T^7/9", "Bechavod, Jung, Wu 2020")

bechavod_jung_wu = baseline(
    "bechavod-jung-wu", "2020: reports as T^(2/9) copies; T oracle calls a round", full=RATES
)(perturbed("bechavod-jung-wu", copies=(2, 9), elicited=(1, 1)))
