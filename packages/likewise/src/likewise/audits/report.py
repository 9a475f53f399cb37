"""An audit as one HTML page that needs nothing else, neither a network nor a script."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import __version__
from likewise.errors import AuditError, missing, shown
from likewise.simulate import canvas
from likewise.simulate.canvas import STYLE, Axes
from likewise.validation import choice

if TYPE_CHECKING:
    from likewise.audits.result import Audit


@STYLE
def draw(audit: Audit, ax: Any, kind: str) -> Axes:
    """Draw a figure on axes, or on new ones."""
    choice("kind", kind, tuple(FIGURES), "It is one of the report's figures.")
    if kind not in available(audit):
        raise AuditError(
            f"This audit has no figure {kind!r}; it has {', '.join(available(audit)) or 'none'}. "
            f"The curve needs distances, and the price needs labels."
        )
    axes: Axes = canvas.canvas(300).add_subplot() if ax is None else ax
    FIGURES[kind][0](audit, axes)
    return axes


def available(audit: Audit) -> tuple[str, ...]:
    """The figures that an audit has."""
    conditions = {
        "alpha": bool(audit.curve),
        "rules": bool(audit.rules),
        "members": bool(audit.members),
        "price": audit.price is not None,
    }
    return tuple(kind for kind, has in conditions.items() if has)


@STYLE
def figure(audit: Audit, kind: str) -> str:
    """A figure as SVG for a page."""
    draw_on, title, meaning = FIGURES[kind]
    fig = canvas.canvas(290)
    left = 70 if kind == "alpha" else 150
    axes = canvas.axes_on(fig, 44, 196, "", left=left, right=24)
    draw_on(audit, axes)
    return canvas.finish(fig, f"audit-{kind}", f"{title}. {meaning}")


def _alpha(audit: Audit, axes: Axes) -> None:
    """Pairs and people by alpha, as shares."""
    alphas = [point.alpha for point in audit.curve]
    for kind, colour, total, name in (
        ("pairs", canvas.BLUE, audit.pairs, "pairs reported"),
        ("people", canvas.VERMILION, len(audit.people), "people touched"),
    ):
        counts = [getattr(point, kind) for point in audit.curve]
        axes.plot(alphas, [100 * c.value / total for c in counts], color=colour, label=name)
        low, high = ([100 * getattr(c, side) / total for c in counts] for side in ("low", "high"))
        if low != high:
            axes.fill_between(alphas, low, high, color=colour, alpha=0.2, linewidth=0)
    if audit.alpha is not None:
        axes.axvline(audit.alpha, color=canvas.SOFT, linestyle="--", linewidth=1)
    axes.set(xlabel="alpha", ylabel="%", ylim=(0, None), xlim=(min(alphas), max(alphas)))
    axes.legend(frameon=False, loc="upper right")


def _bars(axes: Axes, names: list[str], values: list[float], colour: str, unit: str) -> None:
    places = np.arange(len(names))[::-1]
    axes.barh(places, values, color=colour, height=0.6)
    axes.set_yticks(
        places.tolist(), [name if len(name) < 25 else name[:23] + "…" for name in names]
    )
    axes.set_xlabel(unit)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(5))
    axes.grid(visible=False)


def _rules(audit: Audit, axes: Axes) -> None:
    """Pairs reported under each rule."""
    rule = audit.panel.rpartition(": ")[2]
    names = [rule, *(counts.rule for counts in audit.rules)]
    pairs = [audit.reported.value, *(counts.pairs.value for counts in audit.rules)]
    _bars(axes, names, [100 * c / audit.pairs for c in pairs], canvas.BLUE, "% of pairs reported")


def _members(audit: Audit, axes: Axes) -> None:
    """How many pairs each member objects to."""
    shares = [100 * audit.objections[name] / max(1, audit.looked_at) for name in audit.members]
    _bars(axes, list(audit.members), shares, canvas.VERMILION, "% of pairs objected to")


def _price(audit: Audit, axes: Axes) -> None:
    """Errors of the model and of the policies that would take its place."""
    price = audit.price
    if price is None:  # available() has seen to it
        return
    bars = [("model", price.model)]
    if price.model_cut is not None:
        bars = [("model, as chances", price.model), ("model, cut at 0.5", price.model_cut)]
    bars += [("best", price.best), ("best that passes", price.best_fair)]
    if price.learner_late is not None:
        bars.append(("learner, late", price.learner_late))
    errors = [100 * error for _, error in bars]
    _bars(axes, [name for name, _ in bars], errors, canvas.INK, "% of decisions wrong")


FIGURES: dict[str, tuple[Callable[[Any, Axes], None], str, str]] = {
    "alpha": (
        _alpha,
        "How it changes with alpha",
        "The share of pairs that would be reported, and of people in one of them, at each alpha. "
        "The dashed line is the alpha of this audit.",
    ),
    "rules": (
        _rules,
        "Under other rules",
        "The same objections joined by other rules, at the same alpha.",
    ),
    "members": (
        _members,
        "Who objects",
        "The share of pairs that each member of the panel objects to.",
    ),
    "price": (
        _price,
        "The price",
        "The error of the model, and of what could take its place on the same people.",
    ),
}


try:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise missing("An audit's page", "jinja2", "audit", error) from error


_TEMPLATES = Environment(
    loader=ChoiceLoader(
        [
            PackageLoader("likewise.audits", "templates"),
            PackageLoader("likewise.simulate", "templates"),  # the look
        ]
    ),
    autoescape=True,
    undefined=StrictUndefined,
)


def audit_page(audit: Audit) -> str:
    """The page; it names no address outside itself."""
    pictures = [(*FIGURES[kind][1:], figure(audit, kind)) for kind in available(audit)]
    return render("audit.html", audit=audit, figures=pictures)


def render(template: str, **values: Any) -> str:
    """A page of a template of ours."""
    return _TEMPLATES.get_template(template).render(version=__version__, **values)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file."""
    try:
        Path(path).write_text(page, encoding="utf-8", newline="\n")
    except (OSError, TypeError, ValueError) as error:
        raise AuditError(f"The page was not written to {shown(path)}: {error}") from error
