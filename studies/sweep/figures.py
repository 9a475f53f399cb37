"""The points of a sweep as a figure: a row for every scenario, violations left and reports right.

A line is a learner over its settings, or a kappa, where one learner is played over a grid of eta
and kappa. A mark is filled where no other beats it on error, violations and reports together.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from likewise.simulate import canvas
from likewise.simulate.canvas import BLUE, INK, SOFT, VERMILION, WIDTH, Axes, Figure
from studies.sweep import tables
from studies.sweep.spec import fraction, setting_title
from studies.sweep.tables import Point

# Shapes tell lines apart without colour.
SHAPES = ("s", "o", "^", "D", "h", "P", "X", "v", "*", "<", ">", "p", "d")
# Kappas from asked early to late: colours that people who see them differently can tell apart.
KAPPAS = (BLUE, "#009E73", "#E69F00", VERMILION)
VIEWS = {"violations": "rounds in violation", "reports": "reports"}
Style = str | tuple[int, tuple[float, ...]]
COMPARATORS: Mapping[str, Style] = {
    "best fixed at alpha": (0, (1, 1.6)),
    "at alpha − kappa": (0, (4, 1.5, 1, 1.5)),
    "at alpha − eps": (0, (7, 2)),
}
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
SHOWN = 1.5  # how much larger a page with room shows a picture of its own
Looks = Mapping[str, tuple[str, str]]
"""The colour and the shape of every line, by its name."""


@canvas.STYLE
def figure_svg(points: Sequence[Point]) -> str:
    """The figure as a file, with all of its points in words for those who cannot see it."""
    fig = draw_points(points)
    words = " ".join(
        f"{scenario}{tables.fixed_words(together)}; {'; '.join(map(_words, together))}."
        for scenario, together in tables.by_scenario(points).items()
    )
    svg = canvas.finish(fig, "points", f"Rounds in violation and reports against error. {words}")
    wide, high = (round(SHOWN * 72 * inches) for inches in fig.get_size_inches())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
    return svg.replace("<svg", f'{head} font-family="sans-serif"', 1) + "\n"


def _words(point: Point) -> str:
    at = point.at()
    words = f"{point.title}, error {at.error:.1%}, {at.violations:.0f} violations"
    return f"{words}, {at.reports:.0f} reports" if point.plays else words


def draw_points(points: Sequence[Point]) -> Figure:
    """Both views of every scenario at the longest horizon, beside each other."""
    scenarios, looks = tables.by_scenario(points), _looks(points)
    handles = _legend(points, looks)
    height = 60 + 20 * -(-len(handles) // 3) + 215 * len(scenarios)
    fig = Figure(figsize=(WIDTH / 72, height / 72), dpi=72, layout="constrained")
    grid = fig.subplots(len(scenarios), len(VIEWS), sharex="row", squeeze=False)
    for row, (scenario, together) in zip(grid, scenarios.items(), strict=True):
        row[0].set_title(scenario, loc="left", size=12, weight="bold")
        for axes, count in zip(row, VIEWS, strict=True):
            _view(axes, together, count, looks)
    fig.suptitle(_head(points), size=11, x=0.01, ha="left")
    fig.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=11)
    return fig


def _head(points: Sequence[Point]) -> str:
    etas = sorted({eta for point in points if (eta := point.setting("eta"))}, reverse=True)
    listed = ", ".join(map(fraction, etas))
    along = f"Along a line of ours, from left to right: eta = {listed}.\n" if etas else ""
    return f"{along}Filled: no other beats it on error, violations and reports together."


def _legend(points: Sequence[Point], looks: Looks) -> list[Line2D]:
    """Names of the lines; without comparators where none were asked for."""
    lines: list[tuple[str, str, str, Style]]
    lines = [(name, colour, shape, "-") for name, (colour, shape) in looks.items()]
    lines.append(("fixed, in hindsight", SOFT, ".", canvas.DASHED))
    if tables.fixed_words(points):
        lines += [(name, INK, "", style) for name, style in COMPARATORS.items()]
    return [
        Line2D([], [], color=colour, marker=shape, ms=6, lw=1.2, ls=style, label=name)
        for name, colour, shape, style in lines
    ]


def of_knobs(points: Sequence[Point]) -> bool:
    """True for one learner over a grid of eta and kappa, and nobody else but hindsight."""
    playing = [point for point in points if point.plays]
    knobs = [set(point.settings) == {"eta", "kappa_share"} for point in playing]
    kappas = {point.setting("kappa_share") for point in playing}
    return all(knobs) and len({point.learner for point in playing}) == 1 < len(kappas)


def _looks(points: Sequence[Point]) -> Looks:
    """Lines are kappas where only these and eta differ, and learners elsewhere."""
    playing = [point for point in points if point.plays]
    if of_knobs(points):
        shares = sorted({point.setting("kappa_share") for point in playing}, reverse=True)
        names = [setting_title("kappa_share", share) for share in shares]
        colours = list(KAPPAS)
    else:
        names = list(dict.fromkeys(point.learner for point in playing))
        colours = [canvas.colour_of(name) for name in names]
    return dict(zip(names, zip(cycle(colours), cycle(SHAPES), strict=False), strict=False))


def _line_of(point: Point, looks: Looks) -> str:
    if point.learner in looks or not point.plays:
        return point.learner
    return setting_title("kappa_share", point.setting("kappa_share"))


def _view(axes: Axes, points: Sequence[Point], count: str, looks: Looks) -> None:
    """One count against error; nobody audits a fixed policy in hindsight, so it has no reports."""
    best = tables.on_the_frontier(points)
    for name, (colour, shape) in looks.items():
        line = [point for point in points if _line_of(point, looks) == name]
        places = [_place(point, count) for point in line]
        axes.plot(*zip(*places, strict=True), color=colour, lw=1.2, alpha=0.7)
        for point, place in zip(line, places, strict=True):
            filled = colour if point in best else "white"
            axes.plot(*place, color=colour, marker=shape, mfc=filled, ms=6, clip_on=False)
    fixed = sorted(_place(point, count) for point in points if not point.plays)
    if fixed and count == "violations":
        axes.plot(*zip(*fixed, strict=True), color=SOFT, lw=1.2, ls=canvas.DASHED, marker=".")
    _comparators(axes, points, looks)
    _scale(axes, points, count)


def _place(point: Point, count: str) -> tuple[float, float]:
    return 100 * point.at().error, getattr(point.at(), count)


def _comparators(axes: Axes, points: Sequence[Point], looks: Looks) -> None:
    """Upright lines at the best fixed policies; where lines are learners, of our least kappa."""
    own = [name for name in looks if name.startswith("kappa")]
    fixed = tables.fixed_of(points, own or tables.kappas_of(points))
    if fixed is None:
        return
    at_alpha, less_kappa, less_eps = COMPARATORS.values()
    axes.axvline(100 * fixed.at_alpha, color=INK, lw=1.2, ls=at_alpha, zorder=1)
    for word, rate in [*fixed.at_alpha_less_kappa.items()][: len(own) or 1]:
        colour = looks[word][0] if own else INK
        axes.axvline(100 * rate, color=colour, lw=1.2, ls=less_kappa, zorder=1)
    axes.axvline(100 * fixed.at_alpha_less_eps, color=INK, lw=1.2, ls=less_eps, zorder=1)


def _scale(axes: Axes, points: Sequence[Point], count: str) -> None:
    """Per cent to the right; upwards a scale of counts that can show 0."""
    low = min(_place(point, count)[1] for point in points if point.plays) / 2
    high = 2 * max(1.0, *(_place(point, count)[1] for point in points))
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_ylim(low if low > 1 else -0.4, high)
    ticks = [tick for tick in TICKS if axes.get_ylim()[0] <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(canvas.PERCENT)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(4))
    axes.set_xlabel("error", size=12)
    axes.set_ylabel(VIEWS[count], size=12)
