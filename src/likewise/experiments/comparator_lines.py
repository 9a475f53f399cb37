"""Upright lines at the errors of the three comparators, in any picture with error along its x axis.

Their names are in a row above the axes, with a stroke from each to its line, so that they keep
apart where the lines do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from likewise.experiments.canvas import DOTTED, INK, SOFT, Axes

ROOM = 18
"""How many points above the axes the names take."""
GAP, LETTER = 6.0, 5.1  # between two names; a letter at size 9, in the mean


Line = tuple[float, str, str]


def three_lines(
    at_alpha: float, at_alpha_less_kappa: Sequence[tuple[float, str]], at_alpha_less_eps: float
) -> list[Line]:
    """The error rates of the comparators as lines: per cent, name and colour.

    There may be several at alpha − kappa, each with the colour of its kappa.

    >>> three_lines(0.25, [(0.3, "blue")], 0.5)[1]
    (30.0, 'alpha − kappa', 'blue')
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
            foot,
            1 + 7 / tall,
            text,
            transform=axes.transAxes,
            ha="center",
            va="bottom",
            color=SOFT,
            size=9,
        )


def side_by_side(
    places: Sequence[float], widths: Sequence[float], frame: tuple[float, float]
) -> list[float]:
    """The middles of labels moved so that none covers another, within the frame if they fit.

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
