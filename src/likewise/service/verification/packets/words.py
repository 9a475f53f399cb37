"""A packet in words, as a letter or a file for the person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["packet_words"]

OUTCOMES = {"report": "reported pairs", "quiet": "reported nothing", "unaudited": "did not count"}


def packet_words(packet: Mapping[str, Any]) -> str:
    """The whole packet as a page of text."""
    return "\n".join(_lines(packet)) + "\n"


def _lines(packet: Mapping[str, Any]) -> Iterator[str]:
    decision, origin, panel = packet["decision"], packet["chance_from"], packet["panel"]
    yield f"The decision on {packet['person']}: {packet['title']}"
    yield f"Docket {packet['docket']}, round {packet['round']}, decided at {decision['at']}."
    if packet["notice"]:
        yield packet["notice"]
    yield ""
    yield from _decision(decision)
    yield packet["role"]
    yield (
        f"The chance came from a policy over the class {origin['class']}, which had learned from "
        f"{origin['rounds_before']:,} rounds, {origin['labels_before']:,} known outcomes and "
        f"{origin['reports_before']:,} reports of the panel."
    )
    yield from _features(packet)
    yield from _reasons(packet)
    yield from _panel(packet, panel)
    yield from _verification(packet)


def _decision(decision: Mapping[str, Any]) -> Iterator[str]:
    said = "approved" if decision["approved"] else "rejected"
    yield f"The system {said}, at a chance of approval of {100 * decision['chance']:.1f} %."
    if decision["overridden"] is not None:
        now = "approved" if decision["overridden"] else "rejected"
        why = decision["override_reason"] or "no reason was recorded, or it was erased"
        yield f"Somebody decided otherwise: {now}. Their reason: {why}."


def _features(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if packet["erased"]:
        yield f"The features were erased at {packet['erased']}."
    elif not packet["features"]:
        yield "The features are not part of this file."
    else:
        yield "Features, as they were given:"
        for one in packet["features"]:
            hidden = "" if one["shown_to_panel"] else " (not shown to the panel)"
            yield f"  {one['title']}: {one['value']}{hidden}"


def _reasons(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if not packet["reasons"]:
        yield "Reasons could not be computed again: that needs the features and the docket's seed."
        return
    yield "How each feature moved the chance, under the policy that decided, with all else equal:"
    for one in packet["reasons"]:
        yield f"  {one['words']}"
    if packet["letter"] and not packet["decision"]["stands"]:
        yield "Main reasons for the rejection:"
        yield from (f"  {number}. {line}" for number, line in enumerate(packet["letter"], 1))


def _panel(packet: Mapping[str, Any], panel: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if panel["seats"]:
        seats = ", ".join(f"{name} ({state})" for name, state in panel["seats"].items())
        yield f"A panel was asked, under the rule {panel['rule']}: {seats}."
    else:
        yield "No panel was asked about this round."
    for one in packet["objections"]:
        back = f", taken back at {one['taken_back']}" if one["taken_back"] else ""
        why = f": {one['reason']}" if one["reason"] else ""
        yield f"  {one['member']} objected to this person and {one['other']}{back}{why}"
    if packet["outcome"]:
        yield f"The panel {OUTCOMES[packet['outcome']]}."
    for one in packet["reported"]:
        yield f"  This person was treated {one['treated']} than {one['other']}, found similar."
    if packet["label"] is not None:
        yield f"How it turned out later: {packet['label']}."


def _verification(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    count, until = len(packet["records"]), packet["until"]
    yield f"It follows from {count} records of the round, in the ledger up to {until:,}."
    yield "How to verify it: likewise verify --packet FILE, with --key as the institution publishes"
    yield "it; whoever has the ledger adds --export FOLDER, and every part is derived again."
    yield f"Receipt: {packet['receipt']}"
    yield f"Key: {packet['key']}"
