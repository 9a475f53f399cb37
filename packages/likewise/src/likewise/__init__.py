"""Likewise: decisions about people that treat similar people alike.

The learner is a fold over events (:mod:`likewise.learner`), the panel speaks through
:mod:`likewise.panel`, and they meet in :mod:`likewise.simulate`.

>>> from likewise import Learner, State, deploy, learn
>>> from likewise.simulate import Loans
>>> world = Loans(seed=1)
>>> learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=7)
>>> state = State.start(learner)
>>> today = world.encounter(1)
>>> state, round_ = deploy(state, today.people)
>>> report = today.panel.audit(today.people, round_.units, learner.sensitivity)
>>> state = learn(state, round_, labels=today.labels.tolist(), report=report.pairs)
>>> state.opened, state.audits
(1, 1)
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.audits import Audit, Survey, audit
    from likewise.hypotheses import Pool, Segments
    from likewise.learner import (
        Learner, Paper, SelfTuned, State, apply, decide, deploy, learn, load_state, save_state,
    )  # fmt: skip
    from likewise.panel import (
        MetricAuditor, Objections, Panel, Report, at_least, parse_rule, report, veto,
    )  # fmt: skip
    from likewise.people import Feature, FeatureSchema, People
    from likewise.sklearn import LikewiseClassifier

__all__ = [
    "Audit", "Feature", "FeatureSchema", "Learner", "LikewiseClassifier", "MetricAuditor",
    "Objections", "Panel", "Paper", "People", "Pool", "Report", "Segments", "SelfTuned", "State",
    "Survey", "apply", "at_least", "audit", "decide", "deploy", "learn", "load_state",
    "parse_rule", "report", "save_state", "veto",
]  # fmt: skip
_KNOWN = frozenset(__all__)
# Without scikit-learn `import *` and help() do without the estimator; whoever names it is told why.
if find_spec("sklearn") is None:
    __all__.remove("LikewiseClassifier")


# A library says nothing unless its user asks for it: logging.getLogger("likewise").
logging.getLogger("likewise").addHandler(logging.NullHandler())

# The one place where the version is written; pyproject.toml and the command line read it here.
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Looked up when they are first used, so that the command line starts at once.
    for room in ("people", "panel", "hypotheses", "learner", "audits", "sklearn"):
        if name in _KNOWN and hasattr(home := import_module(f"likewise.{room}"), name):
            return getattr(home, name)
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
