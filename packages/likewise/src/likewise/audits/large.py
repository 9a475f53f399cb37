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
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.audits import counting
from likewise.audits.groups import GroupCounts, codes_of, group_word, read_traits
from likewise.audits.pairs import Block, Question, Tally, few_of_each, floor_of
from likewise.audits.price import MOST_PEOPLE as MOST_PRICED
from likewise.audits.scores import Rows, favourable_among, read_labels, read_scores
from likewise.errors import AuditError, LikewiseError, ParameterError
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.panel.metrics import Masked, Ratings
from likewise.panel.panels import Panel
from likewise.people import scans
from likewise.people.scans import HASH, Scan, Table
from likewise.people.schema import People
from likewise.validation import instance, items

# As often as all rows are read in search of the worst pairs, after the anchors' turn.
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

    def without_groups(self) -> Reader:
        return replace(self, label=None, groups=())

    def _described(self, people: People, table: Table) -> Rows:
        scores = read_scores(people, self._values(table, self.score), self.favourable)
        traits = {name: self._trait(people, table, name) for name in self.groups}
        if self.label is None:
            return Rows(people, scores, None, traits)
        labels = read_labels(people, self._values(table, self.label), self.favourable)
        return Rows(people, scores, labels, traits)

    def _values(self, table: Table, name: str) -> Any:
        column = table[name]
        if name in self.words and not column.null_count:
            values, places = scans.distinct(name, column)
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
    _refuse_names(panel)
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
    for name in dict.fromkeys(filter(None, (reader.score, reader.label))):
        table = None if reader.favourable is None else scan.source.kinds([name], None, 3)
        values = [] if table is None else [v for v in table[name].to_pylist() if v is not None]
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
    labels = [] if rows.labels is None else [rows.labels]
    codes = [codes for _, codes in codes_of(rows.traits).values()]
    return np.column_stack([np.nan_to_num(rows.people.x, nan=np.inf), rows.units, *labels, *codes])


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


def _refuse_names(panel: Panel) -> None:
    """Refuse distances that look at who somebody is."""
    for auditor in panel.auditors:
        if _looks_at_names(auditor.distance):
            raise AuditError(
                f"Auditor {auditor.name!r}: ratings by person are for people in memory. Make them "
                f"a column, and name it: Ratings('rating')."
            )


def _like(table: Table, rows: list[dict[str, Any]]) -> Table:
    """A table of some rows, with the columns of another."""
    return type(table).from_pylist(rows, schema=table.schema)


Worst = tuple[int, dict[str, Any], dict[str, Any]]
"""A pair: its excess, and the rows of two people, the one of the lesser hash first."""


def _worst_of(pairs: Iterable[Worst], question: Question) -> list[Worst]:
    """The worst of some pairs, each once, in an order that does not depend on that of the rows."""
    once = {(excess, a[HASH], b[HASH]): (excess, a, b) for excess, a, b in pairs}
    ordered = sorted(once, key=lambda key: (-key[0], *key[1:]))
    each = None if question.each is None else question.most_of_one
    return [once[key] for key in few_of_each(ordered, question.candidates, each)]


def _in_order(excess: int, a: dict[str, Any], b: dict[str, Any]) -> Worst:
    return (excess, a, b) if a[HASH] <= b[HASH] else (excess, b, a)


@dataclass(eq=False)
class Partners:
    """Some people with others: largest excess and with whom, sides, rules, and the worst pairs."""

    highest: IntArray
    partner: list[tuple[int, str]]
    over: IntArray
    under: IntArray
    touched_by_rule: npt.NDArray[np.bool_]
    worst: list[Worst]

    @classmethod
    def of(
        cls, tally: Tally, k: int, partner: list[tuple[int, str]], worst: list[Worst]
    ) -> Partners:
        """The counts of the first people of a tally."""
        return cls(
            tally.highest[:k], partner, tally.over[:k], tally.under[:k],
            tally.touched_by_rule[:, :k], worst,
        )  # fmt: skip

    def merge(self, other: Partners, question: Question) -> None:
        # Of equal ones the least hash, in whatever order the blocks come.
        best = [
            min((-high, name) for high, name in both)
            for both in zip(
                zip(self.highest.tolist(), self.partner, strict=True),
                zip(other.highest.tolist(), other.partner, strict=True), strict=True,
            )
        ]  # fmt: skip
        self.highest = np.array([-high for high, _ in best], dtype=np.int64)
        self.partner = [name for _, name in best]
        self.over += other.over
        self.under += other.under
        self.touched_by_rule |= other.touched_by_rule
        self.worst = _worst_of((*self.worst, *other.worst), question)


@dataclass(frozen=True, eq=False)
class WithEverybody:
    """A function that pairs some people with everybody in a block of rows.

    ``pairs`` is their number over all blocks, by which the way to count them is chosen.
    """

    reader: Reader
    draw: scans.Draw
    table: Table
    question: Question
    jobs: Any
    pairs: int

    def __call__(self, table: Table) -> Partners:
        rows = self.draw(table)
        order = np.argsort(rows[HASH].to_numpy(), kind="stable")
        # Nobody is compared with themselves.
        order = order[~np.isin(rows[HASH].to_numpy()[order], self.table[HASH].to_numpy())]
        rows, some, k = rows.take(order), self.question.people, len(self.question.people)
        block = self.reader.without_groups().read_unnamed(rows)
        question = self.question.among(some.with_more(block.people), block.units)
        blocks = counting.with_everybody(np.arange(k), k + len(rows), first=k)
        tally = counting.scan(question, blocks, self.jobs, pairs=self.pairs)
        places = np.array(tally.worst, dtype=np.int64).reshape(-1, 3)
        first = self.table.take(places[:, 1]).to_pylist()
        second = rows.take(places[:, 2] - k).to_pylist()
        worst = [_in_order(w[0], a, b) for w, a, b in zip(tally.worst, first, second, strict=True)]
        return Partners.of(tally, k, self._names(rows, tally.partner[:k] - k), worst)

    def _names(self, rows: Table, places: IntArray) -> list[tuple[int, str]]:
        """Hashes and ids at some places among the rows; none where there are no ids."""
        if self.reader.encoder.ids is None or not len(rows):
            return [(0, "")] * len(places)
        chosen = rows.take(places)
        names = self.reader.read(chosen, repeated=True).people.ids
        return list(zip(chosen[HASH].to_pylist(), names, strict=True))


@dataclass(frozen=True, eq=False)
class Sample:
    """Counts of pairs drawn at random and of anchors, these, who is in the worst pairs, and some.

    ``some`` are the first people drawn, on whom the price is computed.
    """

    tally: Tally
    partners: Partners
    anchors: Rows
    worst: Rows
    some: Rows


@dataclass(frozen=True, eq=False)
class Sampler:
    """Pairs and anchors of people who are read block by block; see the head of this module."""

    scan: Scan
    reader: Reader
    question: Question
    """The panel and its thresholds; of nobody yet."""
    groups: GroupCounts
    seed: int
    jobs: Any = None

    def sample(self, pairs: int, progress: counting.Progress) -> Sample:
        """Draw so many pairs, and pair the anchors with everybody."""
        drawn = self.scan.sample(counting.ANCHORS + 2 * pairs, self.seed, *self.reader.columns)
        anchors = min(counting.ANCHORS, len(drawn))
        progress(1, EXCHANGES + 2)
        tally, worst = self._single(drawn.slice(anchors))
        floor = floor_of(self.question, [(w, a[HASH], b[HASH]) for w, a, b in worst])
        first = self.reader.read(drawn.slice(0, MOST_PRICED))
        drawn = drawn.take(list(range(anchors)))  # the others need no memory any more
        partners = self._with_everybody(drawn, floor, progress, 2)
        worst = _worst_of((*worst, *partners.worst), self.question)
        worst = self._exchanged(worst, drawn, floor, progress)
        few = {(excess, a[HASH], b[HASH]): (a, b) for excess, a, b in worst}
        chosen = few_of_each(few, self.question.worst, self.question.each)
        table = _like(drawn, [row for key in chosen for row in few[key]])
        read = self.reader.read
        return Sample(tally, partners, read(drawn), read(table, repeated=True), first)

    def _exchanged(
        self, worst: list[Worst], drawn: Table, floor: int, progress: counting.Progress
    ) -> list[Worst]:
        """The worst pairs where one of two may be exchanged for whoever is worst with the other."""
        tried: set[int] = set()
        for turn in range(EXCHANGES):
            starts = {row[HASH]: row for _, a, b in worst[: counting.STARTS] for row in (a, b)}
            rows = [row for number, row in sorted(starts.items()) if number not in tried]
            if not rows:
                break
            tried |= set(starts)
            found = self._with_everybody(_like(drawn, rows), floor, progress, 3 + turn)
            worst = _worst_of((*worst, *found.worst), self.question)
        return worst

    def _single(self, drawn: Table) -> tuple[Tally, list[Worst]]:
        """The counts of people paired in their order, some at a time, and the worst pairs."""
        total, worst = Tally(self.question), list[Worst]()
        known = {name: self.groups.groups(name) for name in self.groups.traits}
        for start in range(0, len(drawn) - 1, 2 * counting.SAMPLE_SIDE):
            table = drawn.slice(start, 2 * counting.SAMPLE_SIDE)
            rows = self.reader.read_unnamed(table)
            left = np.arange(0, len(table) - 1, 2)
            codes = [codes for _, codes in codes_of(rows.traits, known).values()]
            groups = np.array(codes, dtype=np.int64).reshape(len(codes), len(table))
            tally = Tally(replace(self.question.among(rows.people, rows.units), groups=groups))
            tally.add(Block(left, left + 1, paired=True))
            total.add_counts(tally)
            listed = table.take([place for w in tally.worst for place in w[1:]]).to_pylist()
            found = zip(tally.worst, listed[0::2], listed[1::2], strict=True)
            worst = _worst_of((*worst, *((w[0], a, b) for w, a, b in found)), self.question)
        return total, worst

    def _with_everybody(
        self, table: Table, floor: int, progress: counting.Progress, turn: int
    ) -> Partners:
        rows, scan = self.reader.without_groups().read(table), self.scan
        question = replace(self.question.among(rows.people, rows.units), floor=floor)
        pairs = len(table) * (scan.count or 0)
        jobs = 1 if scan.source.on_cluster else self.jobs
        function = WithEverybody(
            self.reader, scans.Draw(scan.encoder.ids, self.seed), table, question, jobs, pairs
        )
        everybody = np.arange(len(table))
        among = counting.scan(question, [Block(everybody, everybody)], 1)
        names = rows.people.ids if scan.encoder.ids is not None else [""] * (len(table) + 1)
        hashes = table[HASH].to_pylist()
        mates = [
            (hashes[place], names[place]) if place < len(table) else (0, "")
            for place in among.partner.tolist()
        ]
        listed = table.to_pylist()
        worst = [_in_order(excess, listed[i], listed[j]) for excess, i, j in among.worst]
        total = Partners.of(among, len(table), mates, worst)
        for part in scan.source.map(function, scan.columns(*self.reader.columns)):
            total.merge(part, question)
        progress(turn, EXCHANGES + 2)
        return total
