"""The projection of a ledger: the view that is rebuilt from its records, one after another.

It holds what is open, and numbers. A round that has closed leaves memory; the archive folds its
records again for whoever asks for it.
"""

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import LikewiseError
from likewise.learner.state import State
from likewise.panel.turns import Turns
from likewise_service.dockets.figures import Curves, Tallies
from likewise_service.dockets.round import Round, folded
from likewise_service.dockets.spec import DocketSpec
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds
from likewise_service.ledger.records import Head, LedgerBroken, Record
from likewise_service.ledger.transaction import EndedReview, LedgerView, Transaction


@dataclass
class Governance:
    """All that is not about rounds.

    ``origin`` names the docket's log, and ``key`` signs its receipts; ``actors`` can act, by id.
    ``keys`` are the members', and ``signed`` is when something was last signed, by subject.
    ``ahead`` is how far the ledger says that its time was ahead of a clock. ``busy`` is the number
    of the last record that is not an anchor's.
    """

    origin: str = ""
    key: str = ""
    actors: dict[str, kinds.Introduction] = field(default_factory=dict)
    keys: kinds.MemberKeys = field(default_factory=dict)
    signed: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, kinds.AnchorState] = field(default_factory=dict)
    features_days: float | None = None
    reasons_days: float | None = None
    holds: dict[str, kinds.HoldPlaced] = field(default_factory=dict)
    busy: int = 0
    ahead: kinds.Ahead = field(default_factory=kinds.Ahead)

    def held(self, round_id: str, person: str | None = None) -> str | None:
        """Return the legal hold that keeps a round, or a person in it, from erasure, or None.

        >>> governance = Governance(holds={"h1": kinds.HoldPlaced("h1", "r1", None, "a complaint")})
        >>> governance.held("r1", "ann"), governance.held("r2")
        ('h1', None)
        """
        for name, hold in self.holds.items():
            covers = person is None or hold.person in (None, person)
            if covers and hold.of_round in (None, round_id):
                return name
        return None


class Archive:
    """Closed rounds and ended reviews, in memory: for a replay, which reads a ledger once."""

    def __init__(self) -> None:
        self._rounds: dict[str, Round] = {}
        self._reviews: dict[str, EndedReview] = {}
        self._finished: dict[str, list[str]] = {}

    def find(self, round_id: str, until: int) -> Round | None:  # noqa: ARG002 - for the database
        """Return a closed round as its records up to a number describe it, or None."""
        return self._rounds.get(round_id)

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:  # noqa: ARG002
        """Return closed rounds with numbers above ``after``, in order; here all of them at once."""
        following = (round_ for round_ in self._rounds.values() if round_.number > after)
        return sorted(following, key=lambda round_: round_.number)

    def put(self, round_: Round, before: Round) -> None:  # noqa: ARG002
        """Keep a round that closes, or that had closed ``before`` and has changed."""
        self._rounds[round_.id] = round_

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        return [self._reviews[name] for name in review_ids if name in self._reviews]

    def end(self, review: EndedReview) -> None:
        self._reviews[review.id] = review
        if review.finished is not None:
            self._finished.setdefault(review.member, []).append(review.round)

    def finished_rounds(self, member: str, first: int, last: int) -> list[str]:
        """Return the rounds that a member has reviewed, from one of their counts to another."""
        return self._finished.get(member, [])[first - 1 : last]


# The number of closed rounds in a page of the history.
PAGE = 200
_NUMBERED = re.compile(r"r([1-9][0-9]{0,17})\Z")


@dataclass(kw_only=True, eq=False)
class Standing:
    """The part of a projection that a snapshot keeps.

    ``counts`` are running numbers: rounds, people, each outcome, labels, overrides, ``missed``
    (labels that the decision contradicts) and ``distance`` (Σ |score − label|, in units).
    ``learner_from`` is the record that gave an audit-only docket its learner, if one did, and
    ``decided_elsewhere`` the number of rounds before it. ``largest_name`` is the largest number in
    a round's id of the form r1, r2, …. ``turns`` says how often members were asked, and how they
    judge, where they are asked in turn. ``forgot`` is when all that was learnt from features last
    began anew. ``appeals`` are those that have not ended, by id, the oldest first.
    """

    at: str = ""
    members: list[str] = field(default_factory=list)
    rule: str = ""
    guidelines: str = ""
    practice: tuple[kinds.GoldPair, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    largest_name: int = 0
    revealed: kinds.SeedRevealed | None = None
    learner_from: int = 0
    decided_elsewhere: int = 0
    curves: Curves = field(default_factory=Curves)
    tallies: Tallies = field(default_factory=Tallies)
    governance: Governance = field(default_factory=Governance)
    turns: Turns = field(default_factory=Turns)
    forgot: str = ""
    appeals: dict[str, kinds.Appeal] = field(default_factory=dict)
    notices: kinds.NoticesSet | None = None


class Projection(Standing):
    """All that a docket's records say, up to the record ``head``.

    ``opened`` are the rounds that are not closed, the oldest first. In an ``audit_only`` docket the
    institution decides.
    """

    def __init__(
        self, name: str, archive: Archive | None = None, tallies: Tallies | None = None
    ) -> None:
        super().__init__(tallies=Tallies() if tallies is None else tallies)
        self.name = name
        self.archive = Archive() if archive is None else archive
        self.head = Head()
        self.spec: DocketSpec | None = None
        self.commitment = ""
        self.audit_only = False
        self.opened: dict[str, Round] = {}

    @property
    def settings(self) -> DocketSpec:
        if self.spec is None:
            raise ServiceError("no-docket", 404, f"There is no docket {self.name!r}.")
        return self.spec

    def with_learner(self, learner: Mapping[str, Any]) -> DocketSpec:
        """Return the settings of an audit-only docket with a learner; all rounds must be closed.

        It must have the docket's features and ask the panel at the same gap, so that members go on
        judging as they learnt to.
        """
        before = self.settings
        if not self.audit_only:
            begun = f"already, from record {self.learner_from or 1} on"
            fault = f"A learner decides in {self.name!r} {begun}."
            remedy = "Open another docket for another learner."
            raise ServiceError("has-learner", 409, f"{fault} {remedy}")
        if self.opened:
            oldest = next(iter(self.opened))
            fault = f"{len(self.opened)} rounds are open, the oldest is {oldest!r}."
            raise ServiceError("rounds-open", 409, f"{fault} Close them first.")
        settings = {**before.to_json(), "learner": dict(learner), "audit_only": False}
        spec = DocketSpec.from_hand(settings)
        if before.schema.digest != spec.schema.digest:
            fault = "The learner has other features than the docket."
            raise ServiceError("other-features", 422, f"{fault} Use the docket's, or open another.")
        if before.sensitivity != spec.sensitivity:
            alpha, eps = before.learner["alpha"], before.learner["eps"]
            remedy = f"Give it alpha = {alpha:g} and eps = {eps:g}, or open another docket."
            fault = "The learner would ask the panel at another gap than until now."
            raise ServiceError("other-gap", 422, f"{fault} {remedy}")
        return spec

    @property
    def appeal_days(self) -> float:
        """The days within which an appeal has to be decided."""
        return kinds.APPEAL_DAYS if self.notices is None else self.notices.days

    @property
    def overdue_appeals(self) -> int:
        return sum(appeal.overdue for appeal in self.appeals.values())

    def find(self, round_id: str) -> Round | None:
        return self.opened.get(round_id) or self.archive.find(round_id, self.head.seq)

    def round(self, round_id: str) -> Round:
        round_ = self.find(round_id)
        if round_ is None:
            fault = f"The docket {self.name!r} has no round {round_id!r}."
            remedy = f"Its rounds are listed at /v1/dockets/{self.name}/rounds."
            raise ServiceError("no-round", 404, f"{fault} {remedy}")
        return round_

    def history(self, after: int = 0) -> Iterator[Round]:
        """Yield all rounds with numbers above ``after``, in order; closed ones page by page."""
        opened = [round_ for round_ in self.opened.values() if round_.number > after]
        for closed in self._closed(after):
            while opened and opened[0].number < closed.number:
                yield opened.pop(0)
            yield closed
        yield from opened

    def _closed(self, after: int) -> Iterator[Round]:
        last = self.counts["rounds"]
        while page := self.archive.numbered(after, PAGE, self.head.seq):
            yield from (round_ for round_ in page if round_.number <= last)
            after = page[-1].number

    def free_name(self) -> str:
        """Return r1, r2, …; a number that a client has used by itself is skipped."""
        number = self.counts["rounds"] + 1
        while number <= self.largest_name and self.find(f"r{number}") is not None:
            number += 1
        return f"r{number}"

    def take(self, record: Record, body: kinds.Body, lam: float = 0.0) -> Round | None:
        """Take in the next record; return its round as it is now, with ``lam`` if it opens."""
        try:
            round_ = None
            if isinstance(body, kinds.RoundBody):
                round_ = self._take_round(record, body, lam)
            else:
                body.apply(self, record)
        except LedgerBroken:
            raise
        except (LikewiseError, KeyError, ValueError) as error:
            message = f"{record.kind!r} does not follow from the records before it ({error})."
            raise LedgerBroken(self.name, record.seq, message) from error
        if not isinstance(body, (kinds.Anchored, kinds.AnchorFailed)):
            self.governance.busy = record.seq
        self.head, self.at = record.head, record.at
        return round_

    def open(self, opened: kinds.DocketOpened) -> None:
        self.spec = spec = DocketSpec.from_json(opened.spec)
        self.commitment, self.audit_only = opened.seed_commitment, spec.audit_only
        self.members, self.rule = list(spec.members), spec.rule

    def _take_round(self, record: Record, body: kinds.RoundBody, lam: float) -> Round:
        before = self.opened.get(body.round)
        if before is None:
            begins = isinstance(body, kinds.PeopleArrived)
            before = self._begin(body.round, record.at, lam) if begins else self.round(body.round)
        round_ = body.after(before, record)
        body.count(self, before, round_)
        if round_.closed is None:
            self.opened[body.round] = round_
        else:
            self.opened.pop(body.round, None)
            self.archive.put(round_, before)
        return round_

    def learnt_from(self, round_: Round) -> bool:
        """Tell if attention or turns may have learnt from a round since they began anew."""
        learns = self.settings.learns and round_.looked_at and round_.audited is not None
        return learns and (round_.audited or "") >= self.forgot

    def tallied(
        self, turns: Turns, body: kinds.Body, before: Round | None, state: State | None
    ) -> Turns:
        """Return members' turns after a record, where the docket asks in turn."""
        if not self.settings.turns:
            return turns
        return body.tally(turns, kinds.Context(self.members, before, state))

    def _begin(self, round_id: str, at: str, lam: float) -> Round:
        self.counts["rounds"] += 1
        number = self.counts["rounds"]
        if match := _NUMBERED.match(round_id):
            self.largest_name = max(self.largest_name, int(match[1]))
        self.curves.begin(number, at, lam)
        return Round(round_id, number, at, self.settings.sensitivity)


class RoundCache:
    """The closed rounds that were used last, of all dockets of a process."""

    def __init__(self, most: int) -> None:
        self.most, self._lock = most, threading.Lock()
        self._rounds: OrderedDict[tuple[object, str], Round] = OrderedDict()

    def get(self, owner: object, round_id: str) -> Round | None:
        with self._lock:
            round_ = self._rounds.get((owner, round_id))
            if round_ is not None:
                self._rounds.move_to_end((owner, round_id))
            return round_

    def put(self, owner: object, round_: Round) -> None:
        with self._lock:
            self._rounds[owner, round_.id] = round_
            self._rounds.move_to_end((owner, round_.id))
            if len(self._rounds) > self.most:
                self._rounds.popitem(last=False)


CACHE = RoundCache(1024)

Looking = Callable[[], AbstractContextManager[LedgerView]]


class StoredArchive(Archive):
    """Closed rounds and ended reviews, in the tables that list them.

    ``looking`` opens a view of the docket's rows, and ``writing`` returns the transaction in which
    records are added, if they are: only the process that writes a record lists what it ends.
    ``sensitivity`` returns the gap above which a pair can be reported.
    """

    def __init__(
        self, looking: Looking, writing: Callable[[], Transaction | None],
        sensitivity: Callable[[], int],
    ) -> None:  # fmt: skip
        self._looking, self._writing, self._sensitivity = looking, writing, sensitivity
        self._owner = object()

    def forget(self) -> None:
        """Disown what is in the cache: other rounds will push it out."""
        self._owner = object()

    def find(self, round_id: str, until: int) -> Round | None:
        cached = CACHE.get(self._owner, round_id)
        return self.prepare([round_id], until).get(round_id) if cached is None else cached

    def prepare(self, round_ids: Sequence[str], until: int) -> dict[str, Round]:
        """Put several rounds into the cache with one query; return those that it lacked."""
        names = dict.fromkeys(round_ids)
        missing = [name for name in names if CACHE.get(self._owner, name) is None]
        if not missing:
            return {}
        with self._looking() as view:
            loaded = self._folded(view, view.round_numbers(missing), until)
        for round_ in loaded:
            CACHE.put(self._owner, round_)
        return {round_.id: round_ for round_ in loaded}

    def numbered(self, after: int, limit: int, until: int) -> list[Round]:
        with self._looking() as view:
            return self._folded(view, view.rounds_after(after, limit), until)

    def _folded(self, view: LedgerView, numbers: dict[str, int], until: int) -> list[Round]:
        records, rounds = view.records_of(numbers, until), []
        for name, number in numbers.items():
            history = records.get(name, [])
            # A round that closes after the last record to read is not closed yet.
            if any(record.kind == "closed" for record in history):
                begun = Round(name, number, history[0].at, self._sensitivity())
                rounds.append(folded(begun, history))
        return rounds

    def put(self, round_: Round, before: Round) -> None:
        """List a round that closes; a process that only follows the records may never need it."""
        transaction, closed = self._writing(), round_.closed or ""
        if before.closed is not None or transaction is not None:
            CACHE.put(self._owner, round_)
        if transaction is not None and before.closed is None:
            transaction.list_round(round_.number, round_.id, closed)
        elif transaction is not None and round_.reasons_about() != before.reasons_about():
            transaction.keeps(round_.number, "words", closed)

    def ended(self, review_ids: Sequence[str]) -> list[EndedReview]:
        with self._looking() as view:
            return view.reviews(review_ids)

    def end(self, review: EndedReview) -> None:
        if (transaction := self._writing()) is not None:
            transaction.list_review(review)

    def finished_rounds(self, member: str, first: int, last: int) -> list[str]:
        with self._looking() as view:
            return view.finished_rounds(member, first, last)
