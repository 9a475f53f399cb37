"""The auditor's console: what a member of a panel sees, as models, templates and functions."""

from likewise.service.web.console_models import (
    Awaiting,
    Fact,
    Frame,
    History,
    PairView,
    PastFlag,
    PastRound,
    Person,
    Problem,
    Review,
    SignIn,
    Waiting,
)
from likewise.service.web.console_pages import (
    render_awaiting,
    render_history,
    render_problem,
    render_review,
    render_sign_in,
)

__all__ = [
    "Awaiting",
    "Fact",
    "Frame",
    "History",
    "PairView",
    "PastFlag",
    "PastRound",
    "Person",
    "Problem",
    "Review",
    "SignIn",
    "Waiting",
    "render_awaiting",
    "render_history",
    "render_problem",
    "render_review",
    "render_sign_in",
]
