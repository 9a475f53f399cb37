"""Audit scores that exist: those of a model in use, before a panel or people who were asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.audits import counting, large
from likewise.audits.basis import Basis, basis_of
from likewise.audits.groups import GroupCounts, between_groups, codes_of, group_rates, read_traits
from likewise.audits.pairs import NO_GROUPS, Block, Question, Tally, few_of_each, threshold
from likewise.audits.price import price
from likewise.audits.result import Audit, Finding, Reported, checked_alpha, finding
from likewise.audits.scores import Rows, notes_on_unused, read_labels, read_scores
from likewise.audits.survey import Survey, survey_audit
from likewise.errors import AuditError
from likewise.hypotheses import HypothesisClass
from likewise.numerics.fixed_point import IntArray
from likewise.numerics.intervals import CONFIDENCE, Interval, share
from likewise.panel import Panel, Rule, Sides, WeightedL1, agreement, as_rule, exceeds
from likewise.people import People
from likewise.people.scans import Scan
from likewise.validation import assign, instance, integer, items, reals

LOG = logging.getLogger("likewise.audits")
MOST_PEOPLE = 20_000
"""Up to this many people, all pairs are scanned."""
OTHER_RULES = ("any", "majority", "all")

Curve = Mapping[int, float]
"""The alphas that were asked for, by the units that an excess must be above."""
Source = tuple[Scan, large.Reader]
"""People who are read block by block."""


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
    each: int | None = 2,
    model: str = "",
    left_out: Mapping[str, int] | None = None,
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

    Args:
        people: with their features, ``schema.people(frame, ids=…)``; or ``schema.scan(source,
            ids=…)`` for those who do not fit into memory.
        scores: chances of a favourable decision within [0, 1], or decisions (0 and 1, or truth
            values); in the order of the people, or by id. A Series is matched by its index. Of
            people who are scanned, the name of their column, and so with labels and groups.
        panel: auditors with distances and a rule, or a survey of people's judgements.
        alpha: the size of a violation, which a panel needs; people in a survey have judged already.
        labels: what would have been right, 0 or 1; with them the price of fairness is computed.
        favourable: of labels or decisions with two other values, such as "approved" and "denied",
            the one that is favourable; a list where labels and decisions have different words.
        groups: features (or values by name, or a frame of them) by which rates and reported pairs
            are compared.
        hypotheses: a class to find the best fair policy in; cuts of the scores unless one is given.
        rules: other rules to compare with; any, majority and all by default.
        alphas: the points of the curve; 0, 0.05, …, 1 by default.
        worst: how many of the worst pairs to keep.
        each: in how many of them one person may be; None for any number.
        model: the name of the model, for the record.
        left_out: how many rows were left out before, by reason, for the record.
        all_pairs_up_to: with more people than this, a sample of ``sample_pairs`` is scanned; of
            people who are scanned, with more kinds than this.
        seed: of the sample, and of the simulation that the price needs.
        jobs: threads, as many as there are processors by default; or a Dask client or a Spark
            session, whose workers then count the pairs.
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
    size = 0.0 if isinstance(panel, Survey) and alpha is None else checked_alpha(alpha)
    how = _How(hypotheses, all_pairs_up_to, sample_pairs, seed, jobs, progress)
    everybody, source = _read(people, scores, panel, labels, favourable, groups, how.most)
    if not isinstance(panel, Survey):
        instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'any'), or a Survey.")
    basis = basis_of(everybody, panel, model, left_out)
    if isinstance(panel, Survey):
        unused = [("alpha", alpha), ("labels", None if everybody.traits else labels)]
        notes = [f"{n} was given, and changes nothing here." for n, v in unused if v is not None]
        return _as_they_came(survey_audit(everybody, panel, notes, basis), people)
    subject = _subject(everybody, source, panel, _curve(alphas, size), size, rules, worst, each,
                       how)  # fmt: skip
    result = subject.audit(everybody, basis)
    if not isinstance(people, Scan):
        notes = notes_on_unused(favourable, people, scores, labels)
        result = replace(result, notes=(*result.notes, *notes))
    return _as_they_came(result, people)


@dataclass(frozen=True)
class _How:
    """How pairs are counted: all of them or a sample, and on which threads or cluster."""

    hypotheses: HypothesisClass | None
    most: int
    pairs: int
    seed: int
    jobs: Any
    progress: bool | Callable[[int, int], None]

    def __post_init__(self) -> None:
        if self.hypotheses is not None:
            instance("hypotheses", self.hypotheses, HypothesisClass, "Make one: Pool(…).")
        most = integer("all_pairs_up_to", self.most, 2, 10**9, "Say how many people.")
        seed = integer("seed", self.seed, 0, 1 << 63, "Take any such number.")
        pairs = integer("sample_pairs", self.pairs, 1000, 10**10, "Give at least 1000.")
        assign(self, most=most, seed=seed, pairs=pairs)
        if self.jobs is not None and not counting.is_cluster(self.jobs):
            remedy = "It is a number of threads, a Dask client or a Spark session."
            integer("jobs", self.jobs, 1, 1024, remedy)


def _subject(
    rows: Rows, source: Source | None, panel: Panel, curve: Curve, alpha: float,
    rules: Iterable[Rule | str] | None, worst: int, each: int | None, how: _How,
) -> _Subject:  # fmt: skip
    """The question of an audit, about kinds of people where too many are in memory."""
    groups = rows.groups if source is None else large.count_groups(*source)
    if source is None and rows.counts is None and len(rows.people) > how.most:
        rows = large.kinds_in_memory(replace(rows, labels=None), panel, how.most) or rows
    question = Question(
        rows.people, rows.units, panel, threshold(alpha), np.array(sorted(curve)),
        _other_rules(panel, rules), integer("worst", worst, 0, 10**6, "It is a number of pairs."),
        rows.sizes,
        None if each is None else integer("each", each, 1, 10**6, "None is for any number."),
        codes_of(rows.traits, len(rows.people)),
    )  # fmt: skip
    return _Subject(question, rows, curve, groups, source, how)


def _read(
    people: People | Scan, scores: Any, panel: Any, labels: Any, favourable: Any, groups: Any,
    most: int,
) -> tuple[Rows, Source | None]:  # fmt: skip
    """People in the order of their ids, or kinds of them; where they are too many, their source.

    So the order in which people come changes nothing: neither draws nor which of equals is first.
    """
    if isinstance(people, Scan):
        reader = large.reader_of(people, scores, labels, groups, panel, favourable)
        scanned = large.gathered(people, reader, most)
        if scanned is None:
            schema = people.encoder.schema
            nobody = People((), np.empty((0, len(schema))), schema)
            traits = dict.fromkeys(reader.groups, ())
            source = people, large.with_words(people, reader)
            return Rows(nobody, np.empty(0), None, traits), source
        rows = scanned
    else:
        instance("people", people, People, "Make them with a schema: schema.people(rows).")
        outcomes = None if labels is None else read_labels(people, labels, favourable)
        chances = read_scores(people, scores, favourable)
        rows = Rows(people, chances, outcomes, read_traits(people, groups))
    if (number := int(rows.sizes.sum())) < 2:
        raise AuditError(
            f"An audit compares people, so it needs at least two; got {number}. Give more."
        )
    return rows.by_id() if rows.counts is None else rows, None


def _as_they_came(result: Audit, people: People | Scan) -> Audit:
    """The audit with its people in the order in which they came, where they have one."""
    if isinstance(people, Scan):
        return result
    return replace(result, people=tuple(sorted(result.people, key=lambda p: people.places[p.id])))


def _curve(alphas: Iterable[float] | None, alpha: float) -> Curve:
    """The alphas of the curve, with that of the audit, by their thresholds."""
    points = (
        (np.arange(21) / 20).tolist() if alphas is None else reals("alphas", alphas, "List them.")
    )
    return {threshold(a): a for a in (*map(checked_alpha, points), alpha)}


def _other_rules(panel: Panel, rules: Iterable[Rule | str] | None) -> tuple[Rule, ...]:
    if rules is None:
        names = OTHER_RULES if len(panel.members) > 1 else ()
        parsed = [rule for rule in map(as_rule, names) if rule != panel.rule]
    else:
        parsed = [as_rule(rule) for rule in items("rules", rules, "List them: ['any', 'all'].")]
    for rule in parsed:
        rule.check(panel.members)
    return tuple(parsed)


def _notes(question: Question) -> list[str]:
    """Notes on missing values, which count as a full difference, and on a rule that never fires."""
    notes, counts, panel = [], question.counts, question.panel
    for auditor in panel.auditors:
        if not isinstance(auditor.distance, WeightedL1):
            continue
        for name, _ in auditor.distance.weights:
            lacking = int(counts[np.isnan(question.people.column(name))].sum())
            if 0 < lacking < counts.sum():
                notes.append(
                    f"{lacking:,} of the people lack {name!r}. {auditor.name} finds them as far "
                    f"from those who have it as that feature can count."
                )
    if not panel.rule.can_fire(panel.members):  # such as at_least(2) for a panel of one
        notes.append(f"The rule {panel.rule} reports no pair, even if all members object.")
    return notes


def _agreement(objectors: list[int]) -> float | None:
    """Krippendorff's alpha where everybody judges every pair: n_c pairs have c objectors.

    >>> from likewise.panel import krippendorff_alpha
    >>> _agreement([2, 1, 1]), krippendorff_alpha([(0, 0), (0, 0), (0, 1), (1, 1)])
    (0.5333333333333333, 0.5333333333333333)
    """
    m, pairs = len(objectors) - 1, sum(objectors)
    if m < 2:
        return None
    votes = sum(c * count for c, count in enumerate(objectors))
    apart = sum(2 * c * (m - c) * count for c, count in enumerate(objectors))
    return agreement.alpha_from_counts({m: apart}, {True: votes, False: m * pairs - votes})


@dataclass(frozen=True, eq=False)
class _Subject:
    """The question of an audit, with the scores, groups and alphas of its findings."""

    question: Question
    rows: Rows
    curve: Curve
    groups: GroupCounts
    source: Source | None
    how: _How

    def audit(self, everybody: Rows, basis: Basis) -> Audit:
        """The audit of all pairs or of a sample, also of people who are not in memory."""
        how, panel, alpha = self.how, self.question.panel, self.curve[self.question.sensitivity]
        with counting.progress_reporter(how.progress, "pairs") as bar:
            if self.source is not None:
                fields, everybody = self.scanned(self.source, bar)
            elif len(self.rows.people) <= how.most:
                fields = self.exact(bar)
            else:
                fields = self.sampled(bar)
        if everybody.labels is not None:
            fields["price"] = price(everybody, panel, alpha, how.hypotheses, how.seed, how.progress)
        fields["notes"] = (*fields["notes"], *_notes(self.question))
        LOG.info("audited %d people, %d pairs scanned", fields["population"], fields["looked_at"])
        return Audit(
            basis=basis, panel=panel.name, members=panel.members, alpha=alpha,
            groups=group_rates(self.groups, fields.pop("between")), **fields,
            _pairs_of=None if self.source else partial(_pairs_of, self.question, self.rows),
            _backend=everybody.backend,
        )  # fmt: skip

    def exact(self, bar: counting.Progress) -> dict[str, Any]:
        """Counts of all pairs, those of one kind included."""
        q, counts = self.question, self.question.counts
        tally = counting.scan(q, None, self.how.jobs, bar)
        # Nobody objects to pairs of one kind: their scores are the same.
        alike = int((counts * (counts - 1) // 2).sum())
        tally.pairs += alike
        tally.objectors[0] += alike
        notes = (
            f"{counts.sum():,} people are of {len(counts):,} kinds, of the same features and the "
            f"same score each. All pairs were counted; each kind is shown by one of its people."
        )
        fields = self._fields(
            int(counts.sum()), tally, self._anchors(tally, np.arange(len(counts)))
        )
        return fields | {"notes": (notes,) if alike else ()}

    def sampled(self, bar: counting.Progress) -> dict[str, Any]:
        """Estimates from pairs and people drawn at random."""
        how = self.how
        tally, places, wide = counting.sample(self.question, how.pairs, how.seed, how.jobs, bar)
        drawn = "were drawn at random"
        return self._estimates(len(self.rows.people), tally, self._anchors(wide, places), drawn)

    def scanned(self, source: Source, bar: counting.Progress) -> tuple[dict[str, Any], Rows]:
        """Estimates from a sample of people who are not in memory, and people to price."""
        sampler = large.Sampler(*source, self.question, self.groups, self.how.seed, self.how.jobs)
        tally, anchors, worst, priced = sampler.sample(self.how.pairs, bar)
        question = self.question.among(worst.people, worst.units)
        subject = replace(self, question=question, rows=worst)
        drawn = "were drawn at random by a hash of ids, no two of one person,"
        return subject._estimates(source[0].count or 0, tally, anchors, drawn), priced

    def _estimates(
        self, k: int, tally: Tally, anchors: large.Anchors, drawn: str
    ) -> dict[str, Any]:
        """Fields of an audit of k people by a sample, and how its pairs were drawn."""
        count, seed = len(anchors.partners), self.how.seed
        fields = self._fields(k, tally, anchors, sampled=True)
        return fields | {
            "sample": {"pairs": tally.pairs, "anchors": count, "seed": seed},
            "notes": (
                f"Of {fields['pairs']:,} pairs, {tally.pairs:,} {drawn} (seed {seed}), and {count} "
                f"people were paired with everybody. All counts are estimates for all pairs and "
                f"people, with intervals of 95 %; the band of the curve holds at every alpha at "
                f"once. The worst pairs are the worst that a search found.",
            ),
        }

    def _fields(
        self, k: int, tally: Tally, anchors: large.Anchors, *, sampled: bool = False
    ) -> dict[str, Any]:
        """Fields of the audit of k people: counts, or estimates with intervals from a sample."""
        q, alpha = self.question, self.curve[self.question.sensitivity]
        total, drawn = k * (k - 1) // 2, len(anchors.partners)

        def pairs(n: int, level: float = CONFIDENCE) -> Interval:
            return share(n, tally.pairs, level).times(total) if sampled else Interval.exactly(n)

        def people(n: int, level: float = CONFIDENCE) -> Interval:
            some = sampled and drawn < k
            return share(n, drawn, level).times(k) if some else Interval.exactly(n)

        above = dict(zip(q.alphas.tolist(), tally.above.tolist(), strict=True))
        touched = {least: anchors.number(anchors.tally.highest > least) for least in above}
        # Intervals at n points hold all at once if each fails n times more rarely (Bonferroni).
        band, rule = 1 - (1 - CONFIDENCE) / len(above), str(q.panel.rule)
        curve = [
            Reported(self.curve[n], rule, pairs(above[n], band), people(count, band))
            for n, count in touched.items()
        ]
        numbers = map(anchors.number, anchors.tally.touched_by_rule)
        by_rule = zip(q.rules, tally.by_rule.tolist(), numbers, strict=True)
        return {
            "population": k, "pairs": total, "looked_at": tally.pairs,
            "reported": pairs(above[q.sensitivity]),
            "touched": people(touched[q.sensitivity]), "curve": tuple(curve),
            "rules": tuple(Reported(alpha, str(r), pairs(n), people(m)) for r, n, m in by_rule),
            "agreement": _agreement(tally.objectors.tolist()),
            "people": anchors.people(),
            "between": between_groups(self.groups, tally.between_groups, pairs),
            "worst": tuple(_finding(q, self.rows, i, j) for i, j in anchors.worst),
            **{name: dict(zip(q.panel.members, map(pairs, getattr(tally, name).tolist()),
                              strict=True)) for name in ("pivots", "decisive", "objections")},
        }  # fmt: skip

    def _anchors(self, tally: Tally, places: IntArray) -> large.Anchors:
        """Those at some places, who were paired with everybody."""
        q, ids = self.question, self.question.people.ids
        tally.narrow(places)
        partners = [ids[place] if place < len(ids) else "" for place in tally.partner.tolist()]
        worst = [(i, j) for _, i, j in few_of_each(tally.worst, q.worst, q.each)]
        return large.Anchors(self.rows.take(places), tally, partners, worst)


def _pairs_of(question: Question, rows: Rows, person: str) -> tuple[Finding, ...]:
    """The reported pairs of a person, the worst first."""
    ids, k = question.people.ids, len(question.people)
    if person not in ids:
        where, remedy = "the people", "Check the id."
        if question.counts.max() > 1:
            where = "the people who are shown, one of each kind"
            remedy = "Ask for the one who is shown for their kind."
        raise AuditError(f"{person!r} is not among {where}. {remedy}")
    everybody = replace(question, worst=k, each=None, rules=(), groups=NO_GROUPS)
    block = Block(np.array([ids.index(person)]), np.arange(k))
    worst = counting.scan(everybody, [block], jobs=1).worst
    return tuple(
        _finding(question, rows, i, j) for excess, i, j in worst if excess > question.sensitivity
    )


def _finding(question: Question, rows: Rows, i: int, j: int) -> Finding:
    panel, units = question.panel, question.scores
    over, under = (i, j) if units[i] >= units[j] else (j, i)
    sides = Sides.at(question.people, [over], [under])
    distances = np.concatenate([auditor.between(sides) for auditor in panel.auditors])
    gap = int(units[over] - units[under])
    pivot = panel.rule.pivot(distances[:, None], panel.members)
    distance, place = (int(array[0]) for array in pivot)
    votes = exceeds(gap, distances, question.sensitivity)
    return finding(
        rows, over, under, panel.rule, panel.members, votes, distance=distance,
        reported=gap - distance > question.sensitivity,
        pivot=None if place < 0 else panel.members[place],
    )  # fmt: skip
