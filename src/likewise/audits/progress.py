"""Progress bars, for a terminal and for a notebook alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from likewise.errors import ParameterError

__all__ = ["Progress", "shown_progress"]

Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    pass


@contextmanager
def shown_progress(asked: Any, what: str) -> Iterator[Progress]:
    """A function of (done, total): the caller's own, a bar, or one that does nothing."""
    if asked is False or asked is None:
        yield _silent
        return
    if callable(asked):
        yield asked
        return
    if asked is not True:
        raise ParameterError(
            "progress", "must be True, False or a function", asked, "Write progress=True."
        )
    from rich.progress import Progress as Bar

    with Bar(transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
