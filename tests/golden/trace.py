"""Play short games and print a hash of every score, decision and report, and the machine.

Run as a program, in a process of its own, since BLAS and numpy choose their kernels at start-up.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

from likewise.hypotheses import ExactWeights, HypothesisClass, Staircases
from likewise.learner import Learner, Paper, Schedule, SelfTuned
from likewise.learner.oracle import compile_at_once
from likewise.simulate import Loans, Moment, World
from likewise.simulate.rounds import play
from studies.people.admissions import Admissions

# Settings are written out, so that other defaults do not change these games.
EARLY = SelfTuned(eta=0.25, kappa=0.15, outstanding=0.0, waiting=0.0)
LATER = SelfTuned(eta=1 / 32, kappa=0.3 * 0.3)

GAMES: dict[str, tuple[World, str, Schedule, str | None]] = {
    "context-ftpl on segments": (Loans(3), "context-ftpl", EARLY, "flat"),
    "context-ftpl on a pool": (Admissions(3), "context-ftpl", EARLY, "flat"),
    "exponential weights on segments": (Loans(3), "exponential-weights", EARLY, "flat"),
    "exponential weights on a pool": (Admissions(3), "exponential-weights", EARLY, "flat"),
    "the paper's schedule": (Loans(3), "context-ftpl", Paper(40, b=0.1, noise_divisor=1e4), "flat"),
    "segments, coarse to fine": (Loans(3), "exponential-weights", LATER, None),
    "a pool, coarse to fine": (Admissions(3), "exponential-weights", LATER, None),
    "staircases, coarse to fine": (Loans(3), "exponential-weights", LATER, "staircases"),
    "nested-ftpl on segments": (Loans(3), "nested-ftpl", LATER, None),
}


def hypotheses_of(world: World, prior: str | None) -> HypothesisClass:
    """The world's own class, with its own prior or a flat one; or staircases."""
    if prior == "staircases":
        return Staircases(
            world.schema, first="score", first_cuts=list(range(350, 850, 50)),
            second="interview", second_cuts=[3, 6, 8], by=["employment"],
        )  # fmt: skip
    hypotheses = world.hypotheses()
    if prior is None:
        return hypotheses
    assert isinstance(hypotheses, ExactWeights)
    return hypotheses.with_prior(prior)


def trace(name: str) -> dict[str, object]:
    """One game: the hash of its decisions, and its counts."""
    world, player, schedule, prior = GAMES[name]
    hypotheses = hypotheses_of(world, prior)
    learner = Learner(hypotheses, world.k, 0.3, 0.3, 9, schedule=schedule, player=player)
    digest = hashlib.sha256()

    def note(moment: Moment) -> None:
        deployment = moment.deployment
        decided = [deployment.units.tolist(), deployment.approved.tolist()]
        line = [*decided, moment.policy.tolist(), moment.report]
        digest.update(json.dumps(line).encode())

    played = play(world, learner, 40, evaluation_draws=500, progress=note)
    return {
        "digest": digest.hexdigest(),
        "reports": int(played.reported.sum()),
        "violations": int(played.violation.sum()),
        "wrong": int(played.wrong.sum()),
        "oracle_calls": int(played.calls[-1]),
    }


def machine() -> dict[str, Any]:
    """What the settings under test change: BLAS kernel and threads, numpy's features, numba."""
    from numba.core.config import CPU_NAME
    from threadpoolctl import threadpool_info

    build = np._core._multiarray_umath  # type: ignore[attr-defined]
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "blas": sorted({str(pool["internal_api"]) for pool in blas}),
        "kernels": sorted({str(pool.get("architecture")) for pool in blas}),
        "threads": sorted({int(pool["num_threads"]) for pool in blas}),
        "dispatch": [name for name in build.__cpu_dispatch__ if build.__cpu_features__[name]],
        "numba": CPU_NAME,
    }


def main() -> None:
    """Print the machine; and all games, unless the machine alone is asked for."""
    if "--machine" in sys.argv:
        print(json.dumps({"machine": machine()}))
        return
    compile_at_once()
    print(json.dumps({"machine": machine(), "games": {name: trace(name) for name in GAMES}}))


if __name__ == "__main__":
    main()
