"""The dashboard's numbers in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from likewise.service.web.dashboard_models import Series, Standing
from likewise.service.web.formatting import count, span

__all__ = ["CHARTS", "Chart", "Tile", "sample", "share", "tiles"]


@dataclass(frozen=True)
class Tile:
    """One number with its name and a remark; ``attention`` marks what somebody should look at."""

    key: str
    label: str
    value: str
    note: str = ""
    attention: bool = False


@dataclass(frozen=True)
class Chart:
    """One chart: the column of :class:`Series` it draws, its title and how numbers are written."""

    key: str
    title: str
    note: str
    digits: int


CHARTS: Final = (
    Chart("reports", "Reports so far", "Rounds in which the panel reported a pair, added up.", 0),
    Chart("error", "Error on known labels", "Share of wrong decisions among labels known then.", 3),
    Chart("lam", "Lam", "The multiplier: what a report weighs in the learner’s costs.", 3),
    Chart("gap", "Largest gap", "The largest difference between two scores of a round.", 3),
)


def share(value: float | None) -> str:
    """A share with three digits, or a dash.

    >>> share(0.34567), share(None)
    ('0.346', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def tiles(standing: Standing) -> tuple[Tile, ...]:
    """The tiles in the order of the page."""
    s = standing
    a_round = f"{s.reports / s.rounds:.3f} a round" if s.rounds else "no round yet"
    age = "none is open" if s.oldest_open is None else f"oldest open for {span(s.oldest_open)}"
    return (
        Tile("rounds", "Rounds", f"{s.rounds:,}", "decided"),
        Tile("reports", "Reports", f"{s.reports:,}", a_round),
        Tile("error", "Error", share(s.error), f"on {count(s.labels, 'known label')}"),
        Tile("lam", "Lam", share(s.lam), "what a report weighs now"),
        Tile("open_rounds", "Open rounds", f"{s.open_rounds:,}", age),
        Tile(
            "missing_labels",
            "Missing labels",
            f"{s.missing_labels:,}",
            "of closed rounds; they never came" if s.missing_labels else "all came",
        ),
        Tile("overrides", "Overrides", f"{s.overrides:,}", "decisions changed by people"),
        Tile("agreement", "Agreement", share(s.agreement), "Krippendorff’s alpha; 1 is full"),
        Tile(
            "consistency",
            "Consistency",
            share(s.consistency),
            f"over {count(s.repeats, 'repeated round')}"
            if s.repeats
            else "nothing shown twice yet",
        ),
    )


def sample(series: Series, rows: int = 12) -> tuple[int, ...]:
    """Places of at most so many rounds, evenly spread, the first and the last among them.

    >>> sample(Series(rounds=tuple(range(100))), rows=3)
    (0, 50, 99)
    """
    return _spread(series.rounds, rows)


def _spread(column: Sequence[int], rows: int) -> tuple[int, ...]:
    last = len(column) - 1
    if last < rows:
        return tuple(range(last + 1))
    # Halves up, as in the script that redraws the table.
    return tuple(int(i * last / (rows - 1) + 0.5) for i in range(rows))
