"""The pages of a member as HTML."""

from __future__ import annotations

from likewise.service.web.console_models import Awaiting, History, Problem, Review, SignIn
from likewise.service.web.rendering import render

__all__ = [
    "render_awaiting",
    "render_history",
    "render_problem",
    "render_review",
    "render_sign_in",
]


def render_sign_in(model: SignIn) -> str:
    """The page on which a token is pasted."""
    return render("console/sign_in.html", page=model, frame=model.frame)


def render_awaiting(model: Awaiting) -> str:
    """The rounds that await a member."""
    return render("console/awaiting.html", page=model, frame=model.frame)


def render_review(model: Review) -> str:
    """One round: its people, and one pair in focus."""
    return render("console/review.html", page=model, frame=model.frame)


def render_history(model: History) -> str:
    """What became of a member's objections."""
    return render("console/history.html", page=model, frame=model.frame)


def render_problem(model: Problem) -> str:
    """What went wrong, and what to do."""
    return render("console/problem.html", page=model, frame=model.frame)
