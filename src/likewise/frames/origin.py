"""The frame that people came from, and frames made of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from likewise.errors import ParameterError, PeopleError
from likewise.extras import missing
from likewise.validation import as_list, choice

BACKENDS = ("pandas", "polars", "pyarrow")
"""Libraries of frames, in the order in which they are looked for."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The library of the frame that people were read from; for pandas its index too."""

    backend: str
    index: Any = None

    def check_series(self, series: Any, title: str) -> None:
        """Refuse a pandas Series whose index is not the frame's: it may be in another order."""
        index = getattr(series, "index", None)
        if self.index is None or index is None or callable(index):
            return
        if not self.index.equals(index):
            raise PeopleError(
                f"{title} is a Series with another index than the people's frame, so it may be in "
                f"another order. Give it in the frame's order: series.loc[frame.index], or "
                f"series.to_numpy() if its order is right."
            )


def make_frame(columns: Mapping[str, Sequence[Any] | Any], backend: str | None = None) -> Any:
    """A frame of some columns: of the library named, else of the first that is installed.

    >>> make_frame({"person": ["ann", "bo"], "score": [0.5, 0.25]}, "pandas").shape
    (2, 2)
    """
    if backend is None:
        installed = [name for name in BACKENDS if find_spec(name) is not None]
        if not installed:
            raise missing("A frame", "pandas", "audit")
        backend = installed[0]
    choice("backend", backend, BACKENDS, "It is a library of frames.")
    if not isinstance(columns, Mapping):
        raise ParameterError("columns", "must be lists by name", columns, "Write {'a': [1, 2]}.")
    from likewise.frames.library import nw

    listed = {name: as_list(values) for name, values in columns.items()}
    lengths = {-1 if values is None else len(values) for values in listed.values()}
    if len(lengths) > 1 or -1 in lengths or not all(isinstance(name, str) for name in listed):
        raise ParameterError(
            "columns", "must be lists of one length by name", columns, "Write {'a': [1, 2]}."
        )
    try:
        return nw.from_dict(listed, backend=backend).to_native()
    except ImportError as error:
        raise missing("A frame", backend, "audit", error) from error
