"""The frontiers of the learners in several worlds, as one picture for the documentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path

from likewise.experiments.canvas import (
    PERCENT,
    STYLE,
    WIDTH,
    Axes,
    Figure,
    Line2D,
    MaxNLocator,
    NullLocator,
    canvas,
    colour_of,
    finish,
    name_points,
)  # fmt: skip
from likewise.experiments.configurations import Configuration, fraction
from likewise.experiments.study.spec import ALPHA
from likewise.experiments.study.tables import Point

__all__ = ["frontiers_svg", "write_frontiers"]

# Shapes tell the learners apart without colour; others than these get the next of OTHERS.
MARKERS = {"self-tuned": "o", "exact": "s", "paper": "^", "untaught": "D"}
OTHERS = ("P", "X", "v", "*", "<", ">", "p", "h")
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
COLUMNS, LEFT, RIGHT, HEAD, FOOT = 2, 44, 12, 72, 44
HIGH, ROW = 180, 248  # a panel, and a panel with its title and what its x axis says
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SHOWN = 1.5  # how much larger a page with room shows it


def write_frontiers(path: Path, worlds: Mapping[str, Sequence[Point]]) -> None:
    """Write the picture into a file, and make the folder if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(frontiers_svg(worlds), encoding="utf-8")


@STYLE
def frontiers_svg(worlds: Mapping[str, Sequence[Point]]) -> str:
    """A panel for each world: violations against error at the longest T, where eps = alpha."""
    shown = {name: [p for p in found if p.eps == ALPHA] for name, found in worlds.items()}
    rows = -(-len(shown) // COLUMNS)
    fig = canvas(HEAD + ROW * rows)
    markers = _markers(p.configuration.learner for found in shown.values() for p in found)
    for place, (name, found) in enumerate(shown.items()):
        _panel(_axes(fig, place), name, found, markers)
    _legend(fig, markers)
    told = " ".join(f"{name}: {'; '.join(map(_told, found))}." for name, found in shown.items())
    return _as_file(finish(fig, "frontiers", f"Rounds in violation against error. {told}"), fig)


def _markers(learners: Iterable[str]) -> dict[str, str]:
    """A shape for each learner that is there: its own, or one of those that nobody has."""
    there = dict.fromkeys(learners)
    known = {name: mark for name, mark in MARKERS.items() if name in there}
    return known | dict(zip((n for n in there if n not in MARKERS), cycle(OTHERS), strict=False))


def _axes(fig: Figure, place: int) -> Axes:
    """Axes for one panel, with a scale of violations that can show none."""
    tall = fig.get_figheight() * 72
    row, column = divmod(place, COLUMNS)
    left, bottom = WIDTH * column / COLUMNS + LEFT, tall - HEAD - ROW * (row + 1) + FOOT
    wide = WIDTH / COLUMNS - LEFT - RIGHT
    axes = fig.add_axes((left / WIDTH, bottom / tall, wide / WIDTH, HIGH / tall))
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PERCENT)
    axes.set_xlabel("error")
    return axes


def _scale(axes: Axes, marks: Sequence[tuple[float, float]]) -> None:
    """As much of both scales as the marks take, and room for what is written beside them."""
    rates, counts = zip(*marks, strict=True)
    pad = max(1.0, 0.14 * (max(rates) - min(rates)))
    axes.set_xlim(min(rates) - pad, max(rates) + pad)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    low, high = min(counts), max(counts)
    axes.set_ylim(low / 3 if low > 3 else -0.6, 3 * max(high, 1))
    ticks = [tick for tick in TICKS if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])


def _panel(axes: Axes, name: str, found: Sequence[Point], markers: Mapping[str, str]) -> None:
    """One world: a line for each learner over its knob."""
    longest = max(p.rounds[-1] for p in found)
    axes.set_title(f"{name}, T = {longest:,}", loc="left", size=13, weight="bold")
    lines, labels = [], []
    for learner in dict.fromkeys(p.configuration.learner for p in found):
        mine = [p for p in found if p.configuration.learner == learner]
        line = [(100 * p.error[-1], p.violations[-1]) for p in mine]
        colour = colour_of(learner)
        axes.plot(
            *zip(*line, strict=True), color=colour, marker=markers[learner], ms=8, lw=1.4,
            mec="white", mew=0.7, clip_on=False,
        )  # fmt: skip
        lines.append(line)
        knobs = [_knob(p.configuration) for p in mine]
        labels += [(*at, knob, colour) for at, knob in zip(line, knobs, strict=True) if knob]
    _scale(axes, [mark for line in lines for mark in line])
    name_points(axes, labels, lines)


def _knob(configuration: Configuration) -> str:
    """The knob as it was set: eta, or by how much the paper's noise was divided."""
    if configuration.eta is not None:
        return fraction(configuration.eta)
    if configuration.noise_divisor is not None:
        power = str(round(math.log10(configuration.noise_divisor)))
        return f"10{power.translate(RAISED)}"
    return ""


def _legend(fig: Figure, markers: Mapping[str, str]) -> None:
    """A line about the axes, and whose the marks are."""
    tall = fig.get_figheight() * 72
    fig.text(4 / WIDTH, 1 - 18 / tall, "Rounds in violation against error", weight="bold", size=14)
    says = "Beside the marks: eta, or by what the paper's noise is divided"
    fig.text(4 / WIDTH, 1 - 61 / tall, says, size=12)
    handles = [
        Line2D([], [], color=colour_of(name), marker=mark, ms=8, lw=1.4, label=name)
        for name, mark in markers.items()
    ]
    fig.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, 1 - 22 / tall),
        ncols=max(4, len(markers)), frameon=False, columnspacing=1.4, handletextpad=0.5,
        borderpad=0.3,
    )  # fmt: skip


def _told(point: Point) -> str:
    """A point in words, for those who cannot see it."""
    return (
        f"{point.configuration.title}, error {point.error[-1]:.1%}, {point.violations[-1]:.0f} "
        f"violations"
    )


def _as_file(svg: str, fig: Figure) -> str:
    """The picture as a file of its own, in whatever plain font the reader has."""
    wide, high = (round(SHOWN * 72 * inches) for inches in fig.get_size_inches())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
    return svg.replace("<svg", f'{head} font-family="sans-serif"', 1) + "\n"
