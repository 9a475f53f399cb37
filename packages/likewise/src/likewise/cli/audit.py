"""``likewise audit``: what a panel would say about the scores of a model that exists."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import likewise
from likewise.cli.main import is_pipe, main, note, progress_bar, refuse_overwriting, write_text
from likewise.cli.options import FILE, options_of, out_option
from likewise.errors import LikewiseError, absent, missing
from likewise.simulate.game import option

if TYPE_CHECKING:
    from likewise.audits.monitor import Batch, Monitor
    from likewise.people.scans import Scan
    from likewise.people.tables import Row


DEFAULT_ALPHA, DEFAULT_RULE = 0.2, "majority"


@dataclass
class _Subject:
    """The subject of an audit, by options: panel or survey, and columns of a file of people.

    Without a schema, that of the first file is proposed.
    """

    panel: Path | None = option(
        None, "The panel as TOML or JSON: auditors with their distances, and a rule."
    )
    survey: Path | None = option(
        None, "People's judgements as CSV (person, other, member, objects), in place of a panel."
    )
    rule: str | None = option(None, f"The rule of a survey.  [default: {DEFAULT_RULE}]")
    alpha: float | None = option(
        None, f"Size of a violation, in [0, 1]; surveys have none.  [default: {DEFAULT_ALPHA}]"
    )
    score: str = option("score", "The column of scores.")
    ids: str | None = option(None, "The column of ids.  [default: p1, p2, …]")
    label: str | None = option(None, "The column of labels; with it the price is shown.")
    favourable: tuple[str, ...] = option(
        (), "Of a column of labels or decisions with two words, the favourable one; may be "
        "repeated.",
    )  # fmt: skip
    group: tuple[str, ...] = option(
        (), "A column to compare rates by, and no feature; may be repeated."
    )
    leave_out: tuple[str, ...] = option(
        (), "A column that is no feature, such as an outcome; may be repeated."
    )
    scored_only: bool = option(
        False, "Leave out lines without a score or label, and say how many there are."
    )
    category: tuple[str, ...] = option(
        (), "A column that holds levels, though they look like numbers; may be repeated."
    )
    schema: Path | None = option(
        None, "The features as JSON; `likewise init` writes them.  [default: proposed from the "
        "file]",
    )  # fmt: skip
    model: str = option("", "The model's name, for the record.")
    features: likewise.FeatureSchema | None = None
    first: Path | None = None
    unscored: dict[str, int] = field(default_factory=dict)  # lines that are left out, and why

    def __post_init__(self) -> None:
        self.judges = _judges(self.panel, self.survey, self.rule)
        special = [name for name in (self.score, self.ids, self.label) if name is not None]
        measured: set[str] = set()
        if isinstance(self.judges, likewise.Panel):
            # Every name in a panel's distances: columns among them are features in any case.
            measured = {*_names(self.judges.spec())}
            self.alpha = DEFAULT_ALPHA if self.alpha is None else self.alpha
        groups = (name for name in self.group if name not in measured)
        self.apart = (*special, *self.leave_out, *groups)
        self.columns = (*special, *self.group, *self.leave_out, *self.category)
        self.complete = tuple(filter(None, (self.score, self.label))) if self.scored_only else ()
        if odd := [name for name in self.category if name in self.apart]:
            raise click.UsageError(f"--category {odd[0]} is no feature, by another option.")

    def read(self, path: Path) -> tuple[list[Row], likewise.People, list[float] | list[str]]:
        """The rows of a file, the people in them, and their scores."""
        from likewise.people import tables

        rows = tables.read_table(path)
        _check_columns(path, rows[0], self.columns)
        rows, self.unscored = _scored(rows, self.complete)
        if self.features is None:
            self.features = schema_of(path, rows, self.schema, self.apart, self.category)
        self.first = self.first or path
        try:
            people = tables.parse_people(path, rows, self.features, self.ids)
        except LikewiseError as error:
            if self.schema is not None or self.first == path:
                raise
            where = "" if str(path) in str(error) else f"{path}: "
            raise LikewiseError(
                f"{where}{error} The features were proposed from {self.first} alone. Give ranges "
                f"and levels that hold for every batch with --schema; likewise init {self.first} "
                f"writes one to edit."
            ) from error
        return rows, people, tables.parse_column(path, rows, self.score, self.favourable)

    def is_large(self, path: Path) -> bool:
        """Test for a Parquet or Arrow file of more rows than are read into memory."""
        from likewise.people import scans, tables

        return tables.is_typed(path) and scans.open_source(path).count() > scans.BLOCK

    def scan(self, path: Path) -> Scan:
        """The people of a file that is read block by block."""
        from likewise.people.scans import BLOCK
        from likewise.people.tables import read_table

        if self.complete:
            raise click.UsageError(f"--scored-only is for at most {BLOCK:,} rows; leave them out.")
        rows = read_table(path, most=BLOCK)
        _check_columns(path, rows[0], self.columns)
        if self.schema is None:
            note(f"the features are proposed from the first {BLOCK:,} rows; --schema says all.")
        schema = schema_of(path, rows, self.schema, self.apart, self.category)
        return schema.scan(path, ids=self.ids)


@main.command(short_help="Audit a model's scores: pairs, people, price.")
@click.argument(
    "scores", nargs=-1, required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)  # fmt: skip
@options_of(_Subject)
@click.option(
    "--follow", is_flag=False, flag_value="3", metavar="BASELINE",
    help="Watch batches for a rise in reported pairs above a share such as 0.03, or above that of "
    "the first batches, such as 5.  [default with no value: 3]",
)  # fmt: skip
@click.option("--before", type=FILE, help="An earlier audit as JSON: say what has changed since.")
@click.option(
    "--no-worse", is_flag=True,
    help="With --before: exit with status 3 if more pairs are reported now, and not by chance.",
)  # fmt: skip
@out_option(
    "Write a file by its ending: a page (.html), spreadsheets (.xlsx, .csv), .json; - prints the "
    "JSON. May be repeated.", "-", ".html", ".json", ".csv", ".xlsx",
)  # fmt: skip
def audit(
    scores: tuple[Path, ...], follow: str | None, before: Path | None, no_worse: bool,
    outs: tuple[Path, ...], **options: Any,
) -> None:  # fmt: skip
    """Say what a panel would report about SCORES, a CSV or Parquet file with a row a person.

    A column has the scores, chances of a favourable decision or decisions; the others are features.

    With --follow, SCORES are batches in order: files, folders of them, or - for paths that come on
    standard input. The exit status is 3 if there was an alarm, or with --no-worse a rise.
    """
    inputs = (options["panel"], options["survey"], options["schema"])
    pages = (path for path in outs if path.suffix.lower() != ".csv")  # those get other names
    refuse_overwriting(pages, (*scores, *inputs))
    if no_worse and before is None:
        raise click.UsageError("--no-worse needs --before, an earlier audit as JSON.")
    earlier = None if before is None else likewise.Audit.from_json(before.read_bytes())
    subject = _Subject(**options)
    if follow is not None:
        unused = {"--label": subject.label, "--group": subject.group, "--model": subject.model,
                  "--before": before}  # fmt: skip
        if names := [name for name, value in unused.items() if value]:
            note(f"--follow makes no use of {' and '.join(names)}; such columns are no features.")
        _follow(scores, subject, follow, outs)
        return
    outs = _without_missing(subject, outs)
    result = _audited(scores, subject)
    files = (scores[0], *inputs)
    result = result.with_files(file for file in files if file is not None and file.is_file())
    _hand_out(result, earlier, outs)
    if no_worse and earlier is not None and earlier.compare(result).worse:
        note(f"more pairs are reported than before; the exit status is {ALARM}.")
        click.get_current_context().exit(ALARM)


def _audited(scores: tuple[Path, ...], subject: _Subject) -> likewise.Audit:
    """The audit of a file, in memory or block by block."""
    from likewise.audits.run import audit
    from likewise.people import cells, tables

    path, label, favourable = scores[0], subject.label, subject.favourable
    if len(scores) != 1 or not (path.is_file() or tables.is_typed(path)):
        raise click.UsageError("Give one file of scores; or --follow, for several batches.")
    arguments: dict[str, Any]
    if subject.is_large(path):
        arguments = {
            "people": subject.scan(path), "scores": subject.score, "labels": label,
            "groups": subject.group,
            # In a file that has types, a favourable word may be a number or a truth value.
            "favourable": [
                value for word in favourable
                for value in (word, cells.parse_number(word), tables.TRUTH.get(word))
                if value is not None
            ] or None,
        }  # fmt: skip
    else:
        rows, people, chances = subject.read(path)
        _check_favourable(path, rows, favourable, (subject.score, label))
        arguments = {
            "people": people, "scores": chances,
            "labels": None if label is None else _labels(path, rows, label, favourable),
            "groups": {name: [row[name] for row in rows] for name in subject.group},
            "favourable": favourable,
        }  # fmt: skip
    with progress_bar(100) as bar:
        return audit(
            **arguments, panel=subject.judges, alpha=subject.alpha, model=subject.model,
            left_out=subject.unscored,
            progress=lambda count, total: bar("pairs", 100 * count // max(1, total)),
        )  # fmt: skip


def _labels(path: Path, rows: list[Row], label: str, favourable: tuple[str, ...]) -> Any:
    """The labels of a column; its texts where one is favourable."""
    from likewise.people import tables

    cells = [row[label] for row in rows]
    return cells if {*favourable} & {*cells} else tables.parse_labels(path, rows, label)


def _hand_out(
    result: likewise.Audit, earlier: likewise.Audit | None, outs: tuple[Path, ...]
) -> None:
    """Print an audit, with what has changed, and write its files."""
    if not any(map(is_pipe, outs)):
        click.echo(str(result))
        if earlier is not None:
            click.echo(f"\nSince the audit of {earlier.basis.date}:\n{earlier.compare(result)}")
    for path in outs:
        if is_pipe(path):
            write_text(path, result.to_json())
            continue
        writers: Mapping[str, Callable[[Path], object]] = {
            ".html": partial(result.to_html, before=earlier), ".json": result.to_json,
            ".csv": result.to_csv, ".xlsx": result.to_xlsx,
        }  # fmt: skip
        written = writers[path.suffix.lower()](path)
        note(f"written: {', '.join(written) if isinstance(written, list) else path}")


def _scored(rows: list[Row], columns: tuple[str, ...]) -> tuple[list[Row], dict[str, int]]:
    """The lines that have a value in these columns; and how many have none, by column."""
    from likewise.people.cells import is_mark

    left_out = {}
    for name in columns:
        complete = [row for row in rows if not is_mark(row[name])]
        if count := len(rows) - len(complete):
            left_out[f"no {name}"] = count
        rows = complete
    if not rows:
        raise LikewiseError(
            f"No line has a value in {' and '.join(columns)}. Check the names of columns."
        )
    return rows, left_out


ALARM = 3
"""The exit status after an alarm."""
BATCHES = (".csv", ".parquet", ".arrow", ".feather")
# The most words of a column that a refusal lists.
SHOWN = 6


def _follow(
    scores: tuple[Path, ...], subject: _Subject, baseline: str, outs: tuple[Path, ...]
) -> None:
    """Print a line for every batch as it comes, and keep the page and the JSON up to date."""
    monitor = _monitor(subject, baseline)
    if odd := [path for path in outs if path.suffix.lower() in (".csv", ".xlsx")]:
        raise click.UsageError(f"--follow writes a page and JSON, .html and .json; got {odd[0]}.")
    files = [path for path in _without_missing(subject, outs) if not is_pipe(path)]
    quiet, seen = any(map(is_pipe, outs)), set[Path]()
    for path in _batches(scores):
        if path.resolve() in seen:
            raise LikewiseError(f"{path} came before: a batch counts once. Leave it out.")
        seen.add(path.resolve())
        _, people, chances = subject.read(path)
        batch = monitor.add(people, chances, path.stem, subject.favourable)
        if not quiet:
            click.echo(_batch_line(batch, subject.unscored))
        for file in files:
            if file.suffix.lower() == ".html":
                monitor.to_html(file)
            else:
                write_text(file, monitor.to_json() + "\n")
    if not monitor.batches:
        raise click.UsageError(f"There is no batch: the folders have no {', '.join(BATCHES)}.")
    click.echo(monitor.to_json() if quiet else f"\n{monitor}")
    for file in files:
        note(f"written: {file}")
    if monitor.alarm is not None:
        click.get_current_context().exit(ALARM)


def _monitor(subject: _Subject, baseline: str) -> Monitor:
    from likewise.audits.monitor import Monitor
    from likewise.people.cells import parse_number

    share = parse_number(baseline)
    if share is None:
        raise click.UsageError(
            f"--follow takes a share such as 0.03 or a number of batches; got {baseline!r}. Files "
            f"go before it."
        )
    if not isinstance(subject.judges, likewise.Panel) or subject.alpha is None:
        raise click.UsageError("--follow needs --panel FILE: a survey is about one table.")
    return Monitor(subject.judges, subject.alpha, share)


def _batch_line(batch: Batch, unscored: Mapping[str, int]) -> str:
    left_out = "".join(f", {count:,} left out ({why})" for why, count in unscored.items())
    evidence = "" if batch.evidence is None else "evidence "
    return (
        f"{batch.name}  {batch.people:,} people{left_out}  {100 * batch.share:.2f} %  "
        f"{evidence}{batch.evidence_words}{'  ALARM' if batch.alarm else ''}"
    )


def _in_words_and_numbers(path: Path) -> list[tuple[int, str]]:
    """A file's name for sorting: 2 comes before 10."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def _batches(scores: tuple[Path, ...]) -> Iterator[Path]:
    """The files in order: those named, those of folders by name, those named on standard input."""
    for path in scores:
        if is_pipe(path):
            yield from (Path(line.strip()) for line in sys.stdin if line.strip())
        elif path.is_dir():
            files = [file for file in path.iterdir() if file.suffix.lower() in BATCHES]
            yield from sorted(files, key=_in_words_and_numbers)
        else:
            yield path


def _check_favourable(
    path: Path, rows: list[Row], favourable: tuple[str, ...], columns: tuple[str | None, ...]
) -> None:
    """Refuse a favourable word that no score and no label is, such as a typo."""
    names = [name for name in columns if name is not None]
    words = {row[name] for row in rows for name in names}
    for word in favourable:
        if word not in words:
            listed = " and ".join(map(repr, sorted(words, key=str)[:SHOWN]))
            raise LikewiseError(
                f"{path}: --favourable is one of two words in {' or '.join(names)}; no cell is "
                f"{word!r}. There are {listed}{', …' if len(words) > SHOWN else ''}."
            )


def _judges(
    panel: Path | None, survey: Path | None, rule: str | None
) -> likewise.Panel | likewise.Survey:
    if panel is not None and survey is None:
        if rule is not None:
            raise click.UsageError(f"--rule is for a survey; {panel} has its own rule.")
        return likewise.Panel.from_file(panel)
    if survey is not None and panel is None:
        return likewise.Survey.read_csv(str(survey), rule or DEFAULT_RULE)
    raise click.UsageError("Give either --panel FILE or --survey FILE.")


def _without_missing(subject: _Subject, outs: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files that the installed libraries can make; without scipy the label is left out."""
    lacking = absent("audit")
    left_out = []
    if subject.label is not None and "scipy" in lacking:
        subject.label = None
        left_out.append("the price")
    pages = [path for path in outs if path.suffix.lower() == ".html"]
    if pages and {"jinja2", "matplotlib"} & {*lacking}:
        outs = tuple(path for path in outs if path not in pages)
        left_out.append("the page")
    if left_out:
        needed = missing("That", ", ".join(lacking), "audit")
        note(f"{' and '.join(left_out)} must be left out. {needed}")
    return outs


def _check_columns(path: Path, row: Row, names: tuple[str, ...]) -> None:
    if lacking := [name for name in names if name not in row]:
        raise LikewiseError(
            f"{path} has no column {lacking[0]!r}; it has {', '.join(row)}. Name it with "
            f"--score, --ids, --label, --group, --category or --leave-out."
        )


def _names(spec: Any) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict | list | tuple):
        for part in (*spec, *spec.values()) if isinstance(spec, dict) else spec:
            yield from _names(part)


def schema_of(
    path: Path,
    rows: list[Row],
    file: Path | None,
    apart: tuple[str, ...],
    categories: tuple[str, ...],
) -> likewise.FeatureSchema:
    """The schema of a file, or one proposed for the table without the columns named."""
    from likewise.people.proposals import column_of_cells, features_of
    from likewise.people.tables import line_of

    if file is not None:
        try:
            schema = likewise.FeatureSchema.from_spec(json.loads(file.read_bytes()))
        except (ValueError, RecursionError) as error:
            raise LikewiseError(f"No schema was read from {file}: {error}") from error
        if both := [feature.name for feature in schema.features if feature.name in apart]:
            raise LikewiseError(
                f"{file} has {both[0]!r} as a feature, and an option says that this column is "
                f"none. Take it out of the schema, and out of the panel's distances if it is there."
            )
        return schema
    names = [name for name in rows[0] if name not in apart]
    columns = [
        column_of_cells(
            name, [row[name] for row in rows], line_of(path, rows), category=name in categories
        )
        for name in names
    ]
    return likewise.FeatureSchema(tuple(features_of(columns)))
