"""The game: a learner meets a world and its panel, round after round."""

from likewise.game.play import EVALUATION_DRAWS, PolicyView, play
from likewise.game.timing import AT_ONCE, Delay, Delays, parse_delay
from likewise.game.transcript import Moment, Transcript

__all__ = [
    "AT_ONCE",
    "EVALUATION_DRAWS",
    "Delay",
    "Delays",
    "Moment",
    "PolicyView",
    "Transcript",
    "parse_delay",
    "play",
]
