"""Likewise: decisions about people that treat similar people alike.

The learner is a fold over events (:mod:`likewise.learning`), the panel speaks through
:mod:`likewise.auditing`, and they meet in :mod:`likewise.game`.

>>> from likewise import Learner, State, deploy, learn
>>> from likewise.worlds import Loans
>>> world = Loans(seed=1)
>>> learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=7)
>>> state = State.start(learner)
>>> today = world.encounter(1)
>>> state, round_ = deploy(state, today.people)
>>> report = today.panel.audit(today.people, round_.scores, learner.sensitivity)
>>> state = learn(state, round_, labels=today.labels.tolist(), report=report.pairs)
>>> state.opened, state.audits
(1, 1)
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.auditing import (
        MetricAuditor,
        Objections,
        Panel,
        Report,
        at_least,
        parse_rule,
        report,
        veto,
    )
    from likewise.audits import Audit, Survey, audit
    from likewise.estimator import LikewiseClassifier
    from likewise.hypotheses import Pool, Segments
    from likewise.learning import (
        Learner,
        Paper,
        SelfTuned,
        State,
        apply,
        decide,
        deploy,
        learn,
        load_state,
        save_state,
    )
    from likewise.schema import Feature, FeatureSchema, People

# Names are looked up when they are first used, so that the command line starts at once.
_HOMES = {
    "auditing": (
        "MetricAuditor", "Objections", "Panel", "Report", "at_least", "parse_rule", "report",
        "veto",
    ),
    "audits": ("Audit", "Survey", "audit"),
    "estimator": ("LikewiseClassifier",),
    "hypotheses": ("Pool", "Segments"),
    "learning": (
        "Learner", "Paper", "SelfTuned", "State", "apply", "decide", "deploy", "learn",
        "load_state", "save_state",
    ),
    "schema": ("Feature", "FeatureSchema", "People"),
}  # fmt: skip

# A library says nothing unless its user asks for it: logging.getLogger("likewise").
logging.getLogger("likewise").addHandler(logging.NullHandler())

# The one place where the version is written; pyproject.toml and the command line read it here.
__version__ = "0.1.0"

__all__ = [
    "Audit", "Feature", "FeatureSchema", "Learner", "LikewiseClassifier", "MetricAuditor",
    "Objections", "Panel", "Paper", "People", "Pool", "Report", "Segments", "SelfTuned", "State",
    "Survey", "apply", "at_least", "audit", "decide", "deploy", "learn", "load_state",
    "parse_rule", "report", "save_state", "veto",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"likewise.{home}"), name)
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
