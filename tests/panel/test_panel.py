from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import AuditError, ParameterError, RuleError
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel import (
    AllPairs,
    FirstPair,
    LargestGap,
    MemberObjections,
    MetricAuditor,
    Objections,
    Panel,
    RandomPair,
    Ratings,
    Report,
    Selection,
    decisive,
    panel_name,
    report,
)
from likewise.panel.reports import choose_report
from likewise.people import Feature, FeatureSchema, People

SCHEMA = FeatureSchema(tuple(Feature(f"r{j}", low=0, high=1) for j in range(1, 4)))
AUDITORS = [MetricAuditor(f"j{j}", Ratings(f"r{j}")) for j in range(1, 4)]
RULES = [
    "any",
    "all",
    "majority",
    "veto(j2) or all(j1, j3)",
    "objects(j1) and any(j2, j3)",
    "weighted(j1: 2, j2: 1, j3: 1; 3)",
    "never",
]
SELECTIONS: list[Selection] = [LargestGap(), FirstPair(), RandomPair(3), AllPairs()]
EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)
PEOPLE = st.lists(st.tuples(EIGHTHS, EIGHTHS, EIGHTHS, EIGHTHS), min_size=1, max_size=5)

reproducible = settings(derandomize=True, deadline=None)


def split(rows: list[tuple[float, ...]]) -> tuple[People, list[int]]:
    return SCHEMA.people([row[:3] for row in rows]), [to_units(row[3]) for row in rows]


@reproducible
@given(PEOPLE, st.sampled_from(RULES), st.sampled_from(SELECTIONS), st.integers(0, 2))
def test_pivots_and_objections_lead_to_the_same_report(
    rows: list[tuple[float, ...]], rule: str, selection: Selection, eighths: int
) -> None:
    people, scores = split(rows)
    panel, alpha = Panel(AUDITORS, rule), eighths * ONE // 8
    by_pivot = panel.audit(people, scores, alpha, selection, round=5)
    by_objections = report(
        panel.rule, panel.objections(people, scores, alpha), scores, selection, 5
    )
    assert by_pivot == by_objections


@reproducible
@given(PEOPLE, st.sampled_from(RULES), st.integers(0, 2))
def test_violations_follow_the_definition(
    rows: list[tuple[float, ...]], rule: str, eighths: int
) -> None:
    people, scores = split(rows)
    panel, alpha = Panel(AUDITORS, rule), eighths * ONE // 8
    found = panel.violations(people, scores, alpha)
    d = panel.distances(people)
    for left in range(len(rows)):
        for right in range(len(rows)):
            votes = [scores[left] - scores[right] > int(one[left, right]) + alpha for one in d]
            assert found[left, right] == panel.rule.fires(votes, panel.members)


def example() -> tuple[People, list[int]]:
    rows = [(0.0, 0.0, 0.0), (0.25, 0.5, 0.0), (0.5, 0.5, 1.0)]
    return SCHEMA.people(rows, ids=["ann", "bo", "cy"]), [ONE, ONE // 4, 0]


def test_pivots_are_named() -> None:
    pivots = Panel(AUDITORS, "majority").pivots(example()[0])
    assert [pivots.member(0, 1), pivots.member(0, 2), pivots.member(1, 2)] == ["j1", "j2", "j1"]
    assert (pivots.distance == pivots.distance.T).all()


def test_a_panel_that_never_reports_has_no_pivots() -> None:
    pivots = Panel(AUDITORS, "at_least(4)").pivots(example()[0])
    assert pivots.member(0, 1) is None
    assert (pivots.distance == ONE).all()


@pytest.mark.parametrize(
    ("selection", "pairs"),
    [
        (LargestGap(), (("ann", "cy"),)),
        (FirstPair(), (("ann", "bo"),)),
        (AllPairs(), (("ann", "bo"), ("ann", "cy"), ("bo", "cy"))),
    ],
)
def test_the_selection_chooses_the_pair(
    selection: Selection, pairs: tuple[tuple[str, str], ...]
) -> None:
    people, scores = example()
    panel = Panel(AUDITORS[1:2], "any")
    assert panel.audit(people, scores, 0, selection).pairs == pairs


def test_the_largest_gap_is_the_default() -> None:
    people, scores = example()
    panel = Panel(AUDITORS[1:2], "any")
    assert panel.audit(people, scores, 0) == panel.audit(people, scores, 0, LargestGap())


def test_a_random_pair_depends_on_the_round_and_takes_every_pair_its_turn() -> None:
    people, scores = example()
    panel = Panel(AUDITORS[1:2], "any")
    chosen = [panel.audit(people, scores, 0, RandomPair(1), t).pairs[0] for t in range(40)]
    assert set(chosen) == {("ann", "bo"), ("ann", "cy"), ("bo", "cy")}
    assert chosen[7] == panel.audit(people, scores, 0, RandomPair(1), 7).pairs[0]


def test_a_random_pair_needs_the_round() -> None:
    people, scores = example()
    with pytest.raises(ParameterError, match="round must be given to RandomPair"):
        Panel(AUDITORS, "any").audit(people, scores, 0, RandomPair(1))


@pytest.mark.parametrize("places", [[], [2], [-1], [0, 0], (0,), [0.0]])
def test_a_selection_that_chooses_none_or_a_stranger_or_one_twice_is_refused(places: Any) -> None:
    class Odd(Selection):
        name, summary = "odd", "a selection that errs"

        def choose(self, gaps: Any, round: int | None = None, /) -> list[int]:
            chosen: list[int] = places
            return chosen

    everyone = np.array([[False, True, True], *[[False] * 3] * 2])
    with pytest.raises(AuditError, match=r"Odd\.choose must be a list of places from 0 to 1"):
        choose_report(everyone, np.array([9, 5, 0]), ("ann", "bo", "cy"), Odd(), 1)


def test_a_gap_equal_to_the_distance_is_no_violation() -> None:
    people = SCHEMA.people([(0, 0, 0), (0.5, 0.5, 0.5)])
    panel = Panel(AUDITORS, "any")
    assert panel.audit(people, [ONE // 2, 0], 0).quiet
    assert not panel.audit(people, [ONE // 2 + 1, 0], 0).quiet
    assert panel.audit(people, [ONE // 2 + 1, 0], 1).quiet


def test_a_panel_is_identified_by_members_and_rule() -> None:
    assert Panel(AUDITORS, "veto( j1 )").name == "j1, j2, j3: veto(j1)"
    assert panel_name(["Ms. Noor"], "any") == '"Ms. Noor": any'
    assert Panel(AUDITORS, "any") == Panel(tuple(AUDITORS), "any")


def test_an_empty_panel_is_refused() -> None:
    with pytest.raises(AuditError, match="panel for the rule any must not be empty"):
        Panel([], "any")


def test_a_rule_naming_a_stranger_is_refused() -> None:
    with pytest.raises(RuleError, match="names j9, who is not on the panel"):
        Panel(AUDITORS, "veto(j9)")


def test_a_distance_is_not_yet_an_auditor() -> None:
    with pytest.raises(ParameterError, match="must be metric auditors"):
        Panel([Ratings("r1")], "any")  # type: ignore[list-item]


def test_two_auditors_of_one_name_are_refused() -> None:
    with pytest.raises(AuditError, match="different names"):
        Panel([AUDITORS[0], AUDITORS[0]], "any")


@pytest.mark.parametrize("scores", [[0.5, 0.5, 0.5], [0, 1], [0, 0, ONE + 1], [0, -1, 0]])
def test_scores_off_the_grid_or_out_of_range_are_refused(scores: list[int]) -> None:
    with pytest.raises(AuditError, match=r"Scores must be 3|got .* for '(bo|cy)'"):
        Panel(AUDITORS, "any").audit(example()[0], scores, 0)


@pytest.mark.parametrize("sensitivity", [0.1, -1])
def test_a_sensitivity_is_an_integer_of_at_least_0(sensitivity: Any) -> None:
    with pytest.raises(ParameterError, match=r"integer of at least 0.*to_units"):
        Panel(AUDITORS, "any").audit(*example(), sensitivity=sensitivity)


def said(*pairs: tuple[str, str]) -> MemberObjections:
    return MemberObjections(pairs=pairs)


def test_people_report_without_any_distance() -> None:
    objections = Objections(
        ("ann", "bo", "cy"),
        {"j1": said(("ann", "bo")), "j2": said(("bo", "ann"), ("bo", "cy")), "j3": said()},
    )
    assert report("majority", objections, [1, 9, 4]) == Report((("bo", "ann"),))


def test_a_pair_with_equal_scores_cannot_be_reported() -> None:
    objections = Objections(("ann", "bo"), {"j1": said(("ann", "bo"))})
    assert report("any", objections, [5, 5]).quiet


def test_an_absent_member_counts_for_the_share_but_does_not_object() -> None:
    objections = Objections(
        ("ann", "bo"), {"j1": said(("ann", "bo")), "j2": MemberObjections(present=False)}
    )
    assert report("all", objections, [5, 6]).quiet
    assert not report("at_least(50%)", objections, [5, 6]).quiet


def test_decisive_members_are_those_whose_withdrawal_flips_the_result() -> None:
    objections = Objections(
        ("ann", "bo"),
        {"j1": said(("ann", "bo")), "j2": said(("ann", "bo")), "j3": said(), "j4": said()},
    )
    pair = ("bo", "ann")
    assert decisive("all(j1, j2)", objections, pair) == ("j1", "j2")
    assert decisive("veto(j1) or all(j2, j3)", objections, pair) == ("j1",)
    assert decisive("any", objections, pair) == ()
    assert decisive("all", objections, pair) == ()


def test_decisive_of_a_stranger_is_refused() -> None:
    with pytest.raises(AuditError, match="'dee' is not among"):
        decisive("any", Objections(("ann", "bo"), {"j1": said()}), ("ann", "dee"))


def test_a_report_has_each_pair_once() -> None:
    with pytest.raises(AuditError, match="no pair twice"):
        Report((("ann", "bo"), ("bo", "ann")))


def test_everybody_alone_is_quiet() -> None:
    assert Panel(AUDITORS, "any").audit(SCHEMA.people([(0, 0, 0)]), np.array([ONE]), 0).quiet


def test_a_panel_is_read_from_toml_or_json_and_errors_name_the_file(tmp_path: Path) -> None:
    panel = Panel([MetricAuditor("j1", Ratings("r"))], "any")
    (tmp_path / "panel.json").write_text(json.dumps(panel.spec()))
    assert Panel.from_file(tmp_path / "panel.json") == panel
    toml = (
        'rule = "any"\n[[auditors]]\nname = "j1"\ndistance = {metric = "ratings", ratings = "r"}\n'
    )
    (tmp_path / "panel.toml").write_text(toml)
    assert Panel.from_file(str(tmp_path / "panel.toml")) == panel
    for text, says in (
        ("rule =", "panel.toml is not a TOML file"),
        (
            toml.replace("ratings = ", "rating = "),
            r"panel.toml .*Auditor 1 \('j1'\): metric 'ratings' must",
        ),
        (toml.replace("any", "veto(j2)"), "panel.toml is not a panel. .*j2"),
    ):
        (tmp_path / "panel.toml").write_text(text)
        with pytest.raises(AuditError, match=says):
            Panel.from_file(tmp_path / "panel.toml")
    for nothing in (tmp_path / "none.toml", None, 3.5, "\0"):
        with pytest.raises(AuditError):
            Panel.from_file(nothing)  # type: ignore[arg-type]
