"""``drift``: the economy changes, and with it who repays.

The paper's second reason for adversarial streams. Good years and recessions take turns without
warning; in a recession fewer repay, and the bureau notices nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.randomness import Purpose, Stream
from likewise.worlds.base import Encounter
from likewise.worlds.loans import LoanWorld, applicants

__all__ = ["Drift"]


@dataclass(frozen=True)
class Drift(LoanWorld):
    """``loans``, with a recession every other ``spell`` rounds.

    In a recession the soundness that half of the applicants need to repay is ``depth`` higher.
    """

    spell: int = 1000
    depth: float = 0.12
    name = "drift"
    summary = "loans, with recessions that come without warning"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spell < 1:
            raise ParameterError("spell", "must be at least 1", self.spell, "It counts rounds.")

    def encounter(self, t: int) -> Encounter:
        """k applicants of the day, in the economy of the day."""
        recession = ((t - 1) // self.spell) % 2
        stream = Stream(self.seed, Purpose.WORLD, t)
        bar = 0.57 + self.depth * recession
        x, labels = applicants(stream, self.k, self.luck, self.harshness, bar=bar)
        return self.round_of(t, x, labels)
