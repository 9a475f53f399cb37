"""How well metrics are elicited: reports of fitted panels beside those of the true ones.

python -m studies.elicitation      # writes its rows and its table
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from likewise.audits import Elicited, Judgement, elicit, questions
from likewise.audits.elicitation import LIMITS, RESPONSES
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Masked, MetricAuditor, Panel, Ratings, WeightedL1
from likewise.people.schema import People
from likewise.simulate.loans import SCHEMA, applicants, five_auditors
from likewise.simulate.world import MissingDataError
from studies.pages import Study, table
from studies.people.worlds import CompasJudged, PhdAdmissions

ALPHA, SITTING = 0.2, 25
TEXTS = ("case", "needed")


@dataclass(frozen=True, eq=False)
class Case:
    """People who are judged, others who are audited, their scores, and the panel that judges."""

    judged: People
    audited: People
    scores: FloatArray
    panel: Panel
    slips: float = 0.0


def loans(seed: int, slips: float = 0.0) -> Case:
    """The five auditors of lending; the model's chances are steep in the bureau's score."""
    judged, audited = (_applicants(seed, n, size) for n, size in ((1, 300), (2, 500)))
    scores = 1 / (1 + np.exp(-(audited.column("score") - 590) / 40))
    return Case(judged, audited, scores, Panel(five_auditors(1.0), "majority"), slips)


def _applicants(seed: int, number: int, size: int) -> People:
    x, _ = applicants(Stream(seed, Purpose.WORLD, number), size, luck=0.05, harshness=60.0)
    return SCHEMA.encoded(x)


def compas(seed: int) -> Case:
    """Twenty respondents, by their ratings; half of the defendants judged, the others audited."""
    world = CompasJudged(seed)
    everybody = world.everybody[0]
    order = np.random.default_rng(seed).permutation(len(everybody))
    judged, audited = (everybody.take(np.sort(part)) for part in np.array_split(order, 2))
    return Case(judged, audited, audited.column("safety") / 9, world.panel)


def phd(seed: int) -> Case:
    """Three committee members, by their scores; one year judged, the next audited."""
    world = PhdAdmissions(seed)
    judged, audited = (year for year, _ in world.years)
    return Case(judged, audited, audited.column("file") / 4, world.panel)


CASES: dict[str, Callable[[int], Case]] = {
    "loans": loans,
    "loans, one response in ten off by one": partial(loans, slips=0.1),
    "phd-admissions": phd,
    "compas-judged": compas,
}


def judgements(
    case: Case, asked: Sequence[tuple[str, ...]], rng: np.random.Generator
) -> list[Judgement]:
    """Every member's responses, as their distances say; of a tie between two nobody can say."""
    places = {name: place for place, name in enumerate(case.judged.ids)}
    distances = np.round(case.panel.distances(case.judged) / ONE, 5)  # 0.2 is 0.2
    responses = []
    for member, d in zip(case.panel.members, distances, strict=True):
        for person, other, *third in asked:
            near = d[places[person], places[other]]
            if not third:
                step = int(np.digitize(near, LIMITS)) + int(
                    (rng.random() < case.slips) * rng.choice((-1, 1))
                )
                responses.append(Judgement(member, person, other, RESPONSES[min(2, max(0, step))]))
            elif near != (far := d[places[person], places[third[0]]]):
                closer = other if (near < far) != (rng.random() < case.slips) else third[0]
                responses.append(Judgement(member, person, other, closer, third[0]))
    return responses


def reported(case: Case, panel: Panel) -> Any:
    """Test every pair of the audited people for a report by a panel; and the panel's distances."""
    upper = np.triu_indices(len(case.audited), 1)
    gaps = np.abs(case.scores[:, None] - case.scores)[upper]
    pivots = panel.pivots(case.audited).distance[upper] / ONE
    return gaps > pivots + ALPHA, pivots


def f1(truth: Any, guess: Any) -> float:
    """The harmonic mean of precision and recall; 1 where there is nothing to report."""
    total = int(truth.sum() + guess.sum())
    return 2 * int((truth & guess).sum()) / total if total else 1.0


def sittings(name: str, seed: int) -> Iterator[dict[str, Any]]:
    case, rng = CASES[name](seed), np.random.default_rng(seed)
    truth, pivots = reported(case, case.panel)
    names = [f.name for f in case.judged.schema.features if f.visible]
    even = WeightedL1({name: 1 / len(names) for name in names})
    alike = reported(case, Panel([MetricAuditor("even", even)], "any"))[0]
    responses: list[Judgement] = []
    fitted: Elicited | None = None
    for number in (1, 2):
        responses += judgements(case, questions(case.judged, SITTING, fitted, seed), rng)
        fitted = elicit(case.judged, responses, case.panel.rule, seed)
        guess, fitted_pivots = reported(case, fitted.panel)
        off = np.abs(pivots - fitted_pivots)[fitted_pivots < 1]
        yield {
            "case": name, "seed": seed, "judgements": number * SITTING,
            "base_rate": round(float(truth.mean()), 4), "f1": round(f1(truth, guess), 3),
            "f1_even": round(f1(truth, alike), 3), "known_to": round(fitted.known_to, 3),
            "off": round(float(np.quantile(off, 0.9)), 3), "alpha": fitted.alpha,
            "needed": fitted.judgements_needed(), **_covered(case, fitted),
            "within_known": round(float((off <= fitted.known_to).mean()), 3),
            "within_alpha": round(float((off <= fitted.alpha).mean()), 3),
        }  # fmt: skip


def true_weights(auditor: MetricAuditor) -> dict[str, float] | None:
    """The weights of a distance that is a weighted difference; None for any other."""
    distance = auditor.distance
    if isinstance(distance, Masked):
        kept = {*distance.features}
        base = distance.base
        return {n: w for n, w in dict(getattr(base, "weights", ())).items() if n in kept}
    if isinstance(distance, Ratings) and isinstance(distance.ratings, str):
        return {distance.ratings: 1.0}
    return dict(distance.weights) if isinstance(distance, WeightedL1) else None


def _covered(case: Case, fitted: Elicited) -> dict[str, int]:
    """How many true weights, zeros included, are within the stated intervals of 90 %."""
    inside = []
    for auditor in case.panel.auditors:
        truth, fit = true_weights(auditor), fitted.fits[auditor.name]
        if truth is not None and fit.form.power == 1 and {*truth} <= {*fit.form.names}:
            inside += [w.low <= truth.get(n, 0.0) <= w.high for n, w in fit.weights.items()]
    return {"covered": sum(inside), "weights": len(inside)}


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    heads = (
        "case", "judgements a member", "pairs reported by the true panel", "F1, mean (worst seed)",
        "F1 of even weights", "distances known to", "nine in ten were within", "proposed alpha",
        "within what is known", "within alpha", "weights within 90 %",
    )  # fmt: skip
    lines = []
    for case, count in dict.fromkeys((row["case"], row["judgements"]) for row in rows):
        chosen = [r for r in rows if (r["case"], r["judgements"]) == (case, count)]
        mean = {k: float(np.mean([r[k] for r in chosen])) for k in chosen[0] if k not in TEXTS}
        worst = min(row["f1"] for row in chosen)
        covered, total = (sum(row[key] for row in chosen) for key in ("covered", "weights"))
        lines.append((
            case, str(count), f"{100 * mean['base_rate']:.1f} %", f"{mean['f1']:.2f} ({worst:.2f})",
            *(f"{mean[key]:.2f}" for key in ("f1_even", "known_to", "off", "alpha")),
            *(f"{100 * mean[key]:.0f} %" for key in ("within_known", "within_alpha")),
            f"{100 * covered / total:.0f} % of {total}" if total else "–",  # real people have none
        ))  # fmt: skip
    return table(heads, lines)


STUDY = Study("elicitation", "elicitation.json", "results.md", markdown)


def main() -> None:
    """Measure, and store rows and table; of people whose files are not here, the rows stay."""
    rows = []
    for case in CASES:
        try:
            rows += [row for seed in range(1, 11) for row in sittings(case, seed)]
        except MissingDataError as error:
            print(f"{case} is skipped: {error}")
            rows += [row for row in STUDY.stored() if row["case"] == case]
    STUDY.keep(rows)


if __name__ == "__main__":
    main()
