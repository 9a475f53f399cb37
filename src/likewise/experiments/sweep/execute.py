"""Running a sweep: what is not in its folder yet, by some processes or by a cluster."""

from __future__ import annotations

from pathlib import Path

from likewise.experiments.parallel import Progress, Workers, silent
from likewise.experiments.sweep.runs import Row, play_run, refuse_early
from likewise.experiments.sweep.spec import Sweep
from likewise.experiments.sweep.store import Results


def run_sweep(
    sweep: Sweep, folder: Path, workers: Workers, *, progress: Progress = silent
) -> list[Row]:
    """Play every run that has not finished, and return the rows of all, in the sweep's order.

    Whatever interrupts it, runs that have finished are kept, and it goes on with the others when it
    is called again.
    """
    refuse_early(sweep)
    results = Results(folder, sweep)
    finished = results.finished
    runs = [run for run in sweep.runs() if run.digest not in finished]
    count = len(finished)
    with results.locked():
        if runs:
            progress(sweep.title, count)
            for rows in workers.map(play_run, [(run,) for run in runs]):
                results.append(rows)
                count += 1
                progress(f"{rows[0].scenario}; {rows[0].configuration}", count)
        return results.finish()
