"""Worlds by what they are for: judging learners, or choosing their defaults. None does both."""

from __future__ import annotations

from collections.abc import Callable

from likewise.worlds import Adaptive, Admissions, Adversarial, Drift, Loans, Strategic, World

__all__ = ["CHOOSING", "ENVIRONMENTS", "JUDGING"]

Environment = Callable[[int], World]

JUDGING: dict[str, Environment] = {
    "loans": Loans,
    "drift": Drift,
    "strategic": Strategic,
    "adaptive": Adaptive,
    "adversarial": Adversarial,
}
CHOOSING: dict[str, Environment] = {
    "admissions": Admissions,
    "loans, another market": lambda seed: Loans(seed, k=4, luck=0.35, harshness=0, leniency=0.7),
}
ENVIRONMENTS = {**JUDGING, **CHOOSING}
