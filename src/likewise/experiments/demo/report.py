"""The demo's report: one HTML file that needs nothing else, neither a network nor a script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from likewise.experiments.demo import figures
from likewise.experiments.demo.explain import Part, explain
from likewise.experiments.demo.run import Demo, Shown
from likewise.experiments.demo.stylesheet import CSS
from likewise.experiments.learners import LEARNERS
from likewise.game import EVALUATION_DRAWS

__all__ = ["report_html", "write_report"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>Likewise: a demonstration</title>
<style>{css}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def write_report(demo: Demo, path: str | Path) -> None:
    """Write the report; the same demo gives the same file."""
    Path(path).write_text(report_html(demo), encoding="utf-8", newline="\n")


def report_html(demo: Demo) -> str:
    """The report as one HTML page that names no address outside itself."""
    sections = (
        _introduction(demo),
        _table(demo),
        _pictures(demo),
        _round(demo),
        _words(demo),
        _reproduce(demo),
    )
    return PAGE.format(css=CSS, body="\n".join(sections))


def _introduction(demo: Demo) -> str:
    panel = demo.moment.encounter.panel
    text = html.escape(
        f"A learner decides on {demo.world.k} applicants a round, for {demo.rounds:,} rounds, "
        f"under the eyes of {len(panel.members)} auditors: {', '.join(panel.members)}. Each has "
        f"an own view of who is similar to whom, and objects where two similar applicants get very "
        f"different chances. When enough of them object to a pair (the rule here is "
        f"“{panel.rule}”), it is reported. Besides the outcomes, the reported pairs are all the "
        f"learner ever hears: nobody writes down what “similar” means."
    )
    return (
        f"<header><p class='brand'>Likewise</p><h1>Similar applicants, treated likewise</h1>"
        f"<p>{text}</p></header>\n<section class='results'>{_results(demo)}</section>"
    )


def _results(demo: Demo) -> str:
    """What came out, in three boxes: the deaf learner, the last of those who listen, the best."""
    deaf = [s for s in demo.shown if s.transcript.learner.ignores_reports]
    boxes = []
    for title, shown in (("Deaf to the panel", deaf[:1]), ("Listening to it", demo.shown[-1:])):
        for one in shown:
            s = one.summary
            late = f"{_percent(s.violations_per_1000_last_quarter / 1000)} of the last quarter"
            small = f"{late}; {_percent(s.error_rate)} of decisions wrong"
            if not one.transcript.learner.ignores_reports:
                small += f" (untaught: {_percent(_untaught(demo))})"
            big = f"{s.violations:,} of {s.rounds:,} rounds unfair"
            boxes.append(_box(title, one.name, big, small))
    best = f"{_percent(demo.best_fair.error_rate)} of decisions wrong"
    return "".join([*boxes, _box("Best fair policy", "in hindsight", "0 rounds unfair", best)])


def _untaught(demo: Demo) -> float:
    """The error of the policy that ours begin with: who learns gets below it."""
    return next(s.summary.error_rate for s in demo.shown if s.name == "untaught")


def _box(title: str, name: str, big: str, small: str) -> str:
    e = html.escape
    return (
        f"<div class='card'><p class='soft'>{e(title)} <span>({e(name)})</span></p>"
        f"<p class='big'>{e(big)}</p><p>{e(small)}</p></div>"
    )


def _table(demo: Demo) -> str:
    heads = (
        "Learner", "Error", "Realised error", "Regret", "Rounds in violation",
        "Rounds with a report", "Violations per 1,000 rounds, last quarter", "Oracle calls",
    )  # fmt: skip
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    rows = "".join(map(_row, demo.shown))
    best = _cells([_percent(demo.best_fair.error_rate), "", "0", "0", "0", "0", ""])
    rows += (
        f'<tr><th scope="row">best fair<small>fixed policy, fair at alpha − eps, chosen in '
        f"hindsight</small></th>{best}</tr>"
    )
    return (
        f"<section><h2>The learners side by side</h2><div class='card scroll' role='region' "
        f"aria-label='Table of learners' tabindex='0'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{_notes(demo)}</section>"
    )


def _notes(demo: Demo) -> str:
    """How to read the table."""
    who_learns = (
        f"<em>untaught</em> gives all hypotheses equal weights for ever, as <em>exact</em> does in "
        f"its first round: who learns has less error than its {_percent(_untaught(demo))}. "
        f"<em>paper</em> has not learnt anything by this horizon: with its own constants the noise "
        f"drowns the data; if its violations are few, it is because nearly everybody has a chance "
        f"near one half. (Its chances are estimated from {demo.paper_draws:,} draws a round, about "
        f"a fifth of its own number, to save time; more would not make it learn.)"
    )
    counted = (
        f"Error: expected share of wrong decisions under each round’s policy. Realised error: "
        f"share of the decisions that were drawn. Regret: expected wrong decisions less those of "
        f"the best fair policy; below 0 is better than it. Violation: a round in which two chances "
        f"differ by more than the pivot’s distance and alpha = {demo.alpha:g}; exact where the "
        f"policy is known, otherwise from {EVALUATION_DRAWS:,} draws a round that are not oracle "
        f"calls. Report: a round in which the panel, asked at the stricter alpha − kappa, named a "
        f"pair. Oracle calls: optimisations solved; learners that compute their policy exactly "
        f"need none."
    )
    return (
        f"<p class='note'><strong>Who learns.</strong> {who_learns}</p>"
        f"<p class='note'><strong>How it is counted.</strong> {counted}</p>"
    )


def _row(shown: Shown) -> str:
    s = shown.summary
    about = LEARNERS[shown.name][0] if shown.name in LEARNERS else ""
    if shown.name == "paper":
        about += " (here with fewer draws)"
    cells = _cells([
        _percent(s.error_rate), _percent(s.realised_error_rate),
        "" if s.regret is None else f"{round(s.regret):,}".replace("-", "−"), f"{s.violations:,}",
        f"{s.reports:,}", f"{s.violations_per_1000_last_quarter:,.0f}", f"{s.oracle_calls:,}",
    ])  # fmt: skip
    name, about = html.escape(shown.name), html.escape(about)
    return f'<tr><th scope="row">{name}<small>{about}</small></th>{cells}</tr>'


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{html.escape(text) or '–'}</td>" for text in texts)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _pictures(demo: Demo) -> str:
    played = demo.shown[-1].transcript
    says = _captions(demo)
    kept, asked = played.moments, played.learner.sensitivity
    pivots = (figures.pivot_figure(kept, asked), figures.distance_figure(kept, asked))
    pictures = (
        _figure([figures.violation_figure(demo)], "Who becomes fair", says["violations"]),
        _figure([figures.error_figure(demo)], "Who learns, and what fairness costs", says["error"]),
        _figure([figures.frontier_figure(demo)], "The knob: eta", says["frontier"]),
        _figure([figures.lam_figure(demo)], "How the learner hears the panel", says["lam"]),
        _figure(pivots, "On whom it depends", says["pivots"]),
    )
    return f"<section><h2>In pictures</h2><div class='grid'>{''.join(pictures)}</div></section>"


def _captions(demo: Demo) -> dict[str, str]:
    """What to see in each picture."""
    audit = demo.shown[-1].transcript.learner.margins
    start = figures.error_start(demo.rounds)
    return {
        "violations": "A line that flattens means fewer and fewer violations; one that is deaf to "
        "the panel goes on as it began. That alone is not learning: constant has no violations "
        "at all. Learning is having less error than untaught, as the next picture shows.",
        "error": f"Expected errors up to each round, from round {start} on, since a few decisions "
        "move the share far before. untaught is what exact begins with, for ever: who learns gets "
        "below its line. The dashed line is the most accurate fixed policy that is fair to every "
        f"pair at alpha − eps = {demo.alpha - demo.eps:g}; a learner may be below it, since it may "
        f"use gaps of up to alpha = {demo.alpha:g}.",
        "frontier": "eta is the weight of accuracy against fairness. Each circle is a whole game "
        "of one of our players, with the eta beside it; left is more accurate, down is fairer. "
        "Squares are the other learners; a triangle at the edge is one that is far outside the "
        "picture.",
        "lam": "A report pushes up lam, the price at which the next one is charged; in quiet "
        "rounds it sinks. Nobody sets it: it follows from the reports alone.",
        "pivots": "Under a rule like this, the panel acts on each pair like one of its members, "
        "the pivot; who that is differs from pair to pair. One chart shows how often each auditor "
        "is the pivot, over all pairs in the second half of the game, and over the pairs that were "
        f"then reported (learner {demo.shown[-1].name}). The other shows how far apart the pivots "
        "see the pairs, in points of a hundred. Its last bar is high because distances end at 100: "
        "all pairs are in it whom their pivot finds as different as can be. Pairs in the grey zone "
        "are never reported, since no gap exceeds their distance by "
        f"alpha − kappa = {audit.alpha - audit.kappa:g}.",
    }


def _figure(svgs: Sequence[str], title: str, caption: str) -> str:
    """A card; several pictures stand beside each other, or on a phone below each other."""
    plots = "".join(f"<div class='plot'>{svg}</div>" for svg in svgs)
    wide = " wide" if len(svgs) > 1 else ""
    return (
        f"<figure class='card{wide}'><h3>{html.escape(title)}</h3><div class='plots'>{plots}</div>"
        f"<figcaption><p>{html.escape(caption)}</p></figcaption></figure>"
    )


def _round(demo: Demo) -> str:
    learner = demo.shown[-1].transcript.learner
    svg = figures.round_figure(demo.moment, learner.sensitivity)
    caption = (
        "The dots are the round’s applicants by their chance of approval. Each auditor has a bar, "
        "from the lower chance as far as they would let the other one be; dark is the distance "
        "they see between the two. Those whose bar ends before the right dashed line object; a bar "
        "that reaches 100\u00a0% is cut off there, since no chance is higher."
    )
    people, *rest = map(_part, explain(demo.moment, learner))
    return (
        f"<section><h2>One round, closely</h2><div class='card round'><div><figure>"
        f"<div class='plot'>{svg}</div><figcaption><p class='note'>{caption}</p></figcaption>"
        f"</figure>{people}</div>"
        f"<div>{''.join(rest)}</div></div></section>"
    )


def _part(part: Part) -> str:
    text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in part.sentences)
    return f"<h3>{html.escape(part.title)}</h3>{text}"


def _words(demo: Demo) -> str:
    audit = demo.shown[-1].transcript.learner.margins
    alpha, asked = 100 * demo.alpha, 100 * (audit.alpha - audit.kappa)
    words = {
        "Chance": "how likely the learner approves an applicant; one draw then decides.",
        "Metric": "how different an auditor finds two applicants, from 0 to 100 points.",
        "Violation": f"two chances differ by more than the pivot’s distance and alpha = {alpha:g} "
        "points. Nobody sees violations but this report.",
        "Report": f"the pair that the panel names when asked at alpha − kappa = {asked:g} points: "
        "stricter, so that warnings come early.",
        "Pivot": "the auditor whose objection decides whether a pair is reported.",
        "lam": "the price of a report, set by how many there have been.",
        "eta": "the weight of accuracy against fairness; smaller is fairer and less accurate.",
        "Best fair policy": "the most accurate policy among those that treat no pair more "
        "differently than its pivot’s distance and alpha − eps allow, found after the game.",
    }
    items = "".join(f"<div><dt>{term}</dt><dd>{says}</dd></div>" for term, says in words.items())
    return f"<section><h2>The words</h2><dl class='card'>{items}</dl></section>"


def _reproduce(demo: Demo) -> str:
    command = (
        f".venv/bin/likewise demo --rounds {demo.rounds} --seed {demo.seed} --alpha {demo.alpha!r} "
        f"--eps {demo.eps!r}"
    )
    hypotheses = demo.shown[-1].transcript.learner.hypotheses
    return (
        f"<footer><h2>Play it again</h2><p>In the project’s folder, once <code>make demo</code> "
        f"has set it up:</p><pre>{html.escape(command)}</pre><p class='note'>Likewise "
        f"{html.escape(version('likewise'))}, world “{html.escape(demo.world.name)}”, "
        f"{hypotheses.size:.1e} hypotheses. The same seed gives the same decisions, reports and "
        f"counts on any machine. This file loads nothing and runs nothing.</p></footer>"
    )
