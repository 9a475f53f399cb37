"""Comparisons as sweeps: every learner that can play in a world, ours over a grid of its knobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise.errors import LikewiseError, ParameterError
from likewise.learner.schedules import KAPPA_SHARE
from likewise.panel.agreement import krippendorff_alpha
from likewise.panel.reports import exceeds
from likewise.simulate.counts import Outcome, summarise
from likewise.simulate.game import Game
from likewise.simulate.learners import learner_names, learner_settings
from likewise.simulate.rounds import Moment
from likewise.simulate.world import Steady
from studies.priced import PRICES
from studies.sweep.spec import Sweep, entries_of, learner_title, scenario_title
from studies.sweep.tables import cell, table_lines

ETAS = (0.25, 1 / 24, 1 / 128)
KAPPA_SHARES = (0.5, KAPPA_SHARE, 1 / 6)
# What is tuned like ours: every learner with a knob stands for a grid of it.
_GRIDS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "paper": ("noise_divisor", (1.0, 1e4, 1e5, 1e6)),
    "bechavod-jung-wu": ("noise_divisor", (1.0, 3.0, 10.0, 30.0)),
    "bechavod-roth": ("noise_divisor", (1.0, 100.0, 1000.0, 10_000.0)),
    "exp2": ("noise_divisor", (1.0, 3.0, 10.0)),
    "fixed-trade-off": ("lam", (0.25, 1.0, 4.0, 16.0)),
    "gillen": ("width_divisor", (1.0, 10.0, 100.0)),
    "sinha-vaze": ("beta", (0.5, 0.75, 1.0)),
    "learnt-metric": ("caution", (1.0, 100.0, 1000.0)),
}


def comparison(
    game: Game,
    horizons: Sequence[int],
    seeds: Sequence[int],
    learners: Sequence[str] = (),
    *,
    grid: bool = True,
) -> Sweep:
    """A sweep of one scenario with some learners; without any, all that can play there.

    With ``grid`` ours stand for every eta and kappa of a grid, and others for every scale of their
    noise; without it, each stands for itself. Fixed policies in hindsight come with the grid.
    """
    names = list(learners) or taking_part(game)[0]
    fields = [
        (learner_title(name, settings), {"learner": name, "learner_settings": settings})
        for name in names
        for settings in (_grid(name) if grid else [{}])
    ]
    title = scenario_title(game)
    prices = PRICES[::2] if grid and isinstance(game.make_world(), Steady) else ()
    return Sweep(
        f"{title}: learners side by side", entries_of({title: game}, fields, prices),
        tuple(seeds), tuple(horizons),
    )  # fmt: skip


def taking_part(game: Game) -> tuple[list[str], dict[str, str]]:
    """The learners that can play in a game, and why each of the others cannot."""
    world = game.make_world()
    hypotheses = game.make_hypotheses(world)
    playing, left_out = [], {}
    # ``auto`` is another name of one that is there.
    for name in (name for name in learner_names() if name != "auto"):
        try:
            replace(game, learner=name).make_learner(hypotheses, world.k)
        except LikewiseError as error:
            left_out[name] = str(error)
        else:
            playing.append(name)
    return playing, left_out


def _grid(learner: str) -> Iterator[dict[str, Any]]:
    """The settings that a learner stands for in a comparison."""
    if {"eta", "kappa_share"} <= set(learner_settings(learner)):
        for share in KAPPA_SHARES if learner == "exact" else KAPPA_SHARES[1:2]:
            yield from ({"eta": eta, "kappa_share": share} for eta in ETAS)
    elif learner in _GRIDS:
        knob, values = _GRIDS[learner]
        yield from ({knob: value} for value in values)
    else:
        yield {}


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
        rule, Outcome(counted.error_rate, counted.violations, counted.reports), len(votes),
        krippendorff_alpha(table.tolist()) if votes else None,
        dict(zip(members, shares.tolist(), strict=True)),
        {member: decisive[member] for member in members},
    )  # fmt: skip


def _votes(moment: Moment, sensitivity: int) -> list[list[bool]]:
    """Objections of all members to every pair whose gap is large enough to be looked at."""
    scores = moment.deployment.units
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
    heads = (
        "rule", "error / violations / reports", "pairs looked at", "agreement (Krippendorff)",
        "objections, least to most", "decisive most often",
    )  # fmt: skip
    rows = []
    for study in studies:
        shares = sorted(study.objections.values())
        alpha = "–" if study.agreement is None else f"{study.agreement:.2f}"
        most = sorted(study.decisive.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{member} ({count})" for member, count in most if count) or "nobody"
        between = f"{100 * shares[0]:.0f} % to {100 * shares[-1]:.0f} %"
        rows.append((
            study.rule, cell(study.outcome), f"{study.looked_at:,}", alpha, between, named,
        ))  # fmt: skip
    return "\n".join(table_lines(heads, rows))
