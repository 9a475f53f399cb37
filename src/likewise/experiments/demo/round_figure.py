"""The picture of one round: its people by their chances, and what each auditor would accept."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.experiments.canvas import (
    BLUE,
    DASHED,
    INK,
    PALE,
    PERCENT,
    STYLE,
    VERMILION,
    Axes,
    Patch,
    axes_on,
    canvas,
    dark,
    finish,
)
from likewise.experiments.demo.explain import Case, case_of, points
from likewise.fixed_point import ONE, FloatArray
from likewise.game import Moment


@STYLE
def round_figure(moment: Moment, sensitivity: int) -> str:
    """The people of one round by their chances, and how far each auditor would let a gap go."""
    case = case_of(moment, sensitivity)
    scores, ids = 100 * moment.deployment.scores / ONE, moment.encounter.people.ids
    rows = len(case.distances)
    fig = canvas(250 + 30 * rows)
    title = f"Round {moment.t}: {'a pair is reported' if case.reported else 'no report'}"
    axes = axes_on(fig, 40, 170 + 30 * rows, title, left=100, right=130)
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
    return finish(fig, "round", label)


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
        axes.text(scores[i], y + 0.5, text, ha=side, color=dark(colour), weight="bold")
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
    distance_patch = Patch(color="#8a8a8a", label="distance seen")
    slack_patch = Patch(color="#8a8a8a", alpha=0.4, label=f"{points(case.sensitivity)} points more")
    where = (0.5, (len(case.distances) + 0.45) / (len(case.distances) + 5.7))
    axes.legend(
        handles=[distance_patch, slack_patch],
        ncols=2,
        edgecolor="white",
        framealpha=1,
        loc="center",
        bbox_to_anchor=where,
    )
