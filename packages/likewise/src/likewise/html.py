"""Small pieces of HTML that notebooks show: tables, without scripts or addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = "border-collapse:collapse;font-size:0.9em"
_CELL = "padding:2px 8px;text-align:left;vertical-align:top;border-bottom:1px solid #ddd"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; everything in it is text.

    >>> "<script>" in table("t", ["a"], [["<script>"]])
    False
    """
    top = "".join(f"<th style='{_CELL}'>{escape(str(cell))}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    caption = f"<caption style='text-align:left;font-weight:bold'>{escape(title)}</caption>"
    inside = f"{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f"<table style='{_STYLE}'>{inside}</table>"


def described(title: str, facts: Iterable[tuple[str, object]]) -> str:
    return table(title, ("", ""), facts)
