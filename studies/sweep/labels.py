"""Names beside points and above lines of a picture, where they cover nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from likewise.simulate.canvas import INK, SOFT, Axes, dark

Label = tuple[float, float, str, str]
Box = tuple[float, float, float, float]
Line = tuple[float, str, str]
DOTTED = (0, (1, 1.6))
ROOM = 18
"""How many points above the axes the names take."""
FONT, LETTER = 10.0, 5.1  # of points; how wide a letter is at size 9, in the mean
GAP = 6.0  # between two names


def name_points(
    axes: Axes, labels: Sequence[Label], lines: Sequence[Sequence[tuple[float, float]]]
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
        size = (8.0 / 13 * FONT * len(text), 1.08 * FONT)
        dx, dy = beside((x, y), size, boxes, axes.bbox.extents)
        # A label on top of another is worse than one on top of a line.
        boxes += [(x + dx, y + dy, x + dx + size[0], y + dy + size[1])] * 4
        # How wide a text is only the browser knows: it is tied where it is nearest to its point.
        side, shift = ("right", 1.0) if dx < -0.6 * size[0] else ("left", 0.0)
        if dx == -size[0] / 2:
            side, shift = "center", 0.5
        axes.annotate(
            text, (a, b), (dx + shift * size[0], dy + 3), textcoords="offset points", ha=side,
            color=dark(colour), size=FONT,
        )  # fmt: skip


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
