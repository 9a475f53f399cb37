"""The report's pictures, each an SVG with a title that can stand inside a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from likewise.experiments.canvas import (
    DASHED,
    INK,
    PERCENT,
    SOFT,
    STYLE,
    VERMILION,
    Axes,
    MaxNLocator,
    axes_on,
    canvas,
    colour_of,
    dark,
    finish,
    last_values,
    name_points,
    named_lines,
)  # fmt: skip
from likewise.experiments.comparator_lines import ROOM, Line, compare_lines, three_lines
from likewise.experiments.demo.explain import case_of, points
from likewise.experiments.demo.run import Demo, Shown
from likewise.experiments.games import fraction
from likewise.fixed_point import ONE, FloatArray, IntArray
from likewise.game import Moment

COUNT, SHARE = "{:,.0f}", "{:.1f}\u00a0%"


@STYLE
def violation_figure(demo: Demo) -> str:
    """Rounds in violation so far, for every learner; below, for those who listen to the panel."""
    fig = canvas(440)
    above = axes_on(fig, 258, 150, "Rounds in violation so far: all learners")
    below = axes_on(fig, 38, 150, "The same, without those who ignore the panel")
    every = {s.name: s.transcript.violation.cumsum() for s in demo.shown}
    above.plot([0, demo.game.rounds], [0, demo.game.rounds], color=SOFT, lw=1, ls=DASHED)
    named_lines(above, every, COUNT, [(demo.game.rounds, "every round", SOFT)])
    listening = [s.name for s in demo.shown if not s.learner.ignores_reports]
    named_lines(below, {name: every[name] for name in listening}, COUNT)
    below.set_xlabel("round")
    return finish(
        fig, "violations", f"Rounds in violation, by learner: {last_values(every, COUNT)}."
    )


def error_start(rounds: int) -> int:
    """The round at which the lines of the error begin: before, a few decisions move them far."""
    return max(5, rounds // 20)


@STYLE
def error_figure(demo: Demo) -> str:
    """The error rate up to each round, and those of the best fixed policies in hindsight."""
    fig = canvas(440)
    axes = axes_on(fig, 38, 370, "Share of wrong decisions so far")
    axes.yaxis.set_major_formatter(PERCENT)
    rates = {
        s.name: 100 * s.transcript.error.cumsum() / s.transcript.people.cumsum() for s in demo.shown
    }
    ends = [(y, f"{name} {SHARE.format(y)}", colour) for y, name, colour in _comparators(demo)]
    for y, _, colour in ends:
        axes.axhline(y, color=colour, lw=1, ls=DASHED)
    named_lines(axes, rates, SHARE, ends, start=error_start(demo.game.rounds))
    axes.set_xlabel("round")
    fixed = ", ".join(text for _, text, _ in ends)
    label = f"Error rate, by learner: {last_values(rates, SHARE)}; best fixed policies: {fixed}."
    return finish(fig, "error", label)


def _comparators(demo: Demo) -> list[Line]:
    """The three best fixed policies as lines; kappa is that of the last learner."""
    fixed = demo.comparators
    if fixed is None:
        return []
    middle = [(fixed.at_alpha_less_kappa, INK)]
    return three_lines(fixed.at_alpha, middle, fixed.at_alpha_less_eps)


@STYLE
def frontier_figure(demo: Demo) -> str:
    """Violations and reports against the error rate, for each eta."""
    fig = canvas(480 + 2 * ROOM)
    kinds = ("violations", "reports")
    titles = ("Rounds in violation, by eta", "Rounds with a report, by eta")
    for kind, title, bottom in zip(kinds, titles, (278 + ROOM, 38), strict=True):
        axes = axes_on(fig, bottom, 170, title, right=14, above=ROOM)
        _frontier(axes, demo, kind)
    axes.set_xlabel("error rate")
    words = "; ".join(
        f"{p.learner}, eta {fraction(p.eta)}: error {p.error_rate:.1%}, {p.violations} violations, "
        f"{p.reports} reports"
        for p in demo.frontier
    )
    fixed = ", ".join(f"{name} {SHARE.format(x)}" for x, name, _ in _comparators(demo))
    label = f"Violations and reports against the error rate. {words}; best fixed policies: {fixed}"
    return finish(fig, "frontier", label)


def _frontier(axes: Axes, demo: Demo, kind: str) -> None:
    """A line for each player, other learners as marks; who is far above, as a mark at the top."""
    players = list(dict.fromkeys(p.learner for p in demo.frontier))
    baselines = [s for s in demo.shown if s.name not in players]
    fixed = _comparators(demo)
    top = 1.35 * max(1, *(getattr(p, kind) for p in demo.frontier))
    near = [100 * s.summary.error_rate for s in baselines if getattr(s.summary, kind) < top]
    rates = [*(x for x, _, _ in fixed), *near, *(100 * p.error_rate for p in demo.frontier)]
    pad = max(0.5, 0.06 * (max(rates) - min(rates)))
    axes.set(xlim=(min(rates) - pad, max(rates) + pad), ylim=(-0.12 * top, top))
    axes.xaxis.set_major_formatter(PERCENT)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    labels, lines = [], []
    for name in players:
        points_of = [p for p in demo.frontier if p.learner == name]
        line = [(100 * p.error_rate, float(getattr(p, kind))) for p in points_of]
        axes.plot(*zip(*line, strict=True), color=colour_of(name), marker="o", ms=6, label=name)
        labels += [
            (*at, fraction(p.eta), colour_of(name)) for at, p in zip(line, points_of, strict=True)
        ]
        lines.append(line)
    axes.legend(loc="upper right", edgecolor="white", framealpha=1, labelcolor="linecolor")
    compare_lines(axes, fixed)
    labels += [_mark(axes, s, kind) for s in baselines]
    name_points(axes, labels, lines)


def _mark(axes: Axes, shown: Shown, kind: str) -> tuple[float, float, str, str]:
    """A square where a learner is; a triangle at the edge for one that is far above."""
    rate, count, text = 100 * shown.summary.error_rate, getattr(shown.summary, kind), shown.name
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    x, y = min(max(rate, left + 0.03 * (right - left)), right), float(count)
    if count > top:
        y, text = 0.93 * top, f"{text}: {count:,}, error {SHARE.format(rate)}"
    colour = colour_of(shown.name)
    axes.plot([x], [y], "^" if count > top else "s", color=colour, ms=8)
    return x, y, text, colour


@STYLE
def lam_figure(demo: Demo) -> str:
    """Reports so far, and lam, the price that they set."""
    fig = canvas(440)
    listening = [s for s in demo.shown if not s.learner.ignores_reports]
    reports = {s.name: s.transcript.reported.cumsum() for s in listening}
    lam = {s.name: s.transcript.lam for s in listening}
    named_lines(axes_on(fig, 258, 150, "Rounds with a report so far"), reports, COUNT)
    below = axes_on(fig, 38, 150, "lam, the price of a report")
    named_lines(below, lam, "{:.2f}")
    below.set_xlabel("round")
    return finish(
        fig, "lam", f"Reports and lam over time; lam at the end: {last_values(lam, '{:.2f}')}."
    )


@STYLE
def pivot_figure(moments: Sequence[Moment], sensitivity: int) -> str:
    """How often each auditor is the pivot: of all pairs, and of those that were reported."""
    every: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    for moment in moments:
        members = (*moment.encounter.panel.members, "nobody")
        every.update(dict.fromkeys(members[:-1], 0))
        every.update(members[index] for index in _upper(moment.pivot_auditors).tolist())
        if moment.report:
            reported[str(case_of(moment, sensitivity).pivot)] += 1
    fig = canvas(270)
    _pivot_bars(axes_on(fig, 14, 220, "Who is the pivot", left=100, right=14), every, reported)
    share = "; ".join(f"{n} {c / every.total():.0%}" for n, c in every.most_common())
    return finish(fig, "pivots", f"How often each auditor is the pivot of a pair: {share}")


@STYLE
def distance_figure(moments: Sequence[Moment], sensitivity: int) -> str:
    """How far apart the pivots see the pairs."""
    distances = np.concatenate([_upper(moment.pivots) for moment in moments]) / ONE
    fig = canvas(270)
    axes = axes_on(fig, 38, 196, "How far apart the pivots see the pairs", right=14)
    _pivot_distances(axes, distances, 1 - sensitivity / ONE)
    low, middle, high = (points(int(ONE * q)) for q in np.quantile(distances, (0.25, 0.5, 0.75)))
    quartiles = f"a quarter up to {low}, half up to {middle}, three quarters up to {high}"
    return finish(
        fig, "distances", f"Distances of pairs in points, as their pivots see: {quartiles}."
    )


def _upper(square: IntArray) -> IntArray:
    """Every pair once."""
    return np.asarray(square[np.triu_indices(len(square), 1)])


def _pivot_bars(axes: Axes, every: Counter[str], reported: Counter[str]) -> None:
    names = [name for name, _ in every.most_common()][::-1]
    rows = np.arange(len(names))
    widest = 0.0
    kinds = ((every, 0.21, "#b8b8b8", SOFT), (reported, -0.21, VERMILION, dark(VERMILION)))
    for counts, shift, colour, ink in kinds:
        shares = [100 * counts[name] / max(1, counts.total()) for name in names]
        widest = max(widest, *shares)
        bars = axes.barh(rows + shift, shares, 0.4, color=colour)
        axes.bar_label(bars, fmt="{:.0f}\u00a0%", padding=3, size=12, color=ink)
    axes.set_yticks(rows, names)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0, 1.15 * widest), xticks=[])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    for x, text, colour in ((0.56, "of all pairs", SOFT), (1, "of reported pairs", VERMILION)):
        y = 1 + 12 / axes.bbox.height  # as high as the title
        axes.text(x, y, text, transform=axes.transAxes, ha="right", color=dark(colour))


def _pivot_distances(axes: Axes, distances: FloatArray, beyond: float) -> None:
    """A histogram; pairs further apart than ``beyond`` cannot be reported, whatever the scores."""
    percent = np.full(len(distances), 100 / len(distances))
    axes.axvspan(100 * beyond, 100, color="#e6e6e6", zorder=0)
    bins = np.linspace(0, 100, 21).tolist()
    axes.hist(100 * distances, bins, weights=percent, color=SOFT, rwidth=0.9)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set(xlabel="distance in points", xlim=(0, 100), ylim=(0, 1.25 * axes.get_ylim()[1]))
    fits = beyond < 0.86  # the wider of the two words needs about an eighth of the width
    x, side, text = (
        (50 + 50 * beyond, "center", "never\nreported")
        if fits
        else (100 * beyond - 1, "right", "never reported \u2192")
    )
    axes.text(x, 0.98 * axes.get_ylim()[1], text, ha=side, va="top", color=SOFT, size=12)
