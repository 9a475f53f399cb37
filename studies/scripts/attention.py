"""Studies of what attention costs people, and of what is not seen.

python -m studies.scripts.attention      # writes its rows and its tables
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from likewise.learner.attention import PanelModel
from likewise.learner.certificate import unseen_reports
from likewise.learner.settings import Learner
from likewise.numerics.fixed_point import ONE
from likewise.panel.agreement import Consistency
from likewise.simulate.counts import MemberLooks
from likewise.simulate.game import Game
from likewise.simulate.rounds import FoldedLearner, Moment, play, shown_pairs
from likewise.simulate.world import Encounter
from studies.pages import Study, table
from studies.panels_that_change import CarelessLoans

MINUTES_A_PAIR = 4 / 60
# Often surprised, and soon sure again: there is something to miss in a short game.
HASTY = PanelModel(least=0.1, patience=2.0)


def missed(moment: Moment) -> bool:
    """Test whether the panel would have reported a pair of the round, and was not asked."""
    asked, people = moment.asking, moment.encounter.people
    units = moment.deployment.units
    exceeded = moment.encounter.pivots.exceeded(units, asked.sensitivity)
    return bool(exceeded.any()) and not bool((exceeded & shown_pairs(asked, people.ids)).any())


class Watched(FoldedLearner):
    """A learner whose interval is compared with the truth after every round."""

    def __init__(self, learner: Learner) -> None:
        super().__init__(learner)
        self.unseen, self.held = 0, True

    def fresh(self) -> Self:
        """The same before its first round, which a game then plays: it is this one."""
        return self

    def see(self, moment: Moment) -> None:
        """Count what nobody saw, and look at the interval."""
        self.unseen += missed(moment)
        interval = unseen_reports(self.state)
        self.held &= interval.low <= self.unseen <= interval.high


def interval_game(seed: int, rounds: int) -> dict[str, float]:
    """One game before a panel that turns strict half-way, and whether the interval ever missed."""
    settings = {"turn": rounds // 2, "k": 4}
    game = Game("turns-strict", "exact", rounds=rounds, seed=seed, world_settings=settings)
    prepared = game.prepare()
    learner: Any = prepared.learner
    watched = Watched(replace(learner, attention=HASTY))
    play(prepared.world, watched, rounds, progress=watched.see)
    interval = unseen_reports(watched.state)
    return {"missed": not watched.held, "unseen": watched.unseen, "estimate": interval.estimate,
            "width": interval.high - interval.low}  # fmt: skip


def intervals(games: int, rounds: int = 80) -> dict[str, Any]:
    """Misses among some games; means of unseen reports, of their estimate and of the width."""
    played = [interval_game(seed, rounds) for seed in range(1, games + 1)]
    means = {key: float(np.mean([game[key] for game in played])) for key in played[0]}
    missed = sum(game["missed"] for game in played)
    return {"games": games, "rounds": rounds, **means, "missed": missed}


HOURS: Mapping[str, Mapping[str, Any]] = {
    "loans": {}, "loans, any": {"rule": "any"}, "loans, strict": {"leniency": 0.01},
}  # fmt: skip


def hours(rounds: int = 1000, seed: int = 1) -> list[dict[str, Any]]:
    """A member's minutes, in the mean, where all look at everything, and where they are asked."""
    rows = []
    for name, settings in HOURS.items():
        row: dict[str, Any] = {"world": name}
        for attention in ("possible", "model"):
            looks = MemberLooks()
            game = Game("loans", "exact", rounds=rounds, seed=seed, attention=attention,
                        world_settings=settings).prepare()  # fmt: skip
            played = game.play(progress=looks.see)
            members, pairs = game.world.panel.members, played.pairs_shown  # type: ignore[attr-defined]
            row["everything"] = MINUTES_A_PAIR * (rounds * game.world.k * (game.world.k - 1) // 2)
            row[attention] = MINUTES_A_PAIR * int(pairs.sum())
            row[f"{attention}, in turn"] = MINUTES_A_PAIR * looks.pairs / len(members)
        rows.append(row)
    return rows


PANELS: Mapping[str, Mapping[str, int]] = {
    "five who look": {"careless": 0}, "one responds at random": {"careless": 1},
    "without that one": {"careless": 1, "seated": 0},
}  # fmt: skip


def careless(rounds: int = 2000, seeds: Sequence[int] = range(1, 11)) -> dict[str, Any]:
    """Error, violations, reports and looks of each panel, by what it is asked; means of seeds."""
    rows = []
    for name, settings in PANELS.items():
        for attention in ("possible", "model"):
            games = [
                Game("careless", "exact", rounds=rounds, seed=seed, attention=attention,
                     world_settings=settings).prepare().play() for seed in seeds
            ]  # fmt: skip
            counts = {
                "error": [game.error.sum() / game.people.sum() for game in games],
                "violations": [game.violation.sum() for game in games],
                "reports": [game.reported.sum() for game in games],
                "looks": [game.audited.sum() for game in games],
            }
            means = {key: float(np.mean(values)) for key, values in counts.items()}
            rows.append({"panel": name, "attention": attention, **means})
    return {"rounds": rounds, "seeds": len(seeds), "panels": rows}


def repeats(rounds: int = 400, share: int = 20, seed: int = 1) -> dict[str, dict[str, float]]:
    """Every member's consistency where one round in ``share`` is shown again, and their noise."""
    world, total = CarelessLoans(seed=seed), dict[str, Consistency]()
    for t in range(1, rounds + 1, share):
        first: Any = world.encounter(t)
        later: Any = world.encounter(t + rounds)
        # The same people, before members who toss their coins again.
        again = replace(first, stream=later.stream)
        before, after = _verdicts(first), _verdicts(again)
        for place, name in enumerate(first.panel.members):
            same = before[place] == after[place]
            both = int((before[place] & after[place]).sum())
            more = Consistency(1, same.size, int(same.sum()), both)
            total[name] = total.get(name, Consistency()) + more
    return {
        name: {"pairs": value.pairs, "same": value.share or 0.0, "noise": value.noise or 0.0}
        for name, value in total.items()
    }


def _verdicts(encounter: Encounter) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The judgements of all members, (m, n): whether a gap of a half is too large for the pair."""
    places = np.triu_indices(len(encounter.people), 1)
    return np.asarray(encounter.distances[:, places[0], places[1]] < ONE // 2)


def as_tables(report: Mapping[str, Any]) -> str:
    unseen, played = report["intervals"], report["careless"]
    names = ("everything", "possible", "possible, in turn", "model", "model, in turn")
    hours = ((row["world"], *(f"{row[name]:,.0f}" for name in names)) for row in report["hours"])
    panels = (
        (row["panel"], row["attention"], f"{row['error']:.4f}", f"{row['violations']:.1f}",
         f"{row['reports']:.0f}", f"{row['looks']:,.0f}")
        for row in played["panels"]
    )  # fmt: skip
    members = (
        (name, f"{row['pairs']:,.0f}", f"{row['same']:.0%}", f"{row['noise']:.2f}")
        for name, row in report["repeats"].items()
    )
    return "\n\n".join([
        f"95 % intervals for unseen reports, {unseen['games']} games of {unseen['rounds']} rounds: "
        f"{unseen['missed']} missed at any time; unseen {unseen['unseen']:.1f}, estimated "
        f"{unseen['estimate']:.1f}, width of the interval {unseen['width']:.0f}, in the mean.",
        table(("minutes of a member in 1,000 rounds", *names), hours),
        f"T = {played['rounds']:,}, means of {played['seeds']} seeds.",
        table(("panel", "asked", "error", "violations", "reports", "rounds looked at"), panels),
        table(("member", "pairs shown twice", "judged alike", "noise"), members),
    ])  # fmt: skip


STUDY = Study("attention studies", "attention-studies.json", "results.md", as_tables)

if __name__ == "__main__":
    STUDY.keep({
        "intervals": intervals(200), "hours": hours(), "careless": careless(), "repeats": repeats(),
    })  # fmt: skip
