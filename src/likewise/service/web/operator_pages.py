"""The operator's dashboard: how a docket stands, as models, templates and functions."""

from likewise.service.web.dashboard_models import (
    Dashboard,
    Export,
    Head,
    MemberRow,
    OpenRound,
    Series,
    Standing,
)
from likewise.service.web.dashboard_pages import live, render_dashboard

__all__ = [
    "Dashboard",
    "Export",
    "Head",
    "MemberRow",
    "OpenRound",
    "Series",
    "Standing",
    "live",
    "render_dashboard",
]
