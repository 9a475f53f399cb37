"""How few members of a panel have to be asked, one after another, with the work shared fairly.

    python -m studies.scripts.turns      # writes its rows and its table

``docs/research/results.md`` says what the columns are. *Nobody can do better* knows all votes
beforehand: for each round the sets of members whose words settle it, mixed so that nobody is asked
more than 1.3 times the mean (a linear program).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from likewise.learner.attention import BoolArray
from likewise.numerics.fixed_point import FloatArray
from likewise.panel.rules import Rule
from likewise.panel.turns import Turns, ask_in_turn, settled
from likewise.simulate.counts import votes_on
from likewise.simulate.game import Game
from likewise.simulate.rounds import Moment
from studies.pages import Study, table

FAIR = 1.3
# The share of rounds that a docket puts before all members at once, by default.
TOGETHER = 0.05
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

    def see(moment: Moment) -> None:
        pairs, votes = votes_on(moment)
        if len(pairs):
            panel = moment.encounter.panel
            seen.append(Shown(panel.rule, panel.members, votes, pairs.inputs))

    prepared.play(progress=see)
    return seen


def in_turn(rounds: Sequence[Shown], *, features: bool = True) -> Counter[str]:
    """How often each member is asked; everybody's words are checked to give the same outcome."""
    turns = Turns()
    for shown in rounds:
        inputs = shown.inputs if features else None
        heard = ask_in_turn(shown.rule, shown.members, shown.votes, turns, inputs)
        if (heard.reported != shown.rule.fires(shown.votes, shown.members)).any():
            raise ArithmeticError(f"{heard.asked} settled a round otherwise than all members.")
        turns = heard.turns
    return Counter(turns.asked)


def fewest(rounds: Sequence[Shown], fair: float = FAIR) -> float:
    """The mean number of members a round that somebody as fair, who knew all votes, would ask."""
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


TITLES = {"without features": False, "in turn": True}


def measured(rounds: int = 1000, seeds: Sequence[int] = (1, 2, 3)) -> list[dict[str, Any]]:
    """Every stream in numbers: members a round, and the most asked beside the mean, at worst."""
    rows = []
    for name in STREAMS:
        streams = [stream(name, rounds, seed) for seed in seeds]
        row: dict[str, Any] = {"stream": name, "rounds": sum(map(len, streams))}
        for title, features in TITLES.items():
            counts = [in_turn(seen, features=features) for seen in streams]
            row[title] = sum(asked.total() for asked in counts) / row["rounds"]
            row[f"{title}, most"] = max(
                max(asked.values()) * len(asked) / asked.total() for asked in counts
            )
        row["with all at once"] = (1 - TOGETHER) * row["in turn"] + TOGETHER * 5
        row["fewest"] = sum(fewest(seen) * len(seen) for seen in streams) / row["rounds"]
        rows.append(row)
    return rows


def as_table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ("members a round", "rounds", *TITLES, "with all at once", "nobody can do better")
    lines = (
        (row["stream"], f"{row['rounds']:,}",
         *(f"{row[title]:.2f} (most {row[f'{title}, most']:.2f})" for title in TITLES),
         f"{row['with all at once']:.2f}", f"{row['fewest']:.2f}")
        for row in rows
    )  # fmt: skip
    return table(heads, lines)


STUDY = Study("turns", "turns.json", "results.md", as_table)

if __name__ == "__main__":
    STUDY.keep(measured())
