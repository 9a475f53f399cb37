"""A packet in words, as a letter or a file for the person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from likewise.service.clock import parse

OUTCOMES = {
    "report": "The panel reported pairs of this round as treated unlike though similar.",
    "quiet": "The panel reported nothing about this round.",
    "unaudited": "Too few of the panel responded, so it said nothing about this round.",
}
SEATS = {
    "asked": "has not responded so far", "finished": "has responded", "absent": "did not respond",
}  # fmt: skip


def packet_words(packet: Mapping[str, Any]) -> str:
    """The whole packet as a page of text."""
    return "\n".join(_lines(packet)) + "\n"


def _lines(packet: Mapping[str, Any]) -> Iterator[str]:
    decision, panel = packet["decision"], packet["panel"]
    yield f"The decision on {packet['person']}: {packet['title']}"
    yield f"Docket {packet['docket']}, round {packet['round']}, decided {_when(decision['at'])}."
    if packet["notice"]:
        yield packet["notice"]
    yield from _decision(packet, decision)
    yield from _origin(packet)
    yield from _features(packet)
    yield from _reasons(packet)
    yield from _panel(packet, panel)
    yield from _verification(packet)


def _when(at: str) -> str:
    """A time as people write it; months are numbers in every language.

    >>> _when("2026-03-01T12:05:00.250000Z")
    'on 2026-03-01 at 12:05 UTC'
    """
    return parse(at).strftime("on %Y-%m-%d at %H:%M UTC")


def _word(approved: bool) -> str:
    return "approved" if approved else "rejected"


def _decision(packet: Mapping[str, Any], decision: Mapping[str, Any]) -> Iterator[str]:
    """The decision that stands comes first, then how it came about."""
    decider = "The institution" if packet["chance_from"] is None else "The system"
    verdict, chance = _word(decision["approved"]), f"{100 * decision['chance']:.1f} %"
    yield ""
    yield f"The decision: {_word(decision['stands'])}."
    if decision["overridden"] is None:
        yield f"{decider} {verdict}, at a chance of approval of {chance}. Nobody decided otherwise."
        return
    why = decision["override_reason"] or "none was recorded, or it was erased"
    turned = "otherwise" if decision["overridden"] != decision["approved"] else "the same"
    yield f"{decider} had {verdict}, at a chance of approval of {chance}."
    yield f"Somebody who runs the docket then decided {turned}. Their reason: {why}."


def _origin(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "How it was decided:"
    yield f"  {packet['role']}"
    origin = packet["chance_from"]
    if origin is not None:
        yield (
            f"  The chance came from a policy over the class {origin['class']}, which had learned "
            f"from {origin['rounds_before']:,} rounds, {origin['labels_before']:,} known outcomes "
            f"and {origin['reports_before']:,} reports of the panel."
        )


def _features(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if packet["erased"]:
        yield f"The features were erased {_when(packet['erased'])}."
    elif not packet["features"]:
        yield "The features are not part of this file."
    else:
        yield "What was known of you, as it was given:"
        for feature in packet["features"]:
            hidden = "" if feature["shown_to_panel"] else " (not shown to the panel)"
            yield f"  {feature['title']}: {feature['value']}{hidden}"


def _reasons(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    decision = packet["decision"]
    if packet["chance_from"] is None:
        yield "The reasons for the chance are the institution's own. Ask it for them."
        return
    if not packet["reasons"]:
        yield "Reasons could not be computed again: that needs the features and the docket's seed."
        return
    yield "How each feature moved the chance, under the policy that decided, with all else equal:"
    yield from (f"  {reason['words']}" for reason in packet["reasons"])
    if decision["stands"]:
        return
    if decision["approved"]:
        yield (
            "The rejection is not the system's, which had approved. Its reason is that of whoever "
            "decided otherwise, above."
        )
    elif packet["letter"]:
        yield "Main reasons for the rejection:"
        yield from (f"  {number}. {line}" for number, line in enumerate(packet["letter"], 1))


def _panel(packet: Mapping[str, Any], panel: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if panel["seats"]:
        seats = ", ".join(f"{name} ({SEATS[state]})" for name, state in panel["seats"].items())
        yield f"A panel was asked, under the rule {panel['rule']}: {seats}."
    else:
        yield "No panel was asked about this round."
    for objection in packet["objections"]:
        withdrawn = objection["taken_back"]
        back = f" This was taken back {_when(withdrawn)}." if withdrawn else ""
        why = f" The reason given: {objection['reason']}." if objection["reason"] else ""
        yield (
            f"  {objection['member']} objected that you and {objection['other']} are similar and "
            f"were treated differently.{why}{back}"
        )
    if packet["outcome"]:
        yield OUTCOMES[packet["outcome"]]
    elif panel["seats"]:
        yield "The panel has not come to an end yet."
    for pair in packet["reported"]:
        yield f"  You were treated {pair['treated']} than {pair['other']}, found similar."
    if packet["label"] is not None:
        right = "right" if packet["label"] else "wrong"
        yield f"As it turned out later, says the institution, an approval would be {right}."


def _verification(packet: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    count, until = len(packet["records"]), packet["until"]
    yield "How to verify this file:"
    yield f"  It follows from {count} records of the round, in the ledger up to record {until:,}."
    yield "  Anybody can check its signature: likewise verify packet.json --key KEY, with"
    yield "  the key that the institution publishes. Whoever has the ledger adds --export FOLDER,"
    yield "  and every part is derived again."
    yield f"  Receipt: {packet['receipt']}"
    yield f"  Key: {packet['key']}"
