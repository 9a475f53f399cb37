"""A member's queue: pairs of several rounds that await a response, the riskiest first."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from likewise.panel.objections import Pair
from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api.reviews import review_response
from likewise_service.dockets import signing
from likewise_service.dockets.board import Review
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError, now
from likewise_service.language import N_, difference_words
from likewise_service.ledger import database as db
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from likewise_service.web import practice, rendering

# The reviews that are looked through, and the pairs that a page has ahead.
LISTED, AHEAD = 500, 40
# A pair of the queue: the review's id, then the two people.
PLACE = re.compile(r"([0-9a-f]{32})\.(p[0-9]{1,4}\.p[0-9]{1,4})\Z")


class QueuedPair(NamedTuple):
    """A pair, with the review that it is of."""

    review: responses.ReviewResponse
    pair: responses.ReviewPair
    fine: bool = False
    gold: practice.Gold | None = None


@dataclass(frozen=True)
class Queue:
    """The pairs, the riskiest first; ``left`` counts all that await a response, by review.

    ``complete`` counts the reviews in which none does, and which are not handed in: their rounds
    have no pair, or the member responded elsewhere. Of a ``practice`` nothing is recorded; ``done``
    of its pairs have been looked at. ``signing`` is what the browser of a member who signs has to
    know.
    """

    pairs: Sequence[QueuedPair]
    left: Mapping[str, int] = field(default_factory=dict)
    complete: int = 0
    practice: bool = False
    done: int = 0
    signing: Mapping[str, Any] | None = None


def awaiting(review: Review, fines: Collection[str]) -> dict[str, int]:
    """Return the pairs without a response, with how far the gap of each exceeds alpha - kappa."""
    aliases, objections = review.aliases, review.target.objections
    return {
        name: gap - review.round.sensitivity
        for over, under, gap in review.target.pairs
        if (name := f"{aliases[over]}.{aliases[under]}") not in fines
        and Pair(over, under) not in objections
    }


def find_queue(worker: Worker, member: str, focus: str = "", ahead: int = AHEAD) -> Queue:
    """Return what awaits a member, behind the pair ``focus`` if there is one."""
    reviews = {r.id: r for r in worker.board.listed(member, ("asked",), LISTED)}
    fines = read_fines(worker.store, worker.name, reviews)
    left = {name: awaiting(review, fines[name]) for name, review in reviews.items()}
    risks = [(excess, id_, name) for id_, pairs in left.items() for name, excess in pairs.items()]
    risks.sort(key=lambda risk: (-risk[0], reviews[risk[1]].number, risk[2]))
    places = [f"{id_}.{name}" for _, id_, name in risks[:ahead]]
    pairs = _load(worker, member, list(dict.fromkeys([*([focus] if focus else []), *places])))
    complete = [name for name, pairs_left in left.items() if not pairs_left]
    to_sign = {queued.review.id: queued.review.to_sign for queued in pairs}
    to_sign |= {
        name: signing.to_sign(worker.docket, reviews[name].seat) for name in complete[:ahead]
    }
    return Queue(
        pairs, {name: len(pairs_left) for name, pairs_left in left.items() if pairs_left},
        len(complete), signing=signing_data(worker, member, to_sign, complete[:ahead]),
    )  # fmt: skip


def signing_data(
    worker: Worker, member: str, to_sign: Mapping[str, Mapping[str, Any] | None],
    complete: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return what the browser of a member signs, by review; ``signs`` tells if they do."""
    keys = worker.docket.projection.governance.keys
    return {
        "docket": worker.name,
        "member": member,
        "signs": member in keys,
        "keys": list(kinds.signing_keys(keys, member)),
        "complete": list(complete),
        "reviews": {name: content for name, content in to_sign.items() if content is not None},
    }


def _load(worker: Worker, member: str, places: Sequence[str]) -> list[QueuedPair]:
    pairs, ids = [], {place.partition(".")[0] for place in places}
    fines = read_fines(worker.store, worker.name, ids)
    reviews = {i: review_response(worker.docket, worker.board.find(member, i)) for i in ids}
    for place in places:
        id_, _, name = place.partition(".")
        pair = next((p for p in reviews[id_].pairs if rendering.pair_key(p) == name), None)
        if pair is None:
            raise ServiceError("not-asked", 404, N_("You are not asked about these two people."))
        pairs.append(QueuedPair(reviews[id_], pair, name in fines[id_]))
    return pairs


def practice_queue(
    features: Sequence[Feature], done: int, pairs: Sequence[kinds.GoldPair] = ()
) -> Queue:
    """Return the made-up pairs, the operator's if there are any, without those looked at."""
    review, golds = practice.practice_review(features, pairs), practice.gold_pairs(pairs)
    queued = [
        QueuedPair(review, pair, gold=gold)
        for pair, gold in zip(review.pairs, golds, strict=True)
    ]  # fmt: skip
    return Queue(queued[done:], {review.id: len(queued[done:])}, practice=True, done=done)


def read_fines(store: Store, docket: str, reviews: Iterable[str]) -> defaultdict[str, set[str]]:
    """Return the pairs that were found fine, by review."""
    fines: defaultdict[str, set[str]] = defaultdict(set)
    marks = db.marks.c
    query = sa.select(marks.review, marks.pair).where(
        marks.docket == docket, marks.review.in_(list(reviews)), marks.mark == "fine"
    )
    with store.reading() as connection:
        for row in connection.execute(query):
            fines[row.review].add(row.pair)
    return fines


def keep_fine(
    store: Store, docket: str, place: tuple[str, str], key: str | None, *, fine: bool
) -> None:
    """Keep that a pair, (review, name), was found fine, or that it no longer is.

    A request that comes again with the same ``key``, however late, changes nothing.
    """
    row = dict(zip(("docket", "review", "pair"), (docket, *place), strict=True))
    same = [db.marks.c[column] == value for column, value in row.items()]
    request = {"docket": docket, "key": f"{place[0]}:{key}", "fingerprint": "fine", "round": ""}
    with store.changing() as connection:
        if key is not None:
            earlier = sa.select(db.requests.c.key).where(
                db.requests.c.docket == docket, db.requests.c.key == request["key"]
            )
            if connection.execute(earlier).first() is not None:
                return
            connection.execute(db.requests.insert().values(request))
        connection.execute(db.marks.delete().where(*same))
        if fine:
            connection.execute(db.marks.insert().values(**row, mark="fine", at=now()))


def queue_data(queue: Queue, page: rendering.PageContext) -> dict[str, Any]:
    """Return a queue in the language in use: what the template shows, and the script goes on."""
    everybody = (p for queued in queue.pairs for p in queued.review.people if not p.erased)
    facts = next((p.features for p in everybody), [])
    columns = {fact.name: column for column, fact in enumerate(facts)}
    return {
        "url": f"{page.base}/rounds",
        "csrf": page.csrf,
        "seat": page.seat,
        "titles": [fact.title for fact in facts],
        "left": dict(queue.left),
        "complete": queue.complete,
        "practice": queue.practice,
        "done": queue.done,
        "signing": queue.signing,
        "pairs": [_pair_data(queued, columns) for queued in queue.pairs],
    }


def _pair_data(queued: QueuedPair, columns: Mapping[str, int]) -> dict[str, Any]:
    review, pair, fine, gold = queued
    people, name = rendering.by_id(review.people), rendering.pair_key(pair)
    both = [people[pair.over], people[pair.under]]
    objection = next((o for o in review.objections if rendering.pair_key(o) == name), None)
    limit = None if objection is None else objection.limit
    return {
        "id": f"{review.id}.{name}",
        "review": review.id,
        "number": review.number,
        "name": name,
        "due": review.due,
        "deadline": rendering.deadline(review.due),
        "apart": rendering.apart(both[0].chance, both[1].chance),
        "people": [rendering.person_data(person) for person in both],
        "unknown": any(person.erased for person in both),
        # The amount, and its share of the range, which alone has room on a phone.
        "differences": {
            str(columns[n]): difference_words(text).rpartition(", ")[::2]
            for n, text in pair.differences.items()
        },
        "response": "flag" if pair.flagged else "fine" if fine else "",
        "reason": (objection.reason if objection is not None else "") or "",
        "reason_limit": review.reason_limit,
        "final": review.final,
        # Points that the two may be apart at most: below their gap, or -1 where nothing is said.
        "limit": -1 if limit is None else round(100 * limit),
        # What is said to either response to a pair of the practice.
        "words": {act: gold.word(act) for act in ("flag", "fine")} if gold else {},
        "limits": math.ceil(100 * pair.gap) - 1 if review.graded else -1,
    }
