"""The paper of ``docs/paper``: its figures, its tables and its numbers, from stored rows alone."""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import StrMethodFormatter

from likewise.simulate import canvas
from studies.pages import table, write_between_marks
from studies.scripts import attention, certificates, multipliers
from studies.sweep.runs import stored_rows

ROOT = Path(__file__).parents[1]
PAGE, SHORT = ROOT / "docs/paper/index.md", ROOT / "docs/paper/joss/paper.md"
FIGURES = ROOT / "docs/figures"
THOUSANDS = StrMethodFormatter("{x:,.0f}")
DUALS = {
    "gradient": "gradient ascent (Bechavod 2024)",
    "additive": "additive, gamma·n",
    "geometric": "geometric, theta = .02",
    "geometric, as proved": "geometric, as proved",
}
WORLDS = (
    "loans", "loans, any", "loans, strict", "loans, lenient", "loans, alpha .1", "loans, k 2",
    "loans, panels change", "drift",
)  # fmt: skip
OURS, METRIC = "exact, eta = 1/24", "learnt-metric, caution = 1000, margin_share = 1"
FLAT, PRIOR = (
    f"sinha-vaze, beta = 1, steepness = 30, noise ÷ 0.5, {name}"
    for name in ("flat", "coarse-to-fine")
)


rows_of = cache(stored_rows)


def chosen(name: str, scenario: str, configuration: str) -> list[dict[str, Any]]:
    """The rows of a sweep's learner in a scenario, at the longest horizon: one for each seed."""
    rows = [r for r in rows_of(name) if (r.scenario, r.configuration) == (scenario, configuration)]
    longest = max(row.rounds for row in rows)
    return [vars(row) for row in rows if row.rounds == longest]


def mean(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


def cell(name: str, scenario: str, configuration: str) -> str:
    """Error / rounds in violation / reports, means over seeds."""
    rows = chosen(name, scenario, configuration)
    counts = (f"{mean(rows, column):,.0f}" for column in ("violations", "reports"))
    return " / ".join((f"{mean(rows, 'error_rate'):.3f}", *counts))


def reports_table() -> str:
    study = multipliers.STUDY.stored()
    horizons = (f"T = {rounds:,}" for rounds in study["rounds"])
    head = ("rule of the multiplier", *horizons, "exponent")
    rows = (
        (words, *(f"{n:,}" for n in row["reports"]), f"{row['exponent']:.2f}")
        for words, row in ((DUALS[name], study["duals"][name]) for name in DUALS)
    )
    return table(head, rows)


def attention_table() -> str:
    """All possible pairs beside those of which the model is not sure."""
    names = {
        "loans": "loans", "loans, any": "loans, any", "loans, leniency = 0.01": "loans, strict",
        "drift": "drift", "turnover": "panels change", "compas-judged": "compas-judged",
        "erring, noise = 0.15": "members who err",
    }  # fmt: skip
    head = ("world", "every possible pair", "pairs shown", "model of the panel", "pairs shown")

    def shown(scenario: str, asked: str) -> str:
        return f"{mean(chosen('attention', scenario, asked), 'pairs_shown'):,.0f}"

    rows = (
        (words, cell("attention", name, "possible"), shown(name, "possible"),
         cell("attention", name, "model"), shown(name, "model"))
        for name, words in names.items()
    )  # fmt: skip
    return table(head, rows)


def by_world(name: str, worlds: Sequence[str], learners: Mapping[str, str]) -> str:
    """Learners side by side, by what the table calls them, in some worlds of a sweep."""
    rows = ((world, *(cell(name, world, n) for n in learners.values())) for world in worlds)
    return table(("world", *learners), rows)


TABLES: dict[str, Callable[[], str]] = {
    "reports": reports_table, "attention": attention_table,
    "certificates": lambda: certificates.failures(certificates.STUDY.stored()["coverage"]),
    # The default beside the earlier one, with a flat prior.
    "prior": lambda: by_world(
        "new-default", ("loans", "loans, any", "loans, strict", "drift"),
        {"coarse to fine, eta = 1/24": "default", "flat, eta = 1/4": "earlier default"}),
    # Our default, and the rivals with the constants that were chosen on other worlds.
    "rivals": lambda: by_world("rivals", WORLDS, {
        "ours": OURS, "constrained experts, flat": FLAT, "with our prior": PRIOR,
        "learnt metric": METRIC}),
    # The same where our class asks for what the auditors judge by.
    "informed": lambda: by_world("rivals-informed", WORLDS, {
        "ours, on trees": "exact", "learnt metric, on trees": METRIC}),
}  # fmt: skip


def numbers() -> dict[str, str]:
    """The numbers that the text names, as it writes them, by what they are."""
    duals, study = multipliers.STUDY.stored()["duals"], certificates.STUDY.stored()
    parts = [row["partitions"][7]["certificate"] / row["trivial"] for row in study["drift"]]
    erring, one_sided = study["erring"], study["one-sided"]
    hours = {row["world"]: row for row in attention.STUDY.stored()["hours"]}["loans"]
    people = chosen("people", "compas-judged", "default")
    loans = chosen("new-default", "loans", "default")
    return {
        "comparators": f"{mean(loans, 'at_alpha_less_eps'):.3f} on `loans`, the best that is "
                       f"fair at alpha {mean(loans, 'at_alpha'):.3f}",
        "of the rule as proved": f"there are {duals['geometric, as proved']['reports'][-1]:,}",
        "reports of gradient ascent at the end": f"{duals['gradient']['reports'][-1]:,} reports",
        "of the geometric rule": f"{duals['geometric']['reports'][-1]:,} after",
        "certificate of eight parts": f"{max(parts):.0%} of the trivial bound",
        "one-sided": f"at most {max(r['certificate'] for r in one_sided):,.0f} of "
                     f"{one_sided[0]['trivial']:,}",
        "plain before erring members": f"{mean(erring, 'certificate'):,.0f} to "
                                       f"{mean(erring, 'robust'):,.0f}",
        "minutes": f"{hours['possible']:,.0f} to {hours['model']:,.0f} minutes",
        "people": f"{mean(people, 'error_rate'):.3f} with {mean(people, 'violations'):.0f} "
                  f"violations",
    }  # fmt: skip


def reports_figure() -> Any:
    """Reports by horizon, on two logarithmic axes."""
    figure, ax = pyplot.subplots(figsize=(6.6, 3.4), layout="constrained")
    study = multipliers.STUDY.stored()
    for (name, words), marker in zip(DUALS.items(), "osD^", strict=True):
        ax.plot(study["rounds"], study["duals"][name]["reports"], marker=marker, label=words)
    ax.set(xscale="log", yscale="log", xlabel="rounds", ylabel="reports", ylim=(50, 60_000))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(THOUSANDS)
    ax.legend(frameon=False, fontsize=10, ncols=2, loc="upper left")
    return figure


def certificates_figure() -> Any:
    """Certificate and regret by the number of parts, means of ten seeds."""
    figure, ax = pyplot.subplots(figsize=(6.6, 3.4), layout="constrained")
    rows = certificates.STUDY.stored()["drift"]
    parts = range(1, 9)
    for name, words, marker in (
        ("certificate", "certificate", "o"), ("regret", "regret to the best of each part", "s"),
    ):  # fmt: skip
        means = [mean([row["partitions"][n - 1] for row in rows], name) for n in parts]
        ax.plot(parts, means, marker=marker, label=words)
    ax.axhline(rows[0]["trivial"] / 2, linestyle="--", color=canvas.SOFT)
    ax.annotate("half of the trivial bound", (1, rows[0]["trivial"] / 2), xytext=(0, -14),
                textcoords="offset points", fontsize=10)  # fmt: skip
    ax.set(xlabel="parts", ylabel="errors")
    ax.yaxis.set_major_formatter(THOUSANDS)
    ax.legend(frameon=False, fontsize=10, loc="center left")
    return figure


def rivals_figure() -> Any:
    """Error and violations in eight worlds, reports by size."""
    figure, ax = pyplot.subplots(figsize=(6.6, 3.8), layout="constrained")
    for name, words, marker in (
        (OURS, "ours", "o"), (PRIOR, "constrained experts, our prior", "s"),
        (METRIC, "learnt metric", "D"),
    ):  # fmt: skip
        points = [chosen("rivals", world, name) for world in WORLDS]
        size = [4 + 0.6 * mean(rows, "reports") for rows in points]
        x, y = ([mean(rows, c) for rows in points] for c in ("error_rate", "violations"))
        ax.scatter(x, y, s=size, marker=marker, alpha=0.75, label=words)
    ax.set(xlabel="error", ylabel="rounds in violation, of 4,000")
    legend: Any = ax.legend(frameon=False, fontsize=10)
    for handle in islice(legend.legend_handles, 3):
        handle.set_sizes([40])
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "paper-reports": reports_figure,
    "paper-certificates": certificates_figure,
    "paper-rivals": rivals_figure,
}


@canvas.STYLE
def drawn(name: str) -> bytes:
    """A figure as SVG; the same rows give the same bytes."""
    figure, file = PICTURES[name](), io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return file.getvalue()


def write() -> None:
    """Draw the figures, and put the tables into the page."""
    for name in PICTURES:
        (FIGURES / f"{name}.svg").write_bytes(drawn(name))
    for mark, make in TABLES.items():
        write_between_marks(PAGE, mark, make())
