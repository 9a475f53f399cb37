"""A learner for a docket that has audited the institution's own decisions until now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.service.dockets.docket import Docket
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError
from likewise.service.ledger.bodies import LearnerGiven
from likewise.service.ledger.records import Receipt


def give_learner(docket: Docket, learner: Mapping[str, Any]) -> Receipt:
    """Let a learner decide from the next record on; all rounds have to be closed.

    It must have the docket's features, and ask the panel at the same gap, so that members go on
    judging as they learnt to.
    """
    with docket.unit_of_work() as work:
        projection = work.projection
        if not projection.audit_only:
            raise ServiceError(
                "has-learner", 409,
                f"A learner decides in {docket.name!r} already, from record "
                f"{projection.learner_from or 1} on. Open another docket for another learner.",
            )  # fmt: skip
        if projection.opened:
            raise ServiceError(
                "rounds-open", 409,
                f"{len(projection.opened)} rounds are open, the oldest is "
                f"{next(iter(projection.opened))!r}. Close them, then give the docket its learner.",
            )  # fmt: skip
        settings = projection.settings
        spec = DocketSpec.from_hand(
            {**settings.to_json(), "learner": dict(learner), "audit_only": False}
        )
        _check(settings, spec)
        work.add(LearnerGiven(dict(spec.learner)))
    return docket.receipt()


def _check(before: DocketSpec, now: DocketSpec) -> None:
    """Refuse a learner with other features, or another gap."""
    if before.schema.digest != now.schema.digest:
        raise ServiceError(
            "other-features", 422,
            "The learner has other features than the docket. Use the docket's, or open another.",
        )  # fmt: skip
    if before.sensitivity != now.sensitivity:
        alpha, eps = before.learner["alpha"], before.learner["eps"]
        raise ServiceError(
            "other-gap", 422,
            f"The learner would ask the panel at another gap than until now. Give it alpha = "
            f"{alpha:g} and eps = {eps:g}, or open another docket.",
        )  # fmt: skip
