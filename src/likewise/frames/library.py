"""The one place where narwhals is imported: it speaks to every library of frames alike."""

from __future__ import annotations

from likewise.extras import missing

try:
    import narwhals as nw
except ImportError as error:
    raise missing("A data frame", "narwhals", "frames", error) from error

__all__ = ["nw"]
