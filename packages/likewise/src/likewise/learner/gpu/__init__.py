"""The GPU engine: the reference engine's draws on an NVIDIA GPU, by PyTorch and Triton.

The device draws from lists of hypotheses. The compiled engine draws from other classes, as fast as
their noise, and computes the weights of a round whose costs and people are on the host: copying
them would take longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.hypotheses.base import Bits, ExactWeights, GibbsPolicy, HypothesisClass, Points
from likewise.hypotheses.lists import Listed
from likewise.learner.gpu.libraries import device, torch
from likewise.learner.gpu.lists import MOST_SEPARATORS, list_on_device
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.randomness import Noise

if TYPE_CHECKING:
    from likewise.learner.oracle import Engine


# Without a GPU the import fails.
device()


def _host() -> Engine:
    from likewise.learner.oracle import load_engine

    return load_engine("compiled")


def approvals(
    hypotheses: HypothesisClass, costs: IntArray, noise: Noise, points: Points, draws: range
) -> Bits:
    if not isinstance(hypotheses, Listed) or hypotheses.separators > MOST_SEPARATORS:
        return _host().approvals(hypotheses, costs, noise, points, draws)
    on_device = torch.as_tensor(np.array(costs), device=device())
    chosen = list_on_device(hypotheses).choices(on_device, noise, draws.start, len(draws))
    predictions = torch.as_tensor(np.array(points, dtype=np.uint8), device=device())
    approved: Bits = predictions[:, chosen].T.contiguous().cpu().numpy()
    return approved


def weigh(
    hypotheses: ExactWeights, costs: IntArray, temperature: float | FloatArray
) -> GibbsPolicy:
    return _host().weigh(hypotheses, costs, temperature)


def charge(
    hypotheses: HypothesisClass, costs: IntArray, points: Points, amounts: IntArray
) -> IntArray:
    return _host().charge(hypotheses, costs, points, amounts)
