"""``adversarial``: people, labels, panel and rule are picked against the deployed policy.

Out of many applicants and several panels the adversary takes the panel, its rule and the people on
whom the policy differs most beyond what that panel finds similar; and it labels a share of the
people against the policy. The other labels are honest, or nobody could learn anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from likewise.auditing import MetricAuditor, Panel, Rule
from likewise.fixed_point import ONE, IntArray
from likewise.randomness import Purpose, Stream
from likewise.schema import People
from likewise.worlds.base import Encounter, Memoryless, View, numbered
from likewise.worlds.loans import SCHEMA, LoanSettings, applicants, five_auditors
from likewise.worlds.settings import setting

CANDIDATES = 32
PROPOSALS = 4
RULES = ("majority", "at_least(2)", "all", "veto({0})")


@dataclass(frozen=True)
class Adversarial(LoanSettings, Memoryless):
    """The worst of ``loans``: rounds of 2 to k people, ``spite`` of them labelled against π^t."""

    spite: float = setting(0.25, "the chance that a label is set against the policy", low=0, high=1)
    # No setting here: the adversary picks another rule every round.
    rule: Rule | str = field(default="majority", init=False)
    name = "adversarial"
    summary = "people, labels, panel and rule picked against the deployed policy"

    @cached_property
    def _auditors(self) -> tuple[MetricAuditor, ...]:
        return tuple(five_auditors(self.leniency))

    def meet(self, t: int, view: View) -> Encounter:
        """Look at the policy on many candidates, and pick the round."""
        stream = Stream(self.seed, Purpose.WORLD, t)
        x, labels = applicants(stream, CANDIDATES, self.luck, self.harshness)
        crowd = People(tuple(map(str, range(CANDIDATES))), x, SCHEMA)
        chances = view.chances(crowd)
        size, panels = self._proposals(stream)
        distances = {auditor.name: auditor.distances(crowd) for auditor in self._auditors}
        excesses = [_excess(distances, chances, panel) for panel in panels]
        worst = max(range(PROPOSALS), key=lambda n: int(excesses[n].max()))
        panel, chosen = panels[worst], _worst(excesses[worst], size)
        coins = stream.uniforms(2 * CANDIDATES, 1, size)[0]
        against = (chances[chosen] < ONE // 2).astype(np.int64)
        picked = np.where(coins < self.spite, against, labels[chosen])
        return Encounter(numbered(t, x[chosen], SCHEMA), picked, panel)

    def _proposals(self, stream: Stream) -> tuple[int, list[Panel]]:
        """Draw the size of the round, and panels with rules to choose among."""
        auditors, k = self._auditors, self.k
        limits = [max(1, k - 1), *[len(auditors) - 1, len(auditors), len(RULES)] * PROPOSALS]
        size, *rest = stream.numbers_below(limits, CANDIDATES, np.arange(len(limits)))
        panels = []
        for extra, first, rule in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
            seated = [auditors[(first + i) % len(auditors)] for i in range(2 + extra)]
            panels.append(Panel(seated, RULES[rule].format(seated[0].name)))
        return min(k, 2 + size), panels


def _excess(distances: Mapping[str, IntArray], chances: IntArray, panel: Panel) -> IntArray:
    """By how much each pair's gap exceeds the panel's distance; every pair once."""
    gaps = np.abs(chances[:, None] - chances[None, :])
    seated = np.stack([distances[member] for member in panel.members])
    excess = gaps - panel.rule.pivot(seated, panel.members)[0]
    excess[np.tril_indices(len(excess))] = -4 * ONE
    return np.asarray(excess)


def _worst(excess: IntArray, size: int) -> IntArray:
    """The pair that comes closest to a violation (or goes furthest beyond), then the next."""
    chosen: list[int] = []
    for place in np.argsort(-excess, axis=None, kind="stable").tolist():
        for person in divmod(place, len(excess)):
            if person not in chosen and len(chosen) < size:
                chosen.append(person)
        if len(chosen) == size:
            break
    return np.array(sorted(chosen), dtype=np.int64)
