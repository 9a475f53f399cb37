"""``likewise init`` and ``likewise elicit``: a panel to begin with, and one that was fitted."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

import likewise
from likewise.cli.audit import schema_of
from likewise.cli.main import installed_command, main, note, refuse_overwriting
from likewise.cli.options import FILE, OutputFile
from likewise.errors import LikewiseError

SCORE = "score"  # what `likewise audit` calls it, and no feature
PANEL, SCHEMA = "panel.toml", "schema.json"
QUESTIONS = 25
MOST_ROWS = 1 << 20  # of a Parquet file, for ranges and levels
TABLES = (".csv", ".tsv", ".xlsx", ".parquet", ".arrow", ".feather")  # no folder is called so


@main.command(short_help="Files to begin with: for a table, a panel; for a folder, the service.")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option(
    "--database", help="Of the live system: a file, or postgresql://USER@HOST/NAME.",
)  # fmt: skip
@click.option(
    "--leave-out", "left_out", multiple=True,
    help="Of a table: a column that is no feature, such as ids and outcomes; may be repeated.",
)  # fmt: skip
def init(path: Path, database: str | None, left_out: tuple[str, ...]) -> None:
    """Write files to begin with; none is overwritten.

    For PATH a CSV or Parquet file of people: a commented panel.toml and a schema.json beside it, to
    be edited. For PATH a folder: settings, example dockets and files for systemd, nginx and Caddy
    (with likewise-service).
    """
    if path.is_file():
        _write_starter(path, left_out)
        return
    if path.suffix.lower() in TABLES or left_out:
        raise click.UsageError(f"There is no file {path}.")
    command = installed_command("init")
    words = [str(path), *(() if database is None else ("--database", database))]
    if command is not None:
        command.invoke(command.make_context("init", words, click.get_current_context().parent))


def _write_starter(table: Path, left_out: tuple[str, ...]) -> None:
    from likewise.people.tables import read_table

    rows = read_table(table, most=MOST_ROWS)
    if unknown := [name for name in left_out if name not in rows[0]]:
        raise click.UsageError(f"--leave-out {unknown[0]} is no column of {table}.")
    schema = schema_of(table, rows, None, (SCORE, *left_out), ())
    texts = {PANEL: _starter(schema),
             SCHEMA: json.dumps(schema.spec(), indent=2, ensure_ascii=False) + "\n"}  # fmt: skip
    folder = table.parent
    if existing := [name for name in texts if (folder / name).exists()]:
        them = "them" if len(existing) > 1 else "it"
        names = " and ".join(existing)
        raise LikewiseError(f"{folder} has {names} already. Move {them} away first.")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        click.echo(str(folder / name))
    names = ", ".join(feature.name for feature in schema.features)
    unfit = "" if left_out else " Take out of both what is none, such as ids and outcomes."
    score = "" if SCORE in rows[0] else " --score COLUMN"  # that of the model's scores
    note(
        f"features: {names}.{unfit} Set the weights, which are all alike. "
        f"Then: likewise audit {table} --panel {folder / PANEL} --schema {folder / SCHEMA}{score}"
    )
    note(
        f"to have the weights fitted to pairs that people judge: "
        f"likewise elicit {table} --schema {folder / SCHEMA} --page judge.html"
    )


HEADING = """\
A panel to begin with: who compares people, and how. Edit it.
The distance of two people says how far apart their chances may be: 0 is the same, 1 is no limit.
A weight says how much of it a feature makes where it differs by its whole range; weights may add
up to more than 1. Add an [[auditors]] for every view.
rule: any, all, majority, at_least(2), veto(auditor), and more in the documentation.
`likewise elicit` fits the weights to pairs that somebody judged."""


def _starter(schema: likewise.FeatureSchema) -> str:
    """A panel of one auditor who weighs all visible features alike in which people differ."""
    from likewise.panel import WeightedL1

    names = [f.name for f in schema.features if f.visible and f.limits[1] < math.inf]
    if not names:
        raise LikewiseError("People do not differ in any column, so that nobody can compare them.")
    even = WeightedL1({name: round(1 / len(names), 4) for name in names})
    panel = likewise.Panel([likewise.MetricAuditor("auditor", even)], "majority")
    return panel.to_toml(HEADING.splitlines())


@main.command(short_help="Metric elicitation: a panel from pairs that somebody judged.")
@click.argument("table", type=FILE)
@click.argument("judgements", nargs=-1, type=FILE)
@click.option("--schema", "schema_file", type=FILE, help="As `likewise init` wrote it.")
@click.option("--ids", help="The column of ids.  [default: p1, p2, …]")
@click.option(
    "--page", type=OutputFile(),
    help=f"Write a page of the {QUESTIONS} questions that would tell most, to be judged next.",
)  # fmt: skip
def elicit(
    table: Path, judgements: tuple[Path, ...], schema_file: Path | None, ids: str | None,
    page: Path | None,
) -> None:  # fmt: skip
    """Fit each auditor's metric to JUDGEMENTS of people in TABLE, and print the panel as TOML.

    JUDGEMENTS are CSV files that the page hands out, or others with the columns member, person,
    other, response (alike, a little different, very different), and third for triplets, where the
    response is the id of the closer one. Without any, --page writes the first questions.

    \b
    For example
      likewise elicit people.csv --page judge.html
      likewise elicit people.csv judgements-*.csv --page next.html > panel.toml
    """
    from likewise.audits import elicitation
    from likewise.people import tables

    if not judgements and page is None:
        raise click.UsageError("Nothing was judged yet: --page FILE writes pairs to judge.")
    refuse_overwriting([page], [table, *judgements, schema_file])
    _refuse_copies(judgements)
    rows = tables.read_table(table)
    if ids is not None and ids not in rows[0]:
        raise LikewiseError(f"{table} has no column {ids!r}; it has {', '.join(rows[0])}.")
    apart = tuple(name for name in (SCORE, ids) if name is not None)
    schema = schema_of(table, rows, schema_file, apart, ())
    people = tables.parse_people(table, rows, schema, ids)
    fitted = None
    if judgements:
        fitted = elicitation.elicit(
            people, [j for path in judgements for j in elicitation.read_judgements(path)]
        )
        click.echo(fitted.to_toml(), nl=False)
        note(str(fitted).replace("\n", " "))
    if page is not None:
        asked = elicitation.questions(people, QUESTIONS, fitted)
        page.write_text(elicitation.judging_page(people, asked), encoding="utf-8")
        note(f"the page is {page}")


def _refuse_copies(paths: tuple[Path, ...]) -> None:
    """Refuse the same judgements twice, as of a file that was downloaded again."""
    files: dict[bytes, Path] = {}
    for path in paths:
        if (first := files.setdefault(path.read_bytes(), path)) != path or paths.count(path) > 1:
            raise LikewiseError(
                f"{path} has the same judgements as {first}, and they would count twice. Leave "
                f"one of the two out."
            )
