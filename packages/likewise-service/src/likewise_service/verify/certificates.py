"""The certificate of a docket: a signed bound on its learner's regret, from the fold."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner.bounds import IN_EXPECTATION
from likewise.learner.certificate import certificate, unseen_reports
from likewise.learner.evidence import OneSided
from likewise.learner.state import State
from likewise_service.dockets.docket import Docket
from likewise_service.errors import ServiceError
from likewise_service.language import N_, _, number
from likewise_service.ledger.notes import Checkpoint
from likewise_service.verify import receipts
from likewise_service.verify.evidence import Evidence, Replayed
from likewise_service.verify.replay import replay_evidence

FORMAT = "likewise-certificate/1"
# The parts of a certificate besides its content.
SIGNED = ("docket", "receipt", "key", "signature")


def certificate_content(
    state: State, *, confidence: float = 0.95, wrong_reports: int = 0,
    one_sided: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the certificate of the run that led to a state, with its parameters.

    ``one_sided`` is what the closed rounds say with high probability, where labels are one-sided.
    ``loss`` is the unit of regret, where errors do not all weigh 1.
    """
    run = certificate(state, confidence=confidence, wrong_reports=wrong_reports)
    noun = state.learner.loss.noun
    return {
        "format": FORMAT, "confidence": confidence, "wrong_reports": wrong_reports,
        "rounds": run.rounds, "people_a_round": run.k, **run.to_json(),
        "unseen_reports": unseen_reports(state, confidence=confidence).to_json(),
        "one_sided": None if one_sided is None else dict(one_sided),
        **({} if noun == "errors" else {"loss": noun}),
    }  # fmt: skip


def is_certified(docket: Docket) -> bool:
    """Tell if a learner decides in a docket, and listens to the panel."""
    return not (docket.projection.audit_only or docket.state.learner.ignores_reports)


def give_certificate(
    docket: Docket, *, confidence: float = 0.95, wrong_reports: int = 0,
    one_sided: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    if not is_certified(docket):
        raise ServiceError(
            "no-certificate", 404,
            "Nothing is certified here: the institution decides, or the learner ignores reports.",
        )  # fmt: skip
    content = certificate_content(
        docket.state, confidence=confidence, wrong_reports=wrong_reports, one_sided=one_sided
    )
    content |= {"docket": docket.name, "receipt": str(docket.receipt())}
    return receipts.sign_document("certificate", content, docket.store.keys.current())


def add_certificate(findings: Replayed) -> None:
    """Compute the certificate at the end of a replay, if the learner could be rebuilt."""
    state = findings.state
    if state is None or not findings.decisions or state.learner.ignores_reports:
        return
    one_sided = _one_sided(findings, state) if OneSided(state.learner).proved else None
    findings.certificate = content = certificate_content(state, one_sided=one_sided)
    findings.kept.append(certificate_words(content))


def _one_sided(
    findings: Replayed, state: State, part: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the rounds say that had closed by a state.

    Given a ``part`` of a certificate, only as many rounds count as it names: it may be older.
    """
    sums, outstanding = OneSided(state.learner), {round_.number for round_ in state.open.values()}
    last = state.opened if part is None else min(part["rounds"], state.opened)
    for round_ in sorted(findings.closed, key=lambda closed: closed.number):
        if round_.number <= last and round_.number not in outstanding:
            sums.take(round_)
    if part is None or part["incomplete"] != sums.rounds + 1:
        return sums.to_json()
    return sums.to_json() | {"incomplete": part["incomplete"]}  # it claims less, not more


# The library's words for when a certificate holds, with places for numbers.
HOLDS = (
    N_("surely"),
    N_("surely, of the published scores"),
    N_("in expectation, against an oblivious adversary"),
    N_(
        "with probability %(chance)s at all times at once, if a round's labels depend on nothing "
        "of its own draws"
    ),
    N_(
        "with probability %(chance)s at all times at once, if a round's labels depend on nothing "
        "of its own draws, and neither its people nor its labels on later ones"
    ),
    N_(
        "with probability %(chance)s at one look, if a round's labels, and which of them have "
        "come, depend on nothing of its own draws"
    ),
    N_("as an estimate only: labels that nobody saw are made up for"),
    N_(
        "as an estimate only: some decisions were overridden, so that our chances of approval do "
        "not count"
    ),
    N_("as an estimate only: some labels of approved people never came"),
    N_("as an estimate only: some labels of approved people are still to come"),
)


def holds_words(holds: str) -> str:
    """Say when a certificate holds, in the language in use."""
    holds, _sep, wrong = holds.partition(", if at most ")
    words = holds  # of other versions, as they wrote it
    for text in HOLDS:
        pattern = re.escape(text).replace(r"%\(chance\)s", "([0-9.e+-]+)")
        if match := re.fullmatch(pattern, holds):
            chances = match.groups()
            words = _(text, chance=_decimal(chances[0])) if chances else _(text)
    if not wrong:
        return words
    count = number(int(wrong.removesuffix(" reports are wrong").replace(",", "")))
    return _("%(holds)s, if at most %(count)s reports are wrong", holds=words, count=count)


def _decimal(text: str) -> str:
    return text if "e" in text else number(float(text), len(text.partition(".")[2]))


def certificate_words(content: Mapping[str, Any]) -> str:
    """Say what a certificate bounds, and when it holds, in the language in use."""
    return " ".join(paragraphs(content))


def paragraphs(content: Mapping[str, Any]) -> list[str]:
    """Return the words of a certificate, those on one-sided labels in a paragraph of their own."""
    text = receipts.document_template("certificate.txt").render(
        content=content, loss=content.get("loss"), unseen=content["unseen_reports"],
        one_sided=content.get("one_sided"), in_expectation=IN_EXPECTATION, _=_, number=number,
        decimal=lambda chance: _decimal(f"{chance:g}"), holds_words=holds_words, ceil=math.ceil,
    )  # fmt: skip
    return [" ".join(part.split("\n")) for part in text.strip().split("\n\n")]


def check_certificate(
    document: Mapping[str, Any],
    keys: receipts.KnownKeys | None = None,
    evidence: Evidence | None = None,
) -> list[str]:
    """Return the faults of a certificate: its signature, and what differs from the ledger."""
    if fault := receipts.document_fault("certificate", document, keys):
        return [fault]
    return [] if evidence is None else _differences(document, evidence)


def _differences(document: Mapping[str, Any], evidence: Evidence) -> list[str]:
    receipt = Checkpoint.parse(document["receipt"])
    (verified,) = receipts.verify_all(evidence, [receipt])
    if not verified.holds or document["docket"] != evidence.docket:
        return [f"The ledger is not the one of the certificate's receipt: {verified.sentence}"]
    findings = replay_evidence(evidence, keep=receipt.size)
    state, part = findings.kept_state, document.get("one_sided")
    if state is None:
        raise LikewiseError(
            "The certificate cannot be computed again: that needs the seed, and everybody's "
            "features or surrogates. Give --database, or an export with both."
        )
    again = certificate_content(
        state, confidence=document["confidence"], wrong_reports=document["wrong_reports"],
        one_sided=None if part is None else _one_sided(findings, state, part),
    )  # fmt: skip
    return [
        f"It says {name} = {json.dumps(document.get(name))}; by the ledger it is "
        f"{json.dumps(again.get(name))}."
        for name in {**again, **document}
        if name not in SIGNED and not _same(document.get(name), again.get(name))
    ]


def _same(part: object, value: object) -> bool:
    """Compare two values; the logarithm of another machine may differ in the last digit."""
    if isinstance(value, dict):
        return isinstance(part, dict) and all(
            _same(part.get(name), value.get(name)) for name in {**value, **part}
        )
    if isinstance(value, float) and isinstance(part, (int, float)):
        return math.isclose(part, value, rel_tol=1e-9, abs_tol=1e-9)
    return part == value
