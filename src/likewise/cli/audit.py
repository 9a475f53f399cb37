"""``likewise audit``: what a panel would say about the scores of a model that exists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import main, note
from likewise.cli.options import JSON, OutputFile
from likewise.cli.output import is_pipe, progress_bar, write_text

if TYPE_CHECKING:
    from likewise.auditing import Panel
    from likewise.audits import Survey
    from likewise.schema import FeatureSchema, People

Table = dict[str, list[str]]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DEFAULT_ALPHA = 0.2


@main.command(short_help="Audit a model's scores: pairs, people, price.")
@click.argument("scores", type=_FILE)
@click.option(
    "--panel", "panel_file", type=_FILE,
    help="The panel as TOML or JSON: auditors with their distances, and a rule.",
)  # fmt: skip
@click.option(
    "--survey", "survey_file", type=_FILE,
    help="People's judgements as CSV (person, other, member, objects), in place of a panel.",
)  # fmt: skip
@click.option("--rule", default="majority", show_default=True, help="The rule of a survey.")
@click.option(
    "--alpha", type=float,
    help=f"Size of a violation, in [0, 1]; surveys have none.  [default: {DEFAULT_ALPHA}]",
)  # fmt: skip
@click.option("--score", default="score", show_default=True, help="The column of scores.")
@click.option("--ids", help="The column of ids.  [default: p1, p2, …]")
@click.option("--label", help="The column of labels; with it the price is shown.")
@click.option(
    "--group", "groups", multiple=True,
    help="A column to compare rates by, and no feature; may be repeated.",
)  # fmt: skip
@click.option(
    "--leave-out", "left_out", multiple=True,
    help="A column that is no feature, such as an outcome; may be repeated.",
)  # fmt: skip
@click.option(
    "--schema", "schema_file", type=_FILE,
    help="The features as JSON.  [default: proposed from the file]",
)  # fmt: skip
@click.option(
    "--write-schema", "schema_path", type=OutputFile(allow_dash=True),
    help="Write the features as JSON, to be edited and given as --schema.",
)  # fmt: skip
@click.option("--out", type=OutputFile(), help="Write a page to read, one self-contained file.")
@JSON
def audit(
    scores: Path, panel_file: Path | None, survey_file: Path | None, rule: str,
    alpha: float | None, score: str, ids: str | None, label: str | None, groups: tuple[str, ...],
    left_out: tuple[str, ...], schema_file: Path | None, schema_path: Path | None,
    out: Path | None, json_path: Path | None,
) -> None:  # fmt: skip
    """Say what a panel would report about SCORES, a CSV file with a line for every person.

    A column has the scores, chances of a favourable decision or decisions; the others are features.
    """
    from likewise.audits import audit as run
    from likewise.schema.tables import labels_of

    panel = _panel(panel_file, survey_file, rule)
    table = _read_csv(scores)
    special = [name for name in (score, ids, label) if name is not None]
    _check_columns(scores, table, (*special, *groups, *left_out))
    apart = (*special, *left_out, *(g for g in groups if g not in _looked_at(panel)))
    schema = _schema(table, schema_file, apart)
    if schema_path is not None:
        write_text(schema_path, json.dumps(schema.spec(), indent=2, ensure_ascii=False) + "\n")
    if alpha is None and panel_file is not None:
        alpha = DEFAULT_ALPHA
    label, groups, out = _without_missing(label, groups, out)
    with progress_bar(100) as bar:
        result = run(
            _people(scores, schema, table, ids), _numbers(table[score], score), panel, alpha=alpha,
            labels=None if label is None else labels_of(scores, table[label], label),
            groups={name: table[name] for name in groups},
            progress=lambda count, total: bar("pairs", 100 * count // max(1, total)),
        )  # fmt: skip
    if not is_pipe(json_path):
        click.echo(str(result))
    if json_path is not None:
        write_text(json_path, result.to_json() + "\n")
    if out is not None:
        result.to_html(out)
        note(f"the page is {out}")


def _panel(panel_file: Path | None, survey_file: Path | None, rule: str) -> Panel | Survey:
    from likewise.auditing import Panel
    from likewise.audits import Survey

    if panel_file is not None and survey_file is None:
        return Panel.from_file(panel_file)
    if survey_file is not None and panel_file is None:
        return Survey.read_csv(str(survey_file), rule)
    raise click.UsageError("Give either --panel FILE or --survey FILE.")


def _without_missing(
    label: str | None, groups: tuple[str, ...], out: Path | None
) -> tuple[str | None, tuple[str, ...], Path | None]:
    """The options that the installed libraries allow; what has to be left out is said."""
    from likewise.extras import absent, missing

    lacking = absent("audit")
    left_out = []
    if label is not None and "scipy" in lacking:
        label = None
        left_out.append("the price")
    if out is not None and {"jinja2", "matplotlib"} & {*lacking}:
        out = None
        left_out.append("the page")
    if left_out:
        needed = missing("That", ", ".join(lacking), "audit")
        note(f"{' and '.join(left_out)} must be left out. {needed}")
    if groups and (lacking := absent("groups")):
        groups = ()
        needed = missing("That", ", ".join(lacking), "groups")
        note(f"the rates of groups must be left out. {needed}")
    return label, groups, out


def _read_csv(path: Path) -> Table:
    """Columns of text, by name."""
    from likewise.errors import LikewiseError
    from likewise.schema.tables import read_cells

    header, rows = read_cells(path)
    if len(set(header)) != len(header):
        raise LikewiseError(
            f"{path} names a column twice: {', '.join(header)}. Rename one of them."
        )
    if not rows:
        raise LikewiseError(f"{path} must have a line of names and a line for every person.")
    return {name: [row[name] for row in rows] for name in header}


def _check_columns(path: Path, table: Table, names: tuple[str, ...]) -> None:
    from likewise.errors import LikewiseError

    if lacking := [name for name in names if name not in table]:
        raise LikewiseError(
            f"{path} has no column {lacking[0]!r}; it has {', '.join(table)}. Name it with "
            f"--score, --ids, --label, --group or --leave-out."
        )


def _numbers(column: list[str], name: str) -> list[float]:
    from likewise.errors import LikewiseError

    numbers = []
    for line, cell in enumerate(column, start=2):
        try:
            numbers.append(float(cell))
        except ValueError:
            raise LikewiseError(
                f"Line {line}: the column {name!r} must be a number; got {cell!r}."
            ) from None
    return numbers


def _looked_at(panel: Panel | Survey) -> set[str]:
    """Every name in a panel's distances: columns among them are features in any case."""
    from likewise.auditing import Panel

    return set(_names(panel.spec())) if isinstance(panel, Panel) else set()


def _names(spec: Any) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict | list | tuple):
        for part in (*spec, *spec.values()) if isinstance(spec, dict) else spec:
            yield from _names(part)


def _schema(table: Table, file: Path | None, apart: tuple[str, ...]) -> FeatureSchema:
    """The schema of a file, or one proposed for the table without the columns named."""
    from likewise.errors import LikewiseError
    from likewise.frames.proposal import column_of_cells, features_of
    from likewise.schema import FeatureSchema

    if file is not None:
        try:
            return FeatureSchema.from_spec(json.loads(file.read_text(encoding="utf-8")))
        except ValueError as error:
            raise LikewiseError(f"No schema was read from {file}: {error}") from error
    columns = [column_of_cells(name, cells) for name, cells in table.items() if name not in apart]
    return FeatureSchema(tuple(features_of(columns)))


def _people(path: Path, schema: FeatureSchema, table: Table, ids: str | None) -> People:
    from likewise.errors import LikewiseError
    from likewise.schema.tables import parse_people

    if lacking := [name for name in schema.names if name not in table]:
        raise LikewiseError(f"{path} has no column {lacking[0]!r}, which the schema names.")
    columns = zip(*(table[name] for name in schema.names), strict=True)
    rows = [dict(zip(schema.names, cells, strict=True)) for cells in columns]
    return parse_people(path, rows, schema, None if ids is None else table[ids])
