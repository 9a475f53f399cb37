"""The learner: two players on a Lagrangian, as a fold over events."""

from likewise.learner.certificate import Certificate, certificate
from likewise.learner.fold import apply, decide, asking
from likewise.learner.players import Player
from likewise.learner.rounds import Deployment, deploy, learn
from likewise.learner.schedules import Margins, Paper, PaperOneSided, Schedule, SelfTuned
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.learner.state_files import dump_state, load_state, parse_state, save_state

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
    "asking",
    "certificate",
    "decide",
    "deploy",
    "dump_state",
    "learn",
    "load_state",
    "parse_state",
    "save_state",
]
