"""The game: a learner meets a world and its panel, round after round."""

from likewise.game.baselines import Baseline, Rates, accuracy_only, baseline, constant, untaught
from likewise.game.play import EVALUATION_DRAWS, PolicyView, play
from likewise.game.timing import AT_ONCE, Delay, Delays, parse_delay
from likewise.game.transcript import Moment, Transcript

__all__ = [
    "AT_ONCE", "EVALUATION_DRAWS", "Baseline", "Delay", "Delays", "Moment", "PolicyView", "Rates",
    "Transcript", "accuracy_only", "baseline", "constant", "parse_delay", "play", "untaught",
]  # fmt: skip
