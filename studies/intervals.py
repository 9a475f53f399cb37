"""How often the intervals of an audit cover the truth, and how wide they are beside Wilson's.

python -m studies.intervals      # writes its rows and its table, in a quarter of an hour
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.audits.comparison import rate_of_pairs
from likewise.numerics.intervals import Interval, share
from likewise.panel import WeightedL1
from studies.pages import Study, table

SHARES = (0.5, 0.01, 0.999)
REPEATS = 1000
Coverage = tuple[bool, float]  # whether an interval covers the truth, and how wide it is
Trial = Callable[[np.random.Generator], tuple[Coverage, Coverage | None]]  # ours, and Wilson's


def wilson(successes: float, trials: int) -> Interval:
    """Wilson's interval of 95 %: (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n)."""
    z = 1.959963984540054
    p, square = successes / trials, z * z / trials
    centre, spread = p + square / 2, z * math.sqrt(p * (1 - p) / trials + square / (4 * trials))
    return Interval(p, (centre - spread) / (1 + square), (centre + spread) / (1 + square))


def coverage(interval: Interval, truth: float) -> Coverage:
    """Test whether the truth is in an interval, but for rounding."""
    inside = interval.low - 1e-9 <= truth <= interval.high + 1e-9
    return inside, interval.high - interval.low


def _both(successes: float, trials: int, truth: float) -> tuple[Coverage, Coverage]:
    ours, other = share(successes, trials), wilson(successes, trials)
    return coverage(ours, truth), coverage(other, truth)


def of_draws(rng: np.random.Generator, p: float, n: int) -> tuple[Coverage, Coverage]:
    """The share of draws: pairs, or decisions about a group."""
    return _both(int(rng.binomial(n, p)), n, p)


def of_people(rng: np.random.Generator, p: float, n: int) -> tuple[Coverage, Coverage]:
    """The share of 2,000 people touched, from a sample without replacement."""
    touched = round(p * 2000)
    drawn = int(rng.hypergeometric(touched, 2000 - touched, n))
    return _both(drawn, n, touched / 2000)


def of_scores(rng: np.random.Generator, p: float, n: int, strength: float) -> tuple[Coverage, None]:
    """The mean of scores within [0, 1]: the rate of a group whose scores are chances."""
    x = float(rng.beta(strength * p, strength * (1 - p), n).sum())
    return coverage(share(x, n), p), None


def of_change(rng: np.random.Generator, p: float, n: int) -> tuple[Coverage, None]:
    before, after = (share(int(rng.binomial(n, p)), n) for _ in range(2))
    return coverage(after.minus(before), 0.0), None


SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
PANEL = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")


def _audited(scores: Any, alpha: float, seed: int, most: int, alphas: Any) -> Any:
    people = SCHEMA.encoded(np.full((len(scores), 1), 50.0))
    return audit(
        people, scores, PANEL, alpha=alpha, alphas=alphas, worst=0, all_pairs_up_to=most,
        sample_pairs=1000, seed=seed, jobs=1,
    )  # fmt: skip


def of_audits(p: float, band: bool, k: int = 2000) -> Trial:
    """Audits by sample of people whose scores lie evenly: reported pairs, or the whole curve."""
    alpha = 1 - math.sqrt(p)  # of two even scores, (1 − alpha)² differ by more
    scores = (np.arange(k) + 0.5) / k
    alphas = [alpha, *np.linspace(0, 1, 21)]
    truth = _audited(scores, alpha, 1, k, alphas)
    total = truth.pairs

    def trial(rng: np.random.Generator) -> tuple[Coverage, Coverage | None]:
        audited = _audited(scores, alpha, int(rng.integers(1 << 40)), k - 1, alphas)
        if not band:
            drawn = round(audited.share.value * audited.looked_at)
            return _both(drawn, audited.looked_at, truth.share.value)
        points = zip(audited.curve, truth.curve, strict=True)
        whole = [coverage(a.pairs.times(1 / total), b.pairs.value / total) for a, b in points]
        return (all(inside for inside, _ in whole), max(width for _, width in whole)), None

    return trial


def of_months(rng: np.random.Generator, p: float, k: int) -> tuple[Coverage, None]:
    """Two months of different people, audited in full: the change of the share of pairs."""
    alpha = 1 - math.sqrt(p)
    months = [rate_of_pairs(_audited(rng.random(k), alpha, 1, k, [alpha])) for _ in range(2)]
    return coverage(months[1].minus(months[0]), 0.0), None


KINDS: dict[str, Callable[[float], Trial]] = {
    "a group's rate, 30 decisions": lambda p: partial(of_draws, p=p, n=30),
    "a group's rate, 1,000 decisions": lambda p: partial(of_draws, p=p, n=1000),
    "a group's rate, 100 scores near 0 and 1": lambda p: partial(
        of_scores, p=p, n=100, strength=0.2
    ),
    "a group's rate, 100 scores in between": lambda p: partial(of_scores, p=p, n=100, strength=5.0),
    "people touched, 64 of 2,000 drawn": lambda p: partial(of_people, p=p, n=64),
    "pairs reported, 1,000 drawn": lambda p: of_audits(p, band=False),
    "the curve, at all alphas at once": lambda p: of_audits(p, band=True),
    "change of a rate, 200 decisions each": lambda p: partial(of_change, p=p, n=200),
    "change of pairs reported, two months of 100 people": lambda p: partial(of_months, p=p, k=100),
}


def measured(kind: str, p: float, repeats: int = REPEATS, seed: int = 1) -> dict[str, Any]:
    """The share of repeats in which the interval covers, and mean widths."""
    rng = np.random.Generator(np.random.Philox([seed, list(KINDS).index(kind), int(1000 * p)]))
    trial = KINDS[kind](p)
    ours, others = zip(*(trial(rng) for _ in range(repeats)), strict=True)
    names = ("covered", "width"), ("wilson_covered", "wilson_width")
    row: dict[str, Any] = {"kind": kind, "share": p, "repeats": repeats}
    for (covered, width), outcomes in zip(names, (ours, others), strict=True):
        means = (None, None) if outcomes[0] is None else np.mean(outcomes, axis=0).tolist()
        row |= {covered: means[0], width: means[1]}
    return row


def markdown(rows: list[dict[str, Any]]) -> str:
    """The rows as a table: coverage and width, with Wilson's in brackets."""

    def cell(row: dict[str, Any]) -> str:
        ours = f"{100 * row['covered']:.1f} %, {row['width']:.3f}"
        if row["wilson_width"] is None:
            return ours
        return f"{ours} ({100 * row['wilson_covered']:.1f} %, {row['wilson_width']:.3f})"

    lines = ((kind, *(cell(row) for row in rows if row["kind"] == kind)) for kind in KINDS)
    return table(("interval", *(f"at {p}" for p in SHARES)), lines)


STUDY = Study("intervals", "intervals.json", "results.md", markdown)

if __name__ == "__main__":
    STUDY.keep([measured(kind, p) for kind in KINDS for p in SHARES])
