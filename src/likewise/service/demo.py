"""The demo: a lending docket with a stream of applicants, four simulated seats, and one for you."""

from __future__ import annotations

import asyncio
import logging
import math

from likewise.auditing import Panel
from likewise.errors import LikewiseError
from likewise.learning.learner import Learner
from likewise.schema import People
from likewise.service.dockets.commands import feedback, members, reviews
from likewise.service.dockets.commands.rounds import Applicant, open_docket, open_round
from likewise.service.dockets.docket import Docket
from likewise.service.dockets.reviews.targets import Seat
from likewise.service.dockets.spec import DocketSpec
from likewise.service.dockets.views.round import Round
from likewise.service.dockets.worker import Workers
from likewise.service.ledger.store import Store
from likewise.worlds import Encounter, Loans

__all__ = ["DEMO", "YOU", "Simulation", "applicants", "demonstrate"]

DEMO, YOU = "demo-lending", "you"
LOG = logging.getLogger("likewise.service")
HISTORY = 40
AHEAD = 3


def applicants(people: People) -> list[Applicant]:
    """People of a simulated world as a client would send them.

    >>> met = Loans(1).encounter(1).people
    >>> applicants(met)[0].features["employment"] in ("employed", "self-employed")
    True
    """
    schema = people.schema
    found = []
    for name, row in zip(people.ids, people.x.tolist(), strict=True):
        features: dict[str, object] = {}
        for column, value in zip(schema.names, row, strict=True):
            levels = schema[column].levels
            missing = math.isnan(value)
            features[column] = None if missing else levels[int(value)] if levels else value
        found.append(Applicant(name, features))
    return found


class Simulation:
    """Somebody who sends applicants, reports who repaid, and speaks for four of the five seats.

    It does one thing at a time and remembers nothing that the ledger does not say, so it can be
    stopped and started like the rest of the service.
    """

    def __init__(self, store: Store, seed: int = 7, k: int = 5) -> None:
        self.world = Loans(seed, k=k)
        if DEMO not in store.dockets():
            learner = Learner(self.world.hypotheses(), k, 0.3, 0.3, 0, feedback="one-sided")
            seated = self.world.panel.members[:4]
            spec = DocketSpec.of(
                "Small loans (a demonstration)", learner, seated, rule="at_least(2)",
                deadline=900.0, quorum=3, repeat_share=0.2,
            )  # fmt: skip
            open_docket(store, DEMO, spec, seed)

    def step(self, docket: Docket) -> bool:
        """Do the next thing that there is to do; False where there is none."""
        projection = docket.refresh()
        opened, rounds = projection.open_rounds(), projection.counts["rounds"]
        for round_ in opened:
            if self._review(docket, round_) or self._repay(docket, round_):
                return True
        waiting = sum(r.seats.get(YOU) == "asked" and r.outcome is None for r in opened)
        if rounds < HISTORY or waiting < AHEAD:
            if rounds >= HISTORY and YOU not in projection.members:
                members.join(docket, YOU)
            t = rounds + 1
            open_round(docket, applicants(self._met(t).people), key=f"demo-{t}")
            return True
        return False

    def _met(self, number: int) -> Encounter:
        return self.world.encounter(number)

    def _review(self, docket: Docket, round_: Round) -> bool:
        """One simulated member reviews the round."""
        for member, seat in round_.seats.items():
            if seat == "asked" and member != YOU and round_.outcome is None:
                auditor = next(a for a in self.world.panel.auditors if a.name == member)
                scores = [decision.score for decision in round_.decisions.values()]
                people, panel = self._met(round_.number).people, Panel([auditor], "any")
                said = panel.objections(people, scores, round_.sensitivity)
                for pair in said.members[member].pairs:
                    reviews.object_to(docket, Seat(round_.id, member), pair)
                reviews.finish(docket, Seat(round_.id, member))
                return True
        return False

    def _repay(self, docket: Docket, round_: Round) -> bool:
        """Those who got a loan repay it, or not, once the panel has closed."""
        if round_.outcome is None:
            return False
        met = self._met(round_.number)
        labels = [
            (round_.id, person, int(label))
            for person, label in zip(met.people.ids, met.labels, strict=True)
            if round_.decisions[person].approved and person not in round_.labels
        ]
        if labels:
            feedback.label(docket, labels)
        elif round_.closed is None:
            feedback.close(docket, round_.id)
        return True


async def demonstrate(workers: Workers, simulation: Simulation, stop: asyncio.Event) -> None:
    """Let the simulation work until told to stop, in the docket's own thread."""
    while not stop.is_set():
        try:
            busy = await workers.run(DEMO, lambda worker: simulation.step(worker.docket))
        except LikewiseError:  # another process may have been faster; the next step will tell
            LOG.exception("The demonstration stumbled; it goes on.")
            busy = False
        try:
            await asyncio.wait_for(stop.wait(), 0.001 if busy else 1.0)
        except TimeoutError:
            continue
