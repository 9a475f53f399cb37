"""The demo: a lending docket with a stream of applicants, four simulated seats, and one for you."""

import asyncio
import math

from likewise.errors import LikewiseError
from likewise.learner.settings import Learner
from likewise.panel.panels import Panel
from likewise.people.schema import People
from likewise.simulate.loans import Loans
from likewise_service.dockets import panel, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.round import Round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.dockets.worker import Workers, pause
from likewise_service.errors import LOG
from likewise_service.ledger.store import Store

DEMO, YOU = "demo-lending", "you"
SEED, K = 7, 5
# The rounds before you join, and those that wait for you at most.
HISTORY = 40
AHEAD = 3


def applicants(people: People) -> list[rounds.Applicant]:
    """Return people of a simulated world as a client would send them.

    >>> applicants(Loans(1).encounter(1).people)[0].features["employment"]
    'self-employed'
    """
    features = people.schema.features
    return [
        rounds.Applicant(
            name,
            {
                f.name: None if math.isnan(v) else f.levels[int(v)] if f.levels else v
                for f, v in zip(features, row, strict=True)
            },
        )
        for name, row in zip(people.ids, people.x.tolist(), strict=True)
    ]


class Simulation:
    """Sends applicants, labels and four of five members' reviews; its state is the ledger's."""

    def __init__(self, store: Store) -> None:
        self.world = Loans(SEED, k=K)
        if DEMO not in store.dockets():
            learner = Learner(self.world.hypotheses(), K, 0.3, 0.3, 0, feedback="one-sided")
            members = self.world.panel.members[:4]
            spec = DocketSpec.of(
                "Small loans (a demonstration)", learner, members, rule="at_least(2)",
                deadline=900.0, quorum=3, repeat_share=0.2,
            )  # fmt: skip
            rounds.open_docket(store, DEMO, spec, SEED)

    def step(self, docket: Docket) -> bool:
        projection = docket.refresh()
        opened, count = list(projection.opened.values()), projection.counts["rounds"]
        for round_ in opened:
            if self._review(docket, round_) or self._repay(docket, round_):
                return True
        waiting = sum(r.seats.get(YOU) == "asked" and r.outcome is None for r in opened)
        if count >= HISTORY and waiting >= AHEAD:
            return False
        if count >= HISTORY and YOU not in projection.members:
            panel.join(docket, YOU)
        people = self.world.encounter(count + 1).people
        rounds.open_round(docket, applicants(people), key=f"demo-{count + 1}")
        return True

    def _review(self, docket: Docket, round_: Round) -> bool:
        auditors = {auditor.name: auditor for auditor in self.world.panel.auditors}
        asked = [m for m, seat in round_.seats.items() if seat == "asked" and m in auditors]
        if not asked or round_.outcome is not None:
            return False
        auditor = auditors[asked[0]]
        scores = [decision.score for decision in round_.decisions.values()]
        people = self.world.encounter(round_.number).people
        objections = Panel([auditor], "any").objections(people, scores, round_.sensitivity)
        seat = Seat(round_.id, auditor.name)
        for pair in objections.members[auditor.name].pairs:
            if round_.can_report(pair, auditor.name):
                panel.flag(docket, seat, pair)
        panel.finish(docket, seat)
        return True

    def _repay(self, docket: Docket, round_: Round) -> bool:
        if round_.outcome is None:
            return False
        encounter = self.world.encounter(round_.number)
        labels = [
            (round_.id, person, int(label))
            for person, label in zip(encounter.people.ids, encounter.labels, strict=True)
            if round_.decisions[person].approved and person not in round_.labels
        ]
        if labels:
            rounds.label(docket, labels)
        elif round_.closed is None:
            rounds.close(docket, round_.id)
        return True


async def demonstrate(workers: Workers, simulation: Simulation, stop: asyncio.Event) -> None:
    """Run the simulation in the docket's own thread, until ``stop`` is set."""
    while not stop.is_set():
        try:
            busy = await workers.run(
                DEMO, lambda worker: simulation.step(worker.docket), writes=True
            )
        except LikewiseError:  # another process may have been faster; the next step shows
            LOG.exception("The demonstration stumbled; it goes on.")
            busy = False
        await pause(stop, 0.001 if busy else 1.0)
