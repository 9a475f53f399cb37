"""The learner: two players on a Lagrangian, as a fold over events."""

from likewise.learning.certificate import Certificate, certificate
from likewise.learning.decisions import decide, drawn_for_audit
from likewise.learning.deploy import Deployment, deploy, learn
from likewise.learning.fold import apply
from likewise.learning.learner import Learner
from likewise.learning.primal import Player
from likewise.learning.schedules import Paper, PaperOneSided, Schedule, SelfTuned
from likewise.learning.schedules.margins import Margins
from likewise.learning.states.files import dump_state, load_state, parse_state, save_state
from likewise.learning.states.state import State

__all__ = [
    "Certificate",
    "Deployment",
    "Learner",
    "Margins",
    "Paper",
    "PaperOneSided",
    "Player",
    "Schedule",
    "SelfTuned",
    "State",
    "apply",
    "certificate",
    "decide",
    "deploy",
    "drawn_for_audit",
    "dump_state",
    "learn",
    "load_state",
    "parse_state",
    "save_state",
]
