"""The projection of a docket: the view that is rebuilt from its ledger, record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from likewise.auditing import MemberObjections, Objections, Pair
from likewise.events import Decision, Outcome
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import LedgerBroken, ServiceError
from likewise.service.ledger.records import FORMAT, Head, Record

__all__ = ["Projection", "Repeat", "Round", "instant"]


def instant(at: str) -> datetime:
    """A record's time.

    >>> instant("2026-03-01T12:00:00.000000Z").year
    2026
    """
    return datetime.fromisoformat(at)


@dataclass
class Round:
    """What the ledger says about one round, at one moment: a later record makes another value.

    ``seats`` says of every member whether they are still ``asked``, have ``reviewed``, or were
    ``absent``; ``objections`` holds the digest of each reason, if there is one; ``reasons`` has
    all that were ever given, also for objections that were taken back.
    """

    id: str
    number: int
    opened: str
    people: dict[str, str] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    sealed: str | None = None
    rule: str = ""
    drawn: bool = False
    due: str | None = None
    seats: dict[str, str] = field(default_factory=dict)
    objections: dict[str, dict[Pair, str | None]] = field(default_factory=dict)
    reasons: dict[str, Pair] = field(default_factory=dict)
    outcome: Outcome | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    audited: str | None = None
    labels: dict[str, int] = field(default_factory=dict)
    overrides: dict[str, bool] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    closed: str | None = None

    @property
    def status(self) -> str:
        """``arriving``, ``in audit``, ``awaiting labels`` or ``closed``."""
        if self.closed:
            return "closed"
        if self.sealed is None:
            return "arriving"
        return "in audit" if self.outcome is None else "awaiting labels"

    def askable(self, sensitivity: int) -> list[tuple[str, str, int]]:
        """The pairs that could be reported at all, (over, under, gap), the largest gap first."""
        ranked = sorted(self.decisions.values(), key=lambda d: (-d.score, d.person))
        found = [
            (over.person, under.person, over.score - under.score)
            for place, over in enumerate(ranked)
            for under in ranked[place + 1 :]
            if over.score - under.score > sensitivity
        ]
        return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))

    def spoken(self, seats: Mapping[str, str] | None = None) -> Objections:
        """What the panel said; whoever has not reviewed the round counts as absent."""
        return Objections(
            tuple(self.decisions),
            {
                member: MemberObjections(pairs=self.objections.get(member, {}))
                if seat == "reviewed"
                else MemberObjections(present=False)
                for member, seat in (self.seats if seats is None else seats).items()
            },
        )


@dataclass(frozen=True)
class Repeat:
    """An earlier round that a member was shown again, and what they said this time.

    ``reasons`` holds the digest of each reason, if there is one; until it is ``done`` the member
    may still change their mind. ``audits`` is how many audits the docket had ended by then.
    """

    member: str
    round: str
    reasons: Mapping[Pair, str | None]
    done: bool
    audits: int

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs objected to this time."""
        return tuple(sorted(self.reasons))


class Projection:
    """All that a docket's records say, as far as they have been taken in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.head, self.at = Head(), ""
        self.spec: DocketSpec | None = None
        self.commitment = ""
        self.members: list[str] = []
        self.rule = ""
        self.rounds: dict[str, Round] = {}
        self._open: dict[str, Round] = {}
        self.repeats: dict[tuple[str, str], Repeat] = {}
        self.audits: list[str] = []
        self.revealed: tuple[int, str] | None = None

    @property
    def settings(self) -> DocketSpec:
        """The docket's settings."""
        if self.spec is None:
            raise ServiceError("no-docket", 404, f"There is no docket {self.name!r}.")
        return self.spec

    def round(self, round_id: str) -> Round:
        """The round of that id."""
        if round_id not in self.rounds:
            raise ServiceError(
                "no-round", 404,
                f"The docket {self.name!r} has no round {round_id!r}. Its rounds are listed at "
                f"/v1/dockets/{self.name}/rounds.",
            )  # fmt: skip
        return self.rounds[round_id]

    def open_rounds(self) -> Iterable[Round]:
        """Rounds that are not closed, the oldest first."""
        return list(self._open.values())

    def awaiting(self, member: str) -> list[Round]:
        """The rounds that a member is asked to review, the oldest first."""
        return [r for r in self.open_rounds() if r.seats.get(member) == "asked" and not r.outcome]

    def take(self, record: Record) -> None:
        """Take in the next record."""
        handler = _HANDLERS.get(record.kind)
        if handler is None:
            raise LedgerBroken(
                self.name, record.seq, f"{record.kind!r} is no kind of record that {FORMAT} has."
            )
        handler(self, record, dict(record.body))
        self.head, self.at = record.head, record.at

    def edit(self, round_id: str) -> Round:
        """A copy of a round to change, in its place; who holds the old one sees no change."""
        old = self.rounds[round_id]
        copies = {name: getattr(old, name).copy() for name in _COPIED}
        said = {member: pairs.copy() for member, pairs in old.objections.items()}
        fresh = replace(old, **copies, objections=said)
        self.rounds[round_id] = fresh
        if fresh.closed is None:
            self._open[round_id] = fresh
        return fresh

    def end(self, round_id: str) -> None:
        """A round is not open any more."""
        self._open.pop(round_id, None)


_COPIED = ("people", "decisions", "seats", "reasons", "labels", "overrides", "erased")

Handler = Callable[[Projection, Record, dict[str, Any]], None]


def _opened(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    if body["format"] != FORMAT:
        raise LedgerBroken(
            projection.name, 1, f"it has the format {body['format']!r}, not {FORMAT!r}."
        )
    projection.spec = DocketSpec.from_json(body["spec"])
    projection.commitment = body["seed_commitment"]
    projection.members, projection.rule = list(projection.spec.members), projection.spec.rule


def _joined(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.members.append(body["member"])


def _left(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.members.remove(body["member"])


def _rule(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.rule = body["rule"]


def _arrived(projection: Projection, record: Record, body: dict[str, Any]) -> None:
    name = body["round"]
    if name not in projection.rounds:
        projection.rounds[name] = Round(name, len(projection.rounds) + 1, record.at)
    projection.edit(name).people.update({p["id"]: p["digest"] for p in body["people"]})


def _decided(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    decisions = (Decision(**d) for d in body["decisions"])
    projection.edit(body["round"]).decisions.update({d.person: d for d in decisions})


def _sealed(projection: Projection, record: Record, body: dict[str, Any]) -> None:
    round_ = projection.edit(body["round"])
    round_.sealed, round_.rule, round_.due = record.at, body["rule"], body["due"]
    round_.drawn = body["drawn"]
    round_.seats = dict.fromkeys(body["members"], "asked")


def _objected(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    round_, pair = projection.edit(body["round"]), Pair.of(body["pair"])
    round_.objections.setdefault(body["member"], {})[pair] = body["reason"]
    if body["reason"] is not None:
        round_.reasons[body["reason"]] = pair


def _withdrawn(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    del projection.edit(body["round"]).objections[body["member"]][Pair.of(body["pair"])]


def _seat(seat: str) -> Handler:
    def take(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
        projection.edit(body["round"]).seats[body["member"]] = seat

    return take


def _audited(projection: Projection, record: Record, body: dict[str, Any]) -> None:
    round_ = projection.edit(body["round"])
    round_.outcome, round_.audited = body["outcome"], record.at
    round_.pairs = tuple((over, under) for over, under in body["pairs"])
    projection.audits.append(round_.id)


def _labelled(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.edit(body["round"]).labels[body["person"]] = body["label"]


def _overridden(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.edit(body["round"]).overrides[body["person"]] = body["approved"]


def _closed(projection: Projection, record: Record, body: dict[str, Any]) -> None:
    projection.edit(body["round"]).closed = record.at
    projection.end(body["round"])


def _repeated(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    said = {Pair.of(one["pair"]): one["reason"] for one in body["said"]}
    place = (body["member"], body["round"])
    projection.repeats[place] = Repeat(*place, said, body["done"], len(projection.audits))


def _erased(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    round_ = projection.edit(body["round"])
    round_.people[body["person"]] = body["digest"]
    round_.erased.add(body["person"])


def _revealed(projection: Projection, record: Record, body: dict[str, Any]) -> None:  # noqa: ARG001
    projection.revealed = (int(body["seed"]), body["salt"])


_HANDLERS: dict[str, Handler] = {
    "docket-opened": _opened,
    "member-joined": _joined,
    "member-left": _left,
    "rule-changed": _rule,
    "arrived": _arrived,
    "decided": _decided,
    "sealed": _sealed,
    "objected": _objected,
    "withdrawn": _withdrawn,
    "reviewed": _seat("reviewed"),
    "reopened": _seat("asked"),
    "absent": _seat("absent"),
    "audited": _audited,
    "labelled": _labelled,
    "overridden": _overridden,
    "closed": _closed,
    "repeated": _repeated,
    "erased": _erased,
    "seed-revealed": _revealed,
}
