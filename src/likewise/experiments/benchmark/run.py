"""All rows of the benchmark in one run, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from likewise.errors import ParameterError
from likewise.experiments.benchmark import draws, games, gpu, players, start
from likewise.experiments.benchmark.items import Item, Skipped
from likewise.experiments.benchmark.machine import machine

__all__ = ["ROWS", "run_benchmark"]

Row = Callable[[bool], Item | list[Item] | list[Item | Skipped]]

# Every row by name; some give several items.
ROWS: Mapping[str, Row] = {
    "pool": draws.pool_draws,
    "staircases": draws.staircase_draws,
    "segments": draws.segment_draws,
    "boolean": draws.boolean_draws,
    "exact": players.exact_round,
    "rounds": players.rounds,
    "state": players.state_growth,
    "simulate": games.games,
    "start": start.start_up,
    "gpu": gpu.rows,
}


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
    items: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for name in chosen:
        progress(name)
        found = ROWS[name](quick)
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, Skipped):
                skipped.append(asdict(one))
            else:
                items.append(one.to_json())
    return {"machine": machine(), "quick": quick, "items": items, "skipped": skipped}
