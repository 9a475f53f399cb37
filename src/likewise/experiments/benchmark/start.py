"""The start: the first draw of a new process, with compiled code at hand and without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from likewise.experiments.benchmark.items import Item

__all__ = ["start_up"]

_FIRST_DRAWS = """
from likewise.experiments.benchmark.classes import grid, random_table, segments
from likewise.oracles.oracle import Oracle, compile_at_once
from likewise.randomness import Noise, Purpose, Stream
import numpy as np

compile_at_once()
noise = Noise(Stream(1, Purpose.ELICIT, 1), 1.0)
for h in (random_table(64, 8), segments(2, 4), grid(4, 4)):
    points = np.zeros((1, h.size), dtype=np.uint8) if h.size == 64 else np.zeros(1, dtype=np.int64)
    Oracle(h).approvals(h.no_costs(), noise, points, draws=100)
"""


def _seconds(program: str, folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        check=True,
    )
    return time.perf_counter() - began


def start_up(quick: bool) -> Item:
    """A process that draws from a pool, segments and staircases, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        compiling = _seconds(_FIRST_DRAWS, folder)
        again = min(_seconds(_FIRST_DRAWS, folder) for _ in range(1 if quick else 3))
        imports = _seconds("import numba, likewise.hypotheses", folder)
    return Item(
        "start", "a process that draws from a pool, segments and staircases, and ends",
        "100 draws of each", again, "its first start, which compiles", compiling,
        details={"seconds_to_import_numba_and_likewise": imports},
    )  # fmt: skip
