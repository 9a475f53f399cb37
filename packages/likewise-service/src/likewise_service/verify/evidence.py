"""Evidence for a replay: records, the payloads beside them, and the seed if it is known."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.learner.state import OpenRound, State
from likewise_service.errors import ServiceError, StoreError
from likewise_service.ledger.notes import Checkpoint, encoded, origin_of
from likewise_service.ledger.records import LedgerBroken, Payload, Record, fault_of
from likewise_service.ledger.signatures import PublicKey
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import WIDTH, Log

# The most differences that are printed.
PRINTED = 20


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it should be; ``seq`` is the record, or the line of an export.

    ``about`` is record, tree, seed, payload, order, decision, asking, lottery, panel, audit,
    erasure, learner, receipt, actor, signature, anchor, time, export or snapshot.
    """

    seq: int
    about: str
    recorded: str
    expected: str

    def __str__(self) -> str:
        return f"Record {self.seq} ({self.about}): {self.recorded} It should be: {self.expected}"


@dataclass
class Replayed:
    """The result of a replay. It holds if nothing differs; ``unproved`` says what was not shown.

    Most fields are counts; ``proved`` and ``unproved`` say of what. ``erased`` are (round, person)
    with the features of a surrogate now, ``wholly`` those of whom nothing is left. ``kept`` and
    ``unkept`` are sentences on what is proved and not proved about keys, actors, members'
    signatures and anchors. ``state`` and ``certificate`` are those of the end, ``kept_state`` is
    the learner after a record that was asked for; ``closed`` are the closed rounds, where labels
    are one-sided.
    """

    receipt: Checkpoint
    differences: list[Difference] = field(default_factory=list)
    seed: str = "unknown"
    rounds: int = 0
    decisions: int = 0
    skipped: int = 0
    elsewhere: int = 0
    draws: int = 0
    unasked: int = 0
    unforeseen: int = 0
    turns: int = 0
    erased: list[tuple[str, str]] = field(default_factory=list)
    wholly: list[tuple[str, str]] = field(default_factory=list)
    audits: int = 0
    repeats: int = 0
    ended: int = 0
    shown: int = 0
    unshown: int = 0
    untranslated: int = 0
    payloads: int = 0
    labels: int = 0
    reconsidered: int = 0
    entrusted: int = 0
    redecided: int = 0
    unexplained: int = 0
    state: State | None = None
    kept_state: State | None = None
    certificate: dict[str, Any] | None = None
    closed: list[OpenRound] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.differences

    @property
    def proved(self) -> list[str]:
        seeded = self.seed in ("held", "revealed")
        sentences = {
            f"The {self.receipt.size:,} records are those of the receipt above. That none was "
            f"rewritten before it was made, an older receipt shows: likewise verify RECEIPT.": True,
            f"The panels were those that membership and rule prescribe, and {self.audits:,} "
            f"outcomes follow from the objections.": True,
            f"{self.turns:,} times a member was asked in turn: the one who followed, about what "
            f"was still in dispute.": self.turns,
            f"{self.payloads:,} personal payloads are those that were recorded.": self.payloads,
            "The seed is the one that was committed to before the first round.": seeded,
            f"What panels were asked in {self.draws:,} rounds follows from scores, the reports "
            f"before them and the seed.": seeded,
            f"{self.repeats:,} records are about rounds that were shown again, each by the lottery "
            f"of hidden repeats.": self.repeats,
            f"{self.decisions:,} decisions, with their scores, were taken again.": self.decisions,
            f"{self.reconsidered:,} appeals were decided, each by whom it was assigned to.":
                self.reconsidered,
            f"{self.redecided:,} times what the policy makes of corrected data, or its reasons in "
            f"a notice, were computed again.": self.redecided,
            f"What members were shown (people, features, scores, pairs, guidelines) is what they "
            f"signed, in {self.shown:,} acts.": self.shown,
        }  # fmt: skip
        return [sentence for sentence, shown in sentences.items() if shown] + self.kept

    @property
    def unproved(self) -> list[str]:
        unknown = self.seed == "unknown"
        sentences = {
            "Decisions and draws were not recomputed: that needs the seed, which its owner has "
            "not published.": unknown,
            f"{self.skipped:,} decisions were not recomputed, since somebody before them left "
            f"nothing to recompute from.": self.skipped and not unknown,
            f"Which pairs panels were asked about in {self.unasked:,} rounds was not recomputed: "
            f"it was learnt from people whose features are gone. That the pairs were possible, and "
            f"the draw, was.": self.unasked,
            f"Whose turn it was follows from the doubts on record, {self.unforeseen:,} times: they "
            f"were made of features that are gone, or were not given here.": self.unforeseen,
            f"{self.elsewhere:,} decisions were taken by the institution itself: they are what it "
            f"sent, and nothing here says how it came by them.": self.elsewhere,
            f"{len(self.erased):,} people were erased. Their decisions were recomputed from "
            f"surrogates whom the class cannot tell from them; that the surrogates resemble them "
            f"in anything else is not shown.": self.erased and self.decisions,
            f"{self.ended:,} audits were ended by the operator before the panel was done.":
                self.ended,
            "That the seed was not chosen for its draws, or who arrives for them: its owner knows "
            "it. Hold a receipt from before the first round.": self.decisions or self.draws,
            f"What members were shown in {self.unshown:,} signed acts: features of it are gone, or "
            f"were not given here.": self.unshown,
            f"That {self.untranslated:,} signed acts are about the rounds and pairs of the records "
            f"that follow them: members sign the names that they were shown, and these need the "
            f"seed.": self.untranslated,
            f"That {self.labels:,} labels are true: they are what the institution sent.":
                self.labels,
            f"That a person decided on {self.entrusted:,} appeals: the institution's own programs, "
            f"or somebody at the machine, say who did.": self.entrusted,
            f"{self.unexplained:,} times what the policy makes of corrected data, or its reasons "
            f"in a notice, could not be computed again, or nobody had at the time.":
                self.unexplained,
        }  # fmt: skip
        return [sentence for sentence, applies in sentences.items() if applies] + self.unkept

    def text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        receipt = self.receipt
        yield f"Docket {receipt.docket}: {receipt.size:,} records, {self.rounds:,} rounds."
        yield f"Receipt: {receipt.origin}, {receipt.size:,} records, root {encoded(receipt.root)}"
        yield ""
        if self.holds:
            yield "THE LEDGER HOLDS."
            yield from ("  " + line for line in self.proved)
        else:
            number = len(self.differences)
            yield f"THE LEDGER DOES NOT HOLD: {number:,} difference{'s' if number > 1 else ''}."
            yield from (f"  {difference}" for difference in self.differences[:PRINTED])
            if number > PRINTED:
                yield f"  … and {number - PRINTED:,} more."
            yield "  Begin with the first: those after it may follow from it."
        if self.unproved:
            yield ""
            yield "Not shown:"
            yield from ("  " + line for line in self.unproved)


@dataclass(frozen=True)
class Evidence:
    """A docket's ledger; ``unreadable`` says why some records are not among it.

    ``payloads`` is None if there are none to check; ``receipt`` is the one beside an export;
    ``subtrees`` are the roots that a database keeps, by level and number.
    """

    docket: str
    records: Sequence[Record]
    payloads: Mapping[str, Payload] | None = None
    secret: tuple[int, bytes] | None = None
    unreadable: Mapping[int, str] = field(default_factory=dict)
    receipt: Checkpoint | None = None
    subtrees: Mapping[tuple[int, int], bytes] = field(default_factory=dict)

    @cached_property
    def log(self) -> Log:
        return Log.of(record.entry for record in self.records)

    @property
    def origin(self) -> str:
        """The name of the log, which has the key of the first record, if there is one."""
        key = str(self.records[0].body.get("key")) if self.records else ""
        try:
            return origin_of(self.docket, PublicKey(key))
        except LikewiseError:
            return f"(unknown)/{self.docket}"

    def checkpoint(self, size: int | None = None) -> Checkpoint:
        """Return the unsigned size and root of the first records, or of all."""
        return Checkpoint.of(self.origin, self.log.tree(size))

    def stored_faults(self) -> Iterator[Difference]:
        """Compare the roots that a database keeps, from which proofs are made, with the records."""
        for (level, number), root in self.subtrees.items():
            number_below, rest = divmod(number, WIDTH)
            tile = self.log.tile(level, number_below)
            if rest >= len(tile) or tile[rest] != root:
                seq = (number + 1) * WIDTH**level
                recorded = f"The stored root of {WIDTH**level:,} records is {root.hex()[:16]}…."
                yield Difference(seq, "tree", recorded, "the one that follows from them.")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector, which would scan a ledger's records again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def evidence_of(store: Store, docket: str, *, personal: bool = True) -> Evidence:
    """Return all that a store holds of a docket at one moment, with payloads if ``personal``."""
    records, unreadable = [], {}
    try:
        with _uncollected(), store.view(docket) as view:
            for row in view.rows():
                try:
                    records.append(Record.of_row(docket, row))
                except LedgerBroken as error:
                    seq = error.seq if isinstance(error.seq, int) else len(records) + 1
                    unreadable[seq] = error.why
            payloads, secret = view.payloads() if personal else None, view.secret()
            subtrees = view.subtrees()
    except sa.exc.DatabaseError as error:
        raise StoreError(f"{store.where} cannot be read: {error.orig}") from error
    if not records and not unreadable:
        names = ", ".join(store.dockets()) or "none"
        raise ServiceError(
            "no-docket", 404, f"There is no docket {docket!r} in {store.where}; it has: {names}."
        )
    return Evidence(docket, records, payloads, secret, unreadable, subtrees=subtrees)


def walked(evidence: Evidence) -> Iterator[tuple[Record, Difference | None]]:
    """Yield every record with its own fault, if it has one.

    A record whose number was there already does not count as the next one.
    """
    last = 0
    for record in evidence.records:
        seq = last + 1
        while seq in evidence.unreadable:
            seq += 1
        fault = fault_of(evidence.docket, record, seq)
        yield record, None if fault is None else Difference(seq, "record", *fault)
        if record.seq >= seq:
            last = record.seq
