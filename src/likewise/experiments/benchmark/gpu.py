"""The benchmark's rows on a GPU; without one, what is missing."""

from __future__ import annotations

from likewise.experiments.benchmark.items import Item, Skipped

__all__ = ["gpu_name", "rows"]


def gpu_name() -> str | None:
    """The name of the GPU that torch sees, if any."""
    return None


def rows(quick: bool) -> list[Item | Skipped]:
    """Draws, exponential weights and whole simulations on the device."""
    del quick
    return [Skipped("gpu", "no GPU engine yet")]
