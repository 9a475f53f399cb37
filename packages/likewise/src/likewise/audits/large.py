"""Audits of people who are not in memory: exact where they are of few kinds, else by sample.

People of one *kind* have the same features and the same score, so that all pairs of two kinds are
reported, or none. Kinds are counted where the rows are, and every pair of kinds is scanned once,
for as many pairs as it stands for.

Otherwise people are drawn by a hash of their ids. The least hashes are anchors, the others are
paired in their order: pairs of which no two share a person. Then rows are read once more, block by
block, and paired with the anchors; people in the worst pairs so far are paired with everybody too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from likewise.audits import counting
from likewise.audits.groups import GroupCounts, codes_of, group_word, read_traits
from likewise.audits.pairs import Block, Question, Tally, few_of_each, floor_of
from likewise.audits.price import MOST_PEOPLE as MOST_PRICED
from likewise.audits.result import Person
from likewise.audits.scores import Rows, favourable_among, is_gap, read_labels, read_scores
from likewise.errors import AuditError, LikewiseError, ParameterError
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel import Masked, Panel, Ratings
from likewise.panel.rules import BoolArray
from likewise.people import People, scans
from likewise.people.cells import MARKS
from likewise.people.scans import HASH, Scan, Table
from likewise.validation import instance, items

# How often all rows are read again in search of worse pairs, after the anchors.
EXCHANGES = 2


@dataclass(frozen=True)
class Reader:
    """Rows of a table as people with scores, here or on a worker of a cluster.

    ``words`` has the favourable value of columns whose values are two, which a block of them need
    not both have.
    """

    encoder: scans.Encoder
    score: str
    label: str | None = None
    groups: tuple[str, ...] = ()
    favourable: Any = None
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns beside the features."""
        return (self.score, *([] if self.label is None else [self.label]), *self.groups)

    def read(
        self, table: Table, names: Sequence[str] | None = None, *, repeated: bool = False
    ) -> Rows:
        """People with their scores; each once, unless they may be ``repeated``."""
        return self._described(self.encoder.people(table, names, repeated=repeated), table)

    def read_unnamed(self, table: Table) -> Rows:
        """The same people under numbers, which takes less time; an error names them."""
        try:
            return self._described(self.encoder.unnamed(table), table)
        except LikewiseError:
            return self.read(table)

    def count_groups(self, table: Table) -> GroupCounts:
        """How many people of a block are in each group, and their scores."""
        return self.read_unnamed(table).groups

    def _described(self, people: People, table: Table) -> Rows:
        scores = read_scores(people, self._values(table, self.score), self.favourable)
        traits = {name: self._trait(people, table, name) for name in self.groups}
        labels = None
        if self.label is not None:
            labels = read_labels(people, self._values(table, self.label), self.favourable)
        return Rows(people, scores, labels, traits)

    def _values(self, table: Table, name: str) -> Any:
        column = table[name]
        if name in self.words:
            values, places = scans.distinct(name, column)
            if not any(map(is_gap, values)):
                return np.array([value == self.words[name] for value in values])[places]
        plain = column.null_count == 0 and str(column.type) in ("double", "float")
        return column.to_numpy() if plain else column

    def _trait(self, people: People, table: Table, name: str) -> Sequence[str]:
        if name in people.schema.names:
            return read_traits(people, [name])[name]
        values, places = scans.distinct(name, table[name])
        words = np.array([group_word(value) for value in values], dtype=object)
        return read_traits(people, {name: words[places].tolist()})[name]


def reader_of(
    scan: Scan, scores: Any, labels: Any, groups: Any, panel: Any, favourable: Any
) -> Reader:
    """The reader of an audit, which names the columns of scores, labels and groups."""
    remedy = "Name their column: audit(schema.scan(…), 'score', …)."
    instance("panel", panel, Panel, "People who are scanned need one; a survey has its own.")
    for auditor in panel.auditors:
        if _looks_at_names(auditor.distance):
            raise AuditError(
                f"Auditor {auditor.name!r}: ratings by person are for people in memory. Make them "
                f"a column, and name it: Ratings('rating')."
            )
    listed = items("groups", groups, "Name columns: groups=['sex'].")
    for parameter, name in (
        ("scores", scores), *(() if labels is None else (("labels", labels),)),
        *(("groups", name) for name in listed),
    ):  # fmt: skip
        if not isinstance(name, str):
            raise ParameterError(parameter, "must be a column of the rows", name, remedy)
        if scan.check_column(name) == scan.encoder.ids:
            raise ParameterError(parameter, "must not be the ids", name, "Name another column.")
    return Reader(scan.encoder, scores, labels, tuple(dict.fromkeys(listed)), favourable)


def with_words(scan: Scan, reader: Reader) -> Reader:
    """The reader of blocks, which knows the favourable value of columns of two values."""
    words: dict[str, Any] = {}
    most = 3 + len(MARKS)  # of which all but three may be marks of missing values
    for name in dict.fromkeys(filter(None, (reader.score, reader.label))):
        table = None if reader.favourable is None else scan.source.kinds([name], None, most)
        values = [] if table is None else [v for v in table[name].to_pylist() if not is_gap(v)]
        words |= zip([name], favourable_among(values, reader.favourable), strict=False)
    return replace(reader, favourable=None, words=words)


def gathered(scan: Scan, reader: Reader, most: int) -> Rows | None:
    """Everybody where they are few enough, or the kinds of people; None for more of them."""
    if scan.count is None or scan.count > most:
        rows = kinds(scan, reader, most)
        if rows is not None:
            return rows
    if scan.count is None or scan.count > max(most, scans.BLOCK):
        return None
    table = scan.rows(*reader.columns)
    if len(table) > most and isinstance(scan.source, scans.Lazy) and scan.encoder.ids is None:
        raise AuditError(scans.NO_ORDER)
    return reader.read(table)


def count_groups(scan: Scan, reader: Reader) -> GroupCounts:
    """How many people are in each group, and their scores, over all rows."""
    nobody = GroupCounts(reader.groups, {})
    if not reader.groups:
        return nobody
    parts = scan.source.map(reader.count_groups, scan.columns(*reader.columns))
    return reduce(GroupCounts.joined, parts, nobody)


def kinds(scan: Scan, reader: Reader, most: int) -> Rows | None:
    """People who differ in anything, in the order of their features; None if they are too many."""
    table = scan.kinds(most, *reader.columns)
    if table is None:
        return None
    ids = scans.id_texts(table[scans.FIRST]).to_pylist() if reader.encoder.ids else None
    rows = reader.read(table, ids or _kind_names(len(table)))
    rows = replace(rows, counts=table[scans.COUNT].to_numpy().astype(np.int64))
    # Engines tell apart what is the same here, such as a level with spaces around it.
    order = np.argsort(np.array(rows.people.ids, dtype=object), kind="stable")
    rows = _joined(rows.take(order))
    if ids is not None:
        return rows
    named = People(_kind_names(len(rows.people)), rows.people.x, rows.people.schema)
    return replace(rows, people=named)


def _kind_names(count: int) -> tuple[str, ...]:
    return tuple(f"kind {number}" for number in range(1, count + 1))


def kinds_in_memory(rows: Rows, panel: Panel, most: int) -> Rows | None:
    """The kinds of people in memory, each by the first of them; None if they are too many."""
    if any(_looks_at_names(auditor.distance) for auditor in panel.auditors):
        return None
    some = np.arange(min(len(rows.people), 2 * most))
    if len(np.unique(_keys(rows.take(some)), axis=0)) > most:
        return None
    joined = _joined(rows)
    return joined if len(joined.people) <= most else None


def _keys(rows: Rows) -> FloatArray:
    """The values that a kind shares: features, infinite where missing, score, label, groups."""
    x, labels = rows.people.x, [] if rows.labels is None else [rows.labels]
    codes = codes_of(rows.traits, len(x))
    return np.column_stack([np.nan_to_num(x, nan=np.inf), rows.units, *labels, *codes])


def _joined(rows: Rows) -> Rows:
    """One of each kind, the first, in the order of features and scores; and how many there are."""
    _, first, which = np.unique(_keys(rows), axis=0, return_index=True, return_inverse=True)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, which.ravel(), 1 if rows.counts is None else rows.counts)
    return replace(rows.take(first), counts=counts)


def _looks_at_names(distance: Any) -> bool:
    """Test for ratings by person, for whom people of the same features are not alike."""
    while isinstance(distance, Masked):
        distance = distance.base
    return isinstance(distance, Ratings) and not isinstance(distance.ratings, str)


@dataclass(frozen=True, order=True)
class _Row:
    """A row of a table; rows are compared by the hashes of their ids."""

    hash: int
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)


NOBODY = _Row(1 << 64)


def _like(table: Table, rows: Iterable[_Row]) -> Table:
    """A table of some rows, with the columns of another."""
    return type(table).from_pylist([row.values for row in rows], schema=table.schema)


def _by_row(tally: Tally, some: Table, others: Table) -> Tally:
    """The counts of some people, paired with others too, with rows in place of places."""
    k, mates = len(some), tally.partner[: len(some)].tolist()
    places = np.array(
        sorted({*mates, *(place for pair in tally.worst for place in pair[1:])}), dtype=np.int64
    )
    present = places[places < k + len(others)]
    first, second = some.take(present[present < k]), others.take(present[present >= k] - k)
    listed = [*first.to_pylist(), *second.to_pylist()]
    rows = {p: _Row(v[HASH], v) for p, v in zip(present.tolist(), listed, strict=True)}
    tally.narrow(slice(k))
    tally.partner = np.array([rows.get(place, NOBODY) for place in mates], dtype=object)
    pairs = [(excess, sorted((rows[i], rows[j]))) for excess, i, j in tally.worst]
    tally.worst = [(excess, first, second) for excess, (first, second) in pairs]
    return tally


def _pair_with_block(
    reader: Reader, seed: int, some: Table, question: Question, jobs: Any, pairs: int,
    block: Table,
) -> Tally:  # fmt: skip
    """The counts of some people, whom the question is about, with everybody in a block of rows.

    ``pairs`` is their number over all blocks, by which the way to count them is chosen.
    """
    others = scans.drawn(block, reader.encoder.ids, seed)
    order = np.argsort(others[HASH].to_numpy(), kind="stable")
    # Nobody is compared with themselves.
    order = order[~np.isin(others[HASH].to_numpy()[order], some[HASH].to_numpy())]
    others, k = others.take(order), len(some)
    rows = reader.read_unnamed(others)
    question = question.among(question.people.with_more(rows.people), rows.units)
    blocks = counting.with_everybody(np.arange(k), k + len(others), first=k)
    return _by_row(counting.scan(question, blocks, jobs, pairs=pairs), some, others)


@dataclass(frozen=True, eq=False)
class Anchors:
    """People who were paired with everybody: all of them, their kinds, or those drawn.

    ``tally`` has their counts, ``partners`` with whom the excess of each is largest, ``worst`` the
    worst pairs, by places among the people of the question.
    """

    rows: Rows
    tally: Tally
    partners: Sequence[str]
    worst: Sequence[tuple[int, int]]

    def number(self, flags: BoolArray) -> int:
        """How many people those that are flagged stand for."""
        return int(self.rows.sizes[flags].sum())

    def people(self) -> tuple[Person, ...]:
        rows, tally = self.rows, self.tally
        columns = zip(
            rows.people.ids, rows.chances.tolist(), tally.over.tolist(), tally.under.tolist(),
            self.partners, tally.highest.tolist(), rows.sizes.tolist(), strict=True,
        )  # fmt: skip
        return tuple(
            Person(name, score, over, under, mate or None, high / ONE, rows.groups_of(n), count)
            for n, (name, score, over, under, mate, high, count) in enumerate(columns)
        )


@dataclass(frozen=True, eq=False)
class Sampler:
    """Pairs and anchors of people who are read block by block; see the head of this module."""

    scan: Scan
    reader: Reader
    question: Question
    """The panel and its thresholds; of nobody yet."""
    groups: GroupCounts
    seed: int
    jobs: Any

    def sample(self, pairs: int, progress: counting.Progress) -> tuple[Tally, Anchors, Rows, Rows]:
        """Draw pairs, and pair the anchors with everybody.

        Returns the counts of the pairs, the anchors, who is in the worst pairs, and the first
        people drawn, on whom the price is computed.
        """
        drawn = self.scan.sample(counting.ANCHORS + 2 * pairs, self.seed, *self.reader.columns)
        anchors = min(counting.ANCHORS, len(drawn))
        passes = iter(range(1, EXCHANGES + 3))
        progress(next(passes), EXCHANGES + 2)
        tally = self._single(drawn.slice(anchors))
        priced = self.reader.read(drawn.slice(0, MOST_PRICED))
        drawn = drawn.take(list(range(anchors)))  # the others need no memory any more
        question = replace(self.question, floor=floor_of(self.question, tally.worst))

        def scan_with(table: Table) -> Tally:
            total = self._with_everybody(table, question)
            progress(next(passes), EXCHANGES + 2)
            return total

        wide = scan_with(drawn)
        wide.add_worst(tally.worst)
        counting.search(wide, EXCHANGES, lambda rows: scan_with(_like(drawn, rows)))
        chosen = few_of_each(wide.worst, question.worst, question.each)
        worst = self.reader.read(
            _like(drawn, [row for pair in chosen for row in pair[1:]]), repeated=True
        )
        encoder, partners = self.reader.encoder, _like(drawn, wide.partner)
        names = [""] * anchors if encoder.ids is None else encoder.names(partners)
        places = [(i, i + 1) for i in range(0, len(worst.people), 2)]
        return tally, Anchors(self.reader.read(drawn), wide, names, places), worst, priced

    def _single(self, drawn: Table) -> Tally:
        """The counts of people paired in their order, a part of them at a time."""
        total = Tally(self.question)
        groups = {name: self.groups.groups(name) for name in self.groups.traits}
        for start in range(0, len(drawn) - 1, 2 * counting.SAMPLE_SIDE):
            table = drawn.slice(start, 2 * counting.SAMPLE_SIDE)
            rows = self.reader.read_unnamed(table)
            left = np.arange(0, len(table) - 1, 2)
            question = self.question.among(rows.people, rows.units)
            codes = codes_of(rows.traits, len(table), groups)
            tally = Tally(replace(question, groups=codes))
            tally.add(Block(left, left + 1, paired=True))
            total.add_counts(tally)
            total.add_worst(_by_row(tally, table, table.slice(0, 0)).worst)
        return total

    def _with_everybody(self, table: Table, question: Question) -> Tally:
        """The counts of some people with everybody, by row."""
        reader, scan = replace(self.reader, label=None, groups=()), self.scan
        rows = reader.read(table)
        question = question.among(rows.people, rows.units)
        everybody = np.arange(len(table))
        total = counting.scan(question, [Block(everybody, everybody)], 1)
        total = _by_row(total, table, table.slice(0, 0))
        pair_with = partial(
            _pair_with_block, reader, self.seed, table, question,
            1 if scan.source.on_cluster else self.jobs, len(table) * (scan.count or 0),
        )  # fmt: skip
        for tally in scan.source.map(pair_with, scan.columns(*self.reader.columns)):
            total.merge(tally)
        return total
