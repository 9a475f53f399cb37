"""Replay: rebuild the learner from the ledger, and compute again all that follows from it.

It checks every record's hash, the payloads' digests and the seed's commitment, and compares every
decision, panel, asking and outcome with the recorded one. Each kind of record says how it is
checked (``likewise_service.ledger.kinds``). After a difference, the fold goes on with what should
have been.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from likewise.errors import LikewiseError
from likewise.learner import events, fold
from likewise.learner.attention import Asking, Attention, BoolArray, Memory, Possible, ask
from likewise.learner.settings import Learner
from likewise.learner.state import State
from likewise.numerics.fixed_point import ONE, to_units
from likewise_service.dockets import figures, seating, spec
from likewise_service.dockets.docket import features_known
from likewise_service.dockets.explanations import PastPolicy, rejection
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.round import Doubts, KeptPolicy, Round
from likewise_service.dockets.signing import shown_text
from likewise_service.ledger import kinds
from likewise_service.ledger.records import LedgerBroken, Record, features_of, sha256
from likewise_service.verify.evidence import Difference, Evidence, Replayed, walked
from likewise_service.verify.governance import GovernanceChecks, Trusted

_BROKEN = (LikewiseError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def replay_evidence(
    evidence: Evidence, trusted: Trusted | None = None, *, keep: int = 0
) -> Replayed:
    """Replay evidence; the findings hold the learner after the record ``keep``."""
    return Replay(evidence, trusted).run(keep)


class Replay:
    """A replay: the projection as it was recorded, the learner as it should have been.

    ``record`` is the one being checked. ``surrogates`` are the digests that stand for erased
    people, ``words`` the records whose words must be there at the end, ``reasonless`` the rounds
    whose words were erased. ``unseeded`` is the learner without its seed, which may not be known.
    """

    record: Record
    unseeded: Learner
    _kappa: float

    def __init__(self, evidence: Evidence, trusted: Trusted | None) -> None:
        self.evidence, self.governance = evidence, GovernanceChecks(evidence, trusted)
        self.projection = Projection(evidence.docket, tallies=figures.Untallied())
        self.findings = Replayed(evidence.checkpoint())
        self.bodies = [kinds.readable(record) for record in evidence.records]
        self.surrogates = kinds.surrogates_in(self.bodies)
        self.contents = {digest: p.content for digest, p in (evidence.payloads or {}).items()}
        self.words: dict[str, Record] = {}
        told = (kinds.AppealOpened, kinds.NoticeGiven)
        self._asked_again = {b.round for b in self.bodies if isinstance(b, told)}
        self._policies: dict[str, KeptPolicy] = {}
        self.reasonless: set[str] = set()
        # By round, the people who arrived as surrogates, since a later record erases them; and
        # whether attention and turns have learnt from such people.
        self._early: dict[str, set[str]] = {}
        self._misled = False
        self.state: State | None = None
        self.seating: seating.Seating | None = None
        self.learner: Learner | None = None
        self._changed: set[str] = set()
        self._last = 0
        self._expected: tuple[str, str] | None = None
        self._repeated: tuple[int, str, kinds.Body] | None = None
        self._signed: kinds.Signed | None = None
        self._shown: tuple[tuple[str, str, int] | None, str | None] = (None, None)
        self._review_key = None if self.secret is None else seating.ReviewKey(*self.secret)

    @cached_property
    def secret(self) -> tuple[int, bytes] | None:
        """The seed and its salt, if they are held or were published."""
        if self.evidence.secret is not None:
            return self.evidence.secret
        revealed = next((b for b in self.bodies if isinstance(b, kinds.SeedRevealed)), None)
        try:
            return None if revealed is None else (int(revealed.seed), bytes.fromhex(revealed.salt))
        except ValueError:
            return None

    def run(self, keep: int = 0) -> Replayed:
        findings = self.findings
        for seq, why in self.evidence.unreadable.items():
            self._note(seq, "record", f"It cannot be read: {why}", "JSON.")
        self._check_payloads()
        for (record, fault), body in zip(walked(self.evidence), self.bodies, strict=True):
            if fault is not None:
                findings.differences.append(fault)
            if record.seq > self._last:
                findings.differences += self.governance.take(record, body)
                self.record = record
                self._take(body)
                self._last = record.seq
                if record.seq == keep:
                    findings.kept_state = self.state
        findings.differences += self.evidence.stored_faults()
        if not self.evidence.records:
            self._note(1, "record", "There is none.", "docket-opened.")
        self._check_end()
        findings.kept, findings.unkept = self.governance.report()
        findings.rounds, findings.state = self.projection.counts["rounds"], self.state
        findings.labels = self.projection.counts["labels"]
        # A changed record comes before what follows from it.
        order = {"record": 0, "tree": 2}
        findings.differences.sort(key=lambda d: (order.get(d.about, 1), d.seq))
        return findings

    def differ(self, about: str, recorded: object, expected: object) -> None:
        self._note(self.record.seq, about, f"{recorded}.", f"{expected}.")

    def expect(self, kind: str, round_id: str) -> None:
        self._expected = (kind, round_id)

    def payload(self, digest: str, name: str) -> None:
        fault = "were changed" if digest in self._changed else "are missing"
        if self.evidence.payloads is not None and digest not in self.contents:
            self.differ("payload", f"{name} {fault}", f"those of {digest[:16]}…")

    @property
    def following(self) -> Sequence[Record]:
        """The records after the one being checked."""
        return self.evidence.records[self.record.seq :]

    def may(self, roles: frozenset[str]) -> bool:
        """Tell if the record's actor has one of these roles, or is at the machine."""
        return self.governance.actors.role(self.record) in {*roles, "machine"}

    @property
    def operator(self) -> str | None:
        """The name of the operator who added the record; None if it was somebody else."""
        _, actor = self.governance.actors.introduced.get(self.record.actor, (None, None))
        return actor.name if actor is not None and actor.role == "operator" else None

    def _past(self, body: kinds.PersonBody) -> PastPolicy | None:
        """Return the policy that decided on a person, if it can be known."""
        kept, learner = self._policies.get(body.round), self.learner
        if kept is None or learner is None:
            return None
        return PastPolicy.of(self.projection.round(body.round), body.person, kept, learner)

    def redecide(self, body: kinds.AppealOpened) -> None:
        policy, content = self._past(body), self.contents.get(body.content, {})
        if body.again is None or policy is None or "features" not in content:
            self.findings.unexplained += body.corrects
            return
        expected = policy.decide(features_of(content))
        self.findings.redecided += 1
        if body.again != expected:
            self.differ("appeal", f"With what was corrected: {body.again}", expected)

    def explain_again(self, body: kinds.NoticeGiven) -> None:
        """Compute again the reasons that a notice gives as the policy's."""
        content = self.contents.get(body.digest, {})
        if content.get("source") != "policy":
            return
        round_, policy = self.projection.round(body.round), self._past(body)
        features = self.contents.get(round_.people[body.person] or "")
        if policy is None or features is None:
            self.findings.unexplained += 1
            return
        score = round_.decisions[body.person].score
        expected = rejection(score, policy.reasons(features_of(features)))
        self.findings.redecided += 1
        if content.get("reasons") != expected:
            self.differ("notice", f"The reasons given are {content.get('reasons')}", expected)

    def check_panel(self, members: Sequence[str], rule: str | None = None) -> None:
        spec.checked_panel(tuple(members), self.projection.rule if rule is None else rule)

    def is_committed(self, seed: int, salt: bytes) -> bool:
        return spec.commitment(seed, salt) == self.projection.commitment

    def next_asked(self, round_: Round, recorded: tuple[int, ...] = ()) -> kinds.MemberAsked | None:
        """Return whose turn has to follow in an audit, if anybody's.

        The doubts are computed again, or those ``recorded`` where features are not known.
        """
        projection, nobody = self.projection, (0,) * len(round_.seats)
        doubts: Doubts = recorded if len(recorded) == len(nobody) else nobody
        if self.state is not None and self.knows_features(round_):
            doubts = round_.inputs(self.state)
        turns, members, settings = projection.turns, projection.members, projection.settings
        return round_.next_asked(turns, members, settings, self.record.at, doubts)

    def knows_features(self, round_: Round) -> bool:
        """Tell if the features of a round's people, and of all who were learnt from, are here."""
        return self.state is not None and not self._misled and not self._early.get(round_.id)

    def draw_together(self, body: kinds.RoundSealed, round_: Round) -> None:
        """Check if members are asked in turn or together; the seed says which."""
        settings = self.projection.settings
        turns = settings.turns and bool(body.seated)
        if turns and self._review_key is not None:
            turns = not self._review_key.together(round_.number, settings.together_share)
        elif turns:  # nobody can draw again
            turns = body.in_turn
        if body.in_turn != turns:
            words = ("all members at once", "one member after another")
            self.differ("lottery", f"The round asks {words[body.in_turn]}", words[turns])

    def ask_again(self, body: kinds.RoundSealed, round_: Round) -> None:
        """Compute what the panel is asked about, as far as it can be known.

        Scores say which pairs are possible. Which of them are asked about follows from what the
        attention had learnt, if it learns; whether the round is shown whole, from the seed.
        """
        recorded, learner = body.asking, self.learner or self.unseeded
        memory = self._memory(learner, round_, body.panel)
        features = {} if self.state is None else features_known(self.state, round_.id)
        people = tuple(events.Person(name, features.get(name, ())) for name in round_.decisions)
        scores = [decision.score for decision in round_.decisions.values()]
        sensitivity = learner.asked_at(self._kappa)
        pairs = Possible.of(learner.hypotheses.schema, people, scores, sensitivity)
        number = round_.number - self.projection.decided_elsewhere
        looking = learner.looking if memory is not None else Recorded(recorded, learner.looking)
        expected = ask(looking, memory or (), pairs, number, learner.seed)
        if memory is None:
            expected = replace(expected, memory=recorded.memory)
        if self.learner is None and expected.chance < ONE:  # nobody can throw the coin again
            whole = recorded.whole
            shown = len(pairs) > 0 and (whole or bool(expected.pairs))
            expected = replace(expected, whole=whole, looked_at=shown if looking.skips else whole)
        self.findings.draws += self.learner is not None and memory is not None
        self.findings.unasked += self.learner is not None and memory is None
        if expected != recorded:
            self.differ("asking", _asked(recorded), _asked(expected))

    def _memory(self, learner: Learner, round_: Round, panel: str) -> Memory | None:
        """Return what the attention had learnt; None if it cannot be learnt again."""
        if not learner.looking.learns:
            return learner.looking.start(learner.hypotheses.schema)
        if self.state is None or not self.knows_features(round_):
            return None
        return learner.looking.convene(self.state.memory, panel)

    def draw_repeat(self, body: kinds.Repeated) -> None:
        """Check that the lottery of hidden repeats has shown a round again."""
        if self.seating is None:
            return
        record = self.record
        # A member who is done writes as many records as the first time; the first may end it.
        same = self._repeated == (record.seq - 1, record.at, body)
        drawn = same or self.seating.drawn(seating.Seat(body.round, body.member, again=record.at))
        self._repeated = (record.seq, record.at, body)
        if drawn:
            self.findings.repeats += 1
        else:
            recorded = f"{body.member!r} judged round {body.round} again"
            self.differ("lottery", recorded, "a round that the lottery shows again")

    def decide_again(self, body: kinds.Decided) -> None:
        if self.projection.audit_only:
            self.findings.elsewhere += len(body.decisions)
            if self.state is not None:
                self.state = body.advance(self.state, {}, {})
        elif self.state is None:
            self.findings.skipped += len(body.decisions)
        else:
            expected = kinds.Decided(body.round, fold.decide(self.state, body.round).decisions)
            self.state = expected.advance(self.state, {}, {})
            self.findings.decisions += len(body.decisions)
            self._compare(body.decisions, expected.decisions)

    def _compare(
        self, recorded: Sequence[events.Decision], expected: Sequence[events.Decision]
    ) -> None:
        people, others = ([d.person for d in listed] for listed in (recorded, expected))
        if people != others:
            self.differ("decision", f"Decisions are on {people}", others)
            return
        for decision, again in zip(recorded, expected, strict=True):
            if decision != again:
                sentence = f"{decision.person!r}: {_sentence(decision)}"
                self.differ("decision", sentence, _sentence(again))

    def _take(self, body: kinds.Body | LedgerBroken) -> None:
        signed, self._signed = self._signed, body if isinstance(body, kinds.Signed) else None
        try:
            if isinstance(body, LedgerBroken):
                raise body
            if signed is not None and isinstance(body, kinds.PanelBody):
                self._check_signed(signed, body)
            self._check_order(body)
            body.check(self)
            counts = dict(self.projection.counts) if self._opens(body) else None
            if self.projection.spec is not None:
                before = self.projection.opened.get(getattr(body, "round", ""))
                turns = self.projection.turns
                self.projection.turns = self.projection.tallied(turns, body, before, self.state)
            round_ = self.projection.take(self.record, body)
        except _BROKEN as error:
            self._refuse("order", f"{self.record.kind!r} cannot stand here ({error})")
            return
        self._seat(body, round_)
        self._mislead(body, round_)
        if isinstance(body, kinds.DocketOpened):
            self._start()
        elif not isinstance(body, kinds.Decided):
            self._fold(body)
        if counts is not None and self.state is not None and not self.projection.audit_only:
            opened = self.state.open[self.record.body["round"]]
            self._policies[opened.id] = KeptPolicy.of(opened, counts)
        if isinstance(body, kinds.Audited):
            self._follow_kappa(body)
        if isinstance(body, kinds.LearnerGiven):
            self.unseeded = self.projection.settings.make_learner(0)
            self._kappa = self.unseeded.margins.kappa
            self.learner = self.learner and replace(self.unseeded, seed=self.learner.seed)

    def _opens(self, body: kinds.Body) -> bool:
        """Tell if a record opens a round whose policy is needed again later."""
        return (
            isinstance(body, kinds.PeopleArrived)
            and body.round in self._asked_again
            and self.projection.find(body.round) is None
        )

    def _follow_kappa(self, body: kinds.Audited) -> None:
        round_ = self.projection.round(body.round)
        decisions = round_.decisions
        # A report of somebody who is not there is a difference already, and says nothing of kappa.
        decided = all(person in decisions for pair in body.pairs for person in pair)
        if body.pairs and decided and not self.unseeded.ignores_reports:
            self._kappa = fold.next_kappa(
                self.unseeded, self._kappa, decisions, body.limit_of, round_.sensitivity
            )

    def _mislead(self, body: kinds.Body, round_: Round | None) -> None:
        """Follow whether the attention learns from surrogates where it had learnt from people."""
        if isinstance(body, kinds.PeopleArrived):
            early = {p.id for p in body.people if (body.round, p.id) in self.surrogates}
            self._early.setdefault(body.round, set()).update(early)
        elif isinstance(body, kinds.Erased):
            self._early.get(body.round, set()).discard(body.person)
            self._misled = self._misled and not body.forgets
        elif isinstance(body, kinds.Audited) and round_ is not None:
            early = self._early.pop(body.round, set())
            self._misled = self._misled or (round_.looked_at and bool(early))

    def _check_signed(self, signed: kinds.Signed, body: kinds.PanelBody) -> None:
        """Check that the record says what was signed; the secret translates a review's names."""
        if self._review_key is None:
            self.findings.untranslated += 1
            return
        round_ = self.projection.find(body.round)
        review = self._review_key.review_id(self._seat_of(signed, body))
        if round_ is None or signed.review != review:
            self.differ("signature", f"It is about round {body.round!r}", "the signed review")
            return
        names = self._review_key.aliases(review, round_.shown(body.member))
        if not body.means(signed, names, round_):
            self.differ("signature", f"{body.kind!r} says something else", "what was signed")
        self._check_shown(signed, round_)

    def _seat_of(self, signed: kinds.Signed, body: kinds.PanelBody) -> seating.Seat:
        """Return the seat from which a member spoke; comments may be on either review."""
        first = seating.Seat(body.round, body.member)
        second = seating.Seat(body.round, body.member, again=self.record.at)
        if not isinstance(body, kinds.Commented):
            return second if isinstance(body, kinds.Repeated) else first
        assert self._review_key is not None  # noqa: S101 - it was looked at before
        own = second if signed.review == self._review_key.review_id(second) else first
        drawn = self.seating  # none if the seed is not the committed one, which is found anyway
        if body.again != (drawn is not None and own is second and drawn.drawn(second)):
            self.differ("signature", "It is on another review of the round", "the signed one")
        return own

    def _check_shown(self, signed: kinds.Signed, round_: Round) -> None:
        """Compute again what the member was shown, unless somebody was erased since."""
        assert self._review_key is not None  # noqa: S101 - it was looked at before
        same = (signed.review, self.projection.guidelines, len(round_.erased))
        if same != self._shown[0]:  # of one review several acts are signed
            text = shown_text(
                self._review_key, signed.review, signed.member, round_, self.projection.guidelines,
                self.unseeded.hypotheses.schema.features, self.evidence.payloads or {},
            )  # fmt: skip
            self._shown = (same, None if text is None else sha256(text.encode()))
        shown = self._shown[1]
        self.findings.shown += shown is not None
        self.findings.unshown += shown is None
        if shown not in (None, signed.shown):
            people = "People, features, scores, pairs or guidelines are"
            self.differ("signature", f"{people} not those that {signed.member!r} signed", "those")

    def _check_order(self, body: kinds.Body) -> None:
        """Check that the docket opens once, time never goes back, and what is expected follows."""
        record = self.record
        if (self.projection.spec is None) != isinstance(body, kinds.DocketOpened):
            self.differ("order", f"It is {record.kind!r}", "docket-opened first, and once")
        if record.at < self.projection.at:
            expected = f"{self.projection.at} or later"
            self.differ("order", f"It has the time {record.at}", expected)
        due, self._expected = self._expected, None
        if due is not None and due != (record.kind, getattr(body, "round", "")):
            self.differ("order", f"It is {record.kind!r}", f"{due[0]!r} of round {due[1]}")

    def _seat(self, body: kinds.Body, round_: Round | None) -> None:
        """Follow the reviews that begin and end; after a fault that is no longer possible."""
        if self.seating is None:
            return
        try:
            self.seating.take(self.record, body, round_)
        except _BROKEN as error:
            self.seating = None
            if self.findings.holds:
                self._refuse("lottery", f"Reviews cannot be followed ({error})")

    def _start(self) -> None:
        self.unseeded = self.projection.settings.make_learner(0)
        self._kappa = self.unseeded.margins.kappa
        if self.secret is None:
            self.findings.seed = "unknown"
        elif not self.is_committed(*self.secret):
            self.findings.seed = "wrong"
            self.differ("seed", "The seed is not the one committed to", "that one")
        else:
            self.findings.seed = "revealed" if self.evidence.secret is None else "held"
            state = State.start(self.projection.settings.make_learner(self.secret[0]))
            self.learner = state.learner
            self.seating = seating.Seating(seating.ReviewKey(*self.secret), self.projection)
            self.state = state if self.evidence.payloads is not None else None

    def _fold(self, body: kinds.Body) -> None:
        """Let the learner take the record in, unless somebody's features are gone."""
        if self.state is None:
            return
        try:
            if isinstance(body, kinds.PeopleArrived) and not all(
                digest in self.contents for digest in body.digests(self.surrogates)
            ):
                self.state = None
                return
            if isinstance(body, kinds.LearnerGiven):
                self.findings.closed.clear()
            if isinstance(body, kinds.Closed) and self.state.learner.pricing.one_sided:
                self.findings.closed += filter(None, [self.state.open.get(body.round)])
            self.state = body.advance(self.state, self.contents, self.surrogates)
        except _BROKEN as error:
            self.differ("learner", f"The learner refuses it ({error})", "accepted by it")

    def _check_payloads(self) -> None:
        """Treat a payload that was changed as missing; the check of its record reports it."""
        for digest, payload in (self.evidence.payloads or {}).items():
            if payload.digest != digest:
                del self.contents[digest]
                self._changed.add(digest)
        self.findings.payloads = len(self.contents)

    def _check_end(self) -> None:
        """Check that nothing is still expected, words are there, and an export's receipt fits."""
        for round_ in self.projection.history():
            if round_.id not in self.reasonless:
                self._check_reasons(round_)
            self._check_words(round_)
        if self._expected is not None:
            kind, round_id = self._expected
            self._note(self._last + 1, "order", "There is none.", f"{kind} of {round_id}.")
        if self._signed is not None:
            expected = f"what {self._signed.member!r} signed."
            self._note(self._last + 1, "signature", "There is none.", expected)
        receipt = self.evidence.receipt
        if receipt is not None and receipt != self.findings.receipt:
            recorded = f"The export's own receipt is of other records, {receipt.size:,} of them."
            self._note(max(receipt.size, self._last), "receipt", recorded, "one of its records.")

    def _check_reasons(self, round_: Round) -> None:
        if not round_.erased:
            for comment in round_.comments:
                self.record = self.words[comment.digest]
                self.payload(comment.digest, "The words of a comment")
        for objections in round_.objections.values():
            for pair, objection in objections.items():
                erased = any((round_.id, person) in self.surrogates for person in pair)
                if objection.reason is not None and not erased:
                    self.record = self.words[objection.reason]
                    self.payload(objection.reason, "The words of a reason")

    def _check_words(self, round_: Round) -> None:
        """Check that appeals and notices have their words, unless the person was erased."""
        people = {appeal.person for appeal in round_.appeals.values()} | round_.notices.keys()
        for person in sorted(people):
            for digest in round_.words_for(person):
                if (round_.id, person) not in self.surrogates and digest in self.words:
                    self.record = self.words[digest]
                    self.payload(digest, "The words of an appeal or a notice")

    def _refuse(self, about: str, recorded: str) -> None:
        self.differ(about, recorded, "a record that follows from those before it")

    def _note(self, seq: int, about: str, recorded: str, expected: str) -> None:
        self.findings.differences.append(Difference(seq, about, recorded, expected))


class Recorded(Attention):
    """Asks as a record says, where what the attention had learnt cannot be known."""

    name = "recorded"
    summary = "as the record says"

    def __init__(self, asked: Asking, looking: Attention) -> None:
        self.asked, self.lowest = asked, to_units(looking.least)
        self.skips = looking.skips  # type: ignore[misc] # it is that of the other

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:  # noqa: ARG002
        return np.array([self.asked.expected(pair) for pair in pairs.ids()], dtype=np.bool_)

    def chance(self, memory: Memory) -> int:  # noqa: ARG002
        return min(max(self.asked.chance, self.lowest), ONE)


def _asked(asking: Asking) -> str:
    if not asking.looked_at:
        return "nobody is asked, and the round is " + ("quiet" if asking.quiet else "not audited")
    pairs = "" if asking.pairs is None else f", of which {list(map(list, asking.pairs))} anyway"
    whole = "all" if asking.whole else "some"
    return (
        f"{whole} of {asking.possible} possible pairs{pairs} (chance {asking.chance / ONE:.6f}, "
        f"learnt {asking.memory[:8] or 'nothing'})"
    )


def _sentence(decision: events.Decision) -> str:
    verdict = "approved" if decision.approved else "rejected"
    chance = "" if decision.inverse_chance is None else f", J {decision.inverse_chance / 2**20:.6f}"
    return f"{verdict}, score {decision.score / 2**20:.4f} ({decision.score} of 2^20){chance}"
