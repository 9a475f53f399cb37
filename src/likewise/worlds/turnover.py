"""``turnover``: ``loans`` before panels that change, as those of real institutions do.

Members join and leave, and with them the rule by which they report. A panel sits for a term; the
next one is another choice of the same five people, three of them or more, under another rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likewise.auditing import Panel
from likewise.randomness import Purpose, Stream
from likewise.worlds.base import Encounter
from likewise.worlds.loans import LoanWorld, five_auditors
from likewise.worlds.settings import setting

RULES = ("majority", "at_least(2)", "any", "at_least(80%)")
SMALLEST = 3


@dataclass(frozen=True)
class Turnover(LoanWorld):
    """``loans``, with another panel every ``term`` rounds; the first one is that of ``loans``."""

    term: int = setting(500, "the number of rounds that a panel sits", low=1, high=10**9)
    name = "turnover"
    summary = "loans, before panels whose members and rules change"

    def panel_of(self, t: int) -> Panel:
        """The panel that sits in round t."""
        number = (t - 1) // self.term
        if number == 0:
            return self.panel
        # Nobody else draws world noise at 0: rounds are counted from 1.
        uniforms = Stream(self.seed, Purpose.WORLD, 0).uniforms(number, 1, 8)[0]
        members = five_auditors(self.leniency)
        size = SMALLEST + int(uniforms[0] * (len(members) - SMALLEST + 1))
        chosen = sorted(np.argsort(uniforms[2 : 2 + len(members)], kind="stable")[:size].tolist())
        rule = RULES[int(uniforms[1] * len(RULES))]
        return Panel([members[i] for i in chosen], rule)

    def encounter(self, t: int) -> Encounter:
        """Draw k applicants and bring them before the panel of the day."""
        return replace(self.round_of(t, *self.applicants(t)), panel=self.panel_of(t))
