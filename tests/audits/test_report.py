"""A report to file: people, groups, pairs side by side, JSON with a schema, sheets, comparisons."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import (
    MetricFrame,
    count,
    false_positive_rate,
    mean_prediction,
    selection_rate,
    true_positive_rate,
)
from hypothesis import example, given
from hypothesis import strategies as st

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.audits import Audit, Interval, Survey
from likewise.audits.formats import csv_text, workbook
from likewise.audits.pairs import SIDE, threshold
from likewise.errors import AuditError, LikewiseError
from likewise.numerics.fixed_point import ONE
from likewise.panel import FromFunction, Masked, Ratings, WeightedL1
from likewise.people import People
from likewise.people.cells import safe_text

ROOT = Path(__file__).parents[2]
SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("debt", low=0, high=1, missing="unknown"),
        Feature("sex", "category", levels=("f", "m")),
    )
)
PANEL = Panel(
    [
        MetricAuditor("banker", WeightedL1({"income": 0.6, "debt": 0.4})),
        MetricAuditor("regulator", Ratings("income", 0, 100)),
        MetricAuditor("masked", Masked(WeightedL1({"income": 0.5, "sex": 0.5}), ["income"])),
    ],
    "majority",
)


def somebody(n: int, seed: int = 1) -> tuple[People, Any]:
    """People, and scores with many ties."""
    rng = np.random.default_rng(seed)
    debt = np.where(rng.random(n) < 0.1, np.nan, rng.random(n).round(1))
    income = rng.uniform(0, 100, n).round(-1)
    people = SCHEMA.encoded(np.column_stack([income, debt, rng.integers(0, 2, n)]))
    return people, np.clip(income / 100 + rng.normal(0, 0.3, n), 0, 1).round(1)


def audited(n: int = 40, month: int = 1, **more: Any) -> Audit:
    people, scores = somebody(n, month)
    options = {"alpha": 0.1, "groups": ["sex"], "model": "m", **more}
    return audit(people, scores, PANEL, **options)


def excess_of(people: People, scores: Any) -> Any:
    units = np.rint(np.asarray(scores) * ONE).astype(np.int64)
    return np.abs(units[:, None] - units[None, :]) - PANEL.pivots(people).distance


@pytest.mark.parametrize("n", [2, 30, SIDE + 40])
def test_people_and_groups_are_counted_as_one_by_one(n: int) -> None:
    people, scores = somebody(n, n)
    result = audit(people, scores, PANEL, alpha=0.1, groups=["sex"], jobs=2, worst=0)
    excess = excess_of(people, scores)
    reported = excess > threshold(0.1)
    np.fill_diagonal(reported, val=False)
    higher = scores[:, None] > scores[None, :]
    assert [p.above for p in result.people] == (reported & higher).sum(axis=1).tolist()
    assert [p.below for p in result.people] == (reported & ~higher).sum(axis=1).tolist()
    np.fill_diagonal(excess, -2 * ONE)
    assert [p.worst_with for p in result.people] == [
        people.ids[place] for place in excess.argmax(axis=1)
    ]
    sex = people.column("sex")
    expected = Counter(
        ("fm"[int(sex[i])], "fm"[int(sex[j])]) for i, j in np.argwhere(reported & higher)
    )
    assert result.groups is not None
    by_groups = {(p.over, p.under): p for p in result.groups.pairs}
    assert {key: pairs.pairs.value for key, pairs in by_groups.items()} == {
        key: expected[key] for key in by_groups
    }
    assert sum(p.pairs.value for p in by_groups.values()) == result.reported.value
    sizes = Counter(person.groups["sex"] for person in result.people)
    for (over, under), pairs in by_groups.items():
        ordered = sizes[over] * sizes[under]
        assert pairs.of == (ordered if over != under else sizes[over] * (sizes[over] - 1) // 2)


def test_the_pairs_of_a_person_are_all_of_theirs() -> None:
    result = audited(60)
    for person in result.people[:10]:
        pairs = result.pairs_of(person.id)
        assert len(pairs) == person.times
        assert sum(pair.over == person.id for pair in pairs) == person.above
        assert [p.excess for p in pairs] == sorted((p.excess for p in pairs), reverse=True)  # type: ignore[type-var]
        if pairs:
            assert person.excess == pairs[0].excess
    with pytest.raises(AuditError, match="'nobody' is not among the people"):
        result.pairs_of("nobody")


def greedy(people: People, scores: Any, most: int, each: int) -> list[int]:
    """The worst pairs by brute force, nobody more than ``each`` times: their excess."""
    excess, uses = excess_of(people, scores), Counter[int]()
    chosen: list[int] = []
    pairs = itertools.combinations(range(len(people)), 2)
    for i, j in sorted(pairs, key=lambda pair: (-excess[pair], *pair)):
        if max(uses[i], uses[j]) < each and len(chosen) < most:
            chosen.append(int(excess[i, j]))
            uses.update((i, j))
    return chosen


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("n", [3, 40, SIDE + 60])
def test_nobody_is_in_more_of_the_worst_pairs_than_asked(n: int, each: int) -> None:
    """With people who are worst with everybody, so that the very worst pairs are all theirs."""
    people, scores = somebody(n, n)
    scores[:: max(1, n // 4)] = 1.0  # some who are above all others
    result = audit(people, scores, PANEL, alpha=0.1, worst=12, each=each, jobs=2)
    units = [round((pair.excess or 0.0) * ONE) for pair in result.worst]
    assert units == greedy(people, scores, 12, each)
    uses = Counter(name for pair in result.worst for name in (pair.over, pair.under))
    assert max(uses.values()) <= each


def between(result: Audit) -> list[Interval]:
    assert result.groups is not None
    return [pairs.pairs for pairs in result.groups.pairs]


def test_a_sample_counts_its_people_with_everybody_and_says_all_in_one_unit() -> None:
    """Ten samples of 20 intervals of 95 %; more than 30 of 200 miss once in a million runs."""
    exact, misses, total = audited(500, worst=0), 0, 0
    everybody = {person.id: person for person in exact.people}
    for seed in range(10):
        drawn = audited(500, worst=0, all_pairs_up_to=400, sample_pairs=5000, seed=seed)
        assert len(drawn.people) == 64
        assert all(person == everybody[person.id] for person in drawn.people)
        pairs = [
            *((drawn.objections[m], exact.objections[m]) for m in exact.members),
            *((drawn.pivots[m], exact.pivots[m]) for m in exact.members),
            *((drawn.decisive[m], exact.decisive[m]) for m in exact.members),
            *((a.pairs, b.pairs) for a, b in zip(drawn.rules, exact.rules, strict=True)),
            *((a.people, b.people) for a, b in zip(drawn.rules, exact.rules, strict=True)),
            *zip(between(drawn), between(exact), strict=True),
            (drawn.reported, exact.reported),
            (drawn.touched, exact.touched),
        ]  # fmt: skip
        misses += sum(not a.low <= b.value <= a.high for a, b in pairs)
        total += len(pairs)
    assert misses <= 0.15 * total


def test_the_band_of_the_curve_holds_at_all_alphas_at_once() -> None:
    """20 samples: more than five bands of 95 % that miss somewhere come once in 3,000 runs."""
    exact, misses = audited(300, worst=0), 0
    for seed in range(20):
        drawn = audited(300, worst=0, all_pairs_up_to=200, sample_pairs=1000, seed=seed)
        misses += not all(
            a.pairs.low <= b.pairs.value <= a.pairs.high
            for a, b in zip(drawn.curve, exact.curve, strict=True)
        )
        here = next(point for point in drawn.curve if point.alpha == 0.1)
        assert here.pairs.low < drawn.reported.low < drawn.reported.high < here.pairs.high
    assert misses <= 5


@pytest.mark.parametrize("decisions", [True, False])
def test_rates_of_groups_are_fairlearns(decisions: bool) -> None:
    rng = np.random.default_rng(3)
    people, scores = somebody(300, 4)
    scores = (scores >= 0.5).astype(float) if decisions else scores
    labels, region = rng.integers(0, 2, 300), rng.choice(["n", "s", "w"], 300)
    sex = ["fm"[int(x)] for x in people.column("sex")]
    result = audit(
        people, scores, PANEL, alpha=0.1, labels=labels, groups={"sex": sex, "region": region}
    ).groups
    assert result is not None
    for columns in ({"sex": sex}, {"region": region}, {"sex": sex, "region": region}):
        metrics: dict[str, Any] = {"count": count, "rate": mean_prediction}
        if decisions:
            metrics |= {
                "rate": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate,
            }  # fmt: skip
        theirs = MetricFrame(
            metrics=metrics, y_true=labels, y_pred=scores, sensitive_features=columns
        ).by_group
        ours = {r.group: r for r in result.rates if r.by == " and ".join(columns)}
        assert len(ours) == len(theirs)
        for index, row in theirs.iterrows():
            rate = ours[" and ".join(index) if isinstance(index, tuple) else index]
            assert rate.count == row["count"]
            for name in set(metrics) - {"count"}:
                interval = getattr(rate, name)
                assert interval.value == pytest.approx(row[name])
                assert interval.low <= interval.value <= interval.high
                assert interval.low < interval.high
    if not decisions:  # the expected rate of those whom a favourable decision was right for
        men = np.array(sex) == "m"
        rate = next(r for r in result.rates if (r.by, r.group) == ("sex", "m"))
        assert rate.tpr is not None
        assert rate.tpr.value == pytest.approx(scores[men & (labels == 1)].mean())


VALIDATOR = jsonschema_rs.Draft202012Validator(Audit.json_schema())


def test_the_schema_that_is_published_is_the_one_of_the_result() -> None:
    published = json.loads((ROOT / "docs/audit.schema.json").read_text())
    assert published == Audit.json_schema()


def test_json_is_as_its_schema_says_and_is_read_again() -> None:
    people, scores = somebody(30)
    survey = Survey.from_rows([("p1", "p2", "ann", 1), ("p1", "p3", "bo", 0)], rule="any")
    odd = Panel([MetricAuditor("f", FromFunction(lambda a, b: float(a["sex"] != b["sex"])))], "any")
    for result in (
        audited(labels=[0, 1] * 20),
        audited(groups=(), rules=[]),
        audited(100, all_pairs_up_to=50, sample_pairs=1000),
        audit(people, scores, survey, groups=["sex"]),
        audit(people, scores, odd, alpha=0.2),
    ):
        text = result.to_json()
        assert VALIDATOR.is_valid(json.loads(text)), list(VALIDATOR.iter_errors(json.loads(text)))
        again = Audit.from_json(text)
        assert again.to_json() == text
        assert again.to_html() == result.to_html()
        assert str(again) == str(result)
        with pytest.raises(AuditError, match="need the people themselves"):
            again.pairs_of("p1")


def test_json_that_is_no_audit_is_refused_by_its_place() -> None:
    good = json.loads(audited().to_json())
    for path, value, says in (
        (("format",), "likewise-audit/0", "not an audit of the format"),
        (("population",), "40", "audit.population must be of type integer; got '40'"),
        (("people", 3, "above"), None, r"audit.people\[3\].above must be of type integer"),
        (("worst", 0, "scores"), [0.5], r"audit.worst\[0\].scores must be a list of 2"),
        (("basis", "left_out"), [], "audit.basis.left_out must be an object"),
        (("reported",), {"value": 1}, "audit.reported must be an object of value, low, high"),
    ):
        broken = json.loads(json.dumps(good))
        place = broken
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        with pytest.raises(AuditError, match=says):
            Audit.from_json(json.dumps(broken))
        assert path == ("format",) or not VALIDATOR.is_valid(broken)
    for text in ("", "[]", "{}"):
        with pytest.raises(AuditError, match="not an audit"):
            Audit.from_json(text)


def test_the_basis_says_what_the_audit_rests_on() -> None:
    result = audited(left_out={"no score": 3}, labels=[0, 1] * 20)
    basis = result.basis
    assert Panel.from_spec(basis.panel) == PANEL
    assert FeatureSchema.from_spec(basis.schema) == SCHEMA
    assert (basis.model, dict(basis.left_out)) == ("m", {"no score": 3})
    assert set(basis.hashes) == {"data", "scores", "labels"}
    page, date = result.to_html(), dict(basis.facts())["date"]
    for fact in (*basis.hashes.values(), date, "3: no score", "0.6 × Income", "0.4 × Debt",
                 "sees Income alone", "majority", "alpha = 0.1"):  # fmt: skip
        assert fact in page
    with pytest.raises(LikewiseError, match="left_out"):
        audited(left_out={"no score": -1})
    with pytest.raises(LikewiseError, match="model"):
        audited(model=3)


def test_the_hash_of_data_is_of_the_data_wherever_they_come_from() -> None:
    rows = {"income": [10.0, 20.0, 30.0], "debt": [0.5, None, 0.1], "sex": ["f", "m", "f"]}
    frames = [pd.DataFrame(rows), pl.DataFrame(rows)]
    listed = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    hashes = [
        audit(SCHEMA.people(data), [0.1, 0.5, 0.9], PANEL, alpha=0.1).basis.hashes
        for data in (*frames, listed)
    ]
    assert hashes[0] == hashes[1] == hashes[2]
    other = SCHEMA.people(pd.DataFrame({**rows, "debt": [0.5, 0.0, 0.1]}))
    changed = audit(other, [0.1, 0.5, 0.9], PANEL, alpha=0.1)
    assert changed.basis.hashes["data"] != hashes[0]["data"]
    assert changed.basis.hashes["scores"] == hashes[0]["scores"]


@given(st.text(max_size=9))
@example("-2+3")
@example("\u3000=1")
@example("@SUM(A1)")
def test_no_text_is_a_formula_in_a_spreadsheet(text: str) -> None:
    written = safe_text(text)
    assert written.removeprefix("'") == text or written == text
    first = written.lstrip()[:1]
    number = re.fullmatch(r"[+-]?[0-9]+([.,][0-9]+)*", written, flags=re.ASCII)
    assert number or first not in set("=+-@＝＋－＠")


NAMES = ["=HYPERLINK(1)", "@SUM(A1)", "+1+1", "-2+3", "<b>&\"'", "a\x0bb", "\t=1", "ann,bo\nc"]


def cells(sheet: bytes) -> list[list[Any]]:
    """The cells of a sheet, as a reader of the format takes them."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    rows = ElementTree.fromstring(sheet).findall("m:sheetData/m:row", space)
    kinds = {"inlineStr": "m:is/m:t", None: "m:v", "b": "m:v"}
    return [[cell.findtext(kinds[cell.get("t")], namespaces=space) for cell in row] for row in rows]


def test_names_that_look_like_formulas_stay_names_in_every_file(tmp_path: Path) -> None:
    people, scores = somebody(len(NAMES))
    people = People(tuple(NAMES), people.x, people.schema)
    result = audit(people, scores, PANEL, alpha=0, groups={"=sex": NAMES})
    result.to_xlsx(tmp_path / "audit.xlsx")
    with zipfile.ZipFile(tmp_path / "audit.xlsx") as archive:
        assert archive.testzip() is None
        sheets = [name for name in archive.namelist() if "worksheets" in name]
        text = b"".join(archive.read(name) for name in archive.namelist())
        by_sheet = [cells(archive.read(name)) for name in sheets]
    assert b"<f>" not in text
    assert text.count(b"<patternFill") == 2  # or readers refuse the file
    tables = result.tables()
    for (heads, rows), sheet in zip(tables.values(), by_sheet, strict=True):
        assert sheet[0] == list(heads)
        assert len(sheet) == 1 + len(rows)
    listed = {row[0] for row in by_sheet[list(tables).index("people")][1:]}
    assert listed == {name.replace("\x0b", "\ufffd") for name in NAMES}
    for name in result.to_csv(tmp_path / "audit.csv"):
        for row in csv.reader(io.StringIO(Path(name).read_text("utf-8-sig"))):
            assert all(safe_text(cell) == cell for cell in row)
    assert len(list(tmp_path.glob("audit-*.csv"))) == len(tables)
    assert workbook(tables) == workbook(tables)  # the same bytes
    with pytest.raises(AuditError, match="not written"):
        result.to_xlsx(tmp_path / "no" / "audit.xlsx")


def test_a_table_has_numbers_as_numbers() -> None:
    assert csv_text(["a"], [[-0.5], [None], [True], ["-0.5"], ["-x"]]).split("\r\n") == [
        "a", "-0.5", '""', "True", "-0.5", "'-x", ""
    ]  # fmt: skip
    frame = audited().to_frame("pandas", table="people")
    assert frame["reported pairs"].sum() == 2 * audited().reported.value
    with pytest.raises(LikewiseError, match="table"):
        audited().to_frame(table="sheets")


def test_what_would_let_a_pair_pass_lets_it_pass() -> None:
    """Each change that is named is tried: scores, alpha; and a little less is not enough."""
    rng = np.random.default_rng(9)
    people = SCHEMA.encoded(np.column_stack([rng.uniform(0, 100, 25), rng.random(25), [0] * 25]))
    scores = rng.random(25)
    result = audit(people, scores, PANEL, alpha=0.1, worst=1)
    pair = result.worst[0]
    first, second, third = pair.changes(0.1)
    over, under = people.ids.index(pair.over), people.ids.index(pair.under)
    most, least = (float(number) / 100 for number in re.findall(r"([\d.]+) %", first))
    needed = float(re.findall(r"Alpha is ([\d.]+)", second)[0])

    def reported(moved: dict[int, float], alpha: float = 0.1) -> bool:
        new = scores.copy()
        for place, score in moved.items():
            new[place] = score
        return bool(
            audit(people.take([over, under]), new[[over, under]], PANEL, alpha=alpha).reported.value
        )

    assert reported({})
    assert not reported({over: most})
    assert reported({over: most + 0.002})
    assert not reported({under: least})
    assert reported({under: least - 0.002})
    assert not reported({}, needed)
    assert reported({}, needed - 0.002)
    assert "apart or more" in third
    passing = audit(people, scores * 0, PANEL, alpha=0.1)
    assert passing.worst[0].changes(0.1) == []
    assert passing.remedies() == ["Nothing has to change: no pair is reported."]


def test_two_models_on_the_same_people_are_compared_by_counting() -> None:
    people, scores = somebody(80)
    before, after = (
        audit(people, s, PANEL, alpha=0.1, groups=["sex"], model=name)
        for s, name in ((scores, "old"), (scores / 2, "new"))
    )
    comparison = before.compare(after)
    pairs = comparison.changes[0]
    assert pairs.change.low == pairs.change.high == after.share.value - before.share.value
    assert [c.name for c in comparison.changes[1:]] == ["selected, sex: f", "selected, sex: m"]
    old, new = ({p.id: p.times for p in a.people} for a in (before, after))
    assert {name: (a, b) for name, a, b in comparison.people} == {
        name: (old[name], new[name]) for name in old if old[name] != new[name]
    }
    read = Audit.from_json(before.to_json()).compare(Audit.from_json(after.to_json()))
    assert (str(read), read.people) == (str(comparison), comparison.people)
    assert "same people" in str(comparison)
    page = comparison.to_html()
    assert "What has changed" in page
    assert "before (old" in page
    assert "What has changed" not in after.to_html()
    same = before.compare(before)
    assert all(change.change.value == 0 for change in same.changes)
    assert same.people == ()
    with pytest.raises(LikewiseError, match="after"):
        before.compare("audit")  # type: ignore[arg-type]


def test_two_months_have_intervals_and_what_differs_is_said() -> None:
    before, after = audited(60, 1), audited(60, 2, alpha=0.3)
    comparison = before.compare(after)
    pairs = comparison.changes[0]
    assert pairs.change.low < pairs.change.value < pairs.change.high
    assert "The people differ" in comparison.notes[0]
    assert "Alpha was 0.1 and is 0.3." in comparison.notes
    unclear = [change for change in comparison.changes if not change.clear]
    assert all("may be chance" in change.row()[3] for change in unclear)


def test_groups_that_one_audit_alone_has_are_named() -> None:
    people, scores = somebody(40)
    plain, small, large = (
        audit(people, scores, PANEL, alpha=0.1, groups={} if of is None else {"g": of})
        for of in (None, ["a", "b"] * 20, [str(i // 2) for i in range(40)])
    )
    note = "Groups of one audit alone are not compared: g: 0, g: 1, g: 10, g: 11, g: 12, g: 13, …"
    assert note in small.compare(large).notes
    for other in (small, plain):
        assert not any("alone" in note for note in small.compare(other).notes)


def test_headlines_say_something_where_everybody_is_touched() -> None:
    result = audited(200)
    assert result.touched.value / result.population > 0.9
    titles = [title for title, _, _ in result.headlines()]
    assert titles[:4] == [
        "Pairs reported", "A typical person", "Always the lower one", "The worst pair"
    ]  # fmt: skip
    middle = np.median([p.times for p in result.people]) / 199
    assert f"{100 * middle:.2g} % of others" in result.headlines()[1][1]
    assert not [figure for _, figure, _ in result.headlines() if "100 %" in figure]
    nothing = audited(20, alpha=1.0)
    assert [title for title, _, _ in nothing.headlines()] == ["Pairs reported", "The worst pair"]


def test_a_page_shows_pairs_side_by_side_and_filters_without_a_script() -> None:
    result = audited(60)
    page = result.to_html()
    assert "<script" not in page
    assert "javascript" not in page
    boxes = re.findall(r'type="checkbox" id="(\w+)"', page)
    assert boxes
    for box in boxes:
        assert f"main:has(#{box}:checked) .row-{box[0]}:not(.{box})" in page
    first = page[page.index('<article class="card pair') : page.index("</article>")]
    for title, how in result.worst[0].differences.items():
        assert re.search(rf'class="differs"><th scope="row">{title} <span class="mark">≠ ', first)
        assert how.partition(" ")[0] in first
    assert first.count("<td>") == 2 * (1 + len(result.worst[0].features))
    assert math.isclose(page.count('<tr class="row-p'), sum(p.times > 0 for p in result.people))
