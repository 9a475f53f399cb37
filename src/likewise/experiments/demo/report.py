"""The demo's report: one HTML file that needs nothing else, neither a network nor a script.

Sentences and layout are in ``templates/report.html``, the look in ``templates/report.css``.
"""

from __future__ import annotations

from pathlib import Path

from likewise import __version__
from likewise.errors import LikewiseError
from likewise.experiments.demo import figures
from likewise.experiments.demo.explain import explain
from likewise.experiments.demo.guarantees import guarantees
from likewise.experiments.demo.round_figure import round_figure
from likewise.experiments.demo.run import Demo
from likewise.experiments.learners import learner_summary
from likewise.extras import missing
from likewise.game import EVALUATION_DRAWS

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise missing("The demo's report", "jinja2", "study", error) from error


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.25)
    '25.0\\xa0%'
    """
    return f"{100 * share:.1f}\u00a0%"


def count(number: float) -> str:
    """A number of things, with commas.

    >>> count(12345.2)
    '12,345'
    """
    return f"{number:,.0f}"


def signed(number: float | None) -> str:
    """A number of things that may be below 0; a dash for none.

    >>> signed(-1234.4), signed(None)
    ('−1,234', '–')
    """
    return "–" if number is None else f"{round(number):,}".replace("-", "−")


def ceiling(number: float) -> str:
    """The most that a number of things can be; in short from a million of millions on.

    >>> ceiling(1234.4), ceiling(-3.2), ceiling(3.2e17)
    ('1,234', '−3', '3.2·10^17')
    """
    if number < 1e12:
        return signed(number)
    digits, power = f"{number:.1e}".split("e")
    return f"{digits}·10^{int(power)}"


def short(number: float) -> str:
    """A setting, as short as it can be written.

    >>> short(0.3), short(30.0)
    ('0.3', '30')
    """
    return f"{number:g}"


_TEMPLATES = Environment(
    loader=PackageLoader("likewise.experiments.demo", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
)
_TEMPLATES.filters.update(percent=percent, count=count, signed=signed, ceiling=ceiling, short=short)


def write_report(demo: Demo, path: str | Path) -> None:
    """Write the report; the same demo gives the same file."""
    Path(path).write_text(report_html(demo), encoding="utf-8", newline="\n")


def report_html(demo: Demo) -> str:
    """The report as one HTML page that names no address outside itself."""
    if demo.comparators is None:
        raise LikewiseError("A report shows the best fixed policies; run the demo with compare.")
    last = demo.shown[-1]
    learner = last.learner
    margins = learner.margins
    return _TEMPLATES.get_template("report.html").render(
        demo=demo,
        panel=demo.moment.encounter.panel,
        ignoring=next(s for s in demo.shown if s.learner.ignores_reports),
        last=last,
        untaught=next(s.summary.error_rate for s in demo.shown if s.name == "untaught"),
        summaries={s.name: learner_summary(s.name) for s in demo.shown},
        asked_at=margins.alpha - margins.kappa,
        guarantees=guarantees(demo),
        error_start=figures.error_start(demo.game.rounds),
        evaluation_draws=EVALUATION_DRAWS,
        explained=explain(demo.moment, learner),
        figures=_figures(demo),
        command=f"likewise demo --rounds {demo.game.rounds} --seed {demo.game.seed}",
        version=__version__,
    )


def _figures(demo: Demo) -> dict[str, list[str]]:
    """The pictures by name; those that stand together are in one list."""
    played = demo.shown[-1].transcript
    moments, sensitivity = played.moments, played.learner.sensitivity
    return {
        "violations": [figures.violation_figure(demo)],
        "error": [figures.error_figure(demo)],
        "frontier": [figures.frontier_figure(demo)],
        "lam": [figures.lam_figure(demo)],
        "pivots": [
            figures.pivot_figure(moments, sensitivity),
            figures.distance_figure(moments, sensitivity),
        ],
        "round": [round_figure(demo.moment, sensitivity)],
    }
