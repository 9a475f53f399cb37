"""The machine that a benchmark ran on, in words."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

import numpy as np

from likewise import __version__

__all__ = ["machine"]


def _processor() -> str:
    """The processor's name, as Linux gives it, or whatever Python knows."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def machine() -> dict[str, str | int | None]:
    """Processor, cores, and the versions of what does the work.

    >>> sorted(machine())[:3]
    ['cores', 'gpu', 'likewise']
    """
    from likewise.experiments.benchmark.gpu import gpu_name

    return {
        "processor": _processor(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": _version("numba"),
        "torch": _version("torch"),
        "triton": _version("triton"),
        "gpu": gpu_name(),
        "likewise": __version__,
    }
