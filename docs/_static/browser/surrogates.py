"""Surrogates of matplotlib and scipy, for a page in which neither can be had.

Figures become SVG; the linear program is solved by HiGHS, which scipy calls too. Whatever else an
edited example asks of the two raises an AttributeError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator, nullcontext
from html import escape
from itertools import chain
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
DASHES = {"--": "6 4", ":": "2 4", "-": "", "": None}
FIGURES: list[Figure] = []


class Axes:
    """Lines, bands and their names, drawn when the example has run."""

    def __init__(self) -> None:
        self.lines: list[SimpleNamespace] = []
        self.settings: dict[str, Any] = {}
        self.bands: list[tuple[Any, Any, Any, str]] = []
        self.verticals: list[float] = []
        self.named = False

    def plot(self, x: Any, y: Any, form: str = "-", **style: Any) -> None:
        """Take a line, or points, or both."""
        marker, dash = (form[0], form[1:]) if form[:1] in ("o", "x") else ("", form)
        colour = style.get("color") or COLOURS[len(self.lines) % len(COLOURS)]
        self.lines.append(SimpleNamespace(
            x=np.atleast_1d(x).astype(float), y=np.atleast_1d(y).astype(float), marker=marker,
            dash=DASHES[dash], colour=colour, label=style.get("label"), width=style.get("lw", 2),
            alpha=style.get("alpha", 1),
        ))  # fmt: skip

    def fill_between(self, x: Any, low: Any, high: Any, *, color: str, **_: Any) -> None:
        """Take a band between two lines."""
        self.bands.append((np.asarray(x), np.asarray(low), np.asarray(high), color))

    def axvline(self, x: float, **_: Any) -> None:
        """Take an upright line."""
        self.verticals.append(x)

    def set(self, **settings: Any) -> None:
        """Take names and limits of the axes."""
        self.settings |= settings

    def legend(self, **_: Any) -> None:
        """Name the lines."""
        self.named = True

    def svg(self, width: float, height: float) -> str:
        """The figure: axes, lines, and their names above them."""
        names = _placed([line for line in self.lines if line.label and self.named], 96, width)
        left, top = 96.0, 18.0 + max([y for _, _, y in names], default=0)
        right, bottom = width - 16, height - 44
        horizontal = self._range("x", [*(line.x for line in self.lines), self.verticals])
        vertical = self._range("y", [line.y for line in self.lines])

        def across(x: Any) -> Any:
            return left + (np.asarray(x) - horizontal[0]) / np.ptp(horizontal) * (right - left)

        def up(y: Any) -> Any:
            return bottom - (np.asarray(y) - vertical[0]) / np.ptp(vertical) * (bottom - top)

        parts = [f'<path d="M{left} {top}V{bottom}H{right}" class="axis"/>']
        for x in _ticks(*horizontal):
            parts.append(_text(across(x), bottom + 17, f"{x:g}", "middle"))
        for y, name in self._heights(vertical):
            parts.append(_text(left - 8, up(y) + 4, name, "end"))
            parts.append(f'<path d="M{left} {up(y)}H{right}" class="grid"/>')
        for x in self.verticals:
            parts.append(f'<path d="M{across(x)} {top}V{bottom}" class="mark"/>')
        for xs, low, high, colour in self.bands:
            points = zip(np.r_[xs, xs[::-1]], np.r_[low, high[::-1]], strict=True)
            outline = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
            parts.append(f'<polygon points="{outline}" fill="{colour}" opacity="0.2"/>')
        parts += [_line(line, across, up) for line in self.lines]
        parts += [_text(x, y, f"■ {line.label}", "start", line.colour) for line, x, y in names]
        across_name, up_name = (str(self.settings.get(f"{axis}label", "")) for axis in "xy")
        parts.append(_text((left + right) / 2, height - 8, across_name, "middle"))
        parts.append(_text(2, top - 6, up_name, "start"))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(f"{up_name} by {across_name}")}">{"".join(parts)}</svg>'
        )

    def _heights(self, limits: tuple[float, float]) -> list[tuple[float, str]]:
        """The heights that are named at the left: those that were set, or round numbers."""
        if names := self.settings.get("yticklabels"):
            return list(zip(self.settings["yticks"], names, strict=True))
        return [(y, f"{y:g}") for y in _ticks(*limits)]

    def _range(self, axis: str, values: Sequence[Any]) -> tuple[float, float]:
        """The limits of an axis: those that were set, and else of the values, with a margin."""
        numbers = np.fromiter(chain.from_iterable(values), dtype=float)
        low, high = self.settings.get(f"{axis}lim", (None, None))
        margin = 0.05 * (np.ptp(numbers) or 1.0)
        return (
            float(numbers.min() - margin) if low is None else float(low),
            float(numbers.max() + margin) if high is None else float(high),
        )


class Figure:
    """One figure with one pair of axes."""

    def __init__(self, figsize: tuple[float, float] = (6, 3.4), **_: Any) -> None:
        self.size, self.axes = figsize, Axes()
        FIGURES.append(self)

    def tight_layout(self) -> None:
        """Do nothing: an SVG fits the page."""

    def svg(self) -> str:
        """The figure as a picture for a page."""
        return self.axes.svg(100 * self.size[0], 100 * self.size[1])


def _placed(lines: list[Any], left: float, width: float) -> list[tuple[Any, float, float]]:
    """Where the names of lines are written: beside each other as long as there is room."""
    placed, x, y = [], left, 16.0
    for line in lines:
        wide = 7.2 * len(line.label) + 26
        if x > left and x + wide > width:
            x, y = left, y + 18
        placed.append((line, x, y))
        x += wide
    return placed


def _ticks(low: float, high: float) -> list[float]:
    step = 10 ** np.floor(np.log10(high - low))
    while (high - low) / step > 6:
        step *= 2
    while (high - low) / step < 3:
        step /= 2
    return [
        round(float(x), 9) + 0.0 for x in np.arange(np.ceil(low / step), high / step + 1e-9) * step
    ]


def _text(x: float, y: float, text: str, anchor: str, colour: str = "currentColor") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(str(text))}</text>"


def _line(line: Any, across: Callable[[Any], Any], up: Callable[[Any], Any]) -> str:
    points = list(zip(across(line.x), up(line.y), strict=True))
    parts = []
    if line.dash is not None:
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{outline}" fill="none" stroke="{line.colour}" '
            f'stroke-width="{line.width}" stroke-dasharray="{line.dash}" opacity="{line.alpha}"/>'
        )
    signs = {"o": "●", "x": "×"}
    if line.marker:
        parts += [_text(x, y + 4.5, signs[line.marker], "middle", line.colour) for x, y in points]
    return "".join(parts)


def subplots(**style: Any) -> tuple[Figure, Axes]:
    """A figure with one pair of axes."""
    figure = Figure(**style)
    return figure, figure.axes


def drawn() -> list[str]:
    """The figures since the last call, as SVG."""
    pictures = [figure.svg() for figure in FIGURES if figure.axes.lines]
    FIGURES.clear()
    return pictures


def linprog(solver: Any, costs: Any, **program: Any) -> SimpleNamespace:
    """Minimise costs·v with A_ub·v ≤ b_ub and A_eq·v = b_eq within bounds, as scipy does."""
    above = program["A_ub"] if program["A_ub"] is not None else np.empty((0, len(costs)))
    equal = program["A_eq"] if program["A_eq"] is not None else np.empty((0, len(costs)))
    limits = np.r_[program["b_ub"] if len(above) else [], program["b_eq"] if len(equal) else []]
    rows = [
        f" r{place}: {_sum(row)} {'<=' if place < len(above) else '='} {limit!r}"
        for place, (row, limit) in enumerate(zip([*above, *equal], limits.tolist(), strict=True))
    ]
    low, high = program["bounds"]
    bounds = [
        f" {low} <= v{place} <= {'inf' if high is None else high}" for place in range(len(costs))
    ]
    text = ["Minimize", f" cost: {_sum(costs)}", "Subject To", *rows, "Bounds", *bounds, "End"]
    result = solver("\n".join(text))
    if result["Status"] != "Optimal":
        return SimpleNamespace(success=False, message=f"{result['Status']}.")
    columns = result["Columns"]
    duals = np.array([row["Dual"] for row in result["Rows"]], dtype=float)
    return SimpleNamespace(
        success=True, fun=result["ObjectiveValue"],
        x=np.array([columns[f"v{place}"]["Primal"] for place in range(len(costs))]),
        ineqlin=SimpleNamespace(marginals=duals[: len(above)]),
        eqlin=SimpleNamespace(marginals=duals[len(above) :]),
    )  # fmt: skip


def _sum(row: Any) -> str:
    """A sum of an LP file; a long one on lines of its own, and one without terms is 0."""
    terms = [f"{row[place]:+.17g} v{place}" for place in np.flatnonzero(row).tolist()]
    return "\n".join(terms) or "0 v0"


def csr_array(values: Any, shape: tuple[int, int] | None = None) -> Any:
    """A matrix; on a page it is small, and dense."""
    if shape is not None:
        entries, (row, column) = values
        dense = np.zeros(shape)
        np.add.at(dense, (row, column), entries)
        return dense
    return np.zeros(values) if isinstance(values, tuple) else np.asarray(values)


def _module(name: str, **contents: Any) -> ModuleType:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


class _Style(ContextDecorator, nullcontext):
    """A style that changes nothing."""


def install(solver: Callable[[str], Any]) -> None:
    """Put the surrogates where examples import from; ``solver`` takes a program as an LP file."""
    _module("matplotlib", __path__=[])
    _module("matplotlib.pyplot", subplots=subplots)
    _module("matplotlib.axes", Axes=Axes)
    _module("matplotlib.figure", Figure=Figure)
    _module("matplotlib.patches", Patch=SimpleNamespace)
    _module("matplotlib.style", context=lambda _: _Style())
    _module("matplotlib.ticker", MaxNLocator=SimpleNamespace, StrMethodFormatter=str)
    _module("matplotlib.colors", to_hex=str, to_rgb=str)
    _module("scipy", __path__=[])
    _module("scipy.sparse", csr_array=csr_array, vstack=lambda parts, **_: np.vstack(parts))
    _module("scipy.optimize", linprog=lambda costs, **program: linprog(solver, costs, **program))
