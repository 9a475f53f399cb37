"""Cuts: approve whoever has at least a level in a column; members of a pool, lists by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.fixed_point import FloatArray
from likewise.hypotheses.listed.base import LARGEST_LIST
from likewise.schema import FeatureSchema, People
from likewise.validation import instance, integer, items, real, reals, text


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


def all_cuts(levels_of: Sequence[tuple[str, Sequence[float]]]) -> list[Cut]:
    """Every column with its cuts, between both constants."""
    if not levels_of:
        raise ParameterError("columns", "must not be empty", [], "List columns of scores.")
    column = levels_of[0][0]
    cuts = [Cut(name, level) for name, levels in levels_of for level in levels]
    return [Cut(column, -np.inf), *cuts, Cut(column, np.inf)]


def cuts_of_people(people: People, columns: Sequence[str], cuts: Any) -> list[Cut]:
    """Cuts at the same levels in every column, or into so many equal parts of the people."""
    if isinstance(cuts, bool) or not isinstance(cuts, int):
        levels = reals("cuts", cuts, "List them, [0.25, 0.5], or give a number of parts.")
        return all_cuts([(name, levels) for name in columns])
    parts = integer("cuts", cuts, 2, 1 << 20, "Give at least 2 parts.")
    return all_cuts([(name, quantiles(people.column(name), parts)) for name in columns])


def quantiles(values: FloatArray, parts: int) -> list[float]:
    """Values that divide all of them into equal parts, each once; the least divides nothing.

    >>> quantiles(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), 4)
    [0.25, 0.5, 0.75]
    """
    if not len(values):
        return []
    ranks = np.arange(1, parts) * len(values) // parts
    levels = np.unique(np.sort(values)[ranks])
    return [float(level) for level in levels[levels > values.min()]]


def check_members(schema: FeatureSchema, cuts: Any) -> list[Cut]:
    """Check the members of a pool: cuts of columns that are never missing."""
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
    """Refuse a pool without a constant member."""
    if not constant.any():
        raise HypothesisError(
            f"The pool must contain a constant classifier; none of its {len(constant)} members is "
            f"the same for everybody. Without one there may be no fair policy at all. Add "
            f"Cut(column, float('-inf')), which approves everybody."
        )


def cuts_by_column(owner: str, cuts: Any) -> dict[str, Any]:
    """Lists of cuts by column, from a mapping or from pairs, as JSON has them.

    >>> cuts_by_column("Stumps", [["income", [20, 40]]])
    {'income': [20, 40]}
    """
    if isinstance(cuts, Mapping):
        return dict(cuts)
    if isinstance(cuts, list) and all(_is_pair(pair) for pair in cuts):
        return dict(cuts)
    raise ParameterError(
        f"{owner}.cuts", "must be lists of cuts by column", cuts, "{'income': [20, 40]}."
    )


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)


def check_levels(owner: str, name: str, cuts: Sequence[float]) -> tuple[float, ...]:
    """Check the cuts of a column: at least one, increasing.

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


def pairs_of_cuts(columns: Sequence[str], cuts: Sequence[tuple[float, ...]]) -> list[list[Any]]:
    """Lists of cuts as JSON: pairs, in order.

    >>> pairs_of_cuts(["income"], [(20.0, 40.0)])
    [['income', [20.0, 40.0]]]
    """
    return [[name, list(levels)] for name, levels in zip(columns, cuts, strict=True)]
