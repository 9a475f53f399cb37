"""Cells of text, read as numbers, flags, levels or missing values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from likewise.errors import PeopleError, SchemaAdvice, shown, warn
from likewise.numerics.fixed_point import FloatArray
from likewise.people.features import Feature, is_date, is_exact

FLAGS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
MARKS = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "Null",
     "?"}
)  # fmt: skip
"""Texts that mark a missing value in any column, unless they are levels of the schema."""
AMONG_NUMBERS = frozenset(
    {"na", "none", "nil", "missing", "unknown", "n.a.", "-", "--", "---", "–", "—", ".", "..", "…"}
)
"""Texts that mark a missing value in a column of numbers, where they can mean nothing else."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_CURRENCY = r"(?:[$€£¥₹₽₩¢]|USD|EUR|GBP|CHF|JPY|INR|SEK|NOK|DKK|PLN|kr|zł)"
_DIGITS = r"(?:\d{1,3}(?:[,.'’_\s]\d{3})+|\d+)(?:[.,]\d+)?"
_AMOUNT = re.compile(
    rf"\(?[+−-]?\s*{_CURRENCY}?\s*[+−-]?\s*{_DIGITS}\s*(?:[%‰]|{_CURRENCY}|[kKmM])?\s*\)?"
)

_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_LOCAL_DATE = re.compile(
    r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(?:[ T].*)?"
    rf"|(?:\d{{1,4}}[\s.-]*)?{_MONTH}[\s.,'-]+(?:\d{{1,2}}[,.]?\s+)?\d{{1,4}}(?:[ T].*)?"
    r"|(?:19|20)\d\d[-/](?:0?[1-9]|1[0-2])"
    r"|(?:19|20)\d\d[\s-]?Q[1-4]|Q[1-4][\s/-]?(?:19|20)\d\d"
    r"|\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[ap]\.?m\.?)?",
    re.ASCII | re.IGNORECASE,
)
RowName = Callable[[int], str]


def row_of_frame(place: int) -> str:
    """The name of a row, counted from 1."""
    return f"row {place + 1}"


def is_mark(text: str, *, among_numbers: bool = False) -> bool:
    """Test for a text that marks a missing value.

    >>> is_mark("N/A"), is_mark("None"), is_mark("None", among_numbers=True)
    (True, False, True)
    """
    return text in MARKS or (among_numbers and text.casefold() in AMONG_NUMBERS)


def parse_number(text: str) -> int | float | None:
    """A number as programs write it, with a decimal point and no separators; else None.

    >>> parse_number("12"), parse_number("-1.5e3"), parse_number("10,500"), parse_number("1_000")
    (12, -1500.0, None, None)
    """
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if _INTEGER.fullmatch(text) and len(text) < 400 else float(text)


def is_amount(text: str) -> bool:
    """Test for a number with a currency, a percent sign or separators, which may be misread.

    >>> [is_amount(text) for text in ("$10", "10,500", "1.234,56", "50 %", "car", "10-20")]
    [True, True, True, True, False, False]
    """
    return bool(_AMOUNT.fullmatch(text))


def alike(texts: Iterable[str]) -> list[str]:
    """The first texts that differ only in case, spaces or invisible characters.

    >>> alike(["car", "Home", "home ", "boat"])
    ['Home', 'home ']
    """
    groups: dict[str, list[str]] = {}
    for text in texts:
        letters = "".join(c for c in unicodedata.normalize("NFKC", text) if c.isprintable())
        groups.setdefault(" ".join(letters.split()).casefold(), []).append(text)
    return next((group for group in groups.values() if len(group) > 1), [])


def warn_of_alike(members: Iterable[str]) -> None:
    """Warn of names that may be one member's."""
    if same := alike(members):
        warn(f"Members may be one: {', '.join(map(repr, same))}. Write them alike.", SchemaAdvice)


def is_any_date(cell: Any) -> bool:
    """Test for a date, also in the format of a country: 31.01.2026, 1/31/26.

    >>> [is_any_date(text) for text in ("3 March 2026", "Jan-26", "2026 Q1", "9:30", "18-24")]
    [True, True, True, True, False]
    """
    return is_date(cell) or (isinstance(cell, str) and bool(_LOCAL_DATE.fullmatch(cell)))


def read_cells(
    feature: Feature, cells: Sequence[Any], row_name: RowName = row_of_frame
) -> list[Any] | FloatArray:
    """The values of a column of text, None or NaN where missing; a warning names marks of these.

    Cells that are not text stay as they are.

    >>> read_cells(Feature("income"), ["10", "2.5", 3])
    [10, 2.5, 3]
    """
    texts = dict.fromkeys(cell for cell in cells if isinstance(cell, str))
    values = {cell: _value(feature, cell, cells, row_name) for cell in texts}
    if marks := {cell.strip() for cell, value in values.items() if value is None} - {""}:
        listed = ", ".join(map(repr, sorted(marks)))
        read = "is read as a missing value" if len(marks) == 1 else "are read as missing values"
        warn(f"Column {feature.name!r}: {listed} {read}.", SchemaAdvice)
    if feature.kind != "category" and all(isinstance(cell, str) for cell in cells):
        numbers = {cell: math.nan if v is None else float(v) for cell, v in values.items()}
        if all(v is None or is_exact(v, numbers[cell]) for cell, v in values.items()):
            return np.array([numbers[cell] for cell in cells])
    return [values[cell] if isinstance(cell, str) else cell for cell in cells]


def _value(feature: Feature, cell: str, cells: Sequence[Any], row_name: RowName) -> Any:
    """The value of a cell; None where it is missing."""
    text = cell.strip()
    if feature.kind == "category":
        if cell in feature.levels:
            return cell
        return None if text not in feature.levels and is_mark(text) else text
    if is_mark(text, among_numbers=True):
        return None
    if feature.kind == "flag" and text.lower() in FLAGS:
        return FLAGS[text.lower()]
    number = parse_number(text)
    if number is None:
        rule = "1 or 0, true or false, yes or no" if feature.kind == "flag" else "a number"
        raise PeopleError(
            f"In {row_name(cells.index(cell))}: {feature.name} must be {rule}; got {shown(cell)}. "
            f"{number_remedy(text)}"
        )
    return number


def number_remedy(text: str) -> str:
    """Advice on text that is no number."""
    if is_date(text):
        return "Say which number is meant, such as days or years since a date, and give that."
    if is_amount(text):
        return (
            "Write a plain number, with a decimal point and without separators, currency or "
            "percent sign."
        )
    return "Correct the cell; leave it empty where the value is missing."


# A spreadsheet takes a text that begins so for a formula, spaces or not, and some with wide signs.
_FORMULA = re.compile(r"\s*[=+\-@\t\r＝＋－＠]")
_HARMLESS = re.compile(r"[+-]?\d+([.,]\d+)*")


def safe_text(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula."""
    formula = _FORMULA.match(text) and not _HARMLESS.fullmatch(text)
    return f"'{text}" if formula else text
