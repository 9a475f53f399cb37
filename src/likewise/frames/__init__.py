"""Data frames in and out: pandas, polars and Arrow, by column name, through narwhals.

:meth:`likewise.FeatureSchema.people` reads a frame, :meth:`likewise.FeatureSchema.from_frame`
proposes a schema for one, and results go back as the kind of frame that came in.
"""

from likewise.frames.origin import BACKENDS, Origin, make_frame

__all__ = ["BACKENDS", "Origin", "make_frame"]
