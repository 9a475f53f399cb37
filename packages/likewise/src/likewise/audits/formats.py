"""An audit in other forms: JSON with its schema, tables, CSV files and workbooks.

JSON and its schema follow from the annotations of frozen dataclasses; fields whose names begin with
an underscore are no part of either. No cell of a CSV file or of a workbook is a formula.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints
from xml.sax.saxutils import escape

from likewise.errors import AuditError, shown
from likewise.numerics.intervals import Interval
from likewise.people.cells import safe_text

if TYPE_CHECKING:
    from likewise.audits import Audit, Finding, Person

Cell = str | int | float | None
Table = tuple[Sequence[str], Sequence[Sequence[Cell]]]
"""The names of columns, and rows."""
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def plain(value: Any) -> Any:
    """The value as JSON has it: objects, lists, text, numbers, true, false and null."""
    if is_dataclass(value):
        kind: Any = type(value)
        return {f.name: plain(getattr(value, f.name)) for f in _public(kind)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


@cache
def _public(kind: Any) -> tuple[Field[Any], ...]:
    return tuple(f for f in fields(kind) if not f.name.startswith("_"))


_hints = cache(get_type_hints)


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a dataclass, with those it is made of."""
    parts: dict[str, Any] = {}
    top: str = kind.__name__
    _schema(kind, parts)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": top}
    body: dict[str, Any] = parts.pop(top)
    return head | body | {"$defs": dict(sorted(parts.items()))}


def _schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(choice, parts) for choice in arguments]}
    if origin is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema(arguments[0], parts)}
    if origin is tuple:
        items = [_schema(item, parts) for item in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1], parts)}
    if kind.__name__ not in parts:
        parts[kind.__name__] = {}  # it may be a part of itself
        members = {f.name: _schema(_hints(kind)[f.name], parts) for f in _public(kind)}
        parts[kind.__name__] = {
            "description": _description(kind),
            "type": "object", "properties": members, "required": list(members),
            "additionalProperties": False,
        }  # fmt: skip
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _description(kind: Any) -> str:
    """The docstring in one line, without marks for the documentation and without examples."""
    text = (inspect.getdoc(kind) or "").partition(">>>")[0].replace("``", "")
    return " ".join(re.sub(r":\w+:`~?([^`]+)`", r"\1", text).split())


def read(kind: Any, data: Any, where: str) -> Any:
    """The value that :func:`plain` wrote; what does not fit is refused by its place."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return data
    if origin in (Union, UnionType):
        inner = next(choice for choice in arguments if choice is not NoneType)
        return None if data is None else read(inner, data, where)
    if kind in _NAMES:
        allowed = (int, float) if kind is float else (kind,)
        if type(data) not in allowed:
            raise _misfit(where, f"of type {_NAMES[kind]}", data)
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise _misfit(where, "a list", data)
        kinds = arguments[:1] * len(data) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(data):
            raise _misfit(where, f"a list of {len(kinds)}", data)
        pairs = zip(kinds, data, strict=True)
        return tuple(read(item, part, f"{where}[{i}]") for i, (item, part) in enumerate(pairs))
    if not isinstance(data, dict):
        raise _misfit(where, "an object", data)
    if origin is Mapping:
        return {key: read(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    names = [f.name for f in _public(kind)]
    if set(names) != set(data):
        raise _misfit(where, f"an object of {', '.join(names)}", list(data))
    return kind(**{name: read(_hints(kind)[name], data[name], f"{where}.{name}") for name in names})


def _misfit(where: str, rule: str, value: Any) -> AuditError:
    return AuditError(
        f"{where} must be {rule}; got {shown(value)}. Write the file anew: result.to_json()."
    )


MOST_ROWS, LONGEST_CELL = 1_048_576, 32_767
"""The limits of a sheet."""


def tables_of(audit: Audit) -> dict[str, Table]:
    """The tables of an audit by name: summary, pairs, people and, where there are any, others."""
    notes = [("note", note) for note in audit.notes]
    tables: dict[str, Table] = {
        "summary": (("name", "value"), [*audit.basis.facts(), *audit.facts(), *notes]),
        "pairs": _table([_pair(pair) for pair in audit.worst]),
        "people": _table([_person(person) for person in audit.often]),
        "panel": _table([_member(audit, name) for name in audit.members]),
        "curve": _table([
            {"alpha": point.alpha, **_spread("pairs", point.pairs),
             **_spread("people", point.people)} for point in audit.curve
        ]),
    }  # fmt: skip
    if audit.groups is not None:
        tables["groups"] = _table([_flat(rate) for rate in audit.groups.rates])
        tables["groups of pairs"] = _table([_flat(pairs) for pairs in audit.groups.pairs])
    return {name: table for name, table in tables.items() if table[1]}


def _table(rows: Sequence[Mapping[str, Cell]]) -> Table:
    heads = list(dict.fromkeys(head for row in rows for head in row))
    return heads, [[row.get(head) for head in heads] for row in rows]


def _spread(name: str, number: Interval) -> dict[str, Cell]:
    return {name: number.value, f"{name} low": number.low, f"{name} high": number.high}


def _flat(record: Any) -> dict[str, Cell]:
    """The fields of a record; intervals are three columns."""
    flat: dict[str, Cell] = {}
    for name, value in vars(record).items():
        flat |= _spread(name, value) if isinstance(value, Interval) else {name: value}
    return flat


def _pair(pair: Finding) -> dict[str, Cell]:
    both = [*pair.groups.items(), *pair.features.items()]
    return {
        "over": pair.over, "under": pair.under, "score over": pair.scores[0],
        "score under": pair.scores[1], "gap": pair.gap, "distance": pair.distance,
        "excess": pair.excess, "reported": pair.reported, "pivot": pair.pivot,
        "objecting": ", ".join(pair.objecting), "differing": ", ".join(pair.differences),
        **{f"{name} {side}": values[place] for name, values in both
           for place, side in enumerate(("over", "under"))},
    }  # fmt: skip


def _person(person: Person) -> dict[str, Cell]:
    return {
        "id": person.id, "score": person.score, "reported pairs": person.times,
        "above": person.above, "below": person.below, "worst with": person.worst_with,
        "excess": person.excess, **({"people": person.count} if person.count > 1 else {}),
        **person.groups,
    }  # fmt: skip


def _member(audit: Audit, name: str) -> dict[str, Cell]:
    auditors = {part["name"]: part["distance"] for part in audit.basis.panel.get("auditors", ())}
    row: dict[str, Cell] = {"member": name}
    if name in auditors:
        row["distance"] = json.dumps(auditors[name], ensure_ascii=False)
    for title in ("objections", "pivots", "decisive"):
        if name in (counts := getattr(audit, title)):
            row |= _spread(title, counts[name])
    return row


def csv_text(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows(
        [safe_text(cell) if isinstance(cell, str) else cell for cell in row]
        for row in (heads, *rows)
    )
    return text.getvalue()


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# Two fonts, plain and bold; the other parts are those that readers insist on.
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill>'
    '<patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border>'
    '</borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'
    "</cellStyleXfs>"
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>"
)
# What XML cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def workbook(tables: Mapping[str, Table]) -> bytes:
    """Tables as an Excel workbook (Office Open XML), a sheet each; texts are always texts."""
    sheets = [_sheet(name, *table) for name, table in tables.items()]
    numbers = range(1, len(sheets) + 1)
    parts = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{_TYPE}.{kind}+xml"/>'
        for part, kind in (
            ("workbook", "sheet.main"), ("styles", "styles"),
            *((f"worksheets/sheet{n}", "worksheet") for n in numbers),
        )
    )  # fmt: skip
    listed = "".join(
        f'<sheet name="{escape(name, {chr(34): "&quot;"})}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in zip(numbers, tables, strict=True)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{parts}</Types>',
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            [
                *(("worksheet", f"worksheets/sheet{n}.xml") for n in numbers),
                ("styles", "styles.xml"),
            ]
        ),
        "xl/styles.xml": _STYLES,
        **{f"xl/worksheets/sheet{n}.xml": sheet for n, sheet in zip(numbers, sheets, strict=True)},
    }  # fmt: skip
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():  # the date of a ZipInfo is always the same
            archive.writestr(zipfile.ZipInfo(name), _HEAD + text, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def _sheet(name: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    if len(rows) >= MOST_ROWS:
        raise AuditError(
            f"A sheet holds {MOST_ROWS:,} rows; {name!r} has {len(rows):,}. Write CSV files."
        )
    lines = "".join(
        f"<row>{''.join(_cell(cell, bold=not place) for cell in row)}</row>"
        for place, row in enumerate((heads, *rows))
    )
    view = (
        '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
        'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    )
    return f'<worksheet xmlns="{_MAIN}">{view}<sheetData>{lines}</sheetData></worksheet>'


def _cell(value: Cell, *, bold: bool) -> str:
    style = ' s="1"' if bold else ""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return f"<c{style}/>"
    if isinstance(value, bool):
        return f'<c t="b"{style}><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c{style}><v>{value!r}</v></c>"
    text = escape(_FORBIDDEN.sub("\ufffd", value)[:LONGEST_CELL])
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{text}</t></is></c>'
