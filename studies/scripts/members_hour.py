"""A member's hour: minutes that simulated members look at pairs in a docket, for 1,000 rounds.

    python studies/scripts/members_hour.py --rounds 1000

The world is ``loans`` with five members and a majority, at four seconds a pair; every docket gets
the same applicants, on SQLite, through the commands that the server runs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from likewise import Learner
from likewise.panel.panels import Panel
from likewise.simulate.loans import Loans
from likewise_service.api.metrics import measure
from likewise_service.demo import applicants
from likewise_service.dockets import panel, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.reviews import Seat
from likewise_service.dockets.round import Round
from likewise_service.dockets.spec import DocketSpec
from likewise_service.dockets.worker import Worker
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

DOCKETS: dict[str, tuple[str, bool]] = {
    "every round, all members": ("everything", False),
    "possible pairs, all members": ("possible", False),
    "possible pairs, in turn": ("possible", True),
    "pairs not known, all members": ("model", False),
    "pairs not known, in turn": ("model", True),
}
# Rounds that share a transaction.
TOGETHER = 50


def play(store: Store, world: Loans, name: str, attention: str, turns: bool, count: int) -> Docket:
    """A docket after so many rounds before its simulated panel."""
    learner = Learner(world.hypotheses(), world.k, 0.3, 0.3, 0, attention=attention)
    members = world.panel.members
    spec = DocketSpec.of(name, learner, members, rule="majority", repeat_share=0.0, turns=turns)
    rounds.open_docket(store, name, spec, seed=1)
    docket = Docket(store, name)
    for first in range(1, count + 1, TOGETHER):
        with docket.group():
            for number in range(first, min(first + TOGETHER, count + 1)):
                _play_round(docket, world, number)
    return docket


def _play_round(docket: Docket, world: Loans, number: int) -> None:
    met = world.encounter(number)
    round_, _ = rounds.open_round(docket, applicants(met.people))
    while member := next((m for m, seat in round_.seats.items() if seat == "asked"), None):
        _review(docket, world, round_, member)
        round_ = docket.projection.round(round_.id)
    labels = zip(met.people.ids, met.labels.tolist(), strict=True)
    rounds.label(docket, [(round_.id, person, int(label)) for person, label in labels])


def _review(docket: Docket, world: Loans, round_: Round, member: str) -> None:
    [auditor] = [a for a in world.panel.auditors if a.name == member]
    scores = [decision.score for decision in round_.decisions.values()]
    people = world.encounter(round_.number).people
    objections = Panel([auditor], "any").objections(people, scores, round_.sensitivity)
    for pair in objections.members[member].pairs:
        if round_.can_report(pair, member):
            panel.flag(docket, Seat(round_.id, member), pair)
    panel.finish(docket, Seat(round_.id, member))


def figures(docket: Docket) -> dict[str, Any]:
    numbers = measure(Worker(docket.store, docket.name, Settings()), with_panel=True)
    asked = [entry.asked for entry in numbers.members or []]
    return {
        "minutes": numbers.minutes, "rounds": numbers.looked_at, "reports": numbers.reports,
        "members": numbers.members_asked / max(numbers.looked_at, 1), "error": numbers.error,
        "most": max(asked) * len(asked) / max(sum(asked), 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    world = Loans(options.seed)
    print("| docket | minutes of a member | rounds looked at | members a round | most asked / mean "
          "| reports | error |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder) / 'hour.db'}")
        for place, (title, (attention, turns)) in enumerate(DOCKETS.items()):
            f = figures(play(store, world, f"d{place}", attention, turns, options.rounds))
            print(
                f"| {title} | {f['minutes']:,.0f} | {f['rounds']:,} | {f['members']:.2f} | "
                f"{f['most']:.2f} | {f['reports']} | {f['error']:.3f} |", flush=True,
            )  # fmt: skip
        store.close()


if __name__ == "__main__":
    main()
