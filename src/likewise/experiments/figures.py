"""The report's pictures, each an SVG that can stand inside a page: its text is text, it has no ids
in common with another one, and it names no address.

A learner has the same colour everywhere, from the palette of Okabe and Ito, which people who see
colours differently can tell apart; lines carry their names, so that no colour need be looked up.
"""

from __future__ import annotations

import io
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import matplotlib.style
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from likewise.experiments.demo import Demo, Shown
from likewise.experiments.explain import Case, case_of, points
from likewise.experiments.layout import Box, beside, inline, spread
from likewise.game import Moment
from likewise.units import ONE, FloatArray

__all__ = [
    "error_figure",
    "frontier_figure",
    "lam_figure",
    "pivot_figure",
    "round_figure",
    "violation_figure",
]

INK, SOFT, PALE = "#222222", "#5f5f5f", "#dddddd"
BLUE, VERMILION = "#0072B2", "#D55E00"
COLOURS: Mapping[str, str] = {
    "accuracy-only": VERMILION,
    "constant": "#777777",
    "paper": "#CC79A7",
    "self-tuned": "#009E73",
    "exact": BLUE,
}
WIDTH, LEFT, RIGHT = 470, 44, 142
STYLE = matplotlib.style.context([
    "default",
    {
        "svg.fonttype": "none", "svg.hashsalt": "likewise", "text.parse_math": False,
        "font.size": 12, "axes.labelsize": 12, "axes.titlesize": 13, "text.color": INK,
        "axes.edgecolor": SOFT, "axes.labelcolor": INK, "xtick.color": SOFT, "ytick.color": SOFT,
        "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
        "axes.axisbelow": True, "grid.color": PALE, "lines.linewidth": 2,
    },
])  # fmt: skip
DASHED = (0, (4, 3))
PERCENT = StrMethodFormatter("{x:g}\u00a0%")
Label = tuple[float, float, str, str]
Ends = Sequence[tuple[float, str, str]]


@STYLE
def violation_figure(demo: Demo) -> str:
    """Rounds in violation so far, for every learner; below, for those who listen to the panel."""
    fig = _canvas(440)
    above = _axes(fig, 258, 150, "Rounds in violation so far: all learners")
    below = _axes(fig, 38, 150, "The same, without those deaf to the panel")
    above.plot([0, demo.rounds], [0, demo.rounds], color=SOFT, lw=1, ls=DASHED)
    _lines(above, demo.shown, [np.cumsum(s.transcript.violation) for s in demo.shown], "{:,.0f}",
           [(demo.rounds, "every round", SOFT)])  # fmt: skip
    heeding = [s for s in demo.shown if s.transcript.learner.heeds_reports]
    _lines(below, heeding, [np.cumsum(s.transcript.violation) for s in heeding], "{:,.0f}")
    below.set_xlabel("round")
    return _svg(fig, "violations", "Rounds in violation so far, by learner: " + _said(
        demo.shown, [float(s.summary.violations) for s in demo.shown], "{:,.0f}"))  # fmt: skip


@STYLE
def error_figure(demo: Demo) -> str:
    """The error rate up to each round, and that of the best fair policy in hindsight."""
    fig = _canvas(440)
    axes = _axes(fig, 38, 370, "Share of wrong decisions so far")
    axes.yaxis.set_major_formatter(PERCENT)
    shown, best = demo.shown, 100 * demo.best_fair.error_rate
    rates = [100 * s.transcript.error.cumsum() / s.transcript.people.cumsum() for s in shown]
    form = "{:.1f}\u00a0%"
    axes.axhline(best, color=INK, lw=1.4, ls=DASHED)
    ends = [(best, f"best fair {form.format(best)}", INK)]
    _lines(axes, shown, rates, form, ends, start=max(1, demo.rounds // 40))
    axes.set_xlabel("round")
    said = _said(shown, [rate[-1] for rate in rates], form)
    return _svg(fig, "error", f"Error rate so far, by learner: {said}; {ends[0][1]}")


@STYLE
def frontier_figure(demo: Demo) -> str:
    """What each eta brings: violations and reports against the error rate."""
    fig = _canvas(440)
    kinds = ("violations", "reports")
    titles = ("Rounds in violation", "Rounds with a report")
    for kind, title, bottom in zip(kinds, titles, (258, 38), strict=True):
        axes = _axes(fig, bottom, 150, title, right=14)
        _frontier(axes, demo, kind)
    axes.set_xlabel("error rate")
    said = "; ".join(
        f"eta {p.eta:g}: error {p.error_rate:.1%}, {p.violations} violations, {p.reports} reports"
        for p in demo.frontier
    )
    return _svg(fig, "frontier", f"Violations and reports against the error rate. {said}")


def _frontier(axes: Axes, demo: Demo, kind: str) -> None:
    """The frontier as a line, other learners as marks; whoever is far off, as an arrow at the top."""
    name = demo.frontier[0].learner
    line = [(100 * p.error_rate, float(getattr(p, kind))) for p in demo.frontier]
    others = [s for s in demo.shown if s.name != name]
    heeding = [s for s in others if s.transcript.learner.heeds_reports]
    best = 100 * demo.best_fair.error_rate
    rates = [best, *(x for x, _ in line), *(100 * s.summary.error_rate for s in others)]
    pad = 0.06 * (max(rates) - min(rates))
    top = 1.35 * max(1, *(y for _, y in line), *(getattr(s.summary, kind) for s in heeding))
    axes.set(xlim=(min(rates) - pad, max(rates) + pad), ylim=(-0.12 * top, top))
    axes.xaxis.set_major_formatter(PERCENT)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    blue = COLOURS.get(name, INK)
    axes.plot(*zip(*line, strict=True), color=blue, marker="o", ms=6)
    axes.plot([best], [0], "D", mfc="white", mec=INK, ms=7)
    labels = [(x, y, _eta(p.eta), blue) for (x, y), p in zip(line, demo.frontier, strict=True)]
    labels[0] = (*line[0], f"{name}, eta = {labels[0][2]}", blue)
    labels.append((best, 0.0, "best fair", INK))
    for shown in others:
        rate, count = 100 * shown.summary.error_rate, getattr(shown.summary, kind)
        mark, at, text = "s", float(count), shown.name
        if count > top:
            mark, at, text = "^", 0.94 * top, f"{shown.name}: {count:,}"
        colour = COLOURS.get(shown.name, INK)
        axes.plot([rate], [at], mark, color=colour, ms=8)
        labels.append((rate, at, text, colour))
    _place(axes, labels, line)


@STYLE
def lam_figure(demo: Demo) -> str:
    """Reports so far, and lam, the price that they set."""
    shown = [s for s in demo.shown if s.transcript.learner.heeds_reports]
    fig = _canvas(440)
    above = _axes(fig, 258, 150, "Rounds with a report so far")
    below = _axes(fig, 38, 150, "lam, the price of a report")
    _lines(above, shown, [np.cumsum(s.transcript.reported) for s in shown], "{:,.0f}")
    _lines(below, shown, [s.transcript.lam for s in shown], "{:.2f}")
    below.set_xlabel("round")
    said = _said(shown, [s.summary.lam for s in shown], "{:.2f}")
    return _svg(fig, "lam", f"Reports and lam over time; lam at the end: {said}")


@STYLE
def pivot_figure(moments: Sequence[Moment], sensitivity: int) -> str:
    """How often each auditor is the pivot, and how far apart pivots see the pairs."""
    every: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    distances: list[float] = []
    for moment in moments:
        left, right = np.triu_indices(len(moment.encounter.people), 1)
        members = (*moment.encounter.panel.members, "nobody")
        every.update(dict.fromkeys(members[:-1], 0))
        every.update(members[place] for place in moment.pivot_auditors[left, right].tolist())
        distances += (moment.pivots[left, right] / ONE).tolist()
        if moment.report:
            reported[str(case_of(moment, sensitivity).pivot)] += 1
    fig = _canvas(440)
    _pivot_bars(_axes(fig, 258, 150, "Who is the pivot", left=96, right=14), every, reported)
    axes = _axes(fig, 38, 150, "How far apart the pivots see the pairs", right=14)
    _pivot_distances(axes, distances, 1 - sensitivity / ONE)
    share = "; ".join(f"{n} {c / every.total():.0%}" for n, c in every.most_common())
    return _svg(fig, "pivots", f"How often each auditor is the pivot of a pair: {share}")


def _pivot_bars(axes: Axes, every: Counter[str], reported: Counter[str]) -> None:
    names = [name for name, _ in every.most_common()][::-1]
    rows = np.arange(len(names))
    widest = 0.0
    kinds = ((every, 0.19, "#b8b8b8", SOFT), (reported, -0.19, VERMILION, _dark(VERMILION)))
    for counts, shift, colour, ink in kinds:
        shares = [100 * counts[name] / max(1, counts.total()) for name in names]
        widest = max(widest, *shares)
        bars = axes.barh(rows + shift, shares, 0.36, color=colour)
        axes.bar_label(bars, fmt="{:.0f}\u00a0%", padding=3, size=11, color=ink)
    axes.set_yticks(rows, names)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1.15 * widest), xticks=[])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    for x, text, colour in ((0.56, "of all pairs", SOFT), (1, "of reported pairs", VERMILION)):
        axes.text(x, 1.08, text, transform=axes.transAxes, ha="right", color=_dark(colour))


def _pivot_distances(axes: Axes, distances: Sequence[float], beyond: float) -> None:
    """A histogram; pairs further apart than ``beyond`` cannot be reported, whatever the scores."""
    percent = np.full(len(distances), 100 / len(distances))
    axes.axvspan(100 * beyond, 100, color="#eeeeee", zorder=0)
    bins = np.linspace(0, 100, 21).tolist()
    axes.hist(100 * np.array(distances), bins, weights=percent, color=SOFT, rwidth=0.9)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set(xlabel="distance in points", xlim=(0, 100), ylim=(0, 1.2 * axes.get_ylim()[1]))
    axes.text(99, 0.99 * axes.get_ylim()[1], "never reported", ha="right", va="top", color=SOFT)


@STYLE
def round_figure(moment: Moment, sensitivity: int) -> str:
    """The people of one round by their chances, and how far each auditor would let a gap go."""
    case = case_of(moment, sensitivity)
    scores, ids = 100 * moment.deployment.scores / ONE, moment.encounter.people.ids
    rows = len(case.distances)
    fig = _canvas(250 + 30 * rows)
    axes = _axes(fig, 40, 170 + 30 * rows, f"Round {moment.t}", left=96, right=102)
    axes.set(xlim=(0, 100), ylim=(-0.7, rows + 5), xlabel="chance of approval", yticks=[])
    axes.xaxis.set_major_formatter(PERCENT)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    low, high = float(scores[case.under]), float(scores[case.over])
    for x, colour in ((low, BLUE), (high, VERMILION)):
        axes.plot([x, x], [-0.7, rows + 3], color=colour, lw=1.2, ls=DASHED, zorder=3)
    _people(axes, case, scores, ids, rows + 3)
    _tolerances(axes, case, low)
    objecting = [name for name in case.nearest_first if case.objects(name)]
    label = (
        f"Round {moment.t}: {ids[case.over]} at {high:.0f} %, {ids[case.under]} at {low:.0f} %, a "
        f"gap of {points(case.gap)} points. Objecting: {', '.join(objecting) or 'nobody'}. "
        f"Pivot: {case.pivot or 'nobody'}."
    )
    return _svg(fig, "round", label)


def _people(axes: Axes, case: Case, scores: FloatArray, ids: Sequence[str], y: float) -> None:
    """Everybody on a line, the pair with their names and the gap between them."""
    low, high = scores[case.under], scores[case.over]
    axes.text(-3, y, "applicants", ha="right", va="center")
    axes.plot([0, 100], [y, y], color=PALE, lw=1, zorder=0)
    rest = [i for i in range(len(ids)) if i not in (case.over, case.under)]
    axes.plot(scores[rest], [y] * len(rest), "o", color="#999999", ms=9, mec="white", clip_on=False)
    sides = ("right", "left") if high - low < 25 else ("center", "center")
    for i, colour, side in zip((case.under, case.over), (BLUE, VERMILION), sides, strict=True):
        axes.plot(scores[i], y, "o", color=colour, ms=12, mec="white", clip_on=False, zorder=5)
        text = f"{ids[i]}\n{scores[i]:.0f}\u00a0%"
        axes.text(scores[i], y + 0.5, text, ha=side, color=_dark(colour), weight="bold")
    axes.annotate("", (low, y - 0.8), (high, y - 0.8), arrowprops={"arrowstyle": "<->"})
    gap = f"gap {points(case.gap)} points"
    axes.text((low + high) / 2, y - 1, gap, ha="center", va="top")


def _tolerances(axes: Axes, case: Case, low: float) -> None:
    """A bar for each auditor, from the lower chance as far as they would let the other one be."""
    slack = 100 * case.sensitivity / ONE
    for row, name in enumerate(reversed(case.nearest_first)):
        distance, pivot = 100 * case.distances[name] / ONE, name == case.pivot
        colour = VERMILION if case.objects(name) else "#8a8a8a"
        edge = {"edgecolor": INK, "linewidth": 1.6} if pivot else {}
        axes.barh(row, distance, 0.5, low, color=colour)
        axes.barh(row, slack, 0.5, low + distance, color=colour, alpha=0.4)
        axes.barh(row, distance + slack, 0.5, low, color="none", **edge)
        weight = "bold" if pivot else "normal"
        verdict = "objects" if case.objects(name) else "accepts"
        axes.text(-3, row, name, ha="right", va="center", weight=weight)
        axes.text(103, row, f"{verdict} (pivot)" if pivot else verdict, va="center", weight=weight)
    seen = Patch(color="#8a8a8a", label="distance seen")
    more = Patch(color="#8a8a8a", alpha=0.4, label=f"{slack:g} points more")
    where = (0.5, (len(case.distances) + 0.45) / (len(case.distances) + 5.7))
    axes.legend(handles=[seen, more], ncols=2, frameon=False, loc="center", bbox_to_anchor=where)


def _canvas(height: int) -> Figure:
    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def _axes(
    fig: Figure, bottom: int, height: int, title: str, left: int = LEFT, right: int = RIGHT
) -> Axes:
    """Axes at a place given in points, with the title where the eye begins to read."""
    tall = fig.get_figheight() * 72
    axes = fig.add_axes(
        (left / WIDTH, bottom / tall, (WIDTH - left - right) / WIDTH, height / tall)
    )
    fig.text(4 / WIDTH, (bottom + height + 12) / tall, title, weight="bold", size=13)
    return axes


def _lines(
    axes: Axes,
    shown: Sequence[Shown],
    series: Sequence[npt.NDArray[np.generic]],
    form: str,
    more: Ends = (),
    start: int = 1,
) -> None:
    """A line for each learner from round ``start`` on, named at its end."""
    ends = list(more)
    for learner, values in zip(shown, series, strict=True):
        rounds = np.unique(np.linspace(start, len(values), 600).astype(np.int64))
        colour = COLOURS.get(learner.name, INK)
        axes.plot(rounds, values[rounds - 1], color=colour, clip_on=False)
        ends.append((float(values[-1]), f"{learner.name} {form.format(values[-1])}", colour))
    axes.set_xlim(0, len(series[0]))
    axes.set_ylim(bottom=None if start > 1 else 0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=form == "{:,.0f}"))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    places = [float(axes.transData.transform((0, y))[1]) for y, _, _ in ends]
    for at, (y, text, colour) in zip(spread(places, 16), ends, strict=True):
        shift = at - float(axes.transData.transform((0, y))[1])
        axes.annotate(text, (len(series[0]), y), (8, shift), textcoords="offset points", va="center",
                      color=_dark(colour), annotation_clip=False)  # fmt: skip


def _place(axes: Axes, labels: Sequence[Label], line: Sequence[tuple[float, float]]) -> None:
    """Write labels next to their points, where they cover no point, line or other label."""
    spots = [axes.transData.transform((x, y)) for x, y, _, _ in labels]
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    for start, end in itertools.pairwise(axes.transData.transform(list(line))):
        steps = [start + (end - start) * share for share in np.linspace(0, 1, 12)]
        taken += [(x - 1, y - 1, x + 1, y + 1) for x, y in steps]
    for (x, y), (a, b, text, colour) in zip(spots, labels, strict=True):
        size = (6.9 * len(text), 13.0)
        dx, dy = beside((x, y), size, taken, axes.bbox.extents)
        taken.append((x + dx, y + dy, x + dx + size[0], y + dy + size[1]))
        axes.annotate(text, (a, b), (dx, dy + 3), textcoords="offset points", color=_dark(colour))


def _eta(eta: float) -> str:
    """A setting of eta as people say it: 1/4."""
    return str(Fraction(eta).limit_denominator(1024))


def _dark(colour: str) -> str:
    """The colour dark enough for text on white."""
    return str(to_hex([0.7 * part for part in to_rgb(colour)]))


def _said(shown: Sequence[Shown], values: Sequence[float], form: str) -> str:
    return ", ".join(f"{s.name} {form.format(v)}" for s, v in zip(shown, values, strict=True))


def _svg(fig: Figure, key: str, label: str) -> str:
    text = io.StringIO()
    fig.savefig(text, format="svg", metadata={"Date": None})
    return inline(text.getvalue(), key, label)
