"""Data as people bring it: every probe is read as a person would, said, or refused; none is raw.

A column of a frame is ``read`` with a kind and values, ``left_out`` with a word, or ``refused``.
What may surprise is said: the last text is part of a warning, and without one nothing may be said.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import enum
import json
import math
import uuid
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, Survey, audit
from likewise.audits import Audit, Monitor
from likewise.cli.main import main
from likewise.errors import LikewiseError, LikewiseWarning
from likewise.panel import WeightedL1

NAN = math.nan
BESIDE = {"beside": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]}
DAY = dt.date(2026, 1, 31)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def p(values: Any, dtype: Any = None) -> Any:
    return pd.DataFrame({**BESIDE, "x": pd.Series(values, dtype=dtype)})


def l(values: Any, dtype: Any = None) -> Any:  # noqa: E743
    return pl.DataFrame({**BESIDE, "x": pl.Series(values, dtype=dtype, strict=False)})


def a(values: Any, dtype: Any = None) -> Any:
    return pa.table({**BESIDE, "x": pa.array(values, type=dtype)})


def read(kind: str, values: list[float], said: str = "") -> tuple[Any, ...]:
    return "read", kind, values, said


def left_out(said: str) -> tuple[Any, ...]:
    return "left out", said


def refused(says: str) -> tuple[Any, ...]:
    return "refused", says


AS_TEXT = "numbers as text"
DATES = "holds dates"
MOSTLY = "is mostly numbers, but for "
PLAINLY = "holds numbers that are not written plainly: "
FRAMES: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "percent": (lambda: p(["10%", "20%"] * 3), refused(PLAINLY + "'10%'")),
    "currency": (lambda: p(["$1,000", "$20"] * 3), refused(PLAINLY + ".*currency")),
    "decimal comma": (lambda: p(["1,5", "2,5"] * 3), refused(PLAINLY + "'1,5'")),
    "thousands by spaces": (lambda: p(["1 000", "2 000"] * 3), refused(PLAINLY)),
    "thousands by apostrophes": (lambda: p(["1'000", "2'000"] * 3), refused(PLAINLY)),
    "both separators": (lambda: p(["1.234,56", "2"] * 3), refused(MOSTLY + "'1.234,56'")),
    "a space that does not break": (
        lambda: p(["1\u00a0", "2", "3"] * 2), read("integer", [1, 2, 3] * 2, AS_TEXT)
    ),
    "another minus": (lambda: p(["\u22121", "2", "3", "4", "5", "6"]), refused(MOSTLY)),
    "digits of another script": (lambda: p(["\u0661", "\u0662"] * 3), refused(PLAINLY)),
    "wide digits": (lambda: p(["\uff11", "\uff12"] * 3), refused(PLAINLY)),
    "underscores": (lambda: p(["1_000", "2", "3", "4", "5", "6"]), refused(MOSTLY + "'1_000'")),
    "powers of ten": (
        lambda: p(["1e3", "2e3"] * 3), read("number", [1000, 2000] * 3, AS_TEXT)
    ),
    "infinity as text": (lambda: p(["inf", "1", "2", "3", "4", "5"]), refused(MOSTLY + "'inf'")),
    "infinity": (lambda: p([math.inf, 1, 2, 3, 4, 5]), refused("finite number")),
    "hexadecimal": (lambda: p(["0x1", "0x2"] * 3), read("category", [0, 1] * 3)),
    "accounting": (lambda: p(["(12)", "13", "14", "15", "16", "17"]), refused(MOSTLY)),
    "true and false as text": (lambda: p(["True", "False"] * 3), read("category", [1, 0] * 3)),
    "Y, N and a blank": (
        lambda: p(["Y", "N", "", "Y", "N", "Y"]), read("category", [1, 0, NAN, 1, 0, 1])
    ),
    "truth among text": (lambda: p([True, "yes", False] * 2, object), left_out("neither")),
    "truth with gaps": (
        lambda: p([True, None, False] * 2, "boolean"), read("flag", [1, NAN, 0] * 2)
    ),
    "a word among numbers": (lambda: p([1, "two", 3, 4, 5, 6], object), refused(MOSTLY + "'two'")),
    "numbers among words": (lambda: p(["a", 1, "b"] * 2, object), read("category", [1, 0, 2] * 2)),
    "nothing": (lambda: p([None] * 6, object), left_out("no value at all")),
    "nothing but NaN": (lambda: p([NAN] * 6), left_out("no value at all")),
    "nothing but NA": (lambda: p(["NA"] * 6), left_out("no value at all")),
    "one number": (lambda: p([7] * 6), read("integer", [7] * 6)),
    "one word": (lambda: p(["x"] * 6), read("category", [0] * 6)),
    "dates": (lambda: p([DAY] * 6, object), left_out(DATES)),
    "timestamps": (lambda: p(pd.to_datetime(["2026-01-01"] * 6)), left_out(DATES)),
    "time zones": (
        lambda: p(pd.to_datetime(["2026-01-01"] * 6).tz_localize("UTC")), left_out(DATES)
    ),
    "spans of time": (lambda: p(pd.to_timedelta([1] * 6, unit="D")), left_out(DATES)),
    "American dates": (lambda: p(["01/31/2026", "02/28/2026"] * 3), left_out(DATES)),
    "German dates": (lambda: p(["31.01.2026", "28.2.26"] * 3), left_out(DATES)),
    "dates and NA": (lambda: p(["2026-01-31", "NA"] * 3), left_out(DATES)),
    "months": (lambda: p(pd.period_range("2026", periods=6, freq="M")), left_out("left out")),
    "intervals": (lambda: p(pd.interval_range(0, 6)), left_out("neither")),
    "days as numbers": (lambda: p([20260131, 20260201] * 3), left_out(DATES)),
    "no days": (
        lambda: p([20260131, 20261301] * 3), read("integer", [20260131, 20261301] * 3)
    ),
    "names of months": (lambda: p(["Jan-26", "3 March 2026", "May 4, 2026"] * 2), left_out(DATES)),
    "words like months": (lambda: p(["mark 12", "decent"] * 3), read("category", [1, 0] * 3)),
    "months as numbers": (lambda: p(["2026-01", "2026-12"] * 3), left_out(DATES)),
    "quarters": (lambda: p(["2026Q1", "Q4 2026"] * 3), left_out(DATES)),
    "times": (lambda: p(["10:30", "9:05 pm"] * 3), left_out(DATES)),
    "ratios": (lambda: p(["3:1", "2:1"] * 3), read("category", [1, 0] * 3)),
    "years": (
        lambda: p([1990, 1991, 1992, 1990, 2001, 1999]),
        read("integer", [1990, 1991, 1992, 1990, 2001, 1999]),
    ),
    "categories": (lambda: p(pd.Categorical(list("abcabc"))), read("category", [0, 1, 2] * 2)),
    "categories of numbers": (
        lambda: p(pd.Categorical([3, 1, 2] * 2)), read("category", [2, 0, 1] * 2)
    ),
    "categories with a mark": (
        lambda: p(pd.Categorical(["a", "NA", "b"] * 2)),
        read("category", [1, 0, 2] * 2, "has the level 'NA'"),
    ),
    "lists": (lambda: p([[1]] * 6, object), left_out("neither")),
    "mappings": (lambda: p([{"a": 1}] * 6, object), left_out("neither")),
    "complex numbers": (lambda: p([1j] * 6), left_out("neither")),
    "bytes": (lambda: p([b"a", b"b"] * 3, object), left_out("neither")),
    "identifiers": (lambda: p([uuid.UUID(int=i) for i in range(6)], object), left_out("neither")),
    "enumerations": (lambda: p([Colour.RED, Colour.BLUE] * 3, object), left_out("neither")),
    "decimals": (
        lambda: p([Decimal("1.5"), Decimal(2)] * 3, object), read("number", [1.5, 2] * 3)
    ),
    "a decimal that is none": (
        lambda: p([Decimal("NaN"), Decimal(2), Decimal(1)] * 2, object),
        read("number", [NAN, 2, 1] * 2),
    ),
    "fractions": (
        lambda: p([Fraction(1, 2), Fraction(1)] * 3, object), read("number", [0.5, 1] * 3)
    ),
    "large integers": (lambda: p([2**62 + 1] * 6), left_out("no float holds")),
    "larger integers": (lambda: p([2**80 + 1, 1, 2] * 2, object), refused("exactly")),
    "integers without a sign": (
        lambda: p(np.array([2**63 + 1] * 6, dtype=np.uint64)), left_out("no float holds")
    ),
    "large integers as text": (lambda: p([str(2**53 + 1), "1", "2"] * 2), refused("exactly")),
    "integers with gaps": (
        lambda: p([1, None, 3, 4, 5, 6], "Int64"), read("integer", [1, NAN, 3, 4, 5, 6])
    ),
    "half floats": (lambda: p([1.5, 2.5] * 3, "float16"), read("number", [1.5, 2.5] * 3)),
    "objects that are numbers": (
        lambda: p([np.int64(1), np.float32(2.5), 3] * 2, object), read("number", [1, 2.5, 3] * 2)
    ),
    "NaT among numbers": (
        lambda: p([pd.NaT, 1, 2, 3, 4, 5], object), read("integer", [NAN, 1, 2, 3, 4, 5])
    ),
    "spaces around words": (
        lambda: p([" car", "car ", "car", "home", " home", "home"]),
        read("category", [0, 0, 0, 1, 1, 1]),
    ),
    "capitals": (
        lambda: p(["Car", "car", "van"] * 2), read("category", [0, 1, 2] * 2, "may be one")
    ),
    "composed letters": (
        lambda: p(["caf\u00e9", "cafe\u0301"] * 3), read("category", [1, 0] * 3, "may be one")
    ),
    "signs that nobody sees": (
        lambda: p(["a\u200b", "a"] * 3), read("category", [1, 0] * 3, "may be one")
    ),
    "pictures": (lambda: p(["\U0001f44d", "\U0001f44e"] * 3), read("category", [0, 1] * 3)),
    "a blank among numbers": (
        lambda: p(["  ", "1", "2", "3", "4", "5"]), read("integer", [NAN, 1, 2, 3, 4, 5], AS_TEXT)
    ),
    "None as a word": (lambda: p(["None", "a", "b"] * 2), read("category", [0, 1, 2] * 2)),
    "nan as a word": (
        lambda: p(["nan", "a", "b"] * 2), read("category", [NAN, 0, 1] * 2, "'nan' is read")
    ),
    "a dash among numbers": (
        lambda: p(["-", "1", "2", "3", "4", "5"]),
        read("integer", [NAN, 1, 2, 3, 4, 5], "'-' is read as a missing value"),
    ),
    "leading zeros": (
        lambda: p(["007", "008"] * 3), read("category", [0, 1] * 3, "leading zeros")
    ),
    "three and more": (lambda: p(["1", "2", "3+"] * 2), refused(MOSTLY + r"'3\+' \(row 3\)")),
    "bands": (lambda: p(["18-24", "25-34"] * 3), read("category", [0, 1] * 3)),
    "units": (
        lambda: p(["5 kg", "6 kg", "7 kg"] * 2), read("category", [0, 1, 2] * 2, "holds measures")
    ),
    "zeros and ones": (lambda: p([0, 1] * 3), read("flag", [0, 1] * 3)),
    "polars: decimals": (lambda: l([Decimal("1.5"), Decimal(2)] * 3), read("number", [1.5, 2] * 3)),
    "polars: marks": (
        lambda: l(["1", "NA", "3", "4", "5", "6"]),
        read("integer", [1, NAN, 3, 4, 5, 6], "'NA' is read"),
    ),
    "polars: 128 bits": (lambda: l([2**70] * 6, pl.Int128), left_out("no float holds")),
    "polars: lists": (lambda: l([[1]] * 6), left_out("neither")),
    "polars: records": (lambda: l([{"a": 1}] * 6), left_out("neither")),
    "polars: nulls": (lambda: l([None] * 6), left_out("no value at all")),
    "polars: NaN": (lambda: l([NAN, 1.0, 2.0] * 2), read("number", [NAN, 1, 2] * 2)),
    "polars: times": (lambda: l([dt.time(1)] * 6), left_out(DATES)),
    "polars: spans": (lambda: l([dt.timedelta(1)] * 6), left_out(DATES)),
    "polars: binary": (lambda: l([b"a", b"b"] * 3), left_out("neither")),
    "polars: objects": (lambda: l([object()] * 6, pl.Object), left_out("neither")),
    "polars: enumerations": (
        lambda: l(["b", "a"] * 3, pl.Enum(["b", "a"])), read("category", [0, 1] * 3)
    ),
    "Arrow: marks": (
        lambda: a(["1", "?", "3", "4", "5", "6"], pa.large_string()),
        read("integer", [1, NAN, 3, 4, 5, 6], "'?' is read"),
    ),
    "Arrow: dictionaries": (
        lambda: pa.table({**BESIDE, "x": pa.array(list("abcabc")).dictionary_encode()}),
        read("category", [0, 1, 2] * 2),
    ),
    "Arrow: dates": (lambda: a([DAY] * 6), left_out(DATES)),
    "Arrow: lists": (lambda: a([[1]] * 6), left_out("neither")),
    "Arrow: nulls": (lambda: a([None] * 6), left_out("no value at all")),
    "Arrow: truth with gaps": (lambda: a([True, None, False] * 2), read("flag", [1, NAN, 0] * 2)),
    "Arrow: a batch": (
        lambda: pa.RecordBatch.from_pydict({**BESIDE, "x": [1, None, 3, 4, 5, 6]}),
        read("integer", [1, NAN, 3, 4, 5, 6]),
    ),
    "two columns of one name": (
        lambda: pd.DataFrame([[1, 2]] * 6, columns=["x", "x"]), refused("differ")
    ),
    "a number as a name": (lambda: pd.DataFrame({1: [1, 2], "x": [1, 2]}), refused("by text")),
    "no name": (lambda: pd.DataFrame({"": [1, 2], "x": [1, 2]}), refused("must not be empty")),
    "no rows": (lambda: pd.DataFrame({"x": []}), refused("no rows")),
    "no columns": (lambda: pd.DataFrame(index=[0, 1]), refused("No column")),
    "several levels of names": (lambda: pd.DataFrame({("a", "b"): [1]}), refused("MultiIndex")),
    "lazy": (lambda: pl.LazyFrame({"x": [1]}), refused("collect")),
    "a column alone": (lambda: pd.Series([1, 2]), refused("frame is needed")),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_is_read_said_or_refused(name: str) -> None:
    make, outcome = FRAMES[name]
    frame = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if outcome[0] == "refused":
            with pytest.raises(LikewiseError, match=outcome[1]):
                FeatureSchema.from_frame(frame).people(frame, others="ignore")
            return
        schema = FeatureSchema.from_frame(frame)
        people = schema.people(frame, others="ignore")
    assert all(issubclass(warning.category, LikewiseWarning) for warning in caught)
    said = " ".join(str(warning.message) for warning in caught)
    assert outcome[-1] in said
    assert bool(said) == bool(outcome[-1])
    if outcome[0] == "left out":
        assert "x" not in schema.names
        return
    assert schema["x"].kind == outcome[1]
    assert np.array_equal(people.column("x"), np.array(outcome[2]), equal_nan=True)
    assert people.say(0)["X"]


ROWS = [("ann", 10, 0.1), ("bo", 20, 0.2), ("cy", 30, 0.9), ("di", 40, 0.4)]
HEAD = "id,income,score"
PANEL = 'rule="any"\n[[auditors]]\nname="j"\n' + (
    'distance={metric="weighted-l1", weights={income=1.0}, scales={income=50}}\n'
)


def table(cell: Callable[[int, Any], Any], head: str = HEAD, end: str = "\n") -> str:
    """A CSV file with a score, an income, or one more column made by a function of the row."""
    return end.join([head, *(str(cell(i, row)) for i, row in enumerate(ROWS))]) + end


def plain(i: int, row: Any) -> str:
    return ",".join(map(str, row))


def income(values: str) -> str:
    listed = values.split("|")
    return table(lambda i, row: f"{row[0]},{listed[i]},{row[2]}")


def score(values: str) -> str:
    listed = values.split("|")
    return table(lambda i, row: f"{row[0]},{row[1]},{listed[i]}")


def more(values: str) -> str:
    listed = values.split("|")
    return table(lambda i, row: f"{plain(i, row)},{listed[i]}", HEAD + ",y")


LABEL = ["--label", "y"]
GROUP = ["--group", "y"]
# The file, more options, and: the number of reported pairs, or what is said where it is refused.
FILES: dict[str, tuple[str | bytes, list[str], int | str]] = {
    "as it should be": (table(plain), [], 3),
    "lines of Windows": (table(plain, end="\r\n"), [], 3),
    "a mark of the byte order": (b"\xef\xbb\xbf" + table(plain).encode(), [], 3),
    "another encoding": (table(plain).encode("utf-16"), [], "Save it as UTF-8"),
    "spaces around names": (table(plain, " id , income , score "), [], 3),
    "names in capitals": (table(plain, "id,Income,Score"), [], "no column 'score'"),
    "a comma in quotes": (table(lambda i, r: f'"{r[0]}, {i}",{r[1]},{r[2]}'), [], 3),
    "semicolons": (table(plain).replace(",", ";"), [], "semicolons"),
    "tabs": (table(plain).replace(",", "\t"), [], "tabs"),
    "bars": (table(plain).replace(",", "|"), [], "bars"),
    "an unnamed index": (
        table(lambda i, r: f"{i + 1},{plain(i, r)}", "," + HEAD), [], "column without a name"
    ),
    "a comma at the end": (table(lambda i, r: plain(i, r) + ","), [], "must have 3 cells"),
    "a name twice": (table(lambda i, r: f"{plain(i, r)},1", HEAD + ",income"), [], "twice"),
    "blank lines": (table(plain).replace("\n", "\n\n"), [], 3),
    "an odd cell after blank lines": (
        score("0.1|x|0.9|0.4").replace("\n", "\n\n"), [], "line 5: score must be a number"
    ),
    "an odd cell after a name of two lines": (
        score("0.1|x|0.9|0.4").replace("ann", '"a\nnn"'), [], "line 4: score must be a number"
    ),
    "a short line after blank ones": (
        HEAD + "\n\n\nann,1,0.5\nbo,2\n", [], "line 5: it must have 3 cells"
    ),
    "an empty line before all": ("\n" + table(plain), [], "no names in its first line"),
    "incomes beyond the floats": (income("-1e308|1e308|30|40"), [], 1),
    "another column beyond the floats": (
        table(lambda i, r: f"{plain(i, r)},{(-1e308, 1e308, 3, 4)[i]}", HEAD + ",big"), [], 3
    ),
    "a line of totals": (table(plain) + "total,100,\n", [], "line 6: score must be a number"),
    "a comment": ("# ours\n" + table(plain), [], "must have 1 cells"),
    "a header alone": (HEAD + "\n", [], "no row below"),
    "no line": ("", [], "no row below"),
    "one person": (HEAD + "\nann,1,0.5\n", [], "at least two"),
    "a quote without end": (table(lambda i, r: '"' + plain(i, r)), [], "not a CSV file"),
    "an id twice": (table(lambda _, r: f"ann,{r[1]},{r[2]}"), [], "called 'ann'"),
    "ids that differ by a space": (
        table(lambda i, r: f"{'ann ' if i == 2 else r[0]},{r[1]},{r[2]}"), [], "called 'ann'"
    ),
    "no id": (table(lambda i, r: f"{'' if i == 2 else r[0]},{r[1]},{r[2]}"), [], "not empty"),
    "scores in percent": (score("10%|20%|90%|40%"), [], "got '10%'. Write a plain number"),
    "scores up to 100": (score("10|20|90|40"), [], "within [0, 1]"),
    "scores with commas": (score('"0,1"|"0,2"|"0,9"|"0,4"'), [], "got '0,1'. Write a plain"),
    "a score that is NA": (score("0.1|NA|0.9|0.4"), [], "line 3: score must be a number"),
    "a score that is nan": (score("0.1|nan|0.9|0.4"), [], "line 3: score must be a number"),
    "a score that is inf": (score("0.1|inf|0.9|0.4"), [], "line 3: score must be a number"),
    "decisions as truth": (score("True|False|True|True"), [], 3),
    "decisions as yes and no": (score("yes|no|yes|yes"), [], "'no' and 'yes', say which"),
    "truth among scores": (score("true|0.2|0.9|0.4"), [], "got 'true'"),
    "decisions in words": (score("ok|no way|ok|ok"), [], "'no way' and 'ok', say which"),
    "decisions and a word": (score("ok|no way|ok|ok"), ["--favourable", "ok"], 3),
    "decisions and a blank": (
        score("ok|ok||ok"), ["--favourable", "ok"], "The score of 'cy' (row 3) is missing"
    ),
    "decisions and NA": (
        score("ok|NA|ok|ok"), ["--favourable", "ok"], "The score of 'bo' (row 2) is missing"
    ),
    "two decisions and a blank": (
        score("ok|no||ok"), ["--favourable", "ok"], "The score of 'cy' (row 3) is missing"
    ),
    "decisions that differ in case": (
        score("ok|OK|ok|ok"), ["--favourable", "ok"], "Values may be one: 'ok', 'OK'"
    ),
    "decisions in three words": (
        score("ok|no way|later|ok"), ["--favourable", "ok"], "column of two values; got 3"
    ),
    "income that is NA": (income("10|NA|30|40"), [], 2),
    "income in dollars": (income("$10|$20|$30|$40"), [], "'$10'"),
    "income in thousands": (income('"10,000"|"20,000"|"30,000"|"40,000"'), [], "'10,000'"),
    "income in words": (income("low|high|low|high"), [], "must not be given for a category"),
    "income of dates": (income("2026-01-01|2026-01-02|2026-01-03|2026-01-04"), [], "No column"),
    "income of 17 digits": (income("90071992547409931|2|3|4"), [], "exactly"),
    "labels": (more("1|0|1|0"), LABEL, 3),
    "labels with a point": (more("1.0|0.0|1.0|0.0"), LABEL, 3),
    "labels in capitals": (more("TRUE|FALSE|TRUE|FALSE"), LABEL, 3),
    "labels Y and N": (more("Y|N|Y|N"), LABEL, "Of its two values, 'N' and 'Y'"),
    "labels 1 and 2": (more("1|2|1|2"), LABEL, "Of its two values, '1' and '2'"),
    "labels 1 and 2, and which": (more("1|2|1|2"), [*LABEL, "--favourable", "1"], 3),
    "a label that is NA": (more("1|NA|1|0"), LABEL, "line 3: y must be 0 or 1; got 'NA'"),
    "labels in three words": (
        more("good|bad|meh|bad"), [*LABEL, "--favourable", "good"], "column of two values; got 3"
    ),
    "labels that differ in case": (
        more("good|Good|good|good"), [*LABEL, "--favourable", "good"],
        "Values may be one: 'good', 'Good'"
    ),
    "labels in two words and a blank": (
        more("good|bad||bad"), [*LABEL, "--favourable", "good"], "The label of 'cy' (row 3) is"
    ),
    "labels 0 and 1, a blank and which": (
        more("0|1||1"), [*LABEL, "--favourable", "1"], "The label of 'cy' (row 3) is missing"
    ),
    "labels that are one word": (more("good|good|good|good"), [*LABEL, "--favourable", "good"], 3),
    "a word that is not there": (
        more("good|bad|bad|bad"), [*LABEL, "--favourable", "Good"], "'bad' and 'good'"
    ),
    "labels that are all favourable": (
        more("good|bad|bad|good"),
        [*LABEL, "--favourable", "good", "--favourable", "bad"],
        "one of a column's two values; got both",
    ),
    "a favourable word of numbers": (
        table(plain), ["--favourable", "ok"], "one of two words in score; no cell is 'ok'"
    ),
    "favourable words of both": (
        table(lambda i, r: f"{r[0]},{r[1]},{('no', 'ok')[i % 2]},{('bad', 'good')[i // 2]}",
              HEAD + ",y"), [*LABEL, "--favourable", "ok", "--favourable", "good"], 4,
    ),
    "a null character": (table(plain).replace("ann", "a\0n"), [], "null character"),
    "another file": (b"PAR1" + bytes(9), [], "cannot be read as Parquet"),
    "nobody with a label": (more("||NA|"), [*LABEL, "--scored-only"], "has a value in score and y"),
    "nothing but ids": (
        table(lambda _, r: f"{r[0]},{r[2]}", "id,score"), [], "No column is left"
    ),
    "groups": (more("f|m|f|m"), GROUP, 3),
    "groups with a blank": (more("f||f|m"), GROUP, 3),
    "groups that are NA": (more("f|NA|f|m"), GROUP, 3),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::likewise.errors.SchemaAdvice")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_audited_or_refused(name: str, tmp_path: Path) -> None:
    text, options, outcome = FILES[name]
    (tmp_path / "panel.toml").write_text(PANEL)
    (tmp_path / "s.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    common = ["audit", str(tmp_path / "s.csv"), "--panel", str(tmp_path / "panel.toml")]
    done = CliRunner().invoke(main, [*common, "--ids", "id", "--out", "-", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    if isinstance(outcome, str):
        assert done.exit_code == 1
        assert outcome in done.output
        return
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["reported"]["value"] == outcome


class Tensor:
    """Whatever numpy can read."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(SCORES, dtype=dtype, copy=copy)


SCORES = [0.1, 0.2, 0.9, 0.4]
KEYS = ["p4", "p2", "p1", "p3"]
# Scores of four people from a frame with the index 0 to 3: read as SCORES, or what is said.
COLUMNS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "objects": (lambda: pd.Series(SCORES, dtype=object), None),
    "categories": (lambda: pd.Series(SCORES).astype("category"), None),
    "by id": (lambda: pd.Series([0.4, 0.2, 0.1, 0.9], index=KEYS), None),
    "by row": (lambda: pd.Series(SCORES[::-1], index=[3, 2, 1, 0]), None),
    "a mapping": (lambda: dict(zip(KEYS, [0.4, 0.2, 0.1, 0.9], strict=True)), None),
    "a tensor": (Tensor, None),
    "an array of C": (lambda: array.array("d", SCORES), None),
    "a deque": (lambda: collections.deque(SCORES), None),
    "chunks": (lambda: pa.chunked_array([SCORES[:2], SCORES[2:]]), None),
    "Fractions": (lambda: [Fraction(str(s)) for s in SCORES], None),
    "long doubles": (lambda: np.array(SCORES, dtype=np.longdouble), None),
    "a column of a matrix": (lambda: np.array(SCORES)[:, None], r"Take one column: \[:, 0\]"),
    "both columns": (lambda: [[1 - s, s] for s in SCORES], r"Take one column: \[:, 1\]"),
    "text": (lambda: pd.Series(["0.1"] * 4), "Read text as numbers first"),
    "bytes": (lambda: bytearray(4), "must be a list"),
    "a set": (lambda: set(SCORES), "must be a list"),
    "a generator": (lambda: iter(SCORES), "must be a list"),
    "a frame": (lambda: pd.DataFrame({"s": SCORES}), "Take a column"),
    "a lazy frame": (lambda: pl.LazyFrame({"s": SCORES}), "Take a column"),
    "another index": (lambda: pd.Series(SCORES, index=[9, 8, 7, 6]), "another order"),
    "an index with a name": (
        lambda: pd.Series(SCORES, index=pd.Index(range(4), name="customer")),
        "another order",
    ),
    "an index of dates": (
        lambda: pd.Series(SCORES, index=pd.date_range("2026", periods=4)),
        "another order",
    ),
    "an index of two levels": (
        lambda: pd.Series(SCORES, index=pd.MultiIndex.from_product([[1, 2], [1, 2]])),
        "another order",
    ),
    "an index that repeats": (lambda: pd.Series(SCORES, index=[0, 0, 1, 1]), "another order"),
    "dates": (lambda: np.array(["2026-01-01"] * 4, dtype="datetime64[ns]"), "must be numbers"),
    "spans of time": (lambda: np.array([0, 1, 1, 0], dtype="timedelta64[ns]"), "must be numbers"),
    "spans in a list": (lambda: [np.timedelta64(1, "D")] * 4, "must be numbers"),
    "integers": (lambda: [1, 2, 0, 1], "decisions, 0 or 1"),
    "a little above": (lambda: [0.1, 1 + 1e-12, 0.9, 0.4], "within"),
    "a signalling NaN": (lambda: [Decimal("sNaN")] * 4, "missing"),
    "mappings": (lambda: [{}] * 4, "numbers"),
    "too few": (lambda: SCORES[:3], "got 3"),
    "none": (list, "got 0"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_scores_are_read_or_refused(name: str) -> None:
    make, says = COLUMNS[name]
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    people = schema.people(pd.DataFrame({"income": [10.0, 20.0, 30.0, 40.0]}))
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    if says is None:
        assert audit(people, make(), panel, alpha=0.2).scores == pytest.approx(SCORES)
        return
    with pytest.raises(LikewiseError, match=says):
        audit(people, make(), panel, alpha=0.2)


START = ["audit", "s.csv", "--ids", "id"]
WITH_PANEL = [*START, "--panel", "panel.toml"]
FOLLOW = ["--ids", "id", "--panel", "panel.toml", "--follow", "0.5"]
SURVEY = "person,other,member,objects\nann,bo,m 1,yes\nann,bo,M 1,no\n"
JUDGED = "member,person,other,response\nm,ann,bo,alike\nm,ann,di,very different\n"
EARLIER = b"\xff{}"
# Words of a command line, its exit status, and what is said.
COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "a rule beside a panel": ([*WITH_PANEL, "--rule", "all"], 2, "has its own rule"),
    "an unknown ending": ([*WITH_PANEL, "--out", "panel.toml"], 2, "must end in .html"),
    "a page over the table": (["elicit", "s.csv", "--page", "s.csv"], 2, "overwritten"),
    "CSV beside the table": ([*WITH_PANEL, "--out", "s.csv"], 0, "written: s-summary.csv"),
    "a score that is a category": ([*WITH_PANEL, "--category", "score"], 2, "is no feature"),
    "an earlier audit that is none": ([*WITH_PANEL, "--before", "e.json"], 1, "not an audit"),
    "an earlier audit without end": ([*WITH_PANEL, "--before", "deep.json"], 1, "not an audit"),
    "a panel without end": ([*START, "--panel", "deep.json"], 1, "not a JSON file"),
    "a schema without end": ([*WITH_PANEL, "--schema", "deep.json"], 1, "No schema was read"),
    "members who may be one": (
        [*START, "--survey", "v.csv"], 0, "Members may be one: 'm 1', 'M 1'"
    ),
    "judges who may be one": (
        ["elicit", "s.csv", "j.csv", "k.csv", "--ids", "id"], 0, "Members may be one: 'm', 'M'"
    ),
    "a file of judgements twice": (
        ["elicit", "s.csv", "j.csv", "copy.csv", "--ids", "id"], 1, "would count twice"
    ),
    "a table that is not there": (["init", "t.csv"], 2, "There is no file t.csv"),
    "a column in which nobody differs": (["init", "same.csv"], 1, "do not differ in any column"),
    "months in order": (["audit", "months", *FOLLOW], 0, "\n2  4 people  50.00 %  evidence"),
    "a month twice": (["audit", "s.csv", "./s.csv", *FOLLOW], 1, "came before"),
    "options that a watch has no use for": (
        ["audit", "s.csv", *FOLLOW, "--model", "m"], 0, "no use of --model"
    ),
    "lines that a watch leaves out": (
        ["audit", "gaps.csv", *FOLLOW, "--scored-only"], 0, "3 people, 1 left out (no score)"
    ),
    "a month without a favourable one": (
        ["audit", "denied.csv", *FOLLOW, "--favourable", "ok"], 1, "No cell is ok"
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("always::likewise.errors.SchemaAdvice")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_line_is_obeyed_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, status, says = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    Path("months").mkdir()
    texts = {
        "panel.toml": PANEL, "s.csv": table(plain), "v.csv": SURVEY, "j.csv": JUDGED,
        "copy.csv": JUDGED, "k.csv": JUDGED.replace("m,", "M,"), "deep.json": "[" * 100_000,
        "same.csv": "income\n5\n5\n", "gaps.csv": score("0.1||0.9|0.4"),
        "denied.csv": score("no|no|no|no"),
        **{f"months/{month}": table(plain) for month in ("1.CSV", "2.csv", "10.csv")},
    }  # fmt: skip
    for file, text in texts.items():
        Path(file).write_text(text)
    Path("e.json").write_bytes(EARLIER)
    done = CliRunner().invoke(main, words)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code == status, done.output
    assert says in done.output
    assert Path("s.csv").read_text() == texts["s.csv"]


def test_a_result_says_what_is_odd_about_the_question() -> None:
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    people = schema.people([[10], [20], [30], [40]], ids=list("abcd"))
    auditors = [MetricAuditor("j", WeightedL1({"income": 1.0}))]
    never = audit(people, SCORES, Panel(auditors, "at_least(2)"), alpha=0.2)
    assert "reports no pair, even if all members object" in never.notes[0]
    assert ("The worst pair", "20 points fewer") in [line[:2] for line in never.headlines()]
    found = audit(people, [0, 1, 1, 1], Panel(auditors, "any"), alpha=-0.0)
    assert "alpha                 0\n" in str(found)
    assert "100 % are in one with a" in found.headlines()[1][2]
    assert found.headlines()[2][1] == "1 of 4 people"
    with pytest.raises(LikewiseError, match=r"alpha must be in \[0, 1\]"):
        found.worst[0].changes(5)
    with pytest.raises(LikewiseError, match="not an audit as JSON"):
        Audit.from_json(json.loads(found.to_json()))
    typo = audit(people, SCORES, Panel(auditors, "any"), alpha=0.2, favourable="good")
    assert typo.notes == ("'good' was named as favourable; neither scores nor labels have it.",)
    panel = Panel(auditors, "any")
    reverse = audit(people.take([3, 2, 1, 0]), [1, 1, 1, 0], panel, alpha=0.2)
    assert not any("The ids are the same" in note for note in found.compare(reverse).notes)
    changed = schema.people([[11], [20], [30], [40]], ids=list("abcd"))
    again = audit(changed, [0, 1, 1, 1], panel, alpha=0.2)
    assert "The ids are the same" in found.compare(again).notes[0]
    others = [schema.people([[10 * i], [90], [5]]) for i in (1, 2)]  # who are called p1, p2, p3
    old, new = (audit(who, [i / 9, 0.5, 0.7], Panel(auditors, "any"), alpha=0.2)
                for i, who in enumerate(others))  # fmt: skip
    assert old.compare(new).people == ()
    assert "The people differ" in old.compare(new).notes[0]
    nameless = audit(people, SCORES, Panel(auditors, "any"), alpha=0.2, worst=0)
    assert nameless.remedies() == ["Without the objections of j, 3 pairs fewer are reported."]
    equal = audit(people, [0.5] * 4, Survey.from_rows([("a", "b", "m", "yes")], "any"))
    assert "1 of the pairs objected to have equal scores" in equal.notes[-1]
    judged = audit(people, SCORES, Survey.from_rows([("a", "b", "m", "yes")], "any"))
    assert "judgements of some pairs" in " ".join(found.compare(judged).notes)


def test_a_panel_to_begin_with_weighs_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("car,income,rent\n1,5,1\n0,5,2\n1,5,3\n")
    assert CliRunner().invoke(main, ["init", str(path)]).exit_code == 0
    assert "weights = { car = 0.5, rent = 0.5 }" in (tmp_path / "panel.toml").read_text()


def test_batches_are_of_one_schema() -> None:
    """Distances are in parts of a feature's range, which a schema of every month would change."""
    monitor = Monitor(Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any"), 0.2, 0.1)
    may, june = (FeatureSchema((Feature("income", low=0, high=high),)) for high in (100, 120))
    monitor.add(may.people([[1], [2]]), [0.1, 0.2], "May")
    with pytest.raises(LikewiseError, match="one schema"):
        monitor.add(june.people([[1], [2]]), [0.1, 0.2], "June")


def rows(**columns: Any) -> Any:
    return pa.table({"id": list("abcd"), "income": [10, 20, 30, 40], "score": SCORES, **columns})


def folder(tmp_path: Path, *tables: Any) -> Path:
    for number, part in enumerate(tables):
        pq.write_table(part, tmp_path / f"{number}.parquet")
    return tmp_path


LAST = pa.table({"id": ["e"], "income": [50.5], "score": [0.1]})
TWICE = pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["income", "income"])
CODES = pl.DataFrame({"kind": list("abab")}, schema={"kind": pl.Categorical})
# A source of people who are scanned, and: the number of reported pairs, or what is said.
SOURCES: dict[str, tuple[Callable[[Path], Any], str | None, int | str]] = {
    "no row": (lambda _: rows().slice(0, 0), "id", "no row"),
    "a name twice": (lambda _: TWICE, None, "must differ"),
    "a name twice in a stream": (lambda _: lambda: TWICE, None, "is there twice"),
    "lazy, without ids": (lambda _: pl.from_arrow(rows()).lazy(), None, 3),
    "lazy categories": (
        lambda _: pl.concat([pl.from_arrow(rows()), CODES], how="horizontal").lazy(), "id", 3
    ),
    "integers here, floats there": (lambda p: folder(p, rows(), LAST), "id", 4),
    "text in one file": (
        lambda p: folder(p, rows(), LAST.set_column(1, "income", [["5"]])), "id", "of one type"
    ),
    "a column in one file": (
        lambda p: folder(p, rows(), LAST.drop(["score"])), "id", "1.parquet has no column 'score'"
    ),
    "no file": (lambda p: p, "id", "no Parquet file"),
    "an id that is null": (lambda _: rows(id=["a", None, "c", "d"]), "id", "a row has none"),
    "ids that are floats": (lambda _: rows(id=[1.5, 2.5, 3.5, 4.5]), "id", "of the type double"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_people_are_scanned_or_refused(name: str, tmp_path: Path) -> None:
    make, ids, outcome = SOURCES[name]
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    if isinstance(outcome, int):
        found = audit(schema.scan(make(tmp_path), ids=ids), "score", panel, alpha=0.2)
        assert found.reported.value == outcome
        return
    with pytest.raises(LikewiseError, match=outcome):
        audit(schema.scan(make(tmp_path), ids=ids), "score", panel, alpha=0.2)


def test_no_sample_is_drawn_from_rows_without_order() -> None:
    schema = FeatureSchema((Feature("income", low=0, high=100),))
    panel = Panel([MetricAuditor("j", WeightedL1({"income": 1.0}))], "any")
    people = schema.scan(pl.from_arrow(rows()).lazy())
    with pytest.raises(LikewiseError, match="needs a column of ids"):
        audit(people, "score", panel, alpha=0.2, all_pairs_up_to=2)


def test_there_are_enough_probes() -> None:
    assert len(FRAMES) + len(FILES) + len(COLUMNS) + len(COMMANDS) + len(SOURCES) >= 220
