"""``drift``: the economy changes, and with it who repays.

The paper's second reason for adversarial streams. Good years and recessions take turns without
warning; in a recession fewer repay, and the bureau notices nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from likewise.randomness import Purpose, Stream
from likewise.worlds.base import Encounter
from likewise.worlds.loans import LoanWorld, applicants
from likewise.worlds.settings import setting

__all__ = ["Drift"]


@dataclass(frozen=True)
class Drift(LoanWorld):
    """``loans``, with a recession every other ``spell`` rounds.

    In a recession the soundness that half of the applicants need to repay is ``depth`` higher.
    """

    spell: int = setting(
        1000, "the number of rounds that good years and recessions last in turn",
        low=1, high=10**9,
    )  # fmt: skip
    depth: float = setting(
        0.12, "how much sounder one must be in a recession to repay as likely", low=0, high=1
    )
    name = "drift"
    summary = "loans, with recessions that come without warning"

    def caveat(self, rounds: int) -> str | None:
        """Before the first recession there is nothing to see."""
        if rounds > self.spell:
            return None
        return (
            f"the first recession begins in round {self.spell + 1:,}, so {rounds:,} rounds of "
            f"drift are rounds of loans. Play more of them, or set a shorter spell."
        )

    def encounter(self, t: int) -> Encounter:
        """k applicants of the day, in the economy of the day."""
        recession = ((t - 1) // self.spell) % 2
        stream = Stream(self.seed, Purpose.WORLD, t)
        bar = 0.57 + self.depth * recession
        x, labels = applicants(stream, self.k, self.luck, self.harshness, bar=bar)
        return self.round_of(t, x, labels)
