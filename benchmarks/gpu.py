"""Check and time the GPU engine, in one call of at most eight minutes.

    PYTHONPATH=src python benchmarks/gpu.py --json gpu.json

It needs PyTorch, Triton and a GPU, and nothing else but numpy. Every row is checked against the
reference engine before it is timed, and beside it plain torch is timed in the same run; a table
comes last. ``--quick`` takes small shapes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from likewise.events import Decided, Decision
from likewise.experiments.benchmark.classes import Table
from likewise.experiments.benchmark.gpu.streams import Stream, kinds, play_on_host, stream
from likewise.fixed_point import ONE
from likewise.learning import Learner, State
from likewise.learning.primal import ContextFTPL, Draws, Frozen
from likewise.learning.schedules import Paper
from likewise.randomness import Noise, Purpose
from likewise.randomness import Stream as Words

SEED = 20261115
ROWS: list[dict[str, Any]] = []
BEGAN = time.perf_counter()


def say(text: str) -> None:
    print(f"[{time.perf_counter() - BEGAN:6.1f} s] {text}", flush=True)


def row(name: str, **figures: Any) -> None:
    ROWS.append({"name": name, **figures})
    say(f"{name}: {figures}")


def milliseconds(function: Callable[[], object], repeats: int = 20) -> float:
    """The median of some runs on the device, by its own clock, after three that do not count."""
    import torch

    for _ in range(3):
        function()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return float(np.median(times))


def check_small(cases: int) -> None:
    """Random lists, ties, costs and noise of any size: the reference engine's choices."""
    import torch

    from likewise.experiments.benchmark.gpu.checks import wrong_by_reference
    from likewise.oracles.engines.gpu.lists import DeviceList

    rng = np.random.default_rng(1)
    wrong = 0
    for case in range(cases):
        size, points = int(rng.integers(2, 3000)), int(rng.choice([1, 5, 16, 31, 40]))
        copies = int(rng.choice([1, 3, 8]))
        table = Table(rng.integers(0, 2, (size, points), dtype=np.uint8))
        reach = 1 << int(rng.integers(1, 62))
        costs = rng.integers(-reach, reach, size) if case % 3 else np.full(size, reach)
        noise = Noise(
            Words(int(rng.integers(0, 1 << 62)), Purpose.ELICIT, case),
            2.0 ** rng.uniform(-24, 33) / copies, copies,
        )  # fmt: skip
        device = DeviceList(table.separating_points().T)
        choices = device.choices(torch.as_tensor(costs, device="cuda"), noise, case, 300)
        wrong += wrong_by_reference(table, costs, noise, choices, first=case)
    row("small lists", draws_checked=300 * cases, wrong=wrong)


def draws(name: str, rows: int, points: int, size: int, sample: int, asked: float) -> None:
    """Draws from a list, checked and beside plain torch."""
    import torch

    from likewise.experiments.benchmark.gpu.checks import (
        plain_torch,
        recorded,
        wrong_by_reference,
        wrong_by_sums,
    )
    from likewise.oracles.engines.gpu.lists import DeviceList

    rng = np.random.default_rng(2)
    table = Table(rng.integers(0, 2, (size, points), dtype=np.uint8))
    host_costs = rng.integers(0, 4 * ONE, size)
    costs = torch.as_tensor(host_costs, device="cuda")
    noise = Noise(Words(SEED, Purpose.ELICIT, 1), 1.0)
    scale = torch.tensor([noise.scale * ONE], dtype=torch.float64, device="cuda")
    number = torch.tensor([1], dtype=torch.int64, device="cuda")

    def draw() -> Any:
        return listed.draw(
            costs, scale, number, seed=SEED, copies=1, purpose=int(Purpose.ELICIT), first_draw=0,
            draws=rows,
        )  # fmt: skip

    listed = DeviceList(table.separating_points().T)
    choices = draw().clone()
    wrong = wrong_by_sums(listed, costs, choices)
    say(f"{name}: {wrong} of {rows} wrong by sums in float64")
    wrong_reference = wrong_by_reference(table, host_costs, noise, choices[:sample])
    least = listed.space(rows)[2]
    tiles = (least < least.amin(dim=1, keepdim=True) + points // 2 + 2).sum(dim=1)
    several = int((tiles > 1).sum())
    del least, tiles
    torch.cuda.empty_cache()
    ours = milliseconds(recorded(draw))
    reference = milliseconds(recorded(plain_torch(table, host_costs, rows)), 10)
    torch.cuda.empty_cache()
    row(
        name, draws=rows, separators=points, hypotheses=size, choices_checked=rows,
        choices_wrong=wrong, sample=sample, sample_wrong=wrong_reference,
        draws_with_several_tiles=several, ms_recorded=ours, torch_ms_recorded=reference,
        times_torch_recorded=reference / ours, asked_times=asked,
    )  # fmt: skip


def weights(size: int, k: int, rounds: int) -> None:
    """Exponential weights: the first rounds against the host, then rounds a second."""
    import torch

    from likewise.experiments.benchmark.gpu.checks import WeightedRounds, recorded

    game = WeightedRounds(size, k, rounds, SEED)
    wrong = game.wrong(8)
    replay, left = recorded(game.play), game.left
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(left):
        replay()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    row(
        "exponential weights", hypotheses=size, people=k, rounds_checked=8, wrong=wrong,
        rounds_timed=left, rounds_a_second=left / seconds, asked=5000,
    )  # fmt: skip


def learner_of(listed: Any, rounds: int, k: int, engine: str) -> Learner:
    """The paper's constants and its R, with noise under which there is something to learn."""
    schedule = Paper(rounds, noise_divisor=2_000_000.0)
    return Learner(
        listed, k, 0.3, 0.3, SEED, schedule=schedule, player="context-ftpl", engine=engine
    )


_LISTED: dict[tuple[int, ...], Any] = {}


def check_round(task: tuple[tuple[int, ...], Frozen, Any, int, Any, Any]) -> bool:
    """Draw a round again by the reference engine; in a process of its own."""
    shape, frozen, arrivals, count, scores, approved = task
    if shape not in _LISTED:
        _LISTED[shape] = kinds(*shape)
    listed, player = _LISTED[shape], ContextFTPL("reference")
    points = listed.table[arrivals]
    estimates = player.estimates(listed, frozen, points, Draws(count)).scores
    decided = player.decide(listed, frozen, points, 0)
    return estimates == scores.tolist() and bool((decided == approved).all())


def game(shape: tuple[int, int, int], k: int, rounds: int, check: int, limit: float) -> None:
    """A whole game on the device; its first rounds again on the host."""
    import torch

    from likewise.game.on_device import device_game
    from likewise.oracles.engines.gpu.games import Visitors

    listed = kinds(*shape)
    people = stream(listed, rounds, k)
    learner = learner_of(listed, rounds, k, "reference")
    began = time.perf_counter()
    played = device_game(
        learner, Visitors(listed.table, people.arrivals, people.labels, people.distances)
    )
    played.play(1)
    torch.cuda.synchronize()
    uploaded = time.perf_counter() - began
    began = time.perf_counter()
    played.play(rounds - 1)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    result = played.played()
    say(f"game: {rounds} rounds of {learner.draws(1)} draws in {seconds:.2f} s")
    figures = check_game(learner, shape, people, result, check, limit)
    row(
        "game", hypotheses=shape[0], separators=shape[1], people=k, rounds=rounds,
        draws_a_round=learner.draws(1), seconds=seconds, seconds_to_start=uploaded,
        reports=int((result.reported >= 0).sum()), asked_seconds=60, **figures,
    )  # fmt: skip


def check_game(
    learner: Learner,
    shape: tuple[int, int, int],
    people: Stream,
    result: Any,
    check: int,
    limit: float,
) -> dict[str, Any]:
    """The rounds by the learner's own events, and their draws by the reference engine.

    The device's decisions go through the fold on the host, which must find the same reports and
    multipliers. Each round's policy is then drawn from again by the reference engine, as many
    rounds as there is time for. Together that is the reference engine's game.
    """
    frozen: list[Frozen] = []

    def from_device(state: State, name: str) -> Decided:
        t = len(frozen)
        frozen.append(state.open[name].policy)
        ids = [f"p{i + 1}" for i in range(learner.k)]
        pairs = zip(ids, result.approved[t], result.scores[t].tolist(), strict=True)
        return Decided(name, tuple(Decision(i, bool(bit), score) for i, bit, score in pairs))

    _, rounds = play_on_host(learner, people, check, from_device)
    same = all(
        round_.reported == result.reported[t] and round_.lam == result.lam[t]
        for t, round_ in enumerate(rounds)
    )
    draws_ = learner.draws(1)
    order = np.random.default_rng(4).permutation(check)
    tasks = [
        (shape, frozen[t], people.arrivals[t], draws_, result.scores[t], result.approved[t])
        for t in order
    ]
    right: list[bool] = []
    until = time.perf_counter() + limit
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    cores = len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        for start in range(0, len(tasks), 2 * cores):
            if time.perf_counter() > until:
                break
            right += list(pool.map(check_round, tasks[start : start + 2 * cores]))
    return {
        "rounds_folded": check, "fold_agrees": same,
        "rounds_drawn_again": len(right), "rounds_wrong": right.count(False),
    }  # fmt: skip


def limits() -> None:
    """The ceilings of the machine: memory, and 8-bit products on the matrix units."""
    import torch

    big = torch.ones(1 << 30, dtype=torch.uint8, device="cuda")
    copy = torch.empty_like(big)
    copied = milliseconds(lambda: copy.copy_(big), 10)
    square = torch.randint(-127, 127, (8192, 8192), dtype=torch.int8, device="cuda")
    product = milliseconds(lambda: torch._int_mm(square, square.t()), 10)
    figures = {
        "copy_terabytes_a_second": 2 * big.numel() / copied / 1e9,
        "int8_teraoperations_a_second": 2 * 8192**3 / product / 1e9,
    }
    row("limits", **figures)


def attempt(name: str, function: Callable[[], None]) -> None:
    """Go on with the next row whatever happens in this one, and say what did."""
    say(name)
    try:
        function()
    except Exception as error:  # noqa: BLE001 # one call must show as much as it can
        traceback.print_exc()
        ROWS.append({"name": name, "failed": f"{type(error).__name__}: {error}"[:500]})


def holds(figures: dict[str, Any]) -> bool:
    """True for a row that was measured, with nothing wrong in it."""
    wrong = ("wrong", "choices_wrong", "sample_wrong", "rounds_wrong")
    agreed = figures.get("fold_agrees", True) and "failed" not in figures
    return agreed and not any(figures.get(key) for key in wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=Path(os.environ.get("OUT", ".")) / "gpu.json")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    import torch
    import triton

    machine = {
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
        "triton": triton.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
        "cores": len(os.sched_getaffinity(0)),
    }  # fmt: skip
    say(str(machine))
    q = options.quick
    attempt("limits", limits)
    attempt("small lists", lambda: check_small(10 if q else 40))
    attempt(
        "draws, short list",
        lambda: draws("draws, short list", 20_000, 32, 4096, 1000, 1.5),
    )
    attempt(
        "exponential weights",
        lambda: weights(1 << (14 if q else 20), 8, 2000 if q else 20_000),
    )
    attempt(
        "draws, long list",
        lambda: draws("draws, long list", 20_000, 64, 1 << (17 if q else 20), 200, 6.0),
    )
    options.json.write_text(json.dumps({"machine": machine, "rows": ROWS}, indent=1) + "\n")
    attempt(
        "game",
        lambda: game(
            (4096, 32, 224), 8, 2000 if q else 100_000, 100 if q else 1000, 20 if q else 180
        ),
    )
    options.json.write_text(json.dumps({"machine": machine, "rows": ROWS}, indent=1) + "\n")
    print(json.dumps(machine))
    for figures in ROWS:
        print("-" * 80)
        for key, value in figures.items():
            print(f"{key:28} {f'{value:.4g}' if isinstance(value, float) else value}")
    if wrong := [figures["name"] for figures in ROWS if not holds(figures)]:
        sys.exit(f"Failed or wrong: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
