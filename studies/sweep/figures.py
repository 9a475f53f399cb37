"""The points of a sweep as a figure: error and violations by place, reports by size.

One panel for every scenario, a line for every learner over its settings, and the fixed policies in
hindsight as a dashed line: the frontier that somebody who knew the whole stream could have had. The
suffix of the file says what it becomes: SVG for pages, PDF for papers, PNG for slides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path

from matplotlib.lines import Line2D

from likewise.errors import ParameterError
from likewise.simulate import canvas
from likewise.simulate.canvas import INK, SOFT, Axes, Figure, Line
from likewise.simulate.game import fraction
from studies.sweep import knobs
from studies.sweep.points import Point, by_scenario, fixed_of, fixed_words, kappas_of

FORMATS = (".svg", ".pdf", ".png")
# Shapes tell the learners apart without colour; others than these get the next of OTHERS.
MARKERS = {"exact": "s", "self-tuned": "o", "nested": "h", "paper": "^", "untaught": "D"}
OTHERS = ("P", "X", "v", "*", "<", ">", "p", "d")
ROW, FOOT, HIGH = 248 + canvas.ROOM, 44, 180
SMALLEST, LARGEST = 4.0, 15.0  # how wide a mark is, in points

SHOWN = 1.5  # how much larger a page with room shows a picture of its own


def as_file(svg: str, fig: Figure) -> str:
    """A picture that :func:`finish` made, as a file of its own, in the reader's plain font."""
    wide, high = (round(SHOWN * 72 * inches) for inches in fig.get_size_inches())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
    return svg.replace("<svg", f'{head} font-family="sans-serif"', 1) + "\n"


def check_figure(path: Path) -> None:
    """Refuse a file of another kind, before anything is played.

    >>> check_figure(Path("a.svg"))
    """
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(
            "figure", f"must end in {', '.join(FORMATS)}", path.name, "Choose one of them."
        )


def write_figure(path: Path, points: Sequence[Point]) -> None:
    """Draw the points into a file; the same points give the same bytes of SVG."""
    check_figure(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".svg":
        path.write_text(figure_svg(points), encoding="utf-8", newline="\n")
    else:
        _save(points, path)


@canvas.STYLE
def _save(points: Sequence[Point], path: Path) -> None:
    kind = path.suffix.lower()[1:]
    when = {"CreationDate": None} if kind == "pdf" else {}
    draw_points(points).savefig(path, format=kind, dpi=200, metadata=when)


@canvas.STYLE
def figure_svg(points: Sequence[Point]) -> str:
    """The figure as SVG, with all of its points in words for those who cannot see it."""
    fig = draw_points(points)
    words = " ".join(
        f"{scenario}{fixed_words(together)}; {'; '.join(map(_words, together))}."
        for scenario, together in by_scenario(points).items()
    )
    return as_file(canvas.finish(fig, "points", f"Rounds in violation against error. {words}"), fig)


def draw_points(points: Sequence[Point]) -> Figure:
    """A panel for each scenario at the longest horizon; two where only eta and kappa differ."""
    if knobs.of_knobs(points):
        return knobs.draw_knobs(points)
    together = by_scenario(points)
    markers = _markers(point.learner for point in points if point.plays)
    layout = knobs.Layout(69 + 22 * math.ceil(len(markers) / 4), ROW, FOOT, HIGH)
    fig = canvas.canvas(layout.head + ROW * -(-len(together) // knobs.COLUMNS))
    most = max(point.at().reports for point in points)
    for n, (scenario, panel) in enumerate(together.items()):
        axes = knobs.panel_axes(fig, *divmod(n, knobs.COLUMNS), layout)
        axes.set_title(scenario, loc="left", size=12, weight="bold", pad=6 + canvas.ROOM)
        _panel(axes, panel, markers, most)
    lines = [f"Wider marks: more reports, {most:,.0f} at most. Dashed: fixed, in hindsight"]
    if any(map(_comparators, together.values())):
        kappa = kappas_of(points).words[0]
        lines.append(f"Dotted: best fixed at alpha, alpha − kappa ({kappa}), alpha − eps")
    handles = [
        Line2D([], [], color=canvas.colour_of(name), marker=mark, ms=7, lw=1.2, label=name)
        for name, mark in markers.items()
    ]
    knobs.head_lines(fig, "Rounds in violation against error", lines, handles)
    return fig


def _markers(learners: Iterable[str]) -> dict[str, str]:
    """A shape for each learner that is there: its own, or one of those that nobody has."""
    names = list(dict.fromkeys(learners))
    marks = {name: mark for name, mark in MARKERS.items() if name in names}
    return marks | dict(zip((n for n in names if n not in MARKERS), cycle(OTHERS), strict=False))


def _panel(axes: Axes, points: Sequence[Point], markers: Mapping[str, str], most: float) -> None:
    """One scenario: a line for each learner, its marks as wide as its reports are many."""
    lines, labels = [], []
    for learner in dict.fromkeys(point.learner for point in points):
        of_learner = [point for point in points if point.learner == learner]
        line = [(100 * point.at().error, point.at().violations) for point in of_learner]
        lines.append(line)
        if not of_learner[0].plays:
            ordered = sorted(line)
            axes.plot(*zip(*ordered, strict=True), color=SOFT, lw=1.2, ls=canvas.DASHED, marker=".")
            continue
        colour = canvas.colour_of(learner)
        axes.plot(*zip(*line, strict=True), color=colour, lw=1.2, alpha=0.6, clip_on=False)
        for point, (x, y) in zip(of_learner, line, strict=True):
            axes.plot(
                [x], [y], color=colour, marker=markers[learner], mec="white", mew=0.7,
                ms=width_of(point.at().reports, most), clip_on=False,
            )  # fmt: skip
            labels += [(x, y, knob, colour)] if (knob := _knob(point)) else []
    fixed = _comparators(points)
    marks = [mark for line in lines for mark in line]
    rates = [rate for rate, _ in marks] + [rate for rate, _, _ in fixed]
    pad = max(1.0, 0.14 * (max(rates) - min(rates)))
    knobs.scale_axes(axes, rates, [count for _, count in marks], pad, 3.0)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(4, integer=True))
    canvas.compare_lines(axes, fixed)
    canvas.name_points(axes, labels, lines, font=10)


def _comparators(points: Sequence[Point]) -> list[Line]:
    """Lines at the best fixed policies; at alpha − kappa that of our smallest kappa."""
    fixed = fixed_of(points, kappas_of(points))
    if fixed is None:
        return []
    middle = [(rate, INK) for rate in list(fixed.at_alpha_less_kappa.values())[:1]]
    return canvas.three_lines(fixed.at_alpha, middle, fixed.at_alpha_less_eps)


def width_of(reports: float, most: float) -> float:
    """How wide a mark is: its area grows with the reports.

    >>> width_of(0, 100), width_of(100, 100)
    (4.0, 15.0)
    """
    share = reports / most if most > 0 else 0.0
    return math.sqrt(SMALLEST**2 + share * (LARGEST**2 - SMALLEST**2))


def _knob(point: Point) -> str:
    """The setting that moves along the line, as it was set."""
    eta, kappa = point.setting("eta"), point.setting("kappa_share")
    return "" if eta is None or kappa is not None else fraction(eta)


def _words(point: Point) -> str:
    at = point.at()
    words = f"{point.title}, error {100 * at.error:.1f} %, {at.violations:.0f} violations"
    return f"{words}, {at.reports:.0f} reports" if point.plays else words
