"""The GPU engine: the reference engine's draws on an NVIDIA GPU, by PyTorch and Triton.

Lists of hypotheses are drawn from on the device; other classes by the compiled engine, which is as
fast as their noise.
"""

from __future__ import annotations

import numpy as np

from likewise.fixed_point import IntArray
from likewise.hypotheses import Bits, HypothesisClass, Listed, Points
from likewise.oracles.engines.gpu.libraries import device, torch
from likewise.oracles.engines.gpu.lists import MOST_SEPARATORS, list_on_device
from likewise.randomness import Noise

__all__ = ["approvals"]

# Without a GPU this is no engine: whoever loads it hears so now.
device()


def approvals(
    hypotheses: HypothesisClass,
    costs: IntArray,
    noise: Noise,
    points: Points,
    first_draw: int,
    draws: int,
) -> Bits:
    """Predictions of some draws of h on each point, shape (draws, points)."""
    if not isinstance(hypotheses, Listed) or hypotheses.separators > MOST_SEPARATORS:
        from likewise.oracles.oracle import load_engine

        other = load_engine("compiled")
        return other.approvals(hypotheses, costs, noise, points, first_draw, draws)
    on_device = torch.as_tensor(np.array(costs), device=device())
    chosen = list_on_device(hypotheses).choices(on_device, noise, first_draw, draws)
    predictions = torch.as_tensor(np.array(points, dtype=np.uint8), device=device())
    found: Bits = predictions[:, chosen].T.contiguous().cpu().numpy()
    return found
