"""Audit scores that exist: those of a model in use, before a panel or people who were asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.audits import pairs as counting
from likewise.audits.basis import basis_of
from likewise.audits.groups import (
    GroupCounts,
    Traits,
    between_groups,
    codes_of,
    group_rates,
    read_traits,
)
from likewise.audits.large import (
    Reader,
    Rows,
    Sample,
    Sampler,
    count_groups,
    gathered,
    kinds_in_memory,
    reader_of,
    with_words,
)
from likewise.audits.price import MOST_PEOPLE as MOST_PRICED
from likewise.audits.price import price
from likewise.audits.result import (
    Audit,
    Finding,
    Person,
    Reported,
    as_share,
    backend_of,
    checked_alpha,
    named,
    side_by_side,
)
from likewise.audits.scores import notes_on_unused, read_labels, read_scores
from likewise.audits.survey import Survey, survey_audit
from likewise.errors import AuditError
from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import CONFIDENCE, Interval, share
from likewise.panel.agreement import alpha_from_counts
from likewise.panel.metrics import Sides, WeightedL1
from likewise.panel.panels import Panel
from likewise.panel.reports import exceeds
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import Rule
from likewise.people.scans import Scan
from likewise.people.schema import People
from likewise.validation import instance, integer, items, reals

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
    most = integer("all_pairs_up_to", all_pairs_up_to, 2, 10**9, "Say how many people.")
    size = 0.0 if isinstance(panel, Survey) and alpha is None else checked_alpha(alpha)
    everybody, source = _read(people, scores, panel, labels, favourable, groups, most)
    if hypotheses is not None:
        instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    if jobs is not None and not counting.is_cluster(jobs):
        remedy = "It is a number of threads, a Dask client or a Spark session."
        jobs = integer("jobs", jobs, 1, 1024, remedy)
    worst = integer("worst", worst, 0, 10**6, "It is a number of pairs.")
    if each is not None:
        each = integer("each", each, 1, 10**6, "It is a number of pairs; None for any.")
    seed = integer("seed", seed, 0, 1 << 63, "Take any such number.")
    if not isinstance(panel, Survey):
        instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'any'), or a Survey.")
    basis = basis_of(everybody, panel, model, left_out)
    if isinstance(panel, Survey):
        unused = [("alpha", alpha), ("labels", None if everybody.traits else labels)]
        notes = [f"{n} was given, and changes nothing here." for n, v in unused if v is not None]
        result = survey_audit(
            everybody.people, everybody.chances, panel, everybody.traits, basis=basis,
            groups=group_rates(everybody.groups), notes=notes,
        )  # fmt: skip
        return _as_they_came(result, people)
    curve, rows = _curve(alphas, size), everybody
    if source is None and rows.counts is None and len(rows.people) > most:
        rows = kinds_in_memory(replace(rows, labels=None), panel, most) or rows
    groups_of_all = everybody.groups if source is None else count_groups(*source)
    codes = [codes for _, codes in codes_of(rows.traits).values()]
    most_groups = max((len(groups_of_all.groups(n)) for n in groups_of_all.traits), default=0)
    question = counting.Question(
        rows.people, rows.units, panel, counting.threshold(size), np.array(sorted(curve)),
        _other_rules(panel, rules), worst, _counts(rows), each,
        np.array(codes, dtype=np.int64).reshape(len(rows.traits), len(rows.people)), most_groups,
    )  # fmt: skip
    subject, priced = _Subject(question, rows.chances, rows.traits, curve, groups_of_all), everybody
    with counting.progress_reporter(progress, "pairs") as bar:
        if source is None and len(rows.people) <= most:
            fields = subject.exact(jobs, bar)
        else:
            pairs = integer("sample_pairs", sample_pairs, 1000, 10**10, "Give at least 1000.")
            if source is None:
                fields = subject.sampled(pairs, seed, jobs, bar)
            else:
                sampler = Sampler(*source, question, groups_of_all, seed, jobs)
                sample = sampler.sample(pairs, ANCHORS, MOST_PRICED, bar)
                fields, priced = subject.scanned(source[0], sample, seed), sample.some
    if priced.labels is not None:
        fields["price"] = price(
            priced.people, priced.units, priced.labels, panel, size, hypotheses, seed, progress,
            priced.counts,
        )  # fmt: skip
    fields["notes"] = (
        *fields.get("notes", ()), *_notes_on_missing_values(question), *_note_on_rule(panel),
        *(() if isinstance(people, Scan) else notes_on_unused(favourable, people, scores, labels)),
    )  # fmt: skip
    LOG.info("audited %d people, %d pairs scanned", fields["population"], fields["looked_at"])
    result = Audit(
        basis=basis, panel=panel.name, members=panel.members, alpha=size,
        groups=group_rates(groups_of_all, fields.pop("between")), **fields,
        _pairs_of=subject.pairs_of, _backend=backend_of(everybody.people),
    )  # fmt: skip
    return _as_they_came(result, people)


def _read(
    people: People | Scan, scores: Any, panel: Any, labels: Any, favourable: Any, groups: Any,
    most: int,
) -> tuple[Rows, tuple[Scan, Reader] | None]:  # fmt: skip
    """People in the order of their ids, or kinds of them; where they are too many, their source.

    So the order in which people come changes nothing: neither draws nor which of equals is first.
    """
    if isinstance(people, Scan):
        reader = reader_of(people, scores, labels, groups, panel, favourable)
        scanned = gathered(people, reader, most)
        if scanned is None:
            schema = people.encoder.schema
            nobody = People((), np.empty((0, len(schema))), schema)
            traits = dict.fromkeys(reader.groups, ())
            return Rows(nobody, np.empty(0), None, traits), (people, with_words(people, reader))
        rows = scanned
    else:
        instance("people", people, People, "Make them with a schema: schema.people(rows).")
        outcomes = None if labels is None else read_labels(people, labels, favourable)
        chances = read_scores(people, scores, favourable)
        rows = Rows(people, chances, outcomes, read_traits(people, groups))
    if (number := int(_counts(rows).sum())) < 2:
        raise AuditError(
            f"An audit compares people, so it needs at least two; got {number}. Give more."
        )
    return rows.by_id() if rows.counts is None else rows, None


def _counts(rows: Rows) -> IntArray:
    return np.ones(len(rows.people), dtype=np.int64) if rows.counts is None else rows.counts


def _as_they_came(result: Audit, people: People | Scan) -> Audit:
    """The audit with its people in the order in which they came, where they have one."""
    if isinstance(people, Scan):
        return result
    places = {name: place for place, name in enumerate(people.ids)}
    return replace(result, people=tuple(sorted(result.people, key=lambda p: places[p.id])))


def _curve(alphas: Iterable[float] | None, alpha: float) -> Curve:
    """The alphas of the curve, with that of the audit, by their thresholds."""
    points = (
        (np.arange(21) / 20).tolist() if alphas is None else reals("alphas", alphas, "List them.")
    )
    return {counting.threshold(a): a for a in (*map(checked_alpha, points), alpha)}


def _other_rules(panel: Panel, rules: Iterable[Rule | str] | None) -> tuple[Rule, ...]:
    if rules is None:
        names = OTHER_RULES if len(panel.members) > 1 else ()
        parsed = [rule for rule in map(as_rule, names) if rule != panel.rule]
    else:
        parsed = [as_rule(rule) for rule in items("rules", rules, "List them: ['any', 'all'].")]
    for rule in parsed:
        rule.check(panel.members)
    return tuple(parsed)


def _note_on_rule(panel: Panel) -> list[str]:
    """A note on a rule such as at_least(2) for a panel of one."""
    if panel.rule.fires([True] * len(panel.members), panel.members):
        return []
    return [f"The rule {panel.rule} reports no pair, even if all members object."]


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
    return alpha_from_counts({m: apart}, {True: votes, False: m * pairs - votes})


def _counted(n: int, confidence: float = CONFIDENCE) -> Interval:  # noqa: ARG001
    return Interval.exactly(n)


Estimate = Callable[..., Interval]
"""From a count, and perhaps a confidence, to the number among all."""


@dataclass(frozen=True, eq=False)
class _Anchors:
    """People who were paired with everybody: all of them, their kinds, or those drawn.

    ``worst`` are the worst pairs, by their places among the people of the question.
    """

    ids: tuple[str, ...]
    chances: FloatArray
    counts: IntArray
    highest: IntArray
    partner: list[str]
    over: IntArray
    under: IntArray
    touched_by_rule: npt.NDArray[np.bool_]
    worst: list[tuple[int, int]]
    groups: Sequence[Mapping[str, str]] = ()

    def number(self, flags: npt.NDArray[np.bool_]) -> int:
        """How many people some of them stand for."""
        return int(self.counts[flags].sum())


def _groups_of(traits: Traits, places: Iterable[int]) -> list[dict[str, str]]:
    return [{name: values[place] for name, values in traits.items()} for place in places]


@dataclass(frozen=True, eq=False)
class _Subject:
    """The question of an audit, with what its findings are told in: scores, groups, alphas."""

    question: counting.Question
    chances: FloatArray
    traits: Traits
    curve: Curve
    groups: GroupCounts

    def exact(self, jobs: Any, bar: counting.Progress) -> dict[str, Any]:
        """Counts over all pairs."""
        q, counts = self.question, self.question.counts
        tally = counting.scan_all(q, jobs, bar)
        # Nobody objects to pairs of one kind: their scores are the same.
        alike = int((counts * (counts - 1) // 2).sum())
        tally.pairs += alike
        tally.objectors[0] += alike
        fields = self._fields(tally, self._anchors(tally, np.arange(len(counts))))
        notes = (
            f"{counts.sum():,} people are of {len(counts):,} kinds, of the same features and the "
            f"same score each. All pairs were counted; each kind is shown by one of its people."
        )
        return fields | {"notes": (notes,) if alike else (), "population": int(counts.sum())}

    def sampled(self, pairs: int, seed: int, jobs: Any, bar: counting.Progress) -> dict[str, Any]:
        """Estimates from pairs and people drawn at random."""
        k = len(self.chances)
        tally, places, wide = counting.sample(
            self.question, pairs, min(ANCHORS, k), seed, jobs, bar
        )
        anchors = self._anchors(wide, places)
        return self._estimates(k, tally, anchors, "were drawn at random", seed)

    def scanned(self, scan: Scan, sample: Sample, seed: int) -> dict[str, Any]:
        """Estimates from a sample of people who are not here."""
        some, worst, partners = sample.anchors, sample.worst, sample.partners
        question = self.question.among(worst.people, worst.units)
        subject = replace(self, question=question, chances=worst.chances, traits=worst.traits)
        anchors = _Anchors(
            some.people.ids, some.chances, np.ones(len(some.chances), dtype=np.int64),
            partners.highest, [name for _, name in partners.partner], partners.over, partners.under,
            partners.touched_by_rule, [(i, i + 1) for i in range(0, len(worst.people), 2)],
            _groups_of(some.traits, range(len(some.chances))),
        )  # fmt: skip
        drawn = "were drawn at random by a hash of ids, no two of one person,"
        return subject._estimates(scan.count or 0, sample.tally, anchors, drawn, seed)

    def _estimates(
        self, k: int, tally: counting.Tally, anchors: _Anchors, drawn: str, seed: int
    ) -> dict[str, Any]:
        """Fields with intervals, for k people and all of their pairs."""
        count, total = len(anchors.ids), k * (k - 1) // 2

        def of_pairs(n: int, confidence: float = CONFIDENCE) -> Interval:
            return share(n, tally.pairs, confidence).times(total)

        def of_people(n: int, confidence: float = CONFIDENCE) -> Interval:
            return share(n, count, confidence).times(k) if count < k else Interval.exactly(n)

        return self._fields(tally, anchors, of_pairs, of_people) | {
            "population": k,
            "pairs": total,
            "sample": {"pairs": tally.pairs, "anchors": count, "seed": seed},
            "notes": (
                f"Of {total:,} pairs, {tally.pairs:,} {drawn} (seed {seed}), and {count} people "
                f"were paired with everybody. All counts are estimates for all pairs and people, "
                f"with intervals of 95 %; the band of the curve holds at every alpha at once. The "
                f"worst pairs are the worst that a search found.",
            ),
        }

    def _fields(
        self,
        tally: counting.Tally,
        anchors: _Anchors,
        pairs: Estimate = _counted,
        people: Estimate = _counted,
    ) -> dict[str, Any]:
        """Fields of the audit; ``pairs`` and ``people`` turn counts into estimates of all.

        ``tally`` has the counts of pairs, ``anchors`` are the people paired with everybody.
        """
        q, alpha = self.question, self.curve[self.question.sensitivity]
        above = dict(zip(q.alphas.tolist(), tally.above.tolist(), strict=True))
        touched = {least: anchors.number(anchors.highest > least) for least in above}
        # Intervals at n points hold all at once if each fails n times more rarely (Bonferroni).
        band = 1 - (1 - CONFIDENCE) / len(above)
        curve = [
            Reported(self.curve[n], str(q.panel.rule), pairs(above[n], band), people(count, band))
            for n, count in touched.items()
        ]
        numbers = map(anchors.number, anchors.touched_by_rule)
        by_rule = zip(q.rules, tally.by_rule.tolist(), numbers, strict=True)
        return {
            "pairs": tally.pairs, "looked_at": tally.pairs,
            "reported": pairs(above[q.sensitivity]),
            "touched": people(touched[q.sensitivity]), "curve": tuple(curve),
            "rules": tuple(Reported(alpha, str(r), pairs(n), people(m)) for r, n, m in by_rule),
            "agreement": _agreement(tally.objectors.tolist()),
            "people": self._people(anchors),
            "between": between_groups(self.groups, tally.between_groups, pairs),
            "worst": tuple(self._finding(i, j) for i, j in anchors.worst),
            **{
                name: dict(zip(q.panel.members, map(pairs, counts.tolist()), strict=True))
                for name, counts in (
                    ("pivots", tally.pivots), ("decisive", tally.decisive),
                    ("objections", tally.objections),
                )
            },
        }  # fmt: skip

    def _anchors(self, tally: counting.Tally, places: IntArray) -> _Anchors:
        """Those at some places, who were paired with everybody."""
        q, ids = self.question, self.question.people.ids
        worst = counting.few_of_each(tally.worst, q.worst, q.each)
        partner = [ids[p] if p < len(ids) else "" for p in tally.partner[places].tolist()]
        return _Anchors(
            tuple(ids[place] for place in places.tolist()), self.chances[places],
            q.counts[places], tally.highest[places], partner, tally.over[places],
            tally.under[places], tally.touched_by_rule[:, places], [(i, j) for _, i, j in worst],
            _groups_of(self.traits, places.tolist()),
        )  # fmt: skip

    def _people(self, anchors: _Anchors) -> tuple[Person, ...]:
        columns = zip(
            anchors.ids, anchors.chances.tolist(), anchors.over.tolist(), anchors.under.tolist(),
            anchors.partner, anchors.highest.tolist(), anchors.groups or [{}] * len(anchors.ids),
            anchors.counts.tolist(), strict=True,
        )  # fmt: skip
        return tuple(
            Person(name, score, over, under, mate or None, as_share(high), groups, count)
            for name, score, over, under, mate, high, groups, count in columns
        )

    def pairs_of(self, person: str) -> tuple[Finding, ...]:
        """The reported pairs of a person, the worst first."""
        ids, k = self.question.people.ids, len(self.chances)
        if person not in ids:
            raise AuditError(f"{person!r} is not among the people. Check the id.")
        nobody = np.zeros((0, k), dtype=np.int64)
        everybody = replace(self.question, worst=k, each=None, rules=(), groups=nobody)
        place = np.array([ids.index(person)])
        tally = counting.scan(everybody, [counting.Block(place, np.arange(k))], jobs=1)
        least = self.question.sensitivity
        return tuple(self._finding(i, j) for excess, i, j in tally.worst if excess > least)

    def _finding(self, i: int, j: int) -> Finding:
        people, panel, units = self.question.people, self.question.panel, self.question.scores
        over, under = (i, j) if units[i] >= units[j] else (j, i)
        sides = Sides(people.take([over]), people.take([under]), paired=True)
        distances = np.concatenate([auditor.between(sides) for auditor in panel.auditors])
        gap = int(units[over] - units[under])
        distance, place = (
            int(array[0]) for array in panel.rule.pivot(distances[:, None], panel.members)
        )
        votes = exceeds(gap, distances, self.question.sensitivity)
        return Finding(
            gap=as_share(gap), distance=as_share(distance), excess=as_share(gap - distance),
            reported=gap - distance > self.question.sensitivity,
            pivot=None if place < 0 else panel.members[place],
            objecting=named(panel.members, votes),
            decisive=named(panel.members, panel.rule.decisive(votes, panel.members)),
            **side_by_side(people, self.chances, self.traits, over, under),
        )  # fmt: skip
