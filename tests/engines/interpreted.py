"""Triton's kernels on this CPU: set before anything imports them, in a process of its own.

Slow, and exact: the interpreter does with numpy what a GPU does, so that what the kernels compute
can be tested without one.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from likewise.learner.oracle import Oracle, load_engine
from likewise.numerics.randomness import Noise, Purpose, Stream
from studies.benchmark.items import Item, grid, random_table
from tests.engines.listed import Table, different_rows, reference

os.environ["TRITON_INTERPRET"] = "1"

from triton.runtime import interpreter

_patch = interpreter._patch_lang_tensor


def _patch_tensor(tensor: Any, scope: Any) -> None:
    """Scalars are arrays of one number there, which numpy 2.4 no longer turns into an integer."""
    _patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patch_tensor


def results() -> str:
    """All that the tests look at, as JSON."""
    from studies.benchmark.run import gpu_name, gpu_rows

    rows = {item.name: item.to_json() for item in gpu_rows(quick=True) if isinstance(item, Item)}
    return json.dumps({"name": gpu_name(), "draws": draws(), "engine": engine(), "benchmark": rows})


def draws() -> dict[str, Any]:
    """Choices for lists of several shapes, against the reference's."""
    import torch

    from likewise.learner.gpu import DeviceList

    rng = np.random.default_rng(1)
    wrong: list[str] = []
    cases = [
        # hypotheses, points, copies, largest cost, scale of the noise; ties where costs are alike
        (1, 1, 1, 5 << 20, 1.0), (2, 1, 3, 1, 1e-6), (70, 5, 1, 0, 2.0**-22), (300, 16, 8, 1, 1.0),
        (200, 40, 1, 1 << 61, 2.0**33), (257, 31, 3, 1 << 40, 1e-3), (64, 70, 1, 1 << 22, 8.0),
        (90, 9, 1, 3 << 20, 0.0),
    ]  # fmt: skip
    for case, (size, points, copies, reach, scale) in enumerate(cases):
        table = Table(different_rows(rng, size, points))
        costs = rng.integers(-reach, reach + 1, table.size)
        noise = Noise(Stream(int(rng.integers(1 << 62)), Purpose.ELICIT, case), scale, copies)
        listed = DeviceList(table.separating_points().T)
        choices = listed.choices(torch.as_tensor(costs), noise, case, 10).numpy()
        if not np.array_equal(choices, reference(table, costs, noise, case, 10)):
            wrong.append(str(cases[case]))
    return {"checked": len(cases), "wrong": wrong}


def engine() -> dict[str, Any]:
    """Draws through the oracle, by the engine's name, for a list and for staircases."""
    module = load_engine("gpu")
    noise = Noise(Stream(3, Purpose.DECIDE, 2), 1.0)
    table, stairs = random_table(100, 9), grid(4, 4)
    bits = np.random.default_rng(2).integers(0, 2, (3, 100), dtype=np.uint8)

    def same(classes: Any, points: Any) -> bool:
        costs = classes.no_costs()
        approved, expected = (
            Oracle(classes, name).approvals(costs, noise, points, draws=12, first_draw=7)
            for name in ("gpu", "reference")
        )
        return bool(np.array_equal(approved, expected))

    with ThreadPoolExecutor(2) as threads:
        agreements = list(threads.map(lambda _: same(table, bits), range(2)))
    return {
        "name": getattr(module, "__name__", ""), "list": same(table, bits),
        "staircases": same(stairs, np.arange(16)), "threads": all(agreements),
    }  # fmt: skip
