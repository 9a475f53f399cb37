"""``adaptive``: approvals change later repayments.

The paper's third reason for adversarial streams. Loans that are repaid help a region, and loans
that fail hurt it: what is decided today changes who can repay tomorrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.worlds.base import Approved, Course, Encounter, View
from likewise.worlds.loans import REGIONS, LoanSettings
from likewise.worlds.settings import setting


@dataclass(frozen=True)
class Adaptive(LoanSettings):
    """``loans``, in regions that remember.

    Every approved loan moves its region's fortune by ``pull`` up (repaid) or down (not), and every
    round fortunes fade by ``fading``. Fortune shifts the soundness that repaying takes.
    """

    pull: float = setting(
        0.004, "how far one loan moves the fortune of its region", low=0, high=0.1
    )
    fading: float = setting(
        0.02, "the share of fortune that is lost every round", low=0, high=1, beyond=True
    )
    name = "adaptive"
    summary = "loans, where approvals change who can repay later"

    def course(self) -> Course:
        """Begin without fortune in any region."""
        return _Course(self)


class _Course(Course):
    def __init__(self, world: Adaptive) -> None:
        self._world = world
        self._fortune = np.zeros(len(REGIONS))

    def meet(self, t: int, view: View) -> Encounter:  # noqa: ARG002
        """Draw applicants who repay according to the fortune of their region."""
        fortune = np.clip(self._fortune, -0.25, 0.25)
        x, labels = self._world.applicants(t, lambda region: 0.57 - fortune[region])
        return self._world.round_of(t, x, labels)

    def hear(self, encounter: Encounter, approved: Approved) -> None:
        """Move the fortune of each region by the loans made there."""
        region = encounter.people.column("region").astype(np.int64)
        self._fortune *= 1.0 - self._world.fading
        for place, label, loan in zip(region, encounter.labels, approved, strict=True):
            if loan:
                self._fortune[place] += self._world.pull * (2 * int(label) - 1)
