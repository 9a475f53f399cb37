"""The auditor's console: the queue of pairs, rounds as a whole, past ones, seats and keys."""

import asyncio
import json
import math
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import sqlalchemy as sa
from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter, ValidationError

from likewise.panel.objections import Pair
from likewise.people.features import Feature
from likewise_client import responses
from likewise_service.api import reviews as api
from likewise_service.auth.sign_ins import add_seat, choose_seat, list_seats
from likewise_service.clock import now
from likewise_service.dockets import panel, reviews, signing
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.language import N_, difference_words
from likewise_service.ledger import database as db
from likewise_service.ledger import kinds, signatures
from likewise_service.ledger.store import Store
from likewise_service.verify.receipts import acknowledge
from likewise_service.web import dependencies as deps
from likewise_service.web import practice, rendering

# The reviews that are looked through, and the pairs that a page has ahead.
LISTED, AHEAD = 500, 40


class QueuedPair(NamedTuple):
    """A pair and its review."""

    review: responses.ReviewResponse
    pair: responses.ReviewPair
    fine: bool = False
    gold: kinds.GoldPair | None = None


def awaiting(review: reviews.Review, fines: Collection[str]) -> dict[str, int]:
    """Return the pairs without a response, with how far the gap of each exceeds alpha - kappa."""
    aliases, objections = review.aliases, review.objections
    return {
        name: gap - review.round.sensitivity
        for over, under, gap in review.pairs
        if (name := f"{aliases[over]}.{aliases[under]}") not in fines
        and Pair(over, under) not in objections
    }


def to_do(worker: Worker, member: str) -> dict[reviews.Review, dict[str, int]]:
    """Return the reviews that a member is asked for, with the pairs that await a response."""
    asked = reviews.listed(worker.docket, member, ("asked",), LISTED)
    fines = read_fines(worker, [review.id for review in asked])
    return {review: awaiting(review, fines[review.id]) for review in asked}


def find_queue(
    worker: Worker, page: rendering.PageContext, member: str,
    focus: tuple[str, str] | None = None, ahead: int = AHEAD,
) -> dict[str, Any]:  # fmt: skip
    """Return what awaits a member, the riskiest pairs first, as :func:`queue_data` has it.

    Before them comes the pair ``focus``, (review, name), if there is one.
    """
    left = to_do(worker, member)
    risks = [(gap, review, name) for review, pairs in left.items() for name, gap in pairs.items()]
    risks.sort(key=lambda risk: (-risk[0], risk[1].number, risk[2]))
    places = [] if focus is None else [focus]
    places += [(review.id, name) for _, review, name in risks[:ahead]]
    pairs = _load(worker, member, list(dict.fromkeys(places)))
    complete = [review for review, pairs_left in left.items() if not pairs_left]
    to_sign = {queued.review.id: queued.review.to_sign for queued in pairs}
    for review in complete[:ahead]:
        to_sign[review.id] = signing.to_sign(worker.docket, review)
    browser = signing_data(worker, member, to_sign, [review.id for review in complete[:ahead]])
    counts = {review.id: len(pairs_left) for review, pairs_left in left.items() if pairs_left}
    return queue_data(page, pairs, counts, complete=len(complete), signing=browser)


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


def _load(worker: Worker, member: str, places: Sequence[tuple[str, str]]) -> list[QueuedPair]:
    pairs, ids = [], {id_ for id_, _ in places}
    fines = read_fines(worker, ids)
    by_id = {
        i: api.review_response(worker.docket, reviews.find(worker.docket, member, i)) for i in ids
    }
    for id_, name in places:
        pair = next((p for p in by_id[id_].pairs if rendering.pair_key(p) == name), None)
        if pair is None:
            raise ServiceError("not-asked", 404, N_("You are not asked about these two people."))
        pairs.append(QueuedPair(by_id[id_], pair, name in fines[id_]))
    return pairs


def practice_queue(
    page: rendering.PageContext, features: Sequence[Feature], done: int,
    golds: Sequence[kinds.GoldPair],
) -> dict[str, Any]:  # fmt: skip
    """Return the made-up pairs, without those looked at."""
    review = practice.practice_review(features, golds)
    rest = list(zip(review.pairs, golds, strict=True))[done:]
    queued = [QueuedPair(review, pair, gold=gold) for pair, gold in rest]
    return queue_data(page, queued, {review.id: len(queued)}, practice=True, done=done)


def read_fines(worker: Worker, ids: Iterable[str]) -> defaultdict[str, set[str]]:
    fines: defaultdict[str, set[str]] = defaultdict(set)
    marks = db.marks.c
    query = sa.select(marks.review, marks.pair).where(
        marks.docket == worker.name, marks.review.in_(list(ids)), marks.mark == "fine"
    )
    with worker.store.reading() as connection:
        for row in connection.execute(query):
            fines[row.review].add(row.pair)
    return fines


def keep_fine(
    store: Store, docket: str, place: tuple[str, str], key: str | None, *, fine: bool
) -> None:
    """Keep that a pair, (review, name), was found fine, or that it no longer is.

    A request that comes again with the same ``key``, however late, changes nothing.
    """
    row = {"docket": docket, "review": place[0], "pair": place[1]}
    sent = {"docket": docket, "key": f"{place[0]}\n{key}"}
    with store.changing() as connection:
        if key is not None:
            if connection.execute(sa.select(db.requests).filter_by(**sent)).first() is not None:
                return
            connection.execute(db.requests.insert().values(**sent, fingerprint="fine", round=""))
        connection.execute(db.marks.delete().filter_by(**row))
        if fine:
            connection.execute(db.marks.insert().values(**row, mark="fine", at=now()))


def queue_data(
    page: rendering.PageContext, pairs: Sequence[QueuedPair], left: Mapping[str, int], *,
    complete: int = 0, practice: bool = False, done: int = 0,
    signing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return a queue in the language in use: what the template shows, and the script goes on.

    ``left`` counts all pairs that await a response, by review. ``complete`` counts the reviews in
    which none does, but which are not handed in: their rounds have no pair, or the member responded
    elsewhere. A ``practice`` is not recorded; ``done`` of its pairs have been looked at.
    ``signing`` is for the browser of a member who signs.
    """
    everybody = (p for queued in pairs for p in queued.review.people if not p.erased)
    facts = next((p.features for p in everybody), [])
    columns = {fact.name: column for column, fact in enumerate(facts)}
    return {
        "left": left,
        "complete": complete,
        "practice": practice,
        "done": done,
        "signing": signing,
        "url": f"{page.base}/rounds",
        "csrf": page.csrf,
        "seat": page.seat,
        "titles": [fact.title for fact in facts],
        "pairs": [_pair_data(queued, columns) for queued in pairs],
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
        "words": {act: practice.word(gold, act) for act in ("flag", "fine")} if gold else {},
        "limits": math.ceil(100 * pair.gap) - 1 if review.graded else -1,
    }


router = APIRouter(prefix="/console", include_in_schema=False)

# The most reviews on a page of the history.
PAGE = 50

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
# A pair of the queue: the review's id, then the two people.
Place = Annotated[str, Query(pattern=r"^[0-9a-f]{32}\.p[0-9]{1,4}\.p[0-9]{1,4}$")]
Act = Literal["flag", "fine", "undo", "finish"]


@router.get("/")
async def queue_page(
    request: deps.Auditor, pair: Place | None = None, last: Place | None = None
) -> Response:
    """Show the pair that is next in the queue, or a given one; ``last`` had its response now."""

    def task(worker: Worker) -> Response:
        focus = None if pair is None else (pair[:32], pair[33:])
        if focus and reviews.find(worker.docket, request.caller.name, focus[0]).ended:
            return request.go(f"/rounds/{focus[0]}")
        title, receipt = worker.docket.projection.settings.title, worker.docket.receipt()
        page = request.page(title, str(receipt))
        queue = find_queue(worker, page, request.caller.name, focus)
        return rendering.html("console/queue.html", page, queue=queue, last=last or "", word="")

    return await request.run(task)


@router.get("/queue.json")
async def queue_json(
    request: deps.Auditor, unsent: Annotated[int, Query(ge=0, le=10_000)] = 0
) -> Response:
    """Return the queue as it is now, and whose it is: tabs and sign-ins may have changed it.

    It has ``unsent`` pairs more, as many as responses are on their way.
    """
    name, page, ahead = request.caller.name, request.page(), AHEAD + min(unsent, LISTED)
    return JSONResponse(await request.run(lambda w: find_queue(w, page, name, ahead=ahead)))


@router.get("/practice")
async def practice_page(
    request: deps.Auditor,
    done: Annotated[int, Query(ge=0, le=panel.GOLD)] = 0,
    said: Annotated[str, Query(pattern="^(flag|fine)?$")] = "",
) -> Response:
    """Show made-up people of this docket, after a word on the pair before."""

    def task(worker: Worker) -> Response:
        features, projection = worker.docket.schema.features, worker.docket.projection
        golds = projection.practice or practice.default_pairs(features)
        word = practice.word(golds[done - 1], said) if said and 0 < done <= len(golds) else ""
        page = request.page(projection.settings.title)
        made_up = practice_queue(page, features, done, golds)
        return rendering.html("console/queue.html", page, queue=made_up, last="", word=word)

    return await request.run(task)


@router.get("/rounds")
async def rounds_page(request: deps.Auditor) -> Response:
    """List the rounds that are open, with what awaits a response in each."""

    def values(worker: Worker) -> dict[str, Any]:
        name = request.caller.name
        listed = api.review_list(worker.docket, name, reviews.OPEN, LISTED).reviews
        left = {review.id: len(pairs) for review, pairs in to_do(worker, name).items()}
        return {"reviews": listed, "left": left, "final": worker.docket.projection.settings.turns}

    return await request.show("console/rounds.html", values)


@router.get("/rounds/{key}/to-sign.json")
async def to_sign(request: deps.Auditor, key: Key) -> Response:
    member = request.caller.name

    def task(worker: Worker) -> Response:
        content = signing.to_sign(worker.docket, reviews.find(worker.docket, member, key))
        return JSONResponse(signing_data(worker, member, {key: content}))

    return await request.run(task)


@router.get("/rounds/{key}")
async def review_page(request: deps.Auditor, key: Key) -> Response:
    """Show one round as a whole: its people, its pairs, and what the member said of them."""

    def values(worker: Worker) -> dict[str, Any]:
        review = reviews.find(worker.docket, request.caller.name, key)
        fines = read_fines(worker, [key])[key]
        response = api.review_response(worker.docket, review, ended_too=True)
        return {
            "review": response, "fines": fines, "left": len(awaiting(review, fines)),
            "form_key": secrets.token_hex(16),
            "signing": signing_data(worker, request.caller.name, {key: response.to_sign}),
        }  # fmt: skip

    return await request.show("console/review.html", values)


def _once(form: Mapping[str, str]) -> str | None:
    """Return a request's key, which is the same when it is sent again."""
    key = form.get("key")
    if key is not None and not re.fullmatch("[0-9a-f]{32}", key):
        raise ServiceError("bad-key", 422, "This form has a key that is none. Load the page again.")
    return key


def _check_seat(request: deps.PageRequest, form: Mapping[str, str]) -> None:
    """Refuse a form that speaks for another seat than the browser does by now."""
    if form.get("seat", request.caller.id) != request.caller.id:
        sentence = N_(
            "In this browser you speak for another seat by now. Choose the one you spoke for."
        )
        raise ServiceError("other-seat", 403, sentence)


def _limit(form: Mapping[str, str]) -> float | None:
    """Return how far apart the two may be, as a share; None where nothing is said."""
    points = form.get("limit", "-1")
    if not re.fullmatch(r"-1|[0-9]{1,2}", points):
        raise ServiceError("bad-limit", 422, N_("A limit is 0 to 99 points. Load the page again."))
    return None if points == "-1" else int(points) / 100


def _find_pair(
    worker: Worker, member: str, review_id: str, form: Mapping[str, str]
) -> tuple[reviews.Review, tuple[str, str]]:
    review, pair = reviews.find(worker.docket, member, review_id), form.get("pair", "").split(".")
    if len(pair) != 2:
        raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
    return review, review.round.favoured_first(Pair.of(review.people(pair)))


def _record(worker: Worker, member: str, act: Act, review_id: str, form: Mapping[str, str]) -> bool:
    """Record an act; hand the review in once every pair has a response, and tell if it is."""
    docket, key, signed = worker.docket, _once(form), _signatures(form)
    if act == "finish":
        seat = reviews.find(docket, member, review_id).seat
        panel.finish(docket, seat, signed.get("finish"), key=key)
        return True
    review, people = _find_pair(worker, member, review_id, form)
    if act == "flag":
        reason, flagged = form.get("reason", "").strip(), signed.get("flag")
        panel.flag(docket, review.seat, people, reason, flagged, limit=_limit(form), key=key)
    else:
        if act == "undo" and review.finished:
            reopening = key and f"{key}:reopen"
            panel.reopen(docket, review.seat, signed.get("reopen"), key=reopening)
        panel.withdraw(docket, review.seat, people, signed.get("withdraw"), key=key)
    return hand_in(worker, reviews.find(docket, member, review_id), signed.get("finish"))


# An act needs another signature: the page shows what there is now, and the member signs again.
SIGN_AGAIN = ("signature-needed", "signature-late", "shown-changed", "bad-signature")
_SIGNATURES = TypeAdapter(dict[signatures.Act, api.SignatureBody])


def _signatures(form: Mapping[str, str]) -> dict[signatures.Act, signing.Signature]:
    """Return a member's signatures by what they sign: an act may need several, or none."""
    try:
        sent = _SIGNATURES.validate_json(form.get("signatures", "{}"), strict=True)
    except ValidationError as error:
        sentence = "This form has signatures that are none. Load the page again."
        raise ServiceError("bad-signature", 422, sentence) from error
    return {act: signature.parsed for act, signature in sent.items()}


def hand_in(
    worker: Worker, review: reviews.Review, signed: signing.Signature | None = None
) -> bool:
    """Finish a review in which every pair has a response; tell if it is handed in.

    Where the member signs, and has not signed this, it waits for them.
    """
    fines = read_fines(worker, [review.id])[review.id]
    if review.status != "asked" or awaiting(review, fines):
        return review.status != "asked"
    try:
        panel.finish(worker.docket, review.seat, signed)
    except ServiceError as error:
        if error.code not in SIGN_AGAIN:
            raise
        return False
    return True


@router.post("/rounds/{key}/comment")
async def comment_on_round(
    request: Annotated[deps.PageRequest, deps.acts(kinds.Commented, "/console")], key: Key
) -> Response:
    """Record a comment on a round, which other members see once the panel has closed."""
    form = await request.form()
    _check_seat(request, form)
    text, signed, once = form.get("comment", ""), _signatures(form).get("comment"), _once(form)

    def task(worker: Worker) -> None:
        seat = reviews.find(worker.docket, request.caller.name, key).seat
        panel.comment(worker.docket, seat, text, signed, key=once)

    await request.run(task)
    return _saved(request, f"/rounds/{key}#comments")


@router.post("/rounds/{key}/{act}")
async def act_on_review(request: deps.Auditor, key: Key, act: Act) -> Response:
    """Flag a pair, find it fine, take that back, or hand a review in as it is."""
    form, member = await request.form(), request.caller.name
    _check_seat(request, form)
    if key == practice.PRACTICE:  # nothing of it is recorded
        done = practice.practised(form.get("pair", ""))
        said = act if act in ("flag", "fine") else ""
        return request.go(f"/practice?done={done}&said={said}")
    if act == "finish" and not form.get("meant"):
        sentence = N_("Tick that you mean it: no pair is asked about again.")
        raise ServiceError("not-meant", 422, sentence)
    if act in ("fine", "undo"):
        # Not in the docket's thread: a transaction may be under way there.
        review, people = await request.run(lambda worker: _find_pair(worker, member, key, form))
        place = (key, ".".join(review.aliases[person] for person in people))
        store, docket = request.app.store, request.docket
        await asyncio.to_thread(keep_fine, store, docket, place, _once(form), fine=act == "fine")
    handed_in = await request.run(lambda worker: _record(worker, member, act, key, form))
    place_query = f"{'pair' if act == 'undo' else 'last'}={key}.{form.get('pair', '')}"
    path = "/" if act == "finish" else f"/?{place_query}"
    return _saved(request, path, handed_in=handed_in)


def _saved(request: deps.PageRequest, path: str, **more: bool) -> Response:
    """Tell the page's own script that an act is recorded; without it, go on to a page."""
    scripted = request.request.headers.get("accept", "") == "application/json"
    return JSONResponse({"saved": True, **more}) if scripted else request.go(path)


@router.post("/hand-in")
async def hand_in_complete(request: deps.Auditor) -> Response:
    await request.form()

    def task(worker: Worker) -> None:
        left = to_do(worker, request.caller.name)
        complete = [hand_in(worker, review) for review, pairs in left.items() if not pairs]
        if not all(complete):
            sentence = N_("You sign what you say, and that needs JavaScript. Switch it on.")
            raise ServiceError("signature-needed", 409, sentence)

    await request.run(task)
    return request.go("/")


@router.get("/guidelines")
async def guidelines(request: deps.Auditor) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        text = worker.docket.projection.guidelines
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
        return {"guidelines": paragraphs}

    return await request.show("console/guidelines.html", values)


@router.get("/history")
async def history(
    request: deps.Auditor, after: Annotated[int | None, Query(ge=1, le=10**9)] = None
) -> Response:
    """Show the member's past reviews, the latest first, and what became of their objections."""

    def values(worker: Worker) -> dict[str, Any]:
        past = reviews.listed(worker.docket, request.caller.name, reviews.ENDED, PAGE + 1, after)
        return {
            "reviews": [api.review_response(worker.docket, review) for review in past[:PAGE]],
            "older": past[PAGE - 1].number if len(past) > PAGE else None,
            "agreement": worker.docket.projection.tallies.agreement(request.caller.name),
        }

    return await request.show("console/history.html", values)


@router.get("/receipts.json")
async def receipts(request: deps.Auditor) -> Response:
    """Return a signed file with all that the member has said, and a receipt of the ledger."""
    member, acts = request.caller.name, dict[str, dict[str, Any]]()
    for statuses in (reviews.OPEN, reviews.ENDED):
        after = None
        # Some at a time, so that others get the docket's turn.
        while page := await request.run(partial(_said, member, statuses, after)):
            acts |= {review["review"]: review for _, review in page}
            after = page[-1][0]

    def signed(worker: Worker) -> dict[str, Any]:
        key = worker.store.keys.current()
        return acknowledge(member, list(acts.values()), worker.docket.receipt(), key)

    text = json.dumps(await request.run(signed), ensure_ascii=False, indent=2) + "\n"
    response = Response(text, media_type="application/json")
    return deps.file_response(response, f"{request.docket}-receipts.json")


def _said(
    member: str, statuses: Sequence[str], after: int | None, worker: Worker
) -> list[tuple[int, dict[str, Any]]]:
    """Return what a member has said in some reviews, by their own count, behind ``after``."""
    said = []
    for review in reviews.listed(worker.docket, member, statuses, LISTED, after):
        own = {member: review.objections}
        objections = api.objection_responses(worker.docket, review.round, own, review.aliases)
        words = {"status": review.status, "objections": [asdict(o) for o in objections]}
        said.append((review.number, {"review": review.id, **words}))
    return said


@router.get("/seats")
async def seats_page(request: deps.Auditor) -> Response:
    seats = await asyncio.to_thread(list_seats, request.app.store, request.cookie)
    values = {"seats": seats, "current": request.caller.id, "problem": "", **request.shown}
    return rendering.html("console/seats.html", request.page(), **values)


@router.post("/seats/add")
async def add(request: deps.Auditor) -> Response:
    token = (await request.form()).get("token", "").strip()
    try:
        await asyncio.to_thread(add_seat, request.app.store, request.cookie, token)
    except ServiceError as error:
        refused = {"problem": deps.told(error, request.language), "status": error.status}
        return await seats_page(replace(request, shown=refused))
    return request.go("/seats")


@router.post("/seats/choose")
async def choose(request: deps.Auditor) -> Response:
    seat = (await request.form()).get("seat", "")
    await asyncio.to_thread(choose_seat, request.app.store, request.cookie, seat)
    return request.go("/")


@router.get("/signature")
async def signature_page(request: deps.Auditor) -> Response:
    member = request.caller.name

    def values(worker: Worker) -> dict[str, Any]:
        browser = signing_data(worker, member, {})
        return {"keys": api.member_keys(worker.docket, member), "signing": browser}

    return await request.show("console/signature.html", values)


@router.post("/signature/enrol")
async def enrol(request: deps.Auditor) -> Response:
    body = deps.read_form(api.MemberKeyBody, await request.form())
    await api.enrol_member_key(body, request)
    return _saved(request, "/signature")


@router.post("/signature/revoke")
async def revoke(request: deps.Auditor) -> Response:
    """End a key, signed by a key of the member or not."""
    form = await request.form()
    signature = form.get("signature") or None
    await api.revoke_member_key(form.get("key_id", ""), request, signature)
    return _saved(request, "/signature")
