"""The frontier over eta and kappa as a figure: three counts, in two views of the same points.

Above, rounds in violation against error, with fixed policies in hindsight as a dashed line; below,
reports against error. A line is a kappa, and eta moves along it. A mark is filled where no other
setting beats it on error, violations and reports together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from likewise.simulate import canvas
from likewise.simulate.canvas import BLUE, ROOM, SOFT, VERMILION, WIDTH, Axes, Figure, Line
from likewise.simulate.game import fraction
from studies.sweep.points import Kappas, Point, by_scenario, fixed_of, on_the_frontier
from studies.sweep.spec import setting_title

# From asked early to asked late: colours that people who see them differently can tell apart.
COLOURS = (BLUE, "#009E73", "#E69F00", VERMILION)
MARKERS = ("s", "o", "^", "D")
COLUMNS, LEFT, RIGHT = 2, 44, 12
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
Marks = list[tuple[float, float]]
Looks = Mapping[float, tuple[str, str]]


class Layout(NamedTuple):
    """Heights in points: of the head, of a row of panels, of what is below one, of a panel."""

    head: int
    row: int
    foot: int
    high: int


LAYOUT = Layout(99 + ROOM, 228 + ROOM, 58 + ROOM, 170)


def of_knobs(points: Sequence[Point]) -> bool:
    """True for one learner over a grid of eta and kappa, and nobody else but hindsight."""
    playing = [point for point in points if point.plays]
    knobs = [set(point.settings) == {"eta", "kappa_share"} for point in playing]
    kappas = {point.setting("kappa_share") for point in playing}
    return all(knobs) and len({point.learner for point in playing}) == 1 < len(kappas)


def draw_knobs(points: Sequence[Point]) -> Figure:
    """Two panels for each scenario, one above the other, at the longest horizon."""
    together = by_scenario(points)
    rows = 2 * -(-len(together) // COLUMNS)
    fig = canvas.canvas(LAYOUT.head + rows * LAYOUT.row)
    shares = sorted({s for p in points if (s := p.setting("kappa_share"))}, reverse=True)
    looks = {
        share: (COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)])
        for n, share in enumerate(shares)
    }
    for n, (scenario, panel) in enumerate(together.items()):
        above = panel_axes(fig, 2 * (n // COLUMNS), n % COLUMNS, LAYOUT)
        above.set_title(scenario, loc="left", size=12, weight="bold", pad=6 + ROOM)
        _view(above, panel, "violations", looks)
        below = panel_axes(fig, 2 * (n // COLUMNS) + 1, n % COLUMNS, LAYOUT)
        _view(below, panel, "reports", looks)
    lines = ["Along a line eta; filled: no other setting beats it. Dashed: fixed, in hindsight"]
    if any(_comparators(panel, looks) for panel in together.values()):
        lines.append("Dotted: best fixed at alpha, alpha − kappa (in its colour) and alpha − eps")
    handles = [
        Line2D(
            [], [], color=c, marker=mark, ms=6, lw=1.2, label=setting_title("kappa_share", share)
        )
        for share, (c, mark) in looks.items()
    ]
    head_lines(fig, "Error, rounds in violation and reports over eta and kappa", lines, handles)
    return fig


def panel_axes(fig: Figure, row: int, column: int, layout: Layout) -> Axes:
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


def scale_axes(
    axes: Axes, rates: Sequence[float], counts: Sequence[float], pad: float, stretch: float
) -> None:
    """As much of both scales as marks and lines take, and room for what is written beside them.

    The room is ``pad`` per cent of error on both sides, and a factor ``stretch`` above.
    """
    axes.set_xlim(min(rates) - pad, max(rates) + pad)
    low, high = min(counts), max(counts)
    axes.set_ylim(low / round(stretch) if low > 3 else -0.6, stretch * max(high, 1))
    ticks = [tick for tick in TICKS if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])


def head_lines(fig: Figure, title: str, lines: Sequence[str], handles: Sequence[Line2D]) -> None:
    """A title, a line or two about the axes, and whose the marks are."""
    tall = fig.get_figheight() * 72
    fig.text(4 / WIDTH, 1 - 18 / tall, title, weight="bold", size=14)
    for n, line in enumerate(lines):
        fig.text(4 / WIDTH, 1 - (36 + 15 * n) / tall, line, size=11)
    fig.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 1 - 55 / tall), ncols=4,
        frameon=False, columnspacing=1.4, handletextpad=0.5, borderpad=0.3, fontsize=11,
    )  # fmt: skip


def _view(axes: Axes, points: Sequence[Point], count: str, looks: Looks) -> None:
    """One count against error: a line for each kappa, its marks filled where nobody beats them."""
    best = {id(point) for point in on_the_frontier(points)}
    label = "rounds in violation" if count == "violations" else count
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(
        0.98, 0.98, label, transform=axes.transAxes, ha="right", va="top", color=SOFT, size=11,
        bbox=white,
    )  # fmt: skip
    lines: list[Marks] = []
    labels = []
    for share, (colour, marker) in looks.items():
        of_kappa = [p for p in points if p.setting("kappa_share") == share]
        line = [(100 * p.at().error, float(getattr(p.at(), count))) for p in of_kappa]
        lines.append(line)
        axes.plot(*zip(*line, strict=True), color=colour, lw=1.2, alpha=0.7)
        for point, (x, y) in zip(of_kappa, line, strict=True):
            filled = colour if id(point) in best else "white"
            axes.plot([x], [y], color=colour, marker=marker, ms=6, mfc=filled, clip_on=False)
            if share == min(looks):
                labels.append((x, y, fraction(point.setting("eta")), colour))
    if count == "violations":
        hindsight = [p for p in points if not p.plays]
        fixed = sorted((100 * p.at().error, p.at().violations) for p in hindsight)
        if fixed:
            axes.plot(*zip(*fixed, strict=True), color=SOFT, lw=1.2, ls=canvas.DASHED, marker=".")
            lines.append(fixed)
    fixed_at = _comparators(points, looks)
    # The same errors in both views, and as much of the counts as there is.
    rates = [100 * p.at().error for p in points] + [rate for rate, _, _ in fixed_at]
    pad = max(0.5, 0.1 * (max(rates) - min(rates)))
    scale_axes(axes, rates, [count for line in lines for _, count in line], pad, 2.5)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(4, steps=[1, 2, 5, 10]))
    canvas.compare_lines(axes, fixed_at)
    canvas.name_points(axes, labels, lines, font=10)


def _comparators(points: Sequence[Point], looks: Looks) -> list[Line]:
    """Lines at the best fixed policies; that at alpha − kappa in the colour of each kappa."""
    colours = {setting_title("kappa_share", share): colour for share, (colour, _) in looks.items()}
    fixed = fixed_of(points, Kappas(tuple(colours)))
    if fixed is None:
        return []
    middle = [(rate, colours[word]) for word, rate in fixed.at_alpha_less_kappa.items()]
    return canvas.three_lines(fixed.at_alpha, middle, fixed.at_alpha_less_eps)
