"""Findings of a replay: differences, each with its place, and what is proved by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from likewise.service.dockets.learner import State
from likewise.service.ledger.records import Receipt

__all__ = ["Difference", "Replayed"]

SHOWN = 20


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it should be; ``seq`` is the record, or the line of an export.

    ``about`` is chain, seed, payload, order, decision, lottery, panel, audit, erasure, learner,
    receipt, actor, signature, anchor, time, export or snapshot.
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

    ``decisions`` were recomputed, ``skipped`` could not be, ``elsewhere`` are the institution's
    own; ``draws`` are those of the lottery,
    ``audits`` the outcomes that follow from objections and rule, ``repeats`` the records about
    rounds that the lottery of hidden repeats has shown again, ``ended`` the audits that the
    operator ended before the panel was done. ``erased`` are (round, person) whose features are
    those of a surrogate now, ``wholly`` those of whom nothing is left. ``kept`` and ``unkept`` are
    sentences about the ledger's keeping: keys, actors, members' signatures and anchors.
    """

    receipt: Receipt
    differences: list[Difference] = field(default_factory=list)
    seed: str = "unknown"
    rounds: int = 0
    decisions: int = 0
    skipped: int = 0
    elsewhere: int = 0
    draws: int = 0
    erased: list[tuple[str, str]] = field(default_factory=list)
    wholly: list[tuple[str, str]] = field(default_factory=list)
    audits: int = 0
    repeats: int = 0
    ended: int = 0
    payloads: int = 0
    state: State | None = None
    kept: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Tell if nothing differs."""
        return not self.differences

    @property
    def proved(self) -> list[str]:
        """All that this replay has shown, in sentences."""
        count = self.receipt.head.seq
        found = [
            f"The {count:,} records follow one another, each with the hash of the one before. That "
            f"nothing was rewritten before that, an older receipt shows: likewise verify --head.",
            f"The panels were those that membership and rule prescribe, and {self.audits:,} "
            f"outcomes follow from the objections.",
        ]
        if self.payloads:
            found.append(f"{self.payloads:,} personal payloads are those that were recorded.")
        if self.seed in ("held", "revealed"):
            found.append("The seed is the one that was committed to before the first round.")
            found.append(f"{self.draws:,} draws of the audit lottery are those of the seed.")
        if self.repeats:
            found.append(
                f"{self.repeats:,} records are about rounds that were shown again, each by the "
                f"lottery of hidden repeats."
            )
        if self.decisions:
            found.append(f"{self.decisions:,} decisions, with their scores, were taken again.")
        return found + self.kept

    @property
    def unproved(self) -> list[str]:
        """All that it has not shown, and why."""
        found = []
        if self.seed == "unknown":
            found.append(
                "Decisions and lottery were not recomputed: that needs the seed, which its owner "
                "has not published."
            )
        elif self.skipped:
            found.append(
                f"{self.skipped:,} decisions were not recomputed, since somebody before them left "
                f"nothing to recompute from."
            )
        if self.elsewhere:
            found.append(
                f"{self.elsewhere:,} decisions were taken by the institution itself: they are what "
                f"it sent, and nothing here says how it came by them."
            )
        if self.erased and self.decisions:
            found.append(
                f"{len(self.erased):,} people were erased. Their decisions were recomputed from "
                f"surrogates whom the class cannot tell from them; that the surrogates resemble "
                f"them in anything else is not shown."
            )
        if self.ended:
            found.append(
                f"{self.ended:,} audits were ended by the operator before the panel was done."
            )
        return found + self.unkept

    def text(self) -> str:
        """The findings as a page of text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        head = self.receipt.head
        yield f"Docket {self.receipt.docket}: {head.seq:,} records, {self.rounds:,} rounds."
        yield f"Receipt: {self.receipt}"
        yield ""
        if self.holds:
            yield "THE LEDGER HOLDS."
            yield from ("  " + line for line in self.proved)
        else:
            number = len(self.differences)
            yield f"THE LEDGER DOES NOT HOLD: {number:,} difference{'s' if number > 1 else ''}."
            yield from ("  " + str(difference) for difference in self.differences[:SHOWN])
            if number > SHOWN:
                yield f"  … and {number - SHOWN:,} more."
            yield "  Begin with the first: those after it may follow from it."
        if self.unproved:
            yield ""
            yield "Not shown:"
            yield from ("  " + line for line in self.unproved)
