"""Draws the first two pictures of docs/paper anew: python docs/_ext/pictures.py.

The first shows a pair before a panel, its pivot found by the library itself; the second plays the
game twice with the same applicants, with a panel and without, and draws the policies on the way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from likewise import (
    Feature,
    FeatureSchema,
    Learner,
    MetricAuditor,
    Panel,
    Segments,
    State,
    deploy,
    learn,
)
from likewise.learner.fold import current_scores
from likewise.numerics.fixed_point import ONE
from likewise.panel import WeightedL1

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "likewise", "svg.fonttype": "path", "font.size": 11})
FIGURES = Path(__file__).parents[1] / "figures"
BLUE, RED, GREY = "#0b5fa5", "#b3261e", "#6b7280"
SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
ALPHA = 0.2


def axes(width: float, height: float, columns: int = 1) -> Any:
    """A figure and its axes, without the lines that say nothing."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        1, columns, figsize=(width, height), sharey=True, squeeze=False
    )
    for ax in panels[0]:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, panels[0]


def save(figure: Any, name: str) -> None:
    """One file, the same bytes each time."""
    figure.tight_layout()
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})


def pair() -> None:
    """Four auditors, one pair: who objects, and who is the pivot of the majority."""
    views = {"regulator": 0.10, "clerk": 0.20, "banker": 0.35, "mentor": 0.60}
    high, low = 0.85, 0.15
    panel = Panel(
        [MetricAuditor(n, WeightedL1({"income": v})) for n, v in views.items()], "majority"
    )
    people = SCHEMA.people([[100.0], [0.0]], ids=["ann", "bo"])
    scores = [round(high * ONE), round(low * ONE)]
    pivot = panel.pivots(people).who(0, 1)
    votes = panel.objections(people, scores, round(ALPHA * ONE)).members
    figure, (ax,) = axes(8.6, 3.7)
    for place, (name, view) in enumerate(views.items()):
        bar = {"color": BLUE, "lw": 9, "solid_capstyle": "butt"}
        ax.plot([low, low + view], [-place] * 2, **bar)
        ax.plot([low + view, low + view + ALPHA], [-place] * 2, alpha=0.3, **bar)
        objects = bool(votes[name].pairs)
        verdict = "objects" if objects else "accepts"
        ax.text(1.03, -place, f"{verdict}: the pivot" if name == pivot else verdict,
                color=RED if objects else GREY, va="center")  # fmt: skip
        ax.text(-0.03, -place, name, ha="right", va="center")
    for at, name in ((low, "bo"), (high, "ann")):
        ax.plot([at, at], [-3.5, 0.75], color=GREY, lw=1, ls=":")
        ax.text(at, 0.85, name, ha="center", fontweight="bold")
    ax.annotate("", (high, 0.5), (low, 0.5), arrowprops={"arrowstyle": "<->", "color": RED})
    ax.text((low + high) / 2, 0.58, "the gap of the pair", ha="center", color=RED)
    ax.set(xlim=(0, 1), ylim=(-3.6, 1.2), yticks=[], xlabel="chance of approval")
    ax.spines["left"].set_visible(False)
    save(figure, "a-pair")


def policies(panel: Panel | None, rounds: tuple[int, ...]) -> list[Any]:
    """π(income) after so many rounds, on a grid of incomes."""
    bins = Segments(SCHEMA, score="income", cuts=list(range(5, 100, 5)))
    state = State.start(Learner(bins, k=8, alpha=ALPHA, eps=ALPHA, seed=3))
    grid = SCHEMA.people(np.arange(0.5, 100)[:, None])
    rng, drawn = np.random.default_rng(5), []
    for played in range(1, max(rounds) + 1):
        income = rng.uniform(0, 100, 8)
        repaid = rng.random(8) < np.where(income > 50, 0.85, 0.2)
        people = SCHEMA.people(income[:, None])
        state, round_ = deploy(state, people)
        report = panel.audit(people, round_.units, state.learner.sensitivity) if panel else None
        pairs = report.pairs if report else None
        state = learn(state, round_, labels=repaid.astype(int).tolist(), report=pairs)
        if played in rounds:
            drawn.append(current_scores(state, grid) / ONE)
    return drawn


def learning() -> None:
    """The same applicants with a panel and without: chances that jump, and chances that slope."""
    panel = Panel([MetricAuditor("regulator", WeightedL1({"income": 1.0}))], "any")
    rounds = (10, 100, 1000)
    figure, both = axes(8.6, 3.6, 2)
    for ax, title, seated in zip(
        both, ("nobody looks", "a panel reports"), (None, panel), strict=True
    ):
        for shade, t, chances in zip(
            (0.3, 0.6, 1.0), rounds, policies(seated, rounds), strict=True
        ):
            ax.plot(
                np.arange(0.5, 100),
                chances,
                color=BLUE,
                alpha=shade,
                lw=2,
                label=f"after {t:,} rounds",
            )
        ax.set(xlabel="income", title=title, ylim=(-0.02, 1.02))
    both[0].set_ylabel("chance of approval")
    both[1].legend(frameon=False, loc="lower right")
    save(figure, "learning")


if __name__ == "__main__":
    pair()
    learning()
