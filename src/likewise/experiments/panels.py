"""Panel studies: the same stream before the same people, whose objections rules count differently.

For every rule the learner plays the same rounds. The table has its counts; how far the members
agree, by Krippendorff's alpha over the pairs that anybody had to look at; and who is decisive: how
often each member was the pivot of a pair that was reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likewise.auditing import exceeds, krippendorff_alpha
from likewise.errors import LikewiseError, ParameterError
from likewise.evaluation.counts import summarise
from likewise.evaluation.frontiers import Outcome
from likewise.experiments.games import Game
from likewise.game import Moment


@dataclass(frozen=True)
class UnderRule:
    """The same rounds under one rule.

    ``agreement`` is Krippendorff's alpha of objecting or not, None where all said the same;
    ``objections`` the share of pairs looked at that each member objected to; ``decisive`` how many
    reported pairs each member was the pivot of.
    """

    rule: str
    outcome: Outcome
    looked_at: int
    agreement: float | None
    objections: Mapping[str, float]
    decisive: Mapping[str, int]


def panel_study(game: Game, rules: Sequence[str]) -> list[UnderRule]:
    """Every rule on the stream of a game, with the learner of that game."""
    if not rules or len(set(rules)) != len(rules):
        raise ParameterError("rules", "must be some, all different", list(rules), "Such as any.")
    settings = game.world_settings
    return [
        _under(replace(game, world_settings={**settings, "rule": rule}), rule) for rule in rules
    ]


def _under(game: Game, rule: str) -> UnderRule:
    prepared = game.prepare()
    sensitivity = prepared.learner.sensitivity
    votes: list[list[bool]] = []
    decisive: Counter[str] = Counter()
    members: tuple[str, ...] = ()

    def note(moment: Moment) -> None:
        nonlocal members
        panel = moment.encounter.panel
        if members and panel.members != members:
            raise LikewiseError(
                f"The panel of {game.world} changes, so that nobody can be compared."
            )
        members = panel.members
        votes.extend(_votes(moment, sensitivity))
        index = {person: n for n, person in enumerate(moment.encounter.people.ids)}
        for over, under in moment.report:
            decisive[members[int(moment.pivot_auditors[index[over], index[under]])]] += 1

    counted = summarise(prepared.play(progress=note))
    table = np.array(votes, dtype=bool).reshape(len(votes), len(members))
    shares = table.mean(axis=0) if votes else np.zeros(len(members))
    return UnderRule(
        rule,
        Outcome(counted.error_rate, counted.violations, counted.reports),
        len(votes),
        krippendorff_alpha(table.tolist()) if votes else None,
        dict(zip(members, shares.tolist(), strict=True)),
        {member: decisive[member] for member in members},
    )


def _votes(moment: Moment, sensitivity: int) -> list[list[bool]]:
    """Objections of all members to every pair whose gap is large enough to be looked at."""
    scores = moment.deployment.scores
    gaps = np.abs(scores[:, None] - scores)
    left, right = np.triu_indices(len(scores), 1)
    look = exceeds(gaps[left, right], 0, sensitivity)
    distances = np.array(moment.encounter.panel.distances(moment.encounter.people))
    looked_at = distances[:, left[look], right[look]]
    votes: list[list[bool]] = exceeds(
        gaps[left[look], right[look]], looked_at, sensitivity
    ).T.tolist()
    return votes


def panel_markdown(studies: Sequence[UnderRule]) -> str:
    """A line for each rule: counts, agreement, and who is decisive most often."""
    lines = [
        "| rule | error / violations / reports | pairs looked at | agreement (Krippendorff) | "
        "objections, least to most | decisive most often |",
        "|---|---|---|---|---|---|",
    ]
    for study in studies:
        at, shares = study.outcome, sorted(study.objections.values())
        alpha = "–" if study.agreement is None else f"{study.agreement:.2f}"
        most = sorted(study.decisive.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{member} ({count})" for member, count in most if count) or "nobody"
        lines.append(
            f"| {study.rule} | {at.error:.3f} / {at.violations:.0f} / {at.reports:.0f} | "
            f"{study.looked_at:,} | {alpha} | {shares[0]:.0%} to {shares[-1]:.0%} | {named} |"
        )
    return "\n".join(lines)
