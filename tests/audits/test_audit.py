"""An audit of existing scores says what a panel would say of all pairs, one by one."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.audits import Audit, Interval, Survey
from likewise.audits.counting import all_pairs, scan
from likewise.audits.pairs import Question, threshold
from likewise.errors import AuditError, LikewiseError, PeopleError
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel import (
    FromColumns,
    FromFunction,
    Mahalanobis,
    Masked,
    Metric,
    Objections,
    Ratings,
    Sides,
    WeightedL1,
    decisive,
    krippendorff_alpha,
    parse_rule,
)
from likewise.panel.rules import AtLeast
from likewise.people import People

SCHEMA_OF_ONE = FeatureSchema((Feature("income", low=0, high=100),))
SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("debt", low=0, high=1, missing="unknown"),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("owner", "flag"),
    )
)


def somebody(n: int, seed: int = 1) -> People:
    rng = np.random.default_rng(seed)
    debt = np.where(rng.random(n) < 0.1, np.nan, rng.random(n).round(2))
    return SCHEMA.encoded(
        np.column_stack(
            [rng.uniform(0, 100, n).round(), debt, rng.integers(0, 2, n), rng.integers(0, 2, n)]
        )
    )


def plain(people: People) -> Any:
    """A distance that knows only all pairs of one list."""
    x = people.column("income")
    return np.abs(x[:, None] - x[None, :]) / 200


def by_columns(one: Any, other: Any) -> Any:
    return 0.3 * (one["purpose"] != other["purpose"]) + 0.2 * (one["owner"] != other["owner"])


AUDITORS = [
    MetricAuditor("weights", WeightedL1({"income": 0.6, "debt": 0.3, "purpose": 0.3})),
    MetricAuditor("form", Mahalanobis(("income", "owner"), [[1.0, 0.2], [0.2, 9.0]], scale=80)),
    MetricAuditor("masked", Masked(WeightedL1({"income": 0.5, "owner": 0.5}), ["owner"])),
    MetricAuditor("ratings", Ratings("income", 0, 100)),
    MetricAuditor("columns", FromColumns(by_columns)),
    MetricAuditor("two", FromFunction(lambda a, b: 0.25 if a["owner"] == b["owner"] else 0.5)),
    MetricAuditor("plain", plain),
]


@pytest.mark.parametrize("auditor", AUDITORS, ids=lambda auditor: auditor.name)
def test_blocks_of_pairs_have_the_distances_of_everybody(auditor: MetricAuditor) -> None:
    people = somebody(23)
    d = auditor.distances(people)
    left, right = np.arange(0, 9), np.arange(9, 23)
    block = auditor.between(Sides(people.take(left), people.take(right)))
    assert (block == d[np.ix_(left, right)]).all()
    a, b = np.array([0, 5, 5, 7]), np.array([22, 1, 3, 0])
    pairs = auditor.between(
        Sides(people.take(a, repeated=True), people.take(b, repeated=True), paired=True)
    )
    assert (pairs == d[a, b]).all()


RULES = ["any", "majority", "all", "veto(form) or at_least(80%)", "weighted(form: 2, two: 1; 2)"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("binary", [False, True])
def test_an_audit_counts_what_the_panel_says_of_every_pair(rule: str, binary: bool) -> None:
    n = 20
    people, rng = somebody(n, 2), np.random.default_rng(3)
    given = rng.random(n) < 0.5 if binary else rng.random(n)
    panel, alpha = Panel(AUDITORS, rule), 0.1
    units = np.rint(given * float(ONE)).astype(np.int64)
    found = audit(people, given, panel, alpha=alpha, worst=1000, each=None)
    sensitivity = threshold(alpha)
    violations = panel.violations(people, units, sensitivity)
    assert found.reported.value == violations.sum()
    assert found.touched.value == (violations | violations.T).any(axis=1).sum()
    for point in found.curve:
        there = panel.violations(people, units, threshold(point.alpha))
        assert point.pairs.value == there.sum()
        assert point.people.value == (there | there.T).any(axis=1).sum()
    for other in found.rules:
        there = Panel(AUDITORS, other.rule).violations(people, units, sensitivity)
        assert other.pairs.value == there.sum()
        assert other.people.value == (there | there.T).any(axis=1).sum()
    check_members(found, panel, people, units, violations, sensitivity)


def values(counts: Mapping[str, Interval]) -> dict[str, float]:
    assert all(count.low == count.value == count.high for count in counts.values())
    return {name: count.value for name, count in counts.items()}


def check_members(
    found: Audit, panel: Panel, people: People, units: Any, violations: Any, sensitivity: int
) -> None:
    said = panel.objections(people, units, sensitivity)
    assert values(found.objections) == {name: len(o.pairs) for name, o in said.members.items()}
    pivots = dict.fromkeys(panel.members, 0)
    needed = dict.fromkeys(panel.members, 0)
    who = panel.pivots(people)
    for over, under in np.argwhere(violations).tolist():
        pivots[str(who.member(over, under))] += 1
        pair = (people.ids[over], people.ids[under])
        for name in decisive(panel.rule, Objections(people.ids, said.members), pair):
            needed[name] += 1
    assert values(found.pivots) == pivots
    assert values(found.decisive) == needed
    votes = said.votes()
    n = len(people)
    units_ = [votes[:, i, j].tolist() for i, j in itertools.combinations(range(n), 2)]
    alpha = krippendorff_alpha(units_)
    assert (alpha is None) == (found.agreement is None)
    assert alpha is None or math.isclose(alpha, found.agreement or 0.0, rel_tol=1e-9)
    check_worst(found, panel, people, units)


def check_worst(found: Audit, panel: Panel, people: People, units: Any) -> None:
    distance = panel.pivots(people).distance
    excess = np.abs(units[:, None] - units[None, :]) - distance
    upper = np.triu_indices(len(people), 1)
    assert [round(pair.excess * ONE) for pair in found.worst if pair.excess is not None] == sorted(
        excess[upper].tolist(), reverse=True
    )[:1000]
    for pair in found.worst[:5]:
        over, under = people.ids.index(pair.over), people.ids.index(pair.under)
        assert units[over] >= units[under]
        assert pair.pivot == panel.pivots(people).member(over, under)


def test_many_blocks_and_threads_count_as_one_does() -> None:
    people = somebody(900, 5)
    units = np.random.default_rng(6).integers(0, ONE + 1, 900)
    panel = Panel(AUDITORS[:2] + AUDITORS[3:5], "majority")
    question = Question(
        people, units, panel, ONE // 10, np.array([0, ONE // 10]), (parse_rule("any"),)
    )
    alone, together = (scan(question, all_pairs(900), jobs) for jobs in (1, 3))
    violations = panel.violations(people, units, ONE // 10)
    assert alone.pairs == together.pairs == 900 * 899 // 2
    assert alone.above[1] == together.above[1] == violations.sum()
    assert alone.worst == together.worst
    for name in ("highest", "pivots", "decisive", "objections", "objectors"):
        assert (getattr(alone, name) == getattr(together, name)).all()


def test_a_sample_is_stated_covers_the_truth_and_the_search_finds_the_worst() -> None:
    """Twenty intervals of 95 %: more than five miss once in 3,000 runs; the seeds are fixed."""
    people = somebody(700, 7)
    rng = np.random.default_rng(8)
    given = np.clip(people.column("income") / 200 + 0.5 * rng.random(700), 0, 1)
    panel = Panel([AUDITORS[0], AUDITORS[3]], "any")
    exact = audit(people, given, panel, alpha=0.2)
    misses, hits = 0, 0
    for seed in range(10):
        drawn = audit(
            people, given, panel, alpha=0.2, all_pairs_up_to=600, sample_pairs=20_000, seed=seed
        )
        assert drawn.sample == {"pairs": 20_000, "anchors": 64, "seed": seed}
        assert "drawn at random" in drawn.notes[0]
        misses += not drawn.reported.low <= exact.reported.value <= drawn.reported.high
        misses += not drawn.touched.low <= exact.touched.value <= drawn.touched.high
        hits += drawn.worst[0] == exact.worst[0]
    assert misses <= 5
    assert hits >= 6


def test_a_price_is_paid_and_the_best_policy_passes() -> None:
    people = somebody(300, 9)
    rng = np.random.default_rng(10)
    chance = np.clip(people.column("income") / 100 * 0.7 + 0.3 * rng.random(300), 0, 1)
    labels = (rng.random(300) < chance).astype(int)
    panel = Panel([AUDITORS[0], AUDITORS[3]], "all")
    found = audit(people, chance, panel, alpha=0.1, labels=labels)
    price = found.price
    assert price is not None
    assert price.people == 300
    assert math.isclose(price.model, float(np.abs(chance - labels).mean()), abs_tol=1e-5)
    assert price.best <= price.best_fair + 1e-9 <= 0.5 + 1e-9
    assert price.learner is not None
    assert price.learner >= price.best - 1e-9
    assert audit(people, chance, panel, alpha=0.0, labels=labels).price.learner is None  # type: ignore[union-attr]


def test_the_best_passing_policy_passes_and_is_the_comparators() -> None:
    from likewise.hypotheses import Pool
    from likewise.simulate import Faced, best_fair_policy
    from likewise.simulate.hindsight import best_passing_policy

    people = somebody(60, 11)
    pool = Pool.from_scores(SCHEMA, ["income"], [20.0, 40.0, 60.0, 80.0], people)
    labels = np.random.default_rng(12).integers(0, 2, 60)
    panel = Panel([AUDITORS[0], AUDITORS[5]], "any")
    best = best_passing_policy(pool, people, labels, panel, 0.05)
    points = pool.locate(people)
    other = best_fair_policy(pool, [Faced(points, labels, panel.pivots(people).distance)], 0.05)
    assert math.isclose(best.error, other.error, abs_tol=1e-7)
    units = np.rint(best.scores(points) * ONE).astype(np.int64)
    assert not panel.violations(people, units, to_units(0.05) + 2).any()


def test_groups_stand_beside_the_findings() -> None:
    people = somebody(150, 13)
    scores = np.random.default_rng(14).random(150)
    panel = Panel([AUDITORS[0]], "any")
    found = audit(people, scores, panel, alpha=0.2, groups=["purpose", "owner"])
    assert found.groups is not None
    rates = {(rate.by, rate.group): rate for rate in found.groups.rates}
    cars = people.column("purpose") == 0
    assert math.isclose(rates["purpose", "car"].rate.value, scores[cars].mean(), abs_tol=1e-5)
    assert rates["purpose", "car"].count == cars.sum()
    assert max(rate.impact_ratio for rate in found.groups.rates if not rate.small) == 1
    assert ("purpose and owner", "car and yes") in rates
    given = audit(people, scores, panel, alpha=0.2, groups={"x": ["a"] * 75 + ["b"] * 75}).groups
    assert given is not None
    assert [rate.count for rate in given.rates] == [75, 75]
    with pytest.raises(PeopleError, match="bands"):
        audit(people, scores, panel, alpha=0.2, groups=["income"])


def test_the_reference_of_groups_has_thirty_people_and_the_table_is_aligned() -> None:
    people, panel = somebody(80), Panel([AUDITORS[0]], "any")
    scores = np.array([0.5] * 40 + [0.4] * 30 + [0.9] * 10)
    group = ["a long name for a group of many people"] * 40 + ["b"] * 30 + ["few"] * 10
    found = audit(people, scores, panel, alpha=0.2, groups={"g": group}).groups
    assert found is not None
    ratios = {rate.group: (round(rate.impact_ratio, 2), rate.small) for rate in found.rates}
    assert ratios == {group[0]: (1.0, False), "b": (0.8, False), "few": (1.8, True)}
    lines = str(found).splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    assert "10*" in lines[3]
    assert "at least 30 people; * marks" in lines[4]
    assert "* marks" in found._repr_html_()
    ages = audit(people, scores, panel, alpha=0.2, groups={"age": [20 + i % 20 for i in range(80)]})
    assert "'age' is a number with 20 different values" in str(ages.groups)
    assert "is a number with 20 different values" in ages.to_html()


def test_groups_that_are_no_features_are_given_by_name() -> None:
    panel = Panel([AUDITORS[0]], "any")
    with pytest.raises(PeopleError, match=r"groups=\{'gender': frame\['gender'\]\}"):
        audit(somebody(3), [0.5] * 3, panel, alpha=0.2, groups=["gender"])


def test_a_distance_of_nan_points_at_missing_values() -> None:
    people = SCHEMA.people([[1, None, "car", 0], [2, 0.5, "car", 0], [3, 0.5, "car", 0]])
    apart = MetricAuditor("culprit", FromColumns(lambda a, b: abs(a["debt"] - b["debt"])))
    for panel in (Panel([apart], "any"), Panel([apart, AUDITORS[0]], "any")):
        with pytest.raises(AuditError, match=r"culprit.*got nan.*missing in 'debt'.*nan_to_num"):
            audit(people, [0.5] * 3, panel, alpha=0.1)
        with pytest.raises(AuditError, match=r"culprit.*got nan for.*missing in 'debt'"):
            panel.distances(people)


SURVEY = """who,whom,judge,verdict,why
p1,p2,ann,yes,same income
p2,p1,bo,no,
p1,p3,ann,1,
p1,p3,bo,TRUE,
p2,p3,bo,0,
"""


def test_a_survey_of_people_is_audited_by_its_rule(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    names = {"person": "who", "other": "whom", "member": "judge", "objects": "verdict"}
    people = somebody(3)
    every = Survey.read_csv(path, "any", reason="why", **names)
    found = audit(people, [0.9, 0.2, 0.9], every, alpha=0)
    assert [(pair.over, pair.under) for pair in found.worst] == [("p1", "p2")]  # p1 = p3: no gap
    assert "ann says: same income" in found.worst[0].words
    assert values(found.decisive) == {"ann": 1, "bo": 0}
    assert (values(found.objections), found.pairs) == ({"ann": 2, "bo": 1}, 3)
    assert "no curve" in found.notes[0]
    both = audit(people, [0.9, 0.2, 0.1], Survey.read_csv(path, "all", **names), alpha=0)
    assert [(pair.over, pair.under) for pair in both.worst] == [("p1", "p3")]
    assert "<svg" in found.to_html()
    for broken, says in (
        (SURVEY.replace("yes", "maybe"), "yes or no"),
        (SURVEY + "p1,p2,ann,no,\n", "before"),
        (SURVEY.replace("who,", "whoever,"), "must have one column 'who'"),
        (SURVEY.splitlines()[0], "no row"),
    ):
        path.write_text(broken)
        with pytest.raises(AuditError, match=says):
            Survey.read_csv(path, "any", **names)
    with pytest.raises(AuditError, match="'p3'"):
        audit(somebody(2), [0, 1], every, alpha=0)
    with pytest.raises(AuditError, match="nowhere"):
        Survey.read_csv(tmp_path / "nowhere", "any")


class Reasons(dict[Any, str]):
    """Reasons that may be looked up, and are not gone through."""

    def items(self) -> Any:
        raise AssertionError

    __iter__ = items


def test_a_survey_takes_time_by_judgement_and_says_whom_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten thousand judgements with reasons took minutes."""
    people = FeatureSchema((Feature("x"),)).people([[0.0]] * 40, ids=[f"p{i}" for i in range(40)])
    members = [f"j{i}" for i in range(30)]
    rows = [(f"p{i}", f"p{i + 1}", members[i % 30], i % 3 == 0, f"because {i}") for i in range(39)]
    survey = replace(read := Survey.from_rows(rows, rule="any"), reasons=Reasons(read.reasons))
    fires, calls = AtLeast._fires, list[Any]()

    def counted(*call: Any) -> Any:
        calls.append(call)
        return fires(*call)

    monkeypatch.setattr(AtLeast, "_fires", counted)
    result = audit(people, np.arange(40) / 40, survey)
    assert (result.reported.value, len(calls)) == (13, 1 + 39 + 13 * 2)
    assert all(pair.decisive == pair.objecting == tuple(pair.reasons) for pair in result.worst)
    assert [pair.over for pair in result.pairs_of("p3")] == ["p4"]
    assert result.pairs_of("p2") == ()
    with pytest.raises(AuditError, match="'p40' is not among the people"):
        result.pairs_of("p40")
    never = audit(people, np.arange(40) / 40, Survey.from_rows(rows[:1], rule="at_least(2)"))
    assert "The rule at_least(2) reports no pair, even if all members object." in never.notes


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_results_go_back_as_the_frame_that_came_in(frame: Any) -> None:
    table = frame({"income": [10.0, 12.0, 90.0], "name": ["ann", "bo", "cy"]})
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    people = schema.people(table, ids="name")
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    scores = frame({"s": [0.1, 0.9, 0.9]})["s"]
    found = audit(people, scores, panel, alpha=0.2)
    pairs = found.to_frame()
    assert type(pairs) is type(table)
    assert next(iter(pairs["over"])) == "bo"
    assert type(found.to_frame("polars")) is pl.DataFrame


def test_a_series_is_matched_by_its_index_or_refused() -> None:
    table = pd.DataFrame({"income": [10.0, 12.0]}, index=[7, 3])
    people = FeatureSchema((Feature("income", low=0, high=100),)).people(table)
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    ordered = pd.Series([0.1, 0.9], index=[7, 3])
    assert audit(people, ordered, panel, alpha=0.1).reported.value == 1
    assert audit(people, ordered.sort_index(), panel, alpha=0.1).scores == (0.1, 0.9)
    with pytest.raises(PeopleError, match="another order"):
        audit(people, ordered.reset_index(drop=True), panel, alpha=0.1)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([0.1, 0.2], r"one for each of the 3 people; got 2\.$"),
        ([0.1, 0.2, 1.5], "within"),
        ([0.1, 0.2, math.nan], r"'p3' \(row 3\) is missing"),
        ([1, 2, 0], "decisions, 0 or 1"),
        (["a", "b", "c"], "numbers"),
        ([[0.1, 0.9]] * 3, "Take one column"),
        ({"p1": 0.5, "p2": 0.5}, "lack 'p3'"),
        ({"p1": 0.5, "p2": 0.5, "p3": 0, "x": 1}, "'x'"),
        (pd.DataFrame({"a": [1, 2, 3]}), "one column"),
        (None, "one for each"),
    ],
)
def test_scores_that_can_be_misread_are_refused(scores: Any, says: str) -> None:
    panel = Panel([AUDITORS[0]], "any")
    with pytest.raises(LikewiseError, match=says):
        audit(somebody(3), scores, panel, alpha=0.1)


def test_an_audit_needs_two_people_a_panel_and_an_alpha() -> None:
    panel = Panel([AUDITORS[0]], "any")
    with pytest.raises(AuditError, match="at least two"):
        audit(somebody(1), [0.5], panel, alpha=0.1)
    for alpha in (-0.1, 1.1, None, "0.1"):
        with pytest.raises(LikewiseError, match="alpha"):
            audit(somebody(2), [0.5, 0.6], panel, alpha=alpha)  # type: ignore[arg-type]
    with pytest.raises(LikewiseError, match="panel"):
        audit(somebody(2), [0.5, 0.6], "any", alpha=0.1)  # type: ignore[arg-type]
    with pytest.raises(LikewiseError, match="Labels"):
        audit(somebody(2), [0.5, 0.6], panel, alpha=0.1, labels=[0, 2])


def test_a_survey_names_people_by_text_or_integers() -> None:
    with pytest.raises(AuditError, match=r"Row 2 .*names 7\.0, and ids are text or integers"):
        Survey.from_rows([("1", "2", "ann", 1), ("1", 7.0, "ann", 1)], rule="any")
    survey = Survey.from_rows([("1", 2, "ann", 1)], rule="any")
    people = SCHEMA_OF_ONE.people([[50], [52]], ids=[1, 2])
    assert audit(people, [0.2, 0.9], survey).reported.value == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"person;other;member;objects\n1;2;ann;1\n", r"semicolons \(;\).*Save it with commas"),
        ("person,other,member,objects\n1,2,zoë,1\n".encode("latin-1"), "Save it as UTF-8"),
        (b"person,other,member,objects\n1,2,ann\n", "line 2: it must have 4 cells"),
    ],
)
def test_a_survey_that_is_no_csv_file_is_refused(tmp_path: Path, text: bytes, says: str) -> None:
    (tmp_path / "survey.csv").write_bytes(text)
    with pytest.raises(AuditError, match=f"No survey was read.*{says}"):
        Survey.read_csv(tmp_path / "survey.csv", "any")


def test_an_auditor_that_fails_or_is_uneven_is_named() -> None:
    class Broken(Metric):
        def __call__(self, people: People, /) -> Any:
            return np.zeros((len(people), len(people)))

        def between(self, sides: Sides) -> Any:
            return np.zeros(3)

        def spec(self) -> dict[str, Any]:
            return {}

        @classmethod
        def from_spec(cls, spec: Any) -> Any:  # noqa: ARG003
            return cls()

    uneven = FromColumns(lambda a, b: a["income"] / 200 + 0 * b["income"])
    far = FromColumns(lambda a, b: abs(a["income"] - b["income"]))
    fails = FromColumns(lambda one, other: one["nothing"] + other["nothing"])
    for distance, says in (
        (Broken(), "shape"), (uneven, "symmetric"), (far, r"within \[0, 1\]"), (fails, "KeyError"),
    ):  # fmt: skip
        panel = Panel([MetricAuditor("culprit", distance)], "any")
        with pytest.raises(AuditError, match=f"culprit.*{says}"):
            audit(somebody(9), [0.5] * 9, panel, alpha=0.1)


def test_a_page_names_nothing_outside_and_quotes_with_care() -> None:
    people = SCHEMA.people(
        [[10, 0.5, "car", 1], [11, 0.5, "car", 1], [50, 0.5, "home", 0]],
        ids=["<script>alert(1)</script>", "b&c", "d"],
    )
    labels = {"<script>alert(1)</script>": 1, "b&c": 0, "d": 1}
    found = audit(people, [0.9, 0.1, 0.5], Panel(AUDITORS[:2], "any"), alpha=0.1, labels=labels)
    page = found.to_html()
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!data:,|#)", page)
    assert page.count("<svg") == 4
    assert json.loads(found.to_json())["reported"]["value"] == found.reported.value
    assert "<table" in found._repr_html_()
    for kind in ("alpha", "rules", "members", "price"):
        assert found.plot(kind=kind) is not None
    with pytest.raises(LikewiseError, match="kind"):
        found.plot(kind="pie")
    axes = found.plot()
    assert found.plot(ax=axes) is axes


def test_progress_is_a_bar_or_a_function() -> None:
    seen: list[tuple[int, int]] = []
    panel = Panel([AUDITORS[0]], "any")
    audit(somebody(5), [0.5] * 5, panel, alpha=0.1, progress=lambda *at: seen.append(at))
    assert seen[-1] == (1, 1)
    audit(somebody(5), [0.5] * 5, panel, alpha=0.1, progress=True)
    with pytest.raises(LikewiseError, match="progress"):
        audit(somebody(5), [0.5] * 5, panel, alpha=0.1, progress="yes")  # type: ignore[arg-type]


def test_an_interval_reads_well() -> None:
    assert str(Interval.exactly(1234)) == "1,234"
    assert str(Interval(1000, 900, 1100)) == "about 1,000 (900 to 1,100)"


def test_the_price_tells_chances_from_decisions() -> None:
    rng = np.random.default_rng(8)
    people = SCHEMA_OF_ONE.people(rng.uniform(0, 100, 80)[:, None])
    chance = people.x[:, 0] / 100
    labels = (rng.random(80) < chance).astype(int)
    panel = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
    price = audit(people, chance, panel, alpha=0.2, labels=labels).price
    assert price is not None
    assert price.model_cut is not None
    assert math.isclose(price.model_cut, float(((chance >= 0.5) != labels).mean()))
    assert any("approving from 0.5" in name for name, _ in price.facts())
    decided = audit(people, chance >= 0.5, panel, alpha=0.2, labels=labels).price
    assert decided is not None
    assert decided.model_cut is None
    assert math.isclose(decided.model, price.model_cut)


def test_a_survey_needs_no_alpha_and_a_panel_does() -> None:
    people = SCHEMA_OF_ONE.people([[50], [52], [90]], ids=["ann", "bo", "cy"])
    survey = Survey.from_rows([("ann", "bo", "j1", "yes")], rule="any")
    found = audit(people, [0.2, 0.9, 0.9], survey)
    assert found.alpha is None
    assert found.asked == 2
    assert "100.0 %" in dict(found.facts())["people touched"]
    assert "alpha =" not in found.to_html()
    assert any("alpha" in note and "nothing" in note for note in
               audit(people, [0.2, 0.9, 0.9], survey, alpha=0.5).notes)  # fmt: skip
    panel = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
    with pytest.raises(LikewiseError, match="alpha"):
        audit(people, [0.2, 0.9, 0.9], panel)


def test_values_that_are_missing_are_noted_where_an_auditor_weighs_them() -> None:
    schema = FeatureSchema(
        (Feature("score", low=0, high=9, missing="none"), Feature("age", low=0, high=99))
    )
    people = schema.people([[1, 30], [None, 31], [2, 32]], ids=["ann", "bo", "cy"])
    panel = Panel([MetricAuditor("hr", WeightedL1({"score": 1.0})),
                   MetricAuditor("boss", WeightedL1({"age": 1.0}))], "any")  # fmt: skip
    notes = audit(people, [0.1, 0.5, 0.9], panel, alpha=0.1).notes
    assert [note for note in notes if note.startswith("1 of the people lack 'score'. hr ")]
    assert not [note for note in notes if "boss" in note]
