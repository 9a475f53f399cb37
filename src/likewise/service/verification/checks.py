"""What follows from the records before one, kind by kind; used by replay alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from likewise.auditing import Pair
from likewise.events import Decision
from likewise.learning import Learner
from likewise.learning.decisions import lottery
from likewise.learning.learner import ALGORITHM
from likewise.service.dockets.commands.audits import conclusion
from likewise.service.dockets.commands.rounds import commitment, due_after
from likewise.service.dockets.learner import Contents, Replaced
from likewise.service.dockets.projection import Projection, Round, instant
from likewise.service.dockets.spec import checked_panel
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.records import Record
from likewise.service.verification.findings import Difference, Replayed

__all__ = ["RECHECKS", "Recheck"]


class Recheck:
    """Compares each record with what the projection says before it, and notes what differs."""

    def __init__(
        self, projection: Projection, found: Replayed, payloads: Mapping[str, Payload] | None,
        replaced: Replaced,
    ) -> None:  # fmt: skip
        self.projection, self.found, self.payloads, self.replaced = (
            projection,
            found,
            payloads,
            replaced,
        )
        self.learner: Learner | None = None
        self.changed: set[str] = set()
        self._owed: tuple[str, str] | None = None
        self._reasons: dict[str, Record] = {}
        self._last = 0

    def differ(self, record: Record, about: str, recorded: object, expected: object) -> None:
        """Note a difference."""
        self.found.differences.append(Difference(record.seq, about, f"{recorded}.", f"{expected}."))

    def order(self, record: Record) -> None:
        """The docket opens once, time never goes back, and what is due comes at once."""
        first, opens = self.projection.spec is None, record.kind == "docket-opened"
        if first != opens:
            self.differ(record, "order", f"It is {record.kind!r}", "docket-opened first, and once")
        if record.at < self.projection.at:
            self.differ(
                record, "order", f"It has the time {record.at}", f"{self.projection.at} or later"
            )
        mine = (record.kind, record.body.get("round", ""))
        if self._owed is not None and mine != self._owed:
            kind, round_id = self._owed
            self.differ(record, "order", f"It is {record.kind!r}", f"{kind!r} of round {round_id}")
        self._owed, self._last = None, record.seq

    def finish(self) -> None:
        """Nothing may be due at the end, and objections that stand have their reasons."""
        for round_ in self.projection.rounds.values():
            for said in round_.objections.values():
                for pair, reason in said.items():
                    gone = any((round_.id, person) in self.replaced for person in pair)
                    if reason is not None and not gone:
                        self.payload(self._reasons[reason], reason, "The words of a reason")
        if self._owed is not None:
            kind, round_id = self._owed
            self.found.differences.append(
                Difference(self._last + 1, "order", "There is none.", f"{kind} of {round_id}.")
            )

    def nothing(self, record: Record) -> None:
        """Kinds that the fold alone judges."""

    # ── Settings and members ─────────────────────────────────────────────────────────────────────

    def opened(self, record: Record) -> None:
        """This version of the algorithm can recompute it."""
        if record.body["algorithm"] != ALGORITHM:
            self.differ(record, "learner", f"It is by {record.body['algorithm']}", ALGORITHM)

    def membership(self, record: Record) -> None:
        """Members join once, leave once, and the rule makes sense for them."""
        members, body = list(self.projection.members), record.body
        if record.kind == "member-left":
            members.remove(body["member"])
        elif record.kind == "member-joined":
            members.append(body["member"])
        checked_panel(tuple(members), body.get("rule", self.projection.rule))

    def revealed(self, record: Record) -> None:
        """What is published is what was committed to."""
        published = commitment(int(record.body["seed"]), bytes.fromhex(record.body["salt"]))
        if published != self.projection.commitment:
            self.differ(record, "seed", "Another seed was published", "the one committed to")

    # ── People ───────────────────────────────────────────────────────────────────────────────────

    def arrived(self, record: Record) -> None:
        """Nobody joins a sealed round, or after the seed was published; payloads are theirs."""
        name = record.body["round"]
        round_ = self.projection.rounds.get(name)
        if round_ is not None and round_.sealed is not None:
            self.differ(record, "order", f"People join the sealed round {name}", "nobody")
        if self.projection.revealed is not None:
            self.differ(record, "order", "People arrive after the seed was published", "nobody")
        for person in record.body["people"]:
            erased = (name, person["id"]) in self.replaced
            if not erased:
                self.payload(record, person["digest"], f"The features of {person['id']!r}")
            elif self.payloads is not None and person["digest"] in self.payloads:
                who = f"The features of {person['id']!r}, who was erased, are still there"
                self.differ(record, "erasure", who, "erased")
        self._owed = ("decided", name)

    def payload(self, record: Record, digest: str, what: str) -> None:
        """Something personal is there, and what was recorded."""
        if self.payloads is None:
            return
        if digest in self.changed:
            self.differ(record, "payload", f"{what} were changed", f"those of {digest[:16]}…")
        elif digest not in self.payloads:
            self.differ(record, "payload", f"{what} are missing", f"those of {digest[:16]}…")

    def complete(self, record: Record, contents: Contents) -> bool:
        """Whether everybody who arrived has features, or those of a surrogate."""
        name = record.body["round"]
        digests = [self.replaced.get((name, p["id"]), p["digest"]) for p in record.body["people"]]
        return all(digest is not None and digest in contents for digest in digests)

    def decisions(self, record: Record, should: Sequence[Decision]) -> None:
        """Score, decision and inverse chance of everybody are those that follow."""
        recorded = [Decision(**d) for d in record.body["decisions"]]
        if [d.person for d in recorded] != [d.person for d in should]:
            who = f"Decisions are on {[d.person for d in recorded]}"
            self.differ(record, "decision", who, [d.person for d in should])
            return
        for one, other in zip(recorded, should, strict=True):
            if one != other:
                self.differ(record, "decision", f"{one.person!r}: {_words(one)}", _words(other))

    def erased(self, record: Record) -> None:
        """The surrogate is what was recorded, or there is none."""
        who = (record.body["round"], record.body["person"])
        if who[1] not in self.projection.rounds[who[0]].people:
            self.differ(record, "erasure", f"{who[1]!r} was erased", "somebody of the round")
        if record.body["digest"] is None:
            self.found.wholly.append(who)
        else:
            self.found.erased.append(who)
            self.payload(record, record.body["digest"], f"The surrogate's features for {who[1]!r}")

    # ── Panels ───────────────────────────────────────────────────────────────────────────────────

    def sealed(self, record: Record) -> None:
        """Lottery, members, rule and deadline."""
        body, round_ = record.body, self.projection.rounds[record.body["round"]]
        if round_.sealed is not None:
            self.differ(record, "order", f"Round {round_.id} is sealed again", "sealed once")
        if self.learner is not None:
            self.found.draws += 1
            drawn = lottery(self.learner, round_.number)
            if body["drawn"] != drawn:
                self.differ(record, "lottery", f"drawn: {body['drawn']}", f"drawn: {drawn}")
        due = due_after(record.at, self.projection.settings.deadline)
        members = self.projection.members if body["drawn"] else []
        for name, should in (("members", members), ("rule", self.projection.rule), ("due", due)):
            if body[name] != should:
                self.differ(record, "panel", f"{name}: {body[name]}", f"{name}: {should}")
        if not body["members"]:
            self._owed = ("audited", round_.id)

    def said(self, record: Record) -> None:
        """Objections and their withdrawal: by a member, before the end, on a pair to ask about."""
        body, round_ = record.body, self._in_audit(record)
        pair = Pair.of(body["pair"])
        first, second = (round_.decisions[person].score for person in pair)
        if self.learner is not None and abs(first - second) <= self.learner.sensitivity:
            self.differ(record, "panel", f"An objection to {list(pair)}", "a pair to ask about")
        if body.get("reason") is not None:
            self._reasons[body["reason"]] = record

    def seat(self, record: Record) -> None:
        """Reviews and absences; the last one ends the audit."""
        round_, member = self._in_audit(record), record.body["member"]
        seats = dict(round_.seats)
        was = "reviewed" if record.kind == "reopened" else "asked"
        if seats[member] != was:
            self.differ(record, "panel", f"{member!r} was {seats[member]}", was)
        if record.kind == "absent" and (
            round_.due is None or instant(record.at) < instant(round_.due)
        ):
            self.differ(record, "panel", f"{member!r} is absent already", f"due at {round_.due}")
        seats[member] = "asked" if record.kind == "reopened" else record.kind
        if "asked" not in seats.values():
            self._owed = ("audited", round_.id)

    def _in_audit(self, record: Record) -> Round:
        round_, member = self.projection.rounds[record.body["round"]], record.body["member"]
        if member not in round_.seats:
            self.differ(record, "panel", f"{member!r} speaks", "a member of the round's panel")
        late = round_.due is not None and instant(record.at) >= instant(round_.due)
        if late and record.kind != "absent":
            self.differ(record, "panel", f"{member!r} speaks at {record.at}", f"by {round_.due}")
        if round_.outcome is not None:
            self.differ(record, "panel", f"{member!r} speaks after the audit", "nobody")
        return round_

    def audited(self, record: Record) -> None:
        """The outcome follows from who was there, what they said, rule and quorum."""
        body, round_ = record.body, self.projection.rounds[record.body["round"]]
        if round_.outcome is not None:
            self.differ(record, "order", f"Round {round_.id} is audited again", "audited once")
        recorded: tuple[Any, Any] = (body["outcome"], body["pairs"])
        if "asked" in round_.seats.values():
            should: tuple[Any, Any] = ("unaudited", [])
            self.found.ended += recorded == should
        else:
            should = conclusion(round_, round_.seats, self.projection.settings.quorum)
        self.found.audits += 1
        if recorded != should:
            self.differ(record, "audit", _outcome(*recorded), _outcome(*should))

    # ── Feedback ─────────────────────────────────────────────────────────────────────────────────

    def once(self, record: Record) -> None:
        """Labels, overrides and the end of a round come once."""
        round_ = self.projection.rounds[record.body["round"]]
        known: dict[str, set[str]] = {
            "labelled": set(round_.labels), "overridden": set(round_.overrides),
            "closed": {""} if round_.closed else set(),
        }  # fmt: skip
        if record.body.get("person", "") in known[record.kind]:
            self.differ(record, "order", f"{record.kind!r} is there twice", "there once")

    def repeated(self, record: Record) -> None:
        """Only who has reviewed a round before can be shown it again."""
        round_ = self.projection.rounds[record.body["round"]]
        if round_.seats.get(record.body["member"]) != "reviewed":
            self.differ(record, "panel", "Somebody reviewed it again", "a member who had reviewed")


RECHECKS: dict[str, Callable[[Recheck, Record], None]] = {
    "docket-opened": Recheck.opened,
    **dict.fromkeys(("member-joined", "member-left", "rule-changed"), Recheck.membership),
    "arrived": Recheck.arrived,
    "sealed": Recheck.sealed,
    **dict.fromkeys(("objected", "withdrawn"), Recheck.said),
    **dict.fromkeys(("reviewed", "reopened", "absent"), Recheck.seat),
    "audited": Recheck.audited,
    **dict.fromkeys(("labelled", "overridden", "closed"), Recheck.once),
    "repeated": Recheck.repeated,
    "erased": Recheck.erased,
    "seed-revealed": Recheck.revealed,
}


def _words(decision: Decision) -> str:
    said = "approved" if decision.approved else "rejected"
    chance = "" if decision.inverse_chance is None else f", J {decision.inverse_chance / 2**20:.6f}"
    return f"{said}, score {decision.score / 2**20:.4f} ({decision.score} of 2^20){chance}"


def _outcome(outcome: object, pairs: Sequence[Sequence[str]]) -> str:
    reported = "; ".join(" over ".join(map(str, pair)) for pair in pairs)
    return f"outcome {outcome}" + (f" ({reported})" if reported else "")
