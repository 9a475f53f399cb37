"""All rows of the benchmark in one run, as JSON."""

import platform
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from likewise import __version__
from likewise.errors import LikewiseError, MissingGpuError, MissingLibraryError, ParameterError
from likewise.learner.oracle import compile_at_once
from likewise.simulate.parallel import all_cores
from studies.benchmark import draws, rounds
from studies.benchmark.items import Item, Skipped

GPU_ROWS = ("gpu-draws", "gpu-draws-of-a-short-list")


def missing_gpu() -> LikewiseError | None:
    """The reason why the GPU engine cannot work here; None where it can."""
    try:
        import likewise.learner.gpu  # noqa: F401 # it looks for its libraries and a GPU
    except (MissingLibraryError, MissingGpuError) as error:
        return error
    return None


def gpu_name() -> str | None:
    """The name of the GPU that the GPU engine works on, if any."""
    if missing_gpu() is not None:
        return None
    import torch

    from likewise.learner.gpu import device

    if device().type == "cpu":
        return "none: kernels are interpreted on the CPU"
    return str(torch.cuda.get_device_name(device()))


def gpu_rows(quick: bool) -> list[Item | Skipped]:
    reason = missing_gpu()
    if reason is not None:
        return [Skipped(row, str(reason)) for row in GPU_ROWS]
    from studies.benchmark import gpu_measurements

    long = (40, 14, 3000) if quick else (20_000, 64, 1 << 20)
    short = (40, 9, 200) if quick else (20_000, 32, 4096)
    return [
        gpu_measurements.draws(GPU_ROWS[0], *long, times=6.0, most=0.017),
        gpu_measurements.draws(GPU_ROWS[1], *short, times=1.5),
    ]


Row = Callable[[bool], Item | list[Item] | list[Item | Skipped]]

# Every row by name; some give several items.
ROWS: Mapping[str, Row] = {
    "pool": draws.pool_draws,
    "staircases": draws.staircase_draws,
    "segments": draws.segment_draws,
    "boolean": draws.boolean_draws,
    "exact": rounds.exact_round,
    "rounds": rounds.rounds,
    "state": rounds.state_growth,
    "simulate": rounds.games,
    "start": rounds.start_up,
    "gpu": gpu_rows,
}


def _processor() -> str:
    """The processor's name, as Linux gives it, or whatever Python knows."""
    listing = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", listing.read_text()) if listing.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def machine() -> dict[str, str | int | None]:
    """Processor, cores, and the versions of what does the work."""
    return {
        "processor": _processor(),
        "cores": all_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": _version("numba"),
        "torch": _version("torch"),
        "triton": _version("triton"),
        "gpu": gpu_name(),
        "likewise": __version__,
    }


def run_benchmark(
    names: Iterable[str] = (), *, quick: bool = False, progress: Callable[[str], None] = print
) -> dict[str, Any]:
    """The machine, and an item for every figure; rows by name, or all of them.

    ``quick`` takes shapes that show nothing but that every row runs.
    """
    chosen = list(names) or list(ROWS)
    for name in chosen:
        if name not in ROWS:
            raise ParameterError(
                "row", f"must be one of {', '.join(ROWS)}", name, "Leave it out for all of them."
            )
    compile_at_once()
    items: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for name in chosen:
        progress(name)
        result = ROWS[name](quick)
        for item in result if isinstance(result, list) else [result]:
            if isinstance(item, Skipped):
                skipped.append(item._asdict())
            else:
                items.append(item.to_json())
    return {"machine": machine(), "quick": quick, "items": items, "skipped": skipped}
