"""The benchmark's rows on a GPU; without one, what is missing."""

from __future__ import annotations

from likewise.errors import LikewiseError, MissingGpuError, MissingLibraryError
from studies.benchmark.items import Item, Skipped

ROWS = ("gpu-draws", "gpu-draws-of-a-short-list", "gpu-exponential-weights", "gpu-game")


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


def rows(quick: bool) -> list[Item | Skipped]:
    reason = missing_gpu()
    if reason is not None:
        return [Skipped(row, str(reason)) for row in ROWS]
    from studies.benchmark import gpu_measurements

    long, short = ((40, 14, 3000), (40, 9, 200)) if quick else (
        (20_000, 64, 1 << 20), (20_000, 32, 4096)
    )  # fmt: skip
    return [
        gpu_measurements.draws(ROWS[0], *long, times=6.0, most=0.017),
        gpu_measurements.draws(ROWS[1], *short, times=1.5),
        gpu_measurements.weights(ROWS[2], *((3000, 3, 4) if quick else (1 << 20, 8, 20_000))),
        gpu_measurements.game(ROWS[3], (64, 6, 10), 3, 2, eps=0.9, delta=0.9, rule="tight")
        if quick
        else gpu_measurements.game(ROWS[3], (4096, 32, 224), 8, 100_000, eps=0.3, delta=0.05),
    ]
