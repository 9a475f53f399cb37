"""All rows of the benchmark in one run, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from likewise.errors import ParameterError
from likewise.learner.oracle import compile_at_once
from studies.benchmark import draws, gpu, rounds
from studies.benchmark.items import Item, Skipped, machine

Row = Callable[[bool], Item | list[Item] | list[Item | Skipped]]

# Every row by name; some give several items.
ROWS: Mapping[str, Row] = {
    "pool": draws.pool_draws,
    "staircases": draws.staircase_draws,
    "segments": draws.segment_draws,
    "boolean": draws.boolean_draws,
    "exact": rounds.exact_round,
    "rounds": rounds.rounds,
    "state": rounds.state_growth,
    "simulate": rounds.games,
    "start": rounds.start_up,
    "gpu": gpu.rows,
}


def merged(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A report with the items that were measured anew in place of the earlier ones.

    A report of another machine, or a quick one, is not mixed with another: it takes its place.

    >>> old = {"machine": 1, "quick": False, "items": [{"name": "a"}, {"name": "b"}], "skipped": []}
    >>> merged(old, {**old, "items": [{"name": "b", "seconds": 3}]})["items"]
    [{'name': 'a'}, {'name': 'b', 'seconds': 3}]
    """
    if (before["machine"], before["quick"]) != (now["machine"], now["quick"]):
        return dict(now)
    items = {item["name"]: item for item in (*before["items"], *now["items"])}
    skipped = {item["name"]: item for item in (*before["skipped"], *now["skipped"])}
    left = [item for name, item in skipped.items() if name not in items]
    return {**now, "items": list(items.values()), "skipped": left}


def run_benchmark(
    names: Iterable[str] = (), *, quick: bool = False, progress: Callable[[str], None] = print
) -> dict[str, Any]:
    """The machine, and an item for every figure; rows by name, or all of them.

    ``quick`` takes shapes that show nothing but that every row runs.
    """
    chosen = list(names) or list(ROWS)
    for name in chosen:
        if name not in ROWS:
            raise ParameterError(
                "row", f"must be one of {', '.join(ROWS)}", name, "Leave it out for all of them."
            )
    compile_at_once()
    items: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for name in chosen:
        progress(name)
        result = ROWS[name](quick)
        for item in result if isinstance(result, list) else [result]:
            if isinstance(item, Skipped):
                skipped.append(asdict(item))
            else:
                items.append(item.to_json())
    return {"machine": machine(), "quick": quick, "items": items, "skipped": skipped}
