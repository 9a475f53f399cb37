"""The facts for a fundamental-rights impact assessment, by the parts of EU AI Act, Art. 27.

The ledger fills in what it knows; what only people can know is named, and left for them to write.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from likewise.learner.certificate import unseen_reports
from likewise.people.features import Feature
from likewise_service.clock import DAY, seconds_between
from likewise_service.dockets.docket import Docket
from likewise_service.language import rule_words, speaking

FORMAT = "likewise-assessment/1"
NOTE = (
    "Facts are counted from the ledger up to the receipt below. Whatever says “to be written” only "
    "people can know; without it this is no assessment. This is no legal advice."
)
TO_WRITE = "To be written"


class Part(NamedTuple):
    """A point of Art. 27(1): what the ledger knows of it, and what people have to write."""

    point: str
    title: str
    facts: Mapping[str, object]
    to_write: tuple[str, ...]


def assessment(docket: Docket) -> dict[str, Any]:
    """Return the parts of an assessment, for people to complete."""
    parts = (_process, _period, _people, _risks, _oversight, _measures, _beside)
    return {
        "format": FORMAT, "docket": docket.name, "title": docket.projection.settings.title,
        "as_of": docket.projection.at, "receipt": str(docket.receipt()), "note": NOTE,
        "parts": [part(docket)._asdict() for part in parts],
    }  # fmt: skip


def _process(docket: Docket) -> Part:
    projection, learner = docket.projection, docket.state.learner
    decider = "a learned policy, and a draw with the chance that it gives"
    if projection.audit_only:
        decider = "the institution, by means of its own; a panel audits"
    return Part("27(1)(a)", "The processes in which the system is used", {
        "decides": decider,
        "in shadow, so that decisions are not used": projection.settings.shadow,
        "class of policies": type(learner.hypotheses).__name__,
        "features": [_feature(feature) for feature in docket.schema.features],
    }, (
        "the process, the decision that it ends in, and who takes it on",
        "the intended purpose that the provider states, and how this use keeps within it",
    ))  # fmt: skip


def _feature(feature: Feature) -> str:
    hidden = "" if feature.visible else "; not shown to the panel"
    return f"{feature.title} ({feature.kind}, {feature.range_text}{hidden})"


def _period(docket: Docket) -> Part:
    counts = docket.projection.counts
    began = docket.store.records(docket.name, 0, 1)[0].at
    days = max(1.0, seconds_between(began, docket.projection.at) / DAY)
    return Part("27(1)(b)", "The period and frequency of use", {
        "docket opened": began, "last record": docket.projection.at,
        "rounds": counts["rounds"], "people decided on": counts["people"],
        "people a day": round(counts["people"] / days, 2),
    }, (
        "until when the system is to be used, and how often; when this is looked at again",
    ))  # fmt: skip


def _people(docket: Docket) -> Part:
    return Part("27(1)(c)", "The categories of people who are affected", {
        "people decided on": docket.projection.counts["people"],
    }, (
        "who they are and who else is affected; which of them are vulnerable (the ledger has the "
        "features above, and knows no groups)",
    ))  # fmt: skip


def _risks(docket: Docket) -> Part:
    counts, unseen = docket.projection.counts, unseen_reports(docket.state)
    labels = counts["labels"]
    return Part("27(1)(d)", "The risks of harm to them", {
        "rounds in which a panel reported two alike who were treated unlike": counts["report"],
        "rounds looked at": counts["looked_at"],
        "rounds that too few of the panel looked at": counts["unaudited"],
        "estimate of reports that nobody was asked about":
            f"{unseen.estimate:.1f}, between {unseen.low} and {unseen.high}",
        "share of known outcomes that the decision missed":
            round(counts["missed"] / labels, 4) if labels else "no outcome is known",
        "appeals decided": counts["appeals_decided"],
        "appeals that changed the decision": counts["appeals_changed"],
    }, (
        "the harms to the people above, how likely and how grave they are, with what the provider "
        "says under Art. 13",
        "what a wrong rejection, and a wrong approval, costs the person",
    ))  # fmt: skip


def _oversight(docket: Docket) -> Part:
    projection, settings = docket.projection, docket.projection.settings
    deadline = settings.deadline
    with speaking("en"):  # as all of it
        rule = f"a pair is reported if {rule_words(projection.rule)}"
    return Part("27(1)(e)", "Human oversight", {
        "members of the panel": len(projection.members), "rule": rule,
        "quorum": settings.quorum,
        "time for a review": "none" if deadline is None else f"{deadline / DAY:g} days",
        "rounds looked at": projection.counts["looked_at"],
        "decisions that people overrode": projection.counts["overrides"],
        "guidelines for members are on record": bool(projection.guidelines),
    }, (
        "who the members and the reviewers of appeals are, their training, authority and time",
        "how the provider's instructions for use are followed",
    ))  # fmt: skip


def _measures(docket: Docket) -> Part:
    projection, counts = docket.projection, docket.projection.counts
    governance = projection.governance
    kept = {"features": governance.features_days, "reasons": governance.reasons_days}
    return Part("27(1)(f)", "Measures where risks become real: governance and complaints", {
        "days within which a person reconsiders": projection.appeal_days,
        "appeals": counts["appeals"], "not decided": len(projection.appeals),
        "overdue": projection.overdue_appeals,
        "decided late": counts["appeals_late"],
        "notices given before a decision": counts["notices_before"],
        "notices of a rejection": counts["notices_after"],
        **{f"{name} are kept": "always" if days is None else f"{days:g} days after the end"
           for name, days in kept.items()},
        "legal holds": len(governance.holds),
        "places where heads are anchored": len(governance.anchors),
    }, (
        "what is done when a risk becomes real, by whom, and who is told",
        "where complaints go, and how people learn of that",
    ))  # fmt: skip


def _beside(_: Docket) -> Part:
    return Part("27(2) to (5)", "Beside the assessment", {}, (
        "when it is brought up to date; the notice to the market surveillance authority",
        "the data-protection impact assessment (GDPR, Art. 35) that this one complements",
    ))  # fmt: skip


def assessment_markdown(content: Mapping[str, Any]) -> str:
    return "\n".join(_markdown(content)) + "\n"


def _markdown(content: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Fundamental-rights impact assessment: {_plain(content['title'])}"
    yield f"\n{content['note']}\n\nAs of {content['as_of']}. Receipt: `{content['receipt']}`"
    for part in content["parts"]:
        yield f"\n## Art. {part['point']}: {part['title']}\n"
        for name, value in part["facts"].items():
            if isinstance(value, list):
                yield f"- {name}:"
                yield from (f"  - {_plain(item)}" for item in value)
            else:
                words = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
                yield f"- {name}: {_plain(words)}"
        yield from (f"\n> **{TO_WRITE}:** {text}." for text in part["to_write"])


def _plain(text: object) -> str:
    """Return text that Markdown shows as it is, in one line.

    >>> _plain("a*b\\n# c")
    'a\\\\*b \\\\# c'
    """
    line = " ".join(str(text).split())
    return "".join(f"\\{char}" if char in r"\`*_{}[]<>#|" else char for char in line)
