"""One figure of the benchmark: our time, the reference's, their ratio, and what was asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["Asked", "Item", "Skipped", "race", "seconds_of"]

Kind = Literal["times faster", "times its time", "seconds", "a second"]


@dataclass(frozen=True)
class Asked:
    """A requirement: ``ratio`` counts how many times faster than the reference we are at least,
    or how many times its time we take at most; others bound the seconds, or what a second does.

    >>> Asked("times faster", 2.5).text, Asked("seconds", 30).text
    ('at least 2.5 times faster', 'at most 30 s')
    """

    kind: Kind
    value: float

    @property
    def text(self) -> str:
        """The requirement in words."""
        return {
            "times faster": f"at least {self.value:g} times faster",
            "times its time": f"at most {self.value:g} times its time",
            "seconds": f"at most {self.value:g} s",
            "a second": f"at least {self.value:g} a second",
        }[self.kind]

    def met(self, seconds: float, ratio: float | None) -> bool:
        """Test a measurement."""
        if self.kind == "seconds":
            return seconds <= self.value
        if self.kind == "a second":
            return 1.0 / seconds >= self.value
        if ratio is None:
            return False
        return ratio >= self.value if self.kind == "times faster" else ratio <= self.value


@dataclass(frozen=True)
class Item:
    """A measured figure. ``seconds`` are for one call, one round or one game, as ``what`` says.

    >>> item = Item("draws", "a call", "R = 8", 0.5, "numpy", 2.0, Asked("times faster", 2.5))
    >>> item.ratio, item.met
    (4.0, True)
    """

    name: str
    what: str
    shape: str
    seconds: float
    reference: str | None = None
    reference_seconds: float | None = None
    asked: Asked | None = None
    details: dict[str, float | int | str] = field(default_factory=dict)
    holds: bool = True

    @property
    def ratio(self) -> float | None:
        """The reference's time over ours; the inverse where a multiple of its time is asked."""
        if self.reference_seconds is None:
            return None
        ratio = self.reference_seconds / self.seconds
        return 1 / ratio if self.asked and self.asked.kind == "times its time" else ratio

    @property
    def met(self) -> bool | None:
        """True where what was asked is kept, None where nothing was."""
        if self.asked is None:
            return None
        return self.holds and self.asked.met(self.seconds, self.ratio)

    def to_json(self) -> dict[str, Any]:
        """The item as JSON."""
        plain = asdict(self)
        plain.pop("holds")
        plain["asked"] = None if self.asked is None else self.asked.text
        return {**plain, "ratio": self.ratio, "met": self.met}


@dataclass(frozen=True)
class Skipped:
    """A figure that this machine cannot give, and why."""

    name: str
    why: str


def seconds_of(function: Callable[[], object], repeats: int) -> float:
    """The least time of some calls, after one that is not counted."""
    function()
    return min(_timed(function) for _ in range(repeats))


def race(
    ours: Callable[[], object],
    reference: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """The least times of both, in turns, so that what else the machine does befalls them alike.

    ``time.thread_time`` as the clock leaves out what others do on this processor meanwhile.
    """
    ours()
    reference()
    pairs = [(_timed(ours, clock), _timed(reference, clock)) for _ in range(repeats)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def _timed(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    function()
    return clock() - began
