"""``drift``: the economy changes, and with it who repays.

The paper's second reason for adversarial streams. Good years and recessions take turns without
warning; in a recession fewer repay, and the bureau notices nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from likewise.worlds.base import Encounter
from likewise.worlds.loans import LoanWorld
from likewise.worlds.settings import setting


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
        """Warn of a game that ends before the first recession."""
        if rounds > self.spell:
            return None
        return (
            f"the first recession begins in round {self.spell + 1:,}, so {rounds:,} rounds of "
            f"drift are rounds of loans. Play more of them, or set a shorter spell."
        )

    def encounter(self, t: int) -> Encounter:
        """Draw k applicants in the economy of the day."""
        recession = ((t - 1) // self.spell) % 2
        return self.round_of(t, *self.applicants(t, 0.57 + self.depth * recession))
