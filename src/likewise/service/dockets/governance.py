"""Governance: what a docket's records say about keys, actors, anchors, retention and holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import singledispatchmethod
from typing import Any

from likewise.service.ledger.actors import Actor
from likewise.service.ledger.bodies.evidence import (
    Anchored,
    AnchorFailed,
    EvidenceBody,
    HoldLifted,
    HoldPlaced,
    KeyPublished,
    MemberKeySet,
    RetentionSet,
    Signed,
    SignedIn,
    SignedOut,
    TokenEnded,
    TokenIssued,
)
from likewise.service.ledger.records import Receipt, Record
from likewise.service.ledger.signing.signatures import PublicKey

__all__ = ["AnchorState", "Governance", "prefaces"]


@dataclass
class AnchorState:
    """The last receipt that was fixed at a target, when, and why the last try failed, if it did."""

    seq: int = 0
    fixed: str = ""
    recorded: int = 0
    failure: str = ""


@dataclass
class Governance:
    """All that is not about rounds, as far as the records have been taken in.

    ``actors`` are those who can act, by id, as they were introduced; ``keys`` are the members', and
    ``signed`` is when each of them last signed something.
    ``busy`` is the number of the last record that is more than an anchor's own.
    """

    key: str = ""
    actors: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    signed: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, AnchorState] = field(default_factory=dict)
    features_days: float | None = None
    reasons_days: float | None = None
    holds: dict[str, dict[str, Any]] = field(default_factory=dict)
    busy: int = 0

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Governance:
        """Read it back."""
        anchors = {name: AnchorState(**state) for name, state in data["anchors"].items()}
        return cls(**{**data, "anchors": anchors})

    def take(self, record: Record, body: object) -> None:
        """Take in a record of any kind; those that concern none of this leave no trace."""
        if not isinstance(body, (Anchored, AnchorFailed)):
            self.busy = record.seq
        if isinstance(body, EvidenceBody):
            self._take(body, record)

    @singledispatchmethod
    def _take(self, body: object, record: Record) -> None:
        """Records that are looked at in verification alone."""

    @_take.register
    def _published(self, body: KeyPublished, _: Record) -> None:
        self.key = body.key

    @_take.register
    def _issued(self, body: TokenIssued, _: Record) -> None:
        self.actors[f"token:{body.token}"] = asdict(body)

    @_take.register
    def _over(self, body: TokenEnded | SignedOut, _: Record) -> None:
        if isinstance(body, TokenEnded):
            self.actors.pop(f"token:{body.token}", None)
        else:
            self.actors.pop(f"sign-in:{body.sign_in}", None)

    @_take.register
    def _signed_in(self, body: SignedIn, record: Record) -> None:
        over = [
            name for name, one in self.actors.items() if "until" in one and one["until"] < record.at
        ]
        for name in over:
            del self.actors[name]
        self.actors[f"sign-in:{body.sign_in}"] = asdict(body)

    @_take.register
    def _member_key(self, body: MemberKeySet, _: Record) -> None:
        self.keys[body.member] = body.key

    @_take.register
    def _signed(self, body: Signed, _: Record) -> None:
        self.signed[body.member] = body.at

    @_take.register
    def _anchored(self, body: Anchored, record: Record) -> None:
        seq = Receipt.parse(body.receipt).head.seq
        self.anchors[body.target] = AnchorState(seq, body.fixed, record.seq)

    @_take.register
    def _anchor_failed(self, body: AnchorFailed, _: Record) -> None:
        known = self.anchors.setdefault(body.target, AnchorState())
        known.failure = body.why

    @_take.register
    def _retention(self, body: RetentionSet, _: Record) -> None:
        self.features_days, self.reasons_days = body.features, body.reasons

    @_take.register
    def _hold(self, body: HoldPlaced, _: Record) -> None:
        self.holds[body.hold] = asdict(body)

    @_take.register
    def _lifted(self, body: HoldLifted, _: Record) -> None:
        self.holds.pop(body.hold, None)

    def held(self, round_id: str, person: str | None = None) -> str | None:
        """The hold that keeps a round, or somebody in it, from being erased; None if there is none.

        >>> hold = {"h1": {"of_round": "r1", "person": None, "why": "a complaint"}}
        >>> Governance(holds=hold).held("r1", "ann"), Governance(holds=hold).held("r2")
        ('h1', None)
        """
        for name, hold in self.holds.items():
            same_round = hold["of_round"] in (None, round_id)
            if same_round and (person is None or hold["person"] in (None, person)):
                return name
        return None


def prefaces(known: Governance, actor: Actor, public: PublicKey | None) -> list[EvidenceBody]:
    """Records that have to come before somebody adds to a ledger: who they are, and the key."""
    found: list[EvidenceBody] = []
    # A sign-in first: it introduces itself, and whoever comes after it is introduced by it.
    for one in reversed(actor.introduction):
        name = f"sign-in:{one.sign_in}" if isinstance(one, SignedIn) else f"token:{one.token}"
        if name not in known.actors:
            found.append(one)
    if public is not None and not known.key:
        # A ledger of before receipts were signed; a change of keys is recorded when it is made.
        found.append(KeyPublished(public.text, None, None, False))
    return found
