"""People who are not in memory: lazy frames, Parquet files and Arrow streams, block by block.

A frame of DuckDB, Polars, Spark, Dask or Ibis counts its distinct rows itself. Other passes over
the rows take a block at a time as Arrow, on the cluster where the frame has one. pyarrow is
imported here alone.

Engines hash differently, so ids are hashed here (:func:`hashes`): the people whose hash is below a
bound are a sample that does not depend on the engine, on the order of rows, or on the blocks.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from likewise import errors
from likewise.errors import LikewiseError, ParameterError, PeopleError, foreign_code, shown
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people import frames
from likewise.people.cells import read_cells
from likewise.people.columns import is_missing
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema, People


class _Arrow:
    """pyarrow, which is optional; imported only here, when the first source is opened."""

    def __getattr__(self, name: str) -> Any:
        try:
            import pyarrow
            import pyarrow.compute
            import pyarrow.dataset
            import pyarrow.ipc
            import pyarrow.parquet
        except ImportError as error:
            raise errors.missing("A source of people", "pyarrow", "scan", error) from error
        return getattr(pyarrow, name)


pa: Any = _Arrow()
Table = Any  # pyarrow.Table
T = TypeVar("T")

BLOCK = 1 << 17
"""Rows that are in memory at a time."""
COUNT, FIRST, NUMBER, HASH = (f"likewise: {name}" for name in ("count", "first", "row", "hash"))


class Stream:
    """Arrow data piece by piece, from a function that opens some columns."""

    on_cluster = False

    def __init__(
        self, columns: list[str], open_: Callable[[list[str]], Iterable[Any]], once: bool = False
    ) -> None:
        self.columns, self._open, self.once, self._begun = columns, open_, once, False

    def blocks(self, columns: Sequence[str]) -> Iterator[Table]:
        """The rows, some at a time, and their numbers."""
        if self.once and self._begun:
            raise PeopleError(
                "This stream of Arrow data can be read once, and this audit has to read it again. "
                "Give a function that opens it, lambda: …, a Parquet file or a lazy frame."
            )
        self._begun = True
        start, names = 0, list(columns)
        for table in rechunked(piece.select(names) for piece in self._open(names)):
            numbers = pa.array(np.arange(start + 1, start + len(table) + 1))
            yield table.append_column(NUMBER, numbers)
            start += len(table)

    def map(self, function: Callable[[Table], T], columns: Sequence[str]) -> Iterator[T]:
        return map(function, self.blocks(columns))

    def count(self) -> int:
        return sum(map(len, self.blocks(self.columns[:1])))

    def kinds(self, columns: Sequence[str], ids: str | None, most: int) -> Table | None:
        """Distinct rows with their numbers and first ids; None where there are more than most."""
        total: Table | None = None
        for block in self.blocks([*columns, *([ids] if ids else [])]):
            kinds = _grouped(block.append_column(COUNT, pa.array(np.ones(len(block), np.int64))),
                             columns, ids or NUMBER)  # fmt: skip
            kinds = kinds.rename_columns({ids or NUMBER: FIRST})
            total = kinds if total is None else _grouped(joined([total, kinds]), columns, FIRST)
            if len(total) > most:
                return None
        return total


def _grouped(table: Table, columns: Sequence[str], first: str) -> Table:
    """Distinct rows, with the sum of their counts and the least of their ids."""
    grouped = table.group_by(list(columns)).aggregate([(COUNT, "sum"), (first, "min")])
    return grouped.rename_columns({f"{COUNT}_sum": COUNT, f"{first}_min": first})


class Lazy:
    """A frame that its own engine computes, through narwhals."""

    once = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def on_cluster(self) -> bool:
        """Test whether functions are sent to the rows of a cluster."""
        native = self.frame.to_native()
        return hasattr(native, "mapInArrow") or hasattr(native, "map_partitions")

    @cached_property
    def columns(self) -> list[str]:
        return list(self.frame.collect_schema().names())

    def blocks(self, columns: Sequence[str]) -> Iterator[Table]:
        """The rows, some at a time, in the order in which the engine has them."""
        native = self.frame.select(*columns).to_native()
        engine = self.frame.implementation.name.lower()
        if engine == "polars" and hasattr(native, "collect_batches"):
            return rechunked(native.collect_batches(chunk_size=BLOCK))
        if engine == "duckdb":
            new = hasattr(native, "to_arrow_reader")
            return rechunked((native.to_arrow_reader if new else native.fetch_record_batch)(BLOCK))
        if engine == "ibis":
            return rechunked(native.to_pyarrow_batches(chunk_size=BLOCK))
        if engine == "dask":
            return rechunked(part.compute() for part in native.partitions)
        return rechunked([self.frame.select(*columns).collect("pyarrow").to_native()])

    def map(self, function: Callable[[Table], T], columns: Sequence[str]) -> Iterator[T]:
        """The results of a function for every block; a cluster computes them where the rows are."""
        native, parts = self.frame.select(*columns).to_native(), _Parts(function)
        if hasattr(native, "mapInArrow"):
            rows = native.mapInArrow(parts.of_batches, "results binary").collect()
            return chain.from_iterable(map(_unpickled, (row[0] for row in rows)))
        if hasattr(native, "map_partitions"):
            results = native.map_partitions(parts.of_frame, meta=(None, "object")).compute()
            return chain.from_iterable(map(_unpickled, results))
        return map(function, self.blocks(columns))

    def count(self) -> int:
        return int(collected(self.frame.select(frames.nw.len().alias(COUNT)))[COUNT][0].as_py())

    def kinds(self, columns: Sequence[str], ids: str | None, most: int) -> Table | None:
        """Distinct rows with their numbers and first ids; None where there are more than most."""
        nw = frames.nw
        rows = self.frame.select(*columns, *([ids] if ids else []))
        if len(collected(rows.select(*columns).head(BLOCK).unique())) > most:
            return None
        counts = [nw.len().alias(COUNT)]
        counts += [nw.col(ids).min().alias(FIRST)] if ids else []
        kinds = collected(rows.group_by(*columns).agg(*counts).head(most + 1))
        return None if len(kinds) > most else kinds


def collected(frame: Any) -> Table:
    polars = frame.implementation.name.lower() == "polars"
    options = {"engine": "streaming"} if polars else {}
    return _table(frame.collect("pyarrow", **options).to_native())


def rechunked(pieces: Iterable[Any]) -> Iterator[Table]:
    """The rows of tables, batches or frames in blocks; small pieces share a block."""
    waiting: list[Table] = []
    for piece in pieces:
        table = _table(piece)
        for start in range(0, len(table), BLOCK):
            part = table.slice(start, BLOCK)
            if waiting and sum(map(len, waiting)) + len(part) > BLOCK:
                yield joined(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield joined(waiting)


def joined(tables: Iterable[Table]) -> Table:
    """Tables in one; a column may hold integers in some of them, and floats in others."""
    with foreign_code(PeopleError, "Rows could not be joined", "A column is of one type."):
        return pa.concat_tables(tables, promote_options="permissive")


def _table(piece: Any) -> Table:
    """A table with one type of text: Arrow does not sort or group all types."""
    if isinstance(piece, pa.RecordBatch):
        table = pa.Table.from_batches([piece])
    elif hasattr(piece, "iloc"):  # the index of a partition says nothing
        table = pa.Table.from_pandas(piece, preserve_index=False)
    else:
        table = pa.table(piece)
    for kind in (_codes, _type):  # Arrow does not cast all types of text out of a dictionary
        table = table.cast(pa.schema([(field.name, kind(field.type)) for field in table.schema]))
    return table


def _codes(dtype: Any) -> Any:
    codes = pa.types.is_dictionary(dtype)
    return pa.dictionary(dtype.index_type, _type(dtype.value_type)) if codes else dtype


def _type(dtype: Any) -> Any:
    """The type of a column that holds its values themselves, all text as ``large_string``."""
    if pa.types.is_dictionary(dtype):
        return _type(dtype.value_type)
    text = pa.types.is_string(dtype) or pa.types.is_string_view(dtype)
    return pa.large_string() if text else dtype


@dataclass(frozen=True)
class _Parts:
    """A function of blocks, applied to the parts of a frame on a cluster."""

    function: Callable[[Table], Any]

    def _results(self, pieces: Iterable[Any]) -> bytes:
        """The results of all blocks, or our error, which the cluster would wrap in its own."""
        try:
            return pickle.dumps(list(map(self.function, rechunked(pieces))))
        except LikewiseError as error:
            return pickle.dumps(error)

    def of_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """A function of batches, for Spark."""
        yield pa.record_batch({"results": pa.array([self._results(batches)], pa.binary())})

    def of_frame(self, frame: Any) -> bytes:
        """A function of a pandas frame, for Dask."""
        return self._results([frame])


def _unpickled(written: bytes) -> list[Any]:
    results = pickle.loads(written)  # by our own function, on a worker of this cluster
    if isinstance(results, LikewiseError):
        raise results
    return list(results)


_GOLDEN, _FIRST, _SECOND = (
    np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
Hashes = npt.NDArray[np.uint64]


def _mixed(x: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele et al. 2014), where every bit affects every other."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def id_texts(ids: Any) -> Any:
    """The texts of a column of ids."""
    has = "a row has none" if ids.null_count else f"they are of the type {ids.type}"
    integers, texts = pa.types.is_integer(ids.type), pa.types.is_large_string(ids.type)
    if ids.null_count or not (integers or texts or pa.types.is_string(ids.type)):
        raise PeopleError(f"Ids must be text or integers; {has}. Use str(…).")
    return ids.cast(pa.large_string())


def hashes(ids: Any, seed: int) -> Hashes:
    """A number of 64 bits for every id: a function of the seed and the bytes of its text.

    >>> hashes(pa.array([17]), 1) == hashes(pa.array(["17"]), 1)
    array([ True])
    """
    texts = id_texts(ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data or b"", dtype=np.uint8)
    letters = np.concatenate([letters[: ends[-1]], np.zeros(8, dtype=np.uint8)])
    words: Hashes = np.ndarray((len(letters) - 7,), dtype="<u8", buffer=letters, strides=(1,))
    start, size = ends[:-1], np.diff(ends)
    first = np.array([seed], dtype=np.uint64) + _GOLDEN
    result: Hashes = _mixed(first) ^ size.astype(np.uint64)
    for done in range(0, int(size.max(initial=0)), 8):
        more = np.flatnonzero(size > done)
        left = np.minimum(size[more] - done, 8).astype(np.uint64)
        kept = ~np.uint64(0) >> (np.uint64(64) - left * np.uint64(8))
        result[more] = _mixed(result[more] * _GOLDEN ^ (words[start[more] + done] & kept))
    return _mixed(result)


NO_ORDER = (
    "A sample of a lazy frame needs a column of ids, as its rows have no order: "
    "schema.scan(frame, ids=…)."
)


EVERYBODY = (1 << 64) - 1
"""A bound that no hash is above."""


def drawn(table: Table, ids: str | None, seed: int, bound: int = EVERYBODY) -> Table:
    """The rows of a block whose ids have a hash of at most that, and their hashes."""
    name = ids or NUMBER
    if name not in table.column_names:
        raise PeopleError(NO_ORDER)
    numbers = hashes(table[name], seed)
    kept = numbers <= np.uint64(bound)
    return table.append_column(HASH, pa.array(numbers)).filter(pa.array(kept))


@dataclass(frozen=True)
class Encoder:
    """Rows of a table as people, here or on a worker of a cluster."""

    schema: FeatureSchema
    ids: str | None = None

    def names(self, table: Table) -> list[str]:
        if self.ids is None:
            return [f"p{number}" for number in table[NUMBER].to_pylist()]
        return list(id_texts(table[self.ids]).to_pylist())

    def people(
        self, table: Table, names: Sequence[str] | None = None, *, repeated: bool = False
    ) -> People:
        """Some rows as people; each once, unless they may be ``repeated``."""
        ids = tuple(self.names(table) if names is None else names)
        people = People.unchecked if repeated else People
        return people(ids, self.encoded(table, ids), self.schema)

    def unnamed(self, table: Table) -> People:
        """Some rows as people named by their number, as nobody else is."""
        return People.unchecked(_numbers(len(table)), self.encoded(table), self.schema)

    def encoded(self, table: Table, ids: Sequence[str] = ()) -> FloatArray:
        """The checked features of some rows; every different text is read once."""
        x = np.empty((len(table), len(self.schema)))
        try:
            for place, feature in enumerate(self.schema.features):
                x[:, place] = _column(feature, table[feature.name])
        except PeopleError:  # checking people one by one names the person and the reason
            self.schema.people(table.select(list(self.schema.names)), ids or self.names(table))
            raise
        return x


@dataclass(frozen=True, eq=False)
class Scan:
    """People whom an audit reads block by block; :meth:`FeatureSchema.scan` makes it."""

    encoder: Encoder
    source: Stream | Lazy

    def __post_init__(self) -> None:
        names = self.source.columns
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise PeopleError(f"The names of columns must differ; {twice[0]!r} is there twice.")
        for name in self.columns():
            self.check_column(name)
        if self.encoder.ids in self.encoder.schema.names:
            remedy = "People differ in their ids: leave it out of the schema."
            raise ParameterError("ids", "must not be a feature", self.encoder.ids, remedy)

    def check_column(self, name: str) -> str:
        """The name of a column, if there is one."""
        if name not in self.source.columns:
            raise PeopleError(
                f"There is no column {shown(name)}; there are {', '.join(self.source.columns)}."
            )
        return name

    def columns(self, *others: str) -> list[str]:
        """The names of features, of ids, and of other columns, each once."""
        ids = [] if self.encoder.ids is None else [self.encoder.ids]
        return list(dict.fromkeys((*self.encoder.schema.names, *ids, *others)))

    @cached_property
    def count(self) -> int | None:
        """The number of rows; None where they can be read only once."""
        return None if self.source.once else self.source.count()

    def kinds(self, most: int, *others: str) -> Table | None:
        """Distinct rows of features and other columns, counted; None where there are too many."""
        columns = list(dict.fromkeys((*self.encoder.schema.names, *others)))
        with foreign_code(PeopleError, "Rows could not be counted", "Give numbers or text."):
            return self.source.kinds(columns, self.encoder.ids, most)

    def rows(self, *others: str) -> Table:
        blocks = list(self.source.blocks(self.columns(*others)))
        if not blocks:
            raise PeopleError("There is no row. An audit compares people, so it needs some.")
        table = joined(blocks)
        if self.encoder.ids is not None:
            return table
        numbers = pa.array(np.arange(1, len(table) + 1))
        return table if NUMBER in table.column_names else table.append_column(NUMBER, numbers)

    def sample(self, count: int, seed: int, *others: str) -> Table:
        """About that many rows in a random order: those of the least hashes."""
        bound = min(EVERYBODY, (count << 64) // max(1, self.count or 1))
        draw = partial(drawn, ids=self.encoder.ids, seed=seed, bound=bound)
        table = joined(self.source.map(draw, self.columns(*others)))
        return table.sort_by([(HASH, "ascending"), (self.encoder.ids or NUMBER, "ascending")])


@lru_cache(maxsize=2)
def _numbers(count: int) -> tuple[str, ...]:
    return tuple(f"row {number} of this block" for number in range(1, count + 1))


def _column(feature: Feature, column: Any) -> FloatArray:
    if not pa.types.is_large_string(column.type):
        column = column.combine_chunks()
        frame = frames.nw.from_native(pa.table({feature.name: column}))
        values = frames.feature_values(frame[feature.name], feature)
        return feature.encode_column(values, range(len(column)))  # type: ignore[arg-type]
    texts, places = distinct(feature.name, column)
    return np.asarray(feature.encode_column(read_cells(feature, texts), texts)[places])


def distinct(name: str, column: Any) -> tuple[list[Any], IntArray]:
    """The different values of a column, and the place of each row's among them."""
    with foreign_code(PeopleError, f"Column {name!r} could not be read", "Give numbers or text."):
        codes = joined([pa.table({name: column})])[name].combine_chunks()
        codes = codes.dictionary_encode(null_encoding="encode")
    return codes.dictionary.to_pylist(), codes.indices.to_numpy(zero_copy_only=False)


def open_source(source: Any) -> Stream | Lazy:
    """Rows of Parquet files, of a lazy frame, or of a function that opens a stream."""
    if isinstance(source, str | os.PathLike):
        return _files(source)
    stream = hasattr(type(source), "__arrow_c_stream__")
    if callable(source) and not stream:
        return _opened(lambda: _reader(_called(source)))
    with foreign_code(PeopleError, "Rows could not be read", "Names of columns must differ."):
        frame = frames.nw.from_native(source, pass_through=True)
    if isinstance(frame, frames.nw.LazyFrame):
        return Lazy(frame)
    if isinstance(source, pa.RecordBatchReader):
        return _once(source)
    if stream:
        return _opened(lambda: _reader(source))
    raise PeopleError(
        f"People are scanned in Parquet files (a path), a lazy frame (DuckDB, Polars, Spark, Dask, "
        f"Ibis), Arrow data, or a function that opens it; got {shown(source)}."
    )


def _called(function: Callable[[], Any]) -> Any:
    with foreign_code(PeopleError, "The function that opens the rows failed", "Repair it."):
        return function()


def _once(reader: Any) -> Stream:
    """A stream that cannot be opened again; a single block is stored instead."""
    blocks = rechunked(reader)
    first = list(islice(blocks, 2))
    if len(first) < 2:
        return Stream(reader.schema.names, lambda _: first)
    return Stream(reader.schema.names, lambda _: chain(first, blocks), once=True)


def _opened(open_: Callable[[], Any]) -> Stream:
    return Stream(open_().schema.names, lambda _: open_())


def _reader(data: Any) -> Any:
    rule = "They must be a stream of Arrow data."
    with foreign_code(PeopleError, "Rows could not be read", rule):
        opened = isinstance(data, pa.RecordBatchReader)
        return data if opened else pa.RecordBatchReader.from_stream(data)


_MAGIC = {b"PAR1": "parquet", b"ARROW1": "ipc"}
"""The first bytes of files of Arrow and Parquet, and what Arrow calls these."""


def file_format(path: str | os.PathLike[str]) -> str | None:
    """The format of a file by its first bytes, or of the first file in a folder; or None."""
    files = sorted(Path(path).rglob("*")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        if not file.is_file() or file.name.startswith(("_", ".")):  # as Spark calls its marks
            continue
        with file.open("rb") as opened:
            head = opened.read(6)
        return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    return None


def _files(path: str | os.PathLike[str]) -> Stream:
    try:
        form = file_format(path) or "parquet"
        dataset = pa.dataset.dataset(path, format=form)
    except (OSError, ValueError) as error:
        raise PeopleError(f"{path} cannot be read as Parquet: {error}") from error
    if not dataset.files:
        raise PeopleError(f"{path} has no Parquet file.")
    # A scanner of the dataset would read ahead, and hold more than a block.
    return Stream(
        dataset.schema.names,
        lambda columns: (b for file in dataset.files for b in _batches(file, form, columns)),
    )


def _batches(path: str, form: str, columns: list[str]) -> Iterator[Any]:
    with foreign_code(PeopleError, f"{path} could not be read", "Write it anew."):
        parquet = form == "parquet"
        file = pa.parquet.ParquetFile(path) if parquet else pa.ipc.open_file(pa.memory_map(path))
        names = (file.schema_arrow if parquet else file.schema).names
        if lacking := [name for name in columns if name not in names]:
            raise PeopleError(f"{path} has no column {lacking[0]!r}, which other files have.")
        if parquet:
            yield from file.iter_batches(BLOCK, columns=columns)
        else:
            yield from map(file.get_batch, range(file.num_record_batches))


_INDEX = re.compile(r"__index_level_\d+__")


def read_cells_of_file(
    path: str | os.PathLike[str], most: int | None = None
) -> dict[str, list[str]]:
    """The columns of a Parquet or Arrow file as cells of text, as a CSV file has them.

    Missing values are empty. Columns that no CSV file can hold are left out with a warning.
    """
    source = _files(path)
    for name in (name for name in source.columns if source.columns.count(name) > 1):
        raise PeopleError(f"{path} names the column {name!r} twice. Rename one of them.")
    names = [name for name in source.columns if not _INDEX.fullmatch(name)]
    blocks = source.blocks(names)
    tables = list(islice(blocks, most and -(-most // BLOCK)))
    if not tables:
        raise PeopleError(f"{path} has no row; give at least one person.")
    table, cells = joined(tables).slice(0, most), {}
    for name in names:
        if (texts := _texts(table[name])) is None:
            errors.warn(
                f"Column {name!r} holds {table[name].type}, and was left out: it is neither "
                f"numbers nor text.",
                errors.SchemaAdvice,
            )
        else:
            values, places = distinct(name, texts)
            written = np.array([_written(value) for value in values], dtype=object)
            cells[name] = written[places].tolist()
    return cells


def _texts(column: Any) -> Any:
    """A column of numbers, truth values or text, dates as text; None for any other."""
    kind, types = column.type, pa.types
    if types.is_temporal(kind) and not types.is_duration(kind) and not types.is_interval(kind):
        return column.cast(pa.large_string())
    plain = (
        types.is_integer, types.is_floating, types.is_decimal, types.is_boolean,
        types.is_large_string, types.is_null,
    )  # fmt: skip
    return column if any(test(kind) for test in plain) else None


def _written(value: Any) -> str:
    """A value as a CSV file has it."""
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value).strip()
