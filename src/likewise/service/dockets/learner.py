"""From records to the learner: which records are events of the fold, and with whose features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from likewise.auditing.panel import panel_name
from likewise.errors import LikewiseError
from likewise.events import Arrived, Event, Person, event_from_json
from likewise.learning import State, apply
from likewise.service.ledger.payloads import features_of
from likewise.service.ledger.records import Record

__all__ = ["advance", "core_event", "digests_needed", "surrogates"]

_FOLDED = ("decided", "overridden", "audited", "labelled", "closed")

Contents = Mapping[str, Mapping[str, object]]
Replaced = Mapping[tuple[str, str], str | None]


def advance(state: State, record: Record, contents: Contents, replaced: Replaced) -> State:
    """The learner after a record; whoever was erased is forgotten by it too."""
    if record.kind == "erased":
        digest = record.body["digest"]
        if digest is None or digest not in contents:
            return state
        features = features_of(contents[digest])
        return _forgetting(state, record.body["round"], record.body["person"], features)
    event = core_event(record, contents, replaced)
    return state if event is None else apply(state, event)


def _forgetting(state: State, round_id: str, person: str, features: tuple[float, ...]) -> State:
    """The same state, with a surrogate for somebody; their point, and so every cost, stays."""
    round_ = state.open.get(round_id)
    if round_ is None:
        return state
    people = tuple(Person(p.id, features) if p.id == person else p for p in round_.people)
    changed = replace(round_, people=people)
    return replace(state, open=MappingProxyType({**state.open, round_id: changed}))


def core_event(record: Record, contents: Contents, replaced: Replaced) -> Event | None:
    """The event of the fold that a record stands for; None for records that do not concern it.

    ``contents`` are payloads by digest; ``replaced`` says by which surrogate somebody who was
    erased is replaced.
    """
    body = record.body
    if record.kind == "arrived":
        people = []
        for person in body["people"]:
            digest = replaced.get((body["round"], person["id"]), person["digest"])
            if digest is None or digest not in contents:
                raise LikewiseError(
                    f"Record {record.seq}: the features of {person['id']!r} in round "
                    f"{body['round']!r} are not in the store."
                )
            people.append(Person(person["id"], features_of(contents[digest])))
        return Arrived(body["round"], tuple(people))
    if record.kind == "sealed":
        panel = panel_name(body["members"], body["rule"]) if body["members"] else "nobody"
        return event_from_json({"event": "sealed", "round": body["round"], "panel": panel})
    if record.kind in _FOLDED:
        known = {key: value for key, value in body.items() if key != "reason"}
        return event_from_json({"event": record.kind, **known})
    return None


def surrogates(records: Iterable[Record]) -> dict[tuple[str, str], str | None]:
    """Who was erased: (round, person) and the digest of the surrogate, if there is one."""
    return {
        (r.body["round"], r.body["person"]): r.body["digest"] for r in records if r.kind == "erased"
    }


def digests_needed(records: Iterable[Record], replaced: Replaced) -> list[str]:
    """The payloads without which the records cannot be folded."""
    needed: list[str | None] = []
    for record in records:
        if record.kind == "arrived":
            mine = record.body["round"]
            needed += [replaced.get((mine, p["id"]), p["digest"]) for p in record.body["people"]]
        elif record.kind == "erased":
            needed.append(record.body["digest"])
    return [digest for digest in needed if digest is not None]
