"""A learner's settings as JSON; what a stored one leaves out means what it meant then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from likewise.errors import ParameterError, shown
from likewise.hypotheses import ExactWeights, HypothesisClass, class_from_spec
from likewise.hypotheses.priors import FLAT
from likewise.learning.dual import dual_from_spec
from likewise.learning.schedules import schedule_from_spec
from likewise.validation import flag, members

if TYPE_CHECKING:
    from likewise.learning.learner import Learner

__all__ = ["ALGORITHM", "settings_of", "stored_settings"]

ALGORITHM = "likewise-algorithm/1"

# Settings that are written as they are, and that were not always there.
PLAIN = ("ignores_reports", "feedback", "estimate", "audit_share", "open_limit", "scales")

# What a stored learner means by a setting that it does not name: the setting did not exist when it
# was written, and the learner did this. Defaults may change; these never do. Whoever adds a setting
# adds its value of then here, and tests/compatibility sees to it.
_OF_THEN: Mapping[str, Any] = {
    "ignores_reports": False,
    "feedback": "full",
    "estimate": "lifted",
    "audit_share": 1.0,
    "open_limit": 10_000,
    "scales": "shared",
    "dual": {"dual": "gradient"},
    "prior": FLAT,
}
# The same for the parameters of schedules, by the schedule's name.
_SCHEDULES_OF_THEN: Mapping[str, Mapping[str, Any]] = {"self-tuned": {"counts_outstanding": False}}


def settings_of(learner: Learner) -> dict[str, Any]:
    """The settings of a learner as JSON, with all defaults filled in."""
    return {
        "algorithm": ALGORITHM,
        "hypotheses": learner.hypotheses.spec(),
        "schema": learner.hypotheses.schema.digest,
        "k": learner.k,
        "alpha": learner.alpha,
        "eps": learner.eps,
        "seed": learner.seed,
        "schedule": learner.resolved_schedule.spec(),
        "player": learner.primal.name,
        "engine": learner.engine,
        **{name: getattr(learner, name) for name in PLAIN},
        "dual": learner.multiplier.spec(),
        "prior": _stored_prior(learner.hypotheses),
    }


def _stored_prior(hypotheses: HypothesisClass) -> str | list[float]:
    """The prior of the class; one without exact weights has no use for any."""
    prior = hypotheses.prior if isinstance(hypotheses, ExactWeights) else FLAT
    return prior if isinstance(prior, str) else list(prior)


def stored_settings(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a learner by name, from its JSON; see ``_OF_THEN`` for what is left out."""
    if not isinstance(spec, Mapping) or spec.get("algorithm") != ALGORITHM:
        raise ParameterError(
            "algorithm", f"must be {ALGORITHM!r}",
            spec.get("algorithm") if isinstance(spec, Mapping) else spec,
            "Another version of Likewise wrote this; use that one.",
        )  # fmt: skip
    stored = dict(spec)
    if "heeds_reports" in stored:  # its name, and its opposite, until October 2026
        heeds = flag("heeds_reports", stored.pop("heeds_reports"), "Now ignores_reports.")
        stored["ignores_reports"] = not heeds
    plain = ("k", "alpha", "eps", "seed", "player", "engine")
    needed = ("algorithm", "hypotheses", "schema", "schedule", *plain)
    given = {**_OF_THEN, **members("learner", stored, needed, (*PLAIN, "dual", "prior"))}
    return {
        "hypotheses": _stored_class(given),
        "schedule": schedule_from_spec(_schedule_of_then(given["schedule"])),
        "dual": dual_from_spec(given["dual"]),
        **{name: given[name] for name in (*plain, *PLAIN)},
    }


def _stored_class(given: Mapping[str, Any]) -> HypothesisClass:
    """The class with its prior, if its features are still those that were recorded."""
    hypotheses = class_from_spec(given["hypotheses"])
    if isinstance(hypotheses, ExactWeights):
        hypotheses = hypotheses.with_prior(given["prior"])
    if hypotheses.schema.digest != given["schema"]:
        raise ParameterError(
            "schema", "must have the hash that was recorded", hypotheses.schema.digest,
            f"Recorded was {shown(given['schema'])}; the features have been changed.",
        )  # fmt: skip
    return hypotheses


def _schedule_of_then(spec: Any) -> Any:
    """A stored schedule with what it left out; anything else as it is, to be refused by name."""
    name = str(spec.get("schedule")) if isinstance(spec, Mapping) else ""
    return {**_SCHEDULES_OF_THEN[name], **spec} if name in _SCHEDULES_OF_THEN else spec
