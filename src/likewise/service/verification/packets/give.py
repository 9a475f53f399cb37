"""Giving somebody the file of a decision; the ledger says that it was given."""

from __future__ import annotations

from typing import Any

from likewise.service.clock import now
from likewise.service.ledger.bodies.evidence import PacketGiven
from likewise.service.ledger.canonical_json import canonical, sha256
from likewise.service.ledger.notices import notify
from likewise.service.ledger.store import Store
from likewise.service.verification.evidence import evidence_of
from likewise.service.verification.packets.packet import signed_packet

__all__ = ["give_packet"]


def give_packet(store: Store, docket: str, round_id: str, person: str) -> dict[str, Any]:
    """A packet of a decision as the ledger is now; its hash is recorded."""
    made = signed_packet(evidence_of(store, docket), round_id, person, store.keys.current(), now())
    with store.changing() as connection:
        notify(connection, docket, (), PacketGiven(round_id, person, sha256(canonical(made))))
    return made
