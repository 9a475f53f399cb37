"""The benchmark as tables: for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def amount(seconds: float | None) -> str:
    """A time with three digits.

    >>> amount(0.00512), amount(12.3456), amount(None)
    ('5.12 ms', '12.3 s', '–')
    """
    if seconds is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _kept(item: Mapping[str, Any]) -> str:
    return {True: "yes", False: "no", None: "–"}[item["met"]]


def _ratio(item: Mapping[str, Any]) -> str:
    return "–" if item["ratio"] is None else f"{item['ratio']:.3g}"


def _limit(item: Mapping[str, Any]) -> str:
    """The time that the machine needs at least by some measure, and our distance to it."""
    limit = item["details"].get("limit_seconds")
    if limit is None:
        return "–"
    return f"{amount(limit)} ({item['details']['limit']}), {item['seconds'] / limit:.3g} times that"


def where(report: Mapping[str, Any]) -> str:
    """The machine in a sentence."""
    m = report["machine"]
    libraries = ("python", "numpy", "numba", "torch", "triton")
    versions = [f"{name} {m[name]}" for name in libraries if m[name]]
    parts = [part for part in (m["processor"], f"{m['cores']} cores", m["gpu"]) if part]
    return f"{', '.join(parts)}; {', '.join(versions)}."


def _checks(report: Mapping[str, Any]) -> str:
    """Counts of what was compared with the reference engine, or exact sums, and what differed."""
    counts = [
        f"`{item['name']}` {count:,} {key.removesuffix('_checked').replace('_', ' ')} "
        f"({item['details'][key.replace('_checked', '_wrong')]} differ)"
        for item in report["items"]
        for key, count in item["details"].items()
        if key.endswith("_checked")
    ]
    return f"Checked in the same run: {'; '.join(counts)}." if counts else ""


def markdown(report: Mapping[str, Any]) -> str:
    """The items as a table, and the machine below it."""
    lines = [
        "| what | shape | ours | reference | ratio | asked | kept | limit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for item in report["items"]:
        reference = amount(item["reference_seconds"])
        if item["reference"]:
            reference += f" ({item['reference']})"
        cells = (
            f"`{item['name']}`: {item['what']}", item["shape"].replace("|", "\\|"),
            amount(item["seconds"]), reference, _ratio(item), item["asked"] or "–", _kept(item),
            _limit(item),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"Measured on: {where(report)}", *filter(None, [_checks(report)])]
    for item in report["items"]:
        processor = item["details"].get("processor_seconds")
        if processor is not None:
            lines.append(
                f"`{item['name']}` takes {amount(processor)} of processor time, which two idle "
                f"cores share: {amount(processor / 2)}."
            )
    lines += [
        f"Not measured there: `{row['name']}` ({row['why']})." for row in report["skipped"][:1]
    ]
    return "\n".join(lines)


def plain(report: Mapping[str, Any]) -> str:
    """The items in columns, for a terminal."""
    rows = [("", "ours", "reference", "ratio", "asked", "kept")]
    rows += [
        (
            item["name"], amount(item["seconds"]), amount(item["reference_seconds"]),
            _ratio(item), item["asked"] or "–", _kept(item),
        )
        for item in report["items"]
    ]  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines += [f"{row['name']}: not measured, {row['why']}" for row in report["skipped"]]
    return "\n".join([where(report), *lines])
