"""A canvas for the report's pictures: one look, labels that keep apart, SVG fit for a page.

A learner has the same colour everywhere, from the palette of Okabe and Ito, which people who see
colours differently can tell apart; lines carry their names, so that no colour need be looked up.
"""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import missing

try:
    import matplotlib.axes
    import matplotlib.figure
    import matplotlib.patches
    import matplotlib.style
    import matplotlib.ticker
    from matplotlib.colors import to_hex, to_rgb
    from matplotlib.ticker import StrMethodFormatter
except ImportError as error:
    raise missing("Drawing", "matplotlib", "study", error) from error

# Those who draw have these from here.
Axes = matplotlib.axes.Axes
Figure = matplotlib.figure.Figure
Patch = matplotlib.patches.Patch
MaxNLocator = matplotlib.ticker.MaxNLocator

INK, SOFT, PALE = "#222222", "#5f5f5f", "#dddddd"
BLUE, VERMILION = "#0072B2", "#D55E00"
COLOURS: Mapping[str, str] = {
    "accuracy-only": VERMILION,
    "constant": "#777777",
    "untaught": "#E69F00",
    "paper": "#CC79A7",
    "self-tuned": "#009E73",
    "exact": BLUE,
    "nested": "#56B4E9",
}
WIDTH, LEFT, RIGHT = 470, 46, 154
STYLE = matplotlib.style.context([
    "default",
    {
        "svg.fonttype": "none", "svg.hashsalt": "likewise", "text.parse_math": False,
        "font.size": 13, "xtick.labelsize": 12, "ytick.labelsize": 12, "text.color": INK,
        "axes.edgecolor": SOFT, "axes.labelcolor": INK, "xtick.color": SOFT, "ytick.color": SOFT,
        "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
        "axes.axisbelow": True, "grid.color": PALE, "lines.linewidth": 2,
    },
])  # fmt: skip
DASHED, DOTTED = (0, (4, 3)), (0, (1, 1.6))
PERCENT = StrMethodFormatter("{x:g}\u00a0%")
Label = tuple[float, float, str, str]
Box = tuple[float, float, float, float]


def canvas(height: int) -> Figure:
    """An empty figure, its height in points."""
    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def axes_on(
    fig: Figure,
    bottom: int,
    height: int,
    title: str,
    left: int = LEFT,
    right: int = RIGHT,
    above: int = 0,
) -> Axes:
    """Axes at a place given in points, with the title where the eye begins to read.

    ``above`` is room between the axes and the title.
    """
    tall = fig.get_figheight() * 72
    wide = (WIDTH - left - right) / WIDTH
    axes = fig.add_axes((left / WIDTH, bottom / tall, wide, height / tall))
    fig.text(4 / WIDTH, (bottom + height + above + 12) / tall, title, weight="bold", size=14)
    return axes


def named_lines(
    axes: Axes,
    series: Mapping[str, npt.NDArray[Any]],
    form: str,
    more: Sequence[tuple[float, str, str]] = (),
    start: int = 1,
) -> None:
    """A line for each learner from round ``start`` on, with its name and last value at its end.

    ``more`` are other heights to be named there, with their texts and colours.
    """
    ends, last = list(more), 0
    for name, values in series.items():
        last = len(values)
        rounds = np.unique(np.linspace(start, last, 600).astype(np.int64))
        axes.plot(rounds, values[rounds - 1], color=colour_of(name), clip_on=False)
        ends.append((float(values[-1]), f"{name} {form.format(values[-1])}", colour_of(name)))
    axes.set_xlim(0, last)
    counts = form == "{:,.0f}"
    axes.set_ylim(None if start > 1 else 0, max(1, axes.get_ylim()[1]) if counts else None)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=counts))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    places = [float(axes.transData.transform((0, y))[1]) for y, _, _ in ends]
    low = axes.bbox.y0 + 8 - HIGH / 2  # well above what the x axis says
    # From below, so that of equal ends the first is on top.
    moves = side_by_side(places[::-1], [HIGH] * len(places), (low, math.inf))[::-1]
    for moved, place, (y, text, colour) in zip(moves, places, ends, strict=True):
        axes.annotate(
            text, (last, y), (8, moved - place), textcoords="offset points", va="center",
            color=dark(colour), annotation_clip=False,
        )  # fmt: skip


def name_points(
    axes: Axes,
    labels: Sequence[Label],
    lines: Sequence[Sequence[tuple[float, float]]],
    font: float = 13.0,
) -> None:
    """Write labels next to their points, where they cover no point, line or other label."""
    spots = [axes.transData.transform((x, y)) for x, y, _, _ in labels]
    boxes: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    for line in lines:
        for start, end in itertools.pairwise(axes.transData.transform(list(line))):
            count = 2 + int(math.hypot(*(end - start)) / 8)  # of a short line not more than needed
            steps = [start + (end - start) * share for share in np.linspace(0, 1, count)]
            boxes += [(x - 1, y - 1, x + 1, y + 1) for x, y in steps]
    for (x, y), (a, b, text, colour) in zip(spots, labels, strict=True):
        size = (8.0 / 13 * font * len(text), 1.08 * font)
        dx, dy = beside((x, y), size, boxes, axes.bbox.extents)
        # A label on top of another is worse than one on top of a line.
        boxes += [(x + dx, y + dy, x + dx + size[0], y + dy + size[1])] * 4
        # How wide a text is only the browser knows: it is tied where it is nearest to its point.
        side, shift = ("right", 1.0) if dx < -0.6 * size[0] else ("left", 0.0)
        if dx == -size[0] / 2:
            side, shift = "center", 0.5
        axes.annotate(
            text, (a, b), (dx + shift * size[0], dy + 3), textcoords="offset points", ha=side,
            color=dark(colour), size=font,
        )  # fmt: skip


def colour_of(learner: str) -> str:
    """A learner's colour; black for one that has none of its own."""
    return COLOURS.get(learner, INK)


def dark(colour: str) -> str:
    """The colour dark enough for text on white."""
    red, green, blue = to_rgb(colour)
    return str(to_hex((0.7 * red, 0.7 * green, 0.7 * blue)))


def last_values(series: Mapping[str, npt.NDArray[Any]], form: str) -> str:
    """The last values in words, for those who cannot see the picture."""
    return ", ".join(f"{name} {form.format(values[-1])}" for name, values in series.items())


def finish(fig: Figure, key: str, label: str) -> str:
    """The figure as SVG for a page; ``label`` says what it shows to those who cannot see it."""
    text = io.StringIO()
    fig.savefig(text, format="svg", metadata={"Date": None})
    return inline(text.getvalue(), key, label)


def beside(
    spot: tuple[float, float], size: tuple[float, float], boxes: Sequence[Box], frame: Box
) -> tuple[float, float]:
    """How far from a spot to begin a label of that size, so that it covers nothing that is taken.

    Boxes are (left, bottom, right, top). To the right is best, then to the left, above, below;
    outside the frame is worse than on top of another.

    >>> beside((50, 50), (20, 10), [(52, 40, 90, 60)], (0, 0, 100, 100))
    (-29, -5.0)
    """
    wide, high = size
    choices = [
        (9, -high / 2), (-9 - wide, -high / 2), (-wide / 2, 8), (-wide / 2, -8 - high), (6, 6),
        (6, -6 - high), (-6 - wide, 6), (-6 - wide, -6 - high), (6 - wide, 8), (-6, 8),
    ]  # fmt: skip

    def cost(shift: tuple[float, float]) -> float:
        left, bottom = spot[0] + shift[0], spot[1] + shift[1]
        right, top = left + wide, bottom + high
        outside = max(0.0, frame[0] - left, right - frame[2], frame[1] - bottom, top - frame[3])
        hits = sum(left < t[2] and t[0] < right and bottom < t[3] and t[1] < top for t in boxes)
        return 1000.0 * outside + 20.0 * hits

    return min(choices, key=cost)


def inline(svg: str, key: str, label: str) -> str:
    """An SVG file made fit to stand inside a page among others.

    Gone are its headers, metadata, style sheet, fonts and namespaces, and with them every address;
    ids begin with ``key``, and those that nothing refers to are gone as well.

    >>> inline('<?xml?><svg xmlns="…" viewBox="0 0 9 9"><g id="a"><path id="b"/></g>'
    ...        '<use xlink:href="#b"/></svg>', "k", "A & B")
    '<svg viewBox="0 0 9 9" role="img" aria-label="A &amp; B"><title>A &amp; B</title><g>\
<path id="k-b"/></g><use href="#k-b"/></svg>'
    """
    head = re.search(r'<svg [^>]*?viewBox="([\d. ]+)"[^>]*>', svg)
    if head is None:
        raise ValueError("This is no SVG file: it has no <svg … viewBox=…>.")
    body = svg[head.end() :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", body, flags=re.DOTALL)
    used = set(re.findall(r"#(\w+)[\")]", body))

    def mend(tag: re.Match[str]) -> str:
        def renamed(name: re.Match[str]) -> str:
            return f' id="{key}-{name[1]}"' if name[1] in used else ""

        mended = re.sub(r' id="([^"]*)"', renamed, tag[0])
        mended = re.sub(r'(?:xlink:)?(href="|url\()#', rf"\1#{key}-", mended)
        return re.sub(r" font-family: [^;\"]*;?", "", mended)

    body = re.sub(r"<[^>]*>", mend, body).strip()
    name = html.escape(label)
    return f'<svg viewBox="{head[1]}" role="img" aria-label="{name}"><title>{name}</title>{body}'


ROOM = 18
"""How many points above the axes the names take."""
GAP, LETTER = 6.0, 5.1  # between two names; a letter at size 9, in the mean
HIGH = 11.0  # a name at the end of a line


Line = tuple[float, str, str]


def three_lines(
    at_alpha: float, at_alpha_less_kappa: Sequence[tuple[float, str]], at_alpha_less_eps: float
) -> list[Line]:
    """The error rates of the comparators as lines: per cent, name and colour.

    There may be several at alpha − kappa, each with the colour of its kappa.
    """
    return [
        (100 * at_alpha, "alpha", INK),
        *((100 * rate, "alpha − kappa", colour) for rate, colour in at_alpha_less_kappa),
        (100 * at_alpha_less_eps, "alpha − eps", INK),
    ]


def compare_lines(axes: Axes, lines: Sequence[Line]) -> None:
    """Draw thin lines at places of the x axis, whose limits are set, and name them above.

    ``lines`` are places, names and colours; lines of one name share it.
    """
    low = axes.get_ylim()[0]
    named: dict[str, list[float]] = {}
    for x, text, colour in lines:
        axes.axvline(x, color=colour, lw=1.2, ls=DOTTED, zorder=1)
        named.setdefault(text, []).append(float(axes.transData.transform((x, low))[0]))
    middles = [(min(places) + max(places)) / 2 for places in named.values()]
    frame = (axes.bbox.x0 - 30, axes.bbox.x1 + 10)
    moved = side_by_side(middles, [LETTER * len(text) for text in named], frame)
    wide, tall = axes.bbox.width, axes.bbox.height
    for (text, places), middle in zip(named.items(), moved, strict=True):
        foot = (middle - axes.bbox.x0) / wide
        for place in places:
            axes.plot(
                [(place - axes.bbox.x0) / wide, foot], [1, 1 + 7 / tall], color=SOFT, lw=0.6,
                transform=axes.transAxes, clip_on=False,
            )  # fmt: skip
        axes.text(
            foot, 1 + 7 / tall, text, transform=axes.transAxes, ha="center", va="bottom",
            color=SOFT, size=9,
        )  # fmt: skip


def side_by_side(
    places: Sequence[float], widths: Sequence[float], frame: tuple[float, float]
) -> list[float]:
    """The middles of labels moved so that none covers another, within the frame if they fit.

    Widths, or heights of labels above each other.

    >>> side_by_side([10.0, 12.0], [20.0, 20.0], (0.0, 100.0))
    [10.0, 36.0]
    >>> side_by_side([96.0, 95.0], [20.0, 20.0], (0.0, 100.0))
    [90.0, 64.0]
    """
    moved = list(places)
    order = sorted(range(len(places)), key=lambda i: places[i])
    edge = frame[0]
    for i in order:
        moved[i] = max(places[i], edge + widths[i] / 2)
        edge = moved[i] + widths[i] / 2 + GAP
    edge = frame[1]
    for i in reversed(order):
        moved[i] = min(moved[i], edge - widths[i] / 2)
        edge = moved[i] - widths[i] / 2 - GAP
    return moved
