"""A docket at work: what its ledger says, the learner, and the turn to write.

Every command takes the docket's turn in the database, catches up with what other processes wrote,
checks itself against the projection and the fold, adds its records, and returns a receipt. A
refused command leaves no trace. Commands of a group share one transaction.
"""

from __future__ import annotations

import hmac
import json
import logging
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from itertools import groupby
from typing import Any, Concatenate, ParamSpec

from pydantic import TypeAdapter

from likewise.errors import LikewiseError
from likewise.learner import State, fold, state_files
from likewise.learner.certificate import unseen_reports
from likewise.learner.settings import ALGORITHM
from likewise.people.schema import FeatureSchema
from likewise_client.tree import Tree
from likewise_service.clock import Clock, LedgerClock, now, parse, seconds_between
from likewise_service.dockets import seating
from likewise_service.dockets.projection import Projection, Standing, StoredArchive
from likewise_service.dockets.round import LARGEST_POLICY, KeptPolicy, Round, folded
from likewise_service.dockets.spec import commitment
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes, records, signatures
from likewise_service.ledger.records import Head, LedgerBroken, Payload, Record, consecutive, sha256
from likewise_service.ledger.store import Keyring, Store, introductions
from likewise_service.ledger.transaction import LedgerView, Transaction
from likewise_service.settings import REASON_LIMIT


class UnitOfWork:
    """One command at work, within a savepoint of a transaction that it shares with others.

    ``projection`` is as it was when the command began; ``state``, ``turns`` and :meth:`round`
    follow the records. All of them have the same time, ``at``; ``clock`` is the machine's own.
    ``added`` are the records, with the learner and the ledger's tree after each.
    """

    def __init__(self, docket: Docket, transaction: Transaction) -> None:
        self.docket, self.transaction = docket, transaction
        self.projection, self.state = docket.projection, docket.state
        self.turns = docket.projection.turns
        self.actor, self.clock = kinds.current_actor(), docket.clock()
        self.at = docket.moment()
        self.added: list[tuple[Record, kinds.Body, State, Tree]] = []
        self._contents: kinds.Contents = {}
        self._rounds: dict[str, Round] = {}

    def round(self, round_id: str) -> Round:
        """Return a round as it is after the records of the command."""
        return self._rounds.get(round_id) or self.projection.round(round_id)

    def add(self, *bodies: kinds.Body) -> None:
        """Add records; the fold has to accept what they stand for.

        The first one is preceded by those that introduce the actor, if the ledger lacks them.
        """
        for _kind, run in groupby(bodies, lambda b: (type(b), getattr(b, "round", ""))):
            alike = list(run)
            self.state = _advanced(self.state, alike, self._contents)
            for body in alike:
                self._take(body)

    def _take(self, body: kinds.Body) -> None:
        """Write a record that the fold has accepted, and follow its round."""
        if not self.added:
            self._preface()
        if isinstance(body, kinds.PeopleArrived) and not self.projection.audit_only:
            self._keep_policy(body.round)
        record, before = self._append(body), self._before(body)
        self.turns = self.projection.tallied(self.turns, body, before, self.state)
        if before is not None and isinstance(body, kinds.RoundBody):
            self._rounds[body.round] = body.after(before, record)

    def _before(self, body: kinds.Body) -> Round | None:
        """Return the open round that a record is about, before it; people may open one."""
        if not isinstance(body, kinds.RoundBody):
            return None
        round_ = self._rounds.get(body.round) or self.projection.opened.get(body.round)
        if round_ is None and isinstance(body, kinds.PeopleArrived):
            number, settings = self.projection.counts["rounds"] + 1, self.projection.settings
            return Round(body.round, number, self.at, settings.sensitivity)
        return round_

    def ask_next(self, round_id: str, sitting: Sequence[str] | None = None) -> bool:
        """Ask the member whose turn it is, if it is anybody's.

        ``sitting`` are the members of the panel, if they are not those on record.
        """
        round_, settings = self.round(round_id), self.projection.settings
        if not round_.in_turn:
            return False
        members = self.projection.members if sitting is None else sitting
        inputs = round_.inputs(self.state)
        asked = round_.next_asked(self.turns, members, settings, self.at, inputs)
        if asked is not None:
            self.add(asked)
        return asked is not None

    def _preface(self) -> None:
        """Record that the ledger is ahead of the clock, unless it says so; introduce the actor."""
        governance = self.projection.governance
        if seconds_between(self.clock, self.at) > governance.ahead.by(self.at) + APART:
            self._append(kinds.ClockBehind(self.clock), kinds.SERVICE)
        connection = self.transaction.connection
        for body in introductions(connection, self.actor, governance.actors, self.at):
            self._append(body)

    def _keep_policy(self, round_id: str) -> None:
        """Keep the policy of a round that opens, unless it is large."""
        if round_id not in self.projection.opened:
            content = KeptPolicy.of(self.state.open[round_id], self.projection.counts).dump()
            if len(content) <= LARGEST_POLICY:
                self.transaction.keep_policy(round_id, content)

    def _append(self, body: kinds.Body, actor: kinds.Actor | None = None) -> Record:
        actor = actor or self.actor
        record = self.transaction.append(*kinds.write_body(body), self.at, actor.id)
        self.added.append((record, body, self.state, self.transaction.tree))
        return record

    def reason(self, words: str | None, salt: bytes | None = None) -> Payload | None:
        """Return the words of a reason, if any, with the salt that was signed or a new one."""
        limit = self.docket.reason_limit
        if not words:
            return None
        if len(words) > limit:
            sentence = f"What you write may have {limit} characters; shorten it."
            raise ServiceError("too-long", 422, sentence)
        if salt is None:
            return Payload.fresh({"text": words})
        payload = Payload(salt, {"text": words})
        # Salts of signed words are the caller's: the same words twice would be one row.
        if not any(salt) or self.transaction.has_payload(payload.digest):
            sentence = "Signed words need a salt of their own, made by chance. Sign them again."
            raise ServiceError("salt-used", 422, sentence)
        return payload

    def keep(self, payload: Payload) -> str:
        """Keep something personal beside the ledger; its digest is for a record."""
        self._contents = {**self._contents, payload.digest: payload.content}
        return self.transaction.keep(payload)

    def earlier(
        self, key: str, round_id: str, content: Any, member: str = ""
    ) -> tuple[str, str] | None:
        """Return the fingerprint, if it is kept, and the round of a request that came before.

        A new one is kept; one with a key that came with other content is refused. A line feed keeps
        the keys of a ``member`` apart from those of clients, which have none.
        """
        digest = hmac.new(self.docket.salt, records.canonical(content), "sha256").hexdigest()
        name = f"{member}\n{key}" if member else key
        row = self.transaction.request(name)
        if row is None:
            self.transaction.keep_request(name, digest, round_id)
        elif row[0] not in ("", digest):
            fault = f"The idempotency key {key!r} came with another request before."
            raise ServiceError("key-reused", 409, f"{fault} Use a new key for every request.")
        return row

    def close_if_done(self, round_id: str) -> None:
        """Close a round of which nothing more can be heard."""
        open_round = self.state.open.get(round_id)
        audited = open_round is not None and open_round.outcome is not None
        if audited and not awaited(self.state, round_id):
            self.add(kinds.Closed(round_id))


def _advanced(state: State, alike: Sequence[kinds.Body], contents: kinds.Contents) -> State:
    """Fold records of one kind and round; labels of several people are one charge."""
    labels = {body.person: body.label for body in alike if isinstance(body, kinds.Labelled)}
    if len(labels) == len(alike):  # nobody is labelled twice
        return fold.label(state, alike[0].round, labels)  # type: ignore[attr-defined] # a label's
    for body in alike:
        state = body.advance(state, contents, {})
    return state


def features_known(state: State, round_id: str) -> dict[str, tuple[float, ...]]:
    """Return features by person for a round that is open; an empty one otherwise."""
    round_ = state.open.get(round_id)
    return {} if round_ is None else {person.id: person.features for person in round_.people}


def awaited(state: State, round_id: str) -> tuple[str, ...]:
    """Return the people of a round whose labels may still come; none once it has closed."""
    open_round = state.open.get(round_id)
    if open_round is None:
        return ()
    return open_round.awaited(one_sided=state.learner.pricing.one_sided)


# Seconds by which a ledger may be ahead of a clock before it says so.
APART = 60.0
FORMAT = "likewise-snapshot/6"
# A snapshot is written after this many records: the most that a start has to fold.
EVERY = 500
LOG = logging.getLogger("likewise_service")
UNFIT = (LikewiseError, KeyError, TypeError, ValueError, IndexError, AttributeError, zlib.error)
COUNTED = ("rounds", "looked_at", "pairs_shown", "members_asked", "member_pairs", "appeals")
_STANDING, _MEMBERS = TypeAdapter(Standing), TypeAdapter(dict[str, seating.Member])


def numbers_of(projection: Projection, state: State) -> dict[str, float]:
    """Return the numbers that are kept beside the ledger, to read without opening the docket."""
    unseen = unseen_reports(state)
    return {
        **{name: projection.counts[name] for name in COUNTED},
        "open_rounds": len(projection.opened),
        "reports": state.reports,
        "missing_labels": state.missing,
        "lam": state.lam,
        "open_appeals": len(projection.appeals),
        "overdue_appeals": projection.overdue_appeals,
        "late_appeals": projection.counts["appeals_late"],
        **_anchored(projection),
        "unseen_reports": unseen.estimate,
        "unseen_reports_low": unseen.low,
        "unseen_reports_high": unseen.high,
    }


def _anchored(projection: Projection) -> dict[str, float]:
    """Return how far and since when the ledger is anchored at every target, and its own time."""
    governance, states = projection.governance, projection.governance.anchors.values()
    anchored = min((state.seq for state in states), default=0)
    fixed = min((state.fixed for state in states), default="")
    return {
        "anchors_failing": sum(bool(state.failure) for state in states),
        "unanchored_records": max(0, governance.busy - anchored),
        "anchored_time_seconds": parse(fixed).timestamp() if fixed else 0.0,
        "ledger_time_seconds": parse(projection.at).timestamp() if projection.at else 0.0,
    }


def sealed_snapshot(docket: str, tree: Tree, content: Any, key: signatures.PrivateKey) -> bytes:
    """Return a snapshot as it is stored: bound to the records that it folds, and signed."""
    compressed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 1)
    signature = key.sign("snapshot", _snapshot_statement(docket, tree, compressed))
    return signature.encode() + b"\n" + compressed


def _snapshot_statement(docket: str, tree: Tree, compressed: bytes) -> bytes:
    return f"{docket}:{tree.size}:{tree.root.hex()}:{sha256(compressed)}".encode()


def opened_snapshot(docket: str, tree: Tree, stored: bytes, keys: Keyring) -> Any:
    """Return the content of a snapshot; one that the installation did not sign is refused."""
    signature, _, compressed = stored.partition(b"\n")
    statement = _snapshot_statement(docket, tree, compressed)
    public = [key.public for key in keys.listed() if key.compromised is None]
    if not any(key.verifies("snapshot", statement, signature.decode("ascii")) for key in public):
        raise LikewiseError("it is not signed by this installation's key: it was changed.")
    return json.loads(zlib.decompress(compressed))


def is_of_this_version(content: Mapping[str, Any]) -> bool:
    """Tell if a start reads a snapshot, and does not pass it over as one of another version."""
    return (content["format"], content["algorithm"]) == (FORMAT, ALGORITHM)


# The number of records that are read at once.
PAGE = 2000
# The most receipts in memory: those who do not see the panel get the same one for a while.
RECEIPTS = 64
# The most actors whose last record is in memory.
ACTORS = 4096
# Kinds of record that only those notice who see the panel at work.
UNSEEN = [name for name, body in kinds.KINDS.items() if issubclass(body, kinds.UNSEEN)]


@dataclass(frozen=True)
class Shown:
    """The time of a record that somebody may know of, and the ledger's tree up to it."""

    at: str
    tree: Tree


class Docket:
    """A docket and its learner in memory, as far as the ledger has been read."""

    def __init__(
        self, store: Store, name: str, clock: Clock = now, reason_limit: int = REASON_LIMIT
    ) -> None:
        self.store, self.name, self.reason_limit = store, name, reason_limit
        self.clock = clock
        self._clock = LedgerClock(lambda: self.clock())  # noqa: PLW0108 - it can be set anew
        self._turn = threading.RLock()
        self._view: LedgerView | None = None
        self._transaction: Transaction | None = None
        self._receipts: dict[tuple[Tree, str], notes.Checkpoint] = {}
        self._writer = state_files.StateWriter()
        with store.view(name) as view:
            secret = view.secret()
        if secret is None:
            raise ServiceError("no-docket", 404, f"There is no docket {name!r}.")
        self.seed, self.salt = secret
        store.keys.public()  # there has to be one before anything is written
        self.archive = StoredArchive(
            self.looking, lambda: self._transaction, lambda: self.projection.settings.sensitivity
        )
        self._forget()
        # A recomputation has read nothing yet.
        if self.refresh().commitment not in ("", commitment(self.seed, self.salt)):
            why = "the seed beside it is not the one that it commits to. Restore a backup."
            raise LedgerBroken(name, 1, why)

    def _forget(self) -> None:
        """Reset: the next read starts from a snapshot, or from the first record."""
        self.archive.forget()
        self.projection = Projection(self.name, self.archive)
        self.seating = seating.Seating(seating.ReviewKey(self.seed, self.salt), self.projection)
        self._state: State | None = None
        self._snapshot = 0
        self._committed, self.tree = Head(), Tree()
        self._shown: Shown | None = None
        self._own: dict[str, Shown] = {}

    @property
    def state(self) -> State:
        if self._state is None:
            self._state = State.start(self.projection.settings.make_learner(self.seed))
        return self._state

    @property
    def schema(self) -> FeatureSchema:
        return self.state.learner.hypotheses.schema

    def moment(self) -> str:
        """Return the time, which is never before the ledger's last record."""
        return self._clock.after(self.projection.at, self.name)

    def refresh(self) -> Projection:
        """Read the records of other processes, without taking the writer's turn."""
        with self._turn:
            if self._transaction is None and self.store.head(self.name) != self.projection.head:
                with self.looking() as view:
                    self._catch_up(view)
            return self.projection

    def last_seen(self) -> Shown | None:
        """Return the last record whose time and number the actor may know; None for any.

        Those who do not see the panel at work must not see it grow: they may know of their own
        records, and of those that are not about what members say.
        """
        actor = kinds.current_actor()
        if actor.sees_panel or self._shown is None:
            return None
        own = self._own.get(actor.id, self._shown)
        return own if own.tree.size > self._shown.tree.size else self._shown

    def receipt(self) -> notes.Checkpoint:
        """Return a receipt for the actor: the checkpoint of the last record that they may know."""
        seen = self.last_seen()
        return self.checkpoint(self.tree if seen is None else seen.tree)

    def checkpoint(self, tree: Tree, key: signatures.PrivateKey | None = None) -> notes.Checkpoint:
        key = self.key() if key is None else key
        same = (tree, key.public.text)
        if same not in self._receipts:
            if len(self._receipts) >= RECEIPTS:
                self._receipts.clear()
            checkpoint = notes.Checkpoint.of(self.projection.governance.origin, tree)
            self._receipts[same] = checkpoint.signed(key)
        return self._receipts[same]

    def key(self) -> signatures.PrivateKey:
        """Return the installation's key; within a unit of work it is the one of this ledger."""
        key = self.store.keys.current()
        if key.public.text != self.projection.governance.key:
            self.store.keys.forget()  # another process has changed it, as this ledger says
            key = self.store.keys.current()
        return key

    def payloads(self, digests: Iterable[str | None]) -> dict[str, Payload]:
        """Return payloads by digest, as far as they have not been erased."""
        if not (stored := [digest for digest in digests if digest is not None]):
            return {}
        with self.looking() as view:
            return view.payloads(stored)

    @contextmanager
    def looking(self) -> Iterator[LedgerView]:
        """Yield the docket's rows: within the transaction under way, or at this moment."""
        if self._view is not None:
            yield self._view
        else:
            with self.store.view(self.name) as view, self._through(view):
                yield view

    @contextmanager
    def _through(self, view: LedgerView) -> Iterator[None]:
        before, self._view = self._view, view
        try:
            yield
        finally:
            self._view = before

    @contextmanager
    def unit_of_work(self) -> Iterator[UnitOfWork]:
        """Take the docket's turn; all that the block adds is recorded, or nothing."""
        with self._turn, nullcontext() if self._transaction else self.group():
            transaction = self._transaction
            assert transaction is not None  # noqa: S101 - it has just begun
            with transaction.savepoint():
                work = UnitOfWork(self, transaction)
                yield work
            self._accept(transaction, work)

    @contextmanager
    def group(self, keys: Sequence[str] = ()) -> Iterator[None]:
        """Take the docket's turn; the units of work within the block share one transaction.

        Nobody may be told of them before it ends; if it does not commit, memory forgets them.
        Requests with these ``keys`` are looked up first.
        """
        with self._turn:
            try:
                begun = self.store.transaction(self.name, keys)
                with begun as transaction, self._through(transaction):
                    self._catch_up(transaction)
                    before = self.projection.head
                    transaction.tree, self._transaction = self.tree, transaction
                    yield
                    if self.projection.head != before:
                        self._keep_standing(transaction)
                self._committed = self.projection.head
            except BaseException:
                if self.projection.head != self._committed:
                    self._forget()
                raise
            finally:
                self._transaction = None

    def scrub(self) -> None:
        """Empty the files of what was erased; within a group nothing is committed yet."""
        if self._transaction is None:
            self.store.scrub_soon()

    def _keep_standing(self, transaction: Transaction) -> None:
        """Write what follows from the records: the numbers, and now and then a snapshot."""
        # Fewer snapshots where many open rounds make them large.
        interval = max(EVERY, 2 * len(self.projection.opened))
        if self.projection.head.seq - self._snapshot >= interval:
            sealed = sealed_snapshot(self.name, self.tree, self.content(), self.key())
            transaction.keep_snapshot(self.tree, sealed)
            self._snapshot = self.projection.head.seq
        transaction.keep_numbers(numbers_of(self.projection, self.state))

    def _accept(self, transaction: Transaction, work: UnitOfWork) -> None:
        """Take in a command's records, now that none of them can be refused any more."""
        try:
            for record, body, state, tree in work.added:
                self._take(record, body, state, tree)
                if isinstance(body, (kinds.MemberAsked, kinds.AppealOpened)) or (
                    isinstance(body, kinds.RoundSealed) and body.at_once
                ):
                    transaction.look_at(body.due)
        except LikewiseError as error:
            # Not a refusal: half of it is in memory. The transaction must not commit.
            raise RuntimeError(f"A command of {self.name!r} cannot be taken in.") from error
        self._state, self.projection.turns = work.state, work.turns
        if any(isinstance(body, kinds.Erased) for _, body, _, _ in work.added):
            transaction.drop_snapshots()
            self._snapshot = 0

    def _take(self, record: Record, body: kinds.Body, state: State, tree: Tree) -> None:
        round_id = getattr(body, "round", None)
        opened = state.open.get(round_id) if round_id is not None else None
        lam = 0.0 if self.projection.audit_only else state.lam if opened is None else opened.lam
        if len(self._own) >= ACTORS:  # they are told of their last record again once they act
            self._own.clear()
        self.tree = tree
        shown = self._own[record.actor] = Shown(record.at, tree)
        if not isinstance(body, kinds.UNSEEN):
            self._shown = shown
        self.seating.take(record, body, self.projection.take(record, body, lam))

    def content(self) -> dict[str, Any]:
        """Return what a snapshot holds; open rounds are named, and folded from their records."""
        return {
            "format": FORMAT,
            "algorithm": ALGORITHM,
            **_STANDING.dump_python(self.projection, mode="json"),
            "opened": [[r.id, r.number, r.opened] for r in self.projection.opened.values()],
            "seating": _MEMBERS.dump_python(self.seating.members, mode="json"),
            "state": self._writer.dump(self.state).decode(),
        }

    def settle_due(self) -> None:
        """Record the earliest deadline of an open panel or an appeal, for the tick."""
        with self.unit_of_work() as work:
            dues = [r.due for r in self.projection.opened.values() if r.outcome is None and r.due]
            dues += [a.due for a in self.projection.appeals.values() if not a.overdue]
            work.transaction.set_due(min(dues, default=None))

    def _catch_up(self, view: LedgerView) -> None:
        """Take in the records that memory lacks; they must follow those that it has."""
        if view.head == self.projection.head:
            return
        try:
            if not self.projection.head.seq:
                self._start(view)
            self._read(view)
        except BaseException:
            self._forget()  # half a record is worse than none
            raise
        if view.head != self.projection.head:
            read, seq = self.projection.head.seq, min(view.head.seq, self.projection.head.seq)
            fault = f"this process has read {read} records that the database no longer has."
            loss = "If a backup was restored, what was acknowledged since is lost."
            raise LedgerBroken(self.name, seq, f"{fault} {loss}")
        self._committed = self.projection.head

    def _start(self, view: LedgerView) -> None:
        """Start from the newest snapshot that fits, if there is one."""
        tree, stored = view.newest_snapshot() or (Tree(), b"")
        try:
            if tree.size:
                self._restore(view, tree, stored)
        except UNFIT as error:
            self._forget()
            fields = {"docket": self.name, "record": tree.size, "why": str(error)}
            sentence = "A snapshot does not fit; the ledger is read instead."
            LOG.warning(sentence, extra={"said": fields})
        self._snapshot = self.projection.head.seq

    def _restore(self, view: LedgerView, tree: Tree, stored: bytes) -> None:
        content = opened_snapshot(self.name, tree, stored, self.store.keys)
        if not is_of_this_version(content):
            return
        projection, seq = self.projection, tree.size
        for record in consecutive(self.name, view.records(0, 1)):
            projection.take(record, kinds.read_body(record))
        if begun := content["learner_from"]:
            for record in view.records(begun - 1, begun):
                projection.take(record, kinds.read_body(record))
        [last] = view.records(seq - 1, seq)
        vars(projection).update(vars(_STANDING.validate_python(content)), head=last.head)
        records = view.records_of([name for name, _, _ in content["opened"]], seq)
        for name, number, opened in content["opened"]:
            round_ = Round(name, number, opened, projection.settings.sensitivity)
            projection.opened[name] = folded(round_, records[name])
        self.seating.restore(_MEMBERS.validate_python(content["seating"]))
        self._state = state_files.parse_state(content["state"].encode(), "a snapshot")
        seen = view.last_without(UNSEEN, seq)
        self.tree, self._shown = tree, Shown(seen.at, view.log(seen.seq).tree())

    def _read(self, view: LedgerView, until: int | None = None) -> None:
        """Take in the records after the last one in memory, up to ``until``."""
        seq = self.projection.head.seq
        while records := list(consecutive(self.name, view.records(seq, until, PAGE), seq)):
            seq = records[-1].seq
            bodies = [kinds.read_body(record) for record in records]
            surrogates = _surrogates(view, bodies)
            digests = (digest for body in bodies for digest in body.digests(surrogates) if digest)
            payloads = view.payloads(digests)
            for digest, payload in payloads.items():
                if payload.digest != digest:
                    message = f"the payload {digest[:12]}… beside the ledger was changed."
                    raise LedgerBroken(self.name, records[0].seq, message)
            contents = {digest: payload.content for digest, payload in payloads.items()}
            for record, body in zip(records, bodies, strict=True):
                if self.projection.spec is None:  # the first record, from which the state starts
                    self.projection.take(record, body)
                    self.tree = self.tree.plus(record.entry)
                    self._shown = Shown(record.at, self.tree)
                    continue
                try:
                    self._state = self._fold(body, contents, surrogates)
                except LikewiseError as error:
                    message = f"the learner refuses it ({error})."
                    raise LedgerBroken(self.name, record.seq, message) from error
                before = self.projection.opened.get(getattr(body, "round", ""))
                turns = self.projection.tallied(self.projection.turns, body, before, self._state)
                self._take(record, body, self._state, self.tree.plus(record.entry))
                self.projection.turns = turns

    def _fold(
        self, body: kinds.Body, contents: kinds.Contents, surrogates: kinds.Surrogates
    ) -> State:
        return body.advance(self.state, contents, surrogates)


def _surrogates(view: LedgerView, bodies: Sequence[kinds.Body]) -> kinds.Surrogates:
    """Return those of everybody who arrives and was erased by now: their features are gone."""
    arriving = {body.round for body in bodies if isinstance(body, kinds.PeopleArrived)}
    erased = view.records_of(arriving, view.head.seq, "erased").values()
    return kinds.surrogates_in(kinds.read_body(r) for records in erased for r in records)


P = ParamSpec("P")


def command(
    task: Callable[Concatenate[UnitOfWork, P], None],
) -> Callable[Concatenate[Docket, P], notes.Checkpoint]:
    """Make a command of a task: all that it adds is recorded, or nothing; it returns a receipt."""

    @wraps(task)
    def run(docket: Docket, /, *args: P.args, **options: P.kwargs) -> notes.Checkpoint:
        with docket.unit_of_work() as work:
            task(work, *args, **options)
        return docket.receipt()

    return run
