"""A canvas for the reports' pictures: one look, and SVG that is fit for a page.

A learner has the same colour everywhere, from the palette of Okabe and Ito, which people who see
colours differently can tell apart.
"""

import html
import io
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
WIDTH, LEFT, RIGHT = 470, 46, 166
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
DASHED = (0, (4, 3))
PERCENT = matplotlib.ticker.StrMethodFormatter("{x:g}\u00a0%")


def canvas(height: int) -> Figure:
    """An empty figure, its height in points."""
    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def axes_on(
    fig: Figure, bottom: int, height: int, title: str, left: int = LEFT, right: int = RIGHT
) -> Axes:
    """Axes at a place given in points, with the title where the eye begins to read."""
    tall = fig.get_figheight() * 72
    wide = (WIDTH - left - right) / WIDTH
    axes = fig.add_axes((left / WIDTH, bottom / tall, wide, height / tall))
    fig.text(4 / WIDTH, (bottom + height + 12) / tall, title, weight="bold", size=14)
    return axes


def named_lines(
    axes: Axes,
    series: Mapping[str, npt.NDArray[Any]],
    form: str,
    more: Sequence[tuple[float, str, str]] = (),
    start: int = 1,
) -> None:
    """A line for each learner from round ``start`` on, named beside the axes with its last value.

    ``more`` are other heights, with their texts and colours; they are dashed.
    """
    for name, values in series.items():
        rounds = np.unique(np.linspace(start, len(values), 600).astype(np.int64))
        label = f"{name} {form.format(values[-1])}"
        axes.plot(rounds, values[rounds - 1], color=colour_of(name), label=label, clip_on=False)
        axes.set_xlim(0, len(values))
    for y, text, colour in more:
        axes.axhline(y, color=colour, lw=1, ls=DASHED, label=text)
    counts = form == "{:,.0f}"
    axes.set_ylim(None if start > 1 else 0, max(1, axes.get_ylim()[1]) if counts else None)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=counts))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.03), frameon=False, fontsize=12,
        handlelength=1.2, handletextpad=0.4, borderpad=0, labelspacing=0.3,
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
