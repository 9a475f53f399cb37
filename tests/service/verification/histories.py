"""Random honest histories: everything that can be done, by everybody who may, in any order.

Two machines share a database, each with a clock of its own that jumps both ways; tokens are revoked
and people sign out while requests of theirs are under way; processes end and begin again.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from likewise.errors import LikewiseError
from likewise_service import anchors, clock
from likewise_service.auth import sign_ins, tokens
from likewise_service.dockets import appeals, erasure, panel, reviews, rounds, signing
from likewise_service.dockets import docket as dockets
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.recomputation import check_snapshot
from likewise_service.ledger import kinds
from likewise_service.ledger.notes import Checkpoint
from likewise_service.ledger.store import Keyring, Store
from likewise_service.settings import Settings
from likewise_service.verify import packets
from likewise_service.verify.evidence import Evidence, evidence_of
from likewise_service.verify.receipts import contradictions, keys_in, verify_all
from likewise_service.verify.replay import replay_evidence
from tests.service.live import small_spec

NAME = "loans"
MEMBERS = ("ada", "bob", "cyd", "dan")
BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
# Seconds for which somebody stays signed in: clocks jump further than that.
SIGNED_IN = 3600.0
SETTINGS = Settings(oidc_issuer="https://id.example", oidc_client_id="likewise")
JUMPS = (-90_000.0, -4000.0, -400.0, -3.0, 0.0, 0.0, 2.0, 350.0, 5000.0, 90_000.0)


class Machine:
    """A process on some machine: its clock's error, its store and its docket."""

    def __init__(self, store: Store) -> None:
        self.store, self.error = store, 0.0
        self._docket: Docket | None = None

    @property
    def docket(self) -> Docket:
        if self._docket is None:
            self._docket = Docket(self.store, NAME)
        return self._docket

    def restart(self) -> None:
        """Forget everything; only the statements that SQLAlchemy has compiled stay."""
        self.store.close()
        self.store.keys, self._docket = Keyring(self.store), None


class History:
    """One history, drawn from a seed; ``acts`` counts what was done, and what was refused."""

    def __init__(self, stores: Sequence[Store], seed: int, folder: Path) -> None:
        self.random, self._secrets = random.Random(seed), random.Random(f"secrets of {seed}")
        self.now = BEGIN
        self.machines = [Machine(store) for store in stores]
        self.machine = self.machines[0]
        self.folder, self.people = folder, 0
        self.actors: list[kinds.Actor] = [kinds.MACHINE]
        self.roles: dict[str, tuple[str, str]] = {"machine": ("operator", "")}
        self.tokens: list[tuple[str, tokens.Identity]] = []
        self.cookies: list[str] = []
        self.keys: dict[str, list[tokens.MemberKey]] = {}
        self.holds: list[str] = []
        self.receipts: list[Checkpoint] = []
        self.packets: list[dict[str, Any]] = []
        self.done: list[tuple[str, bool]] = []

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Let the whole service see the time of the machine that acts."""
        history = self

        class Simulated(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                moment = history.now + timedelta(seconds=history.machine.error)
                history.now += timedelta(microseconds=history.random.randint(1, 5000))
                return moment.astimezone(tz)

        with ExitStack() as stack:
            stack.enter_context(patch.object(clock, "datetime", Simulated))
            stack.enter_context(patch.object(dockets, "EVERY", 25))
            # Seeded, so that a history can be played again.
            stack.enter_context(patch.object(secrets, "token_bytes", self._bytes))
            stack.enter_context(patch.object(secrets, "token_hex", lambda n: self._bytes(n).hex()))
            yield

    def _bytes(self, count: int) -> bytes:
        return self._secrets.randbytes(count)

    def play(self, acts: int) -> None:
        with self.clock():
            self._begin()
            listed = [act for act, weight in ACTS.items() for _ in range(weight)]
            for _ in range(acts):
                self._step(self.random.choice(listed))

    def _begin(self) -> None:
        """A docket is opened at the machine, or by an operator through the API."""
        store, choose = self.machine.store, self.random
        if choose.random() < 0.7:
            self._introduce(tokens.create_token(store, "operator", "olga", None))
        audit_only = choose.random() < 0.2
        attentions = ["possible", "share:0.7", *(() if audit_only else ("model", "dominance"))]
        spec = small_spec(
            MEMBERS[:2], rule=choose.choice(["any", "majority"]),
            deadline=choose.choice([None, 30.0, 600.0]), repeat_share=choose.choice([0.0, 0.5]),
            quorum=choose.choice([1, 2]), attention=choose.choice(attentions),
            audit_only=audit_only, turns=choose.random() < 0.4, together_share=0.3,
            graded=choose.random() < 0.5,
        )  # fmt: skip
        with kinds.acting(self.actors[-1]):
            self.receipts.append(rounds.open_docket(store, NAME, spec, choose.getrandbits(32)))
        for role, name in (("client", "bank"), ("auditor", "ada"), ("auditor", "bob")):
            self._introduce(tokens.create_token(store, role, name, NAME))  # type: ignore[arg-type]

    def _introduce(self, created: tuple[str, tokens.Identity]) -> None:
        self.tokens.append(created)
        identity = created[1]
        self._know(identity.actor, identity)

    def _know(self, actor: kinds.Actor, identity: tokens.Identity) -> None:
        self.actors.append(actor)
        self.roles[actor.id] = (identity.role, identity.name)

    def _step(self, act: Callable[[History], None]) -> None:
        self.machine = self.random.choice(self.machines)
        self.now += timedelta(seconds=self.random.choice((0.01, 1.0, 20.0, 700.0)))
        try:
            act(self)
            self.done.append((act.__name__, True))
        except LikewiseError:
            self.done.append((act.__name__, False))

    def by(self, *roles: str) -> kinds.Actor:
        """Somebody of such a role: perhaps one who has been revoked, or signed out, since."""
        may = [actor for actor in self.actors if self.roles[actor.id][0] in roles]
        return self.random.choice(may or [kinds.MACHINE])

    def a_round(self) -> str:
        count = self.machine.docket.refresh().counts["rounds"]
        return f"r{self.random.randint(max(1, count - 4), max(1, count))}"

    def a_person(self, round_id: str) -> str:
        people = list(self.machine.docket.projection.round(round_id).people)
        return self.random.choice(people)

    def faults(self) -> list[str]:
        """Return everything that a verifier has to say against the history."""
        store = self.machine.store
        evidence = evidence_of(store, NAME)
        faults = [
            f"{name}: {difference}"
            for name, part in _views(evidence).items()
            for difference in replay_evidence(part).differences
        ]
        verdicts = verify_all(evidence, self.receipts, keys_in(evidence.records))
        faults += [f"{v.sentence} {v.signature}" for v in verdicts if not v.holds or not v.counts]
        faults += [str(pair) for pair in contradictions(self.receipts)]
        for packet in self.packets:
            faults += [f"packet: {f}" for f in packets.check_packet(packet, None, evidence)]
        with self.clock():
            check = check_snapshot(store, NAME)
        faults += [] if check is None else [f"snapshot: {part}" for part in check.differing]
        return faults


def _views(evidence: Evidence) -> dict[str, Evidence]:
    from dataclasses import replace

    return {
        "whole": evidence,
        "without features": replace(evidence, payloads=None),
        "without the seed": replace(evidence, payloads=None, secret=None),
    }


def _people(history: History) -> list[rounds.Applicant]:
    choose, audit_only = history.random, history.machine.docket.refresh().audit_only
    made = []
    for _ in range(choose.randint(1, 3)):
        history.people += 1
        features = {"score": choose.randint(300, 850), "debt": choose.randint(0, 100),
                    "purpose": choose.choice(["car", "home"])}  # fmt: skip
        score = round(choose.random(), 3) if audit_only else None
        made.append(rounds.Applicant(f"p{history.people}", features, score))
    return made


def open_round(history: History) -> None:
    people, seal = _people(history), history.random.random() < 0.9
    with kinds.acting(history.by("operator", "client")):
        receipt = rounds.open_round(history.machine.docket, people, seal=seal)[1]
    history.receipts.append(receipt)


def add_people(history: History) -> None:
    with kinds.acting(history.by("operator", "client")):
        rounds.add_people(history.machine.docket, history.a_round(), _people(history)[:1])


def seal(history: History) -> None:
    with kinds.acting(history.by("operator", "client")):
        rounds.seal(history.machine.docket, history.a_round())


def label(history: History) -> None:
    round_id = history.a_round()
    labels = [(round_id, history.a_person(round_id), history.random.randint(0, 1))]
    with kinds.acting(history.by("operator", "client")):
        rounds.label(history.machine.docket, labels)


def override(history: History) -> None:
    round_id = history.a_round()
    why = history.random.choice([None, "seen in person"])
    with kinds.acting(history.by("operator", "client")):
        person, approved = history.a_person(round_id), history.random.random() < 0.5
        rounds.override(history.machine.docket, round_id, person, approved, why)


def close(history: History) -> None:
    actor = history.by("operator", "client")
    unaudited = history.roles[actor.id][0] == "operator"
    with kinds.acting(actor):
        rounds.close(history.machine.docket, history.a_round(), unaudited=unaudited)


def give_packet(history: History) -> None:
    round_id = history.a_round()
    actor = history.by("operator", "client", "regulator")
    with kinds.acting(actor):
        person = history.a_person(round_id)
        role = history.roles[actor.id][0]
        docket = history.machine.docket
        history.packets.append(packets.give_packet(docket, round_id, person, role))


def review(history: History) -> None:
    actor, choose, docket = history.by("auditor"), history.random, history.machine.docket
    member = history.roles[actor.id][1] or choose.choice(MEMBERS)
    docket.refresh()
    listed = reviews.listed(docket, member, reviews.OPEN, 20)
    if not listed:
        return
    chosen = choose.choice(listed)
    act: Any = choose.choice(["flag", "flag", "withdraw", "finish", "finish", "finish", "reopen"])
    pairs = chosen.pairs if act in ("flag", "withdraw") else []
    people = [choose.choice(pairs)[:2]] if pairs else []
    if act in ("flag", "withdraw") and not people:
        return
    reason = choose.choice([None, "so alike"]) if act == "flag" else None
    graded = act == "flag" and docket.projection.settings.graded
    limit = choose.choice([None, 0.0, 0.1]) if graded else None
    signed = _signed(history, member, chosen, act, people, reason, limit)
    command: Any = {"flag": panel.flag, "withdraw": panel.withdraw, "finish": panel.finish,
                    "reopen": panel.reopen}[act]  # fmt: skip
    options: dict[str, Any] = {"reason": reason} if reason else {}
    options |= {} if limit is None else {"limit": limit}
    with kinds.acting(actor):
        receipt = command(docket, chosen.seat, *people, signed=signed, **options)
    history.receipts.append(receipt)


def comment(history: History) -> None:
    """A member comments on a round, open, ended or shown again."""
    actor, choose, docket = history.by("auditor"), history.random, history.machine.docket
    member = history.roles[actor.id][1] or choose.choice(MEMBERS)
    docket.refresh()
    listed = reviews.listed(docket, member, (*reviews.OPEN, *reviews.ENDED), 20)
    if listed:
        chosen, words = choose.choice(listed), "the same debts"
        signed = _signed(history, member, chosen, "comment", [], words, None)
        with kinds.acting(actor):
            receipt = panel.comment(docket, chosen.seat, words, signed)
        history.receipts.append(receipt)


def _signed(
    history: History, member: str, chosen: reviews.Review, act: Any, people: Any,
    reason: str | None, limit: float | None,
) -> signing.Signature | None:  # fmt: skip
    keys, to_sign = history.keys.get(member), signing.to_sign(history.machine.docket, chosen)
    if not keys or to_sign is None:
        return None
    pair = tuple(chosen.aliases[person] for person in people[0]) if people else ()
    key = history.random.choice(keys)
    sent = key.sign_act(NAME, member, chosen.id, to_sign, act, pair, reason, limit)
    return signing.Signature(
        sent["key"], sent["at"], sent["shown"], sent["signature"], bytes.fromhex(sent["salt"])
    )


def set_key(history: History) -> None:
    """A first key, or one more: a key that the member has agrees, or does not."""
    actor = history.by("auditor")
    member = history.roles[actor.id][1]
    if not member:
        return
    key, keys = tokens.MemberKey.fresh(), history.keys.setdefault(member, [])
    before = history.random.choice([None, *keys])
    proof = key.consent(NAME, member, key.public.text)
    consent = None if before is None else before.consent(NAME, member, key.public.text)
    with kinds.acting(actor):
        signing.enrol_key(history.machine.docket, member, key.public, proof=proof, consent=consent)
    keys.append(key)


def end_key(history: History) -> None:
    """Some key ends, which its owner may have lost."""
    actor, choose = history.by("auditor"), history.random
    member = history.roles[actor.id][1]
    keys = history.keys.get(member, [])
    if not keys:
        return
    ended, signer = choose.choice(keys), choose.choice([None, *keys])
    signature = None if signer is None else signer.revocation(NAME, member, ended.public.text)
    with kinds.acting(actor):
        signing.revoke_key(history.machine.docket, member, ended.public.id, signature)


def change_panel(history: History) -> None:
    docket, member = history.machine.docket, history.random.choice(MEMBERS)
    with kinds.acting(history.by("operator")):
        history.random.choice([panel.join, panel.leave])(docket, member)


def change_rule(history: History) -> None:
    rule = history.random.choice(["any", "majority", "at_least(2)"])
    with kinds.acting(history.by("operator")):
        panel.change_rule(history.machine.docket, rule)


def guidelines(history: History) -> None:
    with kinds.acting(history.by("operator")):
        panel.set_guidelines(history.machine.docket, f"Look twice, {history.people} times.")


def give_learner(history: History) -> None:
    learner = history.machine.docket.projection.settings.learner
    with kinds.acting(history.by("operator")):
        rounds.give_learner(history.machine.docket, learner)


def erase(history: History) -> None:
    round_id = history.a_round()
    with kinds.acting(history.by("operator")):
        erasure.erase(history.machine.docket, round_id, history.a_person(round_id))


def retention(history: History) -> None:
    days = [history.random.choice([None, 0.001, 1.0]) for _ in range(2)]
    with kinds.acting(history.by("operator")):
        erasure.set_retention(history.machine.docket, *days)


def hold(history: History) -> None:
    with kinds.acting(history.by("operator")):
        if history.holds and history.random.random() < 0.5:
            erasure.lift_hold(history.machine.docket, history.holds.pop())
        else:
            round_id = history.random.choice([None, history.a_round()])
            person = history.random.choice([None, history.a_person(round_id)]) if round_id else None
            placed, _ = erasure.place_hold(history.machine.docket, "a complaint", round_id, person)
            history.holds.append(placed)


def appeal(history: History) -> None:
    """Somebody appeals, and it is assigned, decided, withdrawn, or left until it is overdue."""
    docket, choose = history.machine.docket, history.random
    actor = history.by("operator", "client")
    pending = list(docket.refresh().appeals.values())
    with kinds.acting(actor):
        if not pending or choose.random() < 0.4:
            round_id = history.a_round()
            corrections: Any = choose.choice([None, {"score": choose.randint(300, 850)}])
            person, key = history.a_person(round_id), choose.choice([None, "k1"])
            text = choose.choice([None, "look again"]) if corrections else "look again"
            appeals.open_appeal(docket, round_id, person, text, corrections, key)
            return
        chosen = choose.choice(pending)
        role, own = history.roles[actor.id]
        reviewer = own if role == "operator" and own else "mia"
        appeals.assign_appeal(docket, chosen.id, reviewer)
        if choose.random() < 0.2:
            appeals.withdraw_appeal(docket, chosen.id)
        elif choose.random() < 0.8:
            accepted = chosen.corrects and choose.random() < 0.5
            appeals.decide_appeal(
                docket, chosen.id, reviewer, choose.random() < 0.5, "seen", accepted=accepted
            )


def set_notices(history: History) -> None:
    days = history.random.choice([0.001, 1.0, 30.0])
    with kinds.acting(history.by("operator")):
        appeals.set_notices(history.machine.docket, "$title", "$person: $reasons", days)


def give_notice(history: History) -> None:
    round_id, occasion = history.a_round(), history.random.choice(["before", "after", "after"])
    own = history.random.choice([(), (), ("too little income",)])
    with kinds.acting(history.by("operator", "client")):
        person = history.a_person(round_id)
        appeals.give_notice(history.machine.docket, round_id, person, occasion, None, own)  # type: ignore[arg-type]


def publish_seed(history: History) -> None:
    if history.random.random() < 0.1:
        with kinds.acting(history.by("operator")):
            erasure.reveal_seed(history.machine.docket)


def new_token(history: History) -> None:
    role: Any = history.random.choice(["operator", "client", "auditor", "regulator"])
    name = history.random.choice(MEMBERS) if role == "auditor" else role
    seat = NAME if role in ("client", "auditor") else None
    with kinds.acting(history.by("operator")):
        history._introduce(tokens.create_token(history.machine.store, role, name, seat))


def revoke(history: History) -> None:
    if history.tokens:
        identity = history.random.choice(history.tokens)[1]
        with kinds.acting(history.by("operator")):
            tokens.revoke_token(history.machine.store, identity.id)


def sign_in(history: History) -> None:
    if history.tokens:
        token = history.random.choice(history.tokens)[0]
        cookie, session = sign_ins.begin_session(history.machine.store, token, SIGNED_IN)
        history.cookies.append(cookie)
        history._know(session.actor, session.identity)


def sign_on(history: History) -> None:
    role = history.random.choice(["operator", "auditor", "regulator"])
    claims = {"iss": "https://id.example", "sub": history.random.choice("xyz"), "sid": "1",
              "likewise_role": role, "likewise_docket": NAME,
              "preferred_username": history.random.choice(MEMBERS)}  # fmt: skip
    cookie, session = sign_ins.begin_sign_on(
        history.machine.store, SETTINGS, claims, tuple(history.machine.docket.refresh().members)
    )
    history.cookies.append(cookie)
    history._know(session.actor, session.identity)


def use_session(history: History) -> None:
    """A browser comes back: its session is looked up as every page does."""
    if history.cookies:
        cookie = history.random.choice(history.cookies)
        session = sign_ins.find_session(history.machine.store, cookie)
        if session is not None:
            history._know(session.actor, session.identity)


def sign_out(history: History) -> None:
    if history.cookies:
        sign_ins.end_session(history.machine.store, history.random.choice(history.cookies))


def leave_provider(history: History) -> None:
    subject = history.random.choice("xyz")
    sign_ins.end_sign_on(history.machine.store, "https://id.example", subject)


def rotate_key(history: History) -> None:
    history.machine.store.keys.rotate(compromised=history.random.random() < 0.2)


def deadlines(history: History) -> None:
    with kinds.acting(kinds.SERVICE):
        panel.close_late_panels(history.machine.docket)
        appeals.mark_overdue(history.machine.docket)
        history.machine.docket.settle_due()


def expire(history: History) -> None:
    with kinds.acting(kinds.SERVICE):
        erasure.erase_expired(history.machine.docket)


def anchor(history: History) -> None:
    """A receipt is anchored; the clock may jump before that is recorded."""
    docket = history.machine.docket
    docket.refresh()
    target = anchors.AnchorTarget("file", str(history.folder / "heads.jsonl"))
    receipt = docket.receipt()
    if history.random.random() < 0.2:
        anchors.record_failure(docket, target, "it cannot be reached")
        return
    fixed = target.fix(receipt, 0, anchors.prover(docket.store, receipt))
    if history.random.random() < 0.2:
        jump(history)
    anchors.record_anchor(docket, target, receipt, fixed)


def jump(history: History) -> None:
    history.machine.error = history.random.choice(JUMPS)


def correct(history: History) -> None:
    for machine in history.machines:
        machine.error = 0.0


def restart(history: History) -> None:
    history.machine.restart()


ACTS: dict[Callable[[History], None], int] = {
    open_round: 12, review: 24, comment: 3, label: 5, seal: 2, add_people: 2, override: 2, close: 2,
    give_packet: 2, set_key: 2, end_key: 1, change_panel: 1, change_rule: 1, guidelines: 1,
    give_learner: 1, erase: 1, retention: 1, hold: 1, publish_seed: 1, new_token: 1, revoke: 2,
    sign_in: 4, sign_on: 2, use_session: 3, sign_out: 2, leave_provider: 1, rotate_key: 1,
    deadlines: 4, expire: 1, anchor: 3, jump: 4, correct: 2, restart: 2, appeal: 5, set_notices: 1,
    give_notice: 2,
}  # fmt: skip
