"""A unit of work: one command's records, added as a whole or not at all; and their receipts."""

from __future__ import annotations

from likewise.service.clock import compact, now
from likewise.service.dockets.governance import introductions
from likewise.service.dockets.learner import Contents, State, advance, awaited
from likewise.service.dockets.views.projection import Projection
from likewise.service.ledger.actors import current_actor
from likewise.service.ledger.bodies import Body, Closed, write_body
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Head, Receipt, Record
from likewise.service.ledger.signing.keys import Keyring
from likewise.service.ledger.signing.signatures import PublicKey
from likewise.service.ledger.transaction import Transaction

__all__ = ["Receipts", "UnitOfWork"]


class UnitOfWork:
    """One command at work, within a savepoint of a transaction that it shares with others.

    ``projection`` is as it was when the command began; ``state`` follows the records. All of them
    have the same time, ``at``, and the same actor.
    """

    def __init__(
        self, transaction: Transaction, projection: Projection, state: State, at: str
    ) -> None:
        self.transaction, self.projection, self.state = transaction, projection, state
        self.actor = current_actor()
        # Clocks of several machines differ, and are set back; the ledger's time never goes back.
        self.at, self.clock = max(at, projection.at), at
        self.added: list[tuple[Record, Body]] = []
        self._contents: Contents = {}

    def add(self, body: Body) -> None:
        """One more record; the fold has to accept what it stands for.

        The first one is preceded by those that introduce the actor, if the ledger lacks them.
        """
        self.state = advance(self.state, body, self._contents)
        if not self.added:
            for introduction in introductions(self.projection.governance, self.actor):
                self._append(introduction)
        self._append(body)

    def _append(self, body: Body) -> None:
        kind, plain = write_body(body)
        self.added.append((self.transaction.append(kind, plain, self.at, self.actor.id), body))

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for a record."""
        self._contents = {**self._contents, payload.digest: payload.content}
        return self.transaction.keep(payload)

    def close_if_done(self, round_id: str) -> None:
        """A round of which nothing more can be heard is closed."""
        open_round = self.state.open.get(round_id)
        if open_round is None or open_round.outcome is None:
            return
        if not awaited(self.state, round_id):
            self.add(Closed(round_id))


class Receipts:
    """The receipts of a docket. Within a second, of one head and by one key, they are the same."""

    def __init__(self, keys: Keyring, docket: str) -> None:
        self._keys, self._docket = keys, docket
        self._last: tuple[tuple[Head, PublicKey, str], Receipt] | None = None

    def of(self, head: Head) -> Receipt:
        """The receipt of a head, signed."""
        same = (head, self._keys.public(), compact(now()))
        if self._last is None or self._last[0] != same:
            self._last = (same, self._keys.sign(Receipt(self._docket, head)))
        return self._last[1]
