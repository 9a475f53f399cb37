"""Audit scores that exist: those of a model in use, before a panel or people who were asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.audits import pairs as counting
from likewise.audits.large import Reader, Rows, Sampler, gathered, kinds_in_memory, reader_of
from likewise.audits.price import price
from likewise.audits.result import Audit, Finding, GroupRates, Reported, as_share, group_rates
from likewise.audits.scores import read_labels, read_scores, score_units
from likewise.audits.survey import Survey
from likewise.errors import AuditError, ParameterError
from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import Interval, wilson
from likewise.panel.agreement import alpha_from_counts, krippendorff_alpha
from likewise.panel.metrics import Sides, WeightedL1
from likewise.panel.objections import Pair
from likewise.panel.panels import Panel
from likewise.panel.reports import exceeds
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import Rule
from likewise.people.scans import Scan
from likewise.people.schema import People
from likewise.validation import instance, integer, items, real, reals

LOG = logging.getLogger("likewise.audits")
MOST_PEOPLE = 20_000
"""Up to this many people, all pairs are scanned."""
ANCHORS = 64
OTHER_RULES = ("any", "majority", "all")

Curve = Mapping[int, float]
"""The alphas that were asked for, by the units that an excess must be above."""


def audit(
    people: People | Scan,
    scores: npt.ArrayLike | Mapping[str, float] | str,
    panel: Panel | Survey,
    *,
    alpha: float | None = None,
    labels: npt.ArrayLike | Mapping[str, int] | None = None,
    favourable: Any = None,
    groups: Iterable[str] | Mapping[str, Any] = (),
    hypotheses: HypothesisClass | None = None,
    rules: Iterable[Rule | str] | None = None,
    alphas: Iterable[float] | None = None,
    worst: int = 20,
    all_pairs_up_to: int = MOST_PEOPLE,
    sample_pairs: int = 1_000_000,
    seed: int = 1,
    jobs: int | Any = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Audit:
    """Find the pairs of similar people that scores treat differently, and the price of passing.

    A pair is reported if the gap of their scores exceeds the pivot's distance by more than alpha
    (definition "Fairness violation"), and by more than two units of 2^-20, 0.000002, which is what
    rounding can make of a tie; in a :class:`Survey`, if its rule fires on the judgements.

    Parameters
    ----------
    people: with their features, ``schema.people(frame, ids=…)``; or ``schema.scan(source, ids=…)``
        for those who do not fit into memory.
    scores: chances of a favourable decision within [0, 1], or decisions (0 and 1, or truth
        values); in the order of the people, or by id. A Series is matched by its index. Of people
        who are scanned, the name of their column, and so with labels and groups.
    panel: auditors with distances and a rule, or a survey of people's judgements.
    alpha: the size of a violation, which a panel needs; people in a survey have judged already.
    labels: what would have been right, 0 or 1; with them the price of fairness is computed.
    favourable: of labels or decisions with two other values, such as "approved" and "denied", the
        one that is favourable; a list where labels and decisions have different words.
    groups: features (or values by name, or a frame of them) by which rates are compared; needs the
        extra ``groups``.
    hypotheses: a class to find the best fair policy in; cuts of the scores unless one is given.
    rules: other rules to compare with; any, majority and all by default.
    alphas: the points of the curve; 0, 0.05, …, 1 by default.
    worst: how many of the worst pairs to keep.
    all_pairs_up_to: with more people than this, a sample of ``sample_pairs`` is scanned; of people
        who are scanned, with more kinds than this.
    seed: of the sample, and of the simulation that the price needs.
    jobs: threads, as many as there are processors by default; or a Dask client or a Spark session,
        whose workers then count the pairs.
    progress: show a bar, or call a function with (done, total).

    >>> from likewise import Feature, FeatureSchema
    >>> from likewise.panel import MetricAuditor
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> people = schema.people([[50], [52], [90]], ids=["ann", "bo", "cy"])
    >>> panel = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
    >>> result = audit(people, [0.2, 0.9, 0.9], panel, alpha=0.1)
    >>> result.reported.value, result.touched.value
    (2, 3)
    >>> result.worst[0].words
    'bo is 70 points above ann. They differ in Income (52 and 50). j1 sees them 2 points apart. \
Objecting: j1.'
    """
    start = time.perf_counter()
    most = integer("all_pairs_up_to", all_pairs_up_to, 2, 10**9, "Say how many people.")
    size = 0.0 if isinstance(panel, Survey) and alpha is None else _checked_alpha(alpha)
    counts, sampled = None, None
    if isinstance(people, Scan):
        scan, reader = people, reader_of(people, scores, panel, favourable)
        people, scores, labels, groups, counts = gathered(scan, reader, labels, groups, most)
        sampled = (scan, reader) if counts is None and not len(people) else None
    if sampled is None:
        _check_people(people, counts)
    chances = read_scores(people, scores, favourable)
    units = score_units(chances)
    outcomes = None if labels is None else read_labels(people, labels, favourable)
    rates = group_rates(people, chances, groups)
    if hypotheses is not None:
        instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    if jobs is not None and not counting.is_cluster(jobs):
        remedy = "It is a number of threads, a Dask client or a Spark session."
        jobs = integer("jobs", jobs, 1, 1024, remedy)
    worst = integer("worst", worst, 0, 10**6, "It is a number of pairs.")
    seed = integer("seed", seed, 0, 1 << 63, "Take any such number.")
    if isinstance(panel, Survey):
        unused = [n for n, value in (("alpha", alpha), ("labels", labels)) if value is not None]
        return _survey_audit(people, chances, panel, rates, unused, start)
    instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'majority'), or a Survey.")
    compared = _other_rules(panel, rules)
    curve = _curve(alphas, size)
    rows = Rows(people, chances, counts)
    if sampled is None and counts is None and len(people) > most:
        rows = kinds_in_memory(rows, panel, most) or rows
    question = counting.Question(
        rows.people, rows.units, panel, counting.threshold(size), np.array(sorted(curve)),
        compared, worst, *([] if rows.counts is None else [rows.counts]),
    )  # fmt: skip
    with counting.progress_reporter(progress, "pairs") as bar:
        if sampled is None and len(rows.people) <= most:
            fields = _exact(question, curve, jobs, bar)
        else:
            pairs = integer("sample_pairs", sample_pairs, 1000, 10**10, "Give at least 1000.")
            draw = _sampled if sampled is None else partial(_sampled_scan, *sampled)
            fields = draw(question, curve, pairs, seed, jobs, bar)
    if outcomes is not None:
        fields["price"] = price(people, units, outcomes, panel, size, hypotheses, seed, progress)
    fields["notes"] = (*fields.get("notes", ()), *_notes_on_missing_values(question))
    LOG.info("audited %d people, %d pairs scanned", len(people), fields["looked_at"])
    return Audit(
        panel=panel.name, members=panel.members, alpha=size, groups=rates,
        **{"people": people, "scores": tuple(chances.tolist()), **fields},
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _check_people(people: People, counts: IntArray | None) -> None:
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    number = len(people) if counts is None else int(counts.sum())
    if number < 2:
        raise AuditError(
            f"An audit compares people, so it needs at least two; got {number}. Give more."
        )


def _checked_alpha(alpha: Any) -> float:
    if alpha is None:
        raise ParameterError("alpha", "must be given for a panel", None, "Write alpha=0.2.")
    number = real("alpha", alpha, "Give a number such as 0.2.")
    if not 0 <= number <= 1:
        raise ParameterError("alpha", "must be in [0, 1]", alpha, "It is a difference of scores.")
    return number


def _curve(alphas: Iterable[float] | None, alpha: float) -> Curve:
    """The alphas of the curve, with that of the audit, by their thresholds."""
    points = (
        (np.arange(21) / 20).tolist() if alphas is None else reals("alphas", alphas, "List them.")
    )
    return {counting.threshold(a): a for a in (*map(_checked_alpha, points), alpha)}


def _other_rules(panel: Panel, rules: Iterable[Rule | str] | None) -> tuple[Rule, ...]:
    if rules is None:
        names = OTHER_RULES if len(panel.members) > 1 else ()
        parsed = [rule for rule in map(as_rule, names) if rule != panel.rule]
    else:
        parsed = [as_rule(rule) for rule in items("rules", rules, "List them: ['any', 'all'].")]
    for rule in parsed:
        rule.check(panel.members)
    return tuple(parsed)


def _notes_on_missing_values(question: counting.Question) -> list[str]:
    """Notes on missing values that an auditor weighs: they count as a full difference."""
    notes, counts = [], question.counts
    for auditor in question.panel.auditors:
        if not isinstance(auditor.distance, WeightedL1):
            continue
        for name, _ in auditor.distance.weights:
            lacking = int(counts[np.isnan(question.people.column(name))].sum())
            if 0 < lacking < counts.sum():
                notes.append(
                    f"{lacking:,} of the people lack {name!r}. {auditor.name} finds them as far "
                    f"from those who have it as that feature can count."
                )
    return notes


def _exact(
    question: counting.Question, curve: Curve, jobs: Any, bar: counting.Progress
) -> dict[str, Any]:
    """Counts over all pairs."""
    tally = counting.scan_all(question, jobs, bar)
    counts = question.counts
    # Nobody objects to pairs of one kind: their scores are the same.
    alike = int((counts * (counts - 1) // 2).sum())
    tally.pairs += alike
    tally.objectors[0] += alike
    fields = _fields(question, curve, tally, tally.highest, tally.touched_by_rule) | {
        "worst": tuple(_finding(question, i, j) for _, i, j in tally.worst),
        "pairs": tally.pairs,
    }
    if alike:
        fields["size"] = int(counts.sum())
        fields["notes"] = (
            f"{counts.sum():,} people are of {len(counts):,} kinds, of the same features and the "
            f"same score each. All pairs were counted; each of the worst pairs is shown by one "
            f"person of either kind.",
        )
    return fields


def _sampled(
    question: counting.Question,
    curve: Curve,
    pairs: int,
    seed: int,
    jobs: Any,
    bar: counting.Progress,
) -> dict[str, Any]:
    """Estimates from pairs and people drawn at random."""
    k = len(question.people)
    count = min(ANCHORS, k)
    tally, anchors, wide = counting.sample(question, pairs, count, seed, jobs, bar)
    drawn = f"{tally.pairs:,} were drawn at random (seed {seed})"
    return _estimates(
        question, curve, tally, wide.highest[anchors], wide.touched_by_rule[:, anchors], k, drawn
    ) | {
        "worst": tuple(_finding(question, i, j) for _, i, j in wide.worst),
        "sample": {"pairs": tally.pairs, "anchors": count, "seed": seed},
    }


def _sampled_scan(
    scan: Scan,
    reader: Reader,
    question: counting.Question,
    curve: Curve,
    pairs: int,
    seed: int,
    jobs: Any,
    bar: counting.Progress,
) -> dict[str, Any]:
    """The same of people who are read block by block."""
    size = scan.count or 0
    tally, anchors, worst = Sampler(scan, reader, question, seed, jobs).sample(pairs, ANCHORS, bar)
    drawn = (
        f"{tally.pairs:,} were drawn at random by a hash of ids (seed {seed}), no two of which "
        f"share a person"
    )
    shown = question.among(worst.people, score_units(worst.chances))
    places = range(0, len(worst.people), 2)
    return _estimates(
        question, curve, tally, anchors.highest, anchors.touched_by_rule, size, drawn
    ) | {
        "worst": tuple(_finding(shown, i, i + 1) for i in places), "size": size,
        "people": worst.people, "scores": tuple(worst.chances.tolist()),
        "sample": {"pairs": tally.pairs, "anchors": len(anchors.highest), "seed": seed},
    }  # fmt: skip


def _estimates(
    question: counting.Question,
    curve: Curve,
    tally: counting.Tally,
    highest: IntArray,
    touched_by_rule: npt.NDArray[np.bool_],
    size: int,
    drawn: str,
) -> dict[str, Any]:
    """Estimates for so many people, from pairs and from anchors."""
    total, anchors = size * (size - 1) // 2, len(highest)
    fields = _fields(
        question, curve, tally, highest, touched_by_rule,
        lambda n: wilson(n, tally.pairs).times(total), lambda n: wilson(n, anchors).times(size),
    )  # fmt: skip
    note = (
        f"Of {total:,} pairs, {drawn}, and {anchors} people were paired with everybody; intervals "
        f"are of 95 %. The worst pairs are the worst that a search found."
    )
    return fields | {"pairs": total, "notes": (note,)}


def _fields(
    question: counting.Question,
    curve: Curve,
    tally: counting.Tally,
    highest: IntArray,
    touched_by_rule: npt.NDArray[np.bool_],
    pairs: Callable[[int], Interval] = Interval.exactly,
    people: Callable[[int], Interval] = Interval.exactly,
) -> dict[str, Any]:
    """Fields of the audit; ``pairs`` and ``people`` turn counts into estimates of all."""
    thresholds, sensitivity = question.alphas.tolist(), question.sensitivity
    panel = question.panel
    exact = len(highest) == len(question.counts)
    weights = question.counts if exact else np.ones(len(highest), dtype=np.int64)
    points = {
        least: Reported(
            curve[least], str(panel.rule), pairs(n), people(int(weights[highest > least].sum()))
        )
        for least, n in zip(thresholds, tally.above.tolist(), strict=True)
    }
    rules = tuple(
        Reported(curve[sensitivity], str(rule), pairs(n), people(int(weights[touched].sum())))
        for rule, n, touched in zip(
            question.rules, tally.by_rule.tolist(), touched_by_rule, strict=True
        )
    )
    counts = {
        name: dict(zip(panel.members, getattr(tally, name).tolist(), strict=True))
        for name in ("pivots", "decisive", "objections")
    }
    current = points[sensitivity]
    return {
        "looked_at": tally.pairs, "reported": current.pairs, "touched": current.people,
        "curve": tuple(points.values()), "rules": rules,
        "agreement": _agreement(tally.objectors.tolist()), **counts,
    }  # fmt: skip


def _agreement(objectors: list[int]) -> float | None:
    """Krippendorff's alpha where everybody judges every pair: n_c pairs have c objectors.

    >>> _agreement([2, 1, 1]), krippendorff_alpha([(0, 0), (0, 0), (0, 1), (1, 1)])
    (0.5333333333333333, 0.5333333333333333)
    """
    m, pairs = len(objectors) - 1, sum(objectors)
    if m < 2:
        return None
    votes = sum(c * count for c, count in enumerate(objectors))
    apart = sum(2 * c * (m - c) * count for c, count in enumerate(objectors))
    return alpha_from_counts({m: apart}, {True: votes, False: m * pairs - votes})


def _finding(question: counting.Question, i: int, j: int) -> Finding:
    people, panel = question.people, question.panel
    over, under = (i, j) if question.scores[i] >= question.scores[j] else (j, i)
    sides = Sides(people.take([over]), people.take([under]), paired=True)
    distances = np.concatenate([auditor.between(sides) for auditor in panel.auditors])
    gap = int(question.scores[over] - question.scores[under])
    distance, place = (
        int(array[0]) for array in panel.rule.pivot(distances[:, None], panel.members)
    )
    votes = exceeds(gap, distances, question.sensitivity)
    return Finding(
        people.ids[over], people.ids[under], as_share(gap), as_share(distance),
        as_share(gap - distance), None if place < 0 else panel.members[place],
        _named(panel.members, votes),
        _named(panel.members, panel.rule.decisive(votes, panel.members)),
        _features(people, over, under),
    )  # fmt: skip


def _named(members: tuple[str, ...], flags: Any) -> tuple[str, ...]:
    return tuple(name for name, flag in zip(members, flags, strict=True) if flag)


def _features(people: People, over: int, under: int) -> dict[str, tuple[str, str]]:
    """Both people's visible features in words, by title."""
    return people.say_apart(over, under)


def _survey_audit(
    people: People,
    chances: FloatArray,
    survey: Survey,
    rates: GroupRates | None,
    unused: list[str],
    start: float,
) -> Audit:
    """Judgements of people, joined by their rule: no distances, so no curve and no price."""
    survey.check_people(people.ids)
    units = score_units(chances)
    places = {name: place for place, name in enumerate(people.ids)}
    findings = [
        _survey_finding(people, units, survey, pair, places)
        for pair in survey.judgements
        if survey.fires(pair) and units[places[pair.first]] != units[places[pair.second]]
    ]
    findings.sort(key=lambda pair: (-pair.gap, pair.over, pair.under))
    touched = {person for pair in findings for person in (pair.over, pair.under)}
    judgements = survey.judgements.values()
    return Audit(
        panel=f"{', '.join(survey.members)}: {survey.rule}", members=survey.members, alpha=None,
        asked=len({person for pair in survey.judgements for person in pair}), people=people,
        scores=tuple(chances.tolist()), pairs=len(judgements), looked_at=len(judgements),
        reported=Interval.exactly(len(findings)), touched=Interval.exactly(len(touched)),
        curve=(), rules=(), worst=tuple(findings), pivots={},
        decisive={n: sum(n in pair.decisive for pair in findings) for n in survey.members},
        objections={n: sum(votes.get(n, False) for votes in judgements) for n in survey.members},
        agreement=krippendorff_alpha(judgements), groups=rates,
        notes=(
            "People have no distances: there is no curve over alpha, no pivot and no price.",
            *(f"{name} was given, and changes nothing here." for name in unused),
        ),
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _survey_finding(
    people: People, units: IntArray, survey: Survey, pair: Pair, places: Mapping[str, int]
) -> Finding:
    under, over = sorted((places[person] for person in pair), key=lambda place: units[place])
    votes = survey.votes(pair)
    return Finding(
        people.ids[over], people.ids[under], as_share(int(units[over] - units[under])), None, None,
        None, _named(survey.members, votes),
        _named(survey.members, survey.rule.decisive(votes, survey.members)),
        _features(people, over, under),
        {name: reason for (judged, name), reason in survey.reasons.items() if judged == pair},
    )  # fmt: skip
