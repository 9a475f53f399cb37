"""From records to the learner: which records are events of the fold, and with whose features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from likewise.auditing.panel import panel_name
from likewise.errors import LikewiseError
from likewise.events import Arrived, Event, Person, event_from_json
from likewise.service.personal import features_of
from likewise.service.records import Record

__all__ = ["core_event", "digests_needed", "stand_ins"]

_FOLDED = ("decided", "overridden", "audited", "labelled", "closed")

Contents = Mapping[str, Mapping[str, object]]


def core_event(
    record: Record, contents: Contents, replaced: Mapping[tuple[str, str], str]
) -> Event | None:
    """The event of the fold that a record stands for; None for records that do not concern it.

    ``contents`` are payloads by digest; ``replaced`` says by which stand-in somebody who was
    erased is replaced.
    """
    body = record.body
    if record.kind == "arrived":
        people = []
        for person in body["people"]:
            digest = replaced.get((body["round"], person["id"]), person["digest"])
            if digest not in contents:
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


def stand_ins(records: Iterable[Record]) -> dict[tuple[str, str], str]:
    """Who was erased: (round, person) and the digest of the stand-in."""
    return {
        (r.body["round"], r.body["person"]): r.body["digest"] for r in records if r.kind == "erased"
    }


def digests_needed(records: Iterable[Record], replaced: Mapping[tuple[str, str], str]) -> list[str]:
    """The payloads without which the records cannot be folded."""
    return [
        replaced.get((record.body["round"], person["id"]), person["digest"])
        for record in records
        if record.kind == "arrived"
        for person in record.body["people"]
    ]
