"""How an alarm on rising reports behaves: false alarms without a change, delays after a doubling.

Batches are drawn from 2,000 applicants of ``loans``, and a model scores them. Its chances are a
logistic function of the bureau's score; a steeper one has twice the share of reported pairs.

    python -m studies.monitoring      # writes its rows and its tables
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from likewise.audits.monitor import MATCHINGS, Monitor, matchings
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Panel
from likewise.simulate.loans import SCHEMA, applicants, five_auditors
from studies.pages import Study, table

ALPHA, FLAT = 0.2, 60.0
PANEL = Panel(five_auditors(1.0), "majority")
FIRST = (5, 15)
NAIVE = "stated, all pairs as if independent"


@cache
def population() -> tuple[FloatArray, FloatArray]:
    """The bureau's scores of 2,000 applicants, and the panel's distances between them."""
    x, _ = applicants(Stream(1, Purpose.WORLD, 1), 2000, luck=0.05, harshness=60.0)
    return x[:, 0], PANEL.pivots(SCHEMA.encoded(x)).distance / ONE


@cache
def reported(width: float) -> Any:
    """Test all pairs for a report, when chances are logistic in the score with that width."""
    score, distance = population()
    chances = 1 / (1 + np.exp(-(score - 590) / width))
    return np.abs(chances[:, None] - chances) > distance + ALPHA


def share(width: float) -> float:
    """The share of reported pairs, of two people who are drawn one after the other."""
    return float(reported(width).mean())


@cache
def steep() -> float:
    """The width at which the share is twice that of :data:`FLAT`, by bisection."""
    low, high = 10.0, FLAT
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) > 2 * share(FLAT) else (low, middle)
    return high


def monitors(seed: int) -> dict[str, Monitor]:
    stated = share(FLAT)
    return {
        "stated": Monitor(PANEL, ALPHA, stated, seed=seed),
        **{f"first {n}": Monitor(PANEL, ALPHA, n, seed=seed) for n in FIRST},
        NAIVE: Monitor(PANEL, ALPHA, stated, seed=seed),
    }


def first_alarms(seed: int, size: int, batches: int, change: int | None) -> dict[str, int | None]:
    """The batch of the first alarm by baseline, when the model turns steep after ``change``."""
    watching = monitors(seed)
    rng = np.random.default_rng([seed, size])
    for number in range(1, batches + 1):
        table = reported(FLAT if change is None or number <= change else steep())
        people = rng.integers(0, len(table), size)
        left, right = matchings(size, MATCHINGS, rng)
        counts = table[people[left], people[right]].sum(axis=1)
        for name, monitor in watching.items():
            if name == NAIVE:  # every pair that was looked at, as if no two shared a person
                monitor.record(counts.sum(keepdims=True), left.size, size)
            else:
                monitor.record(counts, left.shape[1], size)
    return {
        name: next((n for n, b in enumerate(monitor.batches, 1) if b.alarm), None)
        for name, monitor in watching.items()
    }


def measured(streams: int, delays: int) -> Iterator[dict[str, Any]]:
    """Rows: the shares, false alarms for batches of 200, and delays for three sizes."""
    yield {"kind": "shares", "before": share(FLAT), "after": share(steep())}
    alarms = [first_alarms(seed, 200, 100, None) for seed in range(1, streams + 1)]
    for name in alarms[0]:
        raised = sum(row[name] is not None for row in alarms)
        yield {"kind": "no change", "baseline": name, "size": 200, "batches": 100,
               "streams": streams, "alarms": raised}  # fmt: skip
    for size in (100, 200, 500):
        later = [first_alarms(seed, size, 60, 20) for seed in range(1, delays + 1)]
        for name in (n for n in later[0] if n != NAIVE):
            raised_at = [row[name] for row in later if row[name] is not None]
            late = [n - 20 for n in raised_at if n is not None and n > 20]
            yield {"kind": "doubling", "baseline": name, "size": size, "batches": 60,
                   "streams": delays, "alarms": len(late), "early": len(raised_at) - len(late),
                   "delay": float(np.median(late)) if late else None,
                   "delay_90": float(np.quantile(late, 0.9)) if late else None}  # fmt: skip


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    shares = rows[0]
    quiet = (
        (r["baseline"], str(r["batches"]), str(r["size"]), f"{r['streams']:,}",
         f"{100 * r['alarms'] / r['streams']:.1f} %")
        for r in rows if r["kind"] == "no change"
    )  # fmt: skip
    doubled = (
        (r["baseline"], str(r["size"]), f"{r['streams']:,}",
         f"{100 * r['alarms'] / r['streams']:.1f} %", f"{r['delay']:g} ({r['delay_90']:g})")
        for r in rows if r["kind"] == "doubling"
    )  # fmt: skip
    return "\n\n".join([
        f"Share of reported pairs: {100 * shares['before']:.2f} %; after the change "
        f"{100 * shares['after']:.2f} %.",
        table(("baseline", "batches", "people a batch", "streams without change", "with an alarm"),
              quiet),
        table(("baseline", "people a batch", "streams that double after batch 20",
               "alarm by batch 60", "delay in batches, median (nine in ten)"), doubled),
    ])  # fmt: skip


STUDY = Study("monitoring", "monitoring.json", "results.md", markdown)

if __name__ == "__main__":
    STUDY.keep(list(measured(streams=1000, delays=200)))
