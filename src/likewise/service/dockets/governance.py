"""What a docket's records say about keys, actors, anchors, retention and legal holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from likewise.service.ledger.actors import Actor
from likewise.service.ledger.bodies.evidence import (
    Anchored,
    AnchorFailed,
    HoldLifted,
    HoldPlaced,
    MemberKeySet,
    RetentionSet,
    Signed,
    SignedIn,
    SignedOut,
    TokenEnded,
    TokenIssued,
)
from likewise.service.ledger.records import Receipt, Record


@dataclass
class AnchorState:
    """The last receipt anchored at a target, when, and why the last attempt failed, if it did."""

    seq: int = 0
    fixed: str = ""
    recorded: int = 0
    failure: str = ""


@dataclass
class Governance:
    """All that is not about rounds.

    ``actors`` are those who can act, by id; ``keys`` are the members' keys, and ``signed`` is when
    each of them last signed. ``busy`` is the number of the last record that is not an anchor's.
    """

    actors: dict[str, TokenIssued | SignedIn] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    signed: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, AnchorState] = field(default_factory=dict)
    features_days: float | None = None
    reasons_days: float | None = None
    holds: dict[str, HoldPlaced] = field(default_factory=dict)
    busy: int = 0

    def take(self, record: Record, body: object) -> None:
        """Take in a record of any kind; those that concern none of this change ``busy`` alone."""
        if not isinstance(body, (Anchored, AnchorFailed)):
            self.busy = record.seq
        match body:
            case TokenIssued():
                self.actors[_actor_id(body)] = body
            case TokenEnded():
                self.actors.pop(f"token:{body.token}", None)
            case SignedIn():
                self._expire(record.at)
                self.actors[_actor_id(body)] = body
            case SignedOut():
                self.actors.pop(f"sign-in:{body.sign_in}", None)
            case MemberKeySet():
                self.keys[body.member] = body.key
            case Signed():
                self.signed[body.member] = body.at
            case Anchored():
                seq = Receipt.parse(body.receipt).head.seq
                self.anchors[body.target] = AnchorState(seq, body.fixed, record.seq)
            case AnchorFailed():
                self.anchors.setdefault(body.target, AnchorState()).failure = body.why
            case RetentionSet():
                self.features_days, self.reasons_days = body.features, body.reasons
            case HoldPlaced():
                self.holds[body.hold] = body
            case HoldLifted():
                self.holds.pop(body.hold, None)

    def _expire(self, at: str) -> None:
        """Remove the sign-ins whose time is over."""
        self.actors = {
            name: actor
            for name, actor in self.actors.items()
            if not isinstance(actor, SignedIn) or actor.until >= at
        }

    def held(self, round_id: str, person: str | None = None) -> str | None:
        """Return the legal hold that keeps a round, or a person in it, from erasure, or None.

        >>> governance = Governance(holds={"h1": HoldPlaced("h1", "r1", None, "a complaint")})
        >>> governance.held("r1", "ann"), governance.held("r2")
        ('h1', None)
        """
        for name, hold in self.holds.items():
            same_round = hold.of_round in (None, round_id)
            if same_round and (person is None or hold.person in (None, person)):
                return name
        return None


def _actor_id(body: TokenIssued | SignedIn) -> str:
    return f"sign-in:{body.sign_in}" if isinstance(body, SignedIn) else f"token:{body.token}"


def introductions(governance: Governance, actor: Actor) -> list[TokenIssued | SignedIn]:
    """Return the records that introduce an actor, unless the ledger has them already."""
    # A sign-in first: it introduces itself, and those after it refer to it.
    bodies = reversed(actor.introduction)
    return [body for body in bodies if _actor_id(body) not in governance.actors]
