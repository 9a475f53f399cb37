"""The demo's report: one HTML file that needs nothing else, neither a network nor a script."""

from __future__ import annotations

import html
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from likewise.experiments import figures
from likewise.experiments.demo import Demo, Shown
from likewise.experiments.explain import Part, explain
from likewise.experiments.roster import LEARNERS
from likewise.experiments.stylesheet import CSS
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
    deaf = [s for s in demo.shown if not s.transcript.learner.heeds_reports]
    boxes = []
    for title, shown in (("Deaf to the panel", deaf[:1]), ("Listening to it", demo.shown[-1:])):
        for one in shown:
            s = one.summary
            late = f"{s.violations_per_1000_last_quarter / 10:.0f}\u00a0% of the last quarter"
            small = f"{late}; {_percent(s.error_rate)} of decisions wrong"
            big = f"{s.violations:,} of {s.rounds:,} rounds unfair"
            boxes.append(_box(title, one.name, big, small))
    best = f"{_percent(demo.best_fair.error_rate)} of decisions wrong"
    return "".join([*boxes, _box("Best fair policy", "in hindsight", "0 rounds unfair", best)])


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
    caption = (
        f"<strong>How it is counted.</strong> Error: expected share of wrong decisions under each "
        f"round’s policy. Realised error: share of the decisions that were drawn. Regret: expected "
        f"wrong decisions less those of the best fair policy; below 0 is better than it. "
        f"Violation: a round in which two chances differ by more than the pivot’s distance and "
        f"alpha = {demo.alpha:g}; exact where the policy is known, otherwise from "
        f"{EVALUATION_DRAWS:,} draws a round that are not oracle calls. Report: a round in which "
        f"the panel, asked at the stricter alpha − kappa, named a pair. Oracle calls: "
        f"optimisations solved; learners that compute their policy exactly need none."
    )
    return (
        f"<section><h2>The learners side by side</h2><div class='card scroll' role='region' "
        f"aria-label='Table of learners' tabindex='0'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div><p class='note'>{caption}</p></section>"
    )


def _row(shown: Shown) -> str:
    s = shown.summary
    about = LEARNERS[shown.name][0] if shown.name in LEARNERS else ""
    cells = _cells([
        _percent(s.error_rate), _percent(s.realised_error_rate),
        "" if s.regret is None else f"{s.regret:,.0f}".replace("-", "−"), f"{s.violations:,}",
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
    pivots = figures.pivot_figure(played.moments, played.learner.sensitivity)
    pictures = (
        _figure(figures.violation_figure(demo), "Who learns to be fair", says["violations"]),
        _figure(figures.error_figure(demo), "What fairness costs", says["error"]),
        _figure(figures.frontier_figure(demo), "The knob: eta", says["frontier"]),
        _figure(figures.lam_figure(demo), "How the learner hears the panel", says["lam"]),
        _figure(pivots, "On whom it depends", says["pivots"], wide=True),
    )
    return f"<section><h2>In pictures</h2><div class='grid'>{''.join(pictures)}</div></section>"


def _captions(demo: Demo) -> dict[str, str]:
    """What to see in each picture."""
    audit = demo.shown[-1].transcript.learner.audit
    return {
        "violations": "A line that bends means learning: the longer the game, the fewer rounds are "
        "unfair. A learner that is deaf to the panel goes on as it began.",
        "error": "Expected errors up to each round. The dashed line is the most accurate fixed "
        f"policy that is fair to every pair at alpha − eps = {demo.alpha - demo.eps:g}; a learner "
        f"may be below it, since it may use gaps of up to alpha = {demo.alpha:g}.",
        "frontier": "eta is the weight of accuracy against fairness. Each point is a whole game "
        "with another eta; left is more accurate, down is fairer. Squares are the other learners, "
        "a triangle one that is far above the picture.",
        "lam": "A report pushes up lam, the price at which the next one is charged; in quiet "
        "rounds it sinks. It settles where reports are just dear enough.",
        "pivots": "Under a rule like this, the panel acts on each pair like one of its members, "
        "the pivot; who that is differs from pair to pair. Above: how often each auditor is the "
        "pivot, over all pairs in the second half of the game, and over the pairs that were then "
        f"reported (learner {demo.shown[-1].name}). Below: how far apart the pivots see the pairs, "
        "in points of a hundred. Pairs in the grey zone are never reported, since no gap exceeds "
        f"their distance by alpha − kappa = {audit.alpha - audit.kappa:g}.",
    }


def _figure(svg: str, title: str, caption: str, *, wide: bool = False) -> str:
    head, text = f"<h3>{html.escape(title)}</h3>", f"<p>{html.escape(caption)}</p>"
    plot = f"<div class='plot'>{svg}</div>"
    if wide:
        return f"<figure class='card wide'>{plot}<figcaption>{head}{text}</figcaption></figure>"
    return f"<figure class='card'>{head}{plot}<figcaption>{text}</figcaption></figure>"


def _round(demo: Demo) -> str:
    learner = demo.shown[-1].transcript.learner
    svg = figures.round_figure(demo.moment, learner.sensitivity)
    caption = (
        "Above: the round’s applicants by their chance of approval. Below: a bar for each auditor, "
        "from the lower chance as far as they would let the other one be. Dark is the distance "
        "they see between the two. Those whose bar ends before the right dashed line object."
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
    audit = demo.shown[-1].transcript.learner.audit
    alpha, asked = 100 * demo.alpha, 100 * (audit.alpha - audit.kappa)
    words = {
        "Chance": "how likely the learner approves an applicant; one draw then decides.",
        "Distance": "how different an auditor finds two applicants, from 0 to 100 points.",
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
        f"likewise demo --rounds {demo.rounds} --seed {demo.seed} --alpha {demo.alpha!r} "
        f"--eps {demo.eps!r}"
    )
    hypotheses = demo.shown[-1].transcript.learner.hypotheses
    return (
        f"<footer><h2>Play it again</h2><pre>{html.escape(command)}</pre><p class='note'>Likewise "
        f"{html.escape(version('likewise'))}, world “{html.escape(demo.world.name)}”, "
        f"{hypotheses.size:.1e} hypotheses. The same seed gives the same decisions, reports and "
        f"counts on any machine. This file loads nothing and runs nothing.</p></footer>"
    )
