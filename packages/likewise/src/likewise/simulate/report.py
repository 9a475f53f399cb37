"""The demo's report: one HTML file that needs nothing else, neither a network nor a script.

Sentences and layout are in ``templates/report.html``, the look in ``templates/report.css``.
"""

from collections.abc import Sequence
from pathlib import Path

from likewise import __version__
from likewise.errors import LikewiseError, missing
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.simulate import canvas
from likewise.simulate.canvas import BLUE, INK, STYLE, VERMILION, Axes
from likewise.simulate.demo import Case, Demo, case_of, explain, points
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
    canvas.named_lines(above, every, COUNT)
    listening = [s.name for s in demo.shown if not s.learner.ignores_reports]
    canvas.named_lines(below, {name: every[name] for name in listening}, COUNT)
    below.set_xlabel("round")
    label = f"Rounds in violation, by learner: {canvas.last_values(every, COUNT)}."
    return canvas.finish(fig, "violations", label)


def error_start(rounds: int) -> int:
    """The round at which the lines of the error begin: earlier, few decisions move them far."""
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
    fixed = demo.comparators
    ends = [] if fixed is None else [
        (100 * rate, f"{name} {SHARE.format(100 * rate)}", INK)
        for rate, name in (
            (fixed.at_alpha, "alpha"), (fixed.at_alpha_less_kappa, "alpha − kappa"),
            (fixed.at_alpha_less_eps, "alpha − eps"),
        )
    ]  # fmt: skip
    canvas.named_lines(axes, rates, SHARE, ends, start=error_start(demo.game.rounds))
    axes.set_xlabel("round")
    policies = ", ".join(text for _, text, _ in ends)
    values = canvas.last_values(rates, SHARE)
    label = f"Error rate, by learner: {values}; best fixed policies: {policies}."
    return canvas.finish(fig, "error", label)


@STYLE
def round_figure(moment: Moment) -> str:
    """The people of one round by their chances, and the largest gap that each auditor accepts."""
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
    """Draw a bar for each auditor, from the lower chance up to the highest that they accept."""
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
        violations=violation_figure(demo),
        error=error_figure(demo),
        round=round_figure(demo.moment),
        command=f"likewise demo --rounds {demo.game.rounds}",
        version=__version__,
    )
