"""The demo's report: one HTML file that needs nothing else, neither a network nor a script.

Sentences and layout are in ``templates/report.html``, the look in ``templates/report.css``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from likewise import __version__
from likewise.errors import LikewiseError, missing
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.simulate import canvas
from likewise.simulate.canvas import BLUE, INK, SOFT, STYLE, VERMILION, Axes
from likewise.simulate.demo import Case, Demo, Shown, case_of, explain, points
from likewise.simulate.game import fraction
from likewise.simulate.learners import learner_summary
from likewise.simulate.rounds import EVALUATION_DRAWS, Moment

COUNT, SHARE = "{:,.0f}", "{:.1f}\u00a0%"


@STYLE
def violation_figure(demo: Demo) -> str:
    """Rounds in violation so far, for every learner; below, for those who listen to the panel."""
    fig = canvas.canvas(440)
    above = canvas.axes_on(fig, 258, 150, "Rounds in violation so far: all learners")
    below = canvas.axes_on(fig, 38, 150, "The same, without those who ignore the panel")
    every = {s.name: s.transcript.violation.cumsum() for s in demo.shown}
    above.plot([0, demo.game.rounds], [0, demo.game.rounds], color=SOFT, lw=1, ls=canvas.DASHED)
    canvas.named_lines(above, every, COUNT, [(demo.game.rounds, "every round", SOFT)])
    listening = [s.name for s in demo.shown if not s.learner.ignores_reports]
    canvas.named_lines(below, {name: every[name] for name in listening}, COUNT)
    below.set_xlabel("round")
    label = f"Rounds in violation, by learner: {canvas.last_values(every, COUNT)}."
    return canvas.finish(fig, "violations", label)


def error_start(rounds: int) -> int:
    """The round at which the lines of the error begin: before, a few decisions move them far."""
    return max(5, rounds // 20)


@STYLE
def error_figure(demo: Demo) -> str:
    """The error rate up to each round, and those of the best fixed policies in hindsight."""
    fig = canvas.canvas(440)
    axes = canvas.axes_on(fig, 38, 370, "Share of wrong decisions so far")
    axes.yaxis.set_major_formatter(canvas.PERCENT)
    rates = {
        s.name: 100 * s.transcript.error.cumsum() / s.transcript.people.cumsum() for s in demo.shown
    }
    ends = [(y, f"{name} {SHARE.format(y)}", colour) for y, name, colour in _comparators(demo)]
    for y, _, colour in ends:
        axes.axhline(y, color=colour, lw=1, ls=canvas.DASHED)
    canvas.named_lines(axes, rates, SHARE, ends, start=error_start(demo.game.rounds))
    axes.set_xlabel("round")
    fixed = ", ".join(text for _, text, _ in ends)
    label = (
        f"Error rate, by learner: {canvas.last_values(rates, SHARE)}; best fixed policies: {fixed}."
    )
    return canvas.finish(fig, "error", label)


def _comparators(demo: Demo) -> list[canvas.Line]:
    """The three best fixed policies as lines; kappa is that of the last learner."""
    fixed = demo.comparators
    if fixed is None:
        return []
    middle = [(fixed.at_alpha_less_kappa, INK)]
    return canvas.three_lines(fixed.at_alpha, middle, fixed.at_alpha_less_eps)


@STYLE
def frontier_figure(demo: Demo) -> str:
    """Violations and reports against the error rate, for each eta."""
    fig = canvas.canvas(480 + 2 * canvas.ROOM)
    kinds = ("violations", "reports")
    titles = ("Rounds in violation, by eta", "Rounds with a report, by eta")
    for kind, title, bottom in zip(kinds, titles, (278 + canvas.ROOM, 38), strict=True):
        axes = canvas.axes_on(fig, bottom, 170, title, right=14, above=canvas.ROOM)
        _frontier(axes, demo, kind)
    axes.set_xlabel("error rate")
    words = "; ".join(
        f"{p.learner}, eta {fraction(p.eta)}: error {100 * p.summary.error_rate:.1f} %, "
        f"{p.summary.violations} violations, {p.summary.reports} reports"
        for p in demo.frontier
    )
    fixed = ", ".join(f"{name} {SHARE.format(x)}" for x, name, _ in _comparators(demo))
    label = f"Violations and reports against the error rate. {words}; best fixed policies: {fixed}"
    return canvas.finish(fig, "frontier", label)


def _frontier(axes: Axes, demo: Demo, kind: str) -> None:
    """A line for each player, other learners as marks; who is far above, as a mark at the top."""
    players = list(dict.fromkeys(p.learner for p in demo.frontier))
    baselines = [s for s in demo.shown if s.name not in players]
    fixed = _comparators(demo)
    top = 1.35 * max(1, *(getattr(p.summary, kind) for p in demo.frontier))
    near = [100 * s.summary.error_rate for s in baselines if getattr(s.summary, kind) < top]
    rates = [*(x for x, _, _ in fixed), *near, *(100 * p.summary.error_rate for p in demo.frontier)]
    pad = max(0.5, 0.06 * (max(rates) - min(rates)))
    axes.set(xlim=(min(rates) - pad, max(rates) + pad), ylim=(-0.12 * top, top))
    axes.xaxis.set_major_formatter(canvas.PERCENT)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(canvas.MaxNLocator(4, integer=True))
    labels, lines = [], []
    for name in players:
        points_of = [p for p in demo.frontier if p.learner == name]
        line = [(100 * p.summary.error_rate, float(getattr(p.summary, kind))) for p in points_of]
        colour = canvas.colour_of(name)
        axes.plot(*zip(*line, strict=True), color=colour, marker="o", ms=6, label=name)
        etas = [fraction(p.eta) for p in points_of]
        labels += [(*at, eta, colour) for at, eta in zip(line, etas, strict=True)]
        lines.append(line)
    axes.legend(loc="upper right", edgecolor="white", framealpha=1, labelcolor="linecolor")
    canvas.compare_lines(axes, fixed)
    labels += [_mark(axes, s, kind) for s in baselines]
    canvas.name_points(axes, labels, lines)


def _mark(axes: Axes, shown: Shown, kind: str) -> tuple[float, float, str, str]:
    """A square where a learner is; a triangle at the edge for one that is far above."""
    rate, count, text = 100 * shown.summary.error_rate, getattr(shown.summary, kind), shown.name
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    x, y = min(max(rate, left + 0.03 * (right - left)), right), float(count)
    if count > top:
        y, text = 0.93 * top, f"{text}: {count:,}, error {SHARE.format(rate)}"
    colour = canvas.colour_of(shown.name)
    axes.plot([x], [y], "^" if count > top else "s", color=colour, ms=8)
    return x, y, text, colour


@STYLE
def lam_figure(demo: Demo) -> str:
    """Reports so far, and lam, the price that they set."""
    fig = canvas.canvas(440)
    listening = [s for s in demo.shown if not s.learner.ignores_reports]
    reports = {s.name: s.transcript.reported.cumsum() for s in listening}
    lam = {s.name: s.transcript.lam for s in listening}
    canvas.named_lines(canvas.axes_on(fig, 258, 150, "Rounds with a report so far"), reports, COUNT)
    below = canvas.axes_on(fig, 38, 150, "lam, the price of a report")
    canvas.named_lines(below, lam, "{:.2f}")
    below.set_xlabel("round")
    label = f"Reports and lam over time; lam at the end: {canvas.last_values(lam, '{:.2f}')}."
    return canvas.finish(fig, "lam", label)


@STYLE
def pivot_figure(moments: Sequence[Moment]) -> str:
    """How often each auditor is the pivot: of all pairs, and of those that were reported."""
    every: Counter[str] = Counter()
    reported: Counter[str] = Counter()
    for moment in moments:
        members = (*moment.encounter.panel.members, "nobody")
        every.update(dict.fromkeys(members[:-1], 0))
        every.update(members[index] for index in _upper(moment.pivot_auditors).tolist())
        if moment.report:
            reported[str(case_of(moment).pivot)] += 1
    fig = canvas.canvas(270)
    axes = canvas.axes_on(fig, 14, 220, "Who is the pivot", left=100, right=14)
    _pivot_bars(axes, every, reported)
    share = "; ".join(f"{n} {100 * c / every.total():.0f} %" for n, c in every.most_common())
    return canvas.finish(fig, "pivots", f"How often each auditor is the pivot of a pair: {share}")


@STYLE
def distance_figure(moments: Sequence[Moment], sensitivity: int) -> str:
    """How far apart the pivots see the pairs."""
    distances = np.concatenate([_upper(moment.pivots) for moment in moments]) / ONE
    fig = canvas.canvas(270)
    axes = canvas.axes_on(fig, 38, 196, "How far apart the pivots see the pairs", right=14)
    _pivot_distances(axes, distances, 1 - sensitivity / ONE)
    low, middle, high = (points(int(ONE * q)) for q in np.quantile(distances, (0.25, 0.5, 0.75)))
    quartiles = f"a quarter up to {low}, half up to {middle}, three quarters up to {high}"
    label = f"Distances of pairs in points, as their pivots see: {quartiles}."
    return canvas.finish(fig, "distances", label)


def _upper(square: IntArray) -> IntArray:
    """Every pair once."""
    return np.asarray(square[np.triu_indices(len(square), 1)])


def _pivot_bars(axes: Axes, every: Counter[str], reported: Counter[str]) -> None:
    names = [name for name, _ in every.most_common()][::-1]
    rows = np.arange(len(names))
    widest = 0.0
    kinds = ((every, 0.21, "#b8b8b8", SOFT), (reported, -0.21, VERMILION, canvas.dark(VERMILION)))
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
        axes.text(x, y, text, transform=axes.transAxes, ha="right", color=canvas.dark(colour))


def _pivot_distances(axes: Axes, distances: FloatArray, beyond: float) -> None:
    """A histogram; pairs further apart than ``beyond`` cannot be reported, whatever the scores."""
    percent = np.full(len(distances), 100 / len(distances))
    axes.axvspan(100 * beyond, 100, color="#e6e6e6", zorder=0)
    bins = np.linspace(0, 100, 21).tolist()
    axes.hist(100 * distances, bins, weights=percent, color=SOFT, rwidth=0.9)
    axes.yaxis.set_major_formatter(canvas.PERCENT)
    axes.yaxis.set_major_locator(canvas.MaxNLocator(4))
    axes.set(xlabel="distance in points", xlim=(0, 100), ylim=(0, 1.25 * axes.get_ylim()[1]))
    x, side, text = 50 + 50 * beyond, "center", "never\nreported"
    if beyond >= 0.86:  # the wider of the two words needs about an eighth of the width
        x, side, text = 100 * beyond - 1, "right", "never reported \u2192"
    axes.text(x, 0.98 * axes.get_ylim()[1], text, ha=side, va="top", color=SOFT, size=12)


@STYLE
def round_figure(moment: Moment) -> str:
    """The people of one round by their chances, and how far each auditor would let a gap go."""
    case = case_of(moment)
    scores, ids = 100 * moment.deployment.scores, moment.encounter.people.ids
    rows = len(case.distances)
    fig = canvas.canvas(250 + 30 * rows)
    title = f"Round {moment.t}: {'a pair is reported' if case.reported else 'no report'}"
    axes = canvas.axes_on(fig, 40, 170 + 30 * rows, title, left=100, right=130)
    axes.set(xlim=(0, 100), ylim=(-0.7, rows + 5), xlabel="chance of approval", yticks=[])
    axes.xaxis.set_major_formatter(canvas.PERCENT)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    low, high = float(scores[case.under]), float(scores[case.over])
    for x, colour in ((low, BLUE), (high, VERMILION)):
        axes.plot([x, x], [-0.7, rows + 3], color=colour, lw=1.2, ls=canvas.DASHED, zorder=3)
    _people(axes, case, scores, ids, rows + 3)
    _tolerances(axes, case, low)
    objecting = [name for name in case.nearest_first if case.objects(name)]
    label = (
        f"Round {moment.t}: {ids[case.over]} at {high:.0f} %, {ids[case.under]} at {low:.0f} %, a "
        f"gap of {points(case.gap)} points. Objecting: {', '.join(objecting) or 'nobody'}. "
        f"Pivot: {case.pivot or 'nobody'}."
    )
    return canvas.finish(fig, "round", label)


def _people(axes: Axes, case: Case, scores: FloatArray, ids: Sequence[str], y: float) -> None:
    """Everybody on a line, the pair with their names and the gap between them."""
    low, high = scores[case.under], scores[case.over]
    axes.text(-3, y, "applicants", ha="right", va="center")
    axes.plot([0, 100], [y, y], color=canvas.PALE, lw=1, zorder=0)
    rest = [i for i in range(len(ids)) if i not in (case.over, case.under)]
    axes.plot(scores[rest], [y] * len(rest), "o", color="#999999", ms=9, mec="white", clip_on=False)
    sides = ("right", "left") if high - low < 25 else ("center", "center")
    for i, colour, side in zip((case.under, case.over), (BLUE, VERMILION), sides, strict=True):
        axes.plot(scores[i], y, "o", color=colour, ms=12, mec="white", clip_on=False, zorder=5)
        text = f"{ids[i]}\n{scores[i]:.0f}\u00a0%"
        axes.text(scores[i], y + 0.5, text, ha=side, color=canvas.dark(colour), weight="bold")
    axes.annotate("", (low, y - 0.8), (high, y - 0.8), arrowprops={"arrowstyle": "<->"})
    gap = f"gap {points(case.gap)} points"
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text((low + high) / 2, y - 1.1, gap, ha="center", va="top", bbox=white, zorder=4)


def _tolerances(axes: Axes, case: Case, low: float) -> None:
    """A bar for each auditor, from the lower chance as far as they would let the other one be."""
    slack = 100 * case.sensitivity / ONE
    for row, name in enumerate(reversed(case.nearest_first)):
        distance, pivot = 100 * case.distances[name] / ONE, name == case.pivot
        colour = VERMILION if case.objects(name) else "#8a8a8a"
        axes.barh(row, distance, 0.5, low, color=colour)
        axes.barh(row, slack, 0.5, low + distance, color=colour, alpha=0.4)
        if pivot:
            axes.barh(row, distance + slack, 0.5, low, color="none", edgecolor=INK, linewidth=1.6)
        weight = "bold" if pivot else "normal"
        verdict = "objects" if case.objects(name) else "accepts"
        axes.text(-3, row, name, ha="right", va="center", weight=weight)
        axes.text(103, row, f"{verdict} (pivot)" if pivot else verdict, va="center", weight=weight)
    distance_patch = canvas.Patch(color="#8a8a8a", label="distance seen")
    label = f"{points(case.sensitivity)} points more"
    slack_patch = canvas.Patch(color="#8a8a8a", alpha=0.4, label=label)
    where = (0.5, (len(case.distances) + 0.45) / (len(case.distances) + 5.7))
    axes.legend(
        handles=[distance_patch, slack_patch], ncols=2, edgecolor="white", framealpha=1,
        loc="center", bbox_to_anchor=where,
    )  # fmt: skip


try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise missing("The demo's report", "jinja2", "study", error) from error


def signed(number: float | None) -> str:
    """A number of things that may be below 0; a dash for none.

    >>> signed(-1234.4), signed(None)
    ('−1,234', '–')
    """
    return "–" if number is None else f"{round(number):,}".replace("-", "−")


def ceiling(number: float) -> str:
    """The most that a number of things can be; in short from a million of millions on.

    >>> ceiling(1234.4), ceiling(-3.2), ceiling(3.2e17)
    ('1,234', '−3', '3.2·10^17')
    """
    if number < 1e12:
        return signed(number)
    digits, power = f"{number:.1e}".split("e")
    return f"{digits}·10^{int(power)}"


_TEMPLATES = Environment(
    loader=PackageLoader("likewise.simulate", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
)
_TEMPLATES.filters.update(
    percent=lambda share: SHARE.format(100 * share), count=COUNT.format, signed=signed,
    ceiling=ceiling, short="{:g}".format,
)  # fmt: skip


def write_report(demo: Demo, path: str | Path) -> None:
    """Write the report; the same demo gives the same file."""
    Path(path).write_text(report_html(demo), encoding="utf-8", newline="\n")


def report_html(demo: Demo) -> str:
    """The report as one HTML page that names no address outside itself."""
    if demo.comparators is None:
        raise LikewiseError("A report shows the best fixed policies; run the demo with compare.")
    last = demo.shown[-1]
    learner = last.learner
    margins = learner.margins
    return _TEMPLATES.get_template("report.html").render(
        demo=demo,
        panel=demo.moment.encounter.panel,
        ignoring=next(s for s in demo.shown if s.learner.ignores_reports),
        last=last,
        untaught=next(s.summary.error_rate for s in demo.shown if s.name == "untaught"),
        summaries={s.name: learner_summary(s.name) for s in demo.shown},
        asked_at=margins.alpha - margins.kappa,
        error_start=error_start(demo.game.rounds),
        evaluation_draws=EVALUATION_DRAWS,
        explained=explain(demo.moment, learner),
        figures=_figures(demo),
        command=f"likewise demo --rounds {demo.game.rounds} --seed {demo.game.seed}",
        version=__version__,
    )


def _figures(demo: Demo) -> dict[str, list[str]]:
    """The pictures by name; those that stand together are in one list."""
    played = demo.shown[-1].transcript
    moments, sensitivity = played.moments, played.learner.sensitivity
    return {
        "violations": [violation_figure(demo)],
        "error": [error_figure(demo)],
        "frontier": [frontier_figure(demo)],
        "lam": [lam_figure(demo)],
        "pivots": [pivot_figure(moments), distance_figure(moments, sensitivity)],
        "round": [round_figure(demo.moment)],
    }
