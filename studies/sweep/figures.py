"""The points of a sweep as a figure: error and violations by place, reports by size.

One panel for every scenario, a line for every learner over its settings, and the fixed policies in
hindsight as a dashed line: the frontier that somebody who knew the whole stream could have had.

For one learner over a grid of eta and kappa there are two panels, rounds in violation above, and
reports below. A line is a kappa, and eta moves along it. A mark is filled where no other
setting beats it on error, violations and reports together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from likewise.simulate import canvas
from likewise.simulate.canvas import BLUE, INK, SOFT, VERMILION, WIDTH, Axes, Figure
from studies.sweep.labels import ROOM, Line, compare_lines, name_points, three_lines
from studies.sweep.points import (
    Kappas,
    Point,
    by_scenario,
    fixed_of,
    fixed_words,
    kappas_of,
    on_the_frontier,
)
from studies.sweep.spec import fraction, setting_title

# Shapes tell the learners apart without colour; others than these get the next of OTHERS.
MARKERS = {"exact": "s", "self-tuned": "o", "nested": "h", "paper": "^", "untaught": "D"}
OTHERS = ("P", "X", "v", "*", "<", ">", "p", "d")
# Kappas from asked early to late: colours that people who see them differently can tell apart.
KAPPAS = ((BLUE, "s"), ("#009E73", "o"), ("#E69F00", "^"), (VERMILION, "D"))
SMALLEST, LARGEST = 4.0, 15.0  # how wide a mark is, in points
SHOWN = 1.5  # how much larger a page with room shows a picture of its own
COLUMNS, LEFT, RIGHT = 2, 44, 12
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
Marks = list[tuple[float, float]]
Labels = list[tuple[float, float, str, str]]
Looks = Mapping[float, tuple[str, str]]


class Layout(NamedTuple):
    """Heights in points: of the head, of a row of panels, of what is below one, of a panel."""

    head: int
    row: int
    foot: int
    high: int


TWO_VIEWS = Layout(99 + ROOM, 228 + ROOM, 58 + ROOM, 170)


def as_file(svg: str, fig: Figure) -> str:
    """A picture that :func:`finish` made, as a file of its own, in the reader's plain font."""
    wide, high = (round(SHOWN * 72 * inches) for inches in fig.get_size_inches())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
    return svg.replace("<svg", f'{head} font-family="sans-serif"', 1) + "\n"


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
    return _draw_knobs(points) if of_knobs(points) else _draw_learners(points)


def of_knobs(points: Sequence[Point]) -> bool:
    """True for one learner over a grid of eta and kappa, and nobody else but hindsight."""
    playing = [point for point in points if point.plays]
    knobs = [set(point.settings) == {"eta", "kappa_share"} for point in playing]
    kappas = {point.setting("kappa_share") for point in playing}
    return all(knobs) and len({point.learner for point in playing}) == 1 < len(kappas)


def _draw_learners(points: Sequence[Point]) -> Figure:
    together = by_scenario(points)
    markers = _markers(point.learner for point in points if point.plays)
    layout = Layout(69 + 22 * math.ceil(len(markers) / 4), 248 + ROOM, 44, 180)
    fig = canvas.canvas(layout.head + layout.row * -(-len(together) // COLUMNS))
    most = max(point.at().reports for point in points)
    for n, (scenario, panel) in enumerate(together.items()):
        axes = _axes(fig, *divmod(n, COLUMNS), layout)
        axes.set_title(scenario, loc="left", size=12, weight="bold", pad=6 + ROOM)
        _learners(axes, panel, markers, most)
    lines = [f"Wider marks: more reports, {most:,.0f} at most. Dashed: fixed, in hindsight"]
    if any(map(_comparators, together.values())):
        kappa = kappas_of(points).words[0]
        lines.append(f"Dotted: best fixed at alpha, alpha − kappa ({kappa}), alpha − eps")
    handles = [
        Line2D([], [], color=canvas.colour_of(name), marker=mark, ms=7, lw=1.2, label=name)
        for name, mark in markers.items()
    ]
    _head(fig, "Rounds in violation against error", lines, handles)
    return fig


def _draw_knobs(points: Sequence[Point]) -> Figure:
    together = by_scenario(points)
    fig = canvas.canvas(TWO_VIEWS.head + 2 * TWO_VIEWS.row * -(-len(together) // COLUMNS))
    shares = sorted({s for p in points if (s := p.setting("kappa_share"))}, reverse=True)
    looks = dict(zip(shares, cycle(KAPPAS), strict=False))
    for n, (scenario, panel) in enumerate(together.items()):
        row, column = divmod(n, COLUMNS)
        above = _axes(fig, 2 * row, column, TWO_VIEWS)
        above.set_title(scenario, loc="left", size=12, weight="bold", pad=6 + ROOM)
        _view(above, panel, "violations", looks)
        _view(_axes(fig, 2 * row + 1, column, TWO_VIEWS), panel, "reports", looks)
    lines = ["Along a line eta; filled: no other setting beats it. Dashed: fixed, in hindsight"]
    if any(_comparators(panel, looks) for panel in together.values()):
        lines.append("Dotted: best fixed at alpha, alpha − kappa (in its colour) and alpha − eps")
    handles = [
        Line2D([], [], color=c, marker=m, ms=6, lw=1.2, label=setting_title("kappa_share", share))
        for share, (c, m) in looks.items()
    ]
    _head(fig, "Error, rounds in violation and reports over eta and kappa", lines, handles)
    return fig


def _axes(fig: Figure, row: int, column: int, layout: Layout) -> Axes:
    """Axes for one panel, with a scale of counts that can show 0."""
    tall = fig.get_figheight() * 72
    left = WIDTH * column / COLUMNS + LEFT
    bottom = tall - layout.head - layout.row * (row + 1) + layout.foot
    wide = WIDTH / COLUMNS - LEFT - RIGHT
    axes = fig.add_axes((left / WIDTH, bottom / tall, wide / WIDTH, layout.high / tall))
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(canvas.PERCENT)
    axes.set_xlabel("error")
    return axes


def _head(fig: Figure, title: str, lines: Sequence[str], handles: Sequence[Line2D]) -> None:
    """A title, a line or two about the axes, and whose the marks are."""
    tall = fig.get_figheight() * 72
    fig.text(4 / WIDTH, 1 - 18 / tall, title, weight="bold", size=14)
    for n, line in enumerate(lines):
        fig.text(4 / WIDTH, 1 - (36 + 15 * n) / tall, line, size=11)
    fig.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 1 - 55 / tall), ncols=4,
        frameon=False, columnspacing=1.4, handletextpad=0.5, borderpad=0.3, fontsize=11,
    )  # fmt: skip


def _markers(learners: Iterable[str]) -> dict[str, str]:
    """A shape for each learner that is there: its own, or one of those that nobody has."""
    names = list(dict.fromkeys(learners))
    marks = {name: mark for name, mark in MARKERS.items() if name in names}
    return marks | dict(zip((n for n in names if n not in MARKERS), cycle(OTHERS), strict=False))


def _learners(axes: Axes, points: Sequence[Point], markers: Mapping[str, str], most: float) -> None:
    """One scenario: a line for each learner, its marks as wide as its reports are many."""
    lines: list[Marks] = []
    labels: Labels = []
    for learner in dict.fromkeys(point.learner for point in points if point.plays):
        of_learner = [point for point in points if point.learner == learner]
        line = _line(of_learner, "violations")
        lines.append(line)
        colour = canvas.colour_of(learner)
        axes.plot(*zip(*line, strict=True), color=colour, lw=1.2, alpha=0.6, clip_on=False)
        for point, (x, y) in zip(of_learner, line, strict=True):
            axes.plot(
                [x], [y], color=colour, marker=markers[learner], mec="white", mew=0.7,
                ms=width_of(point.at().reports, most), clip_on=False,
            )  # fmt: skip
            labels += [(x, y, knob, colour)] if (knob := _knob(point)) else []
    lines += _hindsight(axes, points)
    fixed = _comparators(points)
    _scale(axes, points, lines, fixed, (1.0, 0.14), 3.0)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(4, integer=True))
    compare_lines(axes, fixed)
    name_points(axes, labels, lines)


def _view(axes: Axes, points: Sequence[Point], count: str, looks: Looks) -> None:
    """One count against error: a line for each kappa, its marks filled where nobody beats them."""
    best = {id(point) for point in on_the_frontier(points)}
    axes.text(
        0.98, 0.98, "rounds in violation" if count == "violations" else count,
        transform=axes.transAxes, ha="right", va="top", color=SOFT, size=11,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    lines: list[Marks] = []
    labels: Labels = []
    for share, (colour, marker) in looks.items():
        of_kappa = [p for p in points if p.setting("kappa_share") == share]
        line = _line(of_kappa, count)
        lines.append(line)
        axes.plot(*zip(*line, strict=True), color=colour, lw=1.2, alpha=0.7)
        for point, (x, y) in zip(of_kappa, line, strict=True):
            filled = colour if id(point) in best else "white"
            axes.plot([x], [y], color=colour, marker=marker, ms=6, mfc=filled, clip_on=False)
            if share == min(looks):
                labels.append((x, y, fraction(point.setting("eta")), colour))
    if count == "violations":
        lines += _hindsight(axes, points)
    fixed = _comparators(points, looks)
    # The same errors in both views, and as much of the counts as there is.
    _scale(axes, points, lines, fixed, (0.5, 0.1), 2.5)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(4, steps=[1, 2, 5, 10]))
    compare_lines(axes, fixed)
    name_points(axes, labels, lines)


def _line(points: Sequence[Point], count: str) -> Marks:
    return [(100 * point.at().error, float(getattr(point.at(), count))) for point in points]


def _hindsight(axes: Axes, points: Sequence[Point]) -> list[Marks]:
    """Draw the fixed policies in hindsight, if there are any; return their line."""
    line = sorted(_line([point for point in points if not point.plays], "violations"))
    if not line:
        return []
    axes.plot(*zip(*line, strict=True), color=SOFT, lw=1.2, ls=canvas.DASHED, marker=".")
    return [line]


def _scale(
    axes: Axes, points: Sequence[Point], lines: Sequence[Marks], fixed: Sequence[Line],
    pads: tuple[float, float], stretch: float,
) -> None:  # fmt: skip
    """As much of both scales as marks and lines take, and room for what is written beside them.

    The room is per cents of error on both sides (some at least, and a share of their range), and a
    factor ``stretch`` above.
    """
    rates = [100 * point.at().error for point in points] + [rate for rate, _, _ in fixed]
    pad = max(pads[0], pads[1] * (max(rates) - min(rates)))
    axes.set_xlim(min(rates) - pad, max(rates) + pad)
    counts = [count for line in lines for _, count in line]
    low, high = min(counts), max(counts)
    axes.set_ylim(low / round(stretch) if low > 3 else -0.6, stretch * max(high, 1))
    ticks = [tick for tick in TICKS if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])


def _comparators(points: Sequence[Point], looks: Looks | None = None) -> list[Line]:
    """Lines at the best fixed policies; at alpha − kappa in the colours of kappas.

    Without any, that of our smallest kappa.
    """
    colours = {setting_title("kappa_share", s): colour for s, (colour, _) in (looks or {}).items()}
    fixed = fixed_of(points, Kappas(tuple(colours)) if colours else kappas_of(points))
    if fixed is None:
        return []
    kappas = fixed.at_alpha_less_kappa.items()
    middle = [(rate, colours.get(word, INK)) for word, rate in kappas]
    most = len(colours) or 1
    return three_lines(fixed.at_alpha, middle[:most], fixed.at_alpha_less_eps)


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
