"""``likewise audit``: what a panel would say about the scores of a model that exists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from likewise.cli.main import main, note
from likewise.cli.options import OutputFile
from likewise.cli.output import is_pipe, progress_bar, write_text

if TYPE_CHECKING:
    from likewise.auditing import Panel
    from likewise.audits import Survey
    from likewise.schema import FeatureSchema

__all__ = ["audit"]


SURVEY_COLUMNS = {
    "person": "one of the two", "other": "the other one", "member": "who judged",
    "objects": "yes or no", "reason": "why, if there is such a column",
}  # fmt: skip


def _named_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Options for the names of a survey's columns."""
    for name, what in reversed(SURVEY_COLUMNS.items()):
        command = click.option(
            f"--{name}", default=name, show_default=True, help=f"The survey's column of {what}."
        )(command)
    return command


@main.command(short_help="Audit a model's scores: pairs, people, price.")
@click.argument("scores", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--panel", "panel_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The panel as TOML or JSON: auditors with their distances, and a rule.",
)  # fmt: skip
@click.option(
    "--survey", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="People's judgements as CSV (person, other, member, objects), in place of a panel.",
)  # fmt: skip
@click.option("--rule", default="majority", show_default=True, help="The rule of a survey.")
@_named_columns
@click.option(
    "--alpha", type=float, default=None,
    help="Size of a violation, in [0, 1]; surveys have none.  [default: 0.2]",
)  # fmt: skip
@click.option("--score", default="score", show_default=True, help="The column of scores.")
@click.option("--ids", default=None, help="The column of ids.  [default: p1, p2, …]")
@click.option("--label", default=None, help="The column of labels; with it the price is shown.")
@click.option("--group", "groups", multiple=True,
              help="A column to compare rates by, and no feature; may be repeated.")  # fmt: skip
@click.option("--leave-out", "left_out", multiple=True,
              help="A column that is no feature, such as an outcome; may be repeated.")  # fmt: skip
@click.option(
    "--schema", "schema_file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The features as JSON.  [default: proposed from the file]",
)  # fmt: skip
@click.option("--write-schema", "written", type=OutputFile(allow_dash=True),
              help="Write the features as JSON, to be edited and given as --schema.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Of samples and of the simulation.")
@click.option("--out", type=OutputFile(), help="Write a page to read, one self-contained file.")
@click.option(
    "--json", "json_file", type=OutputFile(allow_dash=True), help="Write JSON; - for stdout."
)
def audit(
    scores: Path, panel_file: Path | None, survey: Path | None, rule: str, alpha: float | None,
    score: str, ids: str | None, label: str | None, groups: tuple[str, ...],
    left_out: tuple[str, ...], schema_file: Path | None, written: Path | None, seed: int,
    out: Path | None, json_file: Path | None, **survey_columns: str,
) -> None:  # fmt: skip
    """Say what a panel would report about SCORES, a CSV file with a line for every person.

    A column has the scores, chances of a favourable decision or decisions; the others are features.
    """
    from likewise.auditing import Panel
    from likewise.audits import audit as run
    from likewise.errors import LikewiseError
    from likewise.schema.tables import parse_labels, parse_numbers, parse_people, read_table

    if (panel_file is None) == (survey is None):
        raise click.UsageError("Give either --panel FILE or --survey FILE.")
    rows = read_table(scores)
    special = [name for name in (score, ids, label) if name is not None]
    if lacking := [name for name in (*special, *groups, *left_out) if name not in rows[0]]:
        raise LikewiseError(
            f"{scores} has no column {lacking[0]!r}; it has {', '.join(rows[0])}. Name it with "
            f"--score, --ids, --label, --group or --leave-out."
        )
    judge: Panel | Survey
    if panel_file is None:
        judge = _survey(survey, rule, survey_columns)
    else:
        judge = Panel.from_file(panel_file)
    others = (*special, *left_out, *(g for g in groups if g not in _looked_at(judge)))
    schema = _schema(rows, schema_file, others)
    if written is not None:
        write_text(written, json.dumps(schema.spec(), indent=2, ensure_ascii=False) + "\n")
    people = parse_people(scores, rows, schema, None if ids is None else [r[ids] for r in rows])
    if alpha is None and panel_file is not None:
        alpha = 0.2
    labels = None if label is None else parse_labels(scores, rows, label)
    with progress_bar(100) as bar:
        result = run(
            people, parse_numbers(scores, rows, score), judge, alpha=alpha, seed=seed,
            labels=labels, groups={name: [row[name] for row in rows] for name in groups},
            progress=lambda done, total: bar("pairs", 100 * done // max(1, total)),
        )  # fmt: skip
    if not is_pipe(json_file):
        click.echo(str(result))
    if json_file is not None:
        write_text(json_file, result.to_json() + "\n")
    if out is not None:
        result.to_html(out)
        note(f"the page is {out}")


def _typed(column: list[str]) -> list[Any]:
    """Values as numbers where all of them are written so; nothing is missing."""
    values = [None if value == "" else value for value in column]
    for kind in (int, float):
        try:
            return [None if value is None else kind(value) for value in values]
        except ValueError:
            continue
    return values


def _looked_at(judge: Panel | Survey) -> set[str]:
    """Every name in a panel's distances: columns among them are features in any case."""
    from likewise.auditing import Panel

    return set(_names(judge.spec())) if isinstance(judge, Panel) else set()


def _names(spec: Any) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict | list | tuple):
        for part in (*spec, *spec.values()) if isinstance(spec, dict) else spec:
            yield from _names(part)


def _schema(
    rows: list[dict[str, str]], file: Path | None, others: tuple[str, ...]
) -> FeatureSchema:
    """The schema of a file, or one proposed for the table without the columns named."""
    from likewise.errors import LikewiseError
    from likewise.frames import make_frame
    from likewise.schema import FeatureSchema

    if file is not None:
        try:
            return FeatureSchema.from_spec(json.loads(file.read_text(encoding="utf-8")))
        except ValueError as error:
            raise LikewiseError(f"No schema was read from {file}: {error}") from error
    names = [name for name in rows[0] if name not in others]
    return FeatureSchema.from_frame(
        make_frame({n: _typed([row[n] for row in rows]) for n in names})
    )


def _survey(path: Path | None, rule: str, columns: dict[str, str]) -> Survey:
    from likewise.audits import Survey

    return Survey.read_csv(str(path), rule, **columns)
