"""What the pictures need besides a plotting library: labels that keep apart, SVG fit for a page."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence

__all__ = ["Box", "beside", "inline", "spread"]

Box = tuple[float, float, float, float]


def spread(places: Sequence[float], least: float) -> list[float]:
    """The places moved up as little as needed to be ``least`` apart, in the order they have.

    >>> spread([10.0, 0.0, 1.0], 5.0)
    [10.0, 0.0, 5.0]
    """
    moved, last = list(places), -math.inf
    for i in sorted(range(len(places)), key=lambda i: (places[i], -i)):
        moved[i] = last = max(places[i], last + least)
    return moved


def beside(
    spot: tuple[float, float], size: tuple[float, float], taken: Sequence[Box], frame: Box
) -> tuple[float, float]:
    """How far from a spot to begin a label of that size, so that it covers nothing that is taken.

    Boxes are (left, bottom, right, top). To the right is best, then to the left, above, below.

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
        hits = sum(left < t[2] and t[0] < right and bottom < t[3] and t[1] < top for t in taken)
        return outside + 20.0 * hits

    return min(choices, key=cost)


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
