"""The certificate of a docket: the regret that its learner can have had, from the fold, signed."""

import json
import math
from collections.abc import Mapping
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner.certificate import certificate, unseen_reports
from likewise.learner.evidence import Evidence as Rounds
from likewise.learner.state import State
from likewise_service.dockets.docket import Docket
from likewise_service.errors import ServiceError
from likewise_service.ledger.notes import Checkpoint
from likewise_service.verify.evidence import Evidence, Replayed
from likewise_service.verify.receipts import KnownKeys, document_fault, sign_document, verify_all
from likewise_service.verify.replay import replay_evidence

FORMAT = "likewise-certificate/1"


def certificate_content(
    state: State, *, confidence: float = 0.95, wrong_reports: int = 0
) -> dict[str, Any]:
    """Return the certificate of the run that led to a state, with what it was asked for."""
    run = certificate(state, confidence=confidence, wrong_reports=wrong_reports)
    return {
        "format": FORMAT, "confidence": confidence, "wrong_reports": wrong_reports,
        "rounds": run.rounds, "people_a_round": run.k, **run.to_json(),
        "unseen_reports": unseen_reports(state, confidence=confidence).to_json(),
    }  # fmt: skip


def is_certified(docket: Docket) -> bool:
    """Tell if a learner decides in a docket, and listens to the panel."""
    return not (docket.projection.audit_only or docket.state.learner.ignores_reports)


def give_certificate(
    docket: Docket, *, confidence: float = 0.95, wrong_reports: int = 0
) -> dict[str, Any]:
    """Return the certificate of a docket as it is now, with a receipt, signed."""
    if not is_certified(docket):
        raise ServiceError(
            "no-certificate", 404,
            "Nothing is certified here: the institution decides, or the learner ignores reports.",
        )  # fmt: skip
    content = certificate_content(docket.state, confidence=confidence, wrong_reports=wrong_reports)
    content |= {"docket": docket.name, "receipt": str(docket.receipt())}
    return sign_document("certificate", content, docket.store.keys.current())


def add_certificate(findings: Replayed) -> None:
    """Compute the certificate at the end of a replay, if the learner could be rebuilt.

    With one-sided labels the rounds themselves say what holds with high probability.
    """
    state = findings.state
    if state is None or not findings.decisions or state.learner.ignores_reports:
        return
    findings.certificate = content = certificate_content(state)
    every = [round_ for round_ in findings.closed if round_.number <= state.opened]
    surely = Rounds.of(state.learner, every).one_sided() if len(every) == state.opened else None
    if surely is not None:
        content |= surely.to_json()
    findings.kept.append(certificate_words(content))


def certificate_words(content: Mapping[str, Any]) -> str:
    """Say what a certificate bounds, and when it holds."""
    regret, trivial, rounds = content["regret"], content["trivial_regret"], content["rounds"]
    bound = f"at most {regret:,.0f} errors more" if regret >= 0 else f"{-regret:,.0f} errors fewer"
    words = (
        f"Over {rounds:,} rounds the learner has made {bound} than the best fixed policy that is "
        f"fair for this panel (any learner: at most {trivial:,} more). It holds {content['holds']}."
    )
    if not content["informative"]:
        words += " It says nothing yet: it is no less than what holds for any learner."
    unseen = content["unseen_reports"]
    if unseen["high"]:
        words += (
            f" The panel was not asked about everything: between {unseen['low']:,} and "
            f"{unseen['high']:,} reports were not seen, with probability {unseen['confidence']:g} "
            f"at all times at once."
        )
    return words


def check_certificate(
    document: Mapping[str, Any], keys: KnownKeys | None = None, evidence: Evidence | None = None
) -> list[str]:
    """Return the faults of a certificate: its signature, and what the ledger says otherwise."""
    if fault := document_fault("certificate", document, keys):
        return [fault]
    return [] if evidence is None else _differences(document, evidence)


def _differences(document: Mapping[str, Any], evidence: Evidence) -> list[str]:
    receipt = Checkpoint.parse(document["receipt"])
    (verified,) = verify_all(evidence, [receipt])
    if not verified.holds or document["docket"] != evidence.docket:
        return [f"The ledger is not the one of the certificate's receipt: {verified.sentence}"]
    state = replay_evidence(evidence, keep=receipt.size).kept_state
    if state is None:
        raise LikewiseError(
            "The certificate cannot be computed again: that needs the seed, and everybody's "
            "features or surrogates. Give --database, or an export with both."
        )
    again = certificate_content(
        state, confidence=document["confidence"], wrong_reports=document["wrong_reports"]
    )
    return [
        f"It says {name} = {json.dumps(document.get(name))}; by the ledger it is "
        f"{json.dumps(value)}."
        for name, value in again.items()
        if not _same(document.get(name), value)
    ]


def _same(said: object, value: object) -> bool:
    """Compare two values; the logarithm of another machine may differ in the last digit."""
    if isinstance(value, dict):
        return isinstance(said, dict) and all(_same(said.get(n), v) for n, v in value.items())
    if isinstance(value, float) and isinstance(said, (int, float)):
        return math.isclose(said, value, rel_tol=1e-9, abs_tol=1e-9)
    return said == value
