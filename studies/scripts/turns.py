"""How few members of a panel have to be asked, one after another, with the work shared fairly.

    python -m studies.scripts.turns --json studies/results/turns.json

Outcomes are those of the whole panel in every row. *By counts* is what a docket does: those who
object least come first. *Predicted* asks whoever is most likely to say what the others will: a
model of every member, learnt from what they said before, of gaps and features. *Nobody can do
better* knows all votes beforehand: for each round the sets of members whose words settle it, mixed
so that nobody is asked more than 1.3 times the mean (a linear program).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import click
import numpy as np
from scipy.optimize import linprog

from likewise.learner.attention import BoolArray, Possible
from likewise.learner.events import Person
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.panel.rules import Rule
from likewise.panel.turns import MOST_ASKED, Turns, ask_in_turn, settled
from likewise.simulate.game import Game
from likewise.simulate.rounds import Moment, shown_pairs

FAIR = 1.3
STREAMS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "loans, possible": ({}, "possible"),
    "loans, model": ({}, "model"),
    "loans, strict, possible": ({"leniency": 0.01}, "possible"),
}


@dataclass(frozen=True, eq=False)
class Shown:
    """The pairs of a round before a panel: what each member would say, (m, n), and the inputs."""

    rule: Rule
    members: tuple[str, ...]
    votes: BoolArray
    inputs: FloatArray


def stream(name: str, rounds: int, seed: int) -> list[Shown]:
    """Pairs that a panel was shown in a game, round by round."""
    settings, attention = STREAMS[name]
    game = Game("loans", "exact", rounds, seed, attention=attention, world_settings=settings)
    prepared, seen = game.prepare(), list[Shown]()
    schema = prepared.learner.hypotheses.schema

    def see(moment: Moment) -> None:
        people, units = moment.encounter.people, moment.deployment.units
        gaps, least = units[:, None] - units, moment.asking.sensitivity
        shown = shown_pairs(moment.asking, people.ids) & (gaps > least)
        if not shown.any():
            return
        everybody = zip(people.ids, people.x.tolist(), strict=True)
        persons = tuple(Person(name, tuple(row)) for name, row in everybody)
        over, under = np.nonzero(shown)
        pairs = Possible(schema, persons, over, under, gaps[shown], least)
        gap, one = (gaps[shown] / ONE)[:, None], np.ones((int(shown.sum()), 1))
        inputs = np.concatenate([4 * gap, 4 * pairs.differences, one], axis=1)
        votes = gaps[shown] > moment.encounter.distances[:, shown] + least
        panel = moment.encounter.panel
        seen.append(Shown(panel.rule, panel.members, votes, inputs))

    prepared.play(progress=see)
    return seen


def by_counts(rounds: Sequence[Shown]) -> Counter[str]:
    """How often each member is asked, as a docket asks them."""
    turns = Turns()
    for shown in rounds:
        turns = ask_in_turn(shown.rule, shown.members, shown.votes, turns).turns
    return Counter(turns.asked)


class Views:
    """A member's model: logistic regression of their votes, a Newton step a vote."""

    def __init__(self, width: int) -> None:
        self.mean, self.covariance = np.zeros(width), np.eye(width)

    def chances(self, inputs: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-np.clip(inputs @ self.mean, -30, 30))))

    def learn(self, inputs: FloatArray, votes: BoolArray) -> None:
        for row, vote in zip(inputs, votes, strict=True):
            direction, (chance,) = self.covariance @ row, self.chances(row[None])
            curvature = chance * (1 - chance)
            gain = 1 + curvature * (row @ direction)
            self.covariance -= np.outer(direction, direction) * (curvature / gain)
            self.mean += direction * ((vote - chance) / gain)


def predicted(rounds: Sequence[Shown]) -> Counter[str]:
    """How often each member is asked, if whoever is likely to settle it comes first."""
    asked, views = Counter[str](), dict[str, Views]()
    for shown in rounds:
        for name in shown.members:
            views.setdefault(name, Views(shown.inputs.shape[1]))
        _predict(shown, views, asked)
    return asked


def _predict(shown: Shown, views: Mapping[str, Views], asked: Counter[str]) -> None:
    members, votes = shown.members, shown.votes
    chances = np.array([views[name].chances(shown.inputs) for name in members])
    heard, mean = np.zeros(votes.shape, dtype=np.bool_), max(asked.total() / len(members), 1)
    left = set(range(len(members)))
    done, _ = settled(shown.rule, votes, heard, members)
    while not done.all():
        guess = np.where(heard, votes, chances > 0.5)
        outcome = shown.rule.fires(guess, members)[~done]
        agrees = np.where(outcome, chances[:, ~done], 1 - chances[:, ~done])
        likely = np.log(np.maximum(agrees, 1e-3)).sum(axis=1)
        shares = {place: asked[members[place]] / mean for place in left}
        place = min(left, key=lambda i: (shares[i] > MOST_ASKED, shares[i] - likely[i], i))
        views[members[place]].learn(shown.inputs[~done], votes[place, ~done])
        heard[place] = ~done
        asked[members[place]] += 1
        left.remove(place)
        done, _ = settled(shown.rule, votes, heard, members)


def fewest(rounds: Sequence[Shown], fair: float = FAIR) -> float:
    """The fewest members a round of anybody who knows all votes and is that fair, in the mean."""
    kinds = Counter(_settling(shown) for shown in rounds)
    chosen = [(kind, group) for kind, groups in enumerate(kinds) for group in groups]
    sizes = np.array([len(group) for _, group in chosen], dtype=np.float64)
    m = len(rounds[0].members)
    member = np.array([[place in group for _, group in chosen] for place in range(m)])
    each = np.array([[kind == row for kind, _ in chosen] for row in range(len(kinds))])
    program = linprog(sizes, A_ub=member - fair / m * sizes, b_ub=np.zeros(m),
                      A_eq=each, b_eq=list(kinds.values()))  # fmt: skip
    return float(sizes @ np.asarray(program.x)) / len(rounds)


def _settling(shown: Shown) -> tuple[tuple[int, ...], ...]:
    """The sets of members whose words settle all pairs of a round, by their places."""
    m, groups = len(shown.members), []
    for size in range(1, m + 1):
        for group in combinations(range(m), size):
            heard = np.zeros(shown.votes.shape, dtype=np.bool_)
            heard[list(group)] = True
            if settled(shown.rule, shown.votes, heard, shown.members)[0].all():
                groups.append(group)
    return tuple(groups)


def measured(rounds: int = 1000, seed: int = 1) -> list[dict[str, Any]]:
    """Every stream in numbers: members a round, and the most asked beside the mean."""
    rows = []
    for name in STREAMS:
        seen = stream(name, rounds, seed)
        row: dict[str, Any] = {"stream": name, "rounds": len(seen)}
        for title, asked in (("by counts", by_counts(seen)), ("predicted", predicted(seen))):
            row[title] = asked.total() / len(seen)
            row[f"{title}, most"] = max(asked.values()) * len(asked) / asked.total()
        rows.append({**row, "fewest": fewest(seen)})
    return rows


def as_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = ["```text", f"{'members a round':<26}{'rounds':>7}{'by counts':>18}{'predicted':>18}"
             f"{'nobody can do better':>22}"]  # fmt: skip
    for row in rows:
        cells = (f"{row[t]:.2f} (most {row[f'{t}, most']:.2f})" for t in ("by counts", "predicted"))
        counts, models = cells
        lines.append(f"{row['stream']:<26}{row['rounds']:>7,}{counts:>18}{models:>18}"
                     f"{row['fewest']:>22.2f}")  # fmt: skip
    return "\n".join([*lines, "```"])


@click.command()
@click.option("--rounds", type=int, default=1000, help="Rounds of each game.")
@click.option("--json", "path", type=click.Path(allow_dash=True), help="Write the numbers here.")
def main(rounds: int, path: str | None) -> None:
    """Print how many members of five a majority has to ask."""
    rows = measured(rounds)
    print(as_table(rows))
    if path:
        with click.open_file(path, "w") as file:
            file.write(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
