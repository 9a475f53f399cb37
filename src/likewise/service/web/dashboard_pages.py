"""The operator's page as HTML, and its numbers as JSON."""

from __future__ import annotations

from typing import Any

from likewise.service.web.dashboard_models import Dashboard
from likewise.service.web.dashboard_tiles import CHARTS, sample, share, tiles
from likewise.service.web.rendering import render

__all__ = ["live", "render_dashboard"]


def render_dashboard(model: Dashboard) -> str:
    """How a docket stands."""
    return render(
        "dashboard/dashboard.html",
        page=model,
        frame=model.frame,
        tiles=tiles(model.standing),
        charts=CHARTS,
        rows=sample(model.series),
        share=share,
    )


def live(model: Dashboard) -> dict[str, Any]:
    """What the page asks for again and again, ready for JSON."""
    series = model.series
    return {
        "now": model.frame.now,
        "tiles": {
            tile.key: {"value": tile.value, "note": tile.note, "attention": tile.attention}
            for tile in tiles(model.standing)
        },
        "head": {"seq": model.head.seq, "receipt": model.head.receipt, "at": model.head.at},
        "series": {
            "rounds": list(series.rounds),
            **{chart.key: list(getattr(series, chart.key)) for chart in CHARTS},
        },
    }
