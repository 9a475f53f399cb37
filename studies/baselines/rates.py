"""Proved rates of growth of the predecessors, by name and feedback."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rates:
    """Proved rates of growth, as powers of T, and their source."""

    regret: str
    violations: str
    reports: str
    source: str


PROVED = {
    ("bechavod-roth", "one-sided"): Rates("T^41/45", "T^41/45", "T^41/45", "Bechavod, Roth 2023"),
    ("exp2", "one-sided"): Rates("T^4/5", "T^4/5", "T^4/5", "Bechavod, Roth 2023"),
    ("bechavod-jung-wu", "full"): Rates("T^7/9", "T^7/9", "T^7/9", "Bechavod, Jung, Wu 2020"),
    ("gillen", "one-sided"): Rates("T^1/2", "log T", "log T", "Gillen, Jung, Kearns, Roth 2018"),
}
