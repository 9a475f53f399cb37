"""The benchmark's rows on a GPU; without one, what is missing."""

from __future__ import annotations

__all__ = ["gpu_name"]


def gpu_name() -> str | None:
    """The name of the GPU that torch sees, if any."""
    return None
