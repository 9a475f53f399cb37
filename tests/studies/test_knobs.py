"""The picture over eta and kappa shows every point twice, and fills those that nobody beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from studies.sweep.figures import draw_points, of_knobs
from studies.sweep.runs import stored_rows
from studies.sweep.spec import read_sweep
from studies.sweep.tables import Point, by_scenario, on_the_frontier, points_of, stored_points


def marks(axes: Any) -> list[tuple[float, float, bool]]:
    """The marks of a panel that stand alone: error in per cent, the count, and filled or not."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]),
         line.get_markerfacecolor() != "white")
        for line in axes.lines
        if len(line.get_xdata()) == 1
    ]  # fmt: skip


def wanted(found: Sequence[Point], count: str) -> list[tuple[float, float, bool]]:
    best = on_the_frontier(found)
    return [(100 * p.at().error, getattr(p.at(), count), p in best) for p in found]


def test_both_views_show_every_point_and_fill_those_that_nobody_beats() -> None:
    # Nobody beats a point of the grid as it was measured, so one is made worse.
    worse = "exact, eta = 1/4, kappa = eps/2"
    rows = [
        replace(row, error_rate=0.6) if row.configuration == worse else row
        for row in stored_rows("tune")
    ]
    found = points_of(read_sweep("tune"), rows)
    panels = draw_points(found).axes
    together = list(by_scenario(found).values())
    assert len(panels) == 2 * len(together)
    hollow = 0
    for place, mine in enumerate(together):
        for axes, count in zip(panels[2 * place :], ("violations", "reports"), strict=False):
            assert sorted(marks(axes)) == pytest.approx(sorted(wanted(mine, count)))
        hollow += len(mine) - len(on_the_frontier(mine))
    assert hollow > 0  # or nothing that is not filled was looked for


def test_it_is_drawn_where_eta_and_kappa_are_all_that_differs() -> None:
    assert of_knobs(stored_points("tune"))
    assert not of_knobs(stored_points("predecessors"))
    assert not of_knobs(stored_points("new-default"))
    assert not of_knobs([p for p in stored_points("tune") if p.setting("kappa_share") == 0.5])
