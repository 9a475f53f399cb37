"""Scores, labels and groups as people give them: read in one way, or refused."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.audits import Audit
from likewise.audits.groups import FINE, GroupCounts, group_rates
from likewise.errors import LikewiseError
from likewise.panel import WeightedL1
from likewise.people import People
from likewise.people.columns import ordered_values

SCHEMA = FeatureSchema((Feature("income", low=0, high=100),))
PANEL = Panel([MetricAuditor("j1", WeightedL1({"income": 1.0}))], "any")
INCOMES = [10.0, 20.0, 30.0, 40.0]


def audited(scores: Any, index: Any = None, **settings: Any) -> Audit:
    frame = pd.DataFrame({"income": INCOMES}, index=index)
    return audit(SCHEMA.people(frame, ids=list("abcd")), scores, PANEL, alpha=0.2, **settings)


SHUFFLED = [3, 1, 0, 2]
BY_ROW = pd.Series([0.1, 0.2, 0.3, 0.9], index=[10, 11, 12, 13])


def test_a_series_is_matched_wherever_it_comes() -> None:
    """Scores, labels and groups in another order, each with the index of its rows."""
    group = pd.Series(["x", "x", "y", "y"], index=BY_ROW.index)
    labels = pd.Series([0, 0, 1, 1], index=BY_ROW.index)
    plain = audited(BY_ROW, BY_ROW.index, groups={"g": group}, labels=labels)
    mixed = audited(
        BY_ROW.iloc[SHUFFLED], BY_ROW.index, groups={"g": group.iloc[SHUFFLED]},
        labels=labels.iloc[SHUFFLED],
    )  # fmt: skip
    assert plain.scores == mixed.scores == (0.1, 0.2, 0.3, 0.9)
    assert plain.groups is not None
    assert plain.groups == mixed.groups
    assert [rate.rate.value for rate in plain.groups.rates] == pytest.approx([0.15, 0.6])
    assert plain.price == mixed.price
    with pytest.raises(LikewiseError, match=r"'g' is a Series.*another order"):
        audited(BY_ROW, BY_ROW.index, groups={"g": group.reset_index(drop=True)})
    with pytest.raises(LikewiseError, match=r"Labels is a Series.*another order"):
        audited(BY_ROW, BY_ROW.index, labels=labels.reset_index(drop=True))


@pytest.mark.parametrize("mark", ["", " ", "NA", "n/a", "?", None])
def test_a_mark_of_a_missing_value_is_no_second_word(mark: str | None) -> None:
    words = ["ok", "ok", mark, "ok"]
    with pytest.raises(LikewiseError, match=r"The score of 'c' \(row 3\) is missing"):
        audited(words, favourable="ok")
    with pytest.raises(LikewiseError, match=r"The label of 'c' \(row 3\) is missing"):
        audited([0.1, 0.2, 0.3, 0.9], labels=words, favourable="ok")
    table = pa.table({"id": list("abcd"), "income": INCOMES, "said": words})
    for most in (2, 100):
        with pytest.raises(LikewiseError, match=r"The score of 'c' \(row 3\) is missing"):
            audit(SCHEMA.scan(table, ids="id"), "said", PANEL, alpha=0.2, favourable="ok",
                  all_pairs_up_to=most, sample_pairs=1000)  # fmt: skip


def test_two_marks_of_a_missing_value_far_below_are_no_third_and_fourth_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The advice was to say which word is favourable, as it had been."""
    monkeypatch.setattr("likewise.people.scans.BLOCK", 500)
    said, n = [*["ok", "no"] * 9999, "NA", ""], 20_000
    ids, incomes = [f"p{i}" for i in range(n)], np.random.default_rng(0).random(n)
    table = pa.table({"id": ids, "income": incomes, "said": said})
    with pytest.raises(LikewiseError, match=r"The score of 'p1999[89]' .* is missing"):
        audit(SCHEMA.scan(table, ids="id"), "said", PANEL, alpha=0.2, favourable="ok",
              all_pairs_up_to=20, sample_pairs=1000)  # fmt: skip


class Counting(list[Any]):
    """A list that counts how often it is gone through."""

    times = 0

    def __iter__(self) -> Any:
        self.times += 1
        return super().__iter__()


def test_scores_by_id_go_through_the_ids_a_few_times_and_name_each_once() -> None:
    ids = Counting(str(i) for i in range(100))
    scores = ordered_values("Scores", dict(zip(reversed(ids), range(100), strict=True)), 100, ids)
    assert scores.tolist() == list(reversed(range(100)))
    assert ids.times < 10  # once for everybody took half a minute for 20,000 people
    with pytest.raises(LikewiseError, match="Scores name an id twice, as a number and as text"):
        ordered_values("Scores", {1: 0.1, **dict.fromkeys(ids, 0.5)}, 100, ids)


def test_groups_of_several_traits_keep_apart() -> None:
    groups = {"a": ["x", "x and y", "x", "NA"], "b": ["y and z", "z", "z", "z"]}
    rates = audited(BY_ROW.to_numpy(), groups=groups).groups
    assert rates is not None
    both = {rate.group: rate.rate.value for rate in rates.rates if rate.by == "a and b"}
    assert both == pytest.approx(
        {"NA and z": 0.9, "x and z": 0.3, "x and “y and z”": 0.1, "“x and y” and z": 0.2}
    )
    assert rates.notes[1] == (
        "'a' has the group 'NA'. If that stands for a missing value, leave these cells empty."
    )


class Cells(dict[tuple[Any, ...], tuple[int, int]]):
    """Cells that count how often they are gone through."""

    times = 0

    def items(self) -> Any:
        self.times += 1
        return super().items()


def test_rates_of_many_groups_go_through_the_cells_once_for_every_trait() -> None:
    cells = Cells({(str(i % 13), str(i % 17), i % 2): (1, FINE // 2) for i in range(442)})
    found = group_rates(GroupCounts(("a", "b"), cells))
    assert found is not None
    assert len(found.rates) == 13 + 17 + 13 * 17
    assert all(rate.tpr is not None and rate.tpr.value == 0.5 for rate in found.rates)
    assert cells.times == 3  # three times for every group took minutes for three traits


def test_people_of_rows_and_of_polars_take_a_series_by_id_or_in_order() -> None:
    scores = pd.Series({"d": 0.9, "a": 0.1, "b": 0.2, "c": 0.3})
    for rows in ([[x] for x in INCOMES], pl.DataFrame({"income": INCOMES})):
        people = SCHEMA.people(rows, ids=list("abcd"))
        assert audit(people, scores, PANEL, alpha=0.2).scores == (0.1, 0.2, 0.3, 0.9)
        with pytest.raises(LikewiseError, match="another order"):
            audit(people, BY_ROW, PANEL, alpha=0.2)


def test_groups_are_named_or_a_frame_of_columns() -> None:
    groups = pd.DataFrame({"g": list("xxyy"), "h": [1, 2, 1, None]})
    by_name = audited([0.1, 0.2, 0.3, 0.9], groups={"g": groups["g"], "h": groups["h"]}).groups
    for frame in (groups, pl.from_pandas(groups), pa.Table.from_pandas(groups)):
        read = audited([0.1, 0.2, 0.3, 0.9], groups=frame).groups
        assert read is not None
        assert by_name is not None
        assert [rate.rate for rate in read.rates] == [rate.rate for rate in by_name.rates]
    for gap in (None, np.nan, pd.NA, pd.NaT):
        read = audited([0.1] * 4, groups={"g": ["x", "y", "x", gap]}).groups
        assert read is not None
        assert [rate.group for rate in read.rates] == ["missing", "x", "y"]


@pytest.mark.parametrize(
    "groups", [{"g": [[1], [2], [3], [4]]}, {"g": ["a"] * 3}, {"g": "abcd"}, "g"]
)
def test_groups_that_are_no_columns_are_refused(groups: Any) -> None:
    with pytest.raises(LikewiseError, match="groups"):
        audited([0.1] * 4, groups=groups)


@pytest.mark.parametrize(
    "scores",
    [
        [Decimal("0.25"), Decimal(0), Decimal(1), Decimal("0.5")],
        pd.Series([0.25, 0, 1, 0.5], dtype="Float64"),
        pl.Series([Decimal("0.25"), Decimal(0), Decimal(1), Decimal("0.5")]),
        pa.array([0.25, 0, 1, 0.5]), np.array([0.25, 0, 1, 0.5], dtype=np.float16),
        np.ma.masked_array([0.25, 0, 1, 0.5], [False] * 4), [0.25, 0, 1, 0.5],
        pd.Series([0.25, 0, 1, 0.5], dtype=object),
    ],
)  # fmt: skip
def test_scores_of_any_kind_of_number_are_taken(scores: Any) -> None:
    assert audited(scores).scores == (0.25, 0.0, 1.0, 0.5)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([True, 0.5, 0.2, 0.1], "truth values and numbers"),
        ([0.5, None, 0.2, 0.1], r"'b' \(row 2\) is missing"),
        ([0.5, pd.NA, 0.2, 0.1], r"'b' \(row 2\) is missing"),
        (
            np.ma.masked_array([0.5, 0.9, 0.2, 0.1], [False, True, False, False]),
            r"'b' \(row 2\) is missing",
        ),
        (["0.5", "0.2", "0.1", "0.9"], "numbers"),
        (["50%", "20%", "10%", "90%"], "numbers"),
        ([50.0, 20.0, 10.0, 90.0], "within"),
        ([0.5, 1j, 0.1, 0.2], "numbers"),
        (pd.to_datetime(["2026-01-01"] * 4), "numbers"),
        (pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="D")), "numbers"),
        ([2**70, 0, 1, 0], "within|decisions"),
        (["approved", "denied", "denied", "approved"], "favourable"),
        (np.array([b"1", b"0", b"1", b"0"]), "favourable|numbers"),
    ],
)
def test_scores_that_can_be_misread_are_refused(scores: Any, says: str) -> None:
    with pytest.raises(LikewiseError, match=says):
        audited(scores)


@pytest.mark.parametrize(
    ("labels", "favourable"),
    [
        ([1, 0, 0, 1], None), ([1.0, 0.0, 0.0, 1.0], None), ([True, False, False, True], None),
        ([Decimal(1), Decimal(0), 0, 1], None), (["good", "bad", "bad", "good"], "good"),
        ([1, 2, 2, 1], 1), (["1", "0", "0", "1"], "1"), ([0, 1, 1, 0], 0),
        (pd.Categorical(["good", "bad", "bad", "good"]), "good"),
        (pl.Series(["good", "bad", "bad", "good"]), ["granted", "good"]),
        ([True, False, False, True], [True]), ([1, 0, 0, 1], "granted"),
    ],
)  # fmt: skip
def test_labels_and_decisions_are_read_by_the_favourable_value(
    labels: Any, favourable: Any
) -> None:
    price = audited([0.9, 0.1, 0.1, 0.9], labels=labels, favourable=favourable).price
    assert price is not None
    assert price.model == pytest.approx(0.1, abs=1e-5)
    decisions = audited(labels, favourable=favourable)
    assert decisions.scores == (1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "scores",
    [
        [0.3, 1.0, 0.3, 1.0], [0.0, 0.0, 0.0, 0.0], [Decimal("0.3"), Decimal(1)] * 2,
        np.array([0.0, 1.0, 1.0, 0.0]), [0.3, 1, 0.3, 0],
    ],
)  # fmt: skip
@pytest.mark.parametrize("favourable", [0, 1])
def test_chances_are_no_decisions(scores: Any, favourable: int) -> None:
    result = audited(scores, labels=[0, 1, 1, 0], favourable=favourable)
    assert result.scores == tuple(map(float, scores))


@pytest.mark.parametrize(
    ("labels", "favourable", "says"),
    [
        (["good", "bad", "bad", "good"], None, "'bad' and 'good', say which is favourable"),
        (["good", "bad", "bad", "good"], "Good", "'bad' and 'good', say which is favourable"),
        (["good", "bad", "meh", "good"], "good", "two values"),
        ([1, 2, 2, 1], None, "favourable"),
        ([1, 0, None, 1], None, r"'c' \(row 3\) is missing"),
        ([1, 0, float("nan"), 1], None, r"'c' \(row 3\) is missing"),
        ([1, 0, 0.5, 1], None, "0 or 1"),
        ([True, 0, 1, False], None, "truth values and numbers"),
        ([[1], [0], [1], [0]], None, "one for each"),
        (["good", "bad", "bad", "good"], ["good", "bad"], "one of"),
        (["good", "bad", None, "good"], "good", "missing"),
    ],
)
def test_labels_that_can_be_misread_are_refused(labels: Any, favourable: Any, says: str) -> None:
    with pytest.raises(LikewiseError, match=says):
        audited([0.9, 0.1, 0.1, 0.9], labels=labels, favourable=favourable)


def same(count: int) -> People:
    return SCHEMA.people([[50]] * count)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 0.25, 0.15])
def test_a_gap_of_exactly_alpha_is_never_reported(alpha: float) -> None:
    """Scores in hundredths, all of them: a tie is the same wherever it lies."""
    hundredths = [n / 100 for n in range(101)]
    result = audit(same(101), hundredths, PANEL, alpha=alpha, worst=0)
    pairs = [b - a for a, b in itertools.combinations(range(101), 2)]
    step = round(alpha * 100)
    assert result.reported.value == sum(gap > step for gap in pairs)
    assert result.objections == {"j1": result.reported}
    for point in result.curve:
        assert point.pairs.value == sum(gap > round(100 * point.alpha) for gap in pairs)


@pytest.mark.parametrize("most", [10**4, 10])
def test_a_tie_is_the_same_among_the_worst_pairs_and_in_a_sample(most: int) -> None:
    scores = [0.07 + n / 10 for n in range(8)]
    result = audit(
        same(8), scores, PANEL, alpha=0.2, worst=100, each=None, all_pairs_up_to=most,
        sample_pairs=1000,
    )  # fmt: skip
    assert len(result.worst) == 28
    for pair in result.worst:
        assert bool(pair.objecting) == (round(10 * pair.gap) > 2)


def test_a_distance_in_hundredths_ties_in_the_same_way() -> None:
    people = SCHEMA.people([[n] for n in range(101)])
    scores = [min(1.0, n / 100 * 2) for n in range(101)]
    result = audit(people, scores, PANEL, alpha=0.1)
    expected = sum(
        round(100 * scores[b]) - round(100 * scores[a]) > (b - a) + 10
        for a, b in itertools.combinations(range(101), 2)
    )
    assert result.reported.value == expected


def test_the_alpha_that_was_asked_for_is_in_every_output() -> None:
    result = audit(
        same(3),
        [0.1, 0.5, 0.9],
        PANEL,
        alpha=0.2,
        alphas=[0.1, 0.3],
        rules=["all"],
        labels=[0, 1, 1],
    )
    assert result.alpha == 0.2
    assert [point.alpha for point in result.curve] == [0.1, 0.2, 0.3]
    assert [other.alpha for other in result.rules] == [0.2]
    data = json.loads(result.to_json())
    assert data["alpha"] == 0.2
    assert [point["alpha"] for point in data["curve"]] == [0.1, 0.2, 0.3]
    assert "alpha = 0.2<" in result.to_html() or "alpha = 0.2" in result.to_html()
    assert dict(result.facts())["alpha"] == "0.2"


WORDS = FeatureSchema(
    (Feature("pay", low=0, high=10**6), Feature("rate", low=0, high=1), Feature("year", "integer"))
)


def test_words_have_full_numbers_and_differences_of_values() -> None:
    people = WORDS.people([[123_456, 0.25, 1987], [123_461, 0.2500001, 1987]], ids=["ann", "bo"])
    panel = Panel([MetricAuditor("j1", WeightedL1({"pay": 1.0}))], "any")
    words = audit(people, [0.1, 0.9], panel, alpha=0.1).worst[0].words
    assert "Pay (123,461 and 123,456)" in words
    assert "Rate (0.2500001 and 0.25)" in words
    assert "agree in Year" in words
    twelve = WORDS.people([[12_000, 0.25, 1987], [12_000.04, 0.25, 20_000]])
    assert twelve.say(0) == {"Pay": "12,000", "Rate": "0.25", "Year": "1987"}
    assert twelve.say(1)["Year"] == "20,000"


def test_a_gap_below_a_point_is_not_said_to_be_none() -> None:
    people = SCHEMA.people([[50], [50]], ids=["ann", "bo"])
    assert (
        "bo is 0.4 points above ann" in audit(people, [0.5, 0.504], PANEL, alpha=0.0).worst[0].words
    )
