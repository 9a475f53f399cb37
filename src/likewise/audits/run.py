"""Audit what exists: the scores of a model in use, people, and a panel that looks at them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing import Panel, Rule, Sides, as_rule
from likewise.audits.given import checked_labels, missing_values, score_units
from likewise.audits.groups import group_rates
from likewise.audits.price import price
from likewise.audits.progress import Progress, shown_progress
from likewise.audits.result import AtAlpha, Audit, Finding, UnderRule, as_share
from likewise.audits.sampling import Interval, Sample, sample, wilson
from likewise.audits.scan import Question, Tally, all_pairs, scan
from likewise.audits.survey import Survey
from likewise.audits.surveyed import audit_of_survey
from likewise.errors import AuditError, ParameterError
from likewise.fixed_point import ONE, IntArray, to_units
from likewise.hypotheses import HypothesisClass
from likewise.schema import People
from likewise.validation import instance, integer, items, real, reals

__all__ = ["audit"]

LOG = logging.getLogger("likewise.audits")
MOST_PEOPLE = 20_000
"""Up to so many people, all pairs are looked at."""
ANCHORS = 64
OTHER_RULES = ("any", "majority", "all")


def audit(
    people: People,
    scores: npt.ArrayLike | Mapping[str, float],
    panel: Panel | Survey,
    *,
    alpha: float | None = None,
    labels: npt.ArrayLike | Mapping[str, int] | None = None,
    groups: Iterable[str] | Mapping[str, Any] = (),
    hypotheses: HypothesisClass | None = None,
    rules: Iterable[Rule | str] | None = None,
    alphas: Iterable[float] | None = None,
    worst: int = 20,
    all_pairs_up_to: int = MOST_PEOPLE,
    sample_pairs: int = 1_000_000,
    seed: int = 1,
    jobs: int | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Audit:
    """Findings of a panel about scores that exist: pairs, people, and the price of passing.

    A pair is reported if the gap of their scores exceeds the pivot's distance by more than alpha
    (definition "Fairness violation"); in a :class:`Survey`, if its rule fires on what people said.

    Parameters
    ----------
    people: with their features, ``schema.people(frame, ids=…)``.
    scores: chances of a favourable decision within [0, 1], or decisions (0 and 1, or truth
        values); in the order of the people, or by id.
    panel: auditors with distances and a rule, or a survey of people's judgements.
    alpha: the size of a violation, which a panel needs; people in a survey have judged already.
    labels: what would have been right, 0 or 1; with them the price of fairness is computed.
    groups: features (or values by name, in the order of people) by which rates are compared; needs
        the extra ``groups``.
    hypotheses: a class to find the best fair policy in; cuts of the scores unless one is given.
    rules: other rules to compare with; any, majority and all by default.
    alphas: the points of the curve; 0, 0.05, …, 1 by default.
    worst: how many of the worst pairs to keep.
    all_pairs_up_to: with more people than this, a sample of ``sample_pairs`` is looked at.
    seed: of the sample, and of the simulation that the price needs.
    jobs: threads; as many as there are processors by default.
    progress: show a bar, or call a function with (done, total).

    >>> from likewise import Feature, FeatureSchema
    >>> from likewise.auditing import MetricAuditor, WeightedL1
    >>> schema = FeatureSchema((Feature("income", low=0, high=100),))
    >>> people = schema.people([[50], [52], [90]], ids=["ann", "bo", "cy"])
    >>> panel = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
    >>> found = audit(people, [0.2, 0.9, 0.9], panel, alpha=0.1)
    >>> found.reported.value, found.touched.value
    (2, 3)
    >>> found.worst[0].words
    'bo is 70 points above ann. They differ in Income (52 and 50). j1 sees them 2 points apart. \
Objecting: j1.'
    """
    start = time.perf_counter()
    _check_people(people)
    units = score_units(people, scores)
    given = None if labels is None else checked_labels(people, labels)
    asked = 0 if isinstance(panel, Survey) and alpha is None else _checked_alpha(alpha)
    rates = group_rates(people, units, groups)
    if hypotheses is not None and not isinstance(hypotheses, HypothesisClass):
        raise ParameterError(
            "hypotheses", "must be a hypothesis class", hypotheses, "Make one: Pool(…)."
        )
    if jobs is not None:
        jobs = integer("jobs", jobs, 1, 1024, "It is a number of threads.")
    worst = integer("worst", worst, 0, 10**6, "It is a number of pairs.")
    seed = integer("seed", seed, 0, 1 << 63, "Take any such number.")
    if isinstance(panel, Survey):
        unused = [name for name, it in (("alpha", alpha), ("labels", labels)) if it is not None]
        return audit_of_survey(people, units, panel, rates, unused, start)
    instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'majority'), or a Survey.")
    others = _other_rules(panel, rules)
    question = Question(people, units, panel, asked, _grid(alphas, asked), others, worst)
    most = integer("all_pairs_up_to", all_pairs_up_to, 2, 10**9, "Say how many people.")
    with shown_progress(progress, "pairs") as bar:
        if len(people) <= most:
            found = _exact(question, jobs, bar)
        else:
            drawn = integer("sample_pairs", sample_pairs, 1000, 10**10, "Give at least 1000.")
            found = _sampled(question, drawn, seed, jobs, bar)
    cost = None
    if given is not None:
        cost = price(people, units, given, panel, as_share(asked), hypotheses, seed, progress)
    found["notes"] = (*found.get("notes", ()), *missing_values(people, panel))
    LOG.info("audited %d people, %d pairs looked at", len(people), found["looked_at"])
    return Audit(
        panel=panel.name, members=panel.members, alpha=as_share(asked), people=people,
        scores=tuple((units / ONE).tolist()), pairs=len(people) * (len(people) - 1) // 2,
        groups=rates, price=cost, seconds=time.perf_counter() - start, **found,
    )  # fmt: skip


def _check_people(people: People) -> None:
    """Refuse what is not people, or only one of them."""
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    if len(people) < 2:
        raise AuditError(
            f"An audit compares people, so it needs at least two; got {len(people)}. Give more."
        )


def _checked_alpha(alpha: Any) -> int:
    if alpha is None:
        raise ParameterError("alpha", "must be given for a panel", None, "Write alpha=0.2.")
    number = real("alpha", alpha, "Give a number such as 0.2.")
    if not 0 <= number <= 1:
        raise ParameterError("alpha", "must be in [0, 1]", alpha, "It is a difference of scores.")
    return to_units(number)


def _grid(alphas: Iterable[float] | None, asked: int) -> IntArray:
    """The alphas of the curve in units, in order, with the one that was asked for."""
    given = (
        (np.arange(21) / 20).tolist() if alphas is None else reals("alphas", alphas, "List them.")
    )
    return np.unique([asked, *(_checked_alpha(alpha) for alpha in given)]).astype(np.int64)


def _other_rules(panel: Panel, rules: Iterable[Rule | str] | None) -> tuple[Rule, ...]:
    if rules is None:
        read = [as_rule(rule) for rule in OTHER_RULES] if len(panel.members) > 1 else []
        read = [rule for rule in read if rule != panel.rule]
    else:
        read = [as_rule(rule) for rule in items("rules", rules, "List them: ['any', 'all'].")]
    for rule in read:
        rule.check(panel.members)
    return tuple(read)


def _exact(question: Question, jobs: int | None, bar: Progress) -> dict[str, Any]:
    """Counts over all pairs."""
    tally = scan(question, all_pairs(len(question.people)), jobs, bar)
    at = int(np.searchsorted(question.alphas, question.sensitivity))
    touched = [int((tally.highest > a).sum()) for a in question.alphas.tolist()]
    exactly = Interval.exactly
    curve = tuple(
        AtAlpha(as_share(a), exactly(int(n)), exactly(t))
        for a, n, t in zip(question.alphas.tolist(), tally.above, touched, strict=True)
    )
    rules = tuple(
        UnderRule(str(rule), exactly(int(n)), exactly(int((high > question.sensitivity).sum())))
        for rule, n, high in zip(question.rules, tally.by_rule, tally.highest_by_rule, strict=True)
    )
    return _common(question, tally, tally.worst) | {
        "reported": curve[at].pairs, "touched": curve[at].people, "curve": curve, "rules": rules,
    }  # fmt: skip


def _sampled(
    question: Question, pairs: int, seed: int, jobs: int | None, bar: Progress
) -> dict[str, Any]:
    """Estimates from pairs and people that were drawn."""
    n = len(question.people)
    anchors = min(ANCHORS, n)
    found: Sample = sample(question, pairs, anchors, seed, jobs, bar)
    tally, total = found.pairs, n * (n - 1) // 2
    at = int(np.searchsorted(question.alphas, question.sensitivity))
    highest = found.everybody.highest[found.anchors]

    def share(count: int) -> Interval:
        return wilson(count, tally.pairs).times(total)

    curve = tuple(
        AtAlpha(as_share(a), share(int(c)), wilson(int((highest > a).sum()), anchors).times(n))
        for a, c in zip(question.alphas.tolist(), tally.above, strict=True)
    )
    highs = found.everybody.highest_by_rule[:, found.anchors]
    rules = tuple(
        UnderRule(
            str(rule),
            share(int(c)),
            wilson(int((high > question.sensitivity).sum()), anchors).times(n),
        )
        for rule, c, high in zip(question.rules, tally.by_rule, highs, strict=True)
    )
    return _common(question, tally, found.everybody.worst) | {
        "reported": curve[at].pairs, "touched": curve[at].people, "curve": curve, "rules": rules,
        "sample": {"pairs": tally.pairs, "anchors": anchors, "seed": found.seed},
        "notes": (
            f"Of {total:,} pairs, {tally.pairs:,} were drawn at random (seed {seed}), and "
            f"{anchors} people were paired with everybody; intervals are of 95 %. The worst pairs "
            f"are the worst that a search found.",
        ),
    }  # fmt: skip


def _common(
    question: Question, tally: Tally, worst: Sequence[tuple[int, int, int]]
) -> dict[str, Any]:
    members = question.panel.members
    counts = {
        name: dict(zip(members, getattr(tally, name).tolist(), strict=True))
        for name in ("pivots", "decisive", "objections")
    }
    findings = tuple(_finding(question, i, j) for _, i, j in worst)
    return {
        "looked_at": tally.pairs, "worst": findings,
        "agreement": _agreement(tally.objectors.tolist()), **counts,
    }  # fmt: skip


def _agreement(objectors: Sequence[int]) -> float | None:
    """Krippendorff's alpha from how many pairs had so many objecting, everybody judging all.

    With m members and n_c pairs to which c of them object: D_o = Σ n_c·2c(m−c)/(m−1) / n and
    D_e = 2·v·(n−v)/(n(n−1)), where n = m·Σ n_c judgements and v of them are objections.

    >>> from likewise.auditing import krippendorff_alpha
    >>> _agreement([2, 1, 1]), krippendorff_alpha([(0, 0), (0, 0), (0, 1), (1, 1)])
    (0.5333333333333333, 0.5333333333333333)
    """
    m = len(objectors) - 1
    n = m * sum(objectors)
    votes = sum(c * count for c, count in enumerate(objectors))
    if m < 2 or not 0 < votes < n:
        return None
    apart = sum(count * 2 * c * (m - c) for c, count in enumerate(objectors)) / (m - 1)
    return 1 - (apart / n) / (2 * votes * (n - votes) / (n * (n - 1)))


def _finding(question: Question, i: int, j: int) -> Finding:
    people, panel = question.people, question.panel
    over, under = (i, j) if question.scores[i] >= question.scores[j] else (j, i)
    two = people.take([over, under])
    sides = Sides(two.take([0]), two.take([1]), paired=True)
    distances = np.concatenate([auditor.between(sides) for auditor in panel.auditors])
    gap = int(question.scores[over] - question.scores[under])
    distance, place = panel.rule.pivot(distances[:, None], panel.members)
    votes = gap > distances + question.sensitivity
    objecting = tuple(n for n, vote in zip(panel.members, votes.tolist(), strict=True) if vote)
    pivot = int(place[0])
    fires = bool(panel.rule.fires(votes, panel.members))
    needed = []
    for index, name in enumerate(panel.members):
        without = votes.copy()
        without[index] = False
        if fires and not panel.rule.fires(without, panel.members):
            needed.append(name)
    said = [two.say(place) for place in (0, 1)]
    return Finding(
        people.ids[over], people.ids[under], as_share(gap), as_share(int(distance[0])),
        as_share(gap - int(distance[0])), None if pivot < 0 else panel.members[pivot], objecting,
        tuple(needed), {name: (said[0][name], said[1][name]) for name in said[0]},
    )  # fmt: skip
