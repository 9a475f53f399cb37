"""Cuts: approve whoever has at least so much in a column; and lists of them, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses.listed.base import LARGEST_LIST
from likewise.hypotheses.listed.models import quantile_cuts
from likewise.schema import FeatureSchema, People
from likewise.validation import instance, integer, items, real, reals, text

__all__ = [
    "Cut",
    "check_constant",
    "check_levels",
    "check_members",
    "cuts_by_column",
    "listed_cuts",
    "read_cuts",
    "written_cuts",
]


@dataclass(frozen=True)
class Cut:
    """Approve whoever has at least ``at`` in a column. At −inf everybody, at +inf nobody."""

    column: str
    at: float

    def __post_init__(self) -> None:
        text("Cut.column", self.column, "Name a column.")
        object.__setattr__(self, "at", real("Cut.at", self.at, "Use ±inf for constants."))
        if np.isnan(self.at):
            raise ParameterError("Cut.at", "must be a number", self.at, "Use ±inf for constants.")

    def __str__(self) -> str:
        if np.isinf(self.at):
            return "approve everybody" if self.at < 0 else "approve nobody"
        return f"approve if {self.column} ≥ {self.at:.6g}"


def listed_cuts(people: People, columns: list[str], cuts: Any) -> list[Cut]:
    """Every column with its cuts, and both constants."""
    if not columns:
        raise ParameterError("columns", "must not be empty", columns, "List columns of scores.")
    listed = [Cut(columns[0], -np.inf)]
    for name in columns:
        values = people.column(name)
        parts = isinstance(cuts, int) and not isinstance(cuts, bool)
        levels = (
            quantile_cuts(values, integer("cuts", cuts, 2, 1 << 20, "Give at least 2 parts."))
            if parts
            else reals("cuts", cuts, "List them, [0.25, 0.5], or give a number of parts.")
        )
        # The lowest of equal parts begins where everybody is approved.
        listed += [Cut(name, at) for at in levels if not parts or at > values.min()]
    return [*listed, Cut(columns[0], np.inf)]


def check_members(schema: FeatureSchema, cuts: Any) -> list[Cut]:
    """The members of a pool: cuts of columns that are never missing, some and not too many."""
    listed = items("Pool.cuts", cuts, "List members: [Cut(column, at), …].")
    if not listed:
        raise HypothesisError("A pool must have a member; got none. Add a constant at least.")
    if len(listed) >= LARGEST_LIST:
        raise HypothesisError(
            f"A pool must have fewer than {LARGEST_LIST} members; got {len(listed)}."
        )
    for cut in listed:
        instance("Pool.cuts", cut, Cut, "List members: [Cut(column, at), …].")
    for name in dict.fromkeys(cut.column for cut in listed):
        if schema[name].missing is not None:
            raise HypothesisError(
                f"A pool cannot cut a column that may be missing; {name!r} may. Fill missing "
                f"scores before they come here."
            )
    return listed


def check_constant(constant: npt.NDArray[np.bool_]) -> None:
    """Refuse a pool of which no member is the same for everybody."""
    if not constant.any():
        raise HypothesisError(
            f"The pool must contain a constant classifier; none of its {len(constant)} members is "
            f"the same for everybody. Without one there may be no fair policy at all. Add "
            f"Cut(column, float('-inf')), which approves everybody."
        )


def cuts_by_column(owner: str, cuts: Any) -> tuple[str, ...]:
    """The columns of lists of cuts, which are a mapping from column to cuts."""
    if not isinstance(cuts, Mapping):
        raise ParameterError(
            f"{owner}.cuts", "must be lists of cuts by column", cuts, "{'income': [20, 40]}."
        )
    return tuple(cuts)


def check_levels(owner: str, name: str, cuts: Sequence[float]) -> tuple[float, ...]:
    """The cuts of a column, if there is at least one and they increase.

    >>> check_levels("Stumps", "income", [20, 40])
    (20.0, 40.0)
    """
    parameter = f"{owner}.cuts[{name!r}]"
    levels = reals(parameter, cuts, "List them.")
    if not levels or not np.all(np.isfinite(levels)) or not np.all(np.diff(levels) > 0):
        raise ParameterError(
            parameter, "must be at least one, increase and be finite", levels, "Sort them."
        )
    return levels


def written_cuts(columns: Sequence[str], cuts: Sequence[tuple[float, ...]]) -> list[list[Any]]:
    """Write lists of cuts as JSON: pairs, in order.

    >>> written_cuts(["income"], [(20.0, 40.0)])
    [['income', [20.0, 40.0]]]
    """
    return [[name, list(levels)] for name, levels in zip(columns, cuts, strict=True)]


def read_cuts(owner: str, written: Any) -> dict[str, Any]:
    """Read lists of cuts back: by column."""
    parameter = f"{owner}.cuts"
    listed = items(parameter, written, "List pairs of a column and its cuts.")
    pairs = [items(parameter, pair, "List pairs.") for pair in listed]
    if any(len(pair) != 2 for pair in pairs):
        raise ParameterError(parameter, "must be pairs of a column and cuts", listed, "")
    return {pair[0]: pair[1] for pair in pairs}
